// SPDX-License-Identifier: MIT
import type { Geometry } from 'geojson'
import { canonicalJson, GeometryError, readGeometry } from '../../../src/geodesy'
import { InvalidInputError } from './errors'

export function invalidPlace(path: string, problem: string): InvalidInputError {
  return new InvalidInputError({
    ...{ status: 400, title: 'Invalid place' },
    detail: `${path}: ${problem}. Nothing was sent.`,
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
    const { type, ...members } = JSON.parse(canonicalJson(reading)) as Geometry
    return { type, ...members } as Geometry
  } catch (error) {
    if (error instanceof GeometryError) throw invalidPlace(isPosition ? path : error.path, error.problem)
    throw error
  }
}
