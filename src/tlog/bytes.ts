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

/** Values of the lower-case hex digits by their character codes; -1 for other characters. */
const DIGITS = Int8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code)),
)

/** Parses lower-case hex of a fixed number of bytes. Throws a TlogError that names the field. */
export function fromHex(field: string, text: string, size = HASH_SIZE): Bytes {
  const bytes = new Uint8Array(size)
  writeHex(field, text, 0, bytes, 0, size)
  return bytes
}

/**
 * Writes lower-case hex from `start` of a text into `size` bytes at `at`. Throws a TlogError that names the
 * field. Each signature encodes an entry: parseInt of each byte took 30 µs per entry.
 */
export function writeHex(
  field: string,
  text: string,
  start: number,
  bytes: Uint8Array,
  at: number,
  size: number,
): void {
  let [codes, values] = [0, text.length - start === 2 * size ? 0 : -1]
  for (let next = start, end = at + size, to = at; to < end && values >= 0; to++, next += 2) {
    const high = text.charCodeAt(next)
    const low = text.charCodeAt(next + 1)
    const value = (DIGITS[high & 127]! << 4) | DIGITS[low & 127]!
    codes |= high | low
    values |= value
    bytes[to] = value
  }
  if (values < 0 || codes > 127) throw new TlogError(field, `${size} bytes in lower-case hex`)
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** Canonical base64: padded, and with zeros in the bits that no byte uses (RFC 4648, sections 3.5 and 4). */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/

/** Parses canonical base64, of `size` bytes if given. Throws a TlogError that names the field. */
export function fromBase64(field: string, text: string, size?: number): Bytes {
  const bytes = BASE64.test(text) ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : undefined
  if (!bytes || (size !== undefined && bytes.length !== size))
    throw new TlogError(field, `${size === undefined ? '' : `${size} bytes in `}padded base64 (RFC 4648)`)
  return bytes
}

/** Number in big-endian order, in 1, 2, 4 or 8 bytes. */
export function toBigEndian(value: number, size: 1 | 2 | 4 | 8): Bytes {
  const bytes = new Uint8Array(size)
  writeBigEndian(value, bytes, 0, size)
  return bytes
}

/** Writes a number in big-endian order into `size` bytes at `at`. */
export function writeBigEndian(value: number, bytes: Uint8Array, at: number, size: number): void {
  let rest = value
  for (let next = at + size - 1; next >= at; next--) {
    bytes[next] = rest % 256
    rest = Math.floor(rest / 256)
  }
}

/** Number that bytes encode in big-endian order; not exact above Number.MAX_SAFE_INTEGER. */
export function fromBigEndian(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0)
}
