import { Type, type Static } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { CHAINS, ACTIVE_SLUGS } from '../../src/chains'
import {
  HTML,
  RATE_HEADERS,
  RETRY_AFTER,
  answer,
  recordsError,
  ref,
  text,
  type Schema,
  RECORDS_ERRORS,
  formats,
} from '../http/openapi-components'
import {
  RECORD_PATH,
  SORTS,
  readSort,
  FILTERS,
  DEFAULT_LIMIT,
  readChain,
  INCLUDE,
  MAX_LIMIT,
  BOM,
  groupParameters,
  SUM,
} from '../query'
import { CHAIN_READINESS, RECORD_DIMENSIONS } from '../store'
import {
  parameter,
  queryOf,
  booleanParameter,
  choiceParameter,
  wholeParameter,
  textParameter,
} from '../http/parameters'
import { MAX_CURSOR_LENGTH } from '../http/paging'
import { constant, objectOf, uid } from '../http/schema'
import { groupsSchema, PROVENANCE_PROPERTIES, LOCATION_RECORD } from '../formats'

/** OpenAPI 3.1 documentation of the Records API; api/query/parameters.ts has the shared parameters. */

// --- Parameters ---

export const LIST_FORMATS = ['json', 'geojson', 'ndjson', 'csv', 'geoparquet', 'flatgeobuf', 'html'] as const
export const SINGLE_FORMATS = ['json', 'geojson', 'html'] as const

const CHAIN = textParameter(`Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; an alias, or its ID.`, readChain, {
  examples: [ACTIVE_SLUGS[0]],
})
const FORMAT_TEXT = 'Format of the response. Default: the one that `Accept` prefers, otherwise JSON.'

export const LIST_QUERY = queryOf({
  ...FILTERS,
  sort: parameter(
    {
      enum: SORTS,
      default: '-timestamp',
      description:
        "Order: by the time of the attestation's block or of the located event; `-` is descending. " +
        '`distance` sorts exactly by distance from `near`; each record then has ' +
        '`distance_meters`, and `radius` is optional.',
    },
    readSort,
  ),
  limit: wholeParameter(
    1,
    `Maximum number of records. A page has at most ${MAX_LIMIT}: a larger limit is read as ` +
      `${MAX_LIMIT} in JSON, and streams other formats. GeoParquet and FlatGeobuf never have pages.`,
    { default: DEFAULT_LIMIT },
    `. In JSON a value above ${MAX_LIMIT} is read as ${MAX_LIMIT}.`,
  ),
  offset: wholeParameter(
    0,
    'Number of records to skip: (n-1)*L for page n of size L. `cursor` is faster for late pages.',
    { default: 0 },
  ),
  cursor: textParameter(
    '`next_cursor` of the previous page, with the same filters and sort. Continues after its ' +
      'last record, even if new records have arrived. Cannot be combined with `offset`.',
    String,
    { maxLength: MAX_CURSOR_LENGTH },
  ),
  total: booleanParameter('True to count all matching records, in JSON. HTML pages always show the count.', {
    default: false,
  }),
  format: choiceParameter(LIST_FORMATS, FORMAT_TEXT),
  version: choiceParameter(
    ['1.1', '2'],
    'Version of format=geoparquet. 2: native Parquet geography with geodesic edges (KARNEY).',
    { default: '1.1' },
  ),
  include: INCLUDE,
  geometry: choiceParameter(['wkt'], 'Adds a column `geometry` to CSV: Well-Known Text, longitude first.'),
  bom: BOM,
})

const RECORD_QUERY = queryOf({
  chain: CHAIN,
  include: INCLUDE,
  format: choiceParameter(SINGLE_FORMATS, FORMAT_TEXT),
})
export const STATISTICS_QUERY = queryOf({ ...FILTERS, ...groupParameters(RECORD_DIMENSIONS), sum: SUM })
const NO_QUERY = queryOf({})

// --- Responses ---

const count = (description: string, more: Schema = {}) => Type.Integer({ description, ...more })

const STATISTICS = objectOf('Counts over all records.', {
  total: count('All records.'),
  by_chain: Type.Unsafe<Record<string, number>>({
    type: 'object',
    description: 'Records by chain, including chains that are coming soon if they have records.',
    required: CHAINS.filter(({ active }) => active).map(({ slug }) => slug),
    properties: Object.fromEntries(CHAINS.map(({ slug }) => [slug, count(`On ${slug}.`)])),
  }),
  by_time: objectOf('Records by the time of their block.', {
    last_24_hours: count('Records of the last 24 hours.'),
    last_7_days: count('Records of the last 7 days.'),
    last_30_days: count('Records of the last 30 days.'),
  }),
  revoked: count('Revoked records.'),
  chains: Type.Unsafe<Record<string, Static<typeof CHAIN_READINESS>>>({
    type: 'object',
    description: 'Index state of each chain, by slug.',
    additionalProperties: ref('ChainFreshness'),
  }),
})
export type Statistics = Static<typeof STATISTICS>

