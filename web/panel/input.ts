import { privatePlace, type Input, type PrivatePlace } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { inRange, longitudeProblem } from '../../src/geodesy/degrees'
import { say } from '../messages'
import { positionsIn } from '../search/coordinates'
import { request, successful } from '../service'

/** Parsed text of a field. */
export type Parsed =
  | { kind: 'nothing' }
  | { kind: 'uid'; uid: string; input: Input }
  | { kind: 'geometry'; geometry: Geometry; input: Input; isPrivate: boolean }
  | { kind: 'wrong'; problem: string }

/** Two numbers. JavaScript writes those below a millionth with an exponent. */
const PAIR = /^(-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)$/i
const TYPES = ['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon']

/** Parses a position, GeoJSON or a UID. The service and its kernel validate the geometry. */
export function parseInput(text: string): Parsed {
  const trimmed = text.trim()
  if (trimmed === '') return { kind: 'nothing' }
  if (/^0x[0-9a-f]*$/i.test(trimmed))
    return /^0x[0-9a-f]{64}$/i.test(trimmed)
      ? { kind: 'uid', uid: trimmed.toLowerCase(), input: trimmed.toLowerCase() }
      : { kind: 'wrong', problem: say.place.uidDigits(trimmed.length - 2) }
  if (trimmed.startsWith('{')) return parseGeoJson(trimmed)
  const numbers = PAIR.exec(trimmed)
  if (numbers) return position(Number(numbers[1]), Number(numbers[2]))
  // If both orders are possible, the longitude is first, as in this field's usual notation.
  const positions = positionsIn(trimmed)
  const found = trimmed.startsWith('[') ? positions[0] : positions.at(-1)
  return found ? position(found.longitude, found.latitude) : { kind: 'wrong', problem: say.place.expected }
}

function position(lng: number, lat: number): Parsed {
  const [longitude, latitude] = [inRange(lng, 180), inRange(lat, 90)]
  const wrong = (problem: string): Parsed => ({ kind: 'wrong', problem })
  if (Math.abs(latitude) > 90) return wrong(say.place.longitudeFirst(latitude))
  if (Math.abs(longitude) > 180) return wrong(say.place.refused(longitudeProblem(longitude)))
  const geometry: Geometry = { type: 'Point', coordinates: [longitude, latitude] }
  return { kind: 'geometry', geometry, input: geometry, isPrivate: false }
}

function parseGeoJson(text: string): Parsed {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return { kind: 'wrong', problem: say.place.notJson((error as Error).message) }
  }
  const isPrivate = (json as Partial<PrivatePlace>).salt !== undefined
  const geometry = geometryIn(isPrivate ? (json as PrivatePlace).geometry : json)
  if (geometry) return { kind: 'geometry', geometry, input: json as Input, isPrivate }
  // Programs also write positions as `{"lat": 48.8584, "lng": 2.2945}`.
  const [found] = isPrivate ? [] : positionsIn(text)
  return found ? position(found.longitude, found.latitude) : { kind: 'wrong', problem: say.place.notGeoJson }
}

/** Geometry of GeoJSON; a collection for a FeatureCollection; undefined for other JSON. */
export function geometryIn(json: unknown): Geometry | undefined {
  const { type, geometry, features, geometries, coordinates } = (json ?? {}) as {
    type?: unknown
    geometry?: unknown
    features?: unknown[]
    geometries?: unknown[]
    coordinates?: unknown
  }
  if (type === 'Feature' && typeof geometry === 'object' && geometry !== null) return geometryIn(geometry)
  if (type === 'FeatureCollection' && Array.isArray(features)) {
    const all = features.map((feature) => geometryIn(feature))
    return all.some((each) => each === undefined)
      ? undefined
      : { type: 'GeometryCollection', geometries: all as Geometry[] }
  }
  if (type === 'GeometryCollection' && Array.isArray(geometries)) return json as Geometry
  return TYPES.includes(String(type)) && Array.isArray(coordinates) ? (json as Geometry) : undefined
}

/** Text of a geometry, as `parseInput` reads it. */
export function textOf(geometry: Geometry): string {
  return geometry.type === 'Point' && geometry.coordinates.length === 2
    ? geometry.coordinates.join(', ')
    : JSON.stringify(geometry)
}

/** Text of a geometry with a new salt (docs/reference/compute.md, Private places). */
export function privateText({ input }: Parsed & { kind: 'geometry' }): string {
  return JSON.stringify(privatePlace(input as PrivatePlace['geometry']))
}

/** Parts of a record that a field shows. */
export interface Found {
  chain: string
  memo: string
  revoked: boolean
  geometry: Geometry | null
}

/** Record with this UID, preferably of this chain; undefined if there is none. */
export async function recordOf(uid: string, chain?: string): Promise<Found | undefined> {
  const query = new URLSearchParams({ format: 'geojson', ...(chain !== undefined && { chain }) })
  const response = await request(`api/v0/location-records/${uid}?${query}`)
  if (response.status === 404) return chain === undefined ? undefined : recordOf(uid)
  const { geometry, properties } = (await successful(response).json()) as {
    geometry: Geometry | null
    properties: Omit<Found, 'geometry'>
  }
  return { ...properties, geometry }
}
