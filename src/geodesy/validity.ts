// SPDX-License-Identifier: MIT
import { crossingOf } from './edge'
import { attempt } from './effort'
import { GeometryError } from './error'
import { Nodes } from './nodes'
import { chainsOf, joinPolygons, sidesOf } from './arrangement'
import { insideOdd, type Rings } from './region'
import { comesBack, isTurn, pathOf, type Polygon, type Shape } from './shape'
import { sweep, type Labels } from './sweep'
import { CrossingError, exactlyOr, nearestEnd, regularise, remedy, type Regular } from './touching'
import { selfPairs } from './tree'

/**
 * Conditions for an unambiguous inside: the sum (number of rings whose smaller side contains a position) of
 * the shell minus those of the holes is 0 or 1 everywhere, and so is that of each ring. Then no ring crosses
 * itself or another ring, and the holes lie in the shell and outside each other. Rings may touch and run
 * along each other: an edge with the same sum on both sides is a seam. Rings that cross by less than half a
 * centimetre touch (touching.ts). Nothing else is repaired.
 */

/** Shape whose rings are cut where they meet. Seams have their polygon on both sides, or on neither. */
export interface Outline {
  shape: Shape
  /** sides of the rings */
  rings: Rings
  /** by element, 1 for a seam; absent if no rings meet */
  seams?: Uint8Array
  /** square metres by which the areas of the original rings exceed those of the polygons; 0 if absent */
  excess?: number
}

/**
 * Throws a GeometryError for a polygon without an unambiguous inside.
 * @param looking called with the path of each shell before its check, and again with the error if its rings
 *   cross, perhaps by less than half a centimetre
 */
export function checkPolygons(
  given: Shape,
  rings: Rings,
  looking: (path: string, refusal?: GeometryError) => void,
): Outline {
  if (given.polygons.length === 0) return { shape: given, rings }
  const nodes = new Nodes(given, (e, f) => refuseCrossing(given, e, f))
  const met = new Set<number>()
  const regular = new Map<number, Regular>()
  /** Checks a polygon. If it is refused, its rings may still cross by less than half a centimetre. */
  const check = (i: number, { chains }: Shape, exactly: () => void) => {
    const polygon = given.polygons[i]!
    const { path } = chains[polygon.firstChain]!
    looking(path)
    const found = exactlyOr<Regular | 'exact'>(
      given,
      () => (exactly(), 'exact'),
      (refusal) => (looking(path, refusal), regularise(given, polygon, refuseCrossing)),
    )
    if (found === 'exact') return
    met.delete(i)
    regular.set(i, found)
  }
  for (const [i, polygon] of given.polygons.entries())
    check(i, given, () => {
      if (mayMeet(given, polygon, nodes)) met.add(i)
      else if (
        !attempt(1_000 + size(given, polygon) * HOLES_PER_ELEMENT, () => checkHoles(given, rings, polygon))
      )
        checkSums(given, rings, polygon, [], () => {})
    })
  if (met.size === 0) return joined(given, rings, undefined, regular)
  for (let shape = nodes.split(); ;) {
    const sides = sidesOf(shape, given, rings)
    const seams = new Uint8Array(shape.from.length)
    const more = new Nodes(shape, (e, f) => refuseCrossing(shape, e, f))
    for (const i of [...met])
      check(i, shape, () => {
        const polygon = shape.polygons[i]!
        for (const { path, start, end } of shape.chains.slice(polygon.firstChain, polygon.endChain))
          if (end - start < 2)
            throw new GeometryError(path, 'this ring is smaller than a micrometre, so it has no inside')
        checkSums(shape, sides, polygon, nodes.touching, more.meet, seams)
      })
    if (!more.any) return joined(shape, sides, seams.includes(1) ? seams : undefined, regular)
    shape = more.split()
  }
}

/** Outline with some polygons replaced. */
function joined(
  shape: Shape,
  rings: Rings,
  seams: Uint8Array | undefined,
  regular: ReadonlyMap<number, Regular>,
): Outline {
  if (regular.size === 0) return { shape, rings, seams }
  const polygons = shape.polygons.map((polygon, i) => regular.get(i)?.rings ?? chainsOf(shape, polygon))
  const others = shape.chains.filter(({ polygon }) => polygon < 0).map((chain) => ({ shape, chain }))
  const { shape: whole, rings: sides } = joinPolygons(shape.path, polygons, others)
  // A polygon may have several shells, so the smaller side of the first one is not a cap around it.
  const of = [...sides.of]
  for (const i of regular.keys()) {
    const { firstChain } = whole.polygons[i]!
    of[firstChain] = { holdsNorthPole: of[firstChain]!.holdsNorthPole }
  }
  let excess = 0
  for (const { excess: own } of regular.values()) excess += own
  const seamsOfWhole =
    seams &&
    Uint8Array.from(
      [...polygons.flat(), ...others].flatMap(({ shape: from, chain: { start, end } }) =>
        from === shape ? [...seams.subarray(start, end)] : new Array<number>(end - start).fill(0),
      ),
    )
  return { shape: whole, rings: { ...sides, of }, seams: seamsOfWhole, excess }
}

/** Limit of counted microseconds per element for the search by boxes: twice what it usually needs. */
const BOXES_PER_ELEMENT = 1
/** Limit of counted microseconds per element for testing the holes one by one. */
const HOLES_PER_ELEMENT = 1

/** True if rings may meet; records their nodes. Boxes are fastest for short edges, the sweep for others. */
function mayMeet(shape: Shape, { firstChain, endChain }: Polygon, nodes: Nodes): boolean {
  const [start, end] = elementsOf(shape, { firstChain, endChain })
  const before = nodes.pairs
  for (let c = firstChain; c < endChain; c++) nodes.followTurns(shape.chains[c]!.start, shape.chains[c]!.end)
  if (attempt(1_000 + (end - start) * BOXES_PER_ELEMENT, () => selfPairs(shape, start, end, nodes.meet)))
    return nodes.pairs > before
  for (let c = firstChain; c < endChain && endChain > firstChain + 1; c++)
    if (comesBack(shape, c)) nodes.touching.add(c)
  return true
}