const CONFIGURATION = objectOf('Coverage of the Records API.', {
  chains: Type.Unsafe<Record<string, boolean>>({
    type: 'object',
    description: 'Every known chain; false if it is coming soon.',
    required: CHAINS.map(({ slug }) => slug),
    properties: Object.fromEntries(
      CHAINS.map(({ slug }) => [
        slug,
        { type: 'boolean', description: `True if \`chain=${slug}\` is accepted.` },
      ]),
    ),
  }),
  schema: uid('UID of the location schema.'),
  schema_fields: Type.String({ description: 'Fields of the schema.' }),
  version: constant('v0', 'Version of the API.'),
})
export type Configuration = Static<typeof CONFIGURATION>

const SCHEMA_LIST = objectOf('Registered location schemas.', {
  data: Type.Array(
    Type.Object({
      uid: uid('UID of the schema.'),
      chain: Type.String({ description: 'Slug of its chain.' }),
      fields: Type.String({ description: 'Registered text.', examples: ['string srs,...'] }),
      resolver: Type.String({ description: 'Address of its resolver; the zero address if none.' }),
      revocable: Type.Boolean({ description: 'True if its attestations may be revoked.' }),
      block: Type.Integer({
        description:
          'Block of its registration, or the first block of the chain if registrations are not read.',
      }),
      indexed: Type.Boolean({
        description: 'True if its attestations become records. Settings or the limit may leave it out.',
      }),
    }),
    { description: 'Schemas by chain, in the order of registration.' },
  ),
  built_in: Type.Array(
    Type.Object({
      uid: uid('UID of the schema.'),
      fields: Type.String({ description: 'Text of the schema.' }),
    }),
    {
      description: 'Schemas known without a registry, the same on every chain: no resolver, revocable.',
    },
  ),
})
export type SchemaList = Static<typeof SCHEMA_LIST>

/** Named schemas of records, for the components of the OpenAPI document. */
export const RECORDS_COMPONENTS: Readonly<Record<string, Schema>> = {
  LocationRecord: {
    ...LOCATION_RECORD,
    properties: {
      ...LOCATION_RECORD.properties,
      ...PROVENANCE_PROPERTIES,
      distance_meters: {
        type: 'number',
        description: 'Distance from `near` in metres, to the centimetre; only with `sort=distance`.',
        minimum: 0,
      },
    },
  },
  ListResponse: objectOf('Location records.', {
    data: Type.Array(Type.Unsafe(ref('LocationRecord')), { description: 'The records.', maxItems: 1000 }),
    count: count('Number of records.', { minimum: 0 }),
    limit: count(
      'The limit that was applied. For pages by offset, `offset` + `limit` is the offset of the next page.',
      { minimum: 1, maximum: 1000 },
    ),
    offset: count('The offset applied; 0 with a cursor.', { minimum: 0 }),
    next_cursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: '`cursor` of the next page; null at the end.',
    }),
    total: Type.Optional(count('Number of matching records, with `total=true`.', { minimum: 0 })),
    total_exact: Type.Optional(
      Type.Boolean({
        description:
          'True if `total` is the exact number. Otherwise there are at least `total`: counting stops there.',
      }),
    ),
  }),
  RecordFeature: objectOf('A location record as a GeoJSON Feature (RFC 7946).', {
    type: constant('Feature', 'A Feature.'),
    id: Type.String({ description: '`<chain>-<uid>`.', pattern: '^[a-z0-9-]+-0x[0-9a-f]{64}$' }),
    geometry: Type.Unsafe<object | null>({
      oneOf: [ref('Geometry'), { type: 'null' }],
      description: 'Geometry of `location`; null if the location is ambiguous.',
    }),
    properties: Type.Unsafe<object>(ref('LocationRecord')),
  }),
  RecordFeatureCollection: objectOf('Location records as GeoJSON (RFC 7946).', {
    type: constant('FeatureCollection', 'A FeatureCollection.'),
    features: Type.Array(Type.Unsafe(ref('RecordFeature')), { description: 'The records.' }),
  }),
  Statistics: STATISTICS,
  RecordGroups: groupsSchema(RECORD_DIMENSIONS, 'records'),
  Configuration: CONFIGURATION,
  SchemaList: SCHEMA_LIST,
  ChainFreshness: CHAIN_READINESS,
}

// --- Routes ---

