// SPDX-License-Identifier: MIT
import { assertBound } from './bounds'
import { crosses, crossingOf, edgeBound, nearestOnEdge, walkEdge, type Walk } from './edge'
import { spend } from './effort'
import { A, E2, MEAN_RADIUS, RADIANS, geodesicLine, type PlaceOnLine } from './ellipsoid'
import { place, type Elements, type Vertices } from './vertices'

/** Stretches of edges: the parts of an edge that run along another edge, and the gaps between them. */

/** Range along an edge, metres from its start. */
export type Stretch = readonly [from: number, to: number]

/** Distances below this many metres round to 0.00 m. */
export const NEAR = 0.005
/** Shorter stretches and gaps, metres, are rounding errors. */
const SPECK = 1e-6
/** Shorter edges, metres, are compared in a plane: distances to 0.3 mm, lines straight to a micrometre. */
const SHORT = 3000

/** Stretches of an edge within NEAR of other edges, merged. Lines enter this area, nearly convex, once. */
export function nearStretches(
  S: Elements,
  e: number,
  T: Elements,
  others: readonly number[],
  walk: Walk,
): Stretch[] {
  const stretches: Stretch[] = []
  for (const f of others) {
    spend(1)
    const isShort = Math.max(edgeBound(S, e), edgeBound(T, f)) < SHORT
    const segment = isShort ? inPlane(S, e, T, f) : alongGeodesic(S, e, T, f, walk)
    if (!segment) continue
    const abreast = !isShort && isSideBySide(segment) ? sideBySide(S, e, T, f, walk) : undefined
    const stretch = abreast ? undefined : withinReach(segment, walk.length)
    stretches.push(...(abreast ?? (stretch ? [stretch] : [])))
  }
  return merge(stretches)
}

