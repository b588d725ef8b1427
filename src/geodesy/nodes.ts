// SPDX-License-Identifier: MIT
import { TOUCH, chordGap, crosses } from './edge'
import { spend } from './effort'
import { certainOffset, clearance } from './orientation'
import { splitShape, type Cut } from './building'
import { addTo, keyOf, nextInRing, type Place, type Shape } from './shape'
import { alongChord, chord, isSamePlace, place, squaredChord } from './vertices'

/**
 * Distance in metres up to which a vertex on an edge becomes the edge's end. If both ends are farther away
 * than the square root of 2 times TOUCH, the edge bends at the vertex by less than a right angle. So no end
 * lies on the piece beyond the vertex, which would be cut there again, and so on.
 */
const MERGED = 1.5 * TOUCH

/** Finds the nodes at which edges of rings meet. After they are cut there, they meet only at common ends. */
export class Nodes {
  private readonly cuts = new Map<number, Cut[]>()
  /** positions moved by up to MERGED, by keyOf, with their new position */
  private readonly moved = new Map<string, Place>()
  /** chains that meet themselves at more than the joint of consecutive edges */
  readonly touching = new Set<number>()
  /** number of pairs of edges that meet */
  pairs = 0

  constructor(
    private readonly shape: Shape,
    /** called for edges that cross; throws, or cuts them there */
    private readonly crossing: (e: number, f: number) => void,
  ) {}

  /** Records a node if two elements meet. */
  readonly meet = (e: number, f: number): void => {
    spend(0.15)
    const { shape } = this
    const { from, to, tree } = shape
    const a = from[e]!
    const b = to[e]!
    const c = from[f]!
    const d = to[f]!
    if (
      this.diverge(a, b, c, d) ||
      this.diverge(a, b, d, c) ||
      this.diverge(b, a, c, d) ||
      this.diverge(b, a, d, c)
    ) {
      if (!this.follow(e, f)) this.note(e, f)
      return
    }
    spend(0.2)
    if (this.onOneSide(c, d, a, b) || this.onOneSide(a, b, c, d)) return
    if (chordGap(shape, a, b, shape, c, d) - tree.bulges[e]! - tree.bulges[f]! > TOUCH) return
    spend(0.5)
    const shared =
      Number(isSamePlace(shape, a, shape, c)) +
      Number(isSamePlace(shape, a, shape, d)) +
      Number(isSamePlace(shape, b, shape, c)) +
      Number(isSamePlace(shape, b, shape, d))
    let cut = this.touches(c, e)
    cut = this.touches(d, e) || cut
    cut = this.touches(a, f) || cut
    cut = this.touches(b, f) || cut
    // If an end lies on the other edge, it is the meeting point, on whichever side rounding puts it.
    if (shared === 0 && !cut) {
      if (crosses(shape, a, b, shape, c, d)) this.crossing(e, f)
      return
    }
    if (shared === 1 && !cut && this.follow(e, f)) return
    this.note(e, f)
  }

  /** Records nodes for edges of a ring that run back along the edge before them. */
  followTurns(start: number, end: number): void {
    const { shape } = this
    const { from, to } = shape
    for (let e = start; e < end; e++) {
      const f = e + 1 === end ? start : e + 1
      // Most edges continue roughly in the direction of the edge before them.
      if (alongChord(shape, to[f]!, shape, to[e]!, from[e]!) >= 0) this.meet(e, f)
    }
  }

  /** True if v and w, and so the edge between them, lie clearly on one side of the geodesic from a to b. */
  private onOneSide(v: number, w: number, a: number, b: number): boolean {
    const { shape } = this
    const side = clearance(shape, v, shape, a, b)
    return Math.abs(side) > TOUCH && clearance(shape, w, shape, a, b) * Math.sign(side) > TOUCH
  }

  private note(e: number, f: number): void {
    const { chainOf } = this.shape
    this.pairs++
    if (chainOf[e] === chainOf[f]) this.touching.add(chainOf[e]!)
  }

  /** True if edges below 100 km from one position, v to p and w to q, diverge by more than they bend. */
  private diverge(v: number, p: number, w: number, q: number): boolean {
    const { shape } = this
    if (!isSamePlace(shape, v, shape, w)) return false
    const dot = alongChord(shape, q, shape, v, p)
    const aa = squaredChord(shape, p, shape, v)
    const bb = squaredChord(shape, q, shape, w)
    // Both edges are longer than a millimetre, so that the angle is certain.
    return aa > 1e-6 && bb > 1e-6 && aa < 1e10 && bb < 1e10 && (dot <= 0 || dot * dot < 0.9975 * aa * bb)
  }

  /** True if two elements are consecutive in a ring. */
  private follow(e: number, f: number): boolean {
    return nextInRing(this.shape, e) === f || nextInRing(this.shape, f) === e
  }

  /** Cuts an edge at a vertex if the vertex lies on it. Returns true if it does. */
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
    for (const end of [a, b]) if (chord(shape, v, end) <= MERGED) return this.merge(v, end)
    // Between the ends, the distance from the line is the distance from the edge.
    const along = alongChord(shape, v, shape, a, b)
    if (along <= 0 || along >= alongChord(shape, b, shape, a, b)) return false
    if (
      Math.abs(clearance(shape, v, shape, a, b)) > TOUCH ||
      Math.abs(certainOffset(shape, v, shape, a, b)) > TOUCH
    )
      return false
    addTo(this.cuts, e, { lon: shape.lon[v]!, lat: shape.lat[v]!, along })
    return true
  }

  /** Cuts an edge at a position that lies on it. */
  cutAt(e: number, at: Place): void {
    const { shape } = this
    addTo(this.cuts, e, { ...at, along: alongChord(place(at), 0, shape, shape.from[e]!, shape.to[e]!) })
  }

  /** Merges two vertices into one position. At a pole, each keeps its own meridian. */
  private merge(v: number, w: number): boolean {
    const { lon, lat } = this.shape
    spend(3)
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
    const to = this.moved.get(keyOf(from))
    if (!to) return from
    const last = this.placeOf(to)
    // Path compression: the next lookup takes one step.
    if (last !== to) this.moved.set(keyOf(from), last)
    return last
  }

  get any(): boolean {
    return this.cuts.size > 0 || this.moved.size > 0
  }

  /** Returns the shape with its edges cut at the nodes, or the same shape if there are none. */
  split(): Shape {
    return this.any ? splitShape(this.shape, this.cuts, this.placeOf) : this.shape
  }
}
