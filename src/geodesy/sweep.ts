// SPDX-License-Identifier: MIT
import { spend } from './effort'
import { sideNorth } from './edge'
import { holdsSouth, type Rings } from './region'
import { isTurn, type Chain, type Polygon, type Shape } from './shape'
import { SweepOrder } from './sweep-order'

/**
 * Finds the sums (arrangement.ts) on both sides of each edge by Shamos and Hoey's sweep ("Geometric
 * intersection problems", 1976), in n log n. The sweep line is a meridian that moves from 180 W to 180 E. The
 * longitude along a geodesic never turns back, so it meets an edge once, and edges that cross are neighbours
 * on it before they cross. Longitude and latitude form a cylinder, on which a pole is a line, along which
 * edges turn there. The sides of the rings determine the sum at the south pole (`holdsSouth`). From there
 * northward, each edge adds 1 if the inside of its ring begins there and subtracts 1 if it ends. Edges with
 * the same two ends are passed together. Sides are determined on the ellipsoid (orientation.ts).
 */

/** Sums on the left and right of each element, counted from the start of the first chain. */
export interface Labels {
  left: Int32Array
  right: Int32Array
  /** by ring: 1 if its inside is on its left, -1 if on its right, 0 if it has none */
  turns: Int8Array
}

/** A position that is higher than an edge by this many metres is certainly above it. */
const CLEAR = 1e-5

/** Position of an element relative to the moving meridian. */
const enum Course {
  /** starts on one meridian and ends on a later one */
  Along,
  /** crosses the antimeridian: it is swept twice, up to its end and from its start */
  Across,
  /** lies on one meridian */
  Upright,
  /** a turn at the south pole, below everything: at its ends, the sum below all other edges changes */
  Lid,
  /** a turn at the north pole, above everything: nothing beyond it is needed */
  Roof,
}

/**
 * Sweeps polygons with consecutive chains. Labels are uncertain where edges meet elsewhere than at vertices.
 * @param check called with elements that become neighbours, except consecutive ones of a ring; may throw
 * @param known turns of the rings (see `Labels.turns`); required if a ring may cross itself
 */
export function sweep(
  shape: Shape,
  sides: Rings,
  polygons: readonly Polygon[],
  check: (e: number, f: number) => void,
  known?: Int8Array,
): Labels {
  const rings = polygons.flatMap(({ firstChain, endChain }) =>
    shape.chains.slice(firstChain, endChain).map((chain, i) => ({
      chain,
      weight: i > 0 && chain.isHole ? -1 : 1,
      holdsSouth: holdsSouth(shape, sides, firstChain + i),
    })),
  )
  return new Sweep(new Elements(shape, rings), rings, check, known).run()
}

interface Ring {
  chain: Chain
  /** change of the sum on the way into the ring's inside */
  weight: number
  /** true if the ring's inside contains the area south of the pole */
  holdsSouth: boolean
}

/** Elements in the order of the sweep. Element i runs from position i to position next[i]. */
class Elements {
  readonly start: number
  readonly count: number
  readonly next: Uint32Array
  readonly previous: Uint32Array
  readonly ringOf: Uint32Array
  /** By element: the position where the sweep meets it, and the position where the sweep leaves it. */
  readonly left: Uint32Array
  readonly right: Uint32Array
  readonly course: Uint8Array
  /** By element: 1 if it runs in the direction of the sweep, -1 if against it. */
  readonly sense: Int8Array
  /** Positions from west to east, and on one meridian from south to north. */
  readonly places: Uint32Array
  /** By position: the number of positions before it. Positions that coincide have one rank. */
  readonly rank: Uint32Array

  constructor(
    readonly shape: Shape,
    rings: readonly Ring[],
  ) {
    this.start = rings[0]!.chain.start
    const count = (this.count = rings.at(-1)!.chain.end - this.start)
    this.next = new Uint32Array(count)
    this.previous = new Uint32Array(count)
    this.ringOf = new Uint32Array(count)
    this.left = new Uint32Array(count)
    this.right = new Uint32Array(count)
    this.course = new Uint8Array(count)
    this.sense = new Int8Array(count)
    this.rank = new Uint32Array(count)
    for (const [r, { chain }] of rings.entries())
      this.link(r, chain.start - this.start, chain.end - this.start - 1)
    for (let i = 0; i < count; i++) this.orient(i)
    this.places = this.inOrder()
    const { lon, lat } = shape
    for (const [k, i] of this.places.entries()) {
      const before = this.places[k - 1]
      const [v, w] = [this.vertex(i), before === undefined ? -1 : this.vertex(before)]
      const same = before !== undefined && lon[v] === lon[w] && lat[v] === lat[w]
      this.rank[i] = same ? this.rank[before]! : k
    }
  }

