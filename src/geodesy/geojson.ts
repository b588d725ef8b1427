import type { Geometry, Position } from 'geojson'
import { GeometryError } from './error'

/** More positions than this in one geometry are refused (GEODESY.md 4). */
const MAX_POSITIONS = 100_000
/** Collections may be nested this deep; more is refused before any recursion goes further. */
const MAX_NESTING = 8

/** How deep positions lie in `coordinates`, by geometry type: 0 a position, 1 a list of them, ... */
const COORDINATE_DEPTH: Readonly<Record<string, number>> = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 }
const KNOWN_TYPES = [...Object.keys(COORDINATE_DEPTH), 'GeometryCollection', 'Feature', 'FeatureCollection'].join(', ')
/** Names under which a legacy `crs` member may say what RFC 7946 means anyway. */
const WGS84_NAMES = /^(urn:ogc:def:crs:OGC:1\.3:CRS84|urn:ogc:def:crs:EPSG::4326|EPSG:4326)$/i

/**
 * Reads a GeoJSON geometry (RFC 7946) out of parsed JSON: a geometry object, a Feature, or a FeatureCollection of one
 * feature. Answers the bare geometry: `type` and `coordinates` (or `geometries`) only; bbox, crs and foreign members gone.
 * Throws a GeometryError that names the path within `path` for anything malformed or out of range.
 */
export function parseGeometry(value: unknown, path: string): Geometry {
  return readGeometry(value, path, { positions: 0 }, 0)
}

interface Budget {
  positions: number
}

function readGeometry(value: unknown, path: string, budget: Budget, nesting: number): Geometry {
  if (!isObject(value)) throw new GeometryError(path, `expected a GeoJSON object with type and coordinates, got ${describe(value)}`)
  if (nesting > MAX_NESTING) throw new GeometryError(path, `nested deeper than ${MAX_NESTING} levels`)
  checkCrs(value, path)
  const { type } = value
  if (type === 'Feature') return readGeometry(value.geometry, `${path}.geometry`, budget, nesting + 1)
  if (type === 'FeatureCollection') {
    const { features } = value
    if (!Array.isArray(features) || features.length !== 1)
      throw new GeometryError(`${path}.features`, `expected exactly one feature, got ${Array.isArray(features) ? features.length : describe(features)}`)
    return readGeometry(features[0], `${path}.features[0]`, budget, nesting + 1)
  }
  if (type === 'GeometryCollection') {
    const { geometries } = value
    if (!Array.isArray(geometries) || geometries.length === 0)
      throw new GeometryError(`${path}.geometries`, `expected a non-empty array of geometries, got ${describe(geometries)}`)
    return { type, geometries: geometries.map((part, i) => readGeometry(part, `${path}.geometries[${i}]`, budget, nesting + 1)) }
  }
  const depth = typeof type === 'string' && Object.hasOwn(COORDINATE_DEPTH, type) ? COORDINATE_DEPTH[type] : undefined
  if (depth === undefined) throw new GeometryError(`${path}.type`, `expected one of ${KNOWN_TYPES}, got ${describe(type)}`)
  const coordinates = readCoordinates(value.coordinates, `${path}.coordinates`, depth, budget)
  checkParts(type as string, coordinates, `${path}.coordinates`)
  return { type, coordinates } as Geometry
}

type Coordinates = Position | Coordinates[]

function readCoordinates(value: unknown, path: string, depth: number, budget: Budget): Coordinates {
  if (depth === 0) return readPosition(value, path, budget)
  if (!Array.isArray(value) || value.length === 0) throw new GeometryError(path, `expected a non-empty array, got ${describe(value)}`)
  return value.map((part, i) => readCoordinates(part, `${path}[${i}]`, depth - 1, budget))
}

function readPosition(value: unknown, path: string, budget: Budget): Position {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3)
    throw new GeometryError(path, `expected a position [longitude, latitude] or [longitude, latitude, altitude], got ${describe(value)}`)
  for (const number of value)
    if (typeof number !== 'number' || !Number.isFinite(number))
      throw new GeometryError(path, `expected finite numbers [longitude, latitude], got ${describe(number)} among them`)
  const [longitude, latitude] = value as [number, number]
  if (Math.abs(longitude) > 180) throw new GeometryError(path, `longitude must be from -180 to 180, got ${longitude}`)
  if (Math.abs(latitude) > 90) throw new GeometryError(path, `latitude must be from -90 to 90, got ${latitude}; positions are [longitude, latitude]`)
  if (++budget.positions > MAX_POSITIONS) throw new GeometryError(path, `more than ${MAX_POSITIONS} positions`)
  return value as Position
}

function checkParts(type: string, coordinates: Coordinates, path: string): void {
  const lines = (list: Position[][], each: (line: Position[], path: string) => void) => list.forEach((line, i) => each(line, `${path}[${i}]`))
  switch (type) {
    case 'LineString':
      return checkLine(coordinates as Position[], path)
    case 'MultiLineString':
      return lines(coordinates as Position[][], checkLine)
    case 'Polygon':
      return lines(coordinates as Position[][], checkRing)
    case 'MultiPolygon':
      return (coordinates as Position[][][]).forEach((polygon, i) => polygon.forEach((ring, j) => checkRing(ring, `${path}[${i}][${j}]`)))
  }
}

function checkLine(line: Position[], path: string): void {
  if (line.length < 2) throw new GeometryError(path, `a line needs at least 2 positions, got ${line.length}`)
}

function checkRing(ring: Position[], path: string): void {
  if (ring.length < 4) throw new GeometryError(path, `a ring needs at least 4 positions, the last equal to the first; got ${ring.length}`)
  const [first, last] = [ring[0]!, ring[ring.length - 1]!]
  if (first.length !== last.length || first.some((number, i) => number !== last[i]))
    throw new GeometryError(path, `a ring must end where it starts: the last position must equal the first, ${JSON.stringify(first)}`)
}

function checkCrs(value: Record<string, unknown>, path: string): void {
  const { crs } = value
  if (crs === undefined || crs === null) return
  const properties = isObject(crs) ? crs.properties : undefined
  const name = isObject(properties) ? properties.name : undefined
  if (typeof name !== 'string' || !WGS84_NAMES.test(name))
    throw new GeometryError(`${path}.crs`, 'only WGS84 longitude, latitude (CRS84 or EPSG:4326) is understood; leave crs out')
}

/**
 * Canonical JSON of a parsed geometry: keys sorted at every depth, no spaces, numbers as RFC 8785 prints them
 * (as ECMAScript does; -0 is 0). What the keccak256 reference of a raw GeoJSON input is taken of.
 */
export function canonicalJson(geometry: Geometry): string {
  return geometry.type === 'GeometryCollection'
    ? `{"geometries":[${geometry.geometries.map(canonicalJson).join(',')}],"type":"GeometryCollection"}`
    : `{"coordinates":${JSON.stringify(geometry.coordinates)},"type":"${geometry.type}"}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A short name for a wrong value, safe to put into a message whatever its size. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isObject(value)) return 'an object'
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 40)}...` : text
}
