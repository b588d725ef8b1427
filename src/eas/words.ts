// SPDX-License-Identifier: MIT
/** Digits of a hex text without 0x. Throws a TypeError if it is not hex, or does not have `bytes` bytes. */
export function hex(text: string, bytes?: number): string {
  if (text.length % 2 || (bytes !== undefined && text.length !== 2 + 2 * bytes) || !HEX.test(text))
    throw new TypeError(`expected ${bytes ?? 'some'} bytes in hex, got ${text.slice(0, 80)}`)
  return text.slice(2)
}
const HEX = /^0x[0-9a-fA-F]*$/

/** A whole number, at least 0, as hex of `bytes` bytes, big-endian. Throws a TypeError for other numbers. */
export function uint(value: bigint | number, bytes: number): string {
  const isWhole = typeof value === 'bigint' || Number.isInteger(value)
  const digits = value.toString(16)
  if (!isWhole || value < 0 || digits.length > 2 * bytes)
    throw new TypeError(`${value} does not fit ${8 * bytes} bits`)
  // This is twice as fast as padStart.
  return ZEROS.slice(0, 2 * bytes - digits.length) + digits
}
const ZEROS = '0'.repeat(64)

/** An address as a word of 32 bytes. Throws a TypeError for any other text. */
export function addressWord(text: string): string {
  return hex(text, 20).padStart(64, '0')
}

/** Hex padded with zeros to whole words, as the ABI encodes the content of `bytes` and `string`. */
export function padded(digits: string): string {
  return digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
}
