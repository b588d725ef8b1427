import { id } from 'ethers'
import { hasher } from './keccak'
import { recoverSigner } from './signature'
import { uint } from './words'

/** Why an offchain attestation is refused: it is not what it should look like (`invalid-input`), or what it says is not so (`verification-failed`). */
export class OffchainError extends Error {
  override readonly name = 'OffchainError'

  constructor(
    readonly slug: 'invalid-input' | 'verification-failed',
    message: string,
  ) {
    super(message)
  }
}

/** An EAS offchain attestation whose UID and signature hold. Hex lower-case, times in Unix seconds. */
export interface OffchainAttestation {
  uid: string
  /** The address whose key signed it, recovered. */
  signer: string
  schema: string
  time: bigint
  /** 0 = never */
  expirationTime: bigint
  data: string
}

/** What an offchain attestation is held against. */
export interface OffchainExpectation {
  chainId: number
  /** That chain's EAS, lower-case. */
  contract: string
  /** The UID that was asked for, lower-case; absent where the document alone was given. */
  uid?: string
  /** Unix seconds */
  now: bigint
}

/**
 * Versions that EAS contracts have given themselves, as signers put them into the domain (1.0.0: a client library's constant).
 * Nothing on a chain says which one is right for an offchain signature; name, chain and contract bind it.
 */
const DOMAIN_VERSIONS: readonly unknown[] = [
  '0.26',
  '1.0.0',
  '1.0.1',
  '1.0.2',
  '1.1.0',
  '1.2.0',
  '1.3.0',
  '1.4.0',
]
const DOMAIN_NAME = 'EAS Attestation'
/** The location payloads that are decoded are no larger. */
const MAX_DATA_BYTES = 262_144
/** How far the signer's clock may be ahead of ours, seconds. */
const MAX_SKEW_SECONDS = 60n

interface Field {
  name: string
  type: string
}
const COMMON_FIELDS: readonly Field[] = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'time', type: 'uint64' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
]
const VERSION_1_FIELDS: readonly Field[] = [{ name: 'version', type: 'uint16' }, ...COMMON_FIELDS]
/** What is signed, by version. */
const FIELDS = [
  COMMON_FIELDS,
  VERSION_1_FIELDS,
  [...VERSION_1_FIELDS, { name: 'salt', type: 'bytes32' }],
] as const
type Version = 0 | 1 | 2
/** What a document may say of its types, by version: the name of the one type there is, and the primary type, which need not name it. Version 0 was written in three ways. */
const VARIANTS: Readonly<Record<Version, readonly { type: string; primaryType: string }[]>> = {
  0: [
    { type: 'Attestation', primaryType: 'Attestation' },
    { type: 'Attest', primaryType: 'Attestation' },
    { type: 'Attest', primaryType: 'Attest' },
  ],
  1: [{ type: 'Attest', primaryType: 'Attest' }],
  2: [{ type: 'Attest', primaryType: 'Attest' }],
}

/** keccak256 of a text, without 0x. */
const textHash = (text: string) => id(text).slice(2)
const DOMAIN_TYPE_HASH = textHash(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
)
const DOMAIN_NAME_HASH = textHash(DOMAIN_NAME)
const TYPE_HASHES = FIELDS.map((fields): Readonly<Record<string, string>> => {
  const list = fields.map(({ name, type }) => `${type} ${name}`).join()
  return { Attest: textHash(`Attest(${list})`), Attestation: textHash(`Attestation(${list})`) }
})

/** The last byte of a signature, by v. 0 and 1 stand for 27 and 28, which is the same signature. */
const V_BYTES: Readonly<Record<number, string>> = { 0: '1b', 1: '1c', 27: '1b', 28: '1c' }
const MAX_UINT64 = 2n ** 64n - 1n

