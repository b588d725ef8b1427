import { ACTIVE_SLUGS } from '../../src/chains'
import { parseUid } from '../../src/eas'
import { UID } from '../http/openapi-components'
import { RecordsError } from '../http/problems'
import { type ColumnarName, isColumnar } from '../formats'
import { chooseFormat, type FormatName } from '../http/accept'
import { listTag, MAX_CURSOR_LENGTH, MAX_OFFSET, positionIn } from '../http/paging'
import { filterChoice, FILTER_LANGUAGES, type FilterLanguage } from './filter'
import { PROVENANCE_FIELDS, NEWEST_FIRST, lowered, type Sort, type TimeSort } from '../store'
import {
  invalid,
  parameter,
  pathOf,
  queryOf,
  type GivenQuery,
  type QueryOf,
  choiceReader,
  readBoolean,
  readText,
  severalReader,
  wholeReader,
} from '../http/parameters'
import {
  CRS84,
  CRS84H,
  MAX_ATTRIBUTES_LENGTH,
  MAX_MEMO_WORDS_LENGTH,
  MAX_RADIUS,
  SORTS,
  readAddress,
  readAttributes,
  readBbox,
  readChain,
  readCrs,
  readLocationType,
  readMemoWords,
  readPlace,
  readPoint,
  readRadius,
  readSchemaUid,
  readSort,
  timeReader,
} from './readers'
import type { SearchQuery } from './search'
import { placeOf, type Place } from './sieve'

/** What the Records API can be asked: each parameter with its documentation and its reader. */

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000
const LIST_FORMATS = ['json', 'geojson', 'ndjson', 'csv', 'geoparquet', 'flatgeobuf', 'html'] as const
const SINGLE_FORMATS = ['json', 'geojson', 'html'] as const

// --- Parameters ---

const CHAIN = parameter(
  {
    type: 'string',
    description: `Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; an alias, or its ID.`,
    examples: [ACTIVE_SLUGS[0]],
  },
  readChain,
)
/** What a record may have beyond its fields. */
const INCLUDED = ['provenance'] as const
export const INCLUDE = parameter(
  {
    enum: INCLUDED,
    description: `What each record has beyond its fields. provenance: ${Object.keys(PROVENANCE_FIELDS).join(', ')}.`,
  },
  choiceReader(INCLUDED),
)
const GEOMETRY_COLUMNS = ['wkt'] as const
const FORMAT_TEXT = 'What to answer in; else `Accept` says, or it is JSON.'

/** The filters, without paging and order. Several values of one are alternatives. */
export const FILTERS = {
  chain: parameter(
    {
      type: 'string',
      description: `Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; an alias, or its ID. Several: separated by commas.`,
      examples: [ACTIVE_SLUGS[0], '84532,42220'],
    },
    severalReader(readChain),
  ),
  prover: parameter(
    {
      type: 'string',
      description: 'Address that created the attestation, in any letter case. Several: separated by commas.',
    },
    severalReader(readAddress),
  ),
  subject: parameter(
    { type: 'string', description: 'Its recipient, in any letter case. Several: separated by commas.' },
    severalReader(readAddress),
  ),
  fromTimestamp: parameter(
    {
      type: 'string',
      description:
        'Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).',
      examples: ['2025-12-01'],
    },
    timeReader('down'),
  ),
  toTimestamp: parameter(
    {
      type: 'string',
      description: 'Attested before this time (as `fromTimestamp`).',
      examples: ['2026-01-01T12:00:00Z'],
    },
    timeReader('up'),
  ),
  bbox: parameter(
    {
      type: 'string',
      description:
        '`minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.',
      examples: ['-10,35,30,60'],
    },
    readBbox,
  ),
  schema: parameter(
    {
      type: 'string',
      description: 'UID of the schema of the attestation, in any letter case. Several: separated by commas.',
    },
    severalReader(readSchemaUid),
  ),
  location_type: parameter(
    {
      type: 'string',
      description: 'Format of `location`, in any letter case. Several: separated by commas.',
      minLength: 1,
      examples: ['geojson-point', 'geojson-point,h3'],
    },
    severalReader(readLocationType),
  ),
  memo: parameter(
    {
      type: 'string',
      description:
        'Words that all occur among the first 2,000 characters of the memo, in any letter case; each may be the beginning of one.',
      minLength: 1,
      maxLength: MAX_MEMO_WORDS_LENGTH,
      examples: ['eiffel tower'],
    },
    readMemoWords,
  ),
  attributes: parameter(
    {
      type: 'string',
      description: 'A JSON object: only records whose `attributes` contain it, at every depth (jsonb `@>`).',
      minLength: 2,
      maxLength: MAX_ATTRIBUTES_LENGTH,
      examples: ['{"assetId":"pump-7"}'],
    },
    readAttributes,
  ),
  revoked: parameter(
    { type: 'boolean', description: 'Only revoked ones, or only ones that are not.' },
    readBoolean,
  ),
  near: parameter(
    {
      type: 'string',
      description:
        '`lng,lat` in degrees: only what lies within `radius` of it, on the ellipsoid, to the centimetre; or what is nearest to it, with `sort=distance`.',
      examples: ['13.3777,52.5163'],
    },
    readPoint,
  ),
  radius: parameter(
    {
      type: 'number',
      description: 'Metres; belongs to `near`.',
      exclusiveMinimum: 0,
      maximum: MAX_RADIUS,
    },
    readRadius,
  ),
  intersects: parameter(
    {
      type: 'string',
      description:
        'GeoJSON (a geometry, or a Feature) or WKT, longitude first: only what shares a place with it, edges being geodesics. Not with `near`.',
      examples: ['POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))'],
    },
    readPlace,
  ),
}

