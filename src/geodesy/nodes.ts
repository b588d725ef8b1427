import { TOUCH, chordGap, crosses } from './edge'
import { spend } from './effort'
import { certainOffset, clearance } from './orientation'
import { splitShape, type Cut, type Place, type Shape } from './shape'
import { chord, isSamePlace, place } from './vertices'

/**
 * Where the edges of rings meet: at common vertices, at a vertex of one within TOUCH of the other, or crossing. Cut there,
 * edges meet at common ends only, and run along each other only where both ends are common.
 */
export class Nodes {
  private readonly cuts = new Map<number, Cut[]>()
  /** where places are moved to, a micrometre away, by keyOf */
  private readonly moved = new Map<string, Place>()
  /** chains that meet themselves, other than where one edge follows another */
  readonly touching = new Set<number>()
  /** pairs of edges that meet */
  pairs = 0

  constructor(
    private readonly shape: Shape,
    /** told of edges that cross; throws, or answers the vertex where they do */
    private readonly crossing: (e: number, f: number) => void,
  ) {}

  /** Notes where two elements meet, if they do. */
  readonly meet = (e: number, f: number): void => {
    spend(0.05)
    const { shape } = this
    const { from, to, tree } = shape
    const a = from[e]!
    const b = to[e]!
    const c = from[f]!
    const d = to[f]!
    if (
      this.parts(a, b, c, d) ||
      this.parts(a, b, d, c) ||
      this.parts(b, a, c, d) ||
      this.parts(b, a, d, c)
    ) {
      if (!this.follows(e, f) && !this.follows(f, e)) this.note(e, f)
      return
    }
    spend(0.05)
    if (chordGap(shape, a, b, shape, c, d) - tree.bulges[e]! - tree.bulges[f]! > TOUCH) return
    spend(0.5)
    const follow = this.follows(e, f) || this.follows(f, e)
    const shared =
      Number(isSamePlace(shape, a, shape, c)) +
      Number(isSamePlace(shape, a, shape, d)) +
      Number(isSamePlace(shape, b, shape, c)) +
      Number(isSamePlace(shape, b, shape, d))
    let cut = this.touches(c, e)
    cut = this.touches(d, e) || cut
    cut = this.touches(a, f) || cut
    cut = this.touches(b, f) || cut
    // An end on the other edge is where they meet, on whichever side of it rounding has put it.
    if (shared === 0 && !cut) {
      if (crosses(shape, a, b, shape, c, d)) this.crossing(e, f)
      return
    }
    if (follow && shared === 1 && !cut) return
    this.note(e, f)
  }

  private note(e: number, f: number): void {
    const { chainOf } = this.shape
    this.pairs++
    if (chainOf[e] === chainOf[f]) this.touching.add(chainOf[e]!)
  }

  /** Whether edges of less than 100 km from one place, v and w, to p and q, part at once: by more than 0.05 radians, beyond what they bend. */
  private parts(v: number, p: number, w: number, q: number): boolean {
    const { shape } = this
    if (!isSamePlace(shape, v, shape, w)) return false
    const { x, y, z } = shape
    const ax = x[p]! - x[v]!
    const ay = y[p]! - y[v]!
    const az = z[p]! - z[v]!
    const bx = x[q]! - x[w]!
    const by = y[q]! - y[w]!
    const bz = z[q]! - z[w]!
    const dot = ax * bx + ay * by + az * bz
    const aa = ax * ax + ay * ay + az * az
    const bb = bx * bx + by * by + bz * bz
    // Longer than a millimetre each, so that the angle is certain.
    return aa > 1e-6 && bb > 1e-6 && aa < 1e10 && bb < 1e10 && (dot <= 0 || dot * dot < 0.9975 * aa * bb)
  }

  /** Whether an element starts where another one ends, next to it in its ring. */
  private follows(e: number, f: number): boolean {
    const { chains, chainOf } = this.shape
    const { start, end } = chains[chainOf[e]!]!
    return f === (e + 1 === end ? start : e + 1)
  }

  /** Cuts an edge at a vertex that lies on it, if it does. */
  private touches(v: number, e: number): boolean {
    const { shape } = this
    const a = shape.from[e]!
    const b = shape.to[e]!
    if (
      isSamePlace(shape, v, shape, a) ||
      isSamePlace(shape, v, shape, b) ||
      chordGap(shape, v, v, shape, a, b) - shape.tree.bulges[e]! > TOUCH
    )
      return false
    for (const end of [a, b]) if (chord(shape, v, end) <= TOUCH) return this.merge(v, end)
    // Between its ends, as far from it as from its line.
    const { x, y, z } = shape
    const ex = x[b]! - x[a]!
    const ey = y[b]! - y[a]!
    const ez = z[b]! - z[a]!
    const along = (x[v]! - x[a]!) * ex + (y[v]! - y[a]!) * ey + (z[v]! - z[a]!) * ez
    if (along <= 0 || along >= ex * ex + ey * ey + ez * ez) return false
    if (
      Math.abs(clearance(shape, v, shape, a, b)) > TOUCH ||
      Math.abs(certainOffset(shape, v, shape, a, b)) > TOUCH
    )
      return false
    this.cut(e, { lon: shape.lon[v]!, lat: shape.lat[v]!, along })
    return true
  }

  /** Cuts an edge at a place that lies on it. */
  cutAt(e: number, at: Place): void {
    const { x, y, z, from, to } = this.shape
    const [a, b] = [from[e]!, to[e]!]
    const spot = place(at)
    this.cut(e, {
      ...at,
      along:
        (spot.x[0]! - x[a]!) * (x[b]! - x[a]!) +
        (spot.y[0]! - y[a]!) * (y[b]! - y[a]!) +
        (spot.z[0]! - z[a]!) * (z[b]! - z[a]!),
    })
  }

  private cut(e: number, cut: Cut): void {
    const cuts = this.cuts.get(e)
    if (cuts === undefined) this.cuts.set(e, [cut])
    else cuts.push(cut)
  }

  /** Makes two vertices one place; at a pole, each by its own meridian. */
  private merge(v: number, w: number): boolean {
    const { lon, lat } = this.shape
    const [p, q] = [v, w].map((vertex) => this.placeOf({ lon: lon[vertex]!, lat: lat[vertex]! })) as [
      Place,
      Place,
    ]
    if (Math.abs(p.lat) === 90) this.move(q, { lon: q.lon, lat: p.lat })
    else this.move(p, Math.abs(q.lat) === 90 ? { lon: p.lon, lat: q.lat } : q)
    return true
  }

  private move(from: Place, to: Place): void {
    if (keyOf(from) !== keyOf(to)) this.moved.set(keyOf(from), to)
  }

  private readonly placeOf = (from: Place): Place => {
    let at = from
    for (let next = this.moved.get(keyOf(at)); next; next = this.moved.get(keyOf(at))) at = next
    return at
  }

  get any(): boolean {
    return this.cuts.size > 0 || this.moved.size > 0
  }

  /** The shape with its edges cut where they meet; itself where there is nothing to cut. */
  split(): Shape {
    return this.any ? splitShape(this.shape, this.cuts, this.placeOf) : this.shape
  }
}

function keyOf({ lon, lat }: Place): string {
  return `${lon},${lat}`
}
