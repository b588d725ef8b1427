// SPDX-License-Identifier: MIT
import { TlogError } from './error'

/** Bytes whose buffer is not shared, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>

/** Number of bytes of a SHA-256 hash. */
export const HASH_SIZE = 32

/** Concatenation of byte arrays, and of texts as UTF-8. */
export function concat(...parts: readonly (Uint8Array | string)[]): Bytes {
  const encoded = parts.map((part) => (typeof part === 'string' ? new TextEncoder().encode(part) : part))
  const result = new Uint8Array(encoded.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of encoded) {
    result.set(part, at)
    at += part.length
  }
  return result
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += HEX[byte]
  return text
}

/** Value of a lower-case hex digit by its character code. */
const digit = (code: number) => (code < 0x3a ? code - 0x30 : code - 0x57)

/** Parses lower-case hex of a fixed number of bytes. Throws a TlogError that names the field. */
export function fromHex(field: string, text: string, size = HASH_SIZE): Bytes {
  if (text.length !== 2 * size || /[^0-9a-f]/.test(text))
    throw new TlogError(field, `${size} bytes in lower-case hex`)
  const bytes = new Uint8Array(size)
  // Digits are looked up in a table, because each signature encodes an entry: parseInt of each byte took 30
  // µs per entry.
  for (let at = 0; at < size; at++)
    bytes[at] = 16 * digit(text.charCodeAt(2 * at)) + digit(text.charCodeAt(2 * at + 1))
  return bytes
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** Canonical base64: padded, and with zeros in the bits that no byte uses (RFC 4648, sections 3.5 and 4). */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/

/**
 * Parses canonical base64 that encodes `size` bytes; any number if it is undefined. Throws a TlogError that
 * names the field.
 */
export function fromBase64(field: string, text: string, size?: number): Bytes {
  const bytes = BASE64.test(text) ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : undefined
  if (!bytes || (size !== undefined && bytes.length !== size))
    throw new TlogError(field, `${size === undefined ? '' : `${size} bytes in `}padded base64 (RFC 4648)`)
  return bytes
}

/** Number in big-endian order, in 1, 2, 4 or 8 bytes. */
export function toBigEndian(value: number, size: 1 | 2 | 4 | 8): Bytes {
  const bytes = new Uint8Array(size)
  let rest = value
  for (let at = size - 1; at >= 0; at--) {
    bytes[at] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return bytes
}

/** Number that bytes encode in big-endian order; not exact above Number.MAX_SAFE_INTEGER. */
export function fromBigEndian(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0)
}