/**
 * Verifies an EAS offchain attestation of version 0, 1 or 2: the file `{sig, signer}` of EAS's explorer and library, or
 * the library's own object with `signer` in it, parsed. In this order: shape, our own types, size, domain, UID, signature, times. Reads a fixed
 * number of fields and follows no nesting. Whether the signer has revoked it, and what its schema is, is not looked at.
 * Throws an OffchainError that names the check.
 */
export async function verifyOffchain(
  document: unknown,
  expected: OffchainExpectation,
): Promise<OffchainAttestation> {
  const keccak = await hasher
  const hash = (...parts: (string | Uint8Array)[]) => {
    keccak.init()
    for (const part of parts) keccak.update(typeof part === 'string' ? Buffer.from(part, 'hex') : part)
    return keccak.digest('hex')
  }

  const attestation = readDocument(document)
  const { domain, message, signature } = attestation
  checkDomain(domain, expected)

  // The UID hashes the schema as text, so that upper-case digits would give a second UID under the same signature, which no revocation meets.
  const uid = `0x${hash(...uidPreimage(message))}`
  if (uid !== attestation.uid) throw failed(`its uid is not that of its content, which is ${uid}`)
  if (expected.uid !== undefined && uid !== expected.uid)
    throw failed(`it is ${uid}, not the attestation that was asked for`)

  const separator = hash(
    DOMAIN_TYPE_HASH +
      DOMAIN_NAME_HASH +
      hash(textHex(domain.version)) +
      uint(domain.chainId, 32) +
      word(domain.contract),
  )
  const digest = `0x${hash(`1901${separator}${hash(structWords(message, hash(message.data)))}`)}`
  const signer = await recover(digest, signature)
  if (signer !== attestation.signer)
    throw failed(`its signature is not that of its signer, but recovers to ${signer}`)

  const { time, expirationTime, schema, data } = message
  checkExpiry(expirationTime, expected.now)
  if (time > expected.now + MAX_SKEW_SECONDS)
    throw failed(`its time, ${time}, lies in the future (it is ${expected.now}, in Unix seconds)`)
  return { uid, signer, schema, time, expirationTime, data: `0x${data.toString('hex')}` }
}

/** Throws an OffchainError where an attestation has expired; times in Unix seconds, 0 = never. */
export function checkExpiry(expirationTime: bigint, now: bigint): void {
  if (expirationTime !== 0n && expirationTime <= now)
    throw failed(`it expired at ${expirationTime} (Unix seconds)`)
}

interface Message {
  version: Version
  /** The name of the type under which it was signed. */
  type: string
  schema: string
  recipient: string
  time: bigint
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: Buffer
  salt: string | undefined
}

interface Domain {
  version: string
  chainId: bigint
  contract: string
}

interface Document {
  uid: string
  signer: string
  domain: Domain & { name: string }
  message: Message
  signature: { r: string; s: string; v: number }
}

/** The fields of a document, hex in lower-case; unsigned extra ones are passed over. */
function readDocument(document: unknown): Document {
  const outer = object(document, 'the attestation')
  const enveloped = Object.hasOwn(outer, 'sig')
  const sig = enveloped ? object(outer.sig, 'sig') : outer
  if (!enveloped && !Object.hasOwn(outer, 'message'))
    throw malformed(
      'sig',
      'missing; expected an EAS offchain attestation {sig: {domain, primaryType, types, message, signature, uid}, signer}. A form that leaves out salt, schema or domain cannot be verified',
    )
  const path = enveloped ? 'sig.' : ''
  const domain = object(sig.domain, `${path}domain`)
  const message = object(sig.message, `${path}message`)
  const signature = object(sig.signature, `${path}signature`)
  const version = readVersion(sig.version, message.version, path)
  const type = readType(sig, version, path)
  return {
    uid: hex(sig.uid, 32, `${path}uid`),
    signer: hex(outer.signer, 20, 'signer'),
    domain: {
      name: text(domain.name, `${path}domain.name`),
      version: text(domain.version, `${path}domain.version`),
      chainId: integer(domain.chainId, `${path}domain.chainId`),
      contract: hex(domain.verifyingContract, 20, `${path}domain.verifyingContract`),
    },
    message: {
      version,
      type,
      schema: hex(message.schema, 32, `${path}message.schema`),
      recipient: hex(message.recipient, 20, `${path}message.recipient`),
      time: integer(message.time, `${path}message.time`),
      expirationTime: integer(message.expirationTime, `${path}message.expirationTime`),
      revocable: boolean(message.revocable, `${path}message.revocable`),
      refUID: hex(message.refUID, 32, `${path}message.refUID`),
      data: payload(message.data, `${path}message.data`),
      salt: version === 2 ? hex(message.salt, 32, `${path}message.salt`) : undefined,
    },
    signature: {
      r: hex(signature.r, 32, `${path}signature.r`),
      s: hex(signature.s, 32, `${path}signature.s`),
      v: Number(integer(signature.v, `${path}signature.v`)),
    },
  }
}

