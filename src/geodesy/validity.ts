import { RESOLUTION, chordGap, crosses, pointToEdge, sideOf, walkEdge } from './edge'
import { attempt, spend } from './effort'
import { GeometryError } from './error'
import { insideOdd, type Rings } from './region'
import { pathOf, type Chain, type Polygon, type Shape, type Vertices } from './shape'
import { offset, place } from './stretch'
import { sweep, type Swept } from './sweep'
import { selfPairs, visitNear } from './tree'

/**
 * What makes the inside of a polygon certain: its rings cross neither themselves nor each other, and its holes lie in its
 * shell, outside of each other. They may touch, and a ring may run back along itself (as cuts at the antimeridian do).
 * Answers the polygons whose rings touch. Throws a GeometryError that names the places. Nothing is repaired.
 * @param looking is told the path of each shell before its polygon is looked at
 */
export function checkPolygons(shape: Shape, rings: Rings, looking: (path: string) => void): ReadonlySet<number> {
  const pinched = new Set<number>()
  for (const [i, polygon] of shape.polygons.entries()) {
    looking(shape.chains[polygon.firstChain]!.path)
    const noted: Noted = { touch: false, along: false }
    let swept = lookForCrossings(shape, rings, polygon, noted)
    for (let c = polygon.firstChain; c < polygon.endChain; c++) noted.along ||= turnsBack(shape, shape.chains[c]!)
    if (noted.touch || noted.along) {
      pinched.add(i)
      if (!noted.along) swept ??= sweepRings(shape, rings, polygon, noted)
      checkSides(shape, rings, polygon, noted.along ? undefined : swept?.insideLeft)
    }
    checkHoles(shape, rings, polygon, noted, swept)
  }
  return pinched
}

interface Noted {
  /** Whether rings were seen to touch somewhere. */
  touch: boolean
  /** Whether they were seen to touch elsewhere than at a vertex of both, or to run along each other. */
  along: boolean
}

/** Looks at pairs of edges by their boxes: the quickest where edges are short. Long ones side by side are left to the sweep, whose answer it is then. */
function lookForCrossings(shape: Shape, rings: Rings, polygon: Polygon, noted: Noted): Swept | undefined {
  const [start, end] = elementsOf(shape, polygon)
  const byBoxes = () => selfPairs(shape, start, end, (e, f) => neighbours(shape, e, f) || checkPair(shape, e, f, noted))
  return attempt(1_000 + (end - start) * BOXES_PER_ELEMENT, byBoxes) ? undefined : sweepRings(shape, rings, polygon, noted)
}

function sweepRings(shape: Shape, rings: Rings, polygon: Polygon, noted: Noted): Swept {
  const swept = sweep(shape, polygon, rings, (e, f) => checkPair(shape, e, f, noted))
  noted.touch ||= swept.touch
  return swept
}

/** Microseconds an element that boxes may take; a tenth is usual. */
const BOXES_PER_ELEMENT = 1

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

function elementsOf({ chains }: Shape, { firstChain, endChain }: Polygon): readonly [number, number] {
  return [chains[firstChain]!.start, chains[endChain - 1]!.end]
}

/** Throws if two edges cross; notes whether one touches the other. */
function checkPair(shape: Shape, e: number, f: number, noted: Noted): void {
  spend(0.1)
  const { from, to } = shape
  const a = from[e]!
  const b = to[e]!
  const c = from[f]!
  const d = to[f]!
  const bulgeE = shape.tree.bulges[e]!
  const bulgeF = shape.tree.bulges[f]!
  if (chordGap(shape, a, b, shape, c, d) - bulgeE - bulgeF > RESOLUTION) return
  spend(0.5)
  if (crosses(shape, a, b, shape, c, d)) throw crossing(shape, e, f)
  const shared = Number(level(shape, a, c)) + Number(level(shape, a, d)) + Number(level(shape, b, c)) + Number(level(shape, b, d))
  const meets = (v: number, p: number, q: number, bulge: number) => !level(shape, v, p) && !level(shape, v, q) && touches(shape, v, p, q, bulge)
  noted.touch ||= shared > 0
  noted.along ||= shared > 1 || meets(a, c, d, bulgeF) || meets(b, c, d, bulgeF) || meets(c, a, b, bulgeE) || meets(d, a, b, bulgeE)
}

