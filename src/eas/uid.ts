import { keccak256 } from 'ethers/crypto'
import { solidityPackedKeccak256 } from 'ethers/hash'
import { hasher } from './keccak'
import { MAX_BUMP, packUid, type UidFields } from './uid-fields'
import { uint } from './words'

/** A UID, of an attestation or a schema, in any letter case, as a JSON Schema pattern. */
export const UID_PATTERN = '^0x[0-9a-fA-F]{64}$'
const UID = new RegExp(UID_PATTERN)

/** The UID in lower case; undefined unless it is 0x and 64 hex digits. */
export function parseUid(text: unknown): string | undefined {
  return typeof text === 'string' && UID.test(text) ? text.toLowerCase() : undefined
}

/**
 * The UID that EAS gives an attestation: keccak256 of the packed fields and of `bump`, a counter for equal
 * content within one block (EAS.sol, _getUID). It includes neither the chain nor the contract.
 */
export function attestationUid(fields: UidFields, bump = 0): string {
  return keccak256(`0x${packUid(fields)}${uint(bump, 4)}`)
}

/**
 * Whether an attestation of this content can have this UID, with any bump. The content is hashed only once.
 */
export async function hashesToUid(fields: UidFields, uid: string): Promise<boolean> {
  const keccak = await hasher
  keccak.init()
  const text = packUid(fields)
  const bytes = Buffer.from(text, 'hex')
  if (2 * bytes.length !== text.length) throw new TypeError(`expected hex, got ${fields.data.slice(0, 80)}`)
  const content = keccak.update(bytes).save()
  const bumpBytes = Buffer.alloc(4)
  for (let bump = 0; bump < MAX_BUMP; bump++) {
    if (bump > 0) keccak.load(content)
    bumpBytes.writeUInt32BE(bump)
    if (keccak.update(bumpBytes).digest('hex') === uid.slice(2)) return true
  }
  return false
}

/** The UID of a schema: keccak256(packed(schema text, resolver, revocable)) (SchemaRegistry.sol, _getUID). */
export function schemaUid(schema: string, resolver: string, revocable: boolean): string {
  return solidityPackedKeccak256(['string', 'address', 'bool'], [schema, resolver, revocable])
}
