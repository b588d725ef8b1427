// SPDX-License-Identifier: MIT
/**
 * Ranges of coordinates. This file has no imports, so that programs without the kernel read positions in the
 * same way.
 */

/**
 * Degrees by which a computed coordinate may exceed its range, as in 180.00000000000023. Programs that round
 * to nine decimals exceed the range by up to this amount. It is at most 0.11 millimetres, far below the
 * centimetre to which results are rounded.
 */
const ROUNDING = 1e-9

/**
 * Returns the number. If only rounding makes it exceed the range from -most to most, returns the end of the
 * range.
 */
export function inRange(degrees: number, most: 90 | 180): number {
  return Math.abs(degrees) > most && Math.abs(degrees) <= most + ROUNDING
    ? Math.sign(degrees) * most
    : degrees
}

/**
 * Maximum number of turns around the earth by which a longitude may exceed its range: map libraries that
 * repeat the world produce such longitudes.
 */
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
