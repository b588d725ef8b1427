import { payloadBytes } from '../eas'
import { canonicalJson } from '../geodesy'
import { joinProblems } from './event-time'
import { LOCATION_TYPES, SRS_SPELLINGS } from './names'
import { decodePayload, knownSchema, readLocation, type Payload } from './payload'
import { planeShape } from './plane'

/** Geometry as the projection stores it. */
export interface LocationGeometry {
  /** canonical GeoJSON text */
  json: string
  /** [longitude, latitude] of a Point */
  point: readonly [number, number] | null
  /** shape that bbox queries search (plane.ts): EWKB in hex */
  plane: string
}

/** Content of a location schema's payload, in the form of a record. */
export interface Location extends Omit<Payload, 'recipePayloads'> {
  /** base64 of the payload bytes */
  recipePayloads: string[]
  /** geometry read from `location`; null if it is not certain, for the reason in `geometryProblem` */
  geometry: LocationGeometry | null
  geometryProblem: string | null
}

/** Decodes a payload. Throws a PayloadError if it does not match its schema, but not for its `location`. */
export function decodeLocation(schemaUid: string, data: string | Uint8Array): Location {
  const bytes = typeof data === 'string' ? payloadBytes(data) : data
  const payload = decodePayload(knownSchema(schemaUid), bytes)
  return Object.assign(payload, {
    recipePayloads: payload.recipePayloads.map((bytes) => Buffer.from(bytes).toString('base64')),
    ...geometryOf(payload),
  })
}

