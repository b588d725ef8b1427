// SPDX-License-Identifier: MIT
import type { Position } from 'geojson'
import { lineLength, polygonArea } from './area'
import { assertBound } from './bounds'
import { contains as containsShape } from './contains'
import { toCentimeters } from './centimeters'
import { leastDistance, nearestPlaces as placesOf, type Prepared } from './distance'
import { orRefuse } from './effort'
import { geodesicLine, inverse, inverseDistance } from './ellipsoid'
import { GeometryError } from './error'
import type { Region } from './arrangement'
import { Kind, type Layout, type Reading } from './geojson'
import { findSides } from './region'
import { buildShape, joinChains } from './building'
import { isSameShape } from './shape'
import { overlapOf, regionOf } from './union'
import { checkPolygons, type Outline } from './validity'
import { normalLongitude } from './vertices'

/**
 * The geodesic kernel: measures GeoJSON geometries on the WGS84 ellipsoid, in metres. README.md in this
 * directory defines the results and their accuracy. Positions are [longitude, latitude] in degrees. Start at
 * `prepareGeometry`.
 */
export { BoundError, boundViolations, checkBoundsEvery } from './bounds'
export { readMeters, toCentimeters } from './centimeters'
export { EffortError, orNull, withEffort } from './effort'
export { GeometryError } from './error'
export { degreesProblem, inRange, longitudeProblem } from './degrees'
export { canonicalJson, describe, Kind, readGeometry, readLifted, type Reading } from './geojson'
export { reachOf, type Box } from './reach'
export { liftCoordinates } from './scan'

/** A geometry that can be measured any number of times. Immutable. */
export interface PreparedGeometry extends Prepared {
  /** type of the GeoJSON geometry; for a Feature, the type of its geometry */
  type: Layout['type']
}

/** Limit of counted microseconds for preparing. A coastline of 100,000 positions uses a third of it. */
const PREPARING = 1_000_000
/**
 * Limits of counted microseconds for one measurement: a base, an amount per vertex, and a maximum, which two
 * geometries of 100,000 positions that run along each other need.
 */
const MEASURING = 350_000
const MEASURING_VERTEX = 20
const MEASURING_MOST = 3_000_000
/** Amount per vertex to unite polygons: each parcel of a cadastre may cross its neighbours by micrometres. */
const UNITING_VERTEX = 150

/**
 * Prepares a geometry for measuring: indexes its edges, and checks that its polygons have an unambiguous
 * inside. Throws a GeometryError that names the position, also if the work exceeds PREPARING.
 */
export function prepareGeometry(reading: Reading): PreparedGeometry {
  let path = reading.path
  let refused: GeometryError | undefined
  const prepare = () => {
    const given = buildShape(reading)
    const outline = checkPolygons(given, findSides(given), (shell, refusal) => {
      path = shell
      refused = refusal
    })
    return { given, ...outline, region: onDemand(outline), type: reading.layout.type }
  }
  return orRefuse(PREPARING, prepare, () => refused ?? new GeometryError(path, TOO_INTRICATE))
}

/** Returns the region, computed at the first call. A closure of its own does not keep the reading alive. */
function onDemand(outline: Outline): () => Region | undefined {
  let cached: { region?: Region } | undefined
  return () => (cached ??= { region: regionOf(outline) }).region
}

const TOO_INTRICATE =
  'too many edges touch, overlap or run side by side over thousands of kilometres, so validation takes too long; use fewer positions, shorter edges or several geometries'

/** Runs a measurement. Throws a GeometryError beyond the limit of work: the one it noted, if any. */
function measured<T>(
  geometries: readonly PreparedGeometry[],
  question: (note: (refusal: GeometryError) => void) => T,
  perVertex = MEASURING_VERTEX,
): T {
  let noted: GeometryError | undefined
  const [first, second] = geometries.map(({ shape }) => shape.path)
  const refusal = () =>
    noted ??
    new GeometryError(
      first!,
      `${second === undefined ? 'its edges' : `its edges and those of ${second}`} touch, overlap or stay equally far apart in too many positions, so measuring takes too long; use fewer positions or fewer parts`,
    )
  const vertices = geometries.reduce((sum, { given }) => sum + given.lon.length, 0)
  const limit = Math.min(MEASURING_MOST, MEASURING + perVertex * vertices)
  return orRefuse(limit, () => question((refused) => (noted = refused)), refusal)
}