  /** Links the elements of a ring. */
  private link(ring: number, first: number, last: number): void {
    for (let i = first; i <= last; i++) {
      this.next[i] = i === last ? first : i + 1
      this.ringOf[i] = ring
    }
    for (let i = first; i <= last; i++) this.previous[this.next[i]!] = i
  }

  /** Determines ends, course and sense of an element. */
  private orient(i: number): void {
    const { lon, lat } = this.shape
    const next = this.next[i]!
    const [a, b] = [this.vertex(i), this.vertex(next)]
    const across = lon[b]! - lon[a]!
    const back = across === 0 ? lat[b]! < lat[a]! : across < 0 !== Math.abs(across) > 180
    this.left[i] = back ? next : i
    this.right[i] = back ? i : next
    this.sense[i] = back ? -1 : 1
    if (isTurn(this.shape, this.start + i)) this.course[i] = lat[a]! > 0 ? Course.Roof : Course.Lid
    else
      this.course[i] = across === 0 ? Course.Upright : Math.abs(across) > 180 ? Course.Across : Course.Along
  }

  private inOrder(): Uint32Array {
    const { count } = this
    const { lon, lat } = this.shape
    spend(count / 2)
    const lons = Float64Array.from({ length: count }, (_, i) => lon[this.vertex(i)]!)
    return Uint32Array.from({ length: count }, (_, i) => i).sort(
      (i, j) => lons[i]! - lons[j]! || lat[this.vertex(i)]! - lat[this.vertex(j)]!,
    )
  }

  vertex(place: number): number {
    return this.shape.from[this.start + place]!
  }

  crossesSeam(i: number): boolean {
    const { lon } = this.shape
    if (this.course[i] !== Course.Lid) return this.course[i] === Course.Across
    return Math.abs(lon[this.vertex(this.left[i]!)]! - lon[this.vertex(this.right[i]!)]!) > 180
  }

  /** True for an upright element that does not start at the south pole, where lids lie below it. */
  rises(i: number): boolean {
    return this.course[i] === Course.Upright && this.shape.lat[this.vertex(this.left[i]!)] !== -90
  }

  coincide(i: number, j: number): boolean {
    const { rank, left, right } = this
    return rank[left[i]!] === rank[left[j]!] && rank[right[i]!] === rank[right[j]!]
  }

  /** Side of an element on the position's meridian: 1 if the position is above it, -1 below, 0 on it. */
  private side(place: number, i: number): number {
    const { shape, rank } = this
    const [left, right] = [this.left[i]!, this.right[i]!]
    if (rank[place] === rank[left] || rank[place] === rank[right]) return 0
    const reach = shape.tree.bulges[this.start + i]! + CLEAR
    return sideNorth(shape, this.vertex(place), shape, this.vertex(left), this.vertex(right), reach)
  }

  /** True if an element that is being inserted runs above another one. */
  above(i: number, j: number): boolean {
    spend(0.3)
    const { left, right } = this
    const { lon, lat } = this.shape
    const here = this.side(left[i]!, j)
    if (here !== 0) return here > 0
    // The two elements have the same start, or one starts on the other. The end that comes first decides.
    const [mine, other] = [this.vertex(right[i]!), this.vertex(right[j]!)]
    const from = lon[this.vertex(left[i]!)]!
    const [myEast, otherEast] = [eastward(from, lon[mine]!), eastward(from, lon[other]!)]
    const otherFirst = otherEast < myEast || (otherEast === myEast && lat[other]! < lat[mine]!)
    const later = otherFirst ? -this.side(right[j]!, i) : this.side(right[i]!, j)
    return later !== 0 ? later > 0 : i > j
  }
}

/** Degrees from a longitude eastward to another one. */
function eastward(from: number, to: number): number {
  return to < from ? to - from + 360 : to - from
}

class Sweep {
  private readonly order: SweepOrder
  /** Sums below and above each element; for an upright one, east and west of it. */
  private readonly under: Int32Array
  private readonly over: Int32Array
  /** By ring: its part of the sum, without its weight, above the lids on the moving meridian. */
  private readonly low: Int32Array
  /** Sum above the lids and below the lowest other edge on the moving meridian. */
  private base = 0
  /** By ring: 0 while unknown. Its first edge other than a lid decides by the side that is inside. */
  private readonly turn: Int8Array
  private readonly raw = new Map<number, number>()

  constructor(
    private readonly elements: Elements,
    private readonly rings: readonly Ring[],
    private readonly check: (e: number, f: number) => void,
    known: Int8Array | undefined,
  ) {
    this.order = new SweepOrder(elements.count, (i, j) => elements.above(i, j))
    this.under = new Int32Array(elements.count)
    this.over = new Int32Array(elements.count)
    this.low = new Int32Array(rings.length)
    this.turn = known?.slice() ?? new Int8Array(rings.length)
  }