const LINK = {
  link: text(
    '`self`, `next` (by cursor), `first` and, with `offset`, `prev` (RFC 8288). Left ' +
      'out if it would be longer than 6,000 characters, and for complete exports.',
  ),
}
const LIST_SUMMARY = 'Attested locations that match all filters'
const STATISTICS_SUMMARY = 'Counts of records, over all or by group'
const RECORD_SUMMARY = 'An attested location by its UID'
/** Documents a route without parameters whose response is JSON. */
const jsonOnly = (
  operationId: string,
  summary: string,
  description: string,
  schema: string,
  errors: object = RECORDS_ERRORS,
) => ({
  ...{ operationId, tags: ['Records'], summary, description, querystring: NO_QUERY },
  response: { 200: answer(ref(schema), summary, { headers: RATE_HEADERS }), ...errors },
})

export const recordsSchemas = {
  list: {
    operationId: 'listLocationRecords',
    tags: ['Records'],
    summary: LIST_SUMMARY,
    description:
      'The default order is newest first. The order is total, so pages neither repeat nor omit a ' +
      'record. JSON and HTML have pages, and GeoJSON, NDJSON and CSV if `limit` is 1000 or less. ' +
      'With a larger limit they stream that many records, without a limit all matching ones. ' +
      'GeoParquet and FlatGeobuf are always streamed. An unknown parameter, or one that is set ' +
      'twice, is an error. (The specification has `chain` to `bbox`, `limit` and `offset`; ' +
      'the other parameters are extensions to it.)',
    querystring: LIST_QUERY,
    response: {
      ...formats(
        LIST_SUMMARY,
        {
          'application/json': ref('ListResponse'),
          'application/geo+json': ref('RecordFeatureCollection'),
          'application/x-ndjson': { type: 'string', description: 'A `LocationRecord` a line.' },
          'text/csv': {
            type: 'string',
            description:
              'RFC 4180 in UTF-8 with a header row: the fields of `LocationRecord`, lists as JSON ' +
              'strings, null as an empty field. A value that a spreadsheet could read as a formula has an ' +
              'apostrophe before it (docs/reference/record-formats.md shows how to remove it).',
          },
          'application/vnd.apache.parquet': {
            type: 'string',
            description:
              'GeoParquet 1.1 (2.0 with `version=2`), bytes: the fields of `LocationRecord`, and `geometry` and `bbox`; ' +
              'ordered along a Hilbert curve, so `sort` decides only which records a `limit` selects. ' +
              'Edges are geodesics of WGS84.',
          },
          'application/vnd.flatgeobuf': {
            type: 'string',
            description:
              'FlatGeobuf 3, bytes, with a spatial index, in the same order; lists as JSON strings.',
          },
          'text/html': HTML,
        },
        { ...LINK, 'content-disposition': text('File name, for all formats except JSON and HTML.') },
      ),
      ...RECORDS_ERRORS,
      503: recordsError('The database is unreachable, or too many exports are running.', RETRY_AFTER),
    },
  },
  byUid: {
    operationId: 'getLocationRecord',
    tags: ['Records'],
    summary: RECORD_SUMMARY,
    description: 'Where several chains have the UID, the newest; `chain` picks.',
    params: RECORD_PATH,
    querystring: RECORD_QUERY,
    response: {
      ...formats(RECORD_SUMMARY, {
        'application/json': ref('LocationRecord'),
        'application/geo+json': ref('RecordFeature'),
        'text/html': HTML,
      }),
      ...RECORDS_ERRORS,
      404: recordsError('No record has this UID.'),
    },
  },
  stats: {
    operationId: 'getStatistics',
    tags: ['Records'],
    summary: STATISTICS_SUMMARY,
    description:
      'Without parameters: counts over all records, and how far each chain is indexed. With `by`: exact counts by group of the records that match the filters, which are those of the list. Groups of all records by day, week, month, chain, prover, schema, location_type or revoked, also with chain or revoked as the second dimension or filter, are maintained and take milliseconds, and so are counts by hour, alone or with chain. Others read the matching records; if that takes longer than 5 seconds, the response is 503 and names a remedy. (The parameters are an extension to the specification.)',
    querystring: STATISTICS_QUERY,
    response: {
      ...formats(STATISTICS_SUMMARY, {
        'application/json': { oneOf: [ref('Statistics'), ref('RecordGroups')] },
        'text/csv': {
          type: 'string',
          description: 'The groups: their dimensions, `records` and the sums as columns. With `by` only.',
        },
      }),
      ...RECORDS_ERRORS,
    },
  },
  schemas: jsonOnly(
    'listSchemas',
    'Location schemas found in the registries',
    'Every schema in the SchemaRegistry of a chain that has an srs, a location type and a ' +
      'location. Schemas in the configuration are also indexed, on every chain.',
    'SchemaList',
  ),
  config: jsonOnly(
    'getConfiguration',
    'Chains and schema of the Records API',
    'Chains that the `chain` filter accepts.',
    'Configuration',
    { 400: RECORDS_ERRORS[400], 429: RECORDS_ERRORS[429] },
  ),
} satisfies Record<string, FastifySchema>
