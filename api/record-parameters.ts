import { createHash } from 'node:crypto'
import { ACTIVE_SLUGS, chainBySlug } from '../src/chains'
import { EffortError, GeometryError } from '../src/geodesy'
import { readWkt } from '../src/location-wkt'
import { parseStrictJson } from '../src/strict-json'
import { LAST_INSTANT, instantOf } from './iso-8601'
import { RecordsProblem } from './problems'
import { placeOf, type Place, type RecordSearch } from './search'
import { NEWEST_FIRST, SORT_FIELDS, type Bbox, type RecordPosition, type Sort } from './store-records'

/**
 * The query string of records, read strictly: each function throws a RecordsProblem that names the parameter and what would be right. Texts
 * have a length that is checked before anything is done with them.
 */

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000
/** Rows before the page are read too: who wants more goes on from a cursor. */
export const MAX_OFFSET = 100_000
/** Half the circumference is 20,004 km; as compute has it. */
const MAX_RADIUS = 100_000_000
/** A degree needs 20 characters at most. */
const MAX_NUMBER_LENGTH = 40
const MAX_LOCATION_TYPE_LENGTH = 100
const NUMBER = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i

/** What chooses records, and in which order: not how many, nor how they are written. */
export const FILTER_PARAMETERS = [
  'chain',
  'prover',
  'subject',
  'fromTimestamp',
  'toTimestamp',
  'bbox',
  'schema',
  'location_type',
  'revoked',
  'near',
  'radius',
  'intersects',
] as const
export type FilterName = (typeof FILTER_PARAMETERS)[number]
export type Query<Name extends string> = Partial<Record<Name, string>>
export type RecordChoice = Pick<
  RecordSearch,
  | 'chain'
  | 'prover'
  | 'subject'
  | 'schema'
  | 'locationType'
  | 'revoked'
  | 'after'
  | 'before'
  | 'bbox'
  | 'place'
>

export function invalid(name: string, detail: string): RecordsProblem {
  return new RecordsProblem(`Invalid ${name} parameter`, detail)
}

/** The query string with every name known and given once: a misspelt filter must not pass for no filter. */
export function knownParameters<Name extends string>(query: unknown, names: readonly Name[]): Query<Name> {
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (!(names as readonly string[]).includes(name))
      throw new RecordsProblem(
        'Invalid query parameter',
        `Unknown parameter '${name.slice(0, 40)}'. ${names.length ? `Known parameters: ${names.join(', ')}` : 'This endpoint takes none'}`,
      )
    if (typeof value !== 'string') throw invalid(name, 'Give it once')
  }
  return query as Query<Name>
}

/** The filters, in any combination. */
export function parseFilters(query: Query<FilterName>): RecordChoice {
  const { chain, prover, subject, fromTimestamp, toTimestamp, bbox, schema, location_type, revoked } = query
  const place = parsePlace(query)
  return {
    ...(chain !== undefined && { chain: parseChain(chain) }),
    ...(prover !== undefined && { prover: parseAddress('prover', prover) }),
    ...(subject !== undefined && { subject: parseAddress('subject', subject) }),
    ...(schema !== undefined && { schema: parseSchema(schema) }),
    ...(location_type !== undefined && { locationType: parseLocationType(location_type) }),
    ...(revoked !== undefined && { revoked: parseBoolean('revoked', revoked) }),
    // Records have whole milliseconds: so rounded, a finer time parts them as it would itself.
    ...(fromTimestamp !== undefined && { after: parseTime('fromTimestamp', fromTimestamp, 'down') }),
    ...(toTimestamp !== undefined && { before: parseTime('toTimestamp', toTimestamp, 'up') }),
    ...(bbox !== undefined && { bbox: parseBbox(bbox) }),
    ...(place && { place }),
  }
}

export function parseChain(text: string): string {
  const chain = chainBySlug(text)
  if (!chain?.active) throw invalid('chain', `Supported chains: ${ACTIVE_SLUGS.join(', ')}`)
  return chain.slug
}

/** @returns lower-case */
export function parseAddress(name: string, text: string): string {
  if (!/^0x[0-9a-f]{40}$/i.test(text)) throw invalid(name, 'Expected an address: 0x and 40 hex digits')
  return text.toLowerCase()
}

/** @returns lower-case */
export function parseSchema(text: string): string {
  if (!/^0x[0-9a-f]{64}$/i.test(text))
    throw invalid('schema', 'Expected the UID of a schema: 0x and 64 hex digits')
  return text.toLowerCase()
}

export function parseLocationType(text: string): string {
  // Postgres refuses NUL, and no name has the others.
  if (text === '' || text.length > MAX_LOCATION_TYPE_LENGTH || /[\0-\x1f\x7f]/.test(text))
    throw invalid(
      'location_type',
      `Expected the name of a location type such as geojson-point, at most ${MAX_LOCATION_TYPE_LENGTH} characters`,
    )
  return text
}

export function parseBoolean(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalid(name, 'Expected true or false')
  return text === 'true'
}

/** An ISO 8601 date or time; without an offset it is UTC. */
export function parseTime(name: string, text: string, round: 'down' | 'up'): Date {
  const instant = instantOf(text, round)
  if (instant === undefined)
    throw invalid(
      name,
      'Expected an ISO 8601 time such as 2026-01-31T12:00:00Z or 2026-01-31; years from 0001 to 9999, no durations or intervals',
    )
  return new Date(instant)
}

/** @param more what else the message says */
export function parseWhole(name: string, text: string, minimum: number, more = ''): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (!(value >= minimum)) throw invalid(name, `Expected a whole number of at least ${minimum}${more}`)
  return value
}

