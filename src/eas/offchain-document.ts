// SPDX-License-Identifier: MIT
import type { Field } from './layouts'

/**
 * Form of offchain attestations: parses the documents that EAS's explorer and library write into typed
 * fields. offchain-hash.ts computes their UID and digest, and offchain.ts verifies them.
 */

/** Error for an offchain attestation that is malformed (`invalid-input`), or that fails a check. */
export class OffchainError extends Error {
  override readonly name = 'OffchainError'

  constructor(
    readonly slug: 'invalid-input' | 'verification-failed',
    message: string,
    /** True if the attestation has expired. */
    readonly isExpired = false,
  ) {
    super(message)
  }
}

/** Maximum number of bytes of `data`. */
const MAX_DATA_BYTES = 262_144
const MAX_UINT64 = 2n ** 64n - 1n

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
/** Signed fields, by version. */
export const FIELDS = [
  COMMON_FIELDS,
  VERSION_1_FIELDS,
  [...VERSION_1_FIELDS, { name: 'salt', type: 'bytes32' }],
] as const
type Version = 0 | 1 | 2
/**
 * Types that a document may name, by version: its only type, and its primary type, whose name may differ.
 * Version 0 was written in three ways.
 */
const VARIANTS: Readonly<Record<Version, readonly { type: string; primaryType: string }[]>> = {
  0: [
    { type: 'Attestation', primaryType: 'Attestation' },
    { type: 'Attest', primaryType: 'Attestation' },
    { type: 'Attest', primaryType: 'Attest' },
  ],
  1: [{ type: 'Attest', primaryType: 'Attest' }],
  2: [{ type: 'Attest', primaryType: 'Attest' }],
}

export interface Message {
  version: Version
  /** name of the signed type */
  type: string
  schema: string
  recipient: string
  time: bigint
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: string
  salt: string | undefined
}

export interface Document {
  uid: string
  signer: string
  domain: { name: string; version: string; chainId: bigint; contract: string }
  message: Message
  /** signature of a key (parts, or 64 or 65 bytes in hex), or any bytes for the signer's contract */
  signature: { r: string; s: string; v: number } | string
}

/** Maximum number of bytes of an account's signature. One of a passkey with its factory has about 1,300. */
export const MAX_SIGNATURE_BYTES = 4_096

/**
 * Parses the fields of a document; hex becomes lower-case. Unsigned extra fields are ignored.
 * @param ofAccounts true if the signature may have another length than a key's
 */
export function readDocument(document: unknown, ofAccounts: boolean): Document {
  const outer = object(document, 'the attestation')
  const enveloped = Object.hasOwn(outer, 'sig')
  const sig = enveloped ? object(outer.sig, 'sig') : outer
  if (!enveloped && !Object.hasOwn(outer, 'message'))
    throw malformed(
      'sig',
      'missing; expected an EAS offchain attestation {sig: {domain, primaryType, types, message, signature, uid}, signer}. A form that leaves out salt, schema or domain cannot be verified.',
    )
  const path = enveloped ? 'sig.' : ''
  const domain = object(sig.domain, `${path}domain`)
  const message = object(sig.message, `${path}message`)
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
    signature: readSignature(sig.signature, `${path}signature`, ofAccounts),
  }
}

function readSignature(value: unknown, path: string, ofAccounts: boolean): Document['signature'] {
  const isOfKey = typeof value === 'string' && /^0x([0-9a-f]{128}|[0-9a-f]{130})$/i.test(value)
  if (typeof value === 'string' && (ofAccounts || isOfKey)) {
    const bytes = (value.length - 2) / 2
    if (bytes < 1 || bytes > MAX_SIGNATURE_BYTES || !/^0x([0-9a-f]{2})*$/i.test(value))
      throw malformed(path, `expected r, s and v, or 1 to ${MAX_SIGNATURE_BYTES} bytes in hex`)
    return value.toLowerCase()
  }
  const signature = object(value, path)
  // EIP-2098 parts, under the names that viem and ethers use.
  const compact = ['yParityAndS', 'vs'].find((name) => Object.hasOwn(signature, name))
  if (compact !== undefined && !Object.hasOwn(signature, 'v'))
    return `${hex(signature.r, 32, `${path}.r`)}${hex(signature[compact], 32, `${path}.${compact}`).slice(2)}`
  return {
    r: hex(signature.r, 32, `${path}.r`),
    s: hex(signature.s, 32, `${path}.s`),
    v: Number(integer(signature.v, `${path}.v`)),
  }
}

/**
 * Version of the message, signed from version 1 on; the oldest documents have none. Another one outside the
 * message is not signed and must agree with it.
 */
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
    throw failed(`${path}version differs from the version of the message, ${version}`)
  return version
}

/** Type name. Throws unless the types are those of the version: with others, something else was signed. */
function readType(sig: Record<string, unknown>, version: Version, path: string): string {
  const types = object(sig.types, `${path}types`)
  const primaryType = text(sig.primaryType, `${path}primaryType`)
  const names = Object.keys(types)
  const variant = VARIANTS[version].find(
    (variant) => variant.type === names[0] && variant.primaryType === primaryType,
  )
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

/** Error of a failed check. */
export function failed(problem: string): OffchainError {
  return new OffchainError('verification-failed', problem)
}

function malformed(path: string, problem: string): OffchainError {
  return new OffchainError('invalid-input', `${path}: ${problem}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Error for a value that is missing or not the expected one. */
function unexpected(value: unknown, path: string, expected: string): OffchainError {
  return malformed(path, `${value === undefined ? 'missing; ' : ''}expected ${expected}`)
}

function object(value: unknown, path: string): Record<string, unknown> {
  if (!isObject(value)) throw unexpected(value, path, 'an object')
  return value
}

function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw unexpected(value, path, 'a string')
  return value
}

function boolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw unexpected(value, path, 'true or false')
  return value
}

/** Whole number up to 2^64 - 1. JSON numbers beyond 2^53 have lost digits. */
function integer(value: unknown, path: string): bigint {
  const whole =
    typeof value === 'number'
      ? Number.isSafeInteger(value) && value >= 0
      : typeof value === 'string' && value.length <= 20 && /^(0|[1-9]\d*)$/.test(value)
  const number = whole ? BigInt(value as number | string) : undefined
  if (number === undefined || number > MAX_UINT64)
    throw unexpected(value, path, 'a whole number of at most 64 bits, as a string if beyond 2^53')
  return number
}

function hex(value: unknown, bytes: number, path: string): string {
  if (typeof value !== 'string' || value.length !== 2 + 2 * bytes || !/^0x[0-9a-fA-F]*$/.test(value))
    throw unexpected(value, path, `0x and ${2 * bytes} hex digits`)
  return value.toLowerCase()
}

function payload(value: unknown, path: string): string {
  const given = text(value, path)
  if (given.length > 2 + 2 * MAX_DATA_BYTES) throw malformed(path, `expected at most ${MAX_DATA_BYTES} bytes`)
  if (given.length % 2 === 1 || !/^0x[0-9a-f]*$/i.test(given)) throw malformed(path, 'expected bytes in hex')
  return given.toLowerCase()
}
