import { PayloadError, decodeBytes, fieldNames, fieldTypes, type FieldValue } from '../eas/portable'
import { GeometryError, readGeometry, type Reading } from '../geodesy'
import { locationReader } from './types'

/**
 * What the payload of a location schema says, and the geometry in it. It runs wherever JavaScript does:
 * packages/client is built from it.
 */

/**
 * A schema whose attestations are locations: its UID, lower-case, and its text exactly as registered (without
 * a resolver, revocable).
 */
export interface LocationSchema {
  readonly uid: string
  readonly fields: string
}

/** The location schema of version 0.1, as /config shows it. */
export const LOCATION_SCHEMA: LocationSchema = {
  uid: '0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2',
  fields:
    'uint256 eventTimestamp,string srs,string locationType,string location,string[] recipeType,bytes[] recipePayload,string[] mediaType,string[] mediaData,string memo',
}
/** The Location Protocol's schema of four strings. */
export const LOCATION_PROTOCOL_SCHEMA: LocationSchema = {
  uid: '0x3902cc7b8e415eb1ed9ac496431c31c88023cdbde0821cbb81195a8bcf74fffd',
  fields: 'string lp_version,string srs,string location_type,string location',
}

/**
 * Every location schema that is indexed and accepted, the same on every chain. A new schema is one row, or an
 * entry of the setting LOCATION_SCHEMAS.
 */
export const LOCATION_SCHEMAS: LocationSchema[] = [
  LOCATION_SCHEMA,
  LOCATION_PROTOCOL_SCHEMA,
  {
    uid: '0xe7341faf6cbe6ecdd9ede7581eee7f9a97c9fd9d6b6e059e11f6651b0df781b8',
    fields: 'string lp_version, string srs, string location_type, string location',
  },
  {
    uid: '0x7e642593617c8b6eeec1d0a5d1e25dce9c8e2fd05d8d4b461eeeea461194f55f',
    fields: 'string srs, string location_type, string location, uint8 lp_version',
  },
  {
    uid: '0x787e10fd6d121e506524ccdf6fce785e84222a451a4aadccfd325db69e342cf0',
    fields: 'string srs,string location_type,string location,uint8 lp_version',
  },
]

/** The content of a payload of a location schema. */
export interface Payload {
  /** Unix seconds; undefined where the schema has no such field (the attestation's own time is used then). */
  eventTimestamp: number | undefined
  srs: string
  locationType: string
  /** As attested. */
  location: string
  recipeTypes: string[]
  recipePayloads: Uint8Array[]
  mediaTypes: string[]
  mediaData: string[]
  memo: string
}

/** Larger payloads are not decoded. A payload of 100 kB already costs 70 million gas. */
const MAX_PAYLOAD_BYTES = 1_000_000
/**
 * The end of the year 9999. The store restores rows of rolled-back blocks from JSON, where JavaScript writes
 * a later year as "+058859-...". Postgres refuses that (22009), so the revocation of such a record could
 * never be rolled back.
 */
const MAX_EVENT_SECONDS = 253_402_300_799n

/**
 * Names of WGS84 with the axes longitude, latitude: by definition or, for EPSG:4326 and WGS84, by the
 * practice of all tools.
 */
const LONGITUDE_FIRST_SRS =
  /^(EPSG:4326|WGS ?84|(OGC:)?CRS84|urn:ogc:def:crs:OGC:(1\.3)?:CRS84|https?:\/\/www\.opengis\.net\/def\/crs\/OGC\/(1\.3|0)\/CRS84\/?)$/i
/**
 * Names with the axes latitude, longitude by definition. This matters for formats that leave the order to the
 * reference system.
 */
const LATITUDE_FIRST_SRS =
  /^(urn:ogc:def:crs:EPSG::4326|https?:\/\/www\.opengis\.net\/def\/crs\/EPSG\/0\/4326\/?)$/i

/**
 * The fields that are read from a payload, by their names in v0.1. Other fields are skipped, if their type
 * can be decoded.
 */
const FIELD_TYPES: Readonly<Record<string, string>> = {
  ...{ eventTimestamp: 'uint256', srs: 'string', locationType: 'string', location: 'string', memo: 'string' },
  ...{ recipeType: 'string[]', recipePayload: 'bytes[]', mediaType: 'string[]', mediaData: 'string[]' },
}
const DECODABLE = /^(uint\d*|string|bytes|string\[\]|bytes\[\])$/

