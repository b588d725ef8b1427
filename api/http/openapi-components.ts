import { UID_PATTERN } from '../../src/eas'
import { RECORDS_ERRORS as ERROR_ROWS, type ErrorRow, type RecordsErrorKind } from '../../src/errors'

/** Named schemas of inputs and responses in the API's description (JSON Schema 2020-12). */

export type Schema = Record<string, unknown>

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const schemaOf =
  (type: string) =>
  (description: string, more: Schema = {}): Schema => ({ type, description, ...more })
export const text = schemaOf('string')
export const integer = schemaOf('integer')
export const list = (items: Schema, description: string, more: Schema = {}): Schema => ({
  type: 'array',
  items,
  description,
  ...more,
})
/** Schema of an object with these fields, all required except the named ones. */
export const object = (
  description: string,
  properties: Record<string, Schema>,
  optional: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})
export const UID = { pattern: UID_PATTERN }

// --- Geometries ---

/**
 * Marks an object whose further fields are ignored. (`additionalProperties: true` means the same, but becomes
 * an index signature in generated types. No interface has one, so a Polygon of @types/geojson would not fit.)
 */
const OPEN = { unevaluatedProperties: true }
const geometry = (type: string, coordinates: Schema, description: string): Schema => ({
  ...object(description, { type: { const: type }, coordinates }),
  title: type,
  ...OPEN,
})
const positions = (description: string, minItems = 1): Schema =>
  list(ref('Position'), description, { minItems })
const RINGS = list(ref('Ring'), 'The outer ring, then its holes.', { minItems: 1 })

/** Types of GeoJSON geometries (RFC 7946, 3.1). */
export const GEOMETRY_TYPES = [
  ...['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'],
  'GeometryCollection',
]
const GEOMETRIES: Record<string, Schema> = {
  Position: list(
    { type: 'number' },
    'Longitude (-180 to 180) and latitude (-90 to 90) in degrees (WGS84). Operations ignore an ' +
      'altitude, but it is part of the reference.',
    { minItems: 2, maxItems: 3 },
  ),
  Ring: positions(
    'A closed ring: its last position equals its first. It bounds its smaller side in either ' +
      'winding order, and must not cross itself.',
    4,
  ),
  Point: geometry('Point', ref('Position'), 'A single position.'),
  MultiPoint: geometry('MultiPoint', positions('Places.'), 'Several positions.'),
  LineString: geometry('LineString', positions("The line's positions.", 2), 'A line of geodesic edges.'),
  MultiLineString: geometry(
    'MultiLineString',
    list(positions("A line's positions.", 2), 'Lines.', { minItems: 1 }),
    'Several lines.',
  ),
  Polygon: geometry('Polygon', RINGS, 'A region.'),
  MultiPolygon: geometry(
    'MultiPolygon',
    list(RINGS, 'Polygons.', { minItems: 1 }),
    'Several polygons that do not overlap.',
  ),
  GeometryCollection: {
    ...object('Geometries of any type, measured as one.', {
      type: { const: 'GeometryCollection' },
      geometries: list(ref('Geometry'), 'Parts of the collection. Collections can be nested 8 deep.', {
        minItems: 1,
      }),
    }),
    title: 'GeometryCollection',
    ...OPEN,
  },
  Geometry: {
    description:
      'A GeoJSON geometry (RFC 7946) of at most 100,000 positions. Edges are shortest geodesics, ' +
      'not lines on a map.',
    oneOf: GEOMETRY_TYPES.map(ref),
  },
  Feature: {
    ...object(
      'A GeoJSON Feature, read as its geometry.',
      {
        type: { const: 'Feature' },
        geometry: ref('Geometry'),
        properties: { description: 'Ignored, like other members.' },
        id: { description: 'Ignored.' },
        bbox: { description: 'Ignored.' },
      },
      ['properties', 'id', 'bbox'],
    ),
    title: 'Feature',
    ...OPEN,
  },
  FeatureCollection: {
    ...object(
      'A GeoJSON FeatureCollection of exactly one Feature, read as its geometry.',
      {
        type: { const: 'FeatureCollection' },
        features: list(ref('Feature'), 'The only Feature.', { minItems: 1, maxItems: 1 }),
        bbox: { description: 'Ignored.' },
      },
      ['bbox'],
    ),
    title: 'FeatureCollection',
    ...OPEN,
  },
}

/** Named schemas that several rooms refer to. */
export const SHARED_COMPONENTS: Readonly<Record<string, Schema>> = {
  ...GEOMETRIES,
  RecordsError: object('An error of the Records API, or of an endpoint outside both APIs.', {
    status: { const: 'error', description: 'Always `error`.' },
    message: text('The kind of error.'),
    detail: text('Problem, and the expected value.'),
  }),
}

// --- Parts that routes of several rooms share ---

/** Headers of responses that count against a limit. */
export const RATE_HEADERS = Object.fromEntries(
  ['ratelimit', 'x-ratelimit'].flatMap((prefix) => [
    [`${prefix}-limit`, integer('Requests per hour. Absent if the deployment has no limit.')],
    [`${prefix}-remaining`, integer('Requests left in the current hour.')],
    [`${prefix}-reset`, integer('Seconds until the hour ends.')],
  ]),
)
export const RETRY_AFTER = { 'retry-after': integer('Seconds to wait before a retry.') }
/** A response of one type. */
export const answer = (
  schema: Schema,
  description: string,
  more: { headers?: Schema; type?: string } = {},
) => ({
  description,
  ...(more.headers && { headers: more.headers }),
  content: { [more.type ?? 'application/json']: { schema } },
})

export const HTML: Schema = { type: 'string', description: 'HTML page, for browsers.' }
/** Headers of an error that a retry may resolve. */
export const errorHeaders = ({ status, retryable }: ErrorRow): Schema | undefined =>
  retryable
    ? { ...(status === ERROR_ROWS['rate-limited'].status && RATE_HEADERS), ...RETRY_AFTER }
    : undefined
/** An error in the form of the Records API. */
export const recordsError = (description: string, headers?: Schema) => ({
  description,
  ...(headers && { headers }),
  content: { 'application/json': { schema: ref('RecordsError') }, 'text/html': { schema: HTML } },
})
/** Errors of the Records API, by status. */
export const recordsErrors = (texts: Partial<Record<RecordsErrorKind, string>>) =>
  Object.fromEntries(
    Object.entries(texts).map(([kind, description]) => {
      const row = ERROR_ROWS[kind as RecordsErrorKind]
      return [row.status, recordsError(description, errorHeaders(row))] as const
    }),
  )

/** Errors of routes that read indexed records. */
export const RECORDS_ERRORS = recordsErrors({
  'invalid-query': 'A parameter is invalid, unknown, or set twice.',
  'rate-limited': 'Too many requests.',
  'internal-error': 'The service has a fault.',
  unavailable: 'The database is unreachable, or, without Retry-After, the query is too expensive.',
})
const ETAG = {
  etag: text(
    'Identifies the state of the data. With If-None-Match, the response is 304 until a record changes.',
  ),
}
const NOT_MODIFIED = {
  type: 'null',
  description: 'Nothing has changed since the response with this ETag.',
  headers: { ...RATE_HEADERS, ...ETAG },
}
/** Responses that depend on the records alone, in several formats. */
export function formats(summary: string, schemas: Record<string, Schema>, headers: Schema = {}): object {
  const content = Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]))
  return {
    200: { description: summary, headers: { ...RATE_HEADERS, ...ETAG, ...headers }, content },
    304: NOT_MODIFIED,
  }
}
