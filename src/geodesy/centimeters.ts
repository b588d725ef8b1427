// SPDX-License-Identifier: MIT
/**
 * Length in whole centimetres, rounded half up, of a number of metres from 0. It rounds the number as
 * written: the shortest decimal that reads as this double. 1.005 is 101, although the double is less than
 * 1.005 and 100 times it is 100.49999999999999.
 */
export function toCentimeters(meters: number): number {
  const [, first, others = '', exponent] = /^(\d)(?:\.(\d+))?e(.+)$/.exec(meters.toExponential())!
  const digits = `${first}${others}`
  const whole = Number(exponent) + 3
  if (whole < 0) return 0
  return Number(digits.slice(0, whole).padEnd(whole, '0')) + Number(Number(digits[whole] ?? 0) >= 5)
}
