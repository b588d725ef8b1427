import { Interface } from 'ethers/abi'
import { TypedDataEncoder, id, type TypedDataField } from 'ethers/hash'
import { isCanonicalSignature } from './compact'
import { hasher } from './keccak'
import { ATTEST_FIELDS, DOMAIN_FIELDS, type AttestLayout } from './layouts'
import { payloadBytes } from './payload'
import { addressWord, hex, padded, uint } from './words'

/** EIP-712 domain of a contract that accepts delegated attestations. */
export interface AttestDomain {
  /** "EAS"; for a proxy, the name that it was deployed with */
  name: string
  version: string
  chainId: number
  verifyingContract: string
}

/** Signed content of a delegated attestation. A layout omits the fields that it does not have. */
export interface AttestMessage {
  attester: string
  schema: string
  recipient: string
  /** Unix seconds; 0 means never */
  expirationTime: bigint | number
  revocable: boolean
  refUID: string
  data: string
  /** wei */
  value: bigint | number
  /** nonce of the attester in EAS; the proxy has no nonces */
  nonce: bigint | number
  /** Unix seconds; contracts of the legacy layout do not enforce it */
  deadline: bigint | number
}

const DATA =
  '(address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint256 value)'
const SIGNATURE = '(uint8 v, bytes32 r, bytes32 s)'
/** Errors of these functions (EAS.sol and its verifier, 0.26 to 1.4.0). A resolver may have others. */
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
/** Errors of PermissionedEIP712Proxy and of the EAS contract behind it, whose errors pass through. */
const PROXY_ABI = [
  ...abi(', uint64 deadline', ['UsedSignature', 'AccessDenied', 'DeadlineExpired', ...ERRORS]),
  'function getAttester(bytes32 uid) view returns (address)',
]

/** Functions that accept signatures, and their errors, by layout, in the form that ethers and viem parse. */
export const DELEGATED_ABIS: Readonly<Record<AttestLayout, readonly string[]>> = {
  legacy: abi('', ERRORS),
  v1: ABI_WITH_DEADLINE,
  v2: ABI_WITH_DEADLINE,
  proxy: PROXY_ABI,
}

/** Result of a contract's `getAttestTypeHash()`, by layout. */
export const ATTEST_TYPE_HASHES: Readonly<Record<AttestLayout, string>> = mapLayouts((layout) =>
  id(new TypedDataEncoder({ Attest: ATTEST_FIELDS[layout] }).encodeType('Attest')),
)

/** Layout of the type hash of a contract; undefined for an unknown hash, which must not be signed for. */
export function layoutOfTypeHash(typeHash: string): AttestLayout | undefined {
  return (Object.keys(ATTEST_TYPE_HASHES) as AttestLayout[]).find(
    (layout) => ATTEST_TYPE_HASHES[layout] === typeHash.toLowerCase(),
  )
}

/** EIP-712 domain separator of EAS or its proxy, equal to its `getDomainSeparator()`. */
export function domainSeparator(domain: AttestDomain): string {
  return TypedDataEncoder.hashDomain(domain)
}

/**
 * EIP-712 digest of a delegated attestation: keccak256(0x1901 | separator of the contract's domain | struct
 * hash). Throws a TypeError if a field does not fit its type.
 */
export async function attestDigest(
  separator: string,
  layout: AttestLayout,
  message: AttestMessage,
): Promise<string> {
  const keccak = await hasher
  const hash = (bytes: Uint8Array) => keccak.init().update(bytes).digest('binary')
  DIGESTED.set(hash(STRUCTS[layout](message, hash)), 34)
  writeHex(DIGESTED, separator, 2, 32)
  return `0x${keccak.init().update(DIGESTED).digest('hex')}`
}

/** Argument of eth_signTypedData_v4 (EIP-712). Amounts and times are decimal texts. */
export interface AttestTypedData {
  types: Record<string, readonly TypedDataField[]>
  primaryType: string
  domain: AttestDomain
  message: Record<string, string | boolean>
}

/** Typed data for signers that compute the digest themselves, with the caller's forms of id and addresses. */
export function typedDataOf<T extends object>(
  domain: AttestDomain,
  primaryType: string,
  fields: readonly TypedDataField[],
  message: T,
): AttestTypedData {
  const values = fields.map(({ name }) => {
    const value = message[name as keyof T]
    return [name, typeof value === 'boolean' ? value : String(value)] as const
  })
  return {
    types: { EIP712Domain: DOMAIN_FIELDS, [primaryType]: fields },
    ...{ primaryType, domain, message: Object.fromEntries(values) },
  }
}

/** Typed data of which `attestDigest` is the digest. */
export function attestTypedData(
  domain: AttestDomain,
  layout: AttestLayout,
  message: AttestMessage,
): AttestTypedData {
  return typedDataOf(domain, 'Attest', ATTEST_FIELDS[layout], message)
}

/** 0x1901, separator and struct hash, in one buffer for all calls, because no await comes in between. */
const DIGESTED = Buffer.concat([Buffer.from('1901', 'hex'), Buffer.alloc(64)])

type StructWriter = (message: AttestMessage, hash: (bytes: Uint8Array) => Uint8Array) => Uint8Array

