import { Geodesic } from 'geographiclib-geodesic'
import type { Geometry, Position } from 'geojson'
import { GeometryError } from './error'

/**
 * Geodesic distance between two geometries on the WGS84 ellipsoid, in metres, altitude ignored (Karney 2013,
 * doi:10.1007/s00190-012-0578-z; GeographicLib's inverse, accurate to 15 nanometres).
 * Only between Points so far: throws a GeometryError naming `pathA` or `pathB` for another type.
 */
export function distanceMeters(a: Geometry, b: Geometry, pathA = 'a', pathB = 'b'): number {
  const [lonA, latA] = pointPosition(a, pathA) as [number, number]
  const [lonB, latB] = pointPosition(b, pathB) as [number, number]
  // The one place where latitude comes first.
  return Geodesic.WGS84.Inverse(latA, lonA, latB, lonB, Geodesic.DISTANCE).s12!
}

function pointPosition(geometry: Geometry, path: string): Position {
  if (geometry.type !== 'Point') throw new GeometryError(path, `expected a Point, got a ${geometry.type}; other geometries are not measured yet`)
  return geometry.coordinates
}
