// SPDX-License-Identifier: MIT
import { assertBound } from './bounds'
import { spend } from './effort'
import {
  A,
  B,
  MEAN_RADIUS,
  RADIANS,
  geodesicLine,
  inverse,
  inverseDistance,
  longestArc,
  sagitta,
  shortestArc,
  type PlaceOnLine,
} from './ellipsoid'
import { clearance, offsetByAzimuth, sideOf } from './orientation'
import { alongChord, chord, place, squaredChord, type Elements, type Vertices } from './vertices'

/** Relations of two edges, or of a position and an edge. Edges are below 2000 km (builder.ts). */

/** Positions nearer than this, metres, touch: many times the error of a side or a distance. */
export const TOUCH = 1e-6

/**
 * The distance from a position is convex along a geodesic below this, metres: a quarter of the great circle
 * of the sphere with the greatest curvature, 1 / B^2 (Hessian comparison theorem).
 */
const CONVEX_BELOW = (Math.PI / 2) * B - 1000
/**
 * The distance is concave above this, metres: the same theorem for the least curvature, B^2 / A^4. The kinks
 * at cut loci are concave too.
 */
const CONCAVE_ABOVE = ((Math.PI / 2) * A * A) / B + 1000
/** Greatest step, metres, between samples of the derivative from CONVEX_BELOW to CONCAVE_ABOVE. */
const SAMPLED = 8_000
/**
 * Edges shorter than this many metres count as straight between the two bounds: the second derivative of the
 * distance is below 2e-9 per metre there (the same theorem), so the distance is linear to 6 nanometres.
 */
const STRAIGHT = 5
/** Newton's method takes 2 to 4 steps, bisection alone 50 from 2000 km to a nanometre. */
const MAX_STEPS = 64

/**
 * Least distance in metres from vertex `p` of shape P to the edge from `a` to `b` of shape S. The spherical
 * step of Baselga and Martinez-Llario ("Intersection and point-to-line solutions for geodesics on the
 * ellipsoid", 2018, doi:10.1007/s11200-017-1020-z) finds the zero of the distance's derivative, which is the
 * cosine of the angle at the edge. A bracket that shrinks with each step makes it always converge.
 */
export function pointToEdge(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  return nearestOnEdge(P, p, S, a, b).distance
}

export interface Nearest {
  /** metres */
  distance: number
  /** metres from `a` along the edge */
  along: number
}

/** An edge by arc length: its length, and the position at a distance from its start. The ends are exact. */
export interface Walk {
  length: number
  at: (along: number) => PlaceOnLine
}

export function walkEdge(S: Vertices, a: number, b: number): Walk {
  const lonA = S.lon[a]!
  const latA = S.lat[a]!
  const lonB = S.lon[b]!
  const latB = S.lat[b]!
  const { distance: length, azimuthA, azimuthB } = inverse(lonA, latA, lonB, latB)
  const line = geodesicLine(lonA, latA, azimuthA)
  assertBound('the length of an edge lies between the bounds of its chord', () => {
    const straight = chord(S, a, b)
    const error = 1e-7 + 1e-13 * length
    return length >= shortestArc(straight) - error && length <= longestArc(straight) + error
  })
  return {
    length,
    at: (along) =>
      along === 0
        ? { lon: lonA, lat: latA, azimuth: azimuthA }
        : along === length
          ? { lon: lonB, lat: latB, azimuth: azimuthB }
          : line(along),
  }
}

export function nearestOnEdge(P: Vertices, p: number, S: Vertices, a: number, b: number): Nearest {
  const lonP = P.lon[p]!
  const latP = P.lat[p]!
  const { length, at: walk } = walkEdge(S, a, b)
  if (length === 0) return { distance: inverseDistance(S.lon[a]!, S.lat[a]!, lonP, latP), along: 0 }
  const at = (along: number): Probe => {
    const { lon, lat, azimuth } = walk(along)
    const { distance, azimuthA: toP } = inverse(lon, lat, lonP, latP)
    return { distance, along, ahead: Math.cos((toP - azimuth) * RADIANS) }
  }

  // Starts at the foot of the perpendicular on the chord.
  const t = alongChord(P, p, S, a, b) / squaredChord(S, a, S, b)
  const first = at(t <= 0 ? 0 : t >= 1 ? length : t * length)
  const reach = Math.max(first.along, length - first.along)
  if (first.distance + reach < CONVEX_BELOW) return refine(at, first, 0, length)
  const ends = nearer(at(0), at(length))
  if (first.distance - reach > CONCAVE_ABOVE) return ends

  if (length < STRAIGHT) return ends

  // Here the distance may be neither convex nor concave. Each change from falling to rising is a minimum.
  let best = ends
  let before = at(0)
  const samples = Math.ceil(length / SAMPLED)
  for (let i = 1; i <= samples; i++) {
    const here = at(i === samples ? length : (length * i) / samples)
    if (before.ahead > 0 && here.ahead < 0) best = nearer(best, refine(at, before, before.along, here.along))
    best = nearer(best, here)
    before = here
  }
  // Next to the best sample there may be a minimum without a change of sign.
  return golden(
    at,
    best,
    Math.max(0, best.along - length / samples),
    Math.min(length, best.along + length / samples),
  )
}