/** A filter in CQL2 (OGC 19-079r2, 8). It is read with its language, by filterChoice. */
export const CQL2_FILTER = {
  filter: parameter(
    {
      type: 'string',
      description:
        "Only records of which this is true, in CQL2: comparisons, LIKE, BETWEEN, IN, IS NULL and S_INTERSECTS, with AND, OR and NOT. A geometry's edges are geodesics; a BBOX is compared on the plane of longitude and latitude.",
      examples: ['revoked = FALSE AND S_INTERSECTS(geometry, BBOX(13, 52, 14, 53))'],
    },
    readText,
  ),
  'filter-lang': parameter(
    {
      type: 'string',
      description: 'The language of filter.',
      enum: FILTER_LANGUAGES,
      default: FILTER_LANGUAGES[0],
    },
    // GDAL knows its first draft, whose text it writes as CQL2 has it.
    (text, name): FilterLanguage =>
      text === 'cql-text' ? 'cql2-text' : choiceReader(FILTER_LANGUAGES)(text, name),
  ),
  'filter-crs': parameter(
    {
      type: 'string',
      description: 'The reference system of the geometries in filter. There is only the one.',
      enum: [CRS84, CRS84H],
      default: CRS84,
    },
    readCrs,
  ),
}

/** A parameter of lists that have CSV. */
export const BOM = parameter(
  {
    type: 'boolean',
    default: false,
    description: 'A byte order mark before CSV, by which Excel recognizes UTF-8.',
  },
  readBoolean,
)

export const LIST_QUERY = queryOf({
  ...FILTERS,
  sort: parameter(
    {
      enum: SORTS,
      default: '-timestamp',
      description:
        "By the time of the attestation's block or of the located event; `-` is descending. `distance`: nearest to `near` first, exactly; each record then has `distance_meters`, and `radius` is optional.",
    },
    readSort,
  ),
  limit: parameter(
    {
      type: 'integer',
      description: `How many at most. A page has ${MAX_LIMIT} at most: more gives ${MAX_LIMIT} in JSON, and streams the other formats. GeoParquet and FlatGeobuf are never pages.`,
      minimum: 1,
      default: DEFAULT_LIMIT,
    },
    wholeReader(1, `; in JSON more than ${MAX_LIMIT} gives ${MAX_LIMIT}`),
  ),
  offset: parameter(
    {
      type: 'integer',
      description: `How many to skip: page n of size L has (n-1)*L. At most ${MAX_OFFSET}, unless beyond the last record: further on goes \`cursor\`.`,
      minimum: 0,
      default: 0,
    },
    wholeReader(0),
  ),
  cursor: parameter(
    {
      type: 'string',
      description:
        '`next_cursor` of the page before, with the same filters and sort: goes on from its last record, whatever arrived meanwhile. Not with `offset`.',
      maxLength: MAX_CURSOR_LENGTH,
    },
    readText,
  ),
  total: parameter(
    {
      type: 'boolean',
      default: false,
      description: 'Whether to count all that match, in JSON; a page for browsers always says it.',
    },
    readBoolean,
  ),
  format: parameter({ enum: LIST_FORMATS, description: FORMAT_TEXT }, choiceReader(LIST_FORMATS)),
  include: INCLUDE,
  geometry: parameter(
    {
      enum: GEOMETRY_COLUMNS,
      description: 'A column `geometry` in CSV: Well-Known Text, longitude first.',
    },
    choiceReader(GEOMETRY_COLUMNS),
  ),
  bom: BOM,
})

export const RECORD_QUERY = queryOf({
  chain: CHAIN,
  include: INCLUDE,
  format: parameter({ enum: SINGLE_FORMATS, description: FORMAT_TEXT }, choiceReader(SINGLE_FORMATS)),
})
/** @returns the UID as it was given */
export const RECORD_PATH = pathOf({
  uid: parameter(
    { type: 'string', description: 'UID of the attestation, in any letter case.', ...UID },
    (text) => {
      if (parseUid(text) === undefined)
        throw new RecordsError('invalid-uid', 'UID must be a 66-character hex string starting with 0x')
      return text
    },
  ),
})
export const NO_QUERY = queryOf({})

// --- Combinations of parameters ---

