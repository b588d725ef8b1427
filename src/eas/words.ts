/** Digits of a hex text, its 0x left off. Throws a TypeError unless it is so many bytes, or some. */
export function hex(text: string, bytes?: number): string {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(text) || (bytes !== undefined && text.length !== 2 + 2 * bytes))
    throw new TypeError(`expected ${bytes ?? 'some'} bytes in hex, got ${text.slice(0, 80)}`)
  return text.slice(2)
}

/** A whole number, at least 0, as so many bytes in hex, big-endian. Throws a TypeError for any other, and for one that does not fit. */
export function uint(value: bigint | number, bytes: number): string {
  const digits = value.toString(16).padStart(2 * bytes, '0')
  if (digits.length > 2 * bytes || !/^[0-9a-f]+$/.test(digits))
    throw new TypeError(`${value} does not fit ${8 * bytes} bits`)
  return digits
}

/** Bytes in hex, filled up with zeros to whole words, as the ABI lays out `bytes` and `string` behind their length. */
export function padded(digits: string): string {
  return digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
}
