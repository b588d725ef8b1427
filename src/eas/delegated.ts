import { TypedDataEncoder, id, type TypedDataField } from 'ethers'
import { keccak256 } from './keccak'
import { hex, uint } from './words'

/**
 * The layout of the typed data of a delegated attestation, by version of EAS: legacy (0.26, 1.0.x) has
 * neither value nor deadline, v1 (1.2.0) has both, v2 (from 1.3.0) puts the attester first.
 */
export type AttestLayout = 'legacy' | 'v1' | 'v2'

/** EIP-712 domain of an EAS contract. Its name is always EAS. */
export interface EasDomain {
  name: 'EAS'
  version: string
  chainId: number
  verifyingContract: string
}

/**
 * The content of a delegated attestation that is signed. Amounts and times are integers. A layout omits the
 * fields that it does not have.
 */
export interface AttestMessage {
  attester: string
  schema: string
  recipient: string
  /** Unix seconds; 0 = never. */
  expirationTime: bigint | number
  revocable: boolean
  refUID: string
  data: string
  /** In wei. */
  value: bigint | number
  nonce: bigint | number
  /** Unix seconds; not enforced by contracts of the legacy layout. */
  deadline: bigint | number
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
const V1_FIELDS: TypedDataField[] = [
  ...LEGACY_FIELDS,
  { name: 'value', type: 'uint256' },
  NONCE,
  { name: 'deadline', type: 'uint64' },
]
const FIELDS: Record<AttestLayout, TypedDataField[]> = {
  legacy: [...LEGACY_FIELDS, NONCE],
  v1: V1_FIELDS,
  v2: [{ name: 'attester', type: 'address' }, ...V1_FIELDS],
}
const DATA =
  '(address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint256 value)'
const SIGNATURE = '(uint8 v, bytes32 r, bytes32 s)'
/**
 * The errors that these functions can revert with (EAS.sol and its verifier, 0.26 to 1.4.0). The resolver of
 * a schema may have others.
 */
const ERRORS = [
  'InvalidSignature',
  'InvalidSchema',
  'InvalidExpirationTime',
  'Irrevocable',
  'NotFound',
  'InvalidLength',
  'NotPayable',
  'InsufficientValue',
  'InvalidAttestation',
  'InvalidAttestations',
]
const abi = (deadline: string, errors: readonly string[]): readonly string[] => [
  `function attestByDelegation((bytes32 schema, ${DATA} data, ${SIGNATURE} signature, address attester${deadline}) request) payable returns (bytes32)`,
  `function multiAttestByDelegation((bytes32 schema, ${DATA}[] data, ${SIGNATURE}[] signatures, address attester${deadline})[] requests) payable returns (bytes32[])`,
  ...errors.map((name) => `error ${name}()`),
]
const ABI_WITH_DEADLINE = abi(', uint64 deadline', ['DeadlineExpired', ...ERRORS])

/**
 * For each layout the functions that take signatures, and the errors they revert with, in the form that
 * ethers and viem read.
 */
export const DELEGATED_ABIS: Readonly<Record<AttestLayout, readonly string[]>> = {
  legacy: abi('', ERRORS),
  v1: ABI_WITH_DEADLINE,
  v2: ABI_WITH_DEADLINE,
}

/** The answer of `getAttestTypeHash()` of a contract, by layout. */
export const ATTEST_TYPE_HASHES: Readonly<Record<AttestLayout, string>> = mapLayouts((layout) =>
  id(new TypedDataEncoder({ Attest: FIELDS[layout] }).encodeType('Attest')),
)

/**
 * The layout for the type hash that a contract reports; undefined for an unknown one, which must not be
 * signed for.
 */
export function layoutOfTypeHash(typeHash: string): AttestLayout | undefined {
  return (Object.keys(ATTEST_TYPE_HASHES) as AttestLayout[]).find(
    (layout) => ATTEST_TYPE_HASHES[layout] === typeHash.toLowerCase(),
  )
}

/** EIP-712 domain separator of an EAS contract, equal to its `getDomainSeparator()`. */
export function domainSeparator(domain: EasDomain): string {
  return TypedDataEncoder.hashDomain(domain)
}

/**
 * EIP-712 digest of a delegated attestation: keccak256(0x1901 | separator | struct hash), where `separator`
 * is the contract's domain separator. The struct is encoded here field by field, which is faster than ethers'
 * encoder. Throws a TypeError when a field does not fit its type.
 */
export async function attestDigest(
  separator: string,
  layout: AttestLayout,
  message: AttestMessage,
): Promise<string> {
  const { attester, schema, recipient, expirationTime, revocable, refUID, data, value, nonce, deadline } =
    message
  const struct = [
    hex(ATTEST_TYPE_HASHES[layout], 32),
    layout === 'v2' ? address(attester) : '',
    hex(schema, 32),
    address(recipient),
    word(expirationTime, 8),
    word(revocable ? 1 : 0, 1),
    hex(refUID, 32),
    await keccak256(Buffer.from(hex(data), 'hex')),
    layout === 'legacy' ? '' : word(value, 32),
    word(nonce, 32),
    layout === 'legacy' ? '' : word(deadline, 8),
  ]
  const structHash = await keccak256(Buffer.from(struct.join(''), 'hex'))
  return `0x${await keccak256(Buffer.from(`1901${hex(separator, 32)}${structHash}`, 'hex'))}`
}

function address(text: string): string {
  return hex(text, 20).padStart(64, '0')
}

/** A number of at most this many bytes, as a word of 32 bytes. */
function word(value: bigint | number, bytes: number): string {
  return uint(value, bytes).padStart(64, '0')
}

function mapLayouts<T>(make: (layout: AttestLayout) => T): Record<AttestLayout, T> {
  return { legacy: make('legacy'), v1: make('v1'), v2: make('v2') }
}