/** Four finite numbers in range; minLng > maxLng is a box across the antimeridian. */
export function parseBbox(text: string): Bbox {
  const numbers = numbersOf(text)
  const [minLng, minLat, maxLng, maxLat] = numbers as [number, number, number, number]
  if (numbers.length !== 4 || !isPosition(minLng, minLat) || !isPosition(maxLng, maxLat) || minLat > maxLat)
    throw new RecordsProblem(
      'Invalid bbox format',
      'Expected format: minLng,minLat,maxLng,maxLat' +
        (numbers.length === 4
          ? ' (degrees; longitudes from -180 to 180, latitudes from -90 to 90, minLat not above maxLat)'
          : ''),
    )
  return [minLng, minLat, maxLng, maxLat]
}

export function parseSort(text: string | undefined): Sort {
  if (text === undefined) return NEWEST_FIRST
  const by = SORT_FIELDS.find((field) => field === text.replace(/^-/, ''))
  if (!by)
    throw invalid(
      'sort',
      `Expected one of ${SORT_FIELDS.flatMap((field) => [field, `-${field}`]).join(', ')} (- is descending)`,
    )
  return { by, descending: text.startsWith('-') }
}

/** Where records shall be: near a point, or meeting a geometry. The kernel says what is wrong with either. */
function parsePlace({
  near,
  radius,
  intersects,
}: Query<'near' | 'radius' | 'intersects'>): Place | undefined {
  if (intersects !== undefined && near !== undefined)
    throw invalid('intersects', 'Give near and radius, or intersects: not both')
  if (intersects !== undefined) {
    if (radius !== undefined) throw invalid('radius', 'It belongs to near=lng,lat')
    return readPlace('intersects', () => placeOf(parseGeometry(intersects), 'intersects'))
  }
  if (near === undefined && radius === undefined) return undefined
  if (near === undefined) throw invalid('near', 'Missing; radius needs near=lng,lat')
  if (radius === undefined) throw invalid('radius', 'Missing; near needs a radius in metres')
  const coordinates = numbersOf(near)
  const [lng, lat] = coordinates as [number, number]
  if (coordinates.length !== 2 || !isPosition(lng, lat))
    throw invalid(
      'near',
      'Expected format: lng,lat (degrees; longitude from -180 to 180, latitude from -90 to 90)',
    )
  const [meters, ...others] = numbersOf(radius) as [number, ...number[]]
  if (others.length > 0 || !(meters > 0 && meters <= MAX_RADIUS))
    throw invalid('radius', `Expected metres above 0, at most ${MAX_RADIUS}`)
  return readPlace('near', () => placeOf({ type: 'Point', coordinates }, 'near', meters))
}

function readPlace(name: string, read: () => Place): Place {
  try {
    return read()
  } catch (error) {
    if (error instanceof GeometryError) throw invalid(name, error.message.replace(/^location: /, ''))
    if (error instanceof SyntaxError)
      throw invalid(name, `Expected GeoJSON or WKT: ${error.message.slice(0, 200)}`)
    if (error instanceof EffortError)
      throw invalid(name, 'This geometry is too entangled to search with; simplify it')
    throw error
  }
}

function parseGeometry(text: string): unknown {
  return text.trimStart().startsWith('{') ? parseStrictJson(text) : readWkt(text, false)
}

/** Numbers between commas; NaN for what is none. */
function numbersOf(text: string): number[] {
  return text
    .split(',', 8)
    .map((part) => (part.length <= MAX_NUMBER_LENGTH && NUMBER.test(part) ? Number(part) : NaN))
}

function isPosition(lng: number, lat: number): boolean {
  return Math.abs(lng) <= 180 && Math.abs(lat) <= 90
}

/** Tells apart what is chosen and in which order, in 12 characters: a cursor of one list does not fit another. */
function choiceTag(choice: RecordChoice, sort: Sort): string {
  const { chain, prover, subject, schema, locationType, revoked, after, before, bbox, place } = choice
  const canonical = JSON.stringify([
    chain,
    prover,
    subject,
    schema,
    locationType?.toLowerCase(),
    revoked,
    after?.getTime(),
    before?.getTime(),
    bbox,
    place?.geometry,
    place?.radiusMeters,
    sort.by,
    sort.descending,
  ])
  return createHash('sha256').update(canonical).digest('base64url').slice(0, 12)
}

/** A place in a list, to go on from; opaque to clients. */
export function cursorText({ at, id }: RecordPosition, choice: RecordChoice, sort: Sort): string {
  return Buffer.from(`${choiceTag(choice, sort)} ${at} ${id}`).toString('base64url')
}

export function parseCursor(text: string, choice: RecordChoice, sort: Sort): RecordPosition {
  const [, tag, at, id] =
    (text.length <= 300 &&
      /^([\w-]{12}) (\d{1,15}) ([a-z\d-]{1,40}-0x[0-9a-f]{64})$/.exec(
        Buffer.from(text, 'base64url').toString(),
      )) ||
    []
  // What decodes to the same but is written otherwise was not made here.
  if (
    id === undefined ||
    Number(at) > LAST_INSTANT ||
    Buffer.from(`${tag} ${at} ${id}`).toString('base64url') !== text
  )
    throw invalid('cursor', 'Expected a next_cursor as it was answered; leave it out to begin')
  if (tag !== choiceTag(choice, sort))
    throw invalid(
      'cursor',
      'It belongs to a list with other filters or another sort; repeat those, or leave the cursor out to begin',
    )
  return { at: Number(at), id }
}