/** Throws a TypeError that says what would be right, unless this is the text of a location schema. */
export function checkLocationFields(fields: string): void {
  const types = fieldTypes(fields)
  const names = fieldNames(fields).map(camelCase)
  for (const name of ['srs', 'locationType', 'location'])
    if (!names.includes(name))
      throw new TypeError(
        `'${fields}' is no location schema: it needs string srs, string location_type and string location`,
      )
  for (const [i, name] of names.entries()) {
    const wanted = Object.hasOwn(FIELD_TYPES, name) ? FIELD_TYPES[name] : undefined
    if (wanted ? types[i] !== wanted : !DECODABLE.test(types[i]!))
      throw new TypeError(
        `'${fields}': the field ${name} must be ${wanted ?? 'uint, string, bytes, string[] or bytes[]'}, not ${types[i]}`,
      )
    if (names.indexOf(name) !== i) throw new TypeError(`'${fields}' has two fields ${name}`)
  }
}

/** Adds schemas to those that this process indexes and accepts. Called once, at its start. */
export function addLocationSchemas(schemas: readonly LocationSchema[]): void {
  for (const schema of schemas) if (!isLocationSchema(schema.uid)) LOCATION_SCHEMAS.push(schema)
}

/** The UIDs of all location schemas, lower-case. */
export function locationSchemaUids(): string[] {
  return LOCATION_SCHEMAS.map(({ uid }) => uid)
}

/** Whether attestations of this schema are locations. */
export function isLocationSchema(schemaUid: string): boolean {
  return LOCATION_SCHEMAS.some((schema) => schema.uid === schemaUid)
}

/**
 * Reads the payload of an attestation of a location schema (docs/spec/facts.md 2). Throws a PayloadError when
 * the payload does not match its schema.
 */
export function decodePayload(schemaUid: string, data: Uint8Array): Payload {
  const schema = LOCATION_SCHEMAS.find((s) => s.uid === schemaUid)
  if (!schema) throw new TypeError(`${schemaUid} is not a location schema`)
  return decodeFields(schema, data)
}

/** The same by a schema that need not be one of LOCATION_SCHEMAS. */
export function decodeFields(schema: LocationSchema, data: Uint8Array): Payload {
  if (data.length > MAX_PAYLOAD_BYTES)
    throw new PayloadError(`payload larger than ${MAX_PAYLOAD_BYTES} bytes`)
  const values = decodeBytes(fieldTypes(schema.fields), data)
  // Location Protocol payloads say location_type where v0.1 says locationType.
  const names = fieldNames(schema.fields).map(camelCase)
  const fields = new Map(names.map((name, i) => [name, values[i]!]))
  const text = (name: string) => storable(fields.get(name) as string | undefined) ?? ''
  const texts = (name: string) => ((fields.get(name) as string[] | undefined) ?? []).map((t) => storable(t))
  return {
    eventTimestamp: eventSeconds(fields.get('eventTimestamp')),
    srs: text('srs'),
    locationType: text('locationType'),
    location: text('location'),
    recipeTypes: texts('recipeType'),
    recipePayloads: (fields.get('recipePayload') as Uint8Array[] | undefined) ?? [],
    mediaTypes: texts('mediaType'),
    mediaData: texts('mediaData'),
    memo: text('memo'),
  }
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function eventSeconds(value: FieldValue | undefined): number | undefined {
  if (value === undefined) return undefined
  if ((value as bigint) > MAX_EVENT_SECONDS)
    throw new PayloadError(`eventTimestamp ${String(value)} is no time in Unix seconds`)
  return Number(value)
}

/** Postgres cannot store NUL in a text. */
function storable<T extends string | undefined>(text: T): T {
  if (text?.includes('\0')) throw new PayloadError('a text holds the character NUL')
  return text
}

/** The geometry of a payload; or, as a text, why it cannot be read with certainty. */
export function readLocation({
  srs,
  locationType,
  location,
}: Pick<Payload, 'srs' | 'locationType' | 'location'>): Reading | string {
  const latitudeFirst = LATITUDE_FIRST_SRS.test(srs)
  if (!latitudeFirst && !LONGITUDE_FIRST_SRS.test(srs))
    return `srs '${srs.slice(0, 80)}' is not a known name of WGS84, such as EPSG:4326 or http://www.opengis.net/def/crs/OGC/1.3/CRS84`
  const read = locationReader(locationType)
  if (typeof read === 'string') return `location_type '${locationType.slice(0, 80)}' ${read}`
  try {
    return readGeometry(read(location, latitudeFirst), 'location')
  } catch (error) {
    if (error instanceof GeometryError) return error.message
    throw error
  }
}
