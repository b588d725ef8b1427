import { RESOLUTION, chordGap, crosses, pointToEdge, sideOf, walkEdge } from './edge'
import { B, RADIANS } from './ellipsoid'
import { GeometryError } from './error'
import { insideOdd, type Rings } from './region'
import { pathOf, type Chain, type Polygon, type Shape, type Vertices } from './shape'
import { Plane, offset, place } from './stretch'
import { SweepOrder } from './sweep-order'
import { selfPairs, visitNear } from './tree'

/**
 * What makes the inside of a polygon certain: its rings cross neither themselves nor each other, and its holes lie in its
 * shell, outside of each other. They may touch, and a ring may run back along itself (as cuts at the antimeridian do).
 * Answers the polygons whose rings touch. Throws a GeometryError that names the places. Nothing is repaired.
 */
export function checkPolygons(shape: Shape, rings: Rings): ReadonlySet<number> {
  const pinched = new Set<number>()
  for (const [i, polygon] of shape.polygons.entries()) {
    const noted: Noted = { touch: false }
    lookForCrossings(shape, polygon, noted)
    for (let c = polygon.firstChain; c < polygon.endChain; c++) noted.touch ||= turnsBack(shape, shape.chains[c]!)
    if (noted.touch) {
      pinched.add(i)
      checkSides(shape, rings, polygon)
    }
    for (let hole = polygon.firstChain + 1; hole < polygon.endChain; hole++) checkHole(shape, rings, polygon, hole)
  }
  return pinched
}

/** Whether rings were seen to touch somewhere. */
interface Noted {
  touch: boolean
}

function lookForCrossings(shape: Shape, polygon: Polygon, noted: Noted): void {
  if (checkByTree(shape, polygon, noted, PAIRS_PER_ELEMENT)) return
  const map = mapOf(shape, polygon)
  if (map) sweep(shape, polygon, noted, map)
  else if (!checkByTree(shape, polygon, noted, 200 * PAIRS_PER_ELEMENT))
    throw new GeometryError(shape.chains[polygon.firstChain]!.path, 'too many long edges side by side in a polygon wider than a hemisphere: it cannot be told whether they cross; give it in parts')
}

/** Pairs looked at, per element, before the tree gives up, neighbours apart: there are few, but for long edges side by side, which are left to the sweep. */
const PAIRS_PER_ELEMENT = 1

/** Whether an edge of a ring runs back along the one before it. */
function turnsBack(shape: Shape, { start, end }: Chain): boolean {
  const { x, y, z, from, to, tree } = shape
  for (let e = start; e < end; e++) {
    const f = nextInRing(shape, e)
    const a = from[e]!
    const b = to[e]!
    const c = to[f]!
    // Most rings go on in about the direction they came.
    if ((x[b]! - x[a]!) * (x[c]! - x[b]!) + (y[b]! - y[a]!) * (y[c]! - y[b]!) + (z[b]! - z[a]!) * (z[c]! - z[b]!) > 0) continue
    if (touches(shape, a, from[f]!, c, tree.bulges[f]!) || touches(shape, c, a, b, tree.bulges[e]!)) return true
  }
  return false
}

/** Looks at all pairs of edges whose boxes meet; false where those are too many. */
function checkByTree(shape: Shape, polygon: Polygon, noted: Noted, pairsPerElement: number): boolean {
  const [start, end] = elementsOf(shape, polygon)
  let left = (end - start) * pairsPerElement + 1000
  return selfPairs(shape, start, end, left / 2, (e, f) => {
    if (!neighbours(shape, e, f)) {
      left--
      checkPair(shape, e, f, noted)
    }
    return left > 0
  })
}

/** Places 84 degrees from its middle are the farthest that the map of a sweep has: the cosine, times the square of a radius. */
const WIDEST_MAP = 0.1 * B * B

/**
 * Shamos and Hoey's sweep ("Geometric intersection problems", 1976): n log n, whatever the edges. From left to right over
 * a gnomonic map of the polygon, on which geodesics run all but straight; edges that cross are neighbours on the sweep
 * line before they do. The map only says in which order places come: sides are told on the ellipsoid.
 */
