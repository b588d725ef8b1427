// SPDX-License-Identifier: MIT
import { cellToBoundary, isValidCell } from 'h3-js'
import { GeometryError, inRange, longitudeProblem } from '../geodesy'
import { locationTypeOf, saysLatitudeFirst, type LocationType } from './names'
import { readWkt } from './wkt'
import { parseStrictJson } from '../strict-json'

/** Reads `location` as GeoJSON in linear time, or throws a GeometryError. The axis order is never guessed. */
type Read = (location: string, latitudeFirst: boolean) => unknown

const LONGITUDE_FIRST: Read = (location) => readPair(location, 'longitude, latitude')
/** Reader by type (names.ts), or the reason for which the type has no geometry. */
const READERS: Readonly<Record<LocationType, Read | string>> = {
  geojson: parseJson,
  wkt: readWkt,
  'coordinate-decimal+lon-lat': LONGITUDE_FIRST,
  'coordinate-decimal+lat-lon': (location) => readPair(location, 'latitude, longitude'),
  'DecimalDegrees<string>': LONGITUDE_FIRST,
  scaledCoordinates: readScaled,
  h3: readH3,
  geohash: readGeohash,
  address: 'is an address, which has no geometry',
  DecimalDegrees: 'states no axis order, so there is no geometry; use coordinate-decimal+lon-lat',
}
const UNKNOWN = `is unknown, so there is no geometry; supported: ${Object.entries(READERS)
  .flatMap(([name, read]) => (typeof read === 'string' ? [] : [name]))
  .join(', ')}`
const LATITUDE_FIRST =
  'states latitude before longitude, but GeoJSON and most WKT have longitude first, ' +
  'so there is no geometry; use coordinate-decimal+lat-lon'

/** Reader of a location_type, or the reason for which it has no geometry. */
export function locationReader(locationType: string): Read | string {
  const type = locationTypeOf(locationType)
  if (type === undefined) return UNKNOWN
  return saysLatitudeFirst(locationType, type) ? LATITUDE_FIRST : READERS[type]
}

function refuse(problem: string): never {
  throw new GeometryError('location', problem)
}

/** Start of a rejected text, for an error message. */
function excerpt(text: string): string {
  return `'${text.length > 40 ? `${text.slice(0, 40)}...` : text}'`
}

function parseJson(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) refuse(`expected JSON: ${error.message}`)
    throw error
  }
}

/** Text without the quotes of a JSON string. */
function bare(text: string): string {
  const trimmed = text.trim()
  return trimmed.length > 1 && trimmed.startsWith('"') && trimmed.endsWith('"')
    ? trimmed.slice(1, -1)
    : trimmed
}

const DECIMAL = String.raw`[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?`
/** Format of the Location Protocol's examples: "-103.771556, 44.967243". */
const PAIR = new RegExp(`^(${DECIMAL})(?:\\s*,\\s*|\\s+)(${DECIMAL})$`, 'i')

/** Reads two degrees in the stated order: a JSON array, or decimal numbers separated by a comma or spaces. */
function readPair(location: string, order: 'longitude, latitude' | 'latitude, longitude'): unknown {
  const text = location.trim()
  const pair = text.startsWith('[') ? parseJson(text) : PAIR.exec(text)?.slice(1).map(Number)
  if (!Array.isArray(pair) || pair.length < 2 || pair.length > 3 || !pair.every(Number.isFinite))
    refuse(`expected two numbers [${order}], got ${excerpt(text)}`)
  const [first, second, ...altitude] = pair as number[]
  const [longitude, latitude] = (order === 'longitude, latitude' ? [first, second] : [second, first]) as [
    number,
    number,
  ]
  return point(longitude, latitude, altitude, `the order is ${order}`)
}

function point(lng: number, lat: number, altitude: number[], hint: string): unknown {
  const [longitude, latitude] = [inRange(lng, 180), inRange(lat, 90)]
  if (Math.abs(longitude) > 180) refuse(`${longitudeProblem(longitude)}; ${hint}`)
  if (Math.abs(latitude) > 90) refuse(`latitude must be from -90 to 90, got ${latitude}; ${hint}`)
  return { type: 'Point', coordinates: [longitude, latitude, ...altitude] }
}

