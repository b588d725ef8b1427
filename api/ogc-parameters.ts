import { DateTime, Duration } from 'luxon'
import { CHAINS } from '../src/chains'
import { prefersHtml } from './accept'
import { RecordsProblem } from './problems'
import {
  DEFAULT_LIMIT,
  MAX_LIMIT,
  invalid,
  knownParameters,
  parseAddress,
  parseBbox,
  parseChain,
  parseLocationType,
  parseSchema,
  parseWhole,
} from './record-parameters'
import type { RecordSearch } from './search'
import type { Bbox, RecordPosition } from './store-records'

/** The parameters of OGC API - Features (OGC 17-069r4, 7.15) and those that filter by a property. */

export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
/** The same with an ellipsoidal height, for a bbox of six numbers. */
export const CRS84H = 'http://www.opengis.net/def/crs/OGC/0/CRS84h'

const FILTERS = [
  'bbox',
  'bbox-crs',
  'datetime',
  'chain',
  'prover',
  'subject',
  'schema',
  'location_type',
  'revoked',
  'uid',
] as const
const ITEMS = [...FILTERS, 'limit', 'cursor', 'f'] as const

export type Format = 'json' | 'html'

/** What a query string asks for: `f`, else what Accept prefers; JSON where it does not care. Throws a RecordsProblem where there are other parameters. */
export function parseFormat(query: unknown, accept: string | undefined): Format {
  return formatOf(knownParameters(query, ['f']).f, accept)
}

/** What is asked of the items of the collection. Throws a RecordsProblem. */
export function parseItems(
  query: unknown,
  accept: string | undefined,
): { format: Format; search: RecordSearch } {
  const {
    f,
    limit,
    cursor,
    datetime,
    bbox,
    'bbox-crs': crs,
    chain,
    prover,
    subject,
    schema,
    location_type: type,
    revoked,
    uid,
  } = knownParameters(query, ITEMS)
  if (crs !== undefined && crs !== CRS84 && crs !== CRS84H)
    throw invalid('bbox-crs', `Expected ${CRS84}: a bbox is in degrees of longitude and latitude`)
  const slug = chain === undefined ? undefined : parseChain(chain)
  return {
    format: formatOf(f, accept),
    search: {
      withGeometry: true,
      limit: limit === undefined ? DEFAULT_LIMIT : Math.min(parseWhole('limit', limit, 1), MAX_LIMIT),
      ...(cursor !== undefined && { from: parseCursor(cursor) }),
      ...(datetime !== undefined && parseDatetime(datetime)),
      // Features without a geometry are in every box (/req/core/fc-bbox-response, C).
      ...(bbox !== undefined && { bbox: parseBox(bbox), nowhere: 'too' as const }),
      ...(slug !== undefined && { chain: slug }),
      ...(prover !== undefined && { prover: parseAddress('prover', prover) }),
      ...(subject !== undefined && { subject: parseAddress('subject', subject) }),
      ...(schema !== undefined && { schema: parseSchema(schema) }),
      ...(type !== undefined && { locationType: parseLocationType(type) }),
      ...(revoked !== undefined && { revoked: parseBoolean('revoked', revoked) }),
      ...(uid !== undefined && { ids: idsOf(parseUid('uid', uid), slug) }),
    },
  }
}

/** A place in the order of features, for a URL. */
export function cursorOf({ at, id }: RecordPosition): string {
  return Buffer.from(`${at} ${id}`).toString('base64url')
}

/** The parts of a feature's ID, which is `<chain>-<uid>`; undefined for what can be none. */
export function parseFeatureId(text: string): { chain: string; uid: string } | undefined {
  const [, chain, uid] = /^([a-z0-9-]+)-(0x[0-9a-f]{64})$/i.exec(text) ?? []
  return CHAINS.some(({ slug }) => slug === chain) ? { chain: chain!, uid: uid!.toLowerCase() } : undefined
}

function formatOf(f: string | undefined, accept: string | undefined): Format {
  if (f === undefined) return prefersHtml(accept) ? 'html' : 'json'
  if (f !== 'json' && f !== 'html') throw invalid('f', 'Expected json or html')
  return f
}

function parseCursor(text: string): RecordPosition {
  const [, at, id] =
    /^(\d{1,15}) ([a-z0-9-]{1,40}-0x[0-9a-f]{64})$/.exec(
      Buffer.from(text.slice(0, 400), 'base64url').toString(),
    ) ?? []
  if (at === undefined || id === undefined)
    throw invalid('cursor', 'Follow the next link of an answer as it is')
  return { at: Number(at), id }
}

