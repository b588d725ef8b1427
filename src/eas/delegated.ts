import { SigningKey, TypedDataEncoder, computeAddress, concat, id, keccak256, recoverAddress, type TypedDataField } from 'ethers'

/**
 * How a version of EAS lays out the typed data of a delegated attestation:
 * legacy (0.26, 1.0.x) has neither value nor deadline; v1 (1.2.0) has both; v2 (1.3.0 on) puts the attester first.
 */
export type AttestLayout = 'legacy' | 'v1' | 'v2'

/** EIP-712 domain of an EAS contract; its name is always "EAS". */
export interface EasDomain {
  version: string
  chainId: number
  verifyingContract: string
}

/** A delegated attestation as it is signed. Amounts and times are integers; a layout leaves out what it does not have. */
export interface AttestMessage {
  attester: string
  schema: string
  recipient: string
  /** Unix seconds; 0 = never. */
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: string
  /** In wei. */
  value: bigint
  nonce: bigint
  /** Unix seconds; not enforced by contracts of the legacy layout. */
  deadline: bigint
}

const LEGACY_FIELDS: TypedDataField[] = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
]
const NONCE: TypedDataField = { name: 'nonce', type: 'uint256' }
const V1_FIELDS: TypedDataField[] = [...LEGACY_FIELDS, { name: 'value', type: 'uint256' }, NONCE, { name: 'deadline', type: 'uint64' }]
const FIELDS: Record<AttestLayout, TypedDataField[]> = {
  legacy: [...LEGACY_FIELDS, NONCE],
  v1: V1_FIELDS,
  v2: [{ name: 'attester', type: 'address' }, ...V1_FIELDS],
}
const ENCODERS = mapLayouts((layout) => new TypedDataEncoder({ Attest: FIELDS[layout] }))

/** What `getAttestTypeHash()` answers on a contract of each layout. */
export const ATTEST_TYPE_HASHES: Readonly<Record<AttestLayout, string>> = mapLayouts((layout) => id(ENCODERS[layout].encodeType('Attest')))

/** The layout whose type hash a contract reports; undefined for one we do not know, and then must not sign for. */
export function layoutOfTypeHash(typeHash: string): AttestLayout | undefined {
  return (Object.keys(ATTEST_TYPE_HASHES) as AttestLayout[]).find((layout) => ATTEST_TYPE_HASHES[layout] === typeHash.toLowerCase())
}

/** EIP-712 domain separator of an EAS contract; equals its `getDomainSeparator()`. */
export function domainSeparator(domain: EasDomain): string {
  return TypedDataEncoder.hashDomain({ name: 'EAS', ...domain })
}

/**
 * EIP-712 digest of a delegated attestation, of what is signed and recovered from: keccak256(0x1901 | separator | struct hash).
 * `separator` is the contract's domain separator.
 */
export function attestDigest(separator: string, layout: AttestLayout, message: AttestMessage): string {
  return keccak256(concat(['0x1901', separator, ENCODERS[layout].hashStruct('Attest', message)]))
}

/** Signs a digest: 65 bytes r + s + v in hex, low s, v 27 or 28, deterministic (RFC 6979). */
export function signAttest(key: SigningKey, digest: string): string {
  return key.sign(digest).serialized
}

/** The address whose key made this signature of this digest, lower-case. */
export function recoverAttester(digest: string, signature: string): string {
  return recoverAddress(digest, signature).toLowerCase()
}

/** The address of a key, lower-case. */
export function addressOfKey(key: SigningKey): string {
  return computeAddress(key.publicKey).toLowerCase()
}

function mapLayouts<T>(make: (layout: AttestLayout) => T): Record<AttestLayout, T> {
  return { legacy: make('legacy'), v1: make('v1'), v2: make('v2') }
}
