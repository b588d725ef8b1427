import { A, E2, sinCosDegrees } from './ellipsoid'

/** Places on the ellipsoid in flat arrays: degrees, and earth-centred metres. */
export interface Vertices {
  lon: Float64Array
  lat: Float64Array
  x: Float64Array
  y: Float64Array
  z: Float64Array
}

/** Edges between vertices, and single places: both ends of those are one vertex. */
export interface Elements extends Vertices {
  from: Uint32Array
  to: Uint32Array
}

/**
 * How far the earth-centred coordinates of a vertex may be off, metres (the errors of two sines and cosines,
 * and six roundings).
 */
export const COORDINATE_ERROR = 4e-9

/**
 * Writes the earth-centred coordinates of a place on the ellipsoid, metres, into `x`, `y`, `z` at `i`. Exact
 * at the poles.
 */
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

/** -180 and 180 are one meridian, which is -180 here. -0 becomes 0. */
export function normalLongitude(lon: number): number {
  return lon === 180 ? -180 : lon + 0
}

/** A single place as vertices. */
export function place({ lon, lat }: { lon: number; lat: number }): Vertices {
  const vertices: Vertices = {
    lon: Float64Array.of(normalLongitude(lon)),
    lat: Float64Array.of(lat),
    x: new Float64Array(1),
    y: new Float64Array(1),
    z: new Float64Array(1),
  }
  toCartesian(vertices.lon[0]!, lat, vertices, 0)
  return vertices
}

/** Distance between two vertices through the earth, metres. (Math.hypot is ten times slower.) */
export function chord(V: Vertices, a: number, b: number): number {
  return Math.sqrt(squaredChord(V, a, b))
}

export function squaredChord({ x, y, z }: Vertices, a: number, b: number): number {
  const dx = x[a]! - x[b]!
  const dy = y[a]! - y[b]!
  const dz = z[a]! - z[b]!
  return dx * dx + dy * dy + dz * dz
}

/**
 * How far along the chord from `a` to `b` of S vertex `v` of V lies, times the chord's length: negative
 * behind `a`, above the squared length beyond `b`.
 */
export function alongChord(V: Vertices, v: number, S: Vertices, a: number, b: number): number {
  return (
    (V.x[v]! - S.x[a]!) * (S.x[b]! - S.x[a]!) +
    (V.y[v]! - S.y[a]!) * (S.y[b]! - S.y[a]!) +
    (V.z[v]! - S.z[a]!) * (S.z[b]! - S.z[a]!)
  )
}

/** Whether two vertices are one place: with the same coordinates, or at the same pole. */
export function isSamePlace(V: Vertices, v: number, W: Vertices, w: number): boolean {
  return V.lat[v] === W.lat[w] && (V.lon[v] === W.lon[w] || Math.abs(V.lat[v]!) === 90)
}
