import { ACTIVE_SLUGS, chainNamed } from '../../src/chains'
import { parseAddress, parseUid } from '../../src/eas'
import { EffortError, GeometryError, inRange, longitudeProblem } from '../../src/geodesy'
import { readWkt } from '../../src/location'
import { isPortableJson, parseStrictJson } from '../../src/strict-json'
import { RecordsError } from '../http/problems'
import { inWords } from '../http/validation'
import { instantOf } from '../http/iso-8601'
import { invalid } from '../http/parameters'
import { placeOf, type Place } from './sieve'
import { SORT_FIELDS, type Bbox, type OneOrMore, type Sort, type TimeSort } from '../store'

/**
 * Readers of parameters: text to value. Each throws a RecordsError that says what would be right, and
 * checks a text's length before anything else.
 */

/** Half the circumference is 20,004 km. The Compute API has the same limit. */
export const MAX_RADIUS = 100_000_000
/** A degree needs 20 characters at most. */
const MAX_NUMBER_LENGTH = 40
const MAX_LOCATION_TYPE_LENGTH = 100
export const MAX_MEMO_WORDS_LENGTH = 100
export const MAX_ATTRIBUTES_LENGTH = 1_000
const NUMBER = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i
export const TIME_SORTS = SORT_FIELDS.flatMap((field) => [field, `-${field}`])
export const SORTS = [...TIME_SORTS, 'distance']

/** A slug, an alias or the ID of a chain. */
export function readChain(text: string, name: string): string {
  const chain = chainNamed(text)
  if (!chain?.active) throw invalid(name, `Supported chains: ${ACTIVE_SLUGS.join(', ')}`)
  return chain.slug
}

export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
/** The same with an ellipsoidal height. */
export const CRS84H = 'http://www.opengis.net/def/crs/OGC/0/CRS84h'

export function readCrs(text: string, name: string): string {
  if (text !== CRS84 && text !== CRS84H)
    throw invalid(name, `Expected ${CRS84}: positions are in degrees of longitude and latitude`)
  return text
}

/** @returns lower-case */
export function readAddress(text: string, name: string): string {
  const address = parseAddress(text)
  if (address === undefined) throw invalid(name, 'Expected an address: 0x and 40 hex digits')
  return address
}

/** @returns lower-case */
export function readSchemaUid(text: string, name: string): string {
  const uid = parseUid(text)
  if (uid === undefined) throw invalid(name, 'Expected the UID of a schema: 0x and 64 hex digits')
  return uid
}

export function readLocationType(text: string, name: string): string {
  // Postgres refuses NUL and half a surrogate pair, and no name has another control character.
  if (text === '' || text.length > MAX_LOCATION_TYPE_LENGTH || /[\0-\x1f\x7f\p{Surrogate}]/u.test(text))
    throw invalid(
      name,
      `Expected the name of a location type such as geojson-point, at most ${MAX_LOCATION_TYPE_LENGTH} characters`,
    )
  return text
}

