import type { Geometry, Position } from 'geojson'

/** West, south, east, north in degrees; west > east crosses the antimeridian. */
export type Box = readonly [number, number, number, number]

/**
 * Box of geometries on the copies of the world that are nearest to the first position, so its longitudes may
 * be beyond 180 degrees, and east is not less than west. A ring around a pole contains the pole. Undefined if
 * there is no position.
 */
export function extentOf(geometries: readonly Geometry[]): Box | undefined {
  const parts = geometries.flatMap(partsOf).filter(({ length }) => length > 0)
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  const add = (longitude: number, latitude: number) => {
    ;[west, east] = [Math.min(west, longitude), Math.max(east, longitude)]
    ;[south, north] = [Math.min(south, latitude), Math.max(north, latitude)]
  }
  for (const part of parts) {
    // Edges are the shortest paths, so each position is within 180 degrees of the one before it.
    let before = parts[0]![0]![0]!
    const start = nearest(part[0]![0]!, before)
    for (const [longitude = 0, latitude = 0] of part) {
      before = nearest(longitude, before)
      add(before, latitude)
    }
    const [first, last] = [part[0]!, part.at(-1)!]
    const isRing = part.length > 3 && first[0] === last[0] && first[1] === last[1]
    if (isRing && Math.abs(before - start) > 180) add(before, first[1]! < 0 ? -90 : 90)
  }
  return parts.length === 0 ? undefined : [west, south, east, north]
}

/** All positions of a geometry. */
export const positionsOf = (geometry: Geometry): Position[] => partsOf(geometry).flat()

const nearest = (longitude: number, to: number) => longitude + 360 * Math.round((to - longitude) / 360)

/** Positions of each point, line and ring of a geometry. */
export function partsOf(geometry: Geometry): Position[][] {
  switch (geometry.type) {
    case 'Point':
      return [[geometry.coordinates]]
    case 'MultiPoint':
      return geometry.coordinates.map((position) => [position])
    case 'LineString':
      return [geometry.coordinates]
    case 'MultiLineString':
    case 'Polygon':
      return geometry.coordinates
    case 'MultiPolygon':
      return geometry.coordinates.flat()
    case 'GeometryCollection':
      return geometry.geometries.flatMap(partsOf)
  }
}

/** Longitude in degrees of the same meridian, at least -180 and less than 180. */
export const wrapped = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180
