// SPDX-License-Identifier: MIT
import { assertBound } from './bounds'
import { spend } from './effort'
import {
  A,
  E2,
  MAX_CURVATURE,
  MEAN_RADIUS,
  RADIANS,
  inverse,
  longestArc,
  sinCosDegrees,
  turnBetween,
} from './ellipsoid'
import { COORDINATE_ERROR, chord, isSamePlace, squaredChord, type Vertices } from './vertices'

/**
 * Side of the geodesic through A and B on which P lies: left, right, or on it. This is the only predicate
 * behind crossings, the inside of rings, validity and the order of edges around a vertex.
 *
 * It has two steps. Each has an error bound that holds for P anywhere within a hemisphere and for edges of up
 * to 2000 km:
 * 1. The filter uses the offset of P from the plane through A and B along the mean of their normals. It
 * decides all but about one call in a thousand for ordinary shapes.
 * 2. The certain step decides the rest. Within 300 m it uses the same plane in local coordinates, whose
 * relative error is 1e-15; otherwise, the angle between two geodesics at the nearer end. If P lies within the
 * second bound (LIBRARY_ERROR, or 1e-14 of the edge's length), the result is 0: on the geodesic. A 0 alone
 * never means that edges meet: both callers that compare edges then look at the distance of their ends.
 *
 * Proof that this 0 misses no crossing: behind an end, the bound grows as (1 + u / L), u metres behind an
 * edge of L metres. Suppose a crossing is missed because the end C of the other edge, c metres from the
 * crossing, cannot be distinguished from the line: c * angle is below E (1 + c / L). If C is behind this edge
 * (c above L), the ends of this edge are nearer to the other edge than L * angle, below E (1 + L / c), which
 * is at most 2 E. If C is not behind it, C itself is within 2 E of this edge.
 */

/** Greatest geodesic torsion per metre: half the difference of the principal curvatures at the equator. */
const MAX_TORSION = (MAX_CURVATURE - 1 / A) / 2

/**
 * Greatest offset, in metres, of the geodesic through A and B from the plane that contains both and the sum
 * of their normals, up to u metres beyond an end. L is the length of the geodesic.
 *
 * Let h be the offset from the plane, and g the component of the surface's normal across the plane: h'' = k
 * g, g' = t - k h', with k at most MAX_CURVATURE and t at most MAX_TORSION. The term k h' adds less than a
 * tenth to t, which the factor covers. By construction g has opposite values at A and B, so it is at most t L
 * / 2 between them, and t (L / 2 + u) beyond. As h is 0 at A and B, it is at most k t L^3 / 16 between them.
 * Its slope at A is at most k t L^2 / 4, and from there it grows by at most k t (L^2 u / 4 + L u^2 / 4 + u^3
 * / 6). To the side, the surface bends by less than the offset itself.
 */
function planeError(L: number, u: number): number {
  return 1.25 * MAX_CURVATURE * MAX_TORSION * ((L * L * L) / 16 + (L * u * (L + u)) / 4 + (u * u * u) / 6)
}

/**
 * The filter: a lower bound of the distance of vertex `p` of P from the geodesic through `a` and `b` of S, in
 * metres. It is positive on the left in the direction from `a` to `b`, and 0 if the side is not certain. The
 * bound covers the errors of the coordinates of P, and those of A and B, which turn the plane behind an end:
 * COORDINATE_ERROR (3 + 2 u / L). Rounding of the cross product turns it by less than 1e-15.
 */
export function clearance(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  const xa = S.x[a]!
  const ya = S.y[a]!
  const za = S.z[a]!
  const xb = S.x[b]!
  const yb = S.y[b]!
  const zb = S.z[b]!
  const ex = xb - xa
  const ey = yb - ya
  const ez = zb - za
  // Sum of the normals, times A^2: x and y unchanged, z stretched.
  const nx = xa + xb
  const ny = ya + yb
  const nz = (za + zb) / (1 - E2)
  const mx = ny * ez - nz * ey
  const my = nz * ex - nx * ez
  const mz = nx * ey - ny * ex
  const px = P.x[p]! - xa
  const py = P.y[p]! - ya
  const pz = P.z[p]! - za
  const offset = mx * px + my * py + mz * pz
  const scale = Math.sqrt(mx * mx + my * my + mz * mz)
  const edge = Math.sqrt(ex * ex + ey * ey + ez * ez)
  const fromA = px * px + py * py + pz * pz
  const fromB = (px - ex) * (px - ex) + (py - ey) * (py - ey) + (pz - ez) * (pz - ez)
  const behind = Math.sqrt(fromA < fromB ? fromA : fromB)
  const L = longestArc(edge)
  const u = longestArc(behind)
  const bound = planeError(L, u) + COORDINATE_ERROR * (3 + (2 * u) / edge) + 1e-15 * (L + u)
  return offset > bound * scale
    ? offset / scale - bound
    : offset < -bound * scale
      ? offset / scale + bound
      : 0
}