/** Least distance within an interval of the edge by golden-section search, or `best` if that is smaller. */
function golden(at: (along: number) => Probe, best: Nearest, low: number, high: number): Nearest {
  const part = (Math.sqrt(5) - 1) / 2
  let left = at(high - part * (high - low))
  let right = at(low + part * (high - low))
  for (let i = 0; i < MAX_STEPS && high - low > 0.001; i++) {
    if (left.distance < right.distance) {
      high = right.along
      right = left
      left = at(high - part * (high - low))
    } else {
      low = left.along
      left = right
      right = at(low + part * (high - low))
    }
  }
  return nearer(nearer(best, left), right)
}

interface Probe extends Nearest {
  /** Minus the derivative of the distance: positive if the nearest position lies ahead. */
  ahead: number
}

function nearer(a: Nearest, b: Nearest): Nearest {
  return b.distance < a.distance ? b : a
}

/** Least distance between `low` and `high`, metres along the edge, if the distance is convex there. */
function refine(at: (along: number) => Probe, first: Probe, low: number, high: number): Nearest {
  const start = low
  const end = high
  let probe = first
  for (let i = 0; i < MAX_STEPS; i++) {
    const { distance, along, ahead } = probe
    if ((along === start && ahead <= 0) || (along === end && ahead >= 0)) return probe
    const step =
      MEAN_RADIUS * Math.atan2(Math.sin(distance / MEAN_RADIUS) * ahead, Math.cos(distance / MEAN_RADIUS))
    // The distance shrinks by step^2 / (2 distance): 10 nm are enough. Steps below 1e-7 are rounding errors.
    if (step * step < 2e-8 * distance || Math.abs(step) < 1e-7) return probe
    if (ahead > 0) low = along
    else high = along
    let next = along + step
    if (next <= low) next = low === start ? start : (low + high) / 2
    else if (next >= high) next = high === end ? end : (low + high) / 2
    if (next === along) return probe
    probe = at(next)
  }
  return probe
}

/** True if an edge across the longitude of `p` meets the meridian north of it; either result on the edge. */
export function passesNorthOf(P: Vertices, p: number, S: Vertices, a: number, b: number): boolean {
  // At a pole, an edge from one meridian to another has length 0.
  if (Math.abs(S.lat[a]!) === 90 && S.lat[a] === S.lat[b]) return S.lat[a]! > 0
  // Both directions of an edge must have one result: a ring that runs back along itself counts it twice.
  const across = S.lon[b]! - S.lon[a]!
  const eastward = across > 180 || across < -180 ? across < 0 : across > 0
  if (!eastward) [a, b] = [b, a]
  return sideNorth(P, p, S, a, b, bulgeOf(S, a, b) + TOUCH) < 0
}

/**
 * Side of an eastward edge on which a position of its longitudes lies: 1 north, -1 south, 0 on it.
 * @param reach greatest distance by which the edge exceeds the latitudes of its ends, metres
 */
export function sideNorth(
  P: Vertices,
  p: number,
  S: Vertices,
  a: number,
  b: number,
  reach: number,
): -1 | 0 | 1 {
  const height = P.z[p]!
  if (height > Math.max(S.z[a]!, S.z[b]!) + reach) return 1
  if (height < Math.min(S.z[a]!, S.z[b]!) - reach) return -1
  const side = sideOf(P, p, S, a, b)
  if (side !== 0) return side
  // The position is in line with a steep edge but beyond an end, so it lies north or south of that end.
  const end = alongChord(P, p, S, a, b) < 0 ? a : alongChord(P, p, S, b, a) < 0 ? b : -1
  return end < 0 ? 0 : (Math.sign(P.lat[p]! - S.lat[end]!) as -1 | 0 | 1)
}

/** True if each edge certainly has its ends on both sides of the other (see the proof in orientation.ts). */
export function crosses(S: Vertices, a: number, b: number, T: Vertices, c: number, d: number): boolean {
  if (a === b || c === d) return false
  const sideC = sideOf(T, c, S, a, b)
  if (sideC === 0 || sideOf(T, d, S, a, b) !== -sideC) return false
  const sideA = sideOf(S, a, T, c, d)
  return sideA !== 0 && sideOf(S, b, T, c, d) === -sideA
}

