// SPDX-License-Identifier: MIT
import { spend } from './effort'
import { sideNorth } from './edge'
import { holdsSouth, type Rings } from './region'
import { isTurn, type Polygon, type Shape } from './shape'
import { SweepOrder } from './sweep-order'

/**
 * Finds the sums on both sides of each edge of some rings, by Shamos and Hoey's sweep ("Geometric
 * intersection problems", 1976), in n log n for any edges. The sweep line is a meridian that moves from 180 W
 * to 180 E. The longitude along a geodesic never turns back, so a meridian meets an edge once, and edges that
 * cross are neighbours on the meridian before they cross.
 *
 * Longitude and latitude form a cylinder, on which a pole is a line: an edge that turns at a pole from one
 * meridian to another runs along this line. The sides of the rings determine the sum below the south pole
 * (`holdsSouth`). From there northward, each edge adds 1 if the inside of its ring begins there and subtracts
 * 1 if it ends. Edges with the same two ends are passed together. Longitude and latitude only order the
 * positions; sides are determined on the ellipsoid (orientation.ts).
 */

/** Sums on the left and right of each element, counted from the start of the first chain. */
export interface Labels {
  left: Int32Array
  right: Int32Array
  /** by ring: 1 if its inside is on its left, -1 if on its right, 0 if it has none */
  turns: Int8Array
}