function geometryOf(
  payload: Parameters<typeof readLocation>[0],
): Pick<Location, 'geometry' | 'geometryProblem'> {
  const reading = readLocation(payload)
  // Postgres cannot store NUL in a text, nor half a surrogate pair in JSON, which slicing the text can leave.
  if (typeof reading === 'string')
    return { geometry: null, geometryProblem: reading.slice(0, 300).replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd') }
  const point = reading.layout.type === 'Point' ? ([reading.lon[0]!, reading.lat[0]!] as const) : null
  return {
    geometry: { json: canonicalJson(reading), point, plane: planeShape(reading) },
    geometryProblem: null,
  }
}

/**
 * Fields of a location record with the names of their columns. The projection, SQL, JSON, CSV, GeoJSON,
 * OpenAPI and the OGC schema have them in this order. CONTRIBUTING.md lists the steps for a new field.
 */

/** Source of a record: an attestation, its block, and its decoded payload. Hex is lower-case. */
interface RecordSource {
  chain: string
  uid: string
  attester: string
  recipient: string
  /** time of the attestation's block */
  blockTime: Date
  location: Location
  /** time of writing */
  now: Date
}

const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')

/** Types as in JSON Schema. In SQL: text, text, timestamptz, numeric, boolean, text[], jsonb. */
export const FIELD_TYPES = {
  text: { type: 'string' },
  /** stored in lower case, returned with its checksum (EIP-55) */
  address: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
  /** returned as ISO 8601 in UTC, with milliseconds */
  time: { type: 'string', format: 'date-time' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  texts: { type: 'array' },
  json: { type: 'object', additionalProperties: true },
} as const

export interface RecordField {
  type: keyof typeof FIELD_TYPES
  /** true if the field may be null */
  nullable?: true
  /** true if JSON omits the field when it is null */
  optional?: true
  /** for OpenAPI */
  description: string
  /** description of an item of a list, for OpenAPI */
  items?: string
  /** further JSON Schema keywords */
  schema?: Readonly<Record<string, unknown>>
  /** its value in a new record */
  from: (source: RecordSource) => unknown
}

export const RECORD_FIELDS = {
  uid: {
    type: 'text',
    description: 'UID of the attestation.',
    schema: { pattern: '^0x[0-9a-f]{64}$' },
    from: ({ uid }) => uid,
  },
  chain: { type: 'text', description: 'Slug of its chain.', from: ({ chain }) => chain },
  prover: {
    type: 'address',
    description: 'Address that created the attestation.',
    from: ({ attester }) => attester,
  },
  subject: {
    type: 'address',
    description: 'Its recipient, often the prover.',
    from: ({ recipient }) => recipient,
  },
  timestamp: { type: 'time', description: 'Time of its block.', from: ({ blockTime }) => blockTime },
  event_timestamp: {
    type: 'time',
    description:
      "Time when the located event occurred; the attestation's time if the schema has no such " +
      'field, or if the value is not a time up to the year 9999.',
    from: ({ location: { eventTimestamp }, blockTime }) =>
      eventTimestamp === undefined ? blockTime : new Date(eventTimestamp * 1000),
  },
  srs: {
    type: 'text',
    description: `Spatial reference system, typically \`EPSG:4326\`. Read as WGS84: ${listed([...SRS_SPELLINGS.longitudeFirst, ...SRS_SPELLINGS.latitudeFirst])}; an empty one for GeoJSON.`,
    from: ({ location }) => location.srs,
  },
  location_type: {
    type: 'text',
    description: `Format of \`location\`, such as \`geojson-point\`. Known: ${listed(Object.values(LOCATION_TYPES).flatMap(({ spellings }) => spellings))}, in any letter case and with any separators.`,
    from: ({ location }) => location.locationType,
  },
  location: {
    type: 'text',
    description: 'Attested location, unchanged.',
    from: ({ location }) => location.location,
  },
  longitude: {
    type: 'number',
    nullable: true,
    description: 'Longitude of a point in degrees; null for other types and for an ambiguous location.',
    schema: { minimum: -180, maximum: 180 },
    from: ({ location }) => location.geometry?.point?.[0] ?? null,
  },
  latitude: {
    type: 'number',
    nullable: true,
    description: 'Latitude of a point in degrees, null as for longitude.',
    schema: { minimum: -90, maximum: 90 },
    from: ({ location }) => location.geometry?.point?.[1] ?? null,
  },
  recipe_types: {
    type: 'texts',
    description: 'Types of its proofs.',
    items: 'A type.',
    from: ({ location }) => location.recipeTypes,
  },
  recipe_payloads: {
    type: 'texts',
    description: 'Payloads of its proofs, parallel to the types.',
    items: 'Base64.',
    from: ({ location }) => location.recipePayloads,
  },
  media_types: {
    type: 'texts',
    description: 'Types of its media.',
    items: 'A media type.',
    from: ({ location }) => location.mediaTypes,
  },
  media_data: {
    type: 'texts',
    description: 'Media, parallel to the types.',
    items: 'The data.',
    from: ({ location }) => location.mediaData,
  },
  memo: {
    type: 'text',
    description: 'Description; may be empty.',
    from: ({ location }) => location.memo,
  },
  revoked: { type: 'boolean', description: 'True if it was revoked.', from: (): boolean => false },
  created_at: { type: 'time', description: 'Time when the record was indexed.', from: ({ now }) => now },
  updated_at: { type: 'time', description: 'Time of the last change of the record.', from: ({ now }) => now },
  problem: {
    type: 'text',
    nullable: true,
    description:
      'Reason why `location` is ambiguous, so that there is no geometry, and why an attested ' +
      'event time is not used; otherwise null. (An extension to the specification.)',
    from: ({ location }) => joinProblems(location.geometryProblem, location.timeProblem),
  },
  attributes: {
    type: 'json',
    nullable: true,
    optional: true,
    description:
      'Further fields of the payload, by name; absent if the schema has none. Integers of more ' +
      'than 48 bits are strings, bytes are hex. (An extension to the specification.)',
    from: ({ location }) => location.attributes,
  },
} as const satisfies Record<string, RecordField>

type Fields = typeof RECORD_FIELDS
/** Fields of a record's row. */
export type RecordFields = { -readonly [Name in keyof Fields]: ReturnType<Fields[Name]['from']> }

/** The table as a list of names and fields. */
export const RECORD_FIELD_LIST = Object.entries(RECORD_FIELDS) as [keyof Fields, RecordField][]

/** Fields of a new record. Object.fromEntries would take ten times as long. */
export function recordFields(source: RecordSource): RecordFields {
  const fields: Record<string, unknown> = {}
  for (const [name, { from }] of RECORD_FIELD_LIST) fields[name] = from(source)
  return fields as RecordFields
}
