import { Type, type Static } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { CHAINS, ACTIVE_SLUGS } from '../../src/chains'
import {
  HTML,
  RATE_HEADERS,
  RETRY_AFTER,
  UID,
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
} from '../query'
import { CHAIN_READINESS } from '../store'
import {
  parameter,
  queryOf,
  choiceReader,
  wholeReader,
  readText,
  readBoolean,
  textParameter,
} from '../http/parameters'
import { MAX_OFFSET, MAX_CURSOR_LENGTH } from '../http/paging'
import { PROVENANCE_PROPERTIES, LOCATION_RECORD } from '../formats'

/** OpenAPI 3.1 documentation of the Records API; api/query/parameters.ts has the shared parameters. */

// --- Parameters ---

export const LIST_FORMATS = ['json', 'geojson', 'ndjson', 'csv', 'geoparquet', 'flatgeobuf', 'html'] as const
export const SINGLE_FORMATS = ['json', 'geojson', 'html'] as const

const CHAIN = textParameter(`Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; an alias, or its ID.`, readChain, {
  examples: [ACTIVE_SLUGS[0]],
})
const GEOMETRY_COLUMNS = ['wkt'] as const
const FORMAT_TEXT = 'What to answer in; else `Accept` says, or it is JSON.'

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
  cursor: textParameter(
    '`next_cursor` of the page before, with the same filters and sort: goes on from its last record, whatever arrived meanwhile. Not with `offset`.',
    readText,
    { maxLength: MAX_CURSOR_LENGTH },
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

const RECORD_QUERY = queryOf({
  chain: CHAIN,
  include: INCLUDE,
  format: parameter({ enum: SINGLE_FORMATS, description: FORMAT_TEXT }, choiceReader(SINGLE_FORMATS)),
})
const NO_QUERY = queryOf({})

// --- Responses ---

const count = (description: string, more: Schema = {}) => Type.Integer({ description, ...more })

const STATISTICS = Type.Object(
  {
    total: count('All of them.'),
    by_chain: Type.Unsafe<Record<string, number>>({
      type: 'object',
      description: 'By chain; those that are coming soon where they have records.',
      required: CHAINS.filter(({ active }) => active).map(({ slug }) => slug),
      properties: Object.fromEntries(CHAINS.map(({ slug }) => [slug, count(`On ${slug}.`)])),
    }),
    by_time: Type.Object(
      {
        last_24_hours: count('Of the last 24 hours.'),
        last_7_days: count('Of the last 7 days.'),
        last_30_days: count('Of the last 30 days.'),
      },
      { description: 'By the time of their block.' },
    ),
    revoked: count('Revoked ones.'),
    chains: Type.Unsafe<Record<string, Static<typeof CHAIN_READINESS>>>({
      type: 'object',
      description: 'How far the copy of each chain goes, by slug.',
      additionalProperties: ref('ChainFreshness'),
    }),
  },
  { description: 'Counts over all records.' },
)
export type Statistics = Static<typeof STATISTICS>

const CONFIGURATION = Type.Object(
  {
    chains: Type.Unsafe<Record<string, boolean>>({
      type: 'object',
      description: 'Every known chain; false while it is coming soon.',
      required: CHAINS.map(({ slug }) => slug),
      properties: Object.fromEntries(
        CHAINS.map(({ slug }) => [
          slug,
          { type: 'boolean', description: `Whether \`chain=${slug}\` is accepted.` },
        ]),
      ),
    }),
    schema: Type.String({ description: 'UID of the location schema.', ...UID }),
    schema_fields: Type.String({ description: 'Its fields.' }),
    version: Type.Unsafe<'v0'>({ const: 'v0', description: 'Version of the API.' }),
  },
  { description: 'What the Records API covers.' },
)
export type Configuration = Static<typeof CONFIGURATION>

const SCHEMA_LIST = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        uid: Type.String({ description: 'UID of the schema.', ...UID }),
        chain: Type.String({ description: 'Slug of the chain that has it.' }),
        fields: Type.String({ description: 'Its text as registered.', examples: ['string srs,...'] }),
        resolver: Type.String({ description: 'Its resolver; the zero address where it has none.' }),
        revocable: Type.Boolean({ description: 'Whether its attestations may be revoked.' }),
        block: Type.Integer({ description: 'The block that registered it.' }),
        indexed: Type.Boolean({
          description: 'Whether its attestations become records: settings or the limit may leave it out.',
        }),
      }),
      { description: 'By chain, in the order of their registration.' },
    ),
    built_in: Type.Array(
      Type.Object({
        uid: Type.String({ description: 'UID of the schema.', ...UID }),
        fields: Type.String({ description: 'Its text.' }),
      }),
      {
        description:
          'Those that are known without a registry, the same on every chain: no resolver, revocable.',
      },
    ),
  },
  { description: 'Location schemas that people have registered.' },
)
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
        description: 'Distance from `near`, to the centimetre; with `sort=distance` only.',
        minimum: 0,
      },
    },
  },
  ListResponse: Type.Object(
    {
      data: Type.Array(Type.Unsafe(ref('LocationRecord')), { description: 'The records.', maxItems: 1000 }),
      count: count('How many they are.', { minimum: 0 }),
      limit: count('The limit applied.', { minimum: 1, maximum: 1000 }),
      offset: count('The offset applied; 0 with a cursor.', { minimum: 0 }),
      next_cursor: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: '`cursor` of the next page; null at the end.',
      }),
      total: Type.Optional(count('How many match, with `total=true`.', { minimum: 0 })),
      total_exact: Type.Optional(
        Type.Boolean({
          description:
            'Whether `total` is all of them; else there are at least so many, and no more were counted.',
        }),
      ),
    },
    { description: 'Location records.' },
  ),
  RecordFeature: Type.Object(
    {
      type: Type.Unsafe<'Feature'>({ const: 'Feature', description: 'A Feature.' }),
      id: Type.String({ description: '`<chain>-<uid>`.', pattern: '^[a-z-]+-0x[0-9a-f]{64}$' }),
      geometry: Type.Unsafe<object | null>({
        oneOf: [ref('Geometry'), { type: 'null' }],
        description: 'Our reading of `location`; null where it cannot be read for certain.',
      }),
      properties: Type.Unsafe<object>(ref('LocationRecord')),
    },
    { description: 'A location record as a GeoJSON Feature (RFC 7946).' },
  ),
  RecordFeatureCollection: Type.Object(
    {
      type: Type.Unsafe<'FeatureCollection'>({
        const: 'FeatureCollection',
        description: 'A FeatureCollection.',
      }),
      features: Type.Array(Type.Unsafe(ref('RecordFeature')), { description: 'The records.' }),
    },
    { description: 'Location records as GeoJSON (RFC 7946).' },
  ),
  Statistics: STATISTICS,
  Configuration: CONFIGURATION,
  SchemaList: SCHEMA_LIST,
  ChainFreshness: CHAIN_READINESS,
}

