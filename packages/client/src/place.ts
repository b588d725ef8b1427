// SPDX-License-Identifier: MIT
import { encodeAbiParameters, isAddress, isHex, toHex } from 'viem'
import { describe } from '../../../src/geodesy'
import { locationTypeOf } from '../../../src/location/names'
import { schemaUid, type AttestationData, type Schema } from './eas'
import { ZERO_ADDRESS } from './says'
import { geometryOf, invalidPlace } from './geojson'
import type { GeoJson, Position } from './position'
import type { Hex } from './reader'

/** Fields of a place's attestation, and their encoding by a location schema (docs/spec/facts.md 2). */

/** A place with the other fields of its attestation. */
export interface PlaceDetails {
  /** GeoJSON, whose geometry is attested; a position; or a string of another location type */
  location: GeoJson | Position | string
  /**
   * format of a string location: `wkt`, `h3`, `geohash`, `coordinate-decimal+lon-lat`, `scaledCoordinates`,
   * ...
   */
  locationType?: string
  memo?: string
  /** time of the event, as a Date or Unix seconds; default: now */
  time?: Date | number
  /** media such as photos: a media type, and the data as a string (a URI or base64) */
  media?: readonly { type: string; data: string }[]
  /** how the location was determined: a type, and bytes */
  recipes?: readonly { type: string; payload: Uint8Array | Hex }[]
  /** address that the attestation is about; default: the zero address */
  recipient?: string
  /** expiration, as a Date or Unix seconds; never by default */
  expiration?: Date | number
  /** true if the attester may revoke the attestation; default: true if the schema allows it */
  revocable?: boolean
}
/** A place for `geo.attest`: GeoJSON of one geometry, a position, or an object with further fields. */
export type Place = GeoJson | Position | PlaceDetails

/** Location schemas that have names. Any other schema is given by its UID or field list. */
const NAMED: Readonly<Record<string, string>> = {
  'v0.1':
    'uint256 eventTimestamp,string srs,string locationType,string location,string[] recipeType,bytes[] recipePayload,string[] mediaType,string[] mediaData,string memo',
  'location-protocol': 'string lp_version,string srs,string location_type,string location',
}
/** Field lists of the location schemas that every service knows, the most used first. */
const TEXTS = [
  ...Object.values(NAMED),
  'string lp_version, string srs, string location_type, string location',
  'string srs, string location_type, string location, uint8 lp_version',
  'string srs,string location_type,string location,uint8 lp_version',
]
/** A schema as `v0.1`, `location-protocol`, its UID, or its field list. */
export type SchemaName = 'v0.1' | 'location-protocol' | (string & {})

/** Returns the schema of a name, a field list or a known UID; undefined for an unknown UID or name. */
export function knownSchema(name: SchemaName): Schema | undefined {
  const ofText = (fields: string): Schema => {
    const schema = { fields, resolver: ZERO_ADDRESS, revocable: true }
    return { uid: schemaUid(schema), ...schema }
  }
  if (isHex(name)) return TEXTS.map(ofText).find(({ uid }) => uid === name.toLowerCase())
  const text = Object.hasOwn(NAMED, name) ? NAMED[name]! : name
  return text.includes(' ') ? ofText(text) : undefined
}

/** Fields by their names in v0.1: the Solidity type, and the member of PlaceDetails that fills the field. */
const FIELDS: Readonly<Record<string, { type: RegExp; detail?: keyof PlaceDetails }>> = {
  lpVersion: { type: /^(string|uint\d*)$/ },
  srs: { type: /^string$/ },
  locationType: { type: /^string$/ },
  location: { type: /^string$/ },
  eventTimestamp: { type: /^uint256$/, detail: 'time' },
  recipeType: { type: /^string\[\]$/, detail: 'recipes' },
  recipePayload: { type: /^bytes\[\]$/, detail: 'recipes' },
  mediaType: { type: /^string\[\]$/, detail: 'media' },
  mediaData: { type: /^string\[\]$/, detail: 'media' },
  memo: { type: /^string$/, detail: 'memo' },
}
/** The Location Protocol requires this URI as the `srs`; attestations of v0.1 use EPSG:4326 by convention. */
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
const EPSG_4326 = 'EPSG:4326'
const DETAILS: readonly string[] = [
  ...['location', 'locationType', 'memo', 'time', 'media', 'recipes'],
  ...['recipient', 'expiration', 'revocable'],
]
/** Maximum bytes of data that the service reads offchain. On chain, they would cost 180 million gas. */
const MAX_DATA_BYTES = 262_144
/** The end of the year 9999. A larger time is probably in milliseconds. */
const MAX_SECONDS = 253_402_300_799

