import { A, B, FLATTENING, MAX_CURVATURE, MEAN_RADIUS, RADIANS, geodesicLine, inverse, inverseDistance, longestArc, sagitta, type PlaceOnLine } from './ellipsoid'
import { chord, type Vertices } from './shape'

/**
 * What two edges, or a place and an edge, are to each other. Places and edges are named by their vertices in a shape;
 * edges are shorter than 2000 km (shape.ts).
 */

/**
 * Distance from a place is convex along a geodesic where it stays below this, metres: a quarter of the great circle of
 * the sphere whose curvature is the greatest that the ellipsoid has, 1 / B^2 (Hessian comparison theorem).
 */
const CONVEX_BELOW = (Math.PI / 2) * B - 1000
/** And concave where it stays above this: the same for the least curvature, B^2 / A^4, at the poles. Cut loci are kinks that are concave too. */
const CONCAVE_ABOVE = ((Math.PI / 2) * A * A) / B + 1000
/** Between the two, the derivative is looked at in this many places of the edge: 8 km apart; then around the least of them. */
const SAMPLES = 256
/** Newton's method takes 2 to 4 steps; bisection alone, to which it falls back, 50 for 2000 km to a nanometre. */
const MAX_STEPS = 64

/**
 * Least distance in metres from vertex `p` of shape P to the edge from `a` to `b` of shape S.
 * The zero of the distance's derivative, cos of the angle at the edge, is found by the spherical step of Baselga and
 * Martinez-Llario ("Intersection and point-to-line solutions for geodesics on the ellipsoid", 2018,
 * doi:10.1007/s11200-017-1020-z), kept inside a shrinking bracket, so that it converges always.
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

/** An edge as a line to walk: its length in metres, and where one is after so many. At its ends, exactly these. */
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
  return {
    length,
    at: (along) => (along === 0 ? { lon: lonA, lat: latA, azimuth: azimuthA } : along === length ? { lon: lonB, lat: latB, azimuth: azimuthB } : line(along)),
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

  // Where the foot would be, were chords straight.
  const dx = S.x[b]! - S.x[a]!
  const dy = S.y[b]! - S.y[a]!
  const dz = S.z[b]! - S.z[a]!
  const t = ((P.x[p]! - S.x[a]!) * dx + (P.y[p]! - S.y[a]!) * dy + (P.z[p]! - S.z[a]!) * dz) / (dx * dx + dy * dy + dz * dz)
  const first = at(t <= 0 ? 0 : t >= 1 ? length : t * length)
  const reach = Math.max(first.along, length - first.along)
  if (first.distance + reach < CONVEX_BELOW) return refine(at, first, 0, length)
  const ends = nearer(at(0), at(length))
  if (first.distance - reach > CONCAVE_ABOVE) return ends

  // Neither convex nor concave for certain: every stretch where the distance stops falling and starts to rise has a least one.
  let best = ends
  let before = at(0)
  for (let i = 1; i <= SAMPLES; i++) {
    const here = at(i === SAMPLES ? length : (length * i) / SAMPLES)
    if (before.ahead > 0 && here.ahead < 0) best = nearer(best, refine(at, before, before.along, here.along))
    best = nearer(best, here)
    before = here
  }
  // A dip beside the best sample that no change of sign told of.
  return golden(at, best, Math.max(0, best.along - length / SAMPLES), Math.min(length, best.along + length / SAMPLES))
}

/** The least distance between two places of the edge, or the best so far: by golden section. */
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
  /** Minus the derivative of the distance: positive where the nearest place lies ahead. */
  ahead: number
}

function nearer(a: Nearest, b: Nearest): Nearest {
  return b.distance < a.distance ? b : a
}

