import { ACTIVE_SLUGS, chainNamed } from '../../src/chains'
import { cut } from '../../src/cut'
import { parseUid, parseAddress } from '../../src/eas'
import { UID } from '../http/openapi-components'
import { RecordsError } from '../http/problems'
import { listTag } from '../http/paging'
import { filterChoice, FILTER_LANGUAGES, type FilterLanguage } from './filter'
import { PROVENANCE_FIELDS, lowered, type Sort, type TimeSort, SORT_FIELDS } from '../store'
import {
  invalid,
  parameter,
  pathOf,
  type QueryOf,
  booleanParameter,
  choiceParameter,
  choiceReader,
  severalReader,
  textParameter,
} from '../http/parameters'
import { placeOf, type Place } from './sieve'
import { EffortError, GeometryError, readMeters } from '../../src/geodesy'
import { readWkt } from '../../src/location'
import { wordsOf } from '../../src/words'
import { isPortableJson, parseStrictJson } from '../../src/strict-json'
import { instantOf } from '../http/iso-8601'
import { readBbox, numbersOf, readPoint } from '../http/positions'

/** Parameters of the Records API: each with its documentation and its reader. */

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

// --- Readers: each throws a RecordsError, and checks the length of a text before anything else ---

/** Metres. Half the circumference of the earth is 20,004 km. The Compute API has the same limit. */
export const MAX_RADIUS = 100_000_000
const MAX_LOCATION_TYPE_LENGTH = 100
const MAX_MEMO_WORDS_LENGTH = 100
const MAX_ATTRIBUTES_LENGTH = 1_000
export const TIME_SORTS = SORT_FIELDS.flatMap((field) => [field, `-${field}`])
export const SORTS = [...TIME_SORTS, 'distance']

/** Reads the slug, an alias or the ID of a chain. Returns the slug. */
export function readChain(text: string, name: string): string {
  const chain = chainNamed(text)
  if (!chain?.active) throw invalid(name, `Supported chains: ${ACTIVE_SLUGS.join(', ')}`)
  return chain.slug
}

export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
/** CRS84 with an ellipsoidal height. */
export const CRS84H = 'http://www.opengis.net/def/crs/OGC/0/CRS84h'

export function readCrs(text: string, name: string): string {
  if (text !== CRS84 && text !== CRS84H)
    throw invalid(name, `Expected ${CRS84}: positions are longitude and latitude in degrees`)
  return text
}

/** @returns the address in lower case */
export function readAddress(text: string, name: string): string {
  const address = parseAddress(text)
  if (address === undefined) throw invalid(name, 'Expected an address: 0x and 40 hex digits')
  return address
}

/** Reads a UID, and returns it in lower case. */
export const uidReader = (what: string) => (text: string, name: string) => {
  const uid = parseUid(text)
  if (uid === undefined) throw invalid(name, `Expected ${what}: 0x and 64 hex digits`)
  return uid
}

function readLocationType(text: string, name: string): string {
  // Postgres rejects NUL and unpaired surrogates. No type name contains another control character.
  if (text === '' || text.length > MAX_LOCATION_TYPE_LENGTH || /[\0-\x1f\x7f\p{Surrogate}]/u.test(text))
    throw invalid(
      name,
      `Expected the name of a location type such as geojson-point, at most ${MAX_LOCATION_TYPE_LENGTH} characters`,
    )
  return text
}

export function readMemoWords(text: string, name: string): string {
  // Postgres rejects NUL and unpaired surrogates.
  if (text.length > MAX_MEMO_WORDS_LENGTH || /[\0\p{Surrogate}]/u.test(text) || wordsOf(text).length === 0)
    throw invalid(name, `Expected words of the memo, at most ${MAX_MEMO_WORDS_LENGTH} characters`)
  return text
}

/** @returns JSON text that Postgres accepts */
export function readAttributes(text: string, name: string): string {
  const wanted = (problem: string) =>
    invalid(
      name,
      `${problem} Expected a JSON object such as {"assetId":"pump-7"}, at most ${MAX_ATTRIBUTES_LENGTH} characters`,
    )
  if (text.length > MAX_ATTRIBUTES_LENGTH) throw wanted('The text is too long.')
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw wanted(`The text is not valid JSON: ${error.message}.`)
    throw error
  }
  // Postgres rejects NUL, unpaired surrogates and numbers with very many digits.
  if (/\p{Surrogate}/u.test(text) || !isPortableJson(text))
    throw wanted('Write characters and numbers as they are, without NUL or exponents.')
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wanted('The value is not an object.')
  return JSON.stringify(value)
}

/**
 * Reads an ISO 8601 date or time, in UTC if it has no offset. Records store whole milliseconds. Rounding a
 * finer time in the given direction leaves the same records before and after it.
 */
