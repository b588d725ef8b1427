import { TypedDataEncoder, id, type TypedDataField } from 'ethers'
import { keccak256 } from './keccak'
import { hex, uint } from './words'

/**
 * How a version of EAS lays out the typed data of a delegated attestation:
 * legacy (0.26, 1.0.x) has neither value nor deadline; v1 (1.2.0) has both; v2 (1.3.0 on) puts the attester first.
 */
export type AttestLayout = 'legacy' | 'v1' | 'v2'

/** EIP-712 domain of an EAS contract, whose name is always that. */
export interface EasDomain {
  name: 'EAS'
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
 * What these functions can revert with (EAS.sol and its verifier, 0.26 to 1.4.0): the signature, the schema, the content,
 * the lists' lengths, the payment, and the schema's resolver. A resolver may have errors of its own besides.
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

/** The functions that a contract of each layout takes signatures by, and the errors that it refuses them with, as ethers and viem read an ABI. */
export const DELEGATED_ABIS: Readonly<Record<AttestLayout, readonly string[]>> = {
  legacy: abi('', ERRORS),
  v1: ABI_WITH_DEADLINE,
  v2: ABI_WITH_DEADLINE,
}

/** What `getAttestTypeHash()` answers on a contract of each layout. */
export const ATTEST_TYPE_HASHES: Readonly<Record<AttestLayout, string>> = mapLayouts((layout) =>
  id(new TypedDataEncoder({ Attest: FIELDS[layout] }).encodeType('Attest')),
)

/** The layout whose type hash a contract reports; undefined for one we do not know, and then must not sign for. */
export function layoutOfTypeHash(typeHash: string): AttestLayout | undefined {
  return (Object.keys(ATTEST_TYPE_HASHES) as AttestLayout[]).find(
    (layout) => ATTEST_TYPE_HASHES[layout] === typeHash.toLowerCase(),
  )
}

/** EIP-712 domain separator of an EAS contract; equals its `getDomainSeparator()`. */
export function domainSeparator(domain: EasDomain): string {
  return TypedDataEncoder.hashDomain(domain)
}

/**
 * EIP-712 digest of a delegated attestation, of what is signed and recovered from: keccak256(0x1901 | separator | struct hash).
 * `separator` is the contract's domain separator. The struct is laid out here, field by field, which
 * costs less than ethers' encoder. Throws a TypeError for fields that are not of their types.
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

/** A number of so many bytes, in its word. */
function word(value: bigint | number, bytes: number): string {
  return uint(value, bytes).padStart(64, '0')
}

function mapLayouts<T>(make: (layout: AttestLayout) => T): Record<AttestLayout, T> {
  return { legacy: make('legacy'), v1: make('v1'), v2: make('v2') }
}
