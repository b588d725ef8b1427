// SPDX-License-Identifier: MIT
import { A, E2, sinCosDegrees } from './ellipsoid'

/** Positions on the ellipsoid in flat arrays: degrees, and earth-centred metres. */
export interface Vertices {
  lon: Float64Array
  lat: Float64Array
  x: Float64Array
  y: Float64Array
  z: Float64Array
}

/** Edges between vertices, and single positions, whose two ends are one vertex. */
export interface Elements extends Vertices {
  from: Uint32Array
  to: Uint32Array
}

/** Maximum error of earth-centred coordinates, metres: of two sines and cosines, and six roundings. */
export const COORDINATE_ERROR = 4e-9

/** Writes the earth-centred coordinates of a position, metres, at `i`. They are exact at the poles. */
export function toCartesian(lon: number, lat: number, { x, y, z }: Vertices, i: number): void {
  sinCosDegrees(lat, trigonometric)
  const sinLat = trigonometric[0]!
  const cosLat = trigonometric[1]!
  sinCosDegrees(lon, trigonometric)
  const n = A / Math.sqrt(1 - E2 * sinLat * sinLat)
  const p = n * cosLat
  x[i] = p * trigonometric[1]!
  y[i] = p * trigonometric[0]!
  z[i] = n * (1 - E2) * sinLat
}
const trigonometric = new Float64Array(2)

/** Longitude with -180 instead of 180, because both are one meridian, and 0 instead of -0. */
export function normalLongitude(lon: number): number {
  return lon === 180 ? -180 : lon + 0
}

/** Positions as vertices, in their order. */
export function place(...positions: readonly { lon: number; lat: number }[]): Vertices {
  const axis = () => new Float64Array(positions.length)
  const vertices: Vertices = { lon: axis(), lat: axis(), x: axis(), y: axis(), z: axis() }
  for (const [i, { lon, lat }] of positions.entries()) {
    vertices.lon[i] = normalLongitude(lon)
    vertices.lat[i] = lat
    toCartesian(vertices.lon[i], lat, vertices, i)
  }
  return vertices
}

/** Distance between two vertices through the earth, metres. Math.hypot would be ten times slower. */
export function chord(V: Vertices, a: number, b: number): number {
  return Math.sqrt(squaredChord(V, a, V, b))
}

export function squaredChord(V: Vertices, v: number, W: Vertices, w: number): number {
  const dx = V.x[v]! - W.x[w]!
  const dy = V.y[v]! - W.y[w]!
  const dz = V.z[v]! - W.z[w]!
  return dx * dx + dy * dy + dz * dz
}

/** Distance of `v` along the chord from `a` to `b`, times the chord: 0 at `a`, the squared chord at `b`. */
export function alongChord(V: Vertices, v: number, S: Vertices, a: number, b: number): number {
  return (
    (V.x[v]! - S.x[a]!) * (S.x[b]! - S.x[a]!) +
    (V.y[v]! - S.y[a]!) * (S.y[b]! - S.y[a]!) +
    (V.z[v]! - S.z[a]!) * (S.z[b]! - S.z[a]!)
  )
}

/** True if two vertices are one position: they have the same coordinates, or are at the same pole. */
export function isSamePlace(V: Vertices, v: number, W: Vertices, w: number): boolean {
  return V.lat[v] === W.lat[w] && (V.lon[v] === W.lon[w] || Math.abs(V.lat[v]!) === 90)
}
