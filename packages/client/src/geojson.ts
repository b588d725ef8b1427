// SPDX-License-Identifier: MIT
import type { Geometry } from 'geojson'
import { canonicalJson, GeometryError, readGeometry } from '../../../src/geodesy'
import { InvalidInputError } from './errors'

export function invalidPlace(path: string, problem: string): InvalidInputError {
  return new InvalidInputError({
    ...{ status: 400, title: 'Invalid place' },
    detail: `${path}: ${problem.replace(/\.$/, '')}. Nothing was sent.`,
  })
}

/**
 * Returns the geometry of a position, a geometry object, a Feature, or a FeatureCollection of one feature,
 * without other members. Throws an InvalidInputError that names the invalid part, starting with `path`. Only
 * the service checks that a polygon has an unambiguous interior.
 */
export function geometryOf(value: unknown, path: string): Geometry {
  const isPosition = Array.isArray(value)
  try {
    const reading = readGeometry(isPosition ? { type: 'Point', coordinates: value } : value, path)
    return JSON.parse(canonicalJson(reading), typeFirst) as Geometry
  } catch (error) {
    if (!(error instanceof GeometryError)) throw error
    const more = error.path.endsWith('.features') ? '. Pass several places as a list' : ''
    throw invalidPlace(isPosition ? path : error.path, error.problem + more)
  }
}

/** Reviver that moves `type` to the start of each geometry, as in attested texts. */
function typeFirst(_: string, value: unknown): unknown {
  const { type, ...members } = value as Partial<Geometry>
  return type ? { type, ...members } : value
}