/** Distance of the nearest positions in metres, to a micrometre. Either order has the same result. */
export function distanceMeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return measured([a, b], () => {
    const distance = leastDistance(a, b)
    assertBound('a distance is at most that of two vertices', () => {
      // A seam is not a boundary, so its start may lie outside.
      const [e, f] = [a, b].map(({ seams }) => (seams ? seams.findIndex((isSeam) => !isSeam) : 0))
      if (e! < 0 || f! < 0) return true
      const [from, to] = [a.shape.from[e!]!, b.shape.from[f!]!]
      const apart = inverseDistance(
        a.shape.lon[from]!,
        a.shape.lat[from]!,
        b.shape.lon[to]!,
        b.shape.lat[to]!,
      )
      return distance <= apart + 1e-6
    })
    return distance
  })
}

/**
 * Nearest positions, one of each geometry. Their distance equals the distance of the geometries to a
 * micrometre. Undefined if one geometry lies in the other and their boundaries do not meet. For drawing only:
 * if edges meet almost in line, the position may be off the shorter edge, by less than that edge's length.
 */
export function nearestPlaces(a: PreparedGeometry, b: PreparedGeometry): [Position, Position] | undefined {
  const places = measured([a, b], () => placesOf(a, b))
  return places && [position(places[0]), position(places[1])]
}

/**
 * Positions along the shortest geodesic including its ends, at most `step` metres apart. Longitudes continue
 * past 180 at the antimeridian instead of jumping. Between antipodes, the path is one of several.
 */
export function geodesicPath([lonA = 0, latA = 0]: Position, to: Position, step: number): Position[] {
  const [lonB = 0, latB = 0] = to
  const { distance, azimuthA } = inverse(lonA, latA, lonB, latB)
  const line = geodesicLine(lonA, latA, azimuthA)
  const pieces = Math.max(1, Math.ceil(distance / step))
  const path: Position[] = [[lonA, latA]]
  for (let i = 1; i <= pieces; i++) {
    const { lon, lat } = i === pieces ? { lon: lonB, lat: latB } : line((distance * i) / pieces)
    const before = path[i - 1]![0]!
    path.push([lon + 360 * Math.round((before - lon) / 360), lat])
  }
  return path
}

/**
 * Position `metres` away from another one, in a direction in degrees clockwise from north. The client throws
 * a RangeError beyond 1e13 metres.
 */
export function positionFrom([lon = 0, lat = 0]: Position, azimuth: number, metres: number): Position {
  return position(geodesicLine(lon, lat, azimuth)(metres))
}

/** Direction of the shortest geodesic at its start, degrees clockwise from north. */
export function azimuthTo([lonA = 0, latA = 0]: Position, [lonB = 0, latB = 0]: Position): number {
  return inverse(lonA, latA, lonB, latB).azimuthA
}

const position = ({ lon, lat }: { lon: number; lat: number }): Position => [lon, lat]

/** Distance in whole centimetres, rounded once, for distance, within, intersects (docs/spec/geodesy.md 1). */
export function distanceCentimeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return Math.round(distanceMeters(a, b) * 100)
}

/** `distanceCentimeters` of two positions in the range of degrees, in a sixth of the time. */
export function centimetersBetween([lonA, latA]: Position, [lonB, latB]: Position): number {
  const [a, b] = [normalLongitude(lonA!), normalLongitude(lonB!)]
  // Both functions must measure in the same order to agree to the last bit.
  const isInOrder = a === b ? latA! <= latB! : a < b
  const meters = isInOrder ? inverseDistance(a, latA!, b, latB!) : inverseDistance(b, latB!, a, latA!)
  return Math.round(meters * 100)
}