export type RecordChoice = Pick<
  SearchQuery,
  | 'chain'
  | 'prover'
  | 'subject'
  | 'schema'
  | 'locationType'
  | 'memo'
  | 'attributes'
  | 'revoked'
  | 'after'
  | 'before'
  | 'bbox'
  | 'place'
  | 'condition'
>

/** The records that the filters choose. Throws a RecordsError where two of them do not go together. */
export function choiceOf({
  location_type: locationType,
  fromTimestamp: after,
  toTimestamp: before,
  filter,
  ...query
}: QueryOf<Partial<typeof FILTERS & typeof CQL2_FILTER>> & { sort?: Sort }): RecordChoice {
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
    if (near) throw invalid('intersects', 'Give near and radius, or intersects: not both')
    if (radius !== undefined) throw invalid('radius', 'It belongs to near=lng,lat')
    return intersects
  }
  if (!near && isNearest) throw invalid('sort', 'distance needs near=lng,lat')
  if (!near && radius === undefined) return undefined
  if (!near) throw invalid('near', 'Missing; radius needs near=lng,lat')
  if (radius === undefined && !isNearest)
    throw invalid('radius', 'Missing; near needs a radius in metres, or sort=distance')
  return placeOf({ type: 'Point', coordinates: near }, 'near', radius ?? MAX_RADIUS)
}

/** A request of the list, as it was read. */
export type ListRequest = ListOptions &
  (
    | { whole: false; format: PageFormat; search: SearchQuery & { offset: number; sort: Sort } }
    /** All matching records are sent, not a page of them. */
    | { whole: true; format: FileFormat; search: SearchQuery & { offset: number; sort: TimeSort } }
  )
type PageFormat = Exclude<FormatName, ColumnarName>
type FileFormat = Exclude<FormatName, 'json' | 'html'>
interface ListOptions {
  /** Of CSV, beyond those of the record. */
  columns: readonly string[]
  /** Parameters of CSV. */
  bom: boolean
  byCursor: boolean
  withTotal: boolean
  given: GivenQuery
}

/**
 * JSON and HTML come in pages. So do formats of text if `limit` is at most a page's; else they contain all
 * matching records, as columnar files always do. Throws a RecordsError for parameters that exclude each
 * other.
 */
export function listRequest(query: typeof LIST_QUERY.static, accept: string | undefined): ListRequest {
  const { limit, total, given, include, geometry, bom = false, sort = NEWEST_FIRST } = query
  const choice = choiceOf(query)
  const format = chooseFormat(query.format, accept, LIST_FORMATS)
  if (query.cursor !== undefined && query.offset !== undefined)
    throw invalid('offset', 'Give offset or cursor, not both')
  const from = query.cursor === undefined ? undefined : positionIn(query.cursor, choiceTag(choice, sort))
  const paged = format === 'json' || format === 'html'
  if (total && !paged) throw invalid('total', 'It is told in JSON only')
  if (geometry && format !== 'csv') throw invalid('geometry', 'It is a column of format=csv')
  checkBom(bom, format)
  if (include && isColumnar(format))
    throw invalid('include', 'GeoParquet and FlatGeobuf have the fields of the record: take another format')
  const whole = isColumnar(format) || (!paged && !(limit !== undefined && limit <= MAX_LIMIT))
  const search = {
    ...choice,
    // A larger limit becomes the maximum; the answer has the limit that was applied.
    limit: whole ? (limit ?? Infinity) : Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: query.offset ?? 0,
    from,
    withGeometry: format === 'geojson' || isColumnar(format) || geometry !== undefined,
    withProvenance: include === 'provenance',
  }
  if (isColumnar(format) && sort.by === 'distance')
    throw invalid(
      'sort',
      'GeoParquet and FlatGeobuf are in space order: leave it out, or take another format',
    )
  if (whole && sort.by === 'distance')
    throw invalid('limit', `sort=distance comes in pages: give ${MAX_LIMIT} or less, and go on by cursor`)
  return {
    ...(whole
      ? { whole, format, search: { ...search, sort: sort as TimeSort } }
      : { whole, format, search: { ...search, sort } }),
    columns: [
      ...(include ? Object.keys(PROVENANCE_FIELDS) : []),
      ...(sort.by === 'distance' ? ['distance_meters'] : []),
      ...(geometry ? ['geometry'] : []),
    ],
    bom,
    byCursor: from !== undefined,
    // HTML pages show the total. All are near a place that no radius bounds: they would all be measured.
    withTotal:
      total === true || (format === 'html' && !(sort.by === 'distance' && query.radius === undefined)),
    given,
  }
}

/** Throws a RecordsError for a byte order mark in another format than CSV: RFC 8259 allows none in JSON. */
export function checkBom(bom: boolean | undefined, format: string): void {
  if (bom && format !== 'csv') throw invalid('bom', 'It belongs to format=csv')
}

/** The format of one record. */
export function recordFormat({ format }: typeof RECORD_QUERY.static, accept: string | undefined) {
  return chooseFormat(format, accept, SINGLE_FORMATS)
}

/** Names a list by its filters and its order, in 12 characters: a cursor of one list does not fit another. */
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
