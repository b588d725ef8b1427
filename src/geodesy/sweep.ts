import { sideOf } from './edge'
import { spend } from './effort'
import { turnsOf, type Rings } from './region'
import type { Polygon, Shape } from './shape'
import { SweepOrder } from './sweep-order'

export interface Swept {
  /** Whether vertices of the rings lie in one place. */
  touch: boolean
  /**
   * By chain, for holes: whether they are inside an odd number of the other rings. Nothing is said of holes that cross the
   * antimeridian or hold a pole. Certain where rings touch nowhere but at vertices of each other, as is:
   */
  held: ReadonlyMap<number, boolean>
  /** Whether what lies left of an element is inside an odd number of rings. Undefined where rings turn at a pole. */
  insideLeft?: (element: number) => boolean
}

/** Places higher than an edge by this, metres, are above it for certain. */
const CLEAR = 1e-5

/** What an element is to a meridian that sweeps. */
const enum Course {
  /** it starts on the meridian and ends on a later one */
  Along,
  /** it starts late and ends early, across the antimeridian */
  Across,
  /** it lies on one meridian */
  Upright,
  /** a turn at a pole, from one meridian into another, of no length */
  Spot,
}

/**
 * Shamos and Hoey's sweep ("Geometric intersection problems", 1976) over the rings of a polygon: n log n, whatever the edges.
 * The line that sweeps is a meridian, from 180 W to 180 E. The longitude along a geodesic never turns back, so a meridian
 * meets an edge once, and edges that cross are neighbours on it before they do. An edge across the antimeridian is swept
 * twice: from its west end up to 180 W before all others, and as it comes at the end.
 * Longitudes and latitudes only say in which order places come: sides are told on the ellipsoid.
 * @param check is told each two elements that become neighbours, but not those that follow each other in a ring; throws where they cross
 */
