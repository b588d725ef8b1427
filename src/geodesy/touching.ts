// SPDX-License-Identifier: MIT
import { areaOfLoops, polygonArea } from './area'
import { chainsOf, joinPolygons, loopsOf, nodesBetween, ringsOf, settle, type Arranged } from './arrangement'
import { TOUCH, chordGap, edgeBound, nearestOnEdge } from './edge'
import { attempt } from './effort'
import { GeometryError } from './error'
import type { Nodes } from './nodes'
import { insidePolygon, type Rings } from './region'
import { splitShape, type ChainOf, type Cut } from './building'
import { addTo, comesBack, isTurn, nextInRing, pathOf, polygonOf, type Polygon, type Shape } from './shape'
import { NEAR } from './stretch'
import { sweep, type Labels } from './sweep'
import { closePairs, selfPairs } from './tree'
import { alongChord, chord, isSamePlace } from './vertices'

/**
 * Rings that cross by less than half a centimetre. As a geodesic, a wall bulges, and coordinates are rounded,
 * so a vertex nearer than NEAR to an edge may count as lying on it. To decide if rings touch or cross, each
 * edge is bent through these vertices (`bend`), which moves no position by NEAR or more. The number of times
 * that a ring runs around a position does not change while the ring moves without passing over it. So if the
 * sums of the bent rings are 0 or 1, those of the original rings are too, except within NEAR of an edge. The
 * point set is that of the original rings, cut at crossings to ten nanometres: the closure of the positions
 * with a positive sum. A part of a hole outside its shell does not count, and an area that two rings both
 * surround counts once.
 */

/** Returns the shape with each edge bent through the vertices near it; undefined next to a pole. */
export function bend(shape: Shape): Shape | undefined {
  const { lon, lat, from } = shape
  const cuts = new Map<number, Cut[]>()
  let polar = false
  verticesNear(shape, NEAR, (at, e, distance, along) => {
    if (distance >= reachOf(shape, e)) return
    const v = from[at]!
    polar ||= Math.abs(lat[v]!) > POLAR
    addTo(cuts, e, { lon: lon[v]!, lat: lat[v]!, along })
  })
  return polar ? undefined : splitShape(shape, cuts, (place) => place)
}

/**
 * Calls back with vertices nearer than `limit` metres to the inner part of an edge.
 * @param found receives the element that starts at the vertex, the edge, the distance, and alongChord
 */
function verticesNear(
  shape: Shape,
  limit: number,
  found: (at: number, e: number, distance: number, along: number) => void,
): void {
  const { from, to, ringsEnd } = shape
  const compare = (at: number, e: number) => {
    const [v, a, b] = [from[at]!, from[e]!, to[e]!]
    if (isSamePlace(shape, v, shape, a) || isSamePlace(shape, v, shape, b)) return
    if (chordGap(shape, v, v, shape, a, b) - shape.tree.bulges[e]! >= limit) return
    const along = alongChord(shape, v, shape, a, b)
    if (along <= 0 || along >= alongChord(shape, b, shape, a, b)) return
    const { distance } = nearestOnEdge(shape, v, shape, a, b)
    if (distance < limit) found(at, e, distance, along)
  }
  const both = (e: number, f: number) => {
    if (e === f || e >= ringsEnd || f >= ringsEnd) return
    compare(e, f)
    compare(f, e)
  }
  closePairs(shape, shape, limit, both)
}

/** Distance in metres below which a vertex counts as lying on an edge. */
function reachOf(shape: Shape, e: number): number {
  return Math.min(NEAR, chord(shape, shape.from[e]!, shape.to[e]!) * SHALLOW)
}

/** Maximum bend as a part of an edge's length, so that shapes of centimetres keep their form. */
const SHALLOW = 0.02
/** Latitude, 11 metres from a pole, beyond which a bent edge might pass the pole on its other side. */
const POLAR = 89.9999

/** True if the sums on both sides of each element from `start` to `end` are 0 or 1. */
export function isCertain(shape: Shape, { left, right }: Labels, start = 0, end = shape.ringsEnd): boolean {
  for (let e = start; e < end; e++) {
    const [l, r] = [left[e - start]!, right[e - start]!]
    if (!isTurn(shape, e) && (l < 0 || l > 1 || r < 0 || r > 1)) return false
  }
  return true
}

/** Square metres by which the shells less the holes exceed the area of the positions with a positive sum. */
export function excessOf(arranged: Arranged): number {
  const { shape, labels } = arranged
  let [least, most] = [0, 1]
  for (let e = 0; e < shape.ringsEnd; e++) {
    if (isTurn(shape, e)) continue
    least = Math.min(least, labels.left[e]!, labels.right[e]!)
    most = Math.max(most, labels.left[e]!, labels.right[e]!)
  }
  let excess = 0
  for (let limit = 2; limit <= most; limit++)
    excess += areaOfLoops(loopsOf(arranged, (sum) => sum >= limit).shape)
  for (let limit = -1; limit >= least; limit--)
    excess -= areaOfLoops(loopsOf(arranged, (sum) => sum <= limit).shape)
  return excess
}

export interface Regular {
  /** boundary of the point set, shells first */
  rings: ChainOf[]
  /** square metres by which the area of the original rings exceeds that of the point set */
  excess: number
}

/**
 * Point set of a polygon whose rings cross by less than half a centimetre. Undefined for other polygons.
 * @param refuse throws a CrossingError for edges that cross by more, whichever crossing was found first
 */
