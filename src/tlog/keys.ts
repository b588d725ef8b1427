// SPDX-License-Identifier: MIT
import { concat, fromBase64, fromBigEndian, fromHex, toBase64, toBigEndian, type Bytes } from './bytes'
import { publicKeyOf } from './ed25519'
import { TlogError } from './error'
import { sha256 } from './sha256'

/** Signature types (c2sp.org/signed-note): Ed25519 of a log, and timestamped Ed25519 of a witness. */
export const SIGNATURE_TYPES = { ed25519: 1, cosignature: 4 } as const
export type SignatureType = keyof typeof SIGNATURE_TYPES

/** Public key of a log or a witness. */
export interface VerifierKey {
  /** Name in signature lines, such as `example.com/log`. */
  name: string
  type: SignatureType
  /** First 4 bytes of a hash of name, type and key. */
  id: number
  /** 32 bytes of Ed25519 */
  publicKey: Bytes
}

/** Private key of a log or a witness. */
export interface SignerKey extends VerifierKey {
  /** 32 bytes (RFC 8032, 5.1.5) */
  seed: Bytes
}

/** Characters that no key name contains: Unicode spaces, control characters, lone surrogates and `+`. */
const NOT_IN_NAMES = /[\p{White_Space}\p{Cs}\u0000-\u001f+]/u

/** Throws a TlogError unless the text can be the name of a key (c2sp.org/signed-note). */
export function checkKeyName(field: string, name: string): void {
  if (name === '' || NOT_IN_NAMES.test(name))
    throw new TlogError(field, 'a name without spaces and plus signs')
}

function keyOf(name: string, type: SignatureType, publicKey: Bytes): VerifierKey {
  const hash = sha256(concat(name, new Uint8Array([0x0a, SIGNATURE_TYPES[type]]), publicKey))
  return { name, type, id: fromBigEndian(hash.subarray(0, 4)), publicKey }
}

const idText = (id: number) => id.toString(16).padStart(8, '0')

/** Reads `<name>+<key ID>+<base64 of type and 32 bytes>`. */
function parseKeyText(field: string, text: string) {
  const [, name, id, encoded] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new TlogError(field, 'a key of the form <name>+<key ID>+<base64>')
  checkKeyName(field, name)
  const [code, ...bytes] = fromBase64(field, encoded!, 33)
  const types = Object.keys(SIGNATURE_TYPES) as SignatureType[]
  const type = types.find((each) => SIGNATURE_TYPES[each] === code)
  if (!type) throw new TlogError(field, 'a key with signature type 1 (Ed25519) or 4 (Ed25519 cosignature)')
  return {
    name,
    type,
    id: fromBigEndian(fromHex(`key ID of ${field}`, id!, 4)),
    bytes: Uint8Array.from(bytes),
  }
}

function checkId(field: string, key: VerifierKey, id: number): void {
  if (key.id !== id)
    throw new TlogError(field, `a key with the ID ${idText(key.id)}, which is that of its bytes`)
}

/** Parses a verifier key (c2sp.org/signed-note), `example.com/log+c74f20a3+ARpc...`. Throws a TlogError. */
export function parseVerifierKey(text: string): VerifierKey {
  const { name, type, id, bytes } = parseKeyText('verifier key', text)
  const key = keyOf(name, type, bytes)
  checkId('verifier key', key, id)
  return key
}

/** Text of a verifier key, the inverse of `parseVerifierKey`. */
export function formatVerifierKey({ name, type, id, publicKey }: VerifierKey): string {
  return `${name}+${idText(id)}+${toBase64(concat(toBigEndian(SIGNATURE_TYPES[type], 1), publicKey))}`
}

const PRIVATE = 'PRIVATE+KEY+'

/** Parses a signer key, `PRIVATE+KEY+example.com/log+c74f20a3+AYEK...`. No error message contains the key. */
export async function parseSignerKey(text: string): Promise<SignerKey> {
  if (!text.startsWith(PRIVATE)) throw new TlogError('signer key', `a key that starts with ${PRIVATE}`)
  const { name, type, id, bytes: seed } = parseKeyText('signer key', text.slice(PRIVATE.length))
  const key = await signerKey(name, type, seed)
  checkId('signer key', key, id)
  return key
}

/** Text of a signer key, which is secret. */
export function formatSignerKey({ name, type, id, seed }: SignerKey): string {
  return PRIVATE + formatVerifierKey({ name, type, id, publicKey: seed })
}

/** Derives a key from a seed of 32 bytes. Throws a TlogError if the name is not a key name. */
export async function signerKey(name: string, type: SignatureType, seed: Bytes): Promise<SignerKey> {
  checkKeyName('key name', name)
  return { ...keyOf(name, type, await publicKeyOf(seed)), seed }
}

/** Generates a random key. */
export function generateSignerKey(name: string, type: SignatureType): Promise<SignerKey> {
  return signerKey(name, type, crypto.getRandomValues(new Uint8Array(32)))
}
