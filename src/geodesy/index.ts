import { lineLength, polygonArea } from './area'
import { contains as containsShape } from './contains'
import { leastDistance, type Prepared } from './distance'
import { GeometryError } from './error'
import type { Layout, Reading } from './geojson'
import { findSides } from './region'
import { buildShape } from './shape'
import { checkPolygons } from './validity'

/**
 * ROOM 1: the geodesic kernel. GeoJSON in, metres out, on the WGS84 ellipsoid; edges are shortest geodesics, altitude is
 * ignored, a ring bounds its smaller side. Knows no HTTP, no database and no chain. Positions are [longitude, latitude] in
 * degrees. What it answers and how exactly: README.md beside this file.
 */
export { EffortError, withEffort } from './effort'
export { GeometryError } from './error'
export { canonicalJson, readGeometry, type Reading } from './geojson'
export { reachOf, type Box } from './reach'

/** A geometry ready to be measured, as often as wanted. Never changed once made. */
export interface PreparedGeometry extends Prepared {
  /** of the GeoJSON, a Feature's geometry's */
  type: Layout['type']
}

/**
 * Prepares a reading: checks that its polygons have a certain inside (none crosses itself, holes lie in their shell, edges
 * have a unique shortest path) and indexes its edges; n log n at worst. Throws a GeometryError that names the place.
 */
export function prepareGeometry(reading: Reading): PreparedGeometry {
  const shape = buildShape(reading)
  const rings = findSides(shape)
  return { shape, rings, pinched: checkPolygons(shape, rings), type: reading.layout.type }
}

/** Shortest way between the nearest places of two geometries, metres, to a micrometre; 0 where they share one. The same in both orders. */
export function distanceMeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return leastDistance(a, b)
}

/** The one number that decides: distance in whole centimetres, rounded once. `distance`, `within` and `intersects` follow from it (GEODESY.md 1). */
export function distanceCentimeters(a: PreparedGeometry, b: PreparedGeometry): number {
  return Math.round(leastDistance(a, b) * 100)
}

/** Whether the distance, in centimetres, is no more than the radius (metres), in centimetres. */
export function isWithin(a: PreparedGeometry, b: PreparedGeometry, radiusMeters: number): boolean {
  return distanceCentimeters(a, b) <= Math.round(radiusMeters * 100)
}

/** Whether the distance is 0.00 m: touching counts. */
export function intersects(a: PreparedGeometry, b: PreparedGeometry): boolean {
  return distanceCentimeters(a, b) === 0
}

/** Whether nothing of a geometry lies outside of the container, to half a centimetre, and their interiors meet (OGC). A place on the boundary is not contained. Implies `intersects`. */
export function contains(container: PreparedGeometry, geometry: PreparedGeometry): boolean {
  return containsShape(container, geometry) && intersects(container, geometry)
}

/** Geodesic area, square metres, holes left out, to about 1e-14 of it. Throws a GeometryError for anything but a Polygon or MultiPolygon. */
export function areaSquareMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'Polygon' && type !== 'MultiPolygon') throw new GeometryError(shape.path, `area is that of a Polygon or MultiPolygon, got a ${type}`)
  return polygonArea(geometry)
}

/** Geodesic length, metres, to 15 nanometres an edge. Throws a GeometryError for anything but a LineString or MultiLineString. */
export function lengthMeters(geometry: PreparedGeometry): number {
  const { type, shape } = geometry
  if (type !== 'LineString' && type !== 'MultiLineString') throw new GeometryError(shape.path, `length is that of a LineString or MultiLineString, got a ${type}`)
  return lineLength(geometry)
}
