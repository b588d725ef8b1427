/**
 * Ranges of coordinates. It depends on nothing, so that programs without the kernel read positions as it
 * does.
 */

/**
 * Degrees that a computed coordinate may be beyond its range, as 180.00000000000023: 11 micrometres at most,
 * far below what is measured.
 */
const ROUNDING = 1e-10

/** The number, or the end of the range -most to most if it is beyond that by rounding only. */
export function inRange(degrees: number, most: 90 | 180): number {
  return Math.abs(degrees) > most && Math.abs(degrees) <= most + ROUNDING
    ? Math.sign(degrees) * most
    : degrees
}

/** Maps that repeat the world give longitudes up to this many turns away. */
const MOST_TURNS = 10

/** A sentence about a longitude beyond 180 degrees, with the one that means the same meridian. */
export function longitudeProblem(longitude: number): string {
  const turns = Math.round(longitude / 360)
  const decimals = /^-?\d+\.?(\d{0,15})$/.exec(String(longitude))?.[1]!.length
  const remedy =
    decimals === undefined || Math.abs(turns) > MOST_TURNS
      ? 'positions are [longitude, latitude] in degrees'
      : `${turns > 0 ? 'subtract' : 'add'} ${360 * Math.abs(turns)}, which gives ${Number((longitude - 360 * turns).toFixed(decimals))}`
  return `longitude must be from -180 to 180, got ${longitude}; ${remedy}`
}
