import { loopsOf, nodesBetween, settle, type Arranged, type Region } from './arrangement'
import { attempt } from './effort'
import { GeometryError } from './error'
import { holdsNorth, insideOdd, type Rings } from './region'
import { isTurn, pathOf, polygonOf, type Shape } from './shape'
import { bend, excessOf, exactlyOr, firstInside, isCertain, remedy, turnsOf } from './touching'
import { selfPairs } from './tree'
import type { Outline } from './validity'

/**
 * The region of a geometry's polygons; undefined when it has none. Throws a GeometryError when it cannot be
 * computed.
 */
export function regionOf(outline: Outline): Region | undefined {
  const { shape, rings } = outline
  if (shape.polygons.length === 0) return undefined
  const arranged = arrange(outline, () => {})
  if (arranged) return loopsOf(arranged)
  const all = shape.polygons.at(-1)!.endChain
  return { shape, end: shape.ringsEnd, holdsNorthPole: holdsNorth(rings, [0, all]) }
}

/**
 * The area in square metres that the sum of the areas of all polygons counts more than once. Polygons may
 * overlap only by less than half a centimetre (touching.ts). Throws a GeometryError for others.
 */
export function overlapOf(outline: Outline): number {
  const { shape, rings } = outline
  if (shape.polygons.length < 2) return 0
  const refusal = (cut: Shape, e: number, otherwise = ', so merge them') =>
    new GeometryError(
      pathOf(cut, e),
      `polygons of a MultiPolygon overlap here; area counts only such that do not${otherwise}`,
    )
  const refuse = (cut: Shape, e: number): never => {
    throw refusal(cut, e)
  }
  return exactlyOr(
    shape,
    () => {
      const arranged = arrange(outline, refuse)
      if (!arranged) return 0
      const { shape: cut, labels } = arranged
      for (let e = 0; e < cut.ringsEnd; e++)
        if (!isTurn(cut, e) && Math.max(labels.left[e]!, labels.right[e]!) > 1) refuse(cut, e)
      return 0
    },
    () => {
      const turns = turnsOf(shape, rings)
      const bent = bend(shape)
      const sums = bent && arrange({ shape: bent, rings }, () => {}, turns)
      if (!sums || !isCertain(sums.shape, sums.labels)) {
        const inside = firstInside(shape, rings)
        return inside && refusal(shape, inside.at, remedy(shape, inside))
      }
      const arranged = arrange(outline, () => {}, turns)
      return arranged && excessOf(arranged)
    },
  )
}

/**
 * Cuts the rings of all polygons where they meet and counts the polygons on both sides of each piece.
 * Undefined when no polygons meet, none lies in another one, and none has seams.
 */
function arrange(
  { shape, rings, seams }: Outline,
  crossing: (shape: Shape, e: number) => void,
  turns?: Int8Array,
): Arranged | undefined {
  const nodes = nodesBetween(shape, crossing)
  // Pairs are found by boxes, unless so many meet in a small area that the sweep is faster.
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

/** Microseconds per element that the search by boxes may take. */
const BOXES_PER_ELEMENT = 10

/**
 * Whether a polygon lies in another one, where no polygons meet: the outermost such polygon is in exactly one
 * other, an odd number.
 */
function nested(shape: Shape, rings: Rings): boolean {
  if (shape.polygons.length < 2) return false
  const all = [0, shape.polygons.at(-1)!.endChain] as const
  return shape.polygons.some(({ firstChain, endChain }) =>
    insideOdd(shape, shape.from[shape.chains[firstChain]!.start]!, shape, rings, all, [firstChain, endChain]),
  )
}
