// SPDX-License-Identifier: MIT
import { FIELDS, type Document, type Message } from './offchain-document'
import { addressWord, hex, uint } from './words'

/** keccak256 of bytes; argument and result are hex without 0x. */
export type Keccak = (digits: string) => string

export const DOMAIN_NAME = 'EAS Attestation'
const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'

/**
 * UID of an offchain attestation, lower-case: keccak256 of the packed fields with the schema as text, no
 * attester, and a bump of 0 (eas-sdk, getOffchainUID).
 */
export function offchainUid(message: Message, keccak: Keccak): string {
  const { version, schema, recipient, time, expirationTime, revocable, refUID, data, salt } = message
  const packed =
    (version === 0 ? '' : uint(version, 2)) +
    textHex(schema) +
    hex(recipient) +
    '0'.repeat(40) +
    uint(time, 8) +
    uint(expirationTime, 8) +
    (revocable ? '01' : '00') +
    hex(refUID) +
    hex(data) +
    (salt === undefined ? '' : hex(salt)) +
    uint(0, 4)
  return `0x${keccak(packed)}`
}

/** EIP-712 digest that the signer of a document signed, if its domain has EAS's name. */
export function offchainDigest({ domain, message }: Document, keccak: Keccak): string {
  const separator = keccak(
    textHash(DOMAIN_TYPE, keccak) +
      textHash(DOMAIN_NAME, keccak) +
      keccak(textHex(domain.version)) +
      uint(domain.chainId, 32) +
      addressWord(domain.contract),
  )
  return `0x${keccak(`1901${separator}${keccak(structWords(message, keccak))}`)}`
}

/** EIP-712 encoding of a message in hex, the input of "hashStruct". */
function structWords(message: Message, keccak: Keccak): string {
  const { version, type, schema, recipient, time, expirationTime, revocable, refUID, data, salt } = message
  const fields = FIELDS[version].map((field) => `${field.type} ${field.name}`).join()
  return (
    textHash(`${type}(${fields})`, keccak) +
    (version === 0 ? '' : uint(version, 32)) +
    hex(schema) +
    addressWord(recipient) +
    uint(time, 32) +
    uint(expirationTime, 32) +
    uint(revocable ? 1 : 0, 32) +
    hex(refUID) +
    keccak(hex(data)) +
    (salt === undefined ? '' : hex(salt))
  )
}

/** Cache of the hashes of types and names, by text. There are only a few. */
const textHashes = new Map<string, string>()

function textHash(text: string, keccak: Keccak): string {
  let hash = textHashes.get(text)
  if (hash === undefined) textHashes.set(text, (hash = keccak(textHex(text))))
  return hash
}

function textHex(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