function sweep(shape: Shape, polygon: Polygon, noted: Noted, { x, y }: SweepMap): void {
  const [start, end] = elementsOf(shape, polygon)
  const { from } = shape
  const count = end - start
  const next = (i: number) => nextInRing(shape, start + i) - start
  const previous = (i: number) => previousInRing(shape, start + i) - start
  const before = (i: number, j: number) => x[i]! < x[j]! || (x[i] === x[j] && y[i]! < y[j]!)
  const level = (i: number, j: number) => x[i] === x[j] && y[i] === y[j]

  // Element i runs from place i to place next(i); on the sweep line it has its left place and its right one.
  const leftOf = (i: number) => (before(i, next(i)) ? i : next(i))
  const rightOf = (i: number) => (before(i, next(i)) ? next(i) : i)
  const side = (place: number, i: number) => {
    const left = leftOf(i)
    const right = rightOf(i)
    return level(place, left) || level(place, right) ? 0 : sideOf(shape, from[start + place]!, shape, from[start + left]!, from[start + right]!)
  }
  /** Whether element i, whose left place the sweep has come to, runs above element j. */
  const above = (i: number, j: number): boolean => {
    const here = side(leftOf(i), j)
    if (here !== 0) return here > 0
    const right = rightOf(i)
    const other = rightOf(j)
    const later = before(other, right) ? -side(other, i) : side(right, j)
    return later !== 0 ? later > 0 : i > j
  }
  /** A turn at a pole, from one meridian into another, has no length. */
  const isSpot = (i: number) => level(i, next(i))
  const order = new SweepOrder(count, above)
  const check = (i: number, j: number) => {
    if (i >= 0 && j >= 0 && !neighbours(shape, start + i, start + j)) checkPair(shape, start + Math.min(i, j), start + Math.max(i, j), noted)
  }

  const places = Uint32Array.from({ length: count }, (_, i) => i).sort((i, j) => x[i]! - x[j]! || y[i]! - y[j]!)
  for (let first = 0, after; first < count; first = after) {
    for (after = first + 1; after < count && level(places[first]!, places[after]!); after++);
    noted.touch ||= after - first > 1
    const here = places.subarray(first, after)
    for (const i of here)
      for (const edge of [i, previous(i)])
        if (rightOf(edge) === i && !isSpot(edge)) {
          const [below, over] = order.remove(edge)
          check(below, over)
        }
    for (const i of here)
      for (const edge of [i, previous(i)])
        if (leftOf(edge) === i && !isSpot(edge)) {
          const [below, over] = order.insert(edge)
          check(below, edge)
          check(edge, over)
        }
  }
}

interface SweepMap {
  x: Float64Array
  y: Float64Array
}

/** Where the places at which elements start lie on a gnomonic map; undefined where they are too far apart for one. */
function mapOf(shape: Shape, polygon: Polygon): SweepMap | undefined {
  const [start, end] = elementsOf(shape, polygon)
  const middle = middleOf(shape, start, end)
  const plane = new Plane(middle, 0)
  const map = { x: new Float64Array(end - start), y: new Float64Array(end - start) }
  for (let i = 0; i < end - start; i++) {
    const v = shape.from[start + i]!
    if (shape.x[v]! * middle.x[0]! + shape.y[v]! * middle.y[0]! + shape.z[v]! * middle.z[0]! < WIDEST_MAP) return undefined
    const [x, y] = plane.project(shape, v)
    map.x[i] = x
    map.y[i] = y
  }
  return map
}

function middleOf({ x, y, z, from }: Shape, start: number, end: number): Vertices {
  let cx = 0
  let cy = 0
  let cz = 0
  for (let e = start; e < end; e++) {
    cx += x[from[e]!]!
    cy += y[from[e]!]!
    cz += z[from[e]!]!
  }
  return place({ lon: Math.atan2(cy, cx) / RADIANS, lat: Math.atan2(cz, Math.hypot(cx, cy)) / RADIANS })
}

function elementsOf({ chains }: Shape, { firstChain, endChain }: Polygon): readonly [number, number] {
  return [chains[firstChain]!.start, chains[endChain - 1]!.end]
}

/** Throws if two edges cross; notes whether one touches the other. */
function checkPair(shape: Shape, e: number, f: number, noted: Noted): void {
  const { from, to } = shape
  const a = from[e]!
  const b = to[e]!
  const c = from[f]!
  const d = to[f]!
  const bulgeE = shape.tree.bulges[e]!
  const bulgeF = shape.tree.bulges[f]!
  if (chordGap(shape, a, b, shape, c, d) - bulgeE - bulgeF > RESOLUTION) return
  if (crosses(shape, a, b, shape, c, d)) throw crossing(shape, e, f)
  noted.touch ||= touches(shape, a, c, d, bulgeF) || touches(shape, b, c, d, bulgeF) || touches(shape, c, a, b, bulgeE) || touches(shape, d, a, b, bulgeE)
}

