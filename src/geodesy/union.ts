// SPDX-License-Identifier: MIT
import {
  chainsOf,
  directionsOf,
  joinPolygons,
  loopsOf,
  nodesBetween,
  ringsOf,
  settle,
  type Arranged,
  type Region,
} from './arrangement'
import { EffortError, attempt } from './effort'
import { GeometryError } from './error'
import { holdsNorth, insideOdd, type Rings } from './region'
import type { ChainOf } from './building'
import { isTurn, pathOf, polygonOf, type Polygon, type Shape } from './shape'
import { NEAR } from './stretch'
import {
  CrossingError,
  bend,
  excessOf,
  exactlyOr,
  firstInside,
  isCertain,
  nearestEnd,
  remedy,
} from './touching'
import { selfPairs } from './tree'
import type { Outline } from './validity'

/** Region of the polygons; undefined without any. Throws a GeometryError if it cannot be computed. */
export function regionOf(outline: Outline): Region | undefined {
  const { shape, rings } = outline
  if (shape.polygons.length === 0) return undefined
  let arranged: Arranged | undefined
  // Parts that overlap strongly cross in as many positions as pairs, so neighbours are united first.
  const most = 500 + 2 * shape.polygons.length + shape.ringsEnd / 32
  let crossings = 0
  const count = () => {
    if (++crossings > most) throw new EffortError('parts cross in more places than are worth finding')
  }
  if (!attempt(Infinity, () => void (arranged = arrange(outline, count)))) {
    const merged = mergedRings(outline)
    if (merged) return regionOf(joinPolygons(shape.path, [merged]))
    arranged = arrange(outline, () => {})
  }
  if (arranged) return loopsOf(arranged)
  const all = shape.polygons.at(-1)!.endChain
  return { shape, end: shape.ringsEnd, holdsNorthPole: holdsNorth(rings, [0, all]) }
}

/** Rings of the union. Neighbours are united first, recursively. Undefined beyond half of the ellipsoid. */
function mergedRings({ shape, seams }: Outline): ChainOf[] | undefined {
  if (seams) return undefined
  const { x, y, z, from, path, chains } = shape
  const unite = (polygons: readonly Polygon[]): ChainOf[] | undefined => {
    if (polygons.length === 1) return chainsOf(shape, polygons[0]!)
    const first = ({ firstChain }: Polygon) => from[chains[firstChain]!.start]!
    const extent = (axis: Float64Array) => {
      const places = polygons.map((polygon) => axis[first(polygon)]!)
      return places.reduce((a, b) => Math.max(a, b)) - places.reduce((a, b) => Math.min(a, b))
    }
    const axis = [x, y, z].reduce((best, other) => (extent(other) > extent(best) ? other : best))
    const sorted = polygons.toSorted((p, q) => axis[first(p)]! - axis[first(q)]!)
    const half = polygons.length >> 1
    const [one, other] = [unite(sorted.slice(0, half)), unite(sorted.slice(half))]
    if (!one || !other) return undefined
    const pair = joinPolygons(path, [one, other])
    const arranged = arrange(pair, () => {})
    return arranged ? ringsOf(loopsOf(arranged)) : [...one, ...other]
  }
  return unite(shape.polygons)
}

/**
 * Square metres that the sum of the areas of all polygons counts more than once. Polygons may overlap only by
 * less than half a centimetre (touching.ts). Throws a GeometryError if they overlap by more.
 * @param note receives the error to report if the test whether polygons touch takes too long
 */
export function overlapOf(outline: Outline, note: (refusal: GeometryError) => void): number {
  const { shape, rings } = outline
  if (shape.polygons.length < 2) return 0
  const refusal = (cut: Shape, e: number, otherwise = '', Refusal = GeometryError) =>
    new Refusal(
      pathOf(cut, e),
      `polygons of a MultiPolygon overlap here; area requires polygons that do not${otherwise || ', so merge them'}`,
    )
  /** Throws a CrossingError for edges whose ends are too far from each other to be meant to touch. */
  const refuseWide = (cut: Shape, e: number, f: number): void => {
    const end = nearestEnd(cut, e, f)
    if (end.distance >= NEAR) throw refusal(cut, e, remedy(cut, end), CrossingError)
  }
  return exactlyOr(
    shape,
    () => {
      const arranged = arrange(outline, (cut, e, f) => {
        refuseWide(cut, e, f)
        throw refusal(cut, e)
      })
      if (!arranged) return 0
      const { shape: cut, labels } = arranged
      for (let e = 0; e < cut.ringsEnd; e++)
        if (!isTurn(cut, e) && Math.max(labels.left[e]!, labels.right[e]!) > 1) throw refusal(cut, e)
      return 0
    },
    (refused) => {
      note(refused)
      const directions = directionsOf(outline)
      const bent = bend(shape)
      const isUnambiguous = (): boolean => {
        const sums = bent && arrange({ shape: bent, rings }, refuseWide, directions)
        return sums !== undefined && isCertain(sums.shape, sums.labels)
      }
      if (!orFalse(isUnambiguous)) {
        const inside = firstInside(shape, rings)
        return inside && refusal(shape, inside.at, remedy(shape, inside))
      }
      const arranged = arrange(outline, refuseWide, directions)
      return arranged && excessOf(arranged)
    },
  )
}

/** Arranges the rings of all polygons. Undefined if none meet, none lies in another, and none has seams. */
function arrange(
  { shape, rings, seams }: Outline,
  crossing: (shape: Shape, e: number, f: number) => void,
  turns?: Int8Array,
): Arranged | undefined {
  const nodes = nodesBetween(shape, crossing)
  // The box search finds pairs. If too many boxes meet in a small area, the sweep is faster.
  const byBoxes = () =>
    selfPairs(
      shape,
      0,
      shape.ringsEnd,
      (e, f) => polygonOf(shape, e) !== polygonOf(shape, f) && nodes.meet(e, f),
    )
  const looked = shape.polygons.length === 1 || attempt(20_000 + shape.ringsEnd * BOXES_PER_ELEMENT, byBoxes)
  if (looked && nodes.pairs === 0 && !seams && !nested(shape, rings)) return undefined
  return settle(shape, rings, nodes, crossing, turns)
}

/** Limit of counted microseconds per element for the search by boxes. */
const BOXES_PER_ELEMENT = 10

/** True if a polygon lies in another. None meet, so the outermost of these lies in an odd number: one. */
function nested(shape: Shape, rings: Rings): boolean {
  if (shape.polygons.length < 2) return false
  const all = [0, shape.polygons.at(-1)!.endChain] as const
  return shape.polygons.some(({ firstChain, endChain }) =>
    insideOdd(shape, shape.from[shape.chains[firstChain]!.start]!, shape, rings, all, [firstChain, endChain]),
  )
}

/** Result of a test; false if it throws a CrossingError. */
function orFalse(test: () => boolean): boolean {
  try {
    return test()
  } catch (error) {
    if (error instanceof CrossingError) return false
    throw error
  }
}
