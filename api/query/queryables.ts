import { ACTIVE_SLUGS, chainNamed } from '../../src/chains'
import { parseAddress, parseUid } from '../../src/eas'
import { RECORD_FIELD_LIST, type RecordField } from '../../src/location'
import { invalid } from '../http/parameters'
import { RecordsError } from '../http/problems'

/**
 * Properties that a CQL2 filter may name: the single-valued fields of a record, its keys, and its geometry.
 * Each row of RECORD_FIELDS with a type in TYPES is included automatically. The other properties are rows of
 * QUERYABLES.
 */

export interface Queryable {
  /** lower: text stored in lower case and compared without regard to letter case */
  type: 'text' | 'lower' | 'time' | 'number' | 'boolean' | 'geometry'
  /** SQL column of location_record */
  column: string
  /** Reads a value of = or IN like a parameter. Throws a RecordsError for one that no record can have. */
  read?: (text: string, name: string) => string
}

/** Reads the slug, an alias or the ID of an active chain. Returns the slug. */
export function readChain(text: string, name: string): string {
  const chain = chainNamed(text)
  if (!chain?.active) throw unknownChain(name)
  return chain.slug
}

/** Like `readChain()`, also for a chain that is not active: once it is indexed, lists have its records. */
function readKnownChain(text: string, name: string): string {
  const chain = chainNamed(text)
  if (!chain) throw unknownChain(name)
  return chain.slug
}

const unknownChain = (name: string) => invalid(name, `Supported chains: ${ACTIVE_SLUGS.join(', ')}`)

/** @returns the address in lower case */
export function readAddress(text: string, name: string): string {
  const address = parseAddress(text)
  if (address === undefined) throw invalid(name, 'Expected an address: 0x and 40 hex digits')
  return address
}

/** Reads a UID, and returns it in lower case. */
export const uidReader = (what: string) => (text: string, name: string) => {
  const uid = parseUid(text)
  if (uid === undefined) throw invalid(name, `Expected ${what}: 0x and 64 hex digits`)
  return uid
}

export const UID_RULE = 'UID must be a 66-character hex string starting with 0x'

function readUid(text: string): string {
  const uid = parseUid(text)
  if (uid === undefined) throw new RecordsError('invalid-uid', UID_RULE)
  return uid
}

/** Reads the id of a record: the slug of its chain, - and its UID. */
function readId(text: string, name: string): string {
  const at = text.lastIndexOf('-')
  if (at < 1) throw invalid(name, 'Expected the id of a record: the slug of its chain, - and its UID')
  return `${readKnownChain(text.slice(0, at), name)}-${readUid(text.slice(at + 1))}`
}

const TYPES: Partial<Record<RecordField['type'], Queryable['type']>> = {
  ...{ text: 'text', address: 'lower', time: 'time' },
  ...{ number: 'number', boolean: 'boolean' },
}
/** The attested text may be a megabyte long. Filters use `geometry` and `location_type` instead. */
const WITHOUT = ['location']

/** By the name of the property. */
export const QUERYABLES: ReadonlyMap<string, Queryable> = new Map<string, Queryable>([
  ['id', { type: 'lower', column: 'id', read: readId }],
  ...RECORD_FIELD_LIST.flatMap(([name, field]): [string, Queryable][] => {
    const type = TYPES[field.type]
    const read = field.type === 'address' && { read: readAddress }
    return type && !WITHOUT.includes(name) ? [[name, { type, column: name, ...read }]] : []
  }),
  ['chain', { type: 'lower', column: 'chain', read: readKnownChain }],
  ['uid', { type: 'lower', column: 'uid', read: readUid }],
  ['schema', { type: 'lower', column: 'schema_uid', read: uidReader('the UID of a schema') }],
  ['geometry', { type: 'geometry', column: 'geom' }],
])
