import { ACTIVE_SLUGS, CHAINS } from '../../src/chains'
import { cut } from '../../src/cut'
import { prefersHtml } from '../http/accept'
import { DAY_MS, LAST_INSTANT, shiftedBy, startOfDay } from '../http/iso-8601'
import { UID } from '../http/openapi-components'
import { RecordsError } from '../http/problems'
import { bboxOf, numbersOf } from '../http/positions'
import {
  choiceOf,
  choiceTag,
  CQL2_FILTER,
  FILTERS,
  INCLUDE,
  CRS84,
  CRS84H,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  readCrs,
  readTimeSort,
  TIME_SORTS,
  uidReader,
  type SearchQuery,
} from '../query'
import { invalid, parameter, pathOf, queryOf, wholeParameter, textParameter } from '../http/parameters'
import { MAX_CURSOR_LENGTH, readCursor } from '../http/paging'
import { NEWEST_FIRST, type Bbox, type TimeSort } from '../store'

/**
 * Parameters of OGC API - Features (OGC 17-069r4, 7.15), and those that filter by a property: each with its
 * documentation and its reader.
 */

export const MATRIX_SET = 'WebMercatorQuad'
export const COLLECTION = 'location-records'

/** GeoJSON without additions, and JSON-FG. */
export const PROFILES = ['rfc7946', 'jsonfg'] as const
export type Profile = (typeof PROFILES)[number]

const FORMATS = ['json', 'html'] as const
export type Format = (typeof FORMATS)[number]

// --- Readers: text to value ---

function readFormat(text: string, name: string): Format {
  const format = FORMATS.find((each) => each === text)
  if (!format) throw invalid(name, 'Expected json or html')
  return format
}