export function sweep(shape: Shape, polygon: Polygon, rings: Rings, check: (e: number, f: number) => void): Swept {
  const { lon, lat, z, from, chains, chainOf, tree } = shape
  const { firstChain, endChain } = polygon
  const start = chains[firstChain]!.start
  const count = chains[endChain - 1]!.end - start

  // Places are named by the element that starts there: element i runs from place i to place next[i].
  const next = new Uint32Array(count)
  const previous = new Uint32Array(count)
  for (let c = firstChain; c < endChain; c++) {
    const first = chains[c]!.start - start
    const last = chains[c]!.end - start - 1
    for (let i = first; i <= last; i++) next[i] = i === last ? first : i + 1
    for (let i = first; i <= last; i++) previous[next[i]!] = i
  }
  // By element: the place where it is met first, the one where it is left, and its course.
  const left = new Uint32Array(count)
  const right = new Uint32Array(count)
  const course = new Uint8Array(count)
  for (let i = 0; i < count; i++) {
    const a = from[start + i]!
    const b = from[start + next[i]!]!
    const across = lon[b]! - lon[a]!
    const back = across === 0 ? lat[b]! < lat[a]! : across < 0 !== Math.abs(across) > 180
    left[i] = back ? next[i]! : i
    right[i] = back ? i : next[i]!
    course[i] = Math.abs(lat[a]!) === 90 && lat[a] === lat[b] ? Course.Spot : across === 0 ? Course.Upright : Math.abs(across) > 180 ? Course.Across : Course.Along
  }
  const vertex = (place: number) => from[start + place]!
  /** How often the rings run through a pole. */
  const passes = (pole: number) => {
    let count = 0
    for (let i = 0; i < next.length; i++) if (lat[vertex(i)] === pole && course[i] !== Course.Spot) count++
    return count
  }
  const level = (i: number, j: number) => lon[vertex(i)] === lon[vertex(j)] && lat[vertex(i)] === lat[vertex(j)]
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
    return sideOf(shape, p, shape, a, b)
  }
  /** Whether an element that is being inserted runs above another one. */
  const above = (i: number, j: number): boolean => {
    spend(0.3)
    const here = side(left[i]!, j)
    if (here !== 0) return here > 0
    // They start together, or one on the other: the end that comes first tells.
    const ahead = (k: number) => {
      const east = lon[vertex(right[k]!)]! - lon[vertex(left[i]!)]!
      return east < 0 ? east + 360 : east
    }
    const [mine, other] = [ahead(i), ahead(j)]
    const otherFirst = other < mine || (other === mine && lat[vertex(right[j]!)]! < lat[vertex(right[i]!)]!)
    const later = otherFirst ? -side(right[j]!, i) : side(right[i]!, j)
    return later !== 0 ? later > 0 : i > j
  }
  const order = new SweepOrder(count, above)
  const look = (i: number, j: number) => {
    if (i >= 0 && j >= 0 && next[i] !== j && next[j] !== i) check(start + Math.min(i, j), start + Math.max(i, j))
  }
  const insert = (i: number) => {
    const [below, over] = order.insert(i)
    look(below, i)
    look(i, over)
  }

  // Whether what lies right above an element is inside an odd number of rings; above an upright one, the same as below it.
  let south = false
  for (let c = firstChain; c < endChain; c++) if (rings.of[c]!.holdsNorthPole !== (turnsOf(shape, chains[c]!) !== 0)) south = !south
  const odd = new Uint8Array(count)
  const oddBelow = (i: number) => {
    const below = order.below(i)
    return below < 0 ? Number(south) : odd[below]!
  }
  const mark = (i: number) => (odd[i] = course[i] === Course.Upright ? oddBelow(i) : oddBelow(i) ^ 1)

  const places = Uint32Array.from({ length: count }, (_, i) => i).sort((i, j) => lon[vertex(i)]! - lon[vertex(j)]! || lat[vertex(i)]! - lat[vertex(j)]!)
  spend(count / 2)
  for (const i of places) for (const edge of [i, previous[i]!]) if (left[edge] === i && course[edge] === Course.Across) insert(edge)
  for (let i = order.lowest(); i >= 0; i = order.over(i)) mark(i)

  const undecided = plainHoles(shape, polygon, rings)
  const held = new Map<number, boolean>()
  let touch = passes(90) > 1 || passes(-90) > 1
  for (let first = 0, after; first < count; first = after) {
    for (after = first + 1; after < count && level(places[first]!, places[after]!); after++);
    touch ||= after - first > 1
    const here = places.subarray(first, after)
    const begun: number[] = []
    for (const i of here)
      for (const edge of [i, previous[i]!]) {
        if (course[edge] === Course.Spot) continue
        if (left[edge] === i) begun.push(edge)
        else {
          const [below, over] = order.remove(edge)
          look(below, over)
        }
      }
    for (const edge of begun) insert(edge)
    if (begun.length === 0) continue
    // What begins here lies side by side; from the lowest of it up.
    const begins = (i: number) => i >= 0 && level(left[i]!, here[0]!)
    let lowest = begun[0]!
    while (begins(order.below(lowest))) lowest = order.below(lowest)
    for (let i = lowest; begins(i); i = order.over(i)) {
      mark(i)
      // A hole that begins here is where the place below it is.
      if (undecided.delete(chainOf[start + i]!)) held.set(chainOf[start + i]!, oddBelow(i) === 1)
    }
  }
  const turning = course.includes(Course.Spot)
  const insideLeft = (element: number) => {
    const i = element - start
    // Of an upright one, the mark is that of its east side.
    return (odd[i] === 1) === ((left[i] === i) !== (course[i] === Course.Upright))
  }
  return { touch, held: turning ? new Map<number, boolean>() : held, ...(!turning && { insideLeft }) }
}

/** Holes that have all of themselves east of their first place. */
function plainHoles({ lon, from, to, chains }: Shape, { firstChain, endChain }: Polygon, rings: Rings): Set<number> {
  const found = new Set<number>()
  for (let c = firstChain; c < endChain; c++) {
    let plain = !rings.of[c]!.holdsNorthPole
    for (let e = chains[c]!.start; e < chains[c]!.end; e++) {
      const [a, b] = [from[e]!, to[e]!]
      if (Math.abs(lon[a]! - lon[b]!) > 180) plain = false
    }
    if (plain && c > firstChain) found.add(c)
  }
  return found
}
