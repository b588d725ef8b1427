// SPDX-License-Identifier: MIT
/** Error for what a format of the log does not allow. `field` names the rejected part. */
export class TlogError extends Error {
  override name = 'TlogError'

  constructor(
    readonly field: string,
    expected: string,
  ) {
    super(`${field}: expected ${expected}.`)
  }
}

/** Parses a decimal number without leading zeros, up to the greatest integer that a double represents. */
export function parseDecimal(field: string, text: string): number {
  const value = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(value))
    throw new TlogError(field, `a number from 0 to ${Number.MAX_SAFE_INTEGER} without leading zeros`)
  return value
}