/** Merges stretches that overlap or touch. */
export function merge(stretches: readonly Stretch[]): Stretch[] {
  const merged: [number, number][] = []
  for (const [from, to] of [...stretches].sort((p, q) => p[0] - q[0])) {
    const last = merged.at(-1)
    if (last && from <= last[1] + SPECK) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** Parts of an edge between merged stretches. */
export function complement(stretches: readonly Stretch[], length: number): Stretch[] {
  const gaps: Stretch[] = []
  let at = 0
  for (const [from, to] of stretches) {
    if (from > at + SPECK) gaps.push([at, from])
    at = Math.max(at, to)
  }
  if (length > at + SPECK || (at === 0 && length > 0)) gaps.push([at, length])
  return gaps
}

/** The other edge in metres, in a plane where the first edge is the x axis from 0, and y is its left. */
type Segment = readonly [x1: number, y1: number, x2: number, y2: number]

/** Part of the x axis from 0 to `length` that is within NEAR of a segment. */
function withinReach([x1, y1, x2, y2]: Segment, length: number): Stretch | undefined {
  let [low, high] = [Infinity, -Infinity]
  const include = (from: number, to: number) => {
    if (from > to) return
    low = Math.min(low, from)
    high = Math.max(high, to)
  }
  for (const [x, y] of [
    [x1, y1],
    [x2, y2],
  ] as const)
    if (Math.abs(y) <= NEAR) include(x - Math.sqrt(NEAR * NEAR - y * y), x + Math.sqrt(NEAR * NEAR - y * y))
  const [dx, dy] = [x2 - x1, y2 - y1]
  const size = Math.hypot(dx, dy)
  if (size > 0) {
    // For (x, 0), u is the distance along the segment and h that to its side, both linear in x.
    const [cos, sin] = [dx / size, dy / size]
    const u0 = -x1 * cos - y1 * sin
    const h0 = x1 * sin - y1 * cos
    const [uFrom, uTo] = solve(cos, u0, 0, size)
    const [hFrom, hTo] = solve(-sin, h0, -NEAR, NEAR)
    include(Math.max(uFrom, hFrom), Math.min(uTo, hTo))
  }
  ;[low, high] = [Math.max(low, 0), Math.min(high, length)]
  return low <= high ? [low, high] : undefined
}

/**
 * True if a segment stays near for 50 km or more, so that curvature counts. Others are straight to 0.2
 * micrometres while they are near. It leaves the other edge by 0.2 m at most, where Jacobi's equation holds.
 */
function isSideBySide([x1, y1, x2, y2]: Segment): boolean {
  return Math.abs(y2 - y1) < 1e-7 * Math.abs(x2 - x1)
}

/**
 * Stretches within NEAR of a long edge next to this one. Where they are abreast, their distance solves
 * Jacobi's equation, y'' = -K y, from its values at both ends. The change of K along 2000 km moves it by
 * 3.5e-6 of the greater one: by 0.7 micrometres. Undefined if they are abreast for less than SHORT.
 */
function sideBySide(S: Elements, e: number, T: Elements, f: number, walk: Walk): Stretch[] | undefined {
  const [a, b, c, d] = [S.from[e]!, S.to[e]!, T.from[f]!, T.to[f]!]
  const feet = [nearestOnEdge(T, c, S, a, b).along, nearestOnEdge(T, d, S, a, b).along]
  const [low, high] = [Math.min(...feet), Math.max(...feet)]
  if (high - low < SHORT) return undefined
  const other = walkEdge(T, c, d)
  const offsetAt = (x: number) => {
    const here = walk.at(x)
    const { distance, along } = nearestOnEdge(place(here), 0, T, c, d)
    return ahead(0, here, other.at(along))[1] < 0 ? -distance : distance
  }
  const [first, last] = [offsetAt(low), offsetAt(high)]
  const sin = Math.sin(walk.at((low + high) / 2).lat * RADIANS)
  // Square root of K, which is one over the product of the two radii of curvature.
  const k = (1 - E2 * sin * sin) / (A * Math.sqrt(1 - E2))
  const span = k * (high - low)
  const [cosine, sine] = [first, (last - first * Math.cos(span)) / Math.sin(span)]
  const y = (x: number) => cosine * Math.cos(k * (x - low)) + sine * Math.sin(k * (x - low))
  assertBound('two edges side by side are as far apart as by Jacobi, to a micrometre', () => {
    const middle = (low + high) / 2
    return Math.abs(y(middle) - offsetAt(middle)) < 1e-6
  })
  // y is `most` cos(k (x - low) - peak)
  const [most, peak] = [Math.hypot(cosine, sine), Math.atan2(sine, cosine)]
  const bounds = [low, high]
  if (most > NEAR)
    for (const side of [NEAR, -NEAR])
      for (const turn of [Math.acos(side / most), -Math.acos(side / most)])
        for (const whole of [-2 * Math.PI, 0, 2 * Math.PI]) {
          const x = low + (peak + turn + whole) / k
          if (x > low && x < high) bounds.push(x)
        }
  bounds.sort((p, q) => p - q)
  const stretches: Stretch[] = []
  for (let i = 1; i < bounds.length; i++)
    if (Math.abs(y((bounds[i - 1]! + bounds[i]!) / 2)) <= NEAR) stretches.push([bounds[i - 1]!, bounds[i]!])
  // Parts beyond the ends of the other edge.
  for (const [x, away] of [
    [low, first],
    [high, last],
  ] as const)
    if (Math.abs(away) <= NEAR) {
      const round = Math.sqrt(NEAR * NEAR - away * away)
      stretches.push([Math.max(0, x - round), Math.min(walk.length, x + round)])
    }
  return stretches
}

/** Range of x for which slope x + start lies between two values. */
function solve(slope: number, start: number, from: number, to: number): readonly [number, number] {
  if (slope === 0) return start >= from && start <= to ? [-Infinity, Infinity] : [Infinity, -Infinity]
  const [p, q] = [(from - start) / slope, (to - start) / slope]
  return p <= q ? [p, q] : [q, p]
}

function inPlane(S: Elements, e: number, T: Elements, f: number): Segment {
  const plane = new Plane(S, S.from[e]!)
  const [ax, ay] = plane.project(S, S.to[e]!)
  const size = Math.hypot(ax, ay)
  const [cos, sin] = size > 0 ? [ax / size, ay / size] : [1, 0]
  const turn = ([x, y]: readonly [number, number]) => [x * cos + y * sin, y * cos - x * sin] as const
  return [...turn(plane.project(T, T.from[f]!)), ...turn(plane.project(T, T.to[f]!))]
}

/** The other edge as a segment. Both count as straight where they are nearest; undefined beyond NEAR. */
function alongGeodesic(S: Elements, e: number, T: Elements, f: number, walk: Walk): Segment | undefined {
  const [a, b, c, d] = [S.from[e]!, S.to[e]!, T.from[f]!, T.to[f]!]
  const other = walkEdge(T, c, d)
  const size = other.length
  /** Segment through (x, y), `u` metres along the other edge, turned left by the angle of the edges. */
  const segment = (x: number, y: number, u: number, here: PlaceOnLine, there: PlaceOnLine): Segment => {
    const angle = angleTo(there, here) * RADIANS
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    return [x - u * cos, y - u * sin, x + (size - u) * cos, y + (size - u) * sin]
  }
  /** Segment of edges whose positions x and u are nearest. The nearest position may be the end of an edge. */
  const nearest = (x: number, u: number): Segment => {
    const [here, there] = [walk.at(x), other.at(u)]
    return segment(...ahead(x, here, there), u, here, there)
  }
  for (const [end, u] of [
    [c, 0],
    [d, size],
  ] as const) {
    const { distance, along } = nearestOnEdge(T, end, S, a, b)
    if (distance <= NEAR) return nearest(along, u)
  }
  for (const [end, x] of [
    [a, 0],
    [b, walk.length],
  ] as const) {
    const { distance, along } = nearestOnEdge(S, end, T, c, d)
    if (distance <= NEAR) return nearest(x, along)
  }
  if (!crosses(S, a, b, T, c, d)) return undefined
  const { x, along } = crossingOf(S, a, b, T, c, d)
  return segment(x, 0, along, walk.at(x), other.at(along))
}

/** Degrees to the left between directions at two near positions, whose meridians differ near a pole. */
function angleTo(there: PlaceOnLine, here: PlaceOnLine): number {
  const turn = here.lon - there.lon
  return here.azimuth - there.azimuth - (turn - 360 * Math.round(turn / 360)) * Math.sin(here.lat * RADIANS)
}

/** Metres ahead of `x` and to the left, in the direction at `x`, of a position near it. */
function ahead(x: number, here: PlaceOnLine, there: PlaceOnLine): readonly [number, number] {
  const [east, north] = new Plane(place(here), 0).project(place(there), 0)
  const [sin, cos] = [Math.sin(here.azimuth * RADIANS), Math.cos(here.azimuth * RADIANS)]
  return [x + east * sin + north * cos, north * sin - east * cos]
}

/** Tangent plane with a gnomonic projection from the osculating sphere: geodesics are almost straight. */
class Plane {
  private readonly origin: readonly [number, number, number]
  private readonly east: readonly [number, number]
  private readonly north: readonly [number, number, number]
  private readonly up: readonly [number, number, number]

  constructor(V: Vertices, v: number) {
    const [lon, lat] = [V.lon[v]! * RADIANS, V.lat[v]! * RADIANS]
    this.origin = [V.x[v]!, V.y[v]!, V.z[v]!]
    this.east = [-Math.sin(lon), Math.cos(lon)]
    this.north = [-Math.sin(lat) * Math.cos(lon), -Math.sin(lat) * Math.sin(lon), Math.cos(lat)]
    this.up = [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)]
  }

  /** metres east and north */
  project(V: Vertices, v: number): readonly [number, number] {
    const [x, y, z] = [V.x[v]! - this.origin[0], V.y[v]! - this.origin[1], V.z[v]! - this.origin[2]]
    const scale = MEAN_RADIUS / (MEAN_RADIUS + x * this.up[0] + y * this.up[1] + z * this.up[2])
    return [
      (x * this.east[0] + y * this.east[1]) * scale,
      (x * this.north[0] + y * this.north[1] + z * this.north[2]) * scale,
    ]
  }
}

/** Position at a distance in metres in a direction. */
export function offset(lon: number, lat: number, azimuth: number, metres: number): PlaceOnLine {
  return geodesicLine(lon, lat, azimuth)(metres)
}