/** Names of a place and of its location in error messages. */
export interface PlacePath {
  path: string
  location: string
}
export function pathOf(place: Place, path: string): PlacePath {
  return { path, location: isDetails(place) ? `${path}.location` : path }
}

/** Builds the request of a place. Throws an InvalidInputError whose path starts with `path`. */
export function contentOf(place: Place, schema: Schema, refUID: string, at: PlacePath): AttestationData {
  const { path } = at
  const details = detailsOf(place, path)
  const { expiration, recipient = ZERO_ADDRESS, revocable = schema.revocable } = details
  const expirationTime = expiration === undefined ? 0 : secondsOf(expiration, `${path}.expiration`)
  if (expiration !== undefined && expirationTime <= Date.now() / 1000)
    throw invalidPlace(`${path}.expiration`, 'expected a time in the future')
  if (typeof recipient !== 'string' || !isAddress(recipient))
    throw invalidPlace(
      `${path}.recipient`,
      'expected an address, 0x and 40 hex digits; in mixed case its checksum must be correct; got ' +
        `${describe(recipient)}`,
    )
  if (typeof revocable !== 'boolean') throw invalidPlace(`${path}.revocable`, 'expected true or false')
  if (revocable && !schema.revocable)
    throw invalidPlace(`${path}.revocable`, 'the schema does not allow revocable attestations')
  if (!/^0x[0-9a-fA-F]{64}$/.test(refUID))
    throw invalidPlace('refUID', `expected a UID, 0x and 64 hex digits, got ${describe(refUID)}`)
  const data = encodeDetails(details, schema.fields, at)
  if (data.length > 2 + 2 * MAX_DATA_BYTES)
    throw invalidPlace(
      path,
      `its data has ${data.length / 2 - 1} bytes, but the maximum is ${MAX_DATA_BYTES}. Use fewer ` +
        'positions, or media as URIs',
    )
  return { recipient, expirationTime: BigInt(expirationTime), revocable, refUID, data }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isDetails = (place: Place): place is PlaceDetails =>
  isObject(place) && !('type' in place) && 'location' in place

function detailsOf(place: Place, path: string): PlaceDetails {
  if (isDetails(place)) {
    const unknown = Object.keys(place).find((name) => !DETAILS.includes(name))
    if (unknown !== undefined)
      throw invalidPlace(`${path}.${unknown}`, `unknown field. Fields of a place: ${DETAILS.join(', ')}`)
    return place
  }
  const beside = isObject(place) && DETAILS.find((name) => name in place)
  if (beside)
    throw invalidPlace(
      `${path}.${beside}`,
      `members of GeoJSON other than its geometry are not attested. Write { location: <GeoJSON>, ${beside}: ... }`,
    )
  return { location: place }
}

function encodeDetails(details: PlaceDetails, fields: string, { path, location: at }: PlacePath): Hex {
  const columns = fields.split(',').map((field) => {
    const [type = '', name = ''] = field.trim().split(/\s+/)
    return { type, name: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) }
  })
  const has = (name: string) => columns.some((column) => column.name === name)
  for (const { type, name } of columns)
    if (!Object.hasOwn(FIELDS, name) || !FIELDS[name]!.type.test(type))
      throw invalidPlace('schema', `'${type} ${name}' is not a supported field of a location schema`)
  for (const [name, { detail }] of Object.entries(FIELDS))
    if (detail && details[detail] !== undefined && !has(name))
      throw invalidPlace(`${path}.${detail}`, `the schema '${fields}' has no field for it`)
  for (const name of ['srs', 'locationType', 'location'])
    if (!has(name)) throw invalidPlace('schema', `'${fields}' is not a location schema: it has no ${name}`)

  const { memo = '', time = new Date(), media = [], recipes = [] } = details
  const { location, locationType } = locationOf(details, path, at)
  const each = <T>(list: readonly T[], name: string, read: (item: T, path: string) => unknown) => {
    if (!Array.isArray(list)) throw invalidPlace(`${path}.${name}`, `expected a list, got ${describe(list)}`)
    return list.map((item: T, i) => read((item ?? {}) as T, `${path}.${name}[${i}]`))
  }
  const values: Record<string, unknown> = {
    lpVersion: columns.some(({ type, name }) => name === 'lpVersion' && type !== 'string') ? 1 : '0.2.0',
    ...{ srs: has('lpVersion') ? CRS84 : EPSG_4326, locationType, location },
    eventTimestamp: BigInt(secondsOf(time, `${path}.time`)),
    recipeType: each(recipes, 'recipes', ({ type }, at) => text(type, `${at}.type`)),
    recipePayload: each(recipes, 'recipes', ({ payload }, at) => bytes(payload, `${at}.payload`)),
    mediaType: each(media, 'media', ({ type }, at) => text(type, `${at}.type`)),
    mediaData: each(media, 'media', ({ data }, at) => text(data, `${at}.data`)),
    memo: text(memo, `${path}.memo`),
  }
  return encodeAbiParameters(
    columns,
    columns.map(({ name }) => values[name]),
  )
}