/** The version is the message's, which is signed (from 1 on); the oldest documents have none. One beside it is not signed and must agree. */
function readVersion(outer: unknown, signed: unknown, path: string): Version {
  const expected = 'expected 0, 1 or 2'
  for (const [version, name] of [
    [outer, 'version'],
    [signed, 'message.version'],
  ] as const)
    if (version !== undefined && version !== 0 && version !== 1 && version !== 2)
      throw malformed(`${path}${name}`, expected)
  if (signed === undefined && outer !== undefined && outer !== 0)
    throw malformed(`${path}message.version`, `missing; ${expected}`)
  const version = (signed ?? 0) as Version
  if (outer !== undefined && outer !== version)
    throw failed(`${path}version is not the version of the message, ${version}`)
  return version
}

/** The types are ours: a document that says others was signed as something else, or would have it so. */
function readType(sig: Record<string, unknown>, version: Version, path: string): string {
  const types = object(sig.types, `${path}types`)
  const primaryType = text(sig.primaryType, `${path}primaryType`)
  const names = Object.keys(types)
  const variant = VARIANTS[version].find((each) => each.type === names[0] && each.primaryType === primaryType)
  if (names.length !== 1 || !variant || !equalFields(types[variant.type], FIELDS[version]))
    throw failed(
      `its types and primaryType are not those of an EAS offchain attestation of version ${version}`,
    )
  return variant.type
}

function equalFields(given: unknown, fields: readonly Field[]): boolean {
  if (!Array.isArray(given) || given.length !== fields.length) return false
  return fields.every(({ name, type }, i) => {
    const field: unknown = given[i]
    return isObject(field) && field.name === name && field.type === type
  })
}

function checkDomain(domain: Document['domain'], { chainId, contract }: OffchainExpectation): void {
  if (domain.name !== DOMAIN_NAME) throw failed(`its domain's name is not "${DOMAIN_NAME}"`)
  if (domain.chainId !== BigInt(chainId))
    throw failed(`it was made for chain ${domain.chainId}, not for chain ${chainId}`)
  if (domain.contract !== contract)
    throw failed(
      `its domain names the contract ${domain.contract}, not ${contract}, the EAS of chain ${chainId}`,
    )
  if (!DOMAIN_VERSIONS.includes(domain.version))
    throw failed(`its domain's version is none of EAS (${DOMAIN_VERSIONS.join(', ')})`)
}

/** What the UID hashes, in hex and bytes: the fields packed, the schema as text, no attester, and a bump of 0 (eas-sdk, getOffchainUID). */
function uidPreimage({
  version,
  schema,
  recipient,
  time,
  expirationTime,
  revocable,
  refUID,
  data,
  salt,
}: Message): [string, Buffer, string] {
  const before =
    (version === 0 ? '' : uint(version, 2)) +
    textHex(schema) +
    digits(recipient) +
    '0'.repeat(40) +
    uint(time, 8) +
    uint(expirationTime, 8) +
    (revocable ? '01' : '00') +
    digits(refUID)
  return [before, data, (salt === undefined ? '' : digits(salt)) + uint(0, 4)]
}