  run(): Labels {
    const { count, rank, places, sense } = this.elements
    const { under, over } = this
    this.begin()
    for (let first = 0, after; first < count; first = after) {
      for (after = first + 1; after < count && rank[places[after]!] === first; after++);
      this.pass(first, places.subarray(first, after))
    }
    // The left of an element that runs east is above it; the left of one that runs north is west of it.
    for (let i = 0; i < count; i++) if (sense[i]! < 0) [under[i], over[i]] = [over[i]!, under[i]!]
    return { left: over, right: under, turns: this.turn }
  }

  /** Inserts and labels the elements that cross the antimeridian, where the sweep begins. */
  private begin(): void {
    const { places, previous, left, course, ringOf } = this.elements
    for (const [r, { holdsSouth }] of this.rings.entries()) if (holdsSouth) this.setLow(r, 1)
    for (const i of places)
      for (const edge of [i, previous[i]!]) {
        if (left[edge] !== i || !this.elements.crossesSeam(edge)) continue
        if (course[edge] === Course.Lid) this.setLow(ringOf[edge]!, 1 - this.low[ringOf[edge]!]!)
        else this.insert(edge)
      }
    for (let i = this.order.lowest(); i >= 0;) i = this.mark(i)
  }

  /** Moves past the positions of one rank: removes the elements that end there, then inserts the others. */
  private pass(first: number, here: Uint32Array): void {
    const { rank, left, course, previous } = this.elements
    const { order } = this
    const begun: number[] = []
    for (const i of here)
      for (const edge of [i, previous[i]!]) {
        if (course[edge] === Course.Roof) continue
        if (course[edge] === Course.Lid) this.passLid(edge, left[edge] === i ? 1 : -1)
        else if (left[edge] === i) begun.push(edge)
        else {
          const [below, above] = order.remove(edge)
          this.look(below, above)
        }
      }
    for (const edge of begun) this.insert(edge)
    if (begun.length === 0) return
    // The elements that begin here are neighbours. They are labelled from the lowest upwards.
    const begins = (i: number) => i >= 0 && rank[left[i]!] === first
    let lowest = begun[0]!
    while (begins(order.below(lowest))) lowest = order.below(lowest)
    for (let i = lowest; begins(i);) i = this.mark(i)
  }

  /** Calls `check` for two elements that became neighbours. */
  private look(i: number, j: number): void {
    const { next, start } = this.elements
    if (i >= 0 && j >= 0 && next[i] !== j && next[j] !== i)
      this.check(start + Math.min(i, j), start + Math.max(i, j))
  }

  private insert(i: number): void {
    const [below, over] = this.order.insert(i)
    this.look(below, i)
    this.look(i, over)
  }

  private beneath(i: number): number {
    const below = this.order.below(i)
    if (below < 0) return this.base
    return this.elements.course[below] === Course.Upright ? this.under[below]! : this.over[below]!
  }

  /** Labels this element and those that coincide with it, upwards. Returns the next element above them. */
  private mark(lowest: number): number {
    const { order, raw, under, over, elements } = this
    const { ringOf, sense } = elements
    const rises = elements.rises(lowest)
    const before = this.beneath(lowest)
    let after = order.over(lowest)
    let sum = before
    if (after < 0 || !elements.coincide(lowest, after))
      sum += this.adds(ringOf[lowest]!, sense[lowest]!, rises)
    else {
      raw.clear()
      raw.set(ringOf[lowest]!, sense[lowest]!)
      for (; after >= 0 && elements.coincide(lowest, after); after = order.over(after))
        raw.set(ringOf[after]!, (raw.get(ringOf[after]!) ?? 0) + sense[after]!)
      for (const [r, passed] of raw) sum += this.adds(r, passed, rises)
    }
    for (let i = lowest; i !== after; i = order.over(i)) {
      under[i] = before
      over[i] = sum
    }
    return after
  }

  /** Change of the sum at `passed` more edges of a ring that run with the sweep than against it. */
  private adds(r: number, passed: number, rises: boolean): number {
    // `low` is the ring's part of the sum west of its first edge if that rises, otherwise below it.
    if (passed !== 0) this.turn[r] ||= passed > 0 === ((this.low[r] === 1) === rises) ? 1 : -1
    return this.rings[r]!.weight * this.turn[r]! * passed
  }

  /**
   * Passes the west end (1) or the east end (-1) of a lid. Above a ring's lids, its part of the sum is 0 or
   * 1. Below them, only the parity is known, because lids may run around the pole several times.
   */
  private passLid(edge: number, by: number): void {
    const r = this.elements.ringOf[edge]!
    const turn = this.turn[r]!
    const low = this.low[r]!
    this.setLow(r, turn === 0 ? 1 - low : low + turn * by * this.elements.sense[edge]!)
  }

  private setLow(r: number, low: number): void {
    this.base += this.rings[r]!.weight * (low - this.low[r]!)
    this.low[r] = low
  }
}
