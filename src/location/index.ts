import { payloadBytes, schemaUid } from '../eas'
import { canonicalJson } from '../geodesy'
import {
  checkLocationFields,
  decodePayload,
  readLocation,
  type LocationSchema,
  type Payload,
} from './payload'
import { planeShape } from './plane'

export {
  ALL_SCHEMAS,
  LOCATION_PROTOCOL_SCHEMA,
  LOCATION_SCHEMA,
  LOCATION_SCHEMAS,
  addLocationSchemas,
  dropLocationSchemas,
  isLocationSchema,
  isLocationText,
  locationSchemaUids,
  mayBeRead,
  type Attributes,
  type LocationSchema,
  type SchemaPolicy,
} from './payload'
export { LATEST_SECOND, joinProblems, lacksGeometry } from './event-time'
export { cutLine, eastward, poleOf, unwrapped, WIDEST_DEGREES, type Line } from './plane'
export {
  FIELD_TYPES,
  RECORD_FIELD_LIST,
  RECORD_FIELDS,
  recordFields,
  type RecordField,
  type RecordFields,
} from './record'
export { promisedType } from './names'
export { readWkt, writeWkt } from './wkt'

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
  /**
   * geometry read from `location`; null if it cannot be read with certainty, for the reason in
   * `geometryProblem`
   */
  geometry: LocationGeometry | null
  geometryProblem: string | null
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/**
 * Location schema with this text, without a resolver and revocable. Throws a TypeError that states the rule.
 */
export function locationSchema(fields: string): LocationSchema {
  checkLocationFields(fields)
  return { uid: schemaUid(fields, ZERO_ADDRESS, true), fields }
}

/**
 * Decodes the payload of an attestation of a location schema, bytes or hex. Throws a PayloadError if the
 * payload does not match its schema. An unreadable `location` is not an error: the record has no geometry.
 */
export function decodeLocation(schemaUid: string, data: string | Uint8Array): Location {
  const bytes = typeof data === 'string' ? payloadBytes(data) : data
  const payload = decodePayload(schemaUid, bytes)
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
