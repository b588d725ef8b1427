import { version } from '../../package.json'
import { ref, type Schema } from '../http/openapi-components'
import { GEOJSON, HTML, JSON_TYPE, OPENAPI, SCHEMA, TITLE } from './documents'
import { COLLECTION, FEATURE_PATH, FEATURE_QUERY, ITEMS_QUERY, MATRIX_SET } from './parameters'
import { SCHEMAS } from './schemas'

/**
 * Definition of the OGC API as OpenAPI 3.0 (OGC 17-069r4, 9), the version that the standard and its clients
 * know. /openapi.json describes everything else in 3.1.
 */

/** Converts a parameter to OpenAPI 3.0. */
function parameterOf(name: string, place: 'query' | 'path', property: Schema) {
  const { description, examples, ...schema } = property as Schema & {
    description: string
    examples?: unknown[]
  }
  return {
    name,
    in: place,
    description,
    required: place === 'path',
    schema,
    ...(place === 'query' && { style: 'form', explode: false }),
    ...(examples && { example: examples[0] }),
  }
}
const PARAMETERS: Record<string, ReturnType<typeof parameterOf>> = {
  ...Object.fromEntries(
    Object.entries(ITEMS_QUERY.properties).map(([name, schema]) => [
      name,
      parameterOf(name, 'query', schema),
    ]),
  ),
  featureId: parameterOf('featureId', 'path', FEATURE_PATH.properties.featureId),
}

const integerHeader = (description: string) => ({ description, schema: { type: 'integer' } })
const HEADERS = {
  ...Object.fromEntries(
    ['RateLimit', 'X-RateLimit'].flatMap((prefix) => [
      [`${prefix}-Limit`, integerHeader('Requests per hour. Absent if the deployment has no limit.')],
      [`${prefix}-Remaining`, integerHeader('Requests left in the current hour.')],
      [`${prefix}-Reset`, integerHeader('Seconds until the hour ends.')],
    ]),
  ),
  'Retry-After': integerHeader('Seconds to wait before a retry.'),
  ETag: {
    description:
      'Identifies the state of the response. With If-None-Match, the response is 304 until the state changes.',
    schema: { type: 'string' },
  },
  Link: { description: 'The links of the document (RFC 8288).', schema: { type: 'string' } },
}
const headers = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
const RATES = Object.keys(HEADERS).filter((name) => name.includes('RateLimit'))

const exception = (description: string, ...names: string[]) => ({
  description,
  headers: headers(...RATES, ...names),
  content: { [JSON_TYPE]: { schema: ref('Exception') }, [HTML]: { schema: { type: 'string' } } },
})
const RESPONSES: Record<string, object> = {
  NotModified: {
    description: 'The state in If-None-Match is still current.',
    headers: headers(...RATES, 'ETag'),
  },
  InvalidParameter: exception('A parameter is invalid, unknown, or set twice.'),
  NotFound: exception('No such feature.'),
  TooManyRequests: exception('Too many requests from this IP address within an hour.', 'Retry-After'),
  ServerError: exception('The service has a fault.'),
  Unavailable: exception('The database is unreachable.', 'Retry-After'),
}
const response = (name: string) => ({ $ref: `#/components/responses/${name}` })

type Operation = readonly [
  path: string,
  operationId: string,
  summary: string,
  type: string,
  schema?: Schema,
  parameters?: readonly string[],
]

const RECORDS = `/collections/${COLLECTION}`
/** Paths below /ogc, with the JSON response of GET. Parameters are listed if there are others than `f`. */
const OPERATIONS: readonly Operation[] = [
  ['/', 'getLandingPage', 'Landing page with links to everything else', JSON_TYPE, ref('LandingPage')],
  ['/api', 'getApiDefinition', 'This document', OPENAPI],
  [
    '/conformance',
    'getConformanceDeclaration',
    'Conformance classes of this API',
    JSON_TYPE,
    ref('ConfClasses'),
  ],
  ['/collections', 'getCollections', 'Collections (one)', JSON_TYPE, ref('Collections')],
  [RECORDS, 'describeCollection', 'The collection of location records', JSON_TYPE, ref('Collection')],
  [`${RECORDS}/schema`, 'getSchema', 'JSON Schema of the fields of a record', SCHEMA],
  [`${RECORDS}/schema/geojson`, 'getFeatureSchema', 'JSON Schema of a feature as GeoJSON', SCHEMA],
  [`${RECORDS}/sortables`, 'getSortables', 'JSON Schema of the properties that `sortby` may name', SCHEMA],
  [`${RECORDS}/queryables`, 'getQueryables', 'JSON Schema of the properties that a filter may use', SCHEMA],
  [
    `${RECORDS}/items`,
    'getFeatures',
    'Location records that match all filters, in pages, newest first by default',
    GEOJSON,
    ref('FeatureCollection'),
    Object.keys(ITEMS_QUERY.properties),
  ],
  [
    `${RECORDS}/items/{featureId}`,
    'getFeature',
    'One location record',
    GEOJSON,
    ref('Feature'),
    ['featureId', ...Object.keys(FEATURE_QUERY.properties)],
  ],
  ['/tileMatrixSets', 'getTileMatrixSets', 'Tile matrix sets (one)', JSON_TYPE],
  [`/tileMatrixSets/${MATRIX_SET}`, 'getTileMatrixSet', 'The tile matrix set of the vector tiles', JSON_TYPE],
  [`${RECORDS}/tiles`, 'getTileSets', 'Tilesets of the collection (one)', JSON_TYPE],
  [`${RECORDS}/tiles/${MATRIX_SET}`, 'getTileSet', 'The tileset of the vector tiles', JSON_TYPE],
]
/** Paths that query the database. */
const LIVE = /^\/collections(\/[\w-]+(\/items.*)?)?$/

function operationOf([
  path,
  operationId,
  summary,
  type,
  schema = { type: 'object' },
  parameters = ['f'],
]: Operation) {
  return {
    operationId,
    summary,
    description: `${summary}.`,
    tags: [path.includes('/items') ? 'Data' : 'Capabilities'],
    parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    responses: {
      200: {
        description: summary,
        headers: headers(...RATES, 'ETag', 'Link'),
        content: { [type]: { schema }, [HTML]: { schema: { type: 'string' } } },
      },
      304: response('NotModified'),
      400: response('InvalidParameter'),
      ...(path.includes('{') && { 404: response('NotFound') }),
      429: response('TooManyRequests'),
      500: response('ServerError'),
      ...(LIVE.test(path) && { 503: response('Unavailable') }),
    },
  }
}

/** @param publicBaseUrl without a trailing slash */
export function ogcOpenApi(publicBaseUrl: string, deploymentName: string) {
  return {
    openapi: '3.0.3',
    info: {
      title: `${TITLE}: OGC API - Features`,
      description:
        'Location attestations of several chains as features, for GIS software. Only GET and HEAD ' +
        'are supported. No authentication; requests are limited per IP address.',
      version,
      license: { name: 'GPL-3.0-or-later' },
    },
    servers: [{ url: `${publicBaseUrl}/ogc`, description: deploymentName }],
    tags: [
      { name: 'Capabilities', description: 'Content of the response.' },
      { name: 'Data', description: 'The features.' },
    ],
    paths: Object.fromEntries(OPERATIONS.map((each) => [each[0], { get: operationOf(each) }])),
    components: { parameters: PARAMETERS, schemas: SCHEMAS, responses: RESPONSES, headers: HEADERS },
  }
}
export type OgcOpenApi = ReturnType<typeof ogcOpenApi>
