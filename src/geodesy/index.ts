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
import type { Layout, Reading } from './geojson'
import { findSides } from './region'
import { buildShape, isSameShape } from './shape'
import { overlapOf, regionOf } from './union'
import { checkPolygons, type Outline } from './validity'
import { normalLongitude } from './vertices'

/**
 * The geodesic kernel. It takes GeoJSON and answers in metres on the WGS84 ellipsoid: edges are shortest
 * geodesics, altitudes are ignored, and a ring bounds its smaller side. It knows no HTTP, no database and no
 * chain. Positions are [longitude, latitude] in degrees. README.md beside this file says what it answers and
 * how exactly; start at `prepareGeometry`.
 */
export { BoundError, boundViolations, checkBoundsEvery } from './bounds'
export { toCentimeters } from './centimeters'
export { EffortError, withEffort } from './effort'
export { GeometryError } from './error'
export { inRange, longitudeProblem } from './degrees'
export { canonicalJson, describe, Kind, readGeometry, readLifted, type Reading } from './geojson'
export { reachOf, type Box } from './reach'
export { liftCoordinates } from './scan'

/** A geometry that is ready to be measured any number of times. Immutable. */
export interface PreparedGeometry extends Prepared {
  /** type of the GeoJSON geometry, in a Feature that of its geometry */
  type: Layout['type']
}

/**
 * Counted microseconds that preparing a geometry may take: 100,000 positions of a coast or a city take a
 * third of it.
 */
const PREPARING = 1_000_000
/**
 * Counted microseconds that one question may take: a base, so much more per vertex, and a maximum. Two
 * geometries of 100,000 positions that run along each other take about the maximum.
 */
const MEASURING = 350_000
const MEASURING_VERTEX = 20
const MEASURING_MOST = 3_000_000

/**
 * Prepares a geometry for measuring: checks that its polygons have a certain inside (no ring crosses itself,
 * holes lie within their shell, each edge has a unique shortest path) and indexes its edges. Throws a
 * GeometryError that names the place, also when this takes more than PREPARING.
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

/**
 * The region of a geometry, computed when it is first needed. (A separate function, so that its closure does
 * not keep the reading in memory.)
 */
function onDemand(outline: Outline): () => Region | undefined {
  let cached: { region?: Region } | undefined
  return () => (cached ??= { region: regionOf(outline) }).region
}

const TOO_INTRICATE =
  'so many edges touch, overlap or run thousands of kilometres side by side that telling whether this is valid takes too long; give fewer positions, shorter edges, or several geometries'

/** Runs a measurement of geometries. Throws a GeometryError when it takes more than MEASURING. */
function measured<T>(geometries: readonly PreparedGeometry[], question: () => T): T {
  const [first, second] = geometries.map(({ shape }) => shape.path)
  const refusal = () =>
    new GeometryError(
      first!,
      `${second === undefined ? 'its edges' : `its edges and those of ${second}`} touch, overlap or keep the same distance in so many places that measuring takes too long; give fewer positions, or parts`,
    )
  const vertices = geometries.reduce((sum, { given }) => sum + given.lon.length, 0)
  return orRefuse(Math.min(MEASURING_MOST, MEASURING + MEASURING_VERTEX * vertices), question, refusal)
}

/**
 * Distance between the nearest places of two geometries in metres, to a micrometre; 0 where they share a
 * place. Both orders of arguments give the same.
 */