/**
 * Returns an encoder of a struct (EIP-712, encodeData) whose calls all return one buffer, in which unchanged
 * parts stay. It is 30 times as fast as ethers.
 */
function structWriter(layout: AttestLayout): StructWriter {
  const fields = ATTEST_FIELDS[layout].map(({ name, type }, i) => ({
    name: name as keyof AttestMessage,
    type,
    at: 32 * (i + 1),
  }))
  const struct = Buffer.alloc(32 * (fields.length + 1))
  writeHex(struct, ATTEST_TYPE_HASHES[layout], 0, 32)
  return (message, hash) => {
    for (const { name, type, at } of fields) {
      const value = message[name]
      if (type === 'bytes32') writeHex(struct, value as string, at, 32)
      else if (type === 'address') writeHex(struct, value as string, at + 12, 20)
      else if (type === 'bytes') struct.set(hash(payloadBytes(value as string)), at)
      else if (type === 'bool') struct[at + 31] = value ? 1 : 0
      else writeUint(struct, value as bigint | number, at, type === 'uint64' ? 8 : 32)
    }
    return struct
  }
}

/** Writes `bytes` bytes of hex. Throws a TypeError for any other text. */
function writeHex(buffer: Buffer, text: string, at: number, bytes: number): void {
  buffer.write(hex(text, bytes), at, 'hex')
}

/** Writes a number of at most `bytes` bytes as a word. Throws a TypeError if it does not fit. */
function writeUint(buffer: Buffer, value: bigint | number, at: number, bytes: number): void {
  writeHex(buffer, `0x${word(value, bytes)}`, at, 32)
}

/**
 * Argument of `attestByDelegation`, with numbers as ethers, viem and eas-sdk all accept them. Contracts of
 * the legacy layout ignore the deadline.
 */
export interface DelegatedRequest {
  schema: string
  data: {
    recipient: string
    expirationTime: number
    revocable: boolean
    refUID: string
    data: string
    /** decimal string: eas-sdk's sum of values fails for a number */
    value: string
  }
  signature: { v: number; r: string; s: string }
  attester: string
  deadline: number
}

/** A `MultiDelegatedAttestationRequest`: delegated attestations of one schema, with one deadline. */
export interface MultiDelegatedRequest extends Pick<DelegatedRequest, 'schema' | 'attester' | 'deadline'> {
  data: DelegatedRequest['data'][]
  signatures: DelegatedRequest['signature'][]
}

/** Splits a canonical signature of 65 bytes into the contracts' argument. Throws a TypeError for others. */
export function splitSignature(signature: string): DelegatedRequest['signature'] {
  if (!isCanonicalSignature(signature)) throw new TypeError('expected a canonical signature of 65 bytes')
  const digits = signature.toLowerCase()
  return { v: parseInt(digits.slice(130), 16), r: digits.slice(0, 66), s: `0x${digits.slice(66, 130)}` }
}

const STRUCTS = mapLayouts(structWriter)
const INTERFACES = mapLayouts((layout) => new Interface(DELEGATED_ABIS[layout]))
const SELECTORS = mapLayouts((layout) => INTERFACES[layout].getFunction('attestByDelegation')!.selector)

/** Call data of `attestByDelegation` in hex, faster than ethers' (Contract ABI, "Use of Dynamic Types"). */
export function attestCalldata(
  layout: AttestLayout,
  { schema, data, signature, attester, deadline }: DelegatedRequest,
): string {
  const bytes = hex(data.data)
  const enforced = layout !== 'legacy'
  return [
    SELECTORS[layout],
    word(32, 32),
    hex(schema, 32),
    // The head has seven words, one of which is the deadline.
    word(enforced ? 224 : 192, 32),
    word(signature.v, 1),
    hex(signature.r, 32),
    hex(signature.s, 32),
    addressWord(attester),
    enforced ? word(deadline, 8) : '',
    addressWord(data.recipient),
    word(data.expirationTime, 8),
    word(data.revocable ? 1 : 0, 1),
    hex(data.refUID, 32),
    word(192, 32),
    word(BigInt(data.value), 32),
    word(bytes.length / 2, 32),
    padded(bytes),
  ]
    .join('')
    .toLowerCase()
}

/** Call data of `multiAttestByDelegation` in hex. */
export function multiAttestCalldata(
  layout: AttestLayout,
  requests: readonly MultiDelegatedRequest[],
): string {
  return INTERFACES[layout].encodeFunctionData('multiAttestByDelegation', [requests])
}

/** Name of the error that a call reverted with; undefined outside these ABIs, as for that of a resolver. */
export function delegationError(layout: AttestLayout, revertData: string): string | undefined {
  // Reads the selector only: a resolver may revert with a well-known error and malformed values.
  return revertData.length < 10 ? undefined : INTERFACES[layout].getError(revertData.slice(0, 10))?.name
}

/** A number of at most `bytes` bytes as a word of 32 bytes. */
function word(value: bigint | number, bytes: number): string {
  return uint(value, bytes).padStart(64, '0')
}

function mapLayouts<T>(make: (layout: AttestLayout) => T): Record<AttestLayout, T> {
  return { legacy: make('legacy'), v1: make('v1'), v2: make('v2'), proxy: make('proxy') }
}
