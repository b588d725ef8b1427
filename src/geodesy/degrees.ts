// SPDX-License-Identifier: MIT
/** Ranges of coordinates. No imports, so that programs without the kernel read positions in the same way. */

/** Degrees by which rounding, also to nine decimals, may exceed a range: at most 0.11 millimetres. */
const ROUNDING = 1e-9

/** Returns the number, or the end of the range from -most to most if rounding made it exceed the range. */
export function inRange(degrees: number, most: 90 | 180): number {
  return Math.abs(degrees) > most && Math.abs(degrees) <= most + ROUNDING
    ? Math.sign(degrees) * most
    : degrees
}

/** Maximum number of turns around the earth in a remedy: map libraries that repeat the world write them. */
const MOST_TURNS = 10

/** Error text for a longitude beyond 180 degrees, with the longitude that denotes the same meridian. */
export function longitudeProblem(longitude: number): string {
  const turns = Math.round(longitude / 360)
  const decimals = /^-?\d+\.?(\d{0,15})$/.exec(String(longitude))?.[1]!.length
  const remedy =
    decimals === undefined || Math.abs(turns) > MOST_TURNS
      ? 'positions are [longitude, latitude] in degrees'
      : `${turns > 0 ? 'subtract' : 'add'} ${360 * Math.abs(turns)}, which gives ${Number((longitude - 360 * turns).toFixed(decimals))}`
  return `longitude must be from -180 to 180, got ${longitude}; ${remedy}`
}

/** Error text for a longitude or latitude out of range; undefined if both are in range. */
export function degreesProblem(longitude: number, latitude: number): string | undefined {
  if (Math.abs(inRange(longitude, 180)) > 180) return longitudeProblem(longitude)
  return Math.abs(inRange(latitude, 90)) > 90
    ? `latitude must be from -90 to 90, got ${latitude}; positions are [longitude, latitude]`
    : undefined
}