export function distanceMeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return measured([a, b], () => {
    const distance = leastDistance(a, b)
    assertBound('a distance is at most that of two vertices', () => {
      // A seam is no boundary: its start may lie outside.
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
 * Where the distance is: a position of each geometry, at that distance to a micrometre. Undefined where one
 * geometry lies in the other and their boundaries do not meet. For drawing only: where edges meet almost in
 * line, the position may lie beside the shorter one, by less than its length.
 */
export function nearestPlaces(a: PreparedGeometry, b: PreparedGeometry): [Position, Position] | undefined {
  const places = measured([a, b], () => placesOf(a, b))
  return places && [position(places[0]), position(places[1])]
}

/**
 * Positions along the shortest geodesic, its ends included, at most so many metres apart. Longitudes go on
 * without a jump at the antimeridian, past 180. Between antipodes it is one of several.
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

/** The position so many metres from another one, in a direction in degrees clockwise from north. */
export function positionFrom([lon = 0, lat = 0]: Position, azimuth: number, metres: number): Position {
  return position(geodesicLine(lon, lat, azimuth)(metres))
}

/** Direction of the shortest geodesic at its start, degrees clockwise from north. */
export function azimuthTo([lonA = 0, latA = 0]: Position, [lonB = 0, latB = 0]: Position): number {
  return inverse(lonA, latA, lonB, latB).azimuthA
}

const position = ({ lon, lat }: { lon: number; lat: number }): Position => [lon, lat]

/**
 * The number that decides: the distance in whole centimetres, rounded once. `distance`, `within` and
 * `intersects` follow from it (docs/spec/geodesy.md 1).
 */
export function distanceCentimeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return Math.round(distanceMeters(a, b) * 100)
}

/**
 * `distanceCentimeters` of two positions within the range of degrees, which are not prepared: a sixth of the
 * time.
 */
export function centimetersBetween([lonA, latA]: Position, [lonB, latB]: Position): number {
  const [a, b] = [normalLongitude(lonA!), normalLongitude(lonB!)]
  // In the order that geometries are measured in: the same computation, to the last bit.
  const isInOrder = a === b ? latA! <= latB! : a < b
  const meters = isInOrder ? inverseDistance(a, latA!, b, latB!) : inverseDistance(b, latB!, a, latA!)
  return Math.round(meters * 100)
}

/**
 * Whether the distance in whole centimetres is at most the radius in whole centimetres; `radius` in metres.
 */
export function isWithin(a: PreparedGeometry, b: PreparedGeometry, radiusMeters: number): boolean {
  const radius = toCentimeters(radiusMeters)
  return measured([a, b], () => isWithinCentimeters(a, b, radius))
}

function isWithinCentimeters(a: PreparedGeometry, b: PreparedGeometry, radius: number): boolean {
  // The search skips what is a centimetre farther, and ends at a distance that certainly rounds to the
  // radius.
  return Math.round(leastDistance(a, b, (radius + 1) / 100, (radius + 0.499) / 100) * 100) <= radius
}

/** Whether the distance is 0.00 m. Touching counts. */
export function intersects(a: PreparedGeometry, b: PreparedGeometry): boolean {
  return isWithin(a, b, 0)
}

/**
 * Whether no part of a geometry lies outside the container, to half a centimetre, and the interiors meet
 * (OGC). A place on the boundary is not contained. Implies `intersects`.
 */
export function contains(container: PreparedGeometry, geometry: PreparedGeometry): boolean {
  // Even if it runs along itself in more places than can be compared.
  if (isSameShape(container.given, geometry.given)) return true
  return measured(
    [container, geometry],
    () => containsShape(container, geometry) && isWithinCentimeters(container, geometry, 0),
  )
}

/**
 * Geodesic area in square metres, without holes, to 1e-6 m2 and a unit of its last digit (edges up to 2,000
 * km). Throws a GeometryError for anything but a Polygon or MultiPolygon, and when polygons overlap.
 */
export function areaSquareMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw new GeometryError(shape.path, `area is that of a Polygon or MultiPolygon, got a ${type}`)
  const overlap = measured([geometry], () => overlapOf(geometry))
  const area = measured([geometry], () => polygonArea(geometry))
  return Math.max(0, area - overlap - (geometry.excess ?? 0))
}

/**
 * Geodesic length in metres, to 15 nanometres per edge. Throws a GeometryError for anything but a LineString
 * or MultiLineString.
 */
export function lengthMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'LineString' && type !== 'MultiLineString')
    throw new GeometryError(shape.path, `length is that of a LineString or MultiLineString, got a ${type}`)
  return measured([geometry], () => lineLength(geometry))
}

/**
 * The shortest geodesic between two places in degrees: its length in metres, and the place so many metres
 * from its start, with a longitude from -180 to 180. For drawing; exact to 15 nanometres.
 */
export function geodesicBetween(
  lonA: number,
  latA: number,
  lonB: number,
  latB: number,
): { meters: number; at: (meters: number) => { lon: number; lat: number } } {
  const { distance, azimuthA } = inverse(lonA, latA, lonB, latB)
  return { meters: distance, at: geodesicLine(lonA, latA, azimuthA) }
}