function timeReader(round: 'down' | 'up') {
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

export function readTimeSort(text: string, name: string, known: readonly string[] = TIME_SORTS): TimeSort {
  const by = SORT_FIELDS.find((field) => field === text.replace(/^-/, ''))
  if (!by) throw invalid(name, `Expected one of ${known.join(', ')} (- is descending)`)
  return { by, descending: text.startsWith('-') }
}

export function readSort(text: string, name: string): Sort {
  return text === 'distance' ? { by: text, descending: false } : readTimeSort(text, name, SORTS)
}

function readRadius(text: string, name: string): number {
  const [meters, ...others] = numbersOf(text, readMeters) as [number, ...number[]]
  if (others.length > 0 || !(meters > 0 && meters <= MAX_RADIUS))
    throw invalid(name, `Expected metres above 0, at most ${MAX_RADIUS}`)
  return meters
}

/** Reads a place from GeoJSON or WKT. The kernel's errors explain an invalid geometry. */
function readPlace(text: string, name: string): Place {
  try {
    const geometry = text.trimStart().startsWith('{') ? parseStrictJson(text) : readWkt(text, false)
    return placeOf(geometry, name)
  } catch (error) {
    if (error instanceof GeometryError) throw invalid(name, error.message.replace(/^location: /, ''))
    if (error instanceof SyntaxError)
      throw invalid(name, `Expected GeoJSON or WKT: ${cut(error.message, 200)}`)
    if (error instanceof EffortError)
      throw invalid(name, 'The geometry is too complex for a search. Simplify it.')
    throw error
  }
}

// --- Parameters ---

export const INCLUDE = choiceParameter(
  ['provenance'],
  `Additional parts of each record. provenance: ${Object.keys(PROVENANCE_FIELDS).join(', ')}.`,
)
/** Filters, without paging and order. Several values of one filter are alternatives. */
export const FILTERS = {
  chain: textParameter(
    `Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; an alias, or its ID. Several: separated by commas.`,
    severalReader(readChain),
    { examples: [ACTIVE_SLUGS[0], '84532,42220'] },
  ),
  prover: textParameter(
    'Address that created the attestation, in any letter case. Several: separated by commas.',
    severalReader(readAddress),
  ),
  subject: textParameter(
    'Recipient of the attestation, in any letter case. Several: separated by commas.',
    severalReader(readAddress),
  ),
  fromTimestamp: textParameter(
    'Attested after this time (ISO 8601, UTC if it has no offset). A date, month or year stands ' +
      'for its start.',
    timeReader('down'),
    { examples: ['2025-12-01'] },
  ),
  toTimestamp: textParameter('Attested before this time (as `fromTimestamp`).', timeReader('up'), {
    examples: ['2026-01-01T12:00:00Z'],
  }),
  bbox: textParameter(
    '`minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.',
    readBbox,
    { examples: ['-10,35,30,60'] },
  ),
  schema: textParameter(
    'UID of the schema of the attestation, in any letter case. Several: separated by commas.',
    severalReader(uidReader('the UID of a schema')),
  ),
  location_type: textParameter(
    'Format of `location`, in any letter case. Several: separated by commas.',
    severalReader(readLocationType),
    { minLength: 1, examples: ['geojson-point', 'geojson-point,h3'] },
  ),
  memo: textParameter(
    'Words, or beginnings of words, that all occur in the first 2,000 characters of the memo, in ' +
      'any letter case and without accents.',
    readMemoWords,
    { minLength: 1, maxLength: MAX_MEMO_WORDS_LENGTH, examples: ['eiffel tower'] },
  ),
  attributes: textParameter(
    'A JSON object. Selects records whose `attributes` contain it, at every depth (jsonb `@>`).',
    readAttributes,
    { minLength: 2, maxLength: MAX_ATTRIBUTES_LENGTH, examples: ['{"assetId":"pump-7"}'] },
  ),
  revoked: booleanParameter('true selects revoked records, false the others.'),
  near: textParameter(
    '`lng,lat` in degrees. Selects records within `radius` of this position, on the ' +
      'ellipsoid, to the centimetre; or with `sort=distance` those nearest to it.',
    readPoint,
    { examples: ['13.3777,52.5163'] },
  ),
  radius: parameter(
    {
      type: 'number',
      description: 'Distance from `near` in metres.',
      exclusiveMinimum: 0,
      maximum: MAX_RADIUS,
    },
    readRadius,
  ),
  intersects: textParameter(
    'GeoJSON (a geometry or a Feature) or WKT, longitude first. Selects records that share a ' +
      'point with this geometry; edges are geodesics. Cannot be combined with `near`.',
    readPlace,
    { examples: ['POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))'] },
  ),
}

/** CQL2 filter (OGC 19-079r2, 8). filterChoice reads its text in the language of `filter-lang`. */
export const CQL2_FILTER = {
  filter: textParameter(
    'Condition on records, in CQL2: comparisons, LIKE, BETWEEN, IN, IS NULL, CASEI and S_INTERSECTS, ' +
      "with AND, OR and NOT. A geometry's edges are geodesics; a BBOX is compared on the plane of " +
      'longitude and latitude.',
    String,
    { examples: ['revoked = FALSE AND S_INTERSECTS(geometry, BBOX(13, 52, 14, 53))'] },
  ),
  'filter-lang': textParameter(
    'Language of filter.', // GDAL sends the name of the first draft, cql-text, with text that is valid in CQL2.
    (text, name): FilterLanguage =>
      text === 'cql-text' ? 'cql2-text' : choiceReader(FILTER_LANGUAGES)(text, name),
    { enum: FILTER_LANGUAGES, default: FILTER_LANGUAGES[0] },
  ),
  'filter-crs': textParameter(
    'Reference system of the geometries in filter. Only this one is supported.',
    readCrs,
    { enum: [CRS84, CRS84H], default: CRS84 },
  ),
}

/** Parameter of lists that are available as CSV: starts the file with a byte order mark. */
export const BOM = booleanParameter('Writes a byte order mark before CSV, so that Excel recognizes UTF-8.', {
  default: false,
})

/** @returns the UID in the letter case of the request */
export const RECORD_PATH = pathOf({
  uid: textParameter(
    'UID of the attestation, in any letter case.',
    (text) => {
      if (parseUid(text) === undefined)
        throw new RecordsError('invalid-uid', 'UID must be a 66-character hex string starting with 0x')
      return text
    },
    { ...UID },
  ),
})
// --- Combinations of parameters ---

export type RecordChoice = Partial<ReturnType<typeof choiceOf>>

/** Throws a RecordsError if two filters exclude each other. */
export function choiceOf({
  location_type: locationType,
  fromTimestamp: after,
  toTimestamp: before,
  filter,
  ...query
}: QueryOf<Partial<typeof FILTERS & typeof CQL2_FILTER>> & { sort?: Sort }) {
  const { chain, prover, subject, schema, memo, attributes, revoked, bbox } = query
  const place = placeIn(query)
  return {
    ...{ chain, prover, subject, schema, locationType, memo, attributes, revoked },
    ...{ after, before, bbox, place },
    ...(filter !== undefined &&
      filterChoice(filter, query['filter-lang'], { bbox: bbox !== undefined, place: place !== undefined })),
  }
}

function placeIn({
  near,
  radius,
  intersects,
  sort,
}: Pick<QueryOf<typeof FILTERS>, 'near' | 'radius' | 'intersects'> & { sort?: Sort }): Place | undefined {
  const isNearest = sort?.by === 'distance'
  if (intersects) {
    if (isNearest) throw invalid('sort', 'distance needs near=lng,lat, and no intersects')
    if (near) throw invalid('intersects', 'Set near and radius, or intersects, but not both')
    if (radius !== undefined) throw invalid('radius', 'Available with near=lng,lat only')
    return intersects
  }
  if (!near && isNearest) throw invalid('sort', 'distance needs near=lng,lat')
  if (!near && radius === undefined) return undefined
  if (!near) throw invalid('near', 'Missing; radius needs near=lng,lat')
  if (radius === undefined && !isNearest)
    throw invalid('radius', 'Missing; near needs a radius in metres, or sort=distance')
  return placeOf({ type: 'Point', coordinates: near }, 'near', radius ?? MAX_RADIUS)
}

/** Throws a RecordsError for a byte order mark in a format other than CSV: RFC 8259 forbids one in JSON. */
export function checkBom(bom: boolean | undefined, format: string): void {
  if (bom && format !== 'csv') throw invalid('bom', 'Available with format=csv only')
}

/** Identifies a list by its filters and its order, so that a cursor of one list does not fit another. */
export function choiceTag(choice: RecordChoice, sort: Sort): string {
  const { chain, prover, subject, schema, locationType, memo, attributes } = choice
  const { revoked, after, before, bbox, place, condition } = choice
  return listTag([
    ...[chain, prover, subject, schema, locationType && lowered(locationType), revoked],
    ...[after?.getTime(), before?.getTime(), bbox, place?.geometry, place?.radiusMeters],
    ...[sort.by, sort.descending, memo],
    ...(attributes === undefined ? [] : [attributes]),
    ...(condition === undefined ? [] : [condition]),
  ])
}
