// SPDX-License-Identifier: MIT
import { joinChains } from './building'
import type { Prepared } from './distance'
import { Kind } from './geojson'
import { findSides } from './region'

/**
 * Boundary of a geometry's polygons as lines. Seams between parts, cuts and keyholes do not belong to it.
 * Undefined if there is no boundary: without polygons, or if they cover the whole ellipsoid.
 */
export function boundaryOf(prepared: Prepared): Prepared | undefined {
  const region = prepared.region()
  if (!region || region.end === 0) return undefined
  const lines = region.shape.chains
    .filter(({ kind }) => kind === Kind.Ring)
    .map((chain) => ({ shape: region.shape, chain: { ...chain, kind: Kind.Line, polygon: -1 } }))
  const shape = joinChains(region.shape.path, lines, [])
  return { shape, given: shape, rings: findSides(shape), region: () => undefined }
}