/** Whether a vertex lies on an edge, to two micrometres. */
function touches(shape: Shape, v: number, p: number, q: number, bulge: number): boolean {
  return chordGap(shape, v, v, shape, p, q) - bulge <= 2 * RESOLUTION && sideOf(shape, v, shape, p, q) === 0 && pointToEdge(shape, v, shape, p, q) <= 2 * RESOLUTION
}

function crossing(shape: Shape, e: number, f: number): GeometryError {
  const own = shape.chainOf[e] === shape.chainOf[f]
  return new GeometryError(pathOf(shape, e), `the edge that starts here crosses the one that starts at ${pathOf(shape, f)}; ${own ? 'a ring must not cross itself' : 'rings of a polygon must not cross'}`)
}

/** Elements that follow each other in a ring: they meet at their common end, and nowhere else but along themselves. */
function neighbours(shape: Shape, e: number, f: number): boolean {
  return (e + 1 === f && shape.chainOf[e] === shape.chainOf[f]) || nextInRing(shape, e) === f || nextInRing(shape, f) === e
}

function nextInRing({ chains, chainOf }: Shape, element: number): number {
  const { start, end } = chains[chainOf[element]!]!
  return element + 1 === end ? start : element + 1
}

function previousInRing({ chains, chainOf }: Shape, element: number): number {
  const { start, end } = chains[chainOf[element]!]!
  return element === start ? end - 1 : element - 1
}

/** How far beside an edge its sides are looked at, metres: far more than rounding, far less than any shape. */
const BESIDE = 2e-5
/** Parts of an edge at which a place on it is looked for that no other edge touches. */
const SPOTS = [0.5, 0.271, 0.837, 0.123]

/**
 * Throws where rings that touch cross as they do, at a vertex or along a stretch that they share: then a ring has the inside
 * of the polygon on its left before, and on its right after. Two edges out of a place, next to each other, have opposite
 * parities on their left; rings that only touch come and go in turn. Edges that lie on others are passed over.
 */
function checkSides(shape: Shape, rings: Rings, polygon: Polygon): void {
  const { firstChain, endChain } = polygon
  const [from, until] = elementsOf(shape, polygon)
  const isAlone = (spot: Vertices, e: number) => visitNear(shape, spot, 0, 0, 2 * BESIDE, (f) => f === e || f < from || f >= until || pointToEdge(spot, 0, shape, shape.from[f]!, shape.to[f]!) > 2 * BESIDE)
  for (let c = firstChain; c < endChain; c++) {
    const { start, end, path } = shape.chains[c]!
    let left: boolean | undefined
    let first = start
    for (let e = start; e < end; e++) {
      const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
      if (walk.length < 4 * BESIDE) continue
      const spot = SPOTS.map((part) => walk.at(walk.length * part)).find((spot) => isAlone(place(spot), e))
      if (!spot) continue
      const here = insideOdd(place(offset(spot.lon, spot.lat, spot.azimuth - 90, BESIDE)), 0, shape, rings, [firstChain, endChain])
      if (left !== undefined && here !== left)
        throw new GeometryError(pathOf(shape, e), `from here on the inside is on the other side of the ring than at ${pathOf(shape, first)}: ${c === firstChain ? 'a ring must not cross itself' : 'rings of a polygon must not cross'}, not where it touches either`)
      if (left === undefined) first = e
      left = here
    }
    if (left === undefined) throw new GeometryError(path, 'this ring runs along itself, or along other rings, all the way: it has no inside of its own')
  }
}

/** Throws for a hole that is not inside the shell, or is inside another hole. No rings cross, so one place of it says of all. */
function checkHole(shape: Shape, rings: Rings, polygon: Polygon, hole: number): void {
  const chain = shape.chains[hole]!
  const [start, end] = elementsOf(shape, polygon)
  for (let e = chain.start; e < chain.end; e++) {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    for (const part of SPOTS) {
      // A place of the hole that no other edge touches, nor one of its own that runs back there.
      const spot = place(walk.at(walk.length * part))
      if (!visitNear(shape, spot, 0, 0, 4 * RESOLUTION, (f) => f === e || f < start || f >= end || pointToEdge(spot, 0, shape, shape.from[f]!, shape.to[f]!) > 4 * RESOLUTION)) continue
      // Inside the shell, and in no other hole: of all the other rings together, inside an odd number.
      const inside = insideOdd(spot, 0, shape, rings, [polygon.firstChain, polygon.endChain], [hole, hole + 1])
      if (!inside) throw new GeometryError(chain.path, 'this hole is not inside the polygon: a hole must lie within its shell, and not in another hole')
      return
    }
  }
  throw new GeometryError(chain.path, 'this hole lies on other rings of the polygon all along: a hole must lie within its shell, and not be another hole again')
}