/** True if the distance is at most the radius, both in whole centimetres, rounded half up. */
export function isWithin(a: PreparedGeometry, b: PreparedGeometry, radiusMeters: number): boolean {
  const radius = toCentimeters(radiusMeters)
  return measured([a, b], () => isWithinCentimeters(a, b, radius))
}

function isWithinCentimeters(a: Prepared, b: Prepared, radius: number): boolean {
  // Skips pairs a centimetre beyond the radius. Ends at a distance that certainly rounds to it or less.
  return Math.round(leastDistance(a, b, (radius + 1) / 100, (radius + 0.499) / 100) * 100) <= radius
}

/** True if the distance rounds to 0.00 m. Touching counts. */
export function intersects(a: PreparedGeometry, b: PreparedGeometry): boolean {
  return isWithin(a, b, 0)
}

/**
 * True if no part of the geometry lies half a centimetre or more outside the container, and their interiors
 * meet (OGC). A position on the boundary is not contained. Containment implies `intersects`.
 */
export function contains(container: PreparedGeometry, geometry: PreparedGeometry): boolean {
  // A shape contains itself, even if its edges coincide in more pairs than can be compared.
  if (isSameShape(container.given, geometry.given)) return true
  return measured(
    [container, geometry],
    () => containsShape(container, geometry) && isWithinCentimeters(container, geometry, 0),
    UNITING_VERTEX,
  )
}

/**
 * True if the distance between a geometry and the boundary of polygons rounds to 0.00 m. Seams between parts,
 * cuts and keyholes are not boundary.
 */
export function touchesBoundary(polygons: PreparedGeometry, geometry: PreparedGeometry): boolean {
  return measured(
    [polygons, geometry],
    () => {
      const boundary = boundaryOf(polygons)
      return boundary !== undefined && isWithinCentimeters(boundary, geometry, 0)
    },
    UNITING_VERTEX,
  )
}

/** Boundary of polygons as lines. Undefined without polygons, or if they cover the whole ellipsoid. */
function boundaryOf(prepared: Prepared): Prepared | undefined {
  const region = prepared.region()
  if (!region || region.end === 0) return undefined
  const lines = region.shape.chains
    .filter(({ kind }) => kind === Kind.Ring)
    .map((chain) => ({ shape: region.shape, chain: { ...chain, kind: Kind.Line, polygon: -1 } }))
  const shape = joinChains(region.shape.path, lines, [])
  return { shape, given: shape, rings: findSides(shape), region: () => undefined }
}

/**
 * Geodesic area in square metres, without holes, to 1e-6 m2 plus one unit of the last digit for edges up to
 * 2,000 km. Throws a GeometryError for other types than polygons, and if polygons overlap.
 */
export function areaSquareMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw new GeometryError(shape.path, `area requires a Polygon or MultiPolygon, got a ${type}`)
  const overlap = measured([geometry], (note) => overlapOf(geometry, note), UNITING_VERTEX)
  const area = measured([geometry], () => polygonArea(geometry))
  return Math.max(0, area - overlap - (geometry.excess ?? 0))
}

/** Geodesic length in metres, accurate to 15 nm per edge. Throws a GeometryError for all but lines. */
export function lengthMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'LineString' && type !== 'MultiLineString')
    throw new GeometryError(shape.path, `length requires a LineString or MultiLineString, got a ${type}`)
  return measured([geometry], () => lineLength(geometry))
}

/**
 * Shortest geodesic between positions: its length in metres, and the position at a distance from its start,
 * with a longitude from -180 to 180. For drawing; accurate to 15 nanometres.
 */
export function geodesicBetween(lonA: number, latA: number, lonB: number, latB: number) {
  const { distance, azimuthA } = inverse(lonA, latA, lonB, latB)
  return { meters: distance, at: geodesicLine(lonA, latA, azimuthA) }
}