function locationOf(
  { location, locationType }: PlaceDetails,
  path: string,
  at: string,
): { location: string; locationType: string } {
  if (typeof location === 'string') {
    if (!locationType)
      throw invalidPlace(
        `${path}.locationType`,
        'missing: expected the type of the text, such as wkt, h3 or geohash',
      )
    if (locationTypeOf(locationType) === 'geojson') geometryOf(parsed(location, at), at)
    return { location: text(location, at), locationType: text(locationType, `${path}.locationType`) }
  }
  const geometry = geometryOf(location, at)
  const { type } = geometry
  const names = ['geojson', `geojson-${type.toLowerCase()}`]
  if (locationType !== undefined && !names.includes(locationType))
    throw invalidPlace(`${path}.locationType`, `the location is ${names.join(' or ')}. Leave it out`)
  return { location: JSON.stringify(geometry), locationType: locationType ?? names[1]! }
}

function parsed(json: string, path: string): unknown {
  try {
    return JSON.parse(json.replace(/^\ufeff/, ''))
  } catch {
    throw invalidPlace(path, 'expected JSON')
  }
}

/** Converts a time to whole Unix seconds. */
function secondsOf(time: Date | number, path: string): number {
  const seconds = Math.floor(time instanceof Date ? time.getTime() / 1000 : time)
  if (typeof time !== 'number' && !(time instanceof Date)) throw invalidPlace(path, 'expected a Date')
  if (!(seconds >= 0 && seconds <= MAX_SECONDS))
    throw invalidPlace(
      path,
      `expected a Date or Unix seconds, from 1970 to 9999, got ${describe(Number(time))}`,
    )
  return seconds
}

/** Returns a string. Throws for a NUL, which databases reject, and for half of a surrogate pair. */
function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidPlace(path, `expected a string, got ${describe(value)}`)
  if (value.includes('\0')) throw invalidPlace(path, 'the character NUL cannot be stored')
  if (/\p{Surrogate}/u.test(value))
    throw invalidPlace(path, 'it contains an unpaired surrogate. Check if an emoji was truncated')
  return value
}

function bytes(value: unknown, path: string): Hex {
  if (value instanceof Uint8Array) return toHex(value)
  if (typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)) return value as Hex
  throw invalidPlace(path, `expected a Uint8Array, or hex, got ${describe(value)}`)
}
