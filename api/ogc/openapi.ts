import { version } from '../../package.json'
import { SHARED_COMPONENTS, object, ref, text, UID, type Schema } from '../http/openapi-components'
import { CRS84, QUERYABLES } from '../query'
import { LOCATION_RECORD, PROVENANCE_PROPERTIES } from '../records'
import { GEOJSON, HTML, JSON_TYPE, OPENAPI, SCHEMA, TITLE } from './documents'
import { COLLECTION, FEATURE_PATH, ITEMS_QUERY, MATRIX_SET } from './parameters'

/**
 * The definition of the OGC API as OpenAPI 3.0 (OGC 17-069r4, 9), which is what the standard and its clients
 * know; /openapi.json describes everything else in 3.1.
 */

interface Parameter {
  name: string
  in: 'query' | 'path'
  description: string
  required: boolean
  schema: Schema
  style?: 'form'
  explode?: false
  example?: unknown
}

export interface OgcOpenApi {
  openapi: '3.0.3'
  info: { title: string; description: string; version: string; license: object }
  servers: { url: string; description: string }[]
  tags: object[]
  paths: Record<
    string,
    {
      get: {
        operationId: string
        summary: string
        description: string
        tags: string[]
        parameters: { $ref: string }[]
        responses: Record<string, object>
      }
    }
  >
  components: {
    parameters: Record<string, Parameter>
    schemas: Record<string, Schema>
    responses: Record<string, object>
    headers: Record<string, object>
  }
}

/** A parameter as OpenAPI 3.0 has it. */
function parameterOf(name: string, place: 'query' | 'path', property: Schema): Parameter {
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
const PARAMETERS: Record<string, Parameter> = {
  ...Object.fromEntries(
    Object.entries(ITEMS_QUERY.properties).map(([name, schema]) => [
      name,
      parameterOf(name, 'query', schema),
    ]),
  ),
  featureId: parameterOf('featureId', 'path', FEATURE_PATH.properties.featureId),
}

const SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const array = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })

/** A schema of OpenAPI 3.1 in the words of 3.0. */
function asOpenApi30(schema: Schema): Schema {
  const {
    type,
    const: only,
    properties,
    items,
    ...others
  } = schema as Schema & { properties?: Record<string, Schema>; items?: Schema }
  return {
    ...others,
    ...(Array.isArray(type)
      ? { type: (type as string[]).find((each) => each !== 'null')!, nullable: type.includes('null') }
      : type !== undefined && { type }),
    ...(only !== undefined && { type: typeof only, enum: [only] }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, asOpenApi30(each)]),
      ),
    }),
    ...(items !== undefined && { items: asOpenApi30(items) }),
  }
}

const LINKS = array(ref('Link'))
const SCHEMAS: Record<string, Schema> = {
  Link: object(
    'A link (RFC 8288).',
    {
      href: text('Where it leads.', { format: 'uri' }),
      rel: text('Its relation to this document.'),
      type: text('Media type of what is there.'),
      title: text('What is there.'),
      templated: { type: 'boolean', description: 'Whether the address is a template (RFC 6570).' },
    },
    ['templated'],
  ),
  LandingPage: object('The landing page.', {
    title: text('Title.'),
    description: text('What is offered.'),
    links: LINKS,
  }),
  ConfClasses: object('What is conformed to.', { conformsTo: array(text('URI of a conformance class.')) }),
  Collections: object('The collections.', { links: LINKS, collections: array(ref('Collection')) }),
  Collection: object('A collection of features.', {
    id: text('Its ID.', { enum: [COLLECTION] }),
    title: text('Title.'),
    description: text('What it holds.'),
    itemType: text('What its items are.', { enum: ['feature'] }),
    crs: array(text('URI of a reference system.')),
    extent: ref('Extent'),
    links: LINKS,
  }),
  Extent: object(
    'Where and when its features are.',
    {
      spatial: object('In space.', {
        bbox: array(array({ type: 'number' }, { minItems: 4, maxItems: 4 }), { minItems: 1 }),
        crs: text('Its reference system.', { enum: [CRS84] }),
      }),
      temporal: object('In time: of `timestamp`. Left out while there are no records.', {
        interval: array(array(text('A time.', { format: 'date-time' }), { minItems: 2, maxItems: 2 }), {
          minItems: 1,
        }),
        trs: text('Its reference system.'),
      }),
    },
    ['temporal'],
  ),
  FeatureCollection: object(
    'Features, newest first unless `sortby` says otherwise (RFC 7946).',
    {
      type: text('Its type.', { enum: ['FeatureCollection'] }),
      timeStamp: text('When it was made.', { format: 'date-time' }),
      numberMatched: {
        type: 'integer',
        minimum: 0,
        description:
          'How many features there are on all pages. Left out where they are more than can be counted at once.',
      },
      numberReturned: { type: 'integer', minimum: 0, description: 'How many are on this page.' },
      links: LINKS,
      features: array(ref('Feature')),
    },
    ['numberMatched'],
  ),
  Feature: object(
    'A location record as a feature (RFC 7946).',
    {
      type: text('Its type.', { enum: ['Feature'] }),
      id: text('Its ID: `<chain>-<uid>`.'),
      geometry: ref('Geometry'),
      properties: ref('LocationRecord'),
      links: LINKS,
    },
    ['links'],
  ),
  Geometry: {
    ...object(
      'A geometry (RFC 7946) as it was attested; null where it cannot be read for certain. Its edges are meant as geodesics, and it is not cut at the antimeridian.',
      {
        type: text('Its type.', {
          enum: [
            'Point',
            'MultiPoint',
            'LineString',
            'MultiLineString',
            'Polygon',
            'MultiPolygon',
            'GeometryCollection',
          ],
        }),
        coordinates: array({}),
        geometries: array({ type: 'object' }),
      },
      ['coordinates', 'geometries'],
    ),
    nullable: true,
  },
  LocationRecord: asOpenApi30({
    ...LOCATION_RECORD,
    properties: { ...LOCATION_RECORD.properties, ...PROVENANCE_PROPERTIES },
  }),
  Exception: asOpenApi30(SHARED_COMPONENTS.RecordsError!),
}