/** From a first probe, the least distance between `low` and `high` metres along, where the distance is convex. */
function refine(at: (along: number) => Probe, first: Probe, low: number, high: number): Nearest {
  const start = low
  const end = high
  let probe = first
  for (let i = 0; i < MAX_STEPS; i++) {
    const { distance, along, ahead } = probe
    if ((along === start && ahead <= 0) || (along === end && ahead >= 0)) return probe
    const step = MEAN_RADIUS * Math.atan2(Math.sin(distance / MEAN_RADIUS) * ahead, Math.cos(distance / MEAN_RADIUS))
    // The distance left to gain is step^2 / (2 distance): below 10 nanometres. Below a micrometre, steps are noise.
    if (step * step < 2e-8 * distance || Math.abs(step) < 1e-6) return probe
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

/** Offsets below this, metres, are not told from zero: a hundred times the error of the library. */
export const RESOLUTION = 1e-6

/**
 * On which side of the geodesic from `a` through `b` (of shape S) the vertex `p` of shape P lies: 1 left, -1 right, 0
 * where it is within a micrometre of it. For places no farther from the edge than a few thousand kilometres.
 */
export function sideOf(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  const clear = clearance(P, p, S, a, b)
  if (clear !== 0) return clear > 0 ? 1 : -1
  const offset = signedOffset(P, p, S, a, b)
  return offset > RESOLUTION ? 1 : offset < -RESOLUTION ? -1 : 0
}

/** Metres from the geodesic through `a` and `b`, positive to the left, by the angle between it and the way to `p`. */
export function signedOffset(P: Vertices, p: number, S: Vertices, a: number, b: number): number {
  const toB = inverse(S.lon[a]!, S.lat[a]!, S.lon[b]!, S.lat[b]!)
  const fromA = inverse(S.lon[a]!, S.lat[a]!, P.lon[p]!, P.lat[p]!)
  const fromB = inverse(S.lon[b]!, S.lat[b]!, P.lon[p]!, P.lat[p]!)
  // From the end that is nearer, where an angle's error moves less.
  const [{ distance, azimuthA: toP }, direction] = fromA.distance <= fromB.distance ? [fromA, toB.azimuthA] : [fromB, toB.azimuthB]
  return MEAN_RADIUS * Math.asin(Math.sin(distance / MEAN_RADIUS) * Math.sin((direction - toP) * RADIANS))
}

/** The greatest geodesic torsion: half the greatest difference of principal curvatures, at the equator, per metre. */
const MAX_TORSION = (MAX_CURVATURE - 1 / A) / 2

/**
 * How far `p` lies from the geodesic from `a` to `b` at least, metres, positive to the left; 0 where that is not certain.
 * By the plane through both ends along the mean of their normals.
 * The geodesic's second derivative is at most MAX_CURVATURE times the component of the surface's normal across that plane,
 * which is zero in the middle of the edge (the two ends' are opposite) and grows with the torsion at most. So the geodesic
 * leaves the plane by less than MAX_CURVATURE * MAX_TORSION * length^3 / 16; twice that is allowed for here, for the
 * length from the farthest of the three places.
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
  // The sum of the normals, times A^2: x and y as they are, z stretched.
  const nx = xa + xb
  const ny = ya + yb
  const nz = (za + zb) * ((A * A) / (B * B))
  const mx = ny * ez - nz * ey
  const my = nz * ex - nx * ez
  const mz = nx * ey - ny * ex
  const px = P.x[p]! - xa
  const py = P.y[p]! - ya
  const pz = P.z[p]! - za
  const offset = mx * px + my * py + mz * pz
  const scale = Math.sqrt(mx * mx + my * my + mz * mz)
  const longest = longestArc(Math.sqrt(Math.max(ex * ex + ey * ey + ez * ez, px * px + py * py + pz * pz)))
  const bound = (MAX_CURVATURE * MAX_TORSION * longest * longest * longest) / 8 + RESOLUTION
  return offset > bound * scale ? offset / scale - bound : offset < -bound * scale ? offset / scale + bound : 0
}

/** The greatest angle between the normal of the ellipsoid and the direction from its centre, and a third more. */
const NORMAL_TILT = FLATTENING * 1.34

/**
 * Whether the edge from `a` to `b` meets the half meridian from vertex `p` to the north pole, where the edge's longitudes
 * straddle p's. In doubt whether p lies on the edge itself, either answer may be given.
 */
export function passesNorthOf(P: Vertices, p: number, S: Vertices, a: number, b: number): boolean {
  const xa = S.x[a]!
  const ya = S.y[a]!
  const za = S.z[a]!
  const xb = S.x[b]!
  const yb = S.y[b]!
  const zb = S.z[b]!
  const px = P.x[p]!
  const py = P.y[p]!
  const pz = P.z[p]!
  // At a pole, where edges turn from one meridian into another, in no length at all.
  if (Math.abs(S.lat[a]!) === 90 && S.lat[a] === S.lat[b]) return S.lat[a]! > 0
  const squared = (xa - xb) * (xa - xb) + (ya - yb) * (ya - yb) + (za - zb) * (za - zb)
  const bulge = sagitta(longestArc(Math.sqrt(squared)))
  if (Math.max(za, zb) + bulge < pz) return false
  if (Math.min(za, zb) - bulge > pz) return true
  // The plane through both ends and the centre of the earth: along a meridian, the height over it changes its sign once.
  // The geodesic leaves it by at most the sagitta times the tilt of the normal against the direction from the centre.
  let nx = ya * zb - za * yb
  let ny = za * xb - xa * zb
  let nz = xa * yb - ya * xb
  const scale = Math.sqrt(nx * nx + ny * ny + nz * nz)
  const leave = bulge * NORMAL_TILT * 2 + RESOLUTION
  if (nz < 0) [nx, ny, nz] = [-nx, -ny, -nz]
  // Not where the plane all but holds the pole: there the height may turn back.
  if (nz * B > 4 * leave * scale) {
    const height = (nx * px + ny * py + nz * pz) / scale
    if (height > leave) return false
    if (height < -leave) return true
  }
  // The edge passes north of p if p lies right of it as it runs east.
  const eastward = S.lon[b]! > S.lon[a]! === Math.abs(S.lon[b]! - S.lon[a]!) <= 180
  const near = squared < 1e12 && (px - xa) * (px - xa) + (py - ya) * (py - ya) + (pz - za) * (pz - za) < 1e12
  const side = (near && clearance(P, p, S, a, b)) || signedOffset(P, p, S, a, b)
  return eastward ? side < 0 : side > 0
}

/** Whether two edges cross for certain: each has the other's ends on both sides, by more than a micrometre. Where they only touch, an end lies within that of the other. */
export function crosses(S: Vertices, a: number, b: number, T: Vertices, c: number, d: number): boolean {
  if (a === b || c === d) return false
  const sideC = sideOf(T, c, S, a, b)
  if (sideC === 0 || sideOf(T, d, S, a, b) !== -sideC) return false
  const sideA = sideOf(S, a, T, c, d)
  return sideA !== 0 && sideOf(S, b, T, c, d) === -sideA
}

/** Least distance between two chords, through the earth, metres. (The two straight segments; C. Ericson, Real-Time Collision Detection, 5.1.9.) */
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

/** How far the geodesic between two vertices can lie from their chord, metres. (Of a shape's elements, the tree knows it.) */
export function bulgeOf(V: Vertices, a: number, b: number): number {
  return sagitta(longestArc(chord(V, a, b)))
}

/** A lower bound of the distance between two edges (or places), metres; good where they are close to each other. */
export function leastGap(S: Vertices, a: number, b: number, T: Vertices, c: number, d: number): number {
  const bulgeS = bulgeOf(S, a, b)
  const bulgeT = bulgeOf(T, c, d)
  const gap = chordGap(S, a, b, T, c, d) - bulgeS - bulgeT
  // Chords of short edges say it all.
  if (gap > 0 || bulgeS + bulgeT < RESOLUTION) return gap
  const sideC = a === b ? 0 : clearance(T, c, S, a, b)
  const sideD = a === b ? 0 : clearance(T, d, S, a, b)
  const sideA = c === d ? 0 : clearance(S, a, T, c, d)
  const sideB = c === d ? 0 : clearance(S, b, T, c, d)
  // They may cross; else an end of one is nearest to the other.
  if (a !== b && c !== d && sideC * sideD <= 0 && sideA * sideB <= 0) return 0
  const end = (P: Vertices, p: number, V: Vertices, v: number, w: number, side: number, bulge: number) => (v === w ? Infinity : Math.max(Math.abs(side), chordGap(P, p, p, V, v, w) - bulge))
  return Math.min(end(T, c, S, a, b, sideC, bulgeS), end(T, d, S, a, b, sideD, bulgeS), end(S, a, T, c, d, sideA, bulgeT), end(S, b, T, c, d, sideB, bulgeT))
}