/** Positions this much higher than an edge, metres, are certainly above it. */
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
 * Sweeps the rings of polygons.
 * @param polygons polygons with consecutive chains: the inside of a shell adds 1, that of a hole -1. If edges
 *   meet elsewhere than at a common vertex, the labels near them are uncertain
 * @param check called with any two elements that become neighbours, except consecutive ones of a ring; throws
 *   if they cross
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
  const { lon, lat, from, tree } = shape
  const start = rings[0]!.chain.start
  const count = rings.at(-1)!.chain.end - start

  // A position is named by the element that starts there: element i runs from position i to position next[i].
  const next = new Uint32Array(count)
  const previous = new Uint32Array(count)
  const ringOf = new Uint32Array(count)
  for (const [r, { chain }] of rings.entries()) {
    const first = chain.start - start
    const last = chain.end - start - 1
    for (let i = first; i <= last; i++) {
      next[i] = i === last ? first : i + 1
      ringOf[i] = r
    }
    for (let i = first; i <= last; i++) previous[next[i]!] = i
  }
  const vertex = (place: number) => from[start + place]!
  // By element: the position where the sweep meets it, the position where the sweep leaves it, its course,
  // and 1 if it runs in the direction of the sweep, -1 if against it.
  const left = new Uint32Array(count)
  const right = new Uint32Array(count)
  const course = new Uint8Array(count)
  const sense = new Int8Array(count)
  for (let i = 0; i < count; i++) {
    const a = vertex(i)
    const b = vertex(next[i]!)
    const across = lon[b]! - lon[a]!
    const back = across === 0 ? lat[b]! < lat[a]! : across < 0 !== Math.abs(across) > 180
    left[i] = back ? next[i]! : i
    right[i] = back ? i : next[i]!
    sense[i] = back ? -1 : 1
    if (isTurn(shape, start + i)) course[i] = lat[a]! > 0 ? Course.Roof : Course.Lid
    else course[i] = across === 0 ? Course.Upright : Math.abs(across) > 180 ? Course.Across : Course.Along
  }
  const crossesSeam = (i: number) =>
    course[i] === Course.Across ||
    (course[i] === Course.Lid && Math.abs(lon[vertex(left[i]!)]! - lon[vertex(right[i]!)]!) > 180)
  const places = inOrder(count, vertex, shape)
  // By position: the number of positions before it. Positions that coincide have one rank.
  const rank = new Uint32Array(count)
  for (const [k, i] of places.entries()) {
    const before = places[k - 1]
    const same =
      before !== undefined && lon[vertex(i)] === lon[vertex(before)] && lat[vertex(i)] === lat[vertex(before)]
    rank[i] = same ? rank[before]! : k
  }
  const coincide = (i: number, j: number) =>
    rank[left[i]!] === rank[left[j]!] && rank[right[i]!] === rank[right[j]!]
  /**
   * Side of an element on which a position lies: 1 above, -1 below, 0 on it. The position must be on a
   * meridian that the element crosses.
   */
  const side = (place: number, i: number): number => {
    if (rank[place] === rank[left[i]!] || rank[place] === rank[right[i]!]) return 0
    const reach = tree.bulges[start + i]! + CLEAR
    return sideNorth(shape, vertex(place), shape, vertex(left[i]!), vertex(right[i]!), reach)
  }
  /** True if an element that is being inserted runs above another one. */
  const above = (i: number, j: number): boolean => {
    spend(0.3)
    const here = side(left[i]!, j)
    if (here !== 0) return here > 0
    // They have the same start, or one starts on the other. The end that comes first decides.
    const eastward = (k: number) => {
      const east = lon[vertex(right[k]!)]! - lon[vertex(left[i]!)]!
      return east < 0 ? east + 360 : east
    }
    const [mine, other] = [eastward(i), eastward(j)]
    const otherFirst = other < mine || (other === mine && lat[vertex(right[j]!)]! < lat[vertex(right[i]!)]!)
    const later = otherFirst ? -side(right[j]!, i) : side(right[i]!, j)
    return later !== 0 ? later > 0 : i > j
  }
  const order = new SweepOrder(count, above)
  const look = (i: number, j: number) => {
    if (i >= 0 && j >= 0 && next[i] !== j && next[j] !== i)
      check(start + Math.min(i, j), start + Math.max(i, j))
  }
  const insert = (i: number) => {
    const [below, over] = order.insert(i)
    look(below, i)
    look(i, over)
  }

  // Sums below and above each element; for an upright one, east and west of it.
  const under = new Int32Array(count)
  const over = new Int32Array(count)
  let base = rings.reduce((sum, { weight, holdsSouth }) => sum + (holdsSouth ? weight : 0), 0)
  const beneath = (i: number) => {
    const below = order.below(i)
    return below < 0 ? base : course[below] === Course.Upright ? under[below]! : over[below]!
  }
  // 0 while unknown. The first edge of the ring that the sweep passes determines it, by the side that
  // contains the area south of the pole.
  const turn = known?.slice() ?? new Int8Array(rings.length)
  const raw = new Map<number, number>()
  /**
   * Labels the elements that coincide with this one, from the lowest of them upwards, and returns the next
   * element above them.
   */
  const mark = (lowest: number): number => {
    const upright = course[lowest] === Course.Upright
    const before = beneath(lowest)
    /**
     * Change of the sum at edges of one ring: `passed` is the number that run with the sweep minus the number
     * that run against it.
     */
    const adds = (r: number, passed: number): number => {
      const { weight, holdsSouth } = rings[r]!
      if (passed !== 0) turn[r] ||= passed > 0 === (holdsSouth === upright) ? 1 : -1
      return weight * turn[r]! * passed
    }
    let after = order.over(lowest)
    let sum = before
    if (after < 0 || !coincide(lowest, after)) sum += adds(ringOf[lowest]!, sense[lowest]!)
    else {
      raw.clear()
      raw.set(ringOf[lowest]!, sense[lowest]!)
      for (; after >= 0 && coincide(lowest, after); after = order.over(after))
        raw.set(ringOf[after]!, (raw.get(ringOf[after]!) ?? 0) + sense[after]!)
      for (const [r, passed] of raw) sum += adds(r, passed)
    }
    for (let i = lowest; i !== after; i = order.over(i)) {
      under[i] = before
      over[i] = sum
    }
    return after
  }

  /** By ring: number of lids on the moving meridian that run east minus the number that run west. */
  const lids = new Int32Array(rings.length)
  /** Counts lids that begin (1) or end (-1) at one position. Only all of them together determine the side. */
  const passLids = (edges: readonly number[], by: (edge: number) => number) => {
    if (edges.length === 0) return
    for (const edge of edges) {
      const r = ringOf[edge]!
      base -= rings[r]!.weight * turn[r]! * lids[r]!
      lids[r]! += by(edge) * sense[edge]!
      base += rings[r]!.weight * turn[r]! * lids[r]!
    }
    for (const r of new Set(edges.map((edge) => ringOf[edge]!))) {
      if (turn[r] !== 0 || lids[r] === 0) continue
      turn[r] = lids[r]! > 0 === rings[r]!.holdsSouth ? -1 : 1
      base += rings[r]!.weight * turn[r] * lids[r]!
    }
  }

  const acrossLids: number[] = []
  for (const i of places)
    for (const edge of [i, previous[i]!]) {
      if (left[edge] !== i || !crossesSeam(edge)) continue
      if (course[edge] === Course.Lid) acrossLids.push(edge)
      else insert(edge)
    }
  passLids(acrossLids, () => 1)
  for (let i = order.lowest(); i >= 0;) i = mark(i)

  for (let first = 0, after; first < count; first = after) {
    for (after = first + 1; after < count && rank[places[after]!] === first; after++);
    const here = places.subarray(first, after)
    const begun: number[] = []
    const turns: number[] = []
    for (const i of here)
      for (const edge of [i, previous[i]!]) {
        if (course[edge] === Course.Roof) continue
        if (course[edge] === Course.Lid) turns.push(edge)
        else if (left[edge] === i) begun.push(edge)
        else {
          const [below, above] = order.remove(edge)
          look(below, above)
        }
      }
    passLids(turns, (edge) => (rank[left[edge]!] === first ? 1 : -1))
    for (const edge of begun) insert(edge)
    if (begun.length === 0) continue
    // The elements that begin here are neighbours. They are labelled from the lowest upwards.
    const begins = (i: number) => i >= 0 && rank[left[i]!] === first
    let lowest = begun[0]!
    while (begins(order.below(lowest))) lowest = order.below(lowest)
    for (let i = lowest; begins(i);) i = mark(i)
  }
  // The left of an element that runs with the sweep is above it; the left of one that runs north is west of
  // it.
  for (let i = 0; i < count; i++) if (sense[i]! < 0) [under[i], over[i]] = [over[i]!, under[i]!]
  return { left: over, right: under, turns: turn }
}

/** Positions from west to east, and on one meridian from south to north. */
function inOrder(count: number, vertex: (place: number) => number, { lon, lat }: Shape): Uint32Array {
  spend(count / 2)
  const lons = Float64Array.from({ length: count }, (_, i) => lon[vertex(i)]!)
  return Uint32Array.from({ length: count }, (_, i) => i).sort(
    (i, j) => lons[i]! - lons[j]! || lat[vertex(i)]! - lat[vertex(j)]!,
  )
}