const integerHeader = (description: string) => ({ description, schema: { type: 'integer' } })
const HEADERS = {
  ...Object.fromEntries(
    ['RateLimit', 'X-RateLimit'].flatMap((prefix) => [
      [
        `${prefix}-Limit`,
        integerHeader('Requests allowed in an hour. Absent where the deployment has no limit.'),
      ],
      [`${prefix}-Remaining`, integerHeader('Requests left in the running hour.')],
      [`${prefix}-Reset`, integerHeader('Seconds until the hour ends.')],
    ]),
  ),
  'Retry-After': integerHeader('Seconds after which another try makes sense.'),
  ETag: {
    description:
      'Names the state of what was answered: given back as If-None-Match, 304 while it is the same.',
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
    description: 'What If-None-Match named is still what would be answered.',
    headers: headers(...RATES, 'ETag'),
  },
  InvalidParameter: exception('A parameter is invalid, unknown, or given twice.'),
  NotFound: exception('There is no such feature.'),
  TooManyRequests: exception('Too many requests came from this address within an hour.', 'Retry-After'),
  ServerError: exception('A fault of the service.'),
  Unavailable: exception('The database is out of reach.', 'Retry-After'),
}
const response = (name: string) => ({ $ref: `#/components/responses/${name}` })

interface Operation {
  operationId: string
  summary: string
  type: string
  schema: Schema
  parameters?: readonly string[]
  /** Whether the database is asked. */
  live?: boolean
}

/** Every path below /ogc, and what its GET does. */
const OPERATIONS: Record<string, Operation> = {
  '/': {
    operationId: 'getLandingPage',
    summary: 'The landing page: where everything else is',
    type: JSON_TYPE,
    schema: ref('LandingPage'),
  },
  '/api': {
    operationId: 'getApiDefinition',
    summary: 'This document',
    type: OPENAPI,
    schema: { type: 'object' },
  },
  '/conformance': {
    operationId: 'getConformanceDeclaration',
    summary: 'What this API conforms to',
    type: JSON_TYPE,
    schema: ref('ConfClasses'),
  },
  '/collections': {
    operationId: 'getCollections',
    summary: 'The collections: there is one',
    type: JSON_TYPE,
    schema: ref('Collections'),
    live: true,
  },
  [`/collections/${COLLECTION}`]: {
    operationId: 'describeCollection',
    summary: 'The collection of location records',
    type: JSON_TYPE,
    schema: ref('Collection'),
    live: true,
  },
  [`/collections/${COLLECTION}/schema`]: {
    operationId: 'getSchema',
    summary: 'What a feature looks like, as JSON Schema',
    type: SCHEMA,
    schema: { type: 'object' },
  },
  [`/collections/${COLLECTION}/queryables`]: {
    operationId: 'getQueryables',
    summary: 'The properties that a filter may name, as JSON Schema',
    type: SCHEMA,
    schema: { type: 'object' },
  },
  [`/collections/${COLLECTION}/items`]: {
    operationId: 'getFeatures',
    summary: 'Location records that match all filters, newest first unless asked otherwise, in pages',
    type: GEOJSON,
    schema: ref('FeatureCollection'),
    parameters: Object.keys(ITEMS_QUERY.properties),
    live: true,
  },
  [`/collections/${COLLECTION}/items/{featureId}`]: {
    operationId: 'getFeature',
    summary: 'One location record',
    type: GEOJSON,
    schema: ref('Feature'),
    parameters: ['featureId', 'f'],
    live: true,
  },
  '/tileMatrixSets': {
    operationId: 'getTileMatrixSets',
    summary: 'The tile matrix sets: there is one',
    type: JSON_TYPE,
    schema: { type: 'object' },
  },
  [`/tileMatrixSets/${MATRIX_SET}`]: {
    operationId: 'getTileMatrixSet',
    summary: 'The tile matrix set of the vector tiles',
    type: JSON_TYPE,
    schema: { type: 'object' },
  },
  [`/collections/${COLLECTION}/tiles`]: {
    operationId: 'getTileSets',
    summary: 'The tilesets of the collection: there is one',
    type: JSON_TYPE,
    schema: { type: 'object' },
  },
  [`/collections/${COLLECTION}/tiles/${MATRIX_SET}`]: {
    operationId: 'getTileSet',
    summary: 'Where the vector tiles are, and what is in them',
    type: JSON_TYPE,
    schema: { type: 'object' },
  },
}

