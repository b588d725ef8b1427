import { lineLength, polygonArea } from './area'
import { contains as containsShape } from './contains'
import { leastDistance, type Prepared } from './distance'
import { orRefuse } from './effort'
import { GeometryError } from './error'
import type { Layout, Reading } from './geojson'
import { findSides } from './region'
import { buildShape } from './shape'
import { regionOf, type Region } from './union'
import { checkPolygons } from './validity'

/**
 * ROOM 1: the geodesic kernel. GeoJSON in, metres out, on the WGS84 ellipsoid; edges are shortest geodesics, altitude is
 * ignored, a ring bounds its smaller side. Knows no HTTP, no database and no chain. Positions are [longitude, latitude] in
 * degrees. What it answers and how exactly: README.md beside this file.
 */
export { EffortError, withEffort } from './effort'
export { GeometryError } from './error'
export { canonicalJson, readGeometry, readLifted, type Reading } from './geojson'
export { reachOf, type Box } from './reach'
export { liftCoordinates, type Lifted } from './scan'

/** A geometry ready to be measured, as often as wanted. Never changed once made. */
export interface PreparedGeometry extends Prepared {
  /** of the GeoJSON, a Feature's geometry's */
  type: Layout['type']
}

/** Microseconds, as counted, that preparing a geometry may take: 100,000 positions of a coast or a city take a third. */
const PREPARING = 1_000_000
/** And that one question may, with so much more for each vertex, up to a most: two geometries of 100,000 that run along each other take about that. */
const MEASURING = 300_000
const MEASURING_VERTEX = 30
const MEASURING_MOST = 3_000_000
/** And an area: each edge of thousands of kilometres is integrated in hundreds of steps. */
const MEASURING_AREA = 4_000_000

/**
 * Prepares a reading: checks that its polygons have a certain inside (none crosses itself, holes lie in their shell, edges
 * have a unique shortest path) and indexes its edges. Throws a GeometryError that names the place, also where that takes
 * more than PREPARING.
 */
export function prepareGeometry(reading: Reading): PreparedGeometry {
  let path = reading.path
  const prepare = () => {
    const given = buildShape(reading)
    const rings = findSides(given)
    const outline = checkPolygons(given, rings, (shell) => (path = shell))
    let region: { known?: Region } | undefined
    return {
      given,
      ...outline,
      rings,
      region: () => (region ??= { known: regionOf(outline, rings) }).known,
      type: reading.layout.type,
    }
  }
  return orRefuse(PREPARING, prepare, () => new GeometryError(path, TOO_INTRICATE))
}

const TOO_INTRICATE =
  'so many edges touch, overlap or run thousands of kilometres side by side that telling whether this is valid takes too long; give fewer positions, shorter edges, or several geometries'

/** Answers a question about geometries. Throws a GeometryError where that takes more than MEASURING, or `most`. */
function measured<T>(geometries: readonly PreparedGeometry[], question: () => T, most?: number): T {
  const [first, second] = geometries.map(({ shape }) => shape.path)
  const refusal = () =>
    new GeometryError(
      first!,
      `${second === undefined ? 'its edges' : `its edges and those of ${second}`} touch, overlap or keep the same distance in so many places that measuring takes too long; give fewer positions, or parts`,
    )
  const vertices = geometries.reduce((sum, { given }) => sum + given.lon.length, 0)
  return orRefuse(
    most ?? Math.min(MEASURING_MOST, MEASURING + MEASURING_VERTEX * vertices),
    question,
    refusal,
  )
}

/** Shortest way between the nearest places of two geometries, metres, to a micrometre; 0 where they share one. The same in both orders. */
export function distanceMeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return measured([a, b], () => leastDistance(a, b))
}

/** The one number that decides: distance in whole centimetres, rounded once. `distance`, `within` and `intersects` follow from it (GEODESY.md 1). */
export function distanceCentimeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return Math.round(distanceMeters(a, b) * 100)
}

/** Whether the distance, in centimetres, is no more than the radius (metres), in centimetres. */
export function isWithin(a: PreparedGeometry, b: PreparedGeometry, radiusMeters: number): boolean {
  const radius = Math.round(radiusMeters * 100)
  // What is a centimetre farther is left out at once.
  return Math.round(measured([a, b], () => leastDistance(a, b, (radius + 1) / 100)) * 100) <= radius
}

/** Whether the distance is 0.00 m: touching counts. */
export function intersects(a: PreparedGeometry, b: PreparedGeometry): boolean {
  return isWithin(a, b, 0)
}

/** Whether nothing of a geometry lies outside of the container, to half a centimetre, and their interiors meet (OGC). A place on the boundary is not contained. Implies `intersects`. */
export function contains(container: PreparedGeometry, geometry: PreparedGeometry): boolean {
  return (
    measured([container, geometry], () => containsShape(container, geometry)) &&
    intersects(container, geometry)
  )
}

/** Geodesic area, square metres, holes left out, to about 1e-14 of it. Throws a GeometryError for anything but a Polygon or MultiPolygon. */
export function areaSquareMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw new GeometryError(shape.path, `area is that of a Polygon or MultiPolygon, got a ${type}`)
  return measured([geometry], () => polygonArea(geometry), MEASURING_AREA)
}

/** Geodesic length, metres, to 15 nanometres an edge. Throws a GeometryError for anything but a LineString or MultiLineString. */
export function lengthMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'LineString' && type !== 'MultiLineString')
    throw new GeometryError(shape.path, `length is that of a LineString or MultiLineString, got a ${type}`)
  return measured([geometry], () => lineLength(geometry))
}