/** Reads the name or the URI of a profile. */
function readProfile(text: string, name: string): Profile {
  const wanted = text.replace(/^https?:\/\/www\.opengis\.net\/def\/profile\/ogc\/0\//i, '')
  const profile = PROFILES.find((each) => each === wanted)
  if (!profile) throw invalid(name, `Expected ${PROFILES.join(' or ')}, or the URI of one of them`)
  return profile
}

/** Records are on the ellipsoid, so any range of heights includes them. */
function readBox(text: string): Bbox {
  const numbers = numbersOf(text)
  if (numbers.length !== 4 && numbers.length !== 6)
    throw new RecordsError(
      'invalid-bbox',
      'Expected format: minLng,minLat,maxLng,maxLat, or minLng,minLat,minHeight,maxLng,maxLat,maxHeight',
    )
  if (numbers.length === 4) return bboxOf(numbers)
  const [west, south, low, east, north, high] = numbers as [number, number, number, number, number, number]
  if (!(low <= high))
    throw new RecordsError(
      'invalid-bbox',
      'The third and the sixth number are heights, and the third must not be above the sixth',
    )
  return bboxOf([west, south, east, north])
}

/** A plus sign may arrive as a space, or be left out. */
function readSortby(text: string, name: string): TimeSort {
  return readTimeSort(text.replace(/^[+ ]/, ''), name)
}

/** GDAL writes 1 and 0. */
function readBoolean(text: string, name: string): boolean {
  if (!/^(true|false|1|0)$/i.test(text)) throw invalid(name, 'Expected true or false')
  return /^(true|1)$/i.test(text)
}

const YEAR_0 = startOfDay(0, 1, 1)!
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(T(?:((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d{1,30}))?(Z|[+ -](?:[01]\d|2[0-3]):[0-5]\d))?)?$/i
const DATETIME_HELP =
  'Expected an RFC 3339 time such as 2026-01-31T12:00:00Z, a date, or an interval: 2026-01-01T00:00:00Z/2026-01-31T12:00:00Z, ../2026-01-31T12:00:00Z, 2026-01-01T00:00:00Z/.., 2026-01-01T00:00:00Z/P1M'

/**
 * Reads a time or a closed interval (OGC 17-069r4, 7.15.4) into exclusive bounds in milliseconds. As
 * extensions, a date covers its day in UTC, and one end may be a duration, which the OGC's test suite sends.
 */
function readDatetime(text: string): { after?: Date; before?: Date } {
  const ends = text.split('/')
  const [first, last] = ends.length === 1 ? [text, text] : (ends as [string, string])
  const open = (end: string) => end === '' || end === '..'
  if (ends.length > 2 || (open(first) && open(last))) throw invalid('datetime', DATETIME_HELP)
  const [start, end] = [first, last].map((each) =>
    open(each) || /^P/i.test(each) ? undefined : parseTime(each),
  )
  const from = start?.from ?? (/^P/i.test(first) && end ? shifted(end.to, first, -1) : undefined)
  const to = end?.to ?? (/^P/i.test(last) && start ? shifted(start.from, last, 1) : undefined)
  if (from === undefined && to === undefined) throw invalid('datetime', DATETIME_HELP)
  // An interval within a millisecond contains none, but begins and ends in the same one.
  if (start && end && start.from > end.to && start.to > end.to)
    throw invalid('datetime', 'The interval ends before it begins')
  return {
    ...(from !== undefined && { after: new Date(from - 1) }),
    ...(to !== undefined && { before: new Date(to + 1) }),
  }
}

/** First and last millisecond of a time or a day; between two milliseconds, `from` is after `to`. */
function parseTime(text: string): { from: number; to: number } {
  // GDAL writes midnight as a date followed by T.
  const [, date, time, minutes = '00:00', seconds = '00', fraction = '', offset = 'Z'] =
    DATE_TIME.exec(text) ?? []
  const [year, month, day] = (date ?? '').split('-').map(Number)
  const midnight = date === undefined ? undefined : startOfDay(year!, month!, day!)
  if (midnight === undefined) throw invalid('datetime', DATETIME_HELP)
  if (time === undefined) return { from: midnight, to: midnight + DAY_MS - 1 }
  // An unescaped + in a query string arrives as a space. A leap second counts as the first second of the next
  // minute.
  const minute = Date.parse(`${date}T${minutes}${offset.replace(' ', '+').toUpperCase()}`)
  const at = minute + Number(seconds) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return { from: /[1-9]/.test(fraction.slice(3)) ? at + 1 : at, to: at }
}

/** Returns the other end of an interval, within the years 0 to 9999. */
function shifted(from: number, duration: string, direction: 1 | -1): number {
  const end = shiftedBy(from, duration, direction) ?? NaN
  const whole = direction === 1 ? Math.floor(end) : Math.ceil(end)
  if (!(whole >= YEAR_0 && whole <= LAST_INSTANT)) throw invalid('datetime', DATETIME_HELP)
  return whole
}

// --- Parameters ---

const FORMAT = {
  f: textParameter('Format of the response. Default: the one that the header Accept prefers.', readFormat, {
    enum: FORMATS,
  }),
}
const only = (id: string, what: string) =>
  parameter({ type: 'string' }, (text) => {
    if (text === id) return text
    throw new RecordsError('not-found', `${what} not found: '${cut(text, 100)}'. The only one is ${id}.`)
  })
const collectionId = only(COLLECTION, 'Collection')

export const DOCUMENT_QUERY = queryOf(FORMAT)
export const COLLECTION_PATH = pathOf({
  collectionId,
  tileMatrixSetId: only(MATRIX_SET, 'Tile matrix set'),
})
/** The handler reads the ID: a malformed one is a feature that does not exist. */
export const FEATURE_PATH = pathOf({
  collectionId,
  featureId: textParameter('ID of a feature: `<chain>-<uid>`.', String),
})
const PROFILE = textParameter(
  'Profile of GeoJSON: `jsonfg` adds `time` (that of `timestamp`), `featureType` and `featureSchema` ' +
    '(JSON-FG, OGC 21-045r1).',
  readProfile,
  { enum: PROFILES, default: 'rfc7946' },
)
export const FEATURE_QUERY = queryOf({ include: INCLUDE, profile: PROFILE, ...FORMAT })
/** Filters of the Records API by these properties. */
function filtersBy<Name extends keyof typeof FILTERS>(texts: Record<Name, string>) {
  const described = (Object.entries<string>(texts) as [Name, string][]).map(([name, text]) => [
    name,
    { ...FILTERS[name], description: `Only records ${text}. Several: separated by commas.` },
  ])
  return Object.fromEntries(described) as Pick<typeof FILTERS, Name>
}
/**
 * GDAL and others filter by parameters named like properties, and read them as equality. So `memo` and
 * `attributes` of the Records API, which select more, are not among them.
 */
export const ITEMS_QUERY = queryOf({
  bbox: parameter(
    {
      description:
        'Selects records whose geometry intersects this box, edges included, and records without a ' +
        `geometry: minLng,minLat,maxLng,maxLat in degrees (${CRS84}), or six numbers with heights, ` +
        'which are ignored. A box with minLng > maxLng crosses the antimeridian. Boxes and ' +
        'geometries are compared on the plane of longitude and latitude.',
      type: 'array',
      minItems: 4,
      maxItems: 6,
      oneOf: [4, 6].map((size) => ({
        type: 'array',
        items: { type: 'number' },
        minItems: size,
        maxItems: size,
      })),
      items: { type: 'number' },
      examples: [[13, 52, 14, 53]],
    },
    readBox,
  ),
  'bbox-crs': textParameter('Reference system of bbox. Only this one is supported.', readCrs, {
    enum: [CRS84, CRS84H],
    default: CRS84,
  }),
  datetime: textParameter(
    "Selects records whose `timestamp`, the time of the attestation's block, is this RFC " +
      '3339 time or is in this closed interval; `..` or nothing is an open end. In addition ' +
      'to the standard, a date is the whole day in UTC, and one end may be an ISO 8601 duration.',
    readDatetime,
    { examples: ['2026-01-01T00:00:00Z/..'] },
  ),
  ...filtersBy({
    chain: `of this chain: ${ACTIVE_SLUGS.join(', ')}, or its ID`,
    prover: 'attested by this address, in any letter case',
    subject: 'with this recipient, in any letter case',
    schema: 'of the location schema with this UID',
    location_type: 'of this location type, in any letter case',
  }),
  revoked: parameter(
    {
      description: 'true selects revoked records, false the others. (1 and 0 are accepted, too.)',
      type: 'boolean',
    },
    readBoolean,
  ),
  uid: textParameter('Only records with this UID: at most one on each chain.', uidReader('a UID'), {
    ...UID,
  }),
  ...CQL2_FILTER,
  include: INCLUDE,
  profile: PROFILE,
  sortby: textParameter(
    "Order: by the time of the attestation's block, or of the located event; `-` is " +
      'descending. Records with the same time are ordered by ID.',
    readSortby,
    { enum: TIME_SORTS, default: '-timestamp' },
  ),
  limit: wholeParameter(
    1,
    `Maximum number of features. Values above ${MAX_LIMIT} are read as ${MAX_LIMIT}.`,
    { maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  ),
  cursor: textParameter(
    'Position at which a page begins. Do not construct it: follow the `next` link of a response.',
    String,
    {
      maxLength: MAX_CURSOR_LENGTH,
    },
  ),
  ...FORMAT,
})

// --- Interpretation ---

/** Converts a query of items into a search of records. Throws a RecordsError for an invalid combination. */
export function searchOf(query: typeof ITEMS_QUERY.static): SearchQuery & { sort: TimeSort } {
  const { datetime, cursor, sortby: sort = NEWEST_FIRST, limit, uid, include, profile: _, ...filters } = query
  const { chain, bbox } = filters
  const search = {
    ...choiceOf(filters),
    ...datetime,
    // Features without a geometry are in every box (/req/core/fc-bbox-response, C).
    ...(bbox && { nowhere: 'too' as const }),
    ...(uid !== undefined && {
      ids: (chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain].flat()).map(
        (slug) => `${slug}-${uid}`,
      ),
    }),
    ...{ sort, withGeometry: true, withProvenance: include === 'provenance' },
    ...{ limit: Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT) },
  }
  if (cursor === undefined) return search
  const read = readCursor(cursor)
  if (!read || read.tag !== cursorTag(sort))
    throw invalid('cursor', 'Expected the cursor of a next link. Follow the link unchanged.')
  return { ...search, from: read.position }
}

/** Tag that separates cursors of different orders; undefined for the default order. */
export function cursorTag(sort: TimeSort): string | undefined {
  const isUsual = sort.by === NEWEST_FIRST.by && sort.descending === NEWEST_FIRST.descending
  return isUsual ? undefined : choiceTag({}, sort)
}

/** Chooses the format: `f`, otherwise the preference of Accept, with JSON as the default. */
export function formatOf({ f }: { f?: Format }, accept: string | undefined): Format {
  return f ?? (prefersHtml(accept) ? 'html' : 'json')
}

/** Profile of a document. HTML pages have no profile. */
export function profileOf({ profile = 'rfc7946' }: { profile?: Profile }, format: Format): Profile {
  return format === 'json' ? profile : 'rfc7946'
}

/** Splits the ID of a feature; undefined if the text cannot be one. */
export function parseFeatureId(text: string): { chain: string; uid: string } | undefined {
  const [, chain, uid] = /^([a-z0-9-]+)-(0x[0-9a-f]{64})$/i.exec(text) ?? []
  return CHAINS.some(({ slug }) => slug === chain) ? { chain: chain!, uid: uid!.toLowerCase() } : undefined
}