export function regularise(
  given: Shape,
  polygon: Polygon,
  refuse: (shape: Shape, e: number, f: number) => never,
): Regular | undefined {
  const { shape, rings: sides } = joinPolygons(given.chains[polygon.firstChain]!.path, [
    chainsOf(given, polygon),
  ])
  const refuseWide = (cut: Shape, e: number, f: number): void => {
    const { isOnEdge, distance } = nearestEnd(cut, e, f)
    // The reach of an edge that is cut may be shorter than that of the whole edge.
    if (cut === shape ? !isOnEdge : distance >= NEAR) refuse(cut, e, f)
  }
  const nodes = meetings(shape, refuseWide)
  const bent = bend(shape)
  if (!bent) return undefined
  const sums = settle(bent, sides, meetings(bent), () => {})
  if (!isCertain(sums.shape, sums.labels)) return undefined
  const { turns } = sums.labels
  for (const [c, { start, end }] of sums.shape.chains.entries()) {
    if (comesBack(sums.shape, c)) {
      const labels = sweep(sums.shape, sums.rings, [{ firstChain: c, endChain: c + 1 }], () => {})
      if (!isCertain(sums.shape, labels, start, end)) return undefined
      turns[c] = labels.turns[0]!
    }
    if (turns[c] === 0) return undefined
  }
  const exact = settle(shape, sides, nodes, refuseWide, turns)
  const loops = loopsOf(exact)
  const rings = ringsOf(loops)
  const excess = excessOf(exact)
  // If all of a ring is thinner than NEAR, bending it may turn what is left of it inside out. Each piece of
  // an edge bounds one level of the sums, so all levels together bound each edge only once.
  const error = polygonArea({ given: shape }) - excess - areaOfLoops(loops.shape)
  return rings && Math.abs(error) < shape.from.reduce((sum, _, e) => sum + edgeBound(shape, e), 1) * TOUCH
    ? { rings, excess }
    : undefined
}

/** Nodes of all rings, which cut edges at their crossings. */
function meetings(shape: Shape, crossing: (shape: Shape, e: number, f: number) => void = () => {}): Nodes {
  const nodes = nodesBetween(shape, crossing)
  for (const { start, end } of shape.chains) nodes.followTurns(start, end)
  // If the search by boxes exceeds this limit, the sweep finds the remaining nodes.
  attempt(1_000 + shape.ringsEnd, () => selfPairs(shape, 0, shape.ringsEnd, nodes.meet))
  return nodes
}

/** Error for rings that certainly cross. */
export class CrossingError extends GeometryError {}

/**
 * Returns the result of `exact`. If that throws a GeometryError other than a CrossingError, returns or throws
 * that of `touching`, or throws the first error if it is undefined, uncertain or takes too long.
 */
export function exactlyOr<T>(
  shape: Shape,
  exact: () => T,
  touching: (refusal: GeometryError) => T | GeometryError | undefined,
): T {
  try {
    return exact()
  } catch (error) {
    if (!(error instanceof GeometryError) || error instanceof CrossingError) throw error
    let found: T | GeometryError | undefined
    try {
      attempt(10_000 + shape.from.length * TOUCHING_PER_ELEMENT, () => void (found = touching(error)))
    } catch (uncertain) {
      if (!(uncertain instanceof GeometryError) || uncertain instanceof CrossingError) throw uncertain
    }
    if (found === undefined) throw error
    if (found instanceof GeometryError) throw found
    return found
  }
}

/** Limit of counted microseconds per element for the test whether rings touch. */
const TOUCHING_PER_ELEMENT = 150

/** A vertex that lies near an edge and may be meant to lie on it. */
export interface NearVertex {
  /** element that starts at the vertex */
  at: number
  edge: number
  /** metres */
  distance: number
}

/** End of two crossing edges that is nearest to the other edge: if it is not on it, they do not touch. */
export function nearestEnd(shape: Shape, e: number, f: number): NearVertex & { isOnEdge: boolean } {
  const ends = [
    [e, f],
    [nextInRing(shape, e), f],
    [f, e],
    [nextInRing(shape, f), e],
  ] as const
  const [first, ...others] = ends.map(([at, edge]) => {
    const { distance } = nearestOnEdge(shape, shape.from[at]!, shape, shape.from[edge]!, shape.to[edge]!)
    return { at, edge, distance, isOnEdge: distance < reachOf(shape, edge) }
  })
  return others.reduce((best, end) => (end.distance < best.distance ? end : best), first!)
}

/** First vertex inside another polygon near its edge, but too far from the edge to count as on it. */
export function firstInside(shape: Shape, rings: Rings): NearVertex | undefined {
  let found: NearVertex | undefined
  verticesNear(shape, HINTED, (at, edge, distance) => {
    if (found && found.at <= at) return
    const other = polygonOf(shape, edge)
    if (distance < reachOf(shape, edge) || other === polygonOf(shape, at)) return
    if (insidePolygon(shape, shape.from[at]!, shape, rings, shape.polygons[other]!))
      found = { at, edge, distance }
  })
  return found
}

/** Distance in metres beyond which a vertex is not meant to lie on an edge. */
const HINTED = 0.1

/** Remedy in a refusal if a vertex may be meant to lie on an edge; otherwise empty. */
export function remedy(shape: Shape, { at, edge, distance }: NearVertex): string {
  if (distance >= HINTED) return ''
  const [lon, lat] = [shape.lon[shape.from[at]!]!, shape.lat[shape.from[at]!]!]
  return `; if they are meant to touch, insert the position [${lon}, ${lat}] of ${pathOf(shape, at)}, which is ${Number((distance * 1000).toPrecision(2))} mm away, after ${pathOf(shape, edge)}`
}
