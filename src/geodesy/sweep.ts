import { spend } from './effort'
import { sideOf } from './orientation'
import type { Chain, Shape } from './shape'
import { SweepOrder } from './sweep-order'

/**
 * What lies on the two sides of each edge of some rings, by Shamos and Hoey's sweep ("Geometric intersection problems",
 * 1976): n log n, whatever the edges. The line that sweeps is a meridian, from 180 W to 180 E. The longitude along a
 * geodesic never turns back, so a meridian meets an edge once, and edges that cross are neighbours on it before they do.
 *
 * Longitudes and latitudes make a cylinder, where a pole is a line: an edge that turns there from one meridian into another
 * runs along it. Below the south pole lies what the rings' sides say (`holdsSouth`), and each edge that is passed on the way
 * north adds 1 where the inside of its ring begins and takes 1 where it ends. Edges with the same two ends are one place to
 * pass. Longitudes and latitudes only say in which order places come: sides are told on the ellipsoid (orientation.ts).
 */

/** A ring to sweep: what its inside adds (1 for shells, -1 for holes), and whether its inside holds what is south of the south pole. */
export interface SweptRing {
  chain: Chain
  weight: number
  holdsSouth: boolean
}

/** By element, counted from the first chain's start: the sums of weights on its left and on its right. */
export interface Labels {
  left: Int32Array
  right: Int32Array
}

/** Places higher than an edge by this, metres, are above it for certain. */
const CLEAR = 1e-5

/** What an element is to a meridian that sweeps. */
const enum Course {
  /** it starts on the meridian and ends on a later one */
  Along,
  /** it starts late and ends early, across the antimeridian: it is swept twice, up to its end and from its start */
  Across,
  /** it lies on one meridian */
  Upright,
  /** a turn at the south pole, below everything: where it begins and ends, what lies below all else changes */
  Lid,
  /** a turn at the north pole, above everything: nothing is asked of what lies beyond */
  Roof,
}

/**
 * @param rings whose chains follow each other; edges that meet elsewhere than at a common vertex make the labels of what is around them uncertain
 * @param check is told each two elements that become neighbours, but not those that follow each other in a ring; throws where they cross
 */
