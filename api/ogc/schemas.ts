import {
  GEOMETRY_TYPES,
  SHARED_COMPONENTS,
  object,
  ref,
  text,
  UID,
  type Schema,
} from '../http/openapi-components'
import { CRS84, QUERYABLES } from '../query'
import { SORT_FIELDS } from '../store'
import { LOCATION_RECORD, PROVENANCE_PROPERTIES } from '../formats'
import { TITLE } from './documents'
import { COLLECTION } from './parameters'

/** Schemas of the documents and features of the OGC API. */

const SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const array = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })

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
const JSON_FG: Record<string, Schema> = {
  conformsTo: array(text('With `profile=jsonfg`: URI of a requirements class of JSON-FG.')),
  featureType: text('With `profile=jsonfg`: type of the features.', { enum: [COLLECTION] }),
  featureSchema: text('With `profile=jsonfg`: their schema.', { format: 'uri' }),
}
/** Components of the API's definition. */
export const SCHEMAS: Record<string, Schema> = {
  Link: object(
    'A link (RFC 8288).',
    {
      href: text('Address of the resource.', { format: 'uri' }),
      rel: text('Its relation to this document.'),
      type: text('Media type of the resource.'),
      title: text('Title of the resource.'),
      templated: { type: 'boolean', description: 'True if href is a template (RFC 6570).' },
    },
    ['templated'],
  ),
  LandingPage: object('The landing page.', {
    title: text('Title.'),
    description: text('Description of the API.'),
    links: LINKS,
  }),
  ConfClasses: object('Conformance classes.', { conformsTo: array(text('URI of a conformance class.')) }),
  Collections: object('The collections.', { links: LINKS, collections: array(ref('Collection')) }),
  Collection: object('A collection of features.', {
    id: text('Its ID.', { enum: [COLLECTION] }),
    title: text('Title.'),
    description: text('Description of the collection.'),
    itemType: text('Type of its items.', { enum: ['feature'] }),
    crs: array(text('URI of a reference system.')),
    extent: ref('Extent'),
    links: LINKS,
  }),
  Extent: object(
    'Extent of its features in space and time.',
    {
      spatial: object('Spatial extent.', {
        bbox: array(array({ type: 'number' }, { minItems: 4, maxItems: 4 }), { minItems: 1 }),
        crs: text('Its reference system.', { enum: [CRS84] }),
      }),
      temporal: object('Extent in time, by `timestamp`. Left out if there are no records.', {
        interval: array(array(text('A time.', { format: 'date-time' }), { minItems: 2, maxItems: 2 }), {
          minItems: 1,
        }),
        trs: text('Its reference system.'),
      }),
    },
    ['temporal'],
  ),
  FeatureCollection: object(
    'Features, newest first unless `sortby` sets another order (RFC 7946).',
    {
      type: text('Its type.', { enum: ['FeatureCollection'] }),
      timeStamp: text('Time of the response.', { format: 'date-time' }),
      numberMatched: {
        type: 'integer',
        minimum: 0,
        description: 'Number of matching features on all pages. Left out if they are too many to count.',
      },
      numberReturned: { type: 'integer', minimum: 0, description: 'Number of features on this page.' },
      links: LINKS,
      ...JSON_FG,
      features: array(ref('Feature')),
    },
    ['numberMatched', ...Object.keys(JSON_FG)],
  ),
  Feature: object(
    'A location record as a feature (RFC 7946).',
    {
      type: text('Its type.', { enum: ['Feature'] }),
      id: text('Its ID: `<chain>-<uid>`.'),
      geometry: ref('Geometry'),
      properties: ref('LocationRecord'),
      time: object('With `profile=jsonfg`: its primary time.', {
        timestamp: text('Value of `timestamp`.', { format: 'date-time' }),
      }),
      place: {
        type: 'object',
        nullable: true,
        description: 'With `profile=jsonfg`: null, because `geometry` has all of it.',
        enum: [null],
      },
      ...JSON_FG,
      links: LINKS,
    },
    ['links', 'time', 'place', ...Object.keys(JSON_FG)],
  ),
  Geometry: {
    ...object(
      'Attested geometry (RFC 7946); null if the location is ambiguous. Its edges are geodesics, ' +
        'and it is not cut at the antimeridian.',
      {
        type: text('Its type.', { enum: GEOMETRY_TYPES }),
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

/** A property that is null counts as missing. */
function withoutNull({ type, ...schema }: Schema): Schema {
  return { type: Array.isArray(type) ? (type as string[])[0] : type, ...schema }
}

/** Schema of a feature as GeoJSON, from which GDAL reads the types of fields. */
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
        description: 'GeoJSON of any type; null if the location is ambiguous.',
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

/** Queryables that are not properties of a record. */
const OTHER_QUERYABLES: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'ID of the feature: `<chain>-<uid>`.', 'x-ogc-role': 'id' },
  schema: text('UID of the location schema.', UID),
  // QGIS recognizes the `$ref`, and successors of the standard the format.
  geometry: {
    $ref: 'https://geojson.org/schema/Geometry.json',
    format: 'geometry-any',
    'x-ogc-role': 'primary-geometry',
    description: 'Geometry with geodesic edges, for S_INTERSECTS and IS NULL.',
  },
}

const titleOf = (name: string) => name[0]!.toUpperCase() + name.slice(1).replaceAll('_', ' ')

/** JSON Schema of some properties of a feature, each with a title. */
function propertiesSchema(
  id: string,
  names: Iterable<string>,
  others: Readonly<Record<string, Schema>>,
): Schema {
  const properties: Readonly<Record<string, Schema>> = LOCATION_RECORD.properties
  return {
    $schema: SCHEMA_DIALECT,
    $id: id,
    title: TITLE,
    type: 'object',
    properties: Object.fromEntries(
      [...names].map((name) => [
        name,
        { title: titleOf(name), ...(others[name] ?? withoutNull(properties[name]!)) },
      ]),
    ),
  }
}

/** JSON Schema of the properties of a record in any format (OGC 23-058r2, 7, 8 and 10). */
export function recordSchema(id: string): Schema {
  const { $ref: _, ...geometry } = OTHER_QUERYABLES.geometry!
  return propertiesSchema(id, ['id', 'geometry', ...Object.keys(LOCATION_RECORD.properties)], {
    ...OTHER_QUERYABLES,
    geometry: {
      ...geometry,
      description: 'Geometry with geodesic edges. Left out if the location is ambiguous.',
    },
    timestamp: { ...withoutNull(LOCATION_RECORD.properties.timestamp!), 'x-ogc-role': 'primary-instant' },
  })
}

/** JSON Schema of the properties that `sortby` may name (OGC 23-058r2, 12). */
export function sortablesSchema(id: string): Schema {
  return { ...propertiesSchema(id, SORT_FIELDS, {}), additionalProperties: false }
}

/** JSON Schema of the properties that a filter may name (OGC 19-079r2, 6). */
export function queryablesSchema(id: string): Schema {
  return {
    ...propertiesSchema(id, QUERYABLES.keys(), OTHER_QUERYABLES),
    patternProperties: {
      '^attributes\\..+$': {
        title: 'Attribute',
        type: ['string', 'number', 'boolean'],
        description:
          'A further field of the payload; dots separate nested names. A number also matches an ' +
          'integer written as a string.',
      },
    },
    additionalProperties: false,
  }
}
