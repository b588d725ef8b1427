/** The two words of a double, as fdlibm works on them. */
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
/** The place of the high word: it depends on the order of bytes of the machine. */
const HIGH = new Uint32Array(Float64Array.of(1).buffer)[1] === 0 ? 0 : 1
const LOW = 1 - HIGH

/** Sign, exponent and the first 20 bits of the fraction, from 0 to 2^32 - 1. */
export function highWord(x: number): number {
  double[0] = x
  return words[HIGH]!
}

/** The double with this high word, and zeros in the low one. */
export function ofHighWord(high: number): number {
  words[HIGH] = high
  words[LOW] = 0
  return double[0]!
}

/** The number with another high word. */
export function withHighWord(x: number, high: number): number {
  double[0] = x
  words[HIGH] = high
  return double[0]
}

/** The number without the last 32 bits of its fraction. */
export function withoutLowWord(x: number): number {
  double[0] = x
  words[LOW] = 0
  return double[0]
}

/** The number rounded to the first 23 bits of its fraction, away from zero where it lies in the middle. */
export function roundedTo23(x: number): number {
  double[0] = x
  const low = words[LOW]!
  words[LOW] = (low + 0x8000_0000) & 0xc000_0000
  if (low >= 0x8000_0000) words[HIGH]!++
  return double[0]
}
