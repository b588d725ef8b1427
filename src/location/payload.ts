// SPDX-License-Identifier: MIT
import {
  PayloadError,
  Tuple,
  decodeFields,
  parseSchema,
  type FieldValue,
  type SchemaField,
} from '../eas/portable'

import { GeometryError, readGeometry, type Reading } from '../geodesy'
import { isPortableJson, parseStrictJson } from '../strict-json'
import { readEventTime, type EventTime } from './event-time'
import { axesOf, locationTypeOf } from './names'
import { locationReader } from './types'

/** Payload of a location schema, and its geometry. It runs in every engine, as a part of packages/client. */

/** A schema whose attestations are locations: its UID, lower-case, and its text exactly as registered. */
export interface LocationSchema {
  readonly uid: string
  readonly fields: string
}

/** Location schema of version 0.1, which /config returns. */
export const LOCATION_SCHEMA: LocationSchema = {
  uid: '0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2',
  fields:
    'uint256 eventTimestamp,string srs,string locationType,string location,string[] recipeType,bytes[] recipePayload,string[] mediaType,string[] mediaData,string memo',
}
/** Location Protocol's schema of four strings. */
export const LOCATION_PROTOCOL_SCHEMA: LocationSchema = {
  uid: '0x3902cc7b8e415eb1ed9ac496431c31c88023cdbde0821cbb81195a8bcf74fffd',
  fields: 'string lp_version,string srs,string location_type,string location',
}

/**
 * Location schemas that are built in, the same on every chain: without a resolver, revocable. Other schemas
 * are entries of the setting LOCATION_SCHEMAS, or found in a chain's SchemaRegistry.
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

/** Content of a location schema's payload. */
export interface Payload extends EventTime {
  srs: string
  locationType: string
  /** as attested */
  location: string
  recipeTypes: string[]
  recipePayloads: Uint8Array[]
  mediaTypes: string[]
  mediaData: string[]
  memo: string
  /** further fields as JSON; null if the schema has none */
  attributes: Attributes | null
}

/** Fields by their names in the schema (docs/reference/schemas.md, "Attributes"). */
export type Attributes = Readonly<Record<string, unknown>>

/** Maximum number of bytes of a payload that is decoded. A payload of 100 kB already costs 70 million gas. */
const MAX_PAYLOAD_BYTES = 1_000_000

type Shape = 'text' | 'texts' | 'bytes' | 'bytesList' | 'uint'

/**
 * Fields with a meaning, by their names in v0.1, with the types that are read. The Location Protocol writes
 * location_type for locationType. A field of such a name with another type is an attribute.
 */
const KNOWN_FIELDS: ReadonlyMap<string, readonly Shape[]> = new Map<string, readonly Shape[]>([
  ['eventTimestamp', ['uint']],
  ['srs', ['text']],
  ['locationType', ['text']],
  ['location', ['text']],
  ['recipeType', ['texts', 'text']],
  ['recipePayload', ['bytesList', 'bytes']],
  ['mediaType', ['texts', 'text']],
  ['mediaData', ['texts', 'text']],
  ['memo', ['text']],
  ['lpVersion', ['text', 'uint']],
  ['specVersion', ['text', 'uint']],
])
const REQUIRED = ['srs', 'locationType', 'location']

/** Maximum number of characters of the attributes as JSON. Records with longer attributes have none. */
const MAX_ATTRIBUTES_LENGTH = 100_000
/** Attributes whose text is JSON by the Location Protocol. */
const JSON_ATTRIBUTES = new Set(['attributes', 'attributesSchema', 'proof', 'extensions'])

/** Indices of a payload's fields, by their use. */
interface Plan {
  readonly fields: readonly SchemaField[]
  /** index of each known field */
  readonly known: ReadonlyMap<string, number>
  /** indices of the attributes */
  readonly others: readonly number[]
}

/** Checks the text of a location schema. Throws a TypeError that states the rule. */
export function checkLocationFields(fields: string): void {
  planOf(fields)
}