/** The EIP-712 encoding of a message, in hex, before its hash ("hashStruct"). */
function structWords(
  { version, type, schema, recipient, time, expirationTime, revocable, refUID, salt }: Message,
  dataHash: string,
): string {
  return (
    TYPE_HASHES[version]![type]! +
    (version === 0 ? '' : uint(version, 32)) +
    digits(schema) +
    word(recipient) +
    uint(time, 32) +
    uint(expirationTime, 32) +
    uint(revocable ? 1 : 0, 32) +
    digits(refUID) +
    dataHash +
    (salt === undefined ? '' : digits(salt))
  )
}

/** The signer, lower-case. Of the two signatures s and n - s only the lower is one (EIP-2). */
async function recover(digest: string, { r, s, v }: Document['signature']): Promise<string> {
  const vByte = V_BYTES[v]
  const signer = vByte && (await recoverSigner(digest, r + digits(s) + vByte))
  if (!signer)
    throw failed(
      "its signature is not valid: expected v 27 or 28, s in the lower half of the curve's order, and r of a point on the curve",
    )
  return signer
}

function failed(problem: string): OffchainError {
  return new OffchainError('verification-failed', problem)
}

function malformed(path: string, problem: string): OffchainError {
  return new OffchainError('invalid-input', `${path}: ${problem}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function object(value: unknown, path: string): Record<string, unknown> {
  if (!isObject(value)) throw malformed(path, `${value === undefined ? 'missing; ' : ''}expected an object`)
  return value
}

function text(value: unknown, path: string): string {
  if (typeof value !== 'string')
    throw malformed(path, `${value === undefined ? 'missing; ' : ''}expected a string`)
  return value
}

function boolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean')
    throw malformed(path, `${value === undefined ? 'missing; ' : ''}expected true or false`)
  return value
}

/** Up to 2^64 - 1; JSON numbers beyond 2^53 have lost digits. */
function integer(value: unknown, path: string): bigint {
  const whole =
    typeof value === 'number'
      ? Number.isSafeInteger(value) && value >= 0
      : typeof value === 'string' && value.length <= 20 && /^(0|[1-9]\d*)$/.test(value)
  const number = whole ? BigInt(value as number | string) : undefined
  if (number === undefined || number > MAX_UINT64)
    throw malformed(
      path,
      `${value === undefined ? 'missing; ' : ''}expected a whole number of at most 64 bits, as a string if beyond 2^53`,
    )
  return number
}

function hex(value: unknown, bytes: number, path: string): string {
  if (typeof value !== 'string' || value.length !== 2 + 2 * bytes || !/^0x[0-9a-fA-F]*$/.test(value))
    throw malformed(path, `${value === undefined ? 'missing; ' : ''}expected 0x and ${2 * bytes} hex digits`)
  return value.toLowerCase()
}

function payload(value: unknown, path: string): Buffer {
  const given = text(value, path)
  if (given.length > 2 + 2 * MAX_DATA_BYTES) throw malformed(path, `at most ${MAX_DATA_BYTES} bytes are read`)
  const bytes = Buffer.from(given.slice(2), 'hex')
  // Buffer stops at what is no hex.
  if (!given.startsWith('0x') || 2 + 2 * bytes.length !== given.length)
    throw malformed(path, 'expected bytes in hex')
  return bytes
}

/** Hex without 0x. */
function digits(prefixed: string): string {
  return prefixed.slice(2)
}

/** An address as a word of 32 bytes. */
function word(prefixed: string): string {
  return digits(prefixed).padStart(64, '0')
}

function textHex(value: string): string {
  return Buffer.from(value, 'utf8').toString('hex')
}