/** Crossing of two edges that cross: its position, and its distance along each edge, metres. */
export function crossingOf(
  S: Vertices,
  a: number,
  b: number,
  T: Vertices,
  c: number,
  d: number,
): PlaceOnLine & { x: number; along: number } {
  const walk = walkEdge(S, a, b)
  // False position (Illinois variant) finds the zero of the offset, whose sign changes between the ends.
  let [low, high] = [0, walk.length]
  let [lowOffset, highOffset] = [offsetByAzimuth(S, a, T, c, d), offsetByAzimuth(S, b, T, c, d)]
  let x = low
  for (let i = 0; i < 100; i++) {
    x = low + ((high - low) * lowOffset) / (lowOffset - highOffset)
    const offset = offsetByAzimuth(place(walk.at(x)), 0, T, c, d)
    if (Math.abs(offset) < CROSSING) break
    if (offset > 0 === lowOffset > 0) {
      ;[low, lowOffset] = [x, offset]
      highOffset /= 2
    } else {
      ;[high, highOffset] = [x, offset]
      lowOffset /= 2
    }
  }
  const here = walk.at(x)
  return { ...here, x, along: nearestOnEdge(place(here), 0, T, c, d).along }
}

/** A crossing is accepted if it is this near to both edges, metres. */
const CROSSING = 1e-8

/** Least distance of two chords, metres (C. Ericson, "Real-Time Collision Detection", 5.1.9). */
export function chordGap(S: Vertices, a: number, b: number, T: Vertices, c: number, d: number): number {
  const ux = S.x[b]! - S.x[a]!
  const uy = S.y[b]! - S.y[a]!
  const uz = S.z[b]! - S.z[a]!
  const vx = T.x[d]! - T.x[c]!
  const vy = T.y[d]! - T.y[c]!
  const vz = T.z[d]! - T.z[c]!
  const wx = S.x[a]! - T.x[c]!
  const wy = S.y[a]! - T.y[c]!
  const wz = S.z[a]! - T.z[c]!
  const uu = ux * ux + uy * uy + uz * uz
  const vv = vx * vx + vy * vy + vz * vz
  const uv = ux * vx + uy * vy + uz * vz
  const uw = ux * wx + uy * wy + uz * wz
  const vw = vx * wx + vy * wy + vz * wz
  const unit = (t: number) => (t < 0 ? 0 : t > 1 ? 1 : t)
  let s = 0
  let t = 0
  if (uu === 0) t = vv === 0 ? 0 : unit(vw / vv)
  else if (vv === 0) s = unit(-uw / uu)
  else {
    const determinant = uu * vv - uv * uv
    s = determinant > 0 ? unit((uv * vw - uw * vv) / determinant) : 0
    t = (uv * s + vw) / vv
    if (t < 0) {
      t = 0
      s = unit(-uw / uu)
    } else if (t > 1) {
      t = 1
      s = unit((uv - uw) / uu)
    }
  }
  const dx = wx + s * ux - t * vx
  const dy = wy + s * uy - t * vy
  const dz = wz + s * uz - t * vz
  return Math.sqrt(dx * dx + dy * dy + dz * dz)
}

/** Upper bound of the length of an edge in metres, from the chord between its ends. */
export function edgeBound(S: Elements, element: number): number {
  return longestArc(chord(S, S.from[element]!, S.to[element]!))
}

/** Greatest distance of a geodesic from its chord, metres. Elements of a shape have it in `tree.bulges`. */
export function bulgeOf(V: Vertices, a: number, b: number): number {
  return sagitta(longestArc(chord(V, a, b)))
}

/** Lower bound of the distance of two edges or positions, metres; tight if they are near each other. */
export function leastGap(S: Vertices, a: number, b: number, T: Vertices, c: number, d: number): number {
  const bulgeS = bulgeOf(S, a, b)
  const bulgeT = bulgeOf(T, c, d)
  const gap = chordGap(S, a, b, T, c, d) - bulgeS - bulgeT
  // For short edges, the chords suffice.
  if (gap > 0 || bulgeS + bulgeT < TOUCH) return gap
  spend(0.4)
  const sideC = a === b ? 0 : clearance(T, c, S, a, b)
  const sideD = a === b ? 0 : clearance(T, d, S, a, b)
  const sideA = c === d ? 0 : clearance(S, a, T, c, d)
  const sideB = c === d ? 0 : clearance(S, b, T, c, d)
  // These edges may cross. If they do not, the nearest position is an end of one of them.
  if (a !== b && c !== d && sideC * sideD <= 0 && sideA * sideB <= 0) return 0
  const end = (P: Vertices, p: number, V: Vertices, v: number, w: number, side: number, bulge: number) =>
    v === w ? Infinity : Math.max(Math.abs(side), chordGap(P, p, p, V, v, w) - bulge)
  return Math.min(
    end(T, c, S, a, b, sideC, bulgeS),
    end(T, d, S, a, b, sideD, bulgeS),
    end(S, a, T, c, d, sideA, bulgeT),
    end(S, b, T, c, d, sideB, bulgeT),
  )
}