function elementsOf({ chains }: Shape, { firstChain, endChain }: Polygon): readonly [number, number] {
  return [chains[firstChain]!.start, chains[endChain - 1]!.end]
}

function size(shape: Shape, polygon: Polygon): number {
  const [start, end] = elementsOf(shape, polygon)
  return end - start
}

type Check = (e: number, f: number) => void

/** Throws unless the sums of a polygon, and of its rings that touch themselves, are certain. Marks seams. */
function checkSums(
  shape: Shape,
  rings: Rings,
  polygon: Polygon,
  touching: Iterable<number>,
  check: Check,
  seams?: Uint8Array,
): void {
  const { firstChain, endChain } = polygon
  if (endChain > firstChain + 1)
    for (const c of touching)
      if (c >= firstChain && c < endChain) {
        const ring = { firstChain: c, endChain: c + 1 }
        checkLabels(shape, ring, sweep(shape, rings, [ring], check))
      }
  const labels = sweep(shape, rings, [polygon], check)
  checkLabels(shape, polygon, labels)
  if (seams) markSeams(shape, polygon, labels, seams)
}

function checkLabels(shape: Shape, polygon: Polygon, { left, right }: Labels): void {
  const { firstChain, endChain } = polygon
  const { chains, lat, from } = shape
  const [start, end] = elementsOf(shape, polygon)
  let wrong = -1
  let bounds = false
  for (let e = start; e < end; e++) {
    // Turns at a pole may coincide in any order.
    if (isTurn(shape, e)) continue
    const [l, r] = [left[e - start]!, right[e - start]!]
    if (wrong < 0 && (l < 0 || l > 1 || r < 0 || r > 1)) wrong = e
    bounds ||= l !== r
  }
  if (wrong < 0 && bounds) return
  for (let c = firstChain; c < endChain; c++) {
    // Where rings cross, the inside changes from the left of a ring to its right.
    let [last, first] = [-1, -1]
    for (let e = chains[c]!.start; e < chains[c]!.end; e++) {
      const [l, r] = [left[e - start]! & 1, right[e - start]! & 1]
      if (l === r || isTurn(shape, e)) continue
      if (last < 0) first = last = l
      else if (l !== last)
        throw new GeometryError(
          pathOf(shape, e),
          `the inside changes from one side of the ring to the other${at(shape.lon[from[e]!]!, lat[from[e]!]!)}; ${endChain === firstChain + 1 ? 'a ring must not cross itself, even where it touches itself' : 'rings of a polygon must not cross, even where they touch'}`,
        )
    }
    if (first < 0 && endChain === firstChain + 1)
      throw new GeometryError(
        chains[c]!.path,
        'this ring runs along itself or twice around one area, so it has no unambiguous inside',
      )
  }
  const hole = wrong < 0 || shape.chainOf[wrong] === firstChain ? firstChain + 1 : shape.chainOf[wrong]!
  if (hole < endChain)
    throw new GeometryError(
      chains[hole]!.path,
      'this hole is not inside the polygon: a hole must lie within its shell, not in another hole, and not fill the shell',
    )
  throw new GeometryError(chains[firstChain]!.path, 'this ring runs around one area more than once')
}

/** Marks edges with equal sums on both sides. A turn at a pole is a seam if all edges to the pole are. */
function markSeams(shape: Shape, polygon: Polygon, { left, right }: Labels, seams: Uint8Array): void {
  const { lat, from, to } = shape
  const [start, end] = elementsOf(shape, polygon)
  const bounded = new Set<number>()
  for (let e = start; e < end; e++) {
    if (isTurn(shape, e)) continue
    if (left[e - start] === right[e - start]) seams[e] = 1
    else for (const end of [lat[from[e]!]!, lat[to[e]!]!]) if (Math.abs(end) === 90) bounded.add(end)
  }
  for (let e = start; e < end; e++) if (isTurn(shape, e) && !bounded.has(lat[from[e]!]!)) seams[e] = 1
}

/** Throws for a hole outside the shell or in another hole. No rings meet, so one position decides. */
function checkHoles(shape: Shape, rings: Rings, { firstChain, endChain }: Polygon): void {
  for (let hole = firstChain + 1; hole < endChain; hole++) {
    const { start, path } = shape.chains[hole]!
    // The position is inside an odd number of the other rings if it is inside the shell and in no other hole.
    if (!insideOdd(shape, shape.from[start]!, shape, rings, [firstChain, endChain], [hole, hole + 1]))
      throw new GeometryError(
        path,
        'this hole is not inside the polygon: a hole must lie within its shell, and not in another hole',
      )
  }
}

function refuseCrossing(shape: Shape, e: number, f: number): never {
  const own = shape.chainOf[e] === shape.chainOf[f]
  const { from, to } = shape
  const { lon, lat } = crossingOf(shape, from[e]!, to[e]!, shape, from[f]!, to[f]!)
  const end = nearestEnd(shape, e, f)
  throw new (end.isOnEdge ? GeometryError : CrossingError)(
    pathOf(shape, e),
    `the edge that starts here crosses the one that starts at ${pathOf(shape, f)}${at(lon, lat)}; ${own ? 'a ring must not cross itself' : 'rings of a polygon must not cross'}${remedy(shape, end)}`,
  )
}

function at(lon: number, lat: number): string {
  return ` at [${Number(lon.toFixed(9))}, ${Number(lat.toFixed(9))}]`
}