export function sweep(
  shape: Shape,
  rings: readonly SweptRing[],
  check: (e: number, f: number) => void,
): Labels {
  const { lon, lat, x, y, z, from, tree } = shape
  const start = rings[0]!.chain.start
  const count = rings.at(-1)!.chain.end - start

  // Places are named by the element that starts there: element i runs from place i to place next[i].
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
  // By element: the place where it is met first, the one where it is left, its course, and 1 where it runs as it is swept, -1 where back.
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
    if (lat[a] === lat[b] && Math.abs(lat[a]!) === 90) course[i] = lat[a]! > 0 ? Course.Roof : Course.Lid
    else course[i] = across === 0 ? Course.Upright : Math.abs(across) > 180 ? Course.Across : Course.Along
  }
  const crossesSeam = (i: number) =>
    course[i] === Course.Across ||
    (course[i] === Course.Lid && Math.abs(lon[vertex(left[i]!)]! - lon[vertex(right[i]!)]!) > 180)
  const level = (i: number, j: number) =>
    lon[vertex(i)] === lon[vertex(j)] && lat[vertex(i)] === lat[vertex(j)]
  const coincide = (i: number, j: number) => level(left[i]!, left[j]!) && level(right[i]!, right[j]!)
  /** On which side of an element a place of one of the meridians that it crosses lies: 1 above, -1 below, 0 on it. */
  const side = (place: number, i: number): number => {
    if (place === left[i] || place === right[i] || level(place, left[i]!) || level(place, right[i]!)) return 0
    const p = vertex(place)
    const a = vertex(left[i]!)
    const b = vertex(right[i]!)
    // A place north of all of the edge is above it.
    const reach = tree.bulges[start + i]! + CLEAR
    if (z[p]! > Math.max(z[a]!, z[b]!) + reach) return 1
    if (z[p]! < Math.min(z[a]!, z[b]!) - reach) return -1
    const told = sideOf(shape, p, shape, a, b)
    if (told !== 0) return told
    // In line with a steep edge, but beyond an end of it: above or below that end.
    const end = ahead(a, b, p) < 0 ? a : ahead(b, a, p) < 0 ? b : -1
    return end < 0 ? 0 : Math.sign(lat[p]! - lat[end]!)
  }
  /** Whether p lies ahead of a on the way to b, by its sign. */
  const ahead = (a: number, b: number, p: number) =>
    (x[p]! - x[a]!) * (x[b]! - x[a]!) + (y[p]! - y[a]!) * (y[b]! - y[a]!) + (z[p]! - z[a]!) * (z[b]! - z[a]!)
  /** Whether an element that is being inserted runs above another one. */
  const above = (i: number, j: number): boolean => {
    spend(0.3)
    const here = side(left[i]!, j)
    if (here !== 0) return here > 0
    // They start together, or one on the other: the end that comes first tells.
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

  // The sums below and above each element; of an upright one, east and west of it.
  const under = new Int32Array(count)
  const over = new Int32Array(count)
  let base = rings.reduce((sum, { weight, holdsSouth }) => sum + (holdsSouth ? weight : 0), 0)
  const beneath = (i: number) => {
    const below = order.below(i)
    return below < 0 ? base : course[below] === Course.Upright ? under[below]! : over[below]!
  }
  // By ring: 1 where its inside is on its left, -1 on its right, 0 while not known: told where it is passed first, from the side that holds what is south of the pole.
  const turn = new Int8Array(rings.length)
  const raw = new Map<number, number>()
  /** Labels the elements that coincide with this one, from the lowest of them; answers the next one above them. */
  const mark = (lowest: number): number => {
    const upright = course[lowest] === Course.Upright
    raw.clear()
    let after = lowest
    for (; after >= 0 && (after === lowest || coincide(lowest, after)); after = order.over(after))
      raw.set(ringOf[after]!, (raw.get(ringOf[after]!) ?? 0) + sense[after]!)
    const before = beneath(lowest)
    let sum = before
    for (const [r, passed] of raw) {
      const { weight, holdsSouth } = rings[r]!
      if (passed !== 0) turn[r] ||= passed > 0 === (holdsSouth === upright) ? 1 : -1
      sum += weight * turn[r]! * passed
    }
    for (let i = lowest; i !== after; i = order.over(i)) {
      under[i] = before
      over[i] = sum
    }
    return after
  }

  /** By ring: the lids over the meridian that sweeps, those that run east less those that run west. */
  const lids = new Int32Array(rings.length)
  /** Counts lids that begin (1) or end (-1) at one place: only all of them together tell the side. */
  const passLids = (edges: readonly number[], by: (edge: number) => number) => {
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

  const places = Uint32Array.from({ length: count }, (_, i) => i).sort(
    (i, j) => lon[vertex(i)]! - lon[vertex(j)]! || lat[vertex(i)]! - lat[vertex(j)]!,
  )
  spend(count / 2)
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
    for (after = first + 1; after < count && level(places[first]!, places[after]!); after++);
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
    passLids(turns, (edge) => (level(left[edge]!, here[0]!) ? 1 : -1))
    for (const edge of begun) insert(edge)
    if (begun.length === 0) continue
    // What begins here lies side by side; from the lowest of it up.
    const begins = (i: number) => i >= 0 && level(left[i]!, here[0]!)
    let lowest = begun[0]!
    while (begins(order.below(lowest))) lowest = order.below(lowest)
    for (let i = lowest; begins(i);) i = mark(i)
  }
  // Left of what runs as it is swept is what lies above it, and west of what runs north.
  for (let i = 0; i < count; i++) if (sense[i]! < 0) [under[i], over[i]] = [over[i]!, under[i]!]
  return { left: over, right: under }
}