// --- Routes ---

const LINK = {
  link: text(
    '`self`, `next` (by cursor), `first` and, where pages are counted by `offset`, `prev`: RFC 8288. Left out where it would be longer than 6,000 characters, and of an answer that is read to its end.',
  ),
}
const LIST_SUMMARY = 'Attested locations that match all filters'
const RECORD_SUMMARY = 'One attested location by its UID'
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
      'Newest first, unless sorted otherwise. The order is total, so pages neither repeat nor lose a record. JSON and HTML come in pages, and so do GeoJSON, NDJSON and CSV where `limit` is 1000 or less; with a larger one they hold so many, without all that match, streamed. GeoParquet and FlatGeobuf are always streamed. A parameter that is unknown or given twice is an error. (The specification has `chain` to `bbox`, `limit` and `offset`; the other parameters are extensions to it.)',
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
              'RFC 4180 in UTF-8 with a header row: the fields of `LocationRecord`, lists as JSON text, null as nothing. What a spreadsheet could take for a formula has an apostrophe before it (docs/reference/record-formats.md says how to take it away).',
          },
          'application/vnd.apache.parquet': {
            type: 'string',
            description:
              'GeoParquet 1.1, bytes: the fields of `LocationRecord`, and `geometry` and `bbox`; along a Hilbert curve, so that `sort` decides only which records a `limit` leaves. Edges are geodesics of WGS84.',
          },
          'application/vnd.flatgeobuf': {
            type: 'string',
            description:
              'FlatGeobuf 3, bytes, with an index of places, in the same order; lists as JSON text.',
          },
          'text/html': HTML,
        },
        { ...LINK, 'content-disposition': text('A file name, of all formats but JSON and HTML.') },
      ),
      ...RECORDS_ERRORS,
      503: recordsError('The database is out of reach, or too many exports are under way.', RETRY_AFTER),
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
  stats: jsonOnly(
    'getStatistics',
    'Counts over all records',
    'As of now, over all chains: kept as records change, so they cost nothing. And how far the copy of each chain goes.',
    'Statistics',
  ),
  schemas: jsonOnly(
    'listSchemas',
    'Location schemas found in the registries',
    "Found in each chain's SchemaRegistry: every schema with an srs, a location type and a location. Those of the configuration are indexed on every chain, beside these.",
    'SchemaList',
  ),
  config: jsonOnly(
    'getConfiguration',
    'Chains and schema of the Records API',
    'Which chains are accepted by the `chain` filter.',
    'Configuration',
    {
      400: RECORDS_ERRORS[400],
      429: RECORDS_ERRORS[429],
    },
  ),
} satisfies Record<string, FastifySchema>