/** Whether two vertices are one place. */
function level({ x, y, z }: Shape, v: number, w: number): boolean {
  return x[v] === x[w] && y[v] === y[w] && z[v] === z[w]
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

/** How far beside an edge its sides are looked at, metres: far more than rounding, far less than any shape. */
const BESIDE = 2e-5
/** Parts of an edge at which a place on it is looked for that no other edge touches. */
const SPOTS = [0.5, 0.271, 0.837, 0.123]

/**
 * Throws where rings that touch cross as they do, at a vertex or along a stretch that they share: then a ring has the inside
 * of the polygon on its left before, and on its right after. Two edges out of a place, next to each other, have opposite
 * parities on their left; rings that only touch come and go in turn. Edges that lie on others are passed over.
 * @param insideLeft whether the inside of the polygon is on the left of an element; undefined for those that lie on others
 */
function checkSides(shape: Shape, rings: Rings, polygon: Polygon, insideLeft = leftByPlaces(shape, rings, polygon)): void {
  const { firstChain, endChain } = polygon
  for (let c = firstChain; c < endChain; c++) {
    const { start, end, path } = shape.chains[c]!
    let left: boolean | undefined
    let first = start
    for (let e = start; e < end; e++) {
      const here = insideLeft(e)
      if (here === undefined) continue
      if (left !== undefined && here !== left)
        throw new GeometryError(pathOf(shape, e), `from here on the inside is on the other side of the ring than at ${pathOf(shape, first)}: ${c === firstChain ? 'a ring must not cross itself' : 'rings of a polygon must not cross'}, not where it touches either`)
      if (left === undefined) first = e
      left = here
    }
    if (left === undefined) throw new GeometryError(path, 'this ring runs along itself, or along other rings, all the way: it has no inside of its own')
  }
}

/** Looks beside a place of each element that no other one touches. */
function leftByPlaces(shape: Shape, rings: Rings, { firstChain, endChain }: Polygon): (element: number) => boolean | undefined {
  const start = shape.chains[firstChain]!.start
  const { end } = shape.chains[endChain - 1]!
  const isAlone = (spot: Vertices, e: number) => visitNear(shape, spot, 0, 0, 2 * BESIDE, (f) => f === e || f < start || f >= end || pointToEdge(spot, 0, shape, shape.from[f]!, shape.to[f]!) > 2 * BESIDE)
  return (e) => {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    if (walk.length < 4 * BESIDE) return undefined
    for (const part of SPOTS) {
      const { lon, lat, azimuth } = walk.at(walk.length * part)
      if (isAlone(place({ lon, lat }), e)) return insideOdd(place(offset(lon, lat, azimuth - 90, BESIDE)), 0, shape, rings, [firstChain, endChain])
    }
    return undefined
  }
}

/** Microseconds an element that asking for each hole may take, where the sweep can tell of all. */
const HOLES_PER_ELEMENT = 1

/** Throws for a hole that is not inside the shell, or is inside another hole. */
function checkHoles(shape: Shape, rings: Rings, polygon: Polygon, noted: Noted, swept: Swept | undefined): void {
  const { firstChain, endChain } = polygon
  const [start, end] = elementsOf(shape, polygon)
  const ask = () => {
    for (let hole = firstChain + 1; hole < endChain; hole++) {
      // Where rings run along each other, the sweep may have met them in either order.
      const held = noted.along ? undefined : swept?.held.get(hole)
      if (!(held ?? isHeld(shape, rings, polygon, hole)))
        throw new GeometryError(shape.chains[hole]!.path, 'this hole is not inside the polygon: a hole must lie within its shell, and not in another hole')
    }
  }
  if (swept || noted.along) ask()
  else if (!attempt(1_000 + (end - start) * HOLES_PER_ELEMENT, ask)) checkHoles(shape, rings, polygon, noted, sweepRings(shape, rings, polygon, noted))
}

/** Whether a hole is inside the shell, and in no other hole. No rings cross, so one place of it says of all. */
function isHeld(shape: Shape, rings: Rings, polygon: Polygon, hole: number): boolean {
  const chain = shape.chains[hole]!
  const [start, end] = elementsOf(shape, polygon)
  for (let e = chain.start; e < chain.end; e++) {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    for (const part of SPOTS) {
      // A place of the hole that no other edge touches, nor one of its own that runs back there.
      const spot = place(walk.at(walk.length * part))
      if (!visitNear(shape, spot, 0, 0, 4 * RESOLUTION, (f) => f === e || f < start || f >= end || pointToEdge(spot, 0, shape, shape.from[f]!, shape.to[f]!) > 4 * RESOLUTION)) continue
      // Inside the shell, and in no other hole: of all the other rings together, inside an odd number.
      return insideOdd(spot, 0, shape, rings, [polygon.firstChain, polygon.endChain], [hole, hole + 1])
    }
  }
  throw new GeometryError(chain.path, 'this hole lies on other rings of the polygon all along: a hole must lie within its shell, and not be another hole again')
}