/** Side of vertex `p` of P: 1 left of the geodesic from `a` to `b` of S, -1 right, 0 if uncertain. */
export function sideOf(P: Vertices, p: number, S: Vertices, a: number, b: number): -1 | 0 | 1 {
  const clear = clearance(P, p, S, a, b)
  const offset = clear === 0 ? certainOffset(P, p, S, a, b) : clear
  assertBound('the filter agrees with the certain step', () => clear * certainOffset(P, p, S, a, b) >= 0)
  return offset > 0 ? 1 : offset < 0 ? -1 : 0
}

/** Metres between all three positions up to which the plane is exact to a nanometre. */
const LOCAL = 300
/** Error of an offset by azimuths at an edge's end, metres: three times geographiclib's 15 nm. */
const LIBRARY_ERROR = 5e-8

/** The certain step: metres from the geodesic, positive on the left, 0 if that is within the error bound. */
export function certainOffset(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  const length = chord(S, a, b)
  const away = Math.sqrt(Math.min(squaredChord(P, p, S, a), squaredChord(P, p, S, b)))
  if (length + away > LOCAL) {
    const offset = offsetByAzimuth(P, p, S, a, b)
    return Math.abs(offset) > LIBRARY_ERROR * (1 + away / length) ? offset : 0
  }
  if (isSamePlace(P, p, S, a) || isSamePlace(P, p, S, b) || isSamePlace(S, a, S, b)) return 0
  spend(1)
  difference(S, a, S, b, toB)
  difference(S, a, P, p, toP)
  const [ex, ey, ez] = [toB[0]!, toB[1]!, toB[2]!]
  const [px, py, pz] = [toP[0]!, toP[1]!, toP[2]!]
  const edge = Math.sqrt(ex * ex + ey * ey + ez * ez)
  const fromA = Math.sqrt(px * px + py * py + pz * pz)
  const fromB = Math.sqrt((px - ex) * (px - ex) + (py - ey) * (py - ey) + (pz - ez) * (pz - ez))
  const behind = Math.min(fromA, fromB)
  // Sum of the normals at A and B in A's frame. The normal at A is (1, 0, tan) times a cosine.
  const [nx, ny, nz] = [toB[3]!, toB[4]!, toB[5]!]
  const mx = ny * ez - nz * ey
  const my = nz * ex - nx * ez
  const mz = nx * ey - ny * ex
  const offset = (mx * px + my * py + mz * pz) / Math.sqrt(mx * mx + my * my + mz * mz)
  return Math.abs(offset) > planeError(edge, behind) + 1e-14 * (edge + behind) * (1 + behind / edge)
    ? offset
    : 0
}

const toB = new Float64Array(6)
const toP = new Float64Array(6)

/**
 * Writes the vector between vertices, metres, and the sum of their normals. The x axis is in the first one's
 * meridian. Differences of degrees are exact for near positions, so the relative error is 1e-15.
 */
function difference(S: Vertices, a: number, P: Vertices, p: number, into: Float64Array): void {
  const turn = turnBetween(S.lon[a]!, P.lon[p]!)
  const rise = P.lat[p]! - S.lat[a]!
  const [sinA, cosA] = sinCos(S.lat[a]!)
  const [sinP, cosP] = sinCos(P.lat[p]!)
  const [sinMean, cosMean] = sinCos(S.lat[a]! + rise / 2)
  const [sinHalf] = sinCos(rise / 2)
  const [sinTurn, cosTurn] = sinCos(turn)
  const [sinHalfTurn] = sinCos(turn / 2)
  const sines = 2 * cosMean * sinHalf
  const cosines = -2 * sinMean * sinHalf
  const wA = Math.sqrt(1 - E2 * sinA * sinA)
  const wP = Math.sqrt(1 - E2 * sinP * sinP)
  const nP = A / wP
  const dn = (A * E2 * sines * (sinA + sinP)) / (wA * wP * (wA + wP))
  into[0] = nP * cosines + cosA * dn - nP * cosP * 2 * sinHalfTurn * sinHalfTurn
  into[1] = nP * cosP * sinTurn
  into[2] = (1 - E2) * (nP * sines + sinA * dn)
  into[3] = cosA + cosP * cosTurn
  into[4] = cosP * sinTurn
  into[5] = sinA + sinP
}

function sinCos(degrees: number): readonly [number, number] {
  sinCosDegrees(degrees, pair)
  return [pair[0]!, pair[1]!]
}
const pair = new Float64Array(2)

/** Metres left of the geodesic through `a` and `b`, from the angle to `p` at the nearer end. */
export function offsetByAzimuth(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  const { azimuthA, azimuthB } = inverse(S.lon[a]!, S.lat[a]!, S.lon[b]!, S.lat[b]!)
  const [end, direction] =
    squaredChord(P, p, S, a) <= squaredChord(P, p, S, b) ? [a, azimuthA] : [b, azimuthB]
  const { distance, azimuthA: toP } = inverse(S.lon[end]!, S.lat[end]!, P.lon[p]!, P.lat[p]!)
  return MEAN_RADIUS * Math.asin(Math.sin(distance / MEAN_RADIUS) * Math.sin((direction - toP) * RADIANS))
}
