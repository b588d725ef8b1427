import { PayloadError, decodeFields, fieldNames, fieldTypes, schemaUid, type FieldValue } from './eas'
import { GeometryError, canonicalJson, readGeometry } from './geodesy'
import { locationReader } from './location-types'
import { planeShape } from './plane'

/** A schema whose attestations are locations: its UID, lower-case, and its text exactly as registered (resolver 0, revocable). */
export interface LocationSchema {
  readonly uid: string
  readonly fields: string
}

/** The v0.1 location schema, as /config shows it. */
export const LOCATION_SCHEMA: LocationSchema = {
  uid: '0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2',
  fields:
    'uint256 eventTimestamp,string srs,string locationType,string location,string[] recipeType,bytes[] recipePayload,string[] mediaType,string[] mediaData,string memo',
}
/** The Location Protocol schema of four strings. */
export const LOCATION_PROTOCOL_SCHEMA: LocationSchema = {
  uid: '0x3902cc7b8e415eb1ed9ac496431c31c88023cdbde0821cbb81195a8bcf74fffd',
  fields: 'string lp_version,string srs,string location_type,string location',
}

/** Every location schema that is indexed and accepted, the same on every chain. A new one is one row, or the setting LOCATION_SCHEMAS. */
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

/** A geometry as the projection stores it. */
export interface LocationGeometry {
  /** canonical GeoJSON text */
  json: string
  /** [longitude, latitude] of a Point */
  point: readonly [number, number] | null
  /** What bbox queries look at (plane.ts): EWKB in hex */
  plane: string
}

/** A payload of a location schema, read. */
export interface Location {
  /** Unix seconds; undefined where the schema has none (then the attestation's own time stands for it). */
  eventTimestamp: number | undefined
  srs: string
  locationType: string
  /** As attested. */
  location: string
  recipeTypes: string[]
  /** base64 of the payload bytes */
  recipePayloads: string[]
  mediaTypes: string[]
  mediaData: string[]
  memo: string
  /** Our reading of `location`; null where it cannot be read for certain, and then `geometryProblem` says why. */
  geometry: LocationGeometry | null
  geometryProblem: string | null
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
/** Payloads above this size are not decoded: an honest one of 100 kB already costs 70 million gas. */
const MAX_PAYLOAD_BYTES = 1_000_000
/**
 * The end of year 9999. The store undoes hot blocks from rows kept as JSON, where JavaScript writes a later year as
 * "+058859-...", which Postgres refuses (22009): a revocation of such a record could never be rolled back.
 */
const MAX_EVENT_SECONDS = 253_402_300_799n

/** Names of WGS84 whose axes are longitude, latitude: by definition, or, for EPSG:4326 and WGS84, as every tool writes them. */
const LONGITUDE_FIRST_SRS =
  /^(EPSG:4326|WGS ?84|(OGC:)?CRS84|urn:ogc:def:crs:OGC:(1\.3)?:CRS84|https?:\/\/www\.opengis\.net\/def\/crs\/OGC\/(1\.3|0)\/CRS84\/?)$/i
/** Names that say latitude, longitude by definition: of consequence to formats that leave the order to them. */
const LATITUDE_FIRST_SRS =
  /^(urn:ogc:def:crs:EPSG::4326|https?:\/\/www\.opengis\.net\/def\/crs\/EPSG\/0\/4326\/?)$/i

/** The fields that are read of a payload, by their name in v0.1; others are passed over, if their type can be. */
const FIELD_TYPES: Readonly<Record<string, string>> = {
  ...{ eventTimestamp: 'uint256', srs: 'string', locationType: 'string', location: 'string', memo: 'string' },
  ...{ recipeType: 'string[]', recipePayload: 'bytes[]', mediaType: 'string[]', mediaData: 'string[]' },
}
const DECODABLE = /^(uint\d*|string|bytes|string\[\]|bytes\[\])$/

/** A location schema (resolver 0, revocable) by its text. Throws a TypeError that says what would be right. */
export function locationSchema(fields: string): LocationSchema {
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
  return { uid: schemaUid(fields, ZERO_ADDRESS, true), fields }
}

/** Adds schemas to those that are indexed and accepted by this process; done once, at its start. */
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
 * Reads the payload of an attestation of a location schema (FACTS: Schemas).
 * Throws a PayloadError when it is not what the schema says; an unreadable `location` is not an error but a record without geometry.
 */
export function decodeLocation(schemaUid: string, data: string): Location {
  const schema = LOCATION_SCHEMAS.find((s) => s.uid === schemaUid)
  if (!schema) throw new TypeError(`${schemaUid} is not a location schema`)
  if ((data.length - 2) / 2 > MAX_PAYLOAD_BYTES)
    throw new PayloadError(`payload larger than ${MAX_PAYLOAD_BYTES} bytes`)
  const values = decodeFields(fieldTypes(schema.fields), data)
  // lp payloads say location_type where v0.1 says locationType.
  const names = fieldNames(schema.fields).map(camelCase)
  const fields = new Map(names.map((name, i) => [name, values[i]!]))
  const text = (name: string) => storable(fields.get(name) as string | undefined) ?? ''
  const texts = (name: string) => ((fields.get(name) as string[] | undefined) ?? []).map((t) => storable(t))
  const srs = text('srs')
  const locationType = text('locationType')
  const location = text('location')
  return {
    eventTimestamp: eventSeconds(fields.get('eventTimestamp')),
    srs,
    locationType,
    location,
    recipeTypes: texts('recipeType'),
    recipePayloads: ((fields.get('recipePayload') as Uint8Array[] | undefined) ?? []).map((bytes) =>
      Buffer.from(bytes).toString('base64'),
    ),
    mediaTypes: texts('mediaType'),
    mediaData: texts('mediaData'),
    memo: text('memo'),
    ...readLocation(srs, locationType, location),
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

/** Postgres holds no NUL in a text. */
function storable<T extends string | undefined>(text: T): T {
  if (text?.includes('\0')) throw new PayloadError('a text holds the character NUL')
  return text
}

function readLocation(
  srs: string,
  locationType: string,
  location: string,
): Pick<Location, 'geometry' | 'geometryProblem'> {
  // Postgres holds no NUL, which JSON may spell out, and its JSON no half of a character, where a text was cut short.
  const none = (problem: string) => ({
    geometry: null,
    geometryProblem: problem.slice(0, 300).replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd'),
  })
  const latitudeFirst = LATITUDE_FIRST_SRS.test(srs)
  if (!latitudeFirst && !LONGITUDE_FIRST_SRS.test(srs))
    return none(
      `srs '${srs.slice(0, 80)}' is not a known name of WGS84, such as EPSG:4326 or http://www.opengis.net/def/crs/OGC/1.3/CRS84`,
    )
  const read = locationReader(locationType)
  if (typeof read === 'string') return none(`location_type '${locationType.slice(0, 80)}' ${read}`)
  try {
    const reading = readGeometry(read(location, latitudeFirst), 'location')
    const point = reading.layout.type === 'Point' ? ([reading.lon[0]!, reading.lat[0]!] as const) : null
    return {
      geometry: { json: canonicalJson(reading), point, plane: planeShape(reading) },
      geometryProblem: null,
    }
  } catch (error) {
    if (error instanceof GeometryError) return none(error.message)
    throw error
  }
}