/** Reads {x, y, scale}: x / scale and y / scale in degrees, rounded once, with any number of digits. */
function readScaled(location: string): unknown {
  const value = parseJson(location)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    refuse('expected {"x", "y", "scale"}: longitude and latitude times scale, as integers')
  const { x, y, scale } = value as Record<string, unknown>
  const divisor = integer(scale, 'scale')
  if (divisor <= 0n) refuse(`scale must be above 0, got ${divisor}`)
  return point(
    quotient(integer(x, 'x'), divisor),
    quotient(integer(y, 'y'), divisor),
    [],
    'x / scale is the longitude, y / scale the latitude',
  )
}

/** Nearest double to a quotient; `divisor` is above 0. */
function quotient(dividend: bigint, divisor: bigint): number {
  // 64 bits of the quotient, and a 1 if more follow: Number rounds this like the whole quotient.
  const shift = 64n + BigInt(divisor.toString(2).length)
  const scaled = (dividend < 0n ? -dividend : dividend) << shift
  const more = scaled % divisor === 0n ? 0n : 1n
  const size = Number((scaled / divisor) | more) / Number(1n << shift)
  return dividend < 0n ? -size : size
}

/** Integers only: 13.4 with a scale is an unscaled number, and numbers beyond 2^53 have lost digits. */
function integer(value: unknown, name: string): bigint {
  if (
    typeof value === 'number'
      ? Number.isSafeInteger(value)
      : typeof value === 'string' && /^-?\d{1,40}$/.test(value)
  )
    return BigInt(value as string | number)
  return refuse(
    `${name} must be an integer, as a string if beyond 2^53, got ${typeof value === 'string' ? excerpt(value) : typeof value === 'number' ? value : typeof value}`,
  )
}

/** Boundary of the cell from h3-js. Its edges are straight on H3's sphere, and geodesics here. */
function readH3(location: string): unknown {
  const text = bare(location)
  const hex = /^(?:0x)?0?([0-9a-f]{15})$/i.exec(text)?.[1]!.toLowerCase()
  // All cell numbers have 18 decimal digits.
  const cell = hex ?? (/^\d{18}$/.test(text) ? BigInt(text).toString(16) : '')
  if (!isValidCell(cell))
    refuse(
      `expected the index of an H3 cell, 15 or 16 hexadecimal digits such as 89283082837ffff or the same number in decimal (not an edge or a vertex), got ${excerpt(text)}`,
    )
  return { type: 'Polygon', coordinates: [cellToBoundary(cell, true)] }
}

const GEOHASH_ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz'
const GEOHASH = /^[0-9b-hjkmnp-z]{1,19}$/i

/** Box of the cell (Niemeyer 2008). Bounds of up to 19 characters are exact in doubles (48 bits of 360). */
function readGeohash(location: string): unknown {
  const text = bare(location)
  if (!GEOHASH.test(text))
    refuse(`expected a geohash, 1 to 19 digits and letters without a, i, l, o, got ${excerpt(text)}`)
  const bounds: [[number, number], [number, number]] = [
    [-180, 180],
    [-90, 90],
  ]
  let axis: 0 | 1 = 0
  for (const letter of text.toLowerCase()) {
    const bits = GEOHASH_ALPHABET.indexOf(letter)
    for (let bit = 16; bit > 0; bit >>= 1) {
      const range = bounds[axis]
      range[bits & bit ? 0 : 1] = (range[0] + range[1]) / 2
      axis = axis === 0 ? 1 : 0
    }
  }
  const [[west, east], [south, north]] = bounds
  const ring = [...parallel(west, east, south), ...parallel(west, east, north).reverse()]
  return { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
}

/** Maximum distance of a geodesic from its parallel, metres: below the half centimetre that is outside. */
const PARALLEL_METRES = 0.0045

/**
 * Positions along a parallel whose geodesics stay within PARALLEL_METRES of it. A geodesic bulges by N sin(2
 * lat) dlon^2 / 16: the parallel's geodesic curvature is tan(lat) / N, its chord N cos(lat) dlon, and N, the
 * radius in the prime vertical, below 6400 km. Halving lets neighbouring and inner cells share their edges.
 */
function parallel(west: number, east: number, lat: number): [number, number][] {
  const step =
    Math.sqrt((16 * PARALLEL_METRES) / (6_400_000 * Math.abs(Math.sin((2 * lat * Math.PI) / 180)))) *
    (180 / Math.PI)
  let segments = 1
  while ((east - west) / segments > step) segments *= 2
  // The sum is exact, because each number is a binary fraction of 360 degrees.
  return Array.from({ length: segments + 1 }, (_, i) => [west + ((east - west) / segments) * i, lat])
}