/** @param publicBaseUrl no slash at its end */
export function ogcOpenApi(publicBaseUrl: string, deploymentName: string): OgcOpenApi {
  return {
    openapi: '3.0.3',
    info: {
      title: `${TITLE}: OGC API - Features`,
      description:
        'Location attestations of several chains as features, for GIS software. Only GET (and HEAD). No authentication; requests are limited by client address.',
      version,
      license: { name: 'GPL-3.0-or-later' },
    },
    servers: [{ url: `${publicBaseUrl}/ogc`, description: deploymentName }],
    tags: [
      { name: 'Capabilities', description: 'What there is.' },
      { name: 'Data', description: 'The features.' },
    ],
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(
        ([path, { operationId, summary, type, schema, parameters = ['f'], live }]) => [
          path,
          {
            get: {
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
                ...(live && { 503: response('Unavailable') }),
              },
            },
          },
        ],
      ),
    ),
    components: { parameters: PARAMETERS, schemas: SCHEMAS, responses: RESPONSES, headers: HEADERS },
  }
}

/** The operations in short, for a page. */
export function operationsOf({
  paths,
  components,
}: OgcOpenApi): { path: string; summary: string; parameters: Parameter[] }[] {
  return Object.entries(paths).map(([path, { get }]) => ({
    path,
    summary: get.summary,
    parameters: get.parameters.map(({ $ref }) => components.parameters[$ref.split('/').at(-1)!]!),
  }))
}

/** A property of records without null: a property that is null counts as missing. */
function withoutNull({ type, ...schema }: Schema): Schema {
  return { type: Array.isArray(type) ? (type as string[])[0] : type, ...schema }
}

/** A feature of the collection as JSON Schema, which GDAL takes the types of fields from. */
export function featureSchema(id: string): Schema {
  return {
    $schema: SCHEMA_DIALECT,
    $id: id,
    title: TITLE,
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['Feature'] },
      id: { type: 'string', description: '`<chain>-<uid>`' },
      geometry: {
        type: 'object',
        description: 'GeoJSON of any type; null where it cannot be read for certain.',
      },
      properties: {
        type: 'object',
        properties: Object.fromEntries(
          Object.entries(LOCATION_RECORD.properties).map(([name, schema]) => [name, withoutNull(schema)]),
        ),
      },
    },
  }
}

/** Queryables that are no properties of a record. */
const OTHER_QUERYABLES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'ID of the feature: `<chain>-<uid>`.', 'x-ogc-role': 'id' },
  schema: text('UID of the location schema.', UID),
  // QGIS recognises the reference, and the standard's successors the format.
  geometry: {
    $ref: 'https://geojson.org/schema/Geometry.json',
    format: 'geometry-any',
    'x-ogc-role': 'primary-geometry',
    description: 'The geometry; its edges are geodesics. For S_INTERSECTS and IS NULL.',
  },
}

/** What a filter may name, as JSON Schema (OGC 19-079r2, 6). */
export function queryablesSchema(id: string): Schema {
  const titleOf = (name: string) => name[0]!.toUpperCase() + name.slice(1).replaceAll('_', ' ')
  const properties: Readonly<Record<string, Schema>> = LOCATION_RECORD.properties
  return {
    $schema: SCHEMA_DIALECT,
    $id: id,
    title: TITLE,
    type: 'object',
    properties: Object.fromEntries(
      [...QUERYABLES.keys()].map((name) => [
        name,
        { title: titleOf(name), ...(OTHER_QUERYABLES[name] ?? withoutNull(properties[name]!)) },
      ]),
    ),
    patternProperties: {
      '^attributes\\..+$': {
        title: 'Attribute',
        type: ['string', 'number', 'boolean'],
        description:
          'A further field of the payload; names within it follow after dots. A number also finds the integer that is written as text.',
      },
    },
    additionalProperties: false,
  }
}
