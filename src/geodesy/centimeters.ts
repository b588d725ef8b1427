// SPDX-License-Identifier: MIT
/**
 * Whole centimetres, rounded half up, of metres from 0. It rounds the shortest decimal that reads as this
 * double: 1.005 is 101, although its double is less and 100 times it is 100.49999999999999.
 */
export function toCentimeters(meters: number): number {
  const [, first, others = '', exponent] = /^(\d)(?:\.(\d+))?e(.+)$/.exec(meters.toExponential())!
  const digits = `${first}${others}`
  const whole = Number(exponent) + 3
  if (whole < 0) return 0
  return Number(digits.slice(0, whole).padEnd(whole, '0')) + Number(Number(digits[whole] ?? 0) >= 5)
}

/** Minimum number of digits of a decimal that reads as the double of a shorter one. */
const MORE_THAN_A_DOUBLE = 16

/**
 * Number of metres for a decimal, so that `toCentimeters` rounds the text: 1.00499999999999999 becomes the
 * double before that of 1.005, which rounds to 100. Returns what `Number` returns for all other texts.
 */
export function readMeters(text: string): number {
  const meters = Number(text)
  if (text.length < MORE_THAN_A_DOUBLE || !Number.isFinite(meters) || meters <= 0) return meters
  const before = meters * (1 - Number.EPSILON / 2)
  if (toCentimeters(before) === toCentimeters(meters)) return meters
  // The double is nearest to an exact half of a centimetre. Fewer digits mean a text below that half.
  return digitsOf(text) < digitsOf(meters.toExponential()) ? before : meters
}

/** Significant digits of a decimal text that is not 0. */
function digitsOf(text: string): string {
  return /^\D*0*(\d+)/.exec(text.replace(/e.*/i, '').replace('.', ''))![1]!
}
