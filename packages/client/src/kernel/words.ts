// SPDX-License-Identifier: MIT
/** Splits a double into its two 32-bit words, on which fdlibm operates. */
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
/** Index of the high word, which depends on the machine's byte order. */
const HIGH = new Uint32Array(Float64Array.of(1).buffer)[1] === 0 ? 0 : 1
const LOW = 1 - HIGH

/** Returns the sign, the exponent and the first 20 bits of the fraction as an integer from 0 to 2^32 - 1. */
export function highWord(x: number): number {
  double[0] = x
  return words[HIGH]!
}

/** Returns the double with this high word and a low word of zeros. */
export function ofHighWord(high: number): number {
  words[HIGH] = high
  words[LOW] = 0
  return double[0]!
}

/** Returns the number with another high word. */
export function withHighWord(x: number, high: number): number {
  double[0] = x
  words[HIGH] = high
  return double[0]
}

/** Returns the number without the last 32 bits of its fraction. */
export function withoutLowWord(x: number): number {
  double[0] = x
  words[LOW] = 0
  return double[0]
}

/** Rounds a number to the first 23 bits of its fraction; ties round away from zero. */
export function roundedTo23(x: number): number {
  double[0] = x
  const low = words[LOW]!
  words[LOW] = (low + 0x8000_0000) & 0xc000_0000
  if (low >= 0x8000_0000) words[HIGH]!++
  return double[0]
}
