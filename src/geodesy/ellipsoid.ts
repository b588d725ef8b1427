// SPDX-License-Identifier: MIT
import { Geodesic } from 'geographiclib-geodesic'
import { spend } from './effort'

/**
 * The WGS84 ellipsoid, and all calls of geographiclib-geodesic, whose arguments have the latitude first (C.
 * F. F. Karney, "Algorithms for geodesics", 2013, doi:10.1007/s00190-012-0578-z; errors below 15 nanometres).
 */

/** Equatorial radius, metres. */
export const A = 6_378_137
export const FLATTENING = 1 / 298.257223563
/** Square of the first eccentricity. */
export const E2 = FLATTENING * (2 - FLATTENING)
/** Polar radius, metres. */
export const B = A * (1 - FLATTENING)
/** Greatest curvature of any geodesic, per metre: the meridian's at the equator (Karney 2013). */
export const MAX_CURVATURE = 1 / (A * (1 - E2))
/** Radius of a sphere for the starting values of iterations, metres. No result depends on it. */
export const MEAN_RADIUS = 6_371_008.8
/** Area of the whole ellipsoid, square metres. */
export const TOTAL_AREA = 510_065_621_724_088.44

export const RADIANS = Math.PI / 180

const ellipsoid = Geodesic.WGS84
const { DISTANCE, AZIMUTH, LATITUDE, LONGITUDE, DISTANCE_IN, AREA } = Geodesic

/** Degrees eastward, from -180 to 180. Across the antimeridian, both differences from it are exact. */
export function turnBetween(lonA: number, lonB: number): number {
  const across = lonB - lonA
  return across > 180 ? lonB - 180 - (lonA + 180) : across < -180 ? lonB + 180 + (180 - lonA) : across
}

/** Length of the shortest geodesic, metres. */
export function inverseDistance(lonA: number, latA: number, lonB: number, latB: number): number {
  spend(2)
  return ellipsoid.Inverse(latA, lonA, latB, lonB, DISTANCE).s12!
}

/** Length of the shortest geodesic, metres, and its direction at A and B, degrees clockwise from north. */
export function inverse(lonA: number, latA: number, lonB: number, latB: number) {
  spend(2)
  const { s12, azi1, azi2 } = ellipsoid.Inverse(latA, lonA, latB, lonB, DISTANCE | AZIMUTH)
  return { distance: s12!, azimuthA: azi1!, azimuthB: azi2! }
}

/** Signed area between a geodesic and the equator, m2. Longitudes are at most 180 degrees apart. */
export function areaBelow(lonA: number, latA: number, lonB: number, latB: number): number {
  // GeographicLib turns by the exact difference. It may exceed 180 degrees where that of the doubles is 180.
  if (Math.abs(latA) === 90 && latA === latB) {
    const across = lonB - lonA
    const turn = Math.abs(across) > 180 ? across - Math.sign(across) * 360 : across
    return (Math.sign(latA) * turn * TOTAL_AREA) / 720
  }
  spend(3)
  return ellipsoid.Inverse(latA, lonA, latB, lonB, AREA).S12!
}

export interface PlaceOnLine {
  lon: number
  lat: number
  /** direction of the line at this position, degrees clockwise from north */
  azimuth: number
}

/** Geodesic from a position in a direction: a function that returns the position at a distance in metres. */
export function geodesicLine(lon: number, lat: number, azimuth: number): (metres: number) => PlaceOnLine {
  spend(1)
  const line = ellipsoid.DirectLine(lat, lon, azimuth, 0, LATITUDE | LONGITUDE | AZIMUTH | DISTANCE_IN)
  return (metres) => {
    spend(0.3)
    const { lat2, lon2, azi2 } = line.Position(metres, LATITUDE | LONGITUDE | AZIMUTH)
    return { lon: lon2!, lat: lat2!, azimuth: azi2! }
  }
}

/**
 * Writes the sine and cosine of up to 180 degrees: exact at multiples of 90, otherwise off by less than
 * 1e-16. Only multiplications and additions are used, so engines agree. Source: minimax polynomials of S.
 * Moshier's Cephes, sin.c, for arguments up to pi / 4.
 */
export function sinCosDegrees(degrees: number, into: Float64Array): void {
  const quarters = Math.round(degrees / 90)
  // This subtraction is exact: the remainder of a number by 90 has no more digits than the number.
  const r = (degrees - 90 * quarters) * RADIANS
  const z = r * r
  const sin =
    r +
    r *
      z *
      (((((1.5896230157654656806e-10 * z - 2.50507477628578072866e-8) * z + 2.75573136213857245213e-6) * z -
        1.98412698295895385996e-4) *
        z +
        8.33333333332211858878e-3) *
        z -
        1.66666666666666307295e-1)
  const cos =
    1 -
    z / 2 +
    z *
      z *
      (((((-1.135853652138768173e-11 * z + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7) * z +
        2.48015872888517045348e-5) *
        z -
        1.38888888888730564116e-3) *
        z +
        4.16666666666665929218e-2)
  const turned = quarters & 1
  into[0] = (turned ? cos : sin) * (quarters === 2 || quarters === -2 || quarters === -1 ? -1 : 1) + 0
  into[1] = (turned ? sin : cos) * (quarters === 2 || quarters === -2 || quarters === 1 ? -1 : 1) + 0
}

/** Greatest length of a geodesic, from its chord, metres (Schur's comparison theorem); may be Infinity. */
export function longestArc(chord: number): number {
  const half = (chord * MAX_CURVATURE) / 2
  // asin x < x + x^3 / 5 up to one half, which covers nearly all calls and is much cheaper.
  if (half < 0.5) return chord * (1 + (half * half) / 5)
  return half >= 1 ? Infinity : (2 / MAX_CURVATURE) * Math.asin(half)
}

/** Least curvature of any geodesic, per metre: B / A^2, at the poles, less 1e-5 for the torsion. */
const MIN_CURVATURE = (B / (A * A)) * (1 - 1e-5)

/**
 * Least length of a geodesic whose ends are `chord` metres apart through the earth. Its tangent turns by at
 * least MIN_CURVATURE per metre, almost in a plane: the torsion is at most 0.0034 of the curvature. Over a
 * radian and a half, the tangent therefore turns by at most 1e-5 less than the length of its path. The chord
 * is the integral of the cosines of these turns.
 */
export function shortestArc(chord: number): number {
  // The proof covers a quarter of the globe. For longer chords the bound of 8,000 km still holds.
  const half = (Math.min(chord, 8_000_000) * MIN_CURVATURE) / 2
  const arc =
    half < 0.05 ? Math.min(chord, 8_000_000) * (1 + (half * half) / 6) : (2 / MIN_CURVATURE) * Math.asin(half)
  return Math.max(chord, arc)
}

/** Greatest distance of a geodesic of this length from its chord, metres: the error of interpolation. */
export function sagitta(length: number): number {
  return (MAX_CURVATURE * length * length) / 8
}
