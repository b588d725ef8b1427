// SPDX-License-Identifier: MIT
import type { Reading } from './geojson'

/** minLng, minLat, maxLng, maxLat in degrees; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
export type Box = readonly [number, number, number, number]

/** Maximum number of boxes. A geometry of more chains gets one box. */
const MAX_BOXES = 8
/** Width in degrees of longitude at which a chain may reach any latitude up to the poles. */
const WIDE = 170
/** Longitudes on the auxiliary sphere are at most 1/298 larger than on the ellipsoid (Karney 2013, eq. 8). */
const SPHERE_EXCESS = 1.004
/** Lower bound of the length of a degree of latitude, metres. */
const METERS_IN_DEGREE = 110_574
const RADIANS = Math.PI / 180

/**
 * Boxes that cover every position within `meters` of a geometry: a superset, for an index search. An edge
 * with latitudes up to y and w degrees of longitude between its ends reaches atan(tan y / cos(w / 2)) on the
 * sphere, and on the ellipsoid with reduced latitudes and w larger by a 298th, where y cancels out.
 */
export function reachOf({ lon, lat, chains }: Reading, meters = 0): Box[] {
  const spans = chains.map(({ start, end }) => spanOf(lon.subarray(start, end), lat.subarray(start, end)))
  return (spans.length <= MAX_BOXES ? spans : [spans.reduce(union)]).map((span) => boxOf(span, meters))
}

/** Longitudes continued across the antimeridian: west from -180 to 180, east from west to west + 360. */
interface Span {
  west: number
  east: number
  south: number
  north: number
}

function spanOf(lon: Float64Array, lat: Float64Array): Span {
  let [at, west, east, south, north] = [lon[0]!, lon[0]!, lon[0]!, lat[0]!, lat[0]!]
  for (let i = 1; i < lon.length; i++) {
    const step = lon[i]! - lon[i - 1]!
    at += step - 360 * Math.round(step / 360)
    west = Math.min(west, at)
    east = Math.max(east, at)
    south = Math.min(south, lat[i]!)
    north = Math.max(north, lat[i]!)
  }
  if (east - west >= WIDE) return { west: -180, east: 180, south: -90, north: 90 }
  const bulge = Math.cos((RADIANS * SPHERE_EXCESS * (east - west)) / 2)
  const poleward = (y: number) =>
    Math.abs(y) === 90 ? y : Math.atan(Math.tan(y * RADIANS) / bulge) / RADIANS
  return {
    west,
    east,
    south: south < 0 ? poleward(south) : south,
    north: north > 0 ? poleward(north) : north,
  }
}

function union(a: Span, b: Span): Span {
  const [west, east] = [Math.min(a.west, b.west), Math.max(a.east, b.east)]
  const across = [a, b].some((span) => span.west < -180 || span.east > 180)
  return {
    west: across ? -180 : west,
    east: across ? 180 : east,
    south: Math.min(a.south, b.south),
    north: Math.max(a.north, b.north),
  }
}

/** Box of the span, enlarged by `meters` and a decimetre. */
function boxOf(span: Span, meters: number): Box {
  const away = (meters * 1.001 + 0.1) / METERS_IN_DEGREE
  const [south, north] = [Math.max(-90, span.south - away), Math.min(90, span.north + away)]
  // A circle without a pole reaches sin(dlon) = sin(r) / cos(lat) on the sphere, and 1 % more here.
  const sine =
    Math.sin(Math.min(90, away * 1.01) * RADIANS) /
    Math.cos(Math.max(Math.abs(span.south), Math.abs(span.north)) * RADIANS)
  const aside = away < 90 && north < 90 && south > -90 && sine < 1 ? (Math.asin(sine) / RADIANS) * 1.01 : 360
  if (span.east - span.west + 2 * aside >= 360) return [-180, south, 180, north]
  const wrapped = (lng: number) => lng - 360 * Math.round(lng / 360)
  return [wrapped(span.west - aside), south, wrapped(span.east + aside), north]
}
