import { keccak256 } from 'ethers/crypto'
import { solidityPackedKeccak256 } from 'ethers/hash'
import { hasher } from './keccak'
import { payloadBytes } from './payload'
import { MAX_BUMP, packUid, type UidFields } from './uid-fields'
import { uint } from './words'

/** JSON Schema pattern of the UID of an attestation or schema, in any letter case. */
export const UID_PATTERN = '^0x[0-9a-fA-F]{64}$'
const UID = new RegExp(UID_PATTERN)

/** Returns the UID in lower case; undefined unless it is 0x and 64 hex digits. */
export function parseUid(text: unknown): string | undefined {
  return typeof text === 'string' && UID.test(text) ? text.toLowerCase() : undefined
}

/**
 * UID of an attestation (EAS.sol, _getUID): hash of the packed fields and of `bump`, a counter for equal
 * content within one block. It includes neither the chain nor the contract.
 */
export function attestationUid(fields: UidFields, bump = 0): string {
  return keccak256(`0x${packUid(fields)}${uint(bump, 4)}`)
}

/** True if an attestation of this content can have this UID, with any bump. `data` is hex or bytes. */
export async function hashesToUid(
  { data, ...fields }: Omit<UidFields, 'data'> & { data: string | Uint8Array },
  uid: string,
): Promise<boolean> {
  const keccak = await hasher
  const head = Buffer.from(packUid({ ...fields, data: '0x' }), 'hex')
  const payload = typeof data === 'string' ? payloadBytes(data) : data
  const content = () => keccak.init().update(head).update(payload)
  const bump = Buffer.alloc(4)
  if (content().update(bump).digest('hex') === uid.slice(2)) return true
  // Equal content within one block is rare, so the state of the hash is saved only for the second bump.
  const state = content().save()
  for (let i = 1; i < MAX_BUMP; i++) {
    bump.writeUInt32BE(i)
    if (keccak.load(state).update(bump).digest('hex') === uid.slice(2)) return true
  }
  return false
}

/** UID of a schema: keccak256(packed(schema text, resolver, revocable)) (SchemaRegistry.sol, _getUID). */
export function schemaUid(schema: string, resolver: string, revocable: boolean): string {
  return solidityPackedKeccak256(['string', 'address', 'bool'], [schema, resolver, revocable])
}
