// SPDX-License-Identifier: MIT
/** Formats Unix seconds as ISO 8601, or as "second ..." outside the range of a Date. */
export function timeOf(seconds: number | bigint): string {
  const date = new Date(Number(seconds) * 1000)
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace('.000Z', 'Z')
}