export function readMemoWords(text: string, name: string): string {
  // Postgres refuses NUL and half a surrogate pair, and has no word of ASCII's marks alone (db/migrations,
  // MemoWords).
  if (
    text.length > MAX_MEMO_WORDS_LENGTH ||
    /[\0\p{Surrogate}]/u.test(text) ||
    !/[^\0-/:-@[-`{-\x7f]/.test(text)
  )
    throw invalid(name, `Expected words of the memo, at most ${MAX_MEMO_WORDS_LENGTH} characters`)
  return text
}

/** @returns JSON that Postgres takes */
export function readAttributes(text: string, name: string): string {
  const wanted = (problem: string) =>
    invalid(
      name,
      `${problem} Expected a JSON object such as {"assetId":"pump-7"}, at most ${MAX_ATTRIBUTES_LENGTH} characters`,
    )
  if (text.length > MAX_ATTRIBUTES_LENGTH) throw wanted('It is too long.')
  // Postgres refuses NUL, half a surrogate pair, and numbers of very many digits.
  if (/[\0\p{Surrogate}]/u.test(text) || !isPortableJson(text))
    throw wanted('Write characters and numbers as they are, without NUL or exponents.')
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw wanted(`It is no JSON: ${error.message}.`)
    throw error
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wanted('It is no object.')
  return JSON.stringify(value)
}

/**
 * An ISO 8601 date or time; without an offset it is UTC. Records have whole milliseconds: a finer time is
 * rounded so that the same records lie before and after it.
 */
export function timeReader(round: 'down' | 'up') {
  return (text: string, name: string): Date => {
    const instant = instantOf(text, round)
    if (instant === undefined)
      throw invalid(
        name,
        'Expected an ISO 8601 time such as 2026-01-31T12:00:00Z or 2026-01-31; years from 0001 to 9999, no durations or intervals',
      )
    return new Date(instant)
  }
}

/** minLng,minLat,maxLng,maxLat in degrees; minLng > maxLng is a box across the antimeridian. */
export function readBbox(text: string): Bbox {
  return bboxOf(numbersOf(text))
}

/**
 * The box of these numbers: four, finite and in range, minLat not above maxLat; undefined for others. What is
 * beyond its range by rounding only is at its end.
 */
export function boxFrom(numbers: readonly unknown[]): Bbox | undefined {
  if (numbers.length !== 4 || !numbers.every((each) => typeof each === 'number')) return undefined
  const [west, south, east, north] = numbers
  const [[minLng, minLat], [maxLng, maxLat]] = [positionFrom(west!, south!), positionFrom(east!, north!)]
  return isPosition(minLng, minLat) && isPosition(maxLng, maxLat) && minLat <= maxLat
    ? [minLng, minLat, maxLng, maxLat]
    : undefined
}

/** A box of these numbers. Throws a RecordsError when they are none. */
export function bboxOf(numbers: readonly number[]): Bbox {
  const box = boxFrom(numbers)
  if (box) return box
  const beyond = [numbers[0], numbers[2]].find(
    (lng) => lng !== undefined && Math.abs(inRange(lng, 180)) > 180,
  )
  const rules =
    ' (degrees; longitudes from -180 to 180, latitudes from -90 to 90, minLat not above maxLat)' +
    (beyond === undefined ? '' : `; ${longitudeProblem(beyond)}`)
  throw new RecordsError(
    'invalid-bbox',
    `Expected format: minLng,minLat,maxLng,maxLat${numbers.length === 4 ? rules : ''}`,
  )
}

export function readTimeSort(text: string, name: string, known: readonly string[] = TIME_SORTS): TimeSort {
  const by = SORT_FIELDS.find((field) => field === text.replace(/^-/, ''))
  if (!by) throw invalid(name, `Expected one of ${known.join(', ')} (- is descending)`)
  return { by, descending: text.startsWith('-') }
}

export function readSort(text: string, name: string): Sort {
  return text === 'distance' ? { by: text, descending: false } : readTimeSort(text, name, SORTS)
}

export function readPoint(text: string, name: string): readonly [number, number] {
  const coordinates = numbersOf(text)
  const [lng, lat] = positionFrom(coordinates[0] ?? NaN, coordinates[1] ?? NaN)
  if (coordinates.length !== 2 || !isPosition(lng, lat))
    throw invalid(
      name,
      'Expected format: lng,lat (degrees; longitude from -180 to 180, latitude from -90 to 90)',
    )
  return [lng, lat]
}

export function readRadius(text: string, name: string): number {
  const [meters, ...others] = numbersOf(text) as [number, ...number[]]
  if (others.length > 0 || !(meters > 0 && meters <= MAX_RADIUS))
    throw invalid(name, `Expected metres above 0, at most ${MAX_RADIUS}`)
  return meters
}

/** A place by its geometry. The kernel says what is wrong with one. */
export function readPlace(text: string, name: string): Place {
  try {
    const geometry = text.trimStart().startsWith('{') ? parseStrictJson(text) : readWkt(text, false)
    return placeOf(geometry, name)
  } catch (error) {
    if (error instanceof GeometryError) throw invalid(name, error.message.replace(/^location: /, ''))
    if (error instanceof SyntaxError)
      throw invalid(name, `Expected GeoJSON or WKT: ${error.message.slice(0, 200)}`)
    if (error instanceof EffortError)
      throw invalid(name, 'This geometry is too entangled to search with; simplify it')
    throw error
  }
}

/** Numbers between commas, eight at most; NaN for what is none. */
export function numbersOf(text: string): number[] {
  return text
    .split(',', 8)
    .map((part) => (part.length <= MAX_NUMBER_LENGTH && NUMBER.test(part) ? Number(part) : NaN))
}

function positionFrom(lng: number, lat: number): [number, number] {
  return [inRange(lng, 180), inRange(lat, 90)]
}

function isPosition(lng: number, lat: number): boolean {
  return Math.abs(lng) <= 180 && Math.abs(lat) <= 90
}