/** True if this is the text of a location schema. */
export function isLocationText(text: string): boolean {
  try {
    planOf(text)
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** Policy for the schemas of a chain's SchemaRegistry, in addition to the built-in ones. */
export interface SchemaPolicy {
  /** all location schemas, or only the listed ones */
  readonly found: 'all' | 'listed'
  /** UIDs, lower-case */
  readonly listed: ReadonlySet<string>
  /** UIDs, lower-case, of schemas that are not read unless they are listed */
  readonly excluded: ReadonlySet<string>
}

/** Policy that reads all location schemas. */
export const ALL_SCHEMAS: SchemaPolicy = { found: 'all', listed: new Set(), excluded: new Set() }

/** True if the policy allows this schema, provided that it is a location schema. */
export function mayBeRead({ found, listed, excluded }: SchemaPolicy, uid: string): boolean {
  return listed.has(uid) || (found === 'all' && !excluded.has(uid))
}

function planOf(text: string): Plan {
  const excerpt = text.length > 200 ? `${text.slice(0, 200)}...` : text
  const fields = readFields(text, excerpt)
  const known = new Map<string, number>()
  const others: number[] = []
  for (const [i, { name, type }] of fields.entries()) {
    const meaning = camelCase(name)
    const shape = shapeOf(type)
    if (!shape || !KNOWN_FIELDS.get(meaning)?.includes(shape)) others.push(i)
    else if (known.has(meaning))
      throw new TypeError(`'${excerpt}' has two fields with the meaning ${meaning}`)
    else known.set(meaning, i)
  }
  if (!REQUIRED.every((name) => known.has(name)))
    throw new TypeError(
      `'${excerpt}' is not a location schema: expected string srs, string location_type and string location`,
    )
  return { fields, known, others }
}

function readFields(text: string, excerpt: string): SchemaField[] {
  try {
    return parseSchema(text)
  } catch (error) {
    throw new TypeError(`'${excerpt}' cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function shapeOf(type: SchemaField['type']): Shape | undefined {
  if (type.kind === 'string') return 'text'
  if (type.kind === 'bytes' || type.kind === 'uint') return type.kind
  if (type.kind !== 'array' || type.length !== undefined) return undefined
  return type.of.kind === 'string' ? 'texts' : type.of.kind === 'bytes' ? 'bytesList' : undefined
}

const schemas = new Map(LOCATION_SCHEMAS.map((schema) => [schema.uid, schema]))
const plans = new WeakMap<LocationSchema, Plan>()

/** UIDs of schemas that are valid on every chain. */
const everywhere = new Set(schemas.keys())
/** UIDs of schemas from a chain's SchemaRegistry, by the chain's slug. */
const found = new Map<string, Set<string>>()

/** Adds schemas of a chain's registry to those that this process reads; without a chain, to those of all. */
export function addLocationSchemas(added: readonly LocationSchema[], chain?: string): void {
  let uids = everywhere
  if (chain !== undefined) {
    uids = found.get(chain) ?? new Set()
    found.set(chain, uids)
  }
  for (const schema of added) {
    if (!schemas.has(schema.uid)) schemas.set(schema.uid, schema)
    uids.add(schema.uid)
  }
}

/** Removes schemas of a chain's registry from those that this process reads. */
export function dropLocationSchemas(uids: readonly string[], chain: string): void {
  for (const uid of uids) found.get(chain)?.delete(uid)
}

/** UIDs, lower-case, of the location schemas of every chain and, with a slug, of that chain. */
export function locationSchemaUids(chain?: string): string[] {
  return [...new Set([...everywhere, ...((chain !== undefined && found.get(chain)) || [])])]
}

/** True if attestations of this schema are locations: on the chain of this slug, or on any chain. */
export function isLocationSchema(schemaUid: string, chain?: string): boolean {
  if (chain === undefined) return schemas.has(schemaUid)
  return everywhere.has(schemaUid) || found.get(chain)?.has(schemaUid) === true
}

/** Returns a schema that this process reads. Throws a TypeError for another UID. */
export function knownSchema(uid: string): LocationSchema {
  const schema = schemas.get(uid)
  if (!schema) throw new TypeError(`${uid} is not a location schema`)
  return schema
}

/** Decodes a payload (docs/spec/facts.md 2). Throws a PayloadError if it does not match its schema. */
export function decodePayload(schema: LocationSchema, data: Uint8Array): Payload {
  if (data.length > MAX_PAYLOAD_BYTES)
    throw new PayloadError(`expected a payload of at most ${MAX_PAYLOAD_BYTES} bytes`)
  let plan = plans.get(schema)
  if (!plan) plans.set(schema, (plan = planOf(schema.fields)))
  const { fields, known, others } = plan
  const values = decodeFields(fields, data)
  const value = (name: string) => (known.has(name) ? values[known.get(name)!] : undefined)
  const text = (name: string) => storable((value(name) as string | undefined) ?? '')
  const texts = (name: string) => listOf<string>(value(name)).map(storable)
  return {
    ...readEventTime(value('eventTimestamp') as bigint | undefined),
    srs: text('srs'),
    locationType: text('locationType'),
    location: text('location'),
    recipeTypes: texts('recipeType'),
    recipePayloads: listOf<Uint8Array>(value('recipePayload')),
    mediaTypes: texts('mediaType'),
    mediaData: texts('mediaData'),
    memo: text('memo'),
    attributes: others.length ? attributesOf(others.map((i) => [fields[i]!, values[i]!])) : null,
  }
}

/** Returns a payload's list. A single value is a list of one; an empty value is an empty list. */
function listOf<T extends string | Uint8Array>(value: FieldValue | undefined): T[] {
  if (Array.isArray(value)) return value as T[]
  return value === undefined || (value as T).length === 0 ? [] : [value as T]
}

function attributesOf(entries: readonly (readonly [SchemaField, FieldValue])[]): Attributes | null {
  const attributes = Object.fromEntries(
    entries.map(([{ name, type }, value]) => [
      name,
      JSON_ATTRIBUTES.has(camelCase(name)) && typeof value === 'string'
        ? embeddedJson(value)
        : attributeOf(type, value),
    ]),
  )
  return JSON.stringify(attributes).length > MAX_ATTRIBUTES_LENGTH ? null : attributes
}

/** Attribute as JSON: an integer of up to 48 bits is a number and a larger one a text; bytes are hex. */
function attributeOf(type: SchemaField['type'], value: FieldValue): unknown {
  if (typeof value === 'bigint') return 'bits' in type && type.bits <= 48 ? Number(value) : value.toString()
  if (value instanceof Uint8Array)
    return `0x${Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  if (type.kind === 'array') return (value as FieldValue[]).map((element) => attributeOf(type.of, element))
  if (value instanceof Tuple && type.kind === 'tuple')
    return Object.fromEntries(
      value.entries.map(([name, entry], i) => [name, attributeOf(type.fields[i]!.type, entry)]),
    )
  return typeof value === 'string' ? storable(value) : value
}

/** JSON object or array in a text; the text itself if it has none, or JSON.parse would change a number. */
function embeddedJson(text: string): unknown {
  storable(text)
  if (!/^\s*[[{]/.test(text)) return text
  try {
    const value = parseStrictJson(text)
    return isPortableJson(text) ? value : text
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the text. Throws a PayloadError for NUL, which Postgres cannot store in a text. */
function storable(text: string): string {
  if (text.includes('\0')) throw new PayloadError('a text contains the character NUL')
  return text
}

/** Geometry of a payload, or the reason for which it cannot be read with certainty. */
export function readLocation({
  srs,
  locationType,
  location,
}: Pick<Payload, 'srs' | 'locationType' | 'location'>): Reading | string {
  const axes = axesOf(srs)
  const isGeoJson = locationTypeOf(locationType) === 'geojson'
  if (axes === undefined || (axes === 'none' && !isGeoJson))
    return axes === 'none'
      ? 'srs is empty, which is valid for GeoJSON only; use EPSG:4326 for WGS84'
      : `srs '${srs.slice(0, 80)}' is not a known name of WGS84, such as EPSG:4326 or http://www.opengis.net/def/crs/OGC/1.3/CRS84`
  const read = locationReader(locationType)
  if (typeof read === 'string') return `location_type '${locationType.slice(0, 80)}' ${read}`
  try {
    return readGeometry(read(location, axes === 'latitude first'), 'location')
  } catch (error) {
    if (error instanceof GeometryError) return error.message
    throw error
  }
}
