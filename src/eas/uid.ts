import { keccak256, solidityPackedKeccak256 } from 'ethers'
import { createKeccak, type IHasher } from 'hash-wasm'

/** What an attestation's UID commits to. Hex in any letter case; times in Unix seconds. */
export interface UidFields {
  schema: string
  recipient: string
  attester: string
  time: bigint
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: string
}

/**
 * The UID that EAS gives to an attestation: keccak256 of the packed fields and of `bump`, which counts up
 * for equal content in one block (EAS.sol, _getUID). It names neither the chain nor the contract.
 */
export function attestationUid(fields: UidFields, bump = 0): string {
  return keccak256(`0x${packed(fields)}${uint(BigInt(bump), 4)}`)
}

/** As many equal attestations in one block are told apart. EAS itself counts up for each: the last of so many costs it 20 million gas of look-ups. */
const MAX_BUMP = 10_000
let keccak: Promise<IHasher> | undefined

/**
 * Whether an attestation of this content can have this UID. By hash-wasm, twenty times as fast as ethers: every attestation
 * that is indexed goes through here. The content is hashed once, however often equal content was attested in the block.
 */
export async function hashesToUid(fields: UidFields, uid: string): Promise<boolean> {
  const hasher = await (keccak ??= createKeccak(256))
  hasher.init()
  const text = packed(fields)
  const bytes = Buffer.from(text, 'hex')
  if (2 * bytes.length !== text.length) throw new TypeError(`expected hex, got ${fields.data.slice(0, 80)}`)
  const content = hasher.update(bytes).save()
  const bumpBytes = Buffer.alloc(4)
  for (let bump = 0; bump < MAX_BUMP; bump++) {
    if (bump > 0) hasher.load(content)
    bumpBytes.writeUInt32BE(bump)
    if (hasher.update(bumpBytes).digest('hex') === uid.slice(2)) return true
  }
  return false
}

function packed(fields: UidFields): string {
  return (
    hex(fields.schema, 32) +
    hex(fields.recipient, 20) +
    hex(fields.attester, 20) +
    uint(fields.time, 8) +
    uint(fields.expirationTime, 8) +
    (fields.revocable ? '01' : '00') +
    hex(fields.refUID, 32) +
    hex(fields.data)
  )
}

/** The UID of a schema: keccak256(packed(schema text, resolver, revocable)) (SchemaRegistry.sol, _getUID). */
export function schemaUid(schema: string, resolver: string, revocable: boolean): string {
  return solidityPackedKeccak256(['string', 'address', 'bool'], [schema, resolver, revocable])
}

function hex(text: string, bytes?: number): string {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(text) || (bytes !== undefined && text.length !== 2 + 2 * bytes))
    throw new TypeError(`expected ${bytes ?? 'some'} bytes in hex, got ${text.slice(0, 80)}`)
  return text.slice(2)
}

function uint(value: bigint, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0')
}