function parseBox(text: string): Bbox {
  const parts = text.split(',')
  if (parts.length !== 4 && parts.length !== 6)
    throw new RecordsProblem(
      'Invalid bbox format',
      'Expected format: minLng,minLat,maxLng,maxLat, or minLng,minLat,minHeight,maxLng,maxLat,maxHeight',
    )
  if (parts.length === 4) return parseBbox(text)
  const [west, south, low, east, north, high] = parts as [string, string, string, string, string, string]
  // Our records are on the ellipsoid: any height meets them. But it has to be one.
  const heights = [low, high].map((height) =>
    /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?\s*$/i.test(height) ? Number(height) : NaN,
  ) as [number, number]
  if (!(heights[0] <= heights[1]))
    throw new RecordsProblem(
      'Invalid bbox format',
      'Of six numbers the third and the sixth are heights, the lower one first',
    )
  return parseBbox([west, south, east, north].join(','))
}

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(T(?:((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d{1,30}))?(Z|[+ -](?:[01]\d|2[0-3]):[0-5]\d))?)?$/i
const DATETIME_HELP =
  'Expected an RFC 3339 time such as 2026-01-31T12:00:00Z, a date, or an interval: 2026-01-01T00:00:00Z/2026-01-31T12:00:00Z, ../2026-01-31T12:00:00Z, 2026-01-01T00:00:00Z/.., 2026-01-01T00:00:00Z/P1M'

/**
 * A time or an interval, both of its ends included (OGC 17-069r4, 7.15.4). Beyond the standard: a date is all of its day in UTC, and
 * one end may be an ISO 8601 duration, which the OGC's test suite sends. The filter's bounds are exclusive, and whole milliseconds.
 */
export function parseDatetime(text: string): { after?: Date; before?: Date } {
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
  if (from !== undefined && to !== undefined && from > to && ends.length === 2)
    throw invalid('datetime', 'The interval ends before it begins')
  return {
    ...(from !== undefined && { after: new Date(from - 1) }),
    ...(to !== undefined && { before: new Date(to + 1) }),
  }
}

/** The first and the last millisecond of a time, or of the day that a date is. One between two milliseconds has neither: from is after to. */
function parseTime(text: string): { from: number; to: number } {
  // GDAL writes midnight as a date and a T.
  const [, date, time, minutes = '00:00', seconds = '00', fraction = '', offset = 'Z'] =
    DATE_TIME.exec(text) ?? []
  const day = DateTime.fromISO(date ?? '', { zone: 'utc' })
  if (!day.isValid) throw invalid('datetime', DATETIME_HELP)
  if (time === undefined) return { from: day.toMillis(), to: day.plus({ days: 1 }).toMillis() - 1 }
  // An unescaped + in a query string arrives as a space. A leap second is the first one of the next minute.
  const minute = DateTime.fromISO(`${date}T${minutes}${offset.replace(' ', '+').toUpperCase()}`)
  const at = minute.toMillis() + Number(seconds) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return { from: /[1-9]/.test(fraction.slice(3)) ? at + 1 : at, to: at }
}

function shifted(from: number, duration: string, direction: 1 | -1): number {
  const parsed = Duration.fromISO(duration.toUpperCase())
  // Luxon takes an empty one, and negative numbers.
  const end =
    parsed.isValid && /^P[^-]*\d[^-]*$/i.test(duration)
      ? DateTime.fromMillis(from, { zone: 'utc' })[direction === 1 ? 'plus' : 'minus'](parsed)
      : undefined
  if (!end?.isValid || end.year < 0 || end.year > 9999) throw invalid('datetime', DATETIME_HELP)
  return end.toMillis()
}

function parseUid(name: string, text: string): string {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw invalid(name, 'Expected a UID: 0x and 64 hex digits')
  return text.toLowerCase()
}

/** GDAL writes 1 and 0. */
function parseBoolean(name: string, text: string): boolean {
  if (!/^(true|false|1|0)$/i.test(text)) throw invalid(name, 'Expected true or false')
  return /^(true|1)$/i.test(text)
}

function idsOf(uid: string, chain: string | undefined): string[] {
  return (chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain]).map((slug) => `${slug}-${uid}`)
}
