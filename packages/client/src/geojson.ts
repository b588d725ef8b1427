// SPDX-License-Identifier: MIT
import type { Geometry } from 'geojson'
import { inRange, longitudeProblem } from '../../../src/geodesy/degrees'
import { InvalidInputError } from './errors'
import { positionAsPoint } from './position'

/**
 * Checks the structure of GeoJSON (RFC 7946) without the kernel: names, nesting, numbers, ranges, rings. The
 * service decides whether a polygon has an unambiguous interior.
 */

/** Nesting depth of the positions in `coordinates`, and the kind of its lists of positions. */
const TYPES: Readonly<Record<string, { depth: number; list?: 'line' | 'ring' }>> = {
  Point: { depth: 0 },
  MultiPoint: { depth: 1 },
  LineString: { depth: 1, list: 'line' },
  MultiLineString: { depth: 2, list: 'line' },
  Polygon: { depth: 2, list: 'ring' },
  MultiPolygon: { depth: 3, list: 'ring' },
}
/** Maximum nesting depth of collections that the service reads. */
const MAX_NESTING = 8
/** Names in an obsolete `crs` member that mean the coordinate system of RFC 7946. */
const WGS84 = /^(urn:ogc:def:crs:OGC:1\.3:CRS84|urn:ogc:def:crs:EPSG::4326|EPSG:4326)$/i

/** Creates the error for an invalid place; `path` names the field. */
export function invalidPlace(path: string, problem: string): InvalidInputError {
  return new InvalidInputError({
    ...{ status: 400, title: 'Invalid place' },
    detail: `${path}: ${problem}. Nothing was sent.`,
  })
}

/**
 * Returns the geometry of a position, a geometry object, a Feature, or a FeatureCollection of one feature,
 * without other members. Throws an InvalidInputError that names the invalid part, starting with `path`.
 */
export function geometryOf(value: unknown, path: string, nesting = 0): Geometry {
  if (nesting === 0 && Array.isArray(value)) {
    position(value, path)
    value = positionAsPoint(value)
  }
  const { type, geometry, features, geometries, coordinates, crs } = object(value, path)
  if (nesting > MAX_NESTING) throw invalidPlace(path, `nested deeper than ${MAX_NESTING} levels`)
  const { properties } = (crs ?? {}) as { properties?: { name?: unknown } }
  if (crs !== undefined && crs !== null && !WGS84.test(String(properties?.name)))
    throw invalidPlace(`${path}.crs`, 'expected WGS84 longitude and latitude. Remove crs')
  if (type === 'Feature') return geometryOf(geometry, `${path}.geometry`, nesting + 1)
  if (type === 'FeatureCollection') {
    if (!Array.isArray(features) || features.length !== 1)
      throw invalidPlace(
        `${path}.features`,
        `expected exactly one feature, got ${describe(features)}. Pass several places as a list`,
      )
    return geometryOf(features[0], `${path}.features[0]`, nesting + 1)
  }
  if (type === 'GeometryCollection') {
    const parts = list(geometries, `${path}.geometries`)
    return {
      type,
      geometries: parts.map((part, i) => geometryOf(part, `${path}.geometries[${i}]`, nesting + 1)),
    }
  }
  const form = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (!form)
    throw invalidPlace(
      `${path}.type`,
      `expected one of ${Object.keys(TYPES).join(', ')}, GeometryCollection, Feature, FeatureCollection, got ${describe(type)}`,
    )
  const positions = nested(coordinates, `${path}.coordinates`, form.depth, form.list)
  return { type, coordinates: positions } as Geometry
}

function nested(value: unknown, path: string, depth: number, kind: 'line' | 'ring' | undefined): unknown {
  if (depth === 0) return position(value, path)
  const items = list(value, path).map((item, i) => nested(item, `${path}[${i}]`, depth - 1, kind))
  if (depth > 1 || kind === undefined) return items
  if (kind === 'line' && items.length < 2)
    throw invalidPlace(path, `a line needs at least 2 positions, got ${items.length}`)
  if (kind === 'ring') {
    const [first, last] = [items[0], items.at(-1)] as [number[], number[]]
    if (items.length < 4)
      throw invalidPlace(path, `a ring needs at least 4 positions, the last equal to the first`)
    if (first[0] !== last[0] || first[1] !== last[1])
      throw invalidPlace(
        path,
        `a ring must end where it starts, at ${JSON.stringify(first.slice(0, 2))}, got ${JSON.stringify(last.slice(0, 2))}`,
      )
  }
  return items
}

function position(value: unknown, path: string): number[] {
  const isPosition =
    Array.isArray(value) &&
    (value.length === 2 || value.length === 3) &&
    value.every((number) => typeof number === 'number' && Number.isFinite(number))
  if (!isPosition)
    throw invalidPlace(
      path,
      `expected a position [longitude, latitude] of finite numbers, got ${describe(value)}`,
    )
  const [lng, lat, ...altitude] = value as [number, number, ...number[]]
  const [longitude, latitude] = [inRange(lng, 180), inRange(lat, 90)]
  if (Math.abs(longitude) > 180) throw invalidPlace(path, longitudeProblem(longitude))
  if (Math.abs(latitude) > 90)
    throw invalidPlace(
      path,
      `latitude must be from -90 to 90, got ${latitude}; positions are [longitude, latitude]`,
    )
  return [longitude, latitude, ...altitude]
}

function object(value: unknown, path: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw invalidPlace(path, `expected a GeoJSON object with type and coordinates, got ${describe(value)}`)
}

function list(value: unknown, path: string): unknown[] {
  if (Array.isArray(value) && value.length > 0) return value
  throw invalidPlace(path, `expected a non-empty array, got ${describe(value)}`)
}

/** Describes an invalid value briefly. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`
  if (typeof value !== 'string') return typeof value === 'object' ? 'an object' : `a ${typeof value}`
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 40)}...` : text
}
