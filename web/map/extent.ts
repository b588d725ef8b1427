import type { Feature, Geometry, Position } from 'geojson'

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

/** Position of a geometry: that of a point, otherwise the middle of the extent of the vertices. */
export function middleOf(geometry: Geometry | null | undefined): [number, number] | undefined {
  const extent = geometry && extentOf([geometry])
  if (!extent) return undefined
  const [west, south, east, north] = extent
  const longitude = (west + east) / 2
  return [Math.abs(longitude) > 180 ? wrapped(longitude) : longitude, (south + north) / 2]
}

/** Box between two positions, whose longitudes may be beyond 180 degrees. */
export function boxBetween(a: { lng: number; lat: number }, b: { lng: number; lat: number }): Box {
  const [south, north] = [Math.min(a.lat, b.lat), Math.max(a.lat, b.lat)]
  const [west, east] = [Math.min(a.lng, b.lng), Math.max(a.lng, b.lng)]
  return east - west >= 360 ? [-180, south, 180, north] : [wrapped(west), south, wrapped(east), north]
}

/** True if an edge crosses the antimeridian. Edges are the shortest paths. */
export const isAcross = (geometry: Geometry): boolean =>
  partsOf(geometry).some((part) =>
    part.some(([longitude = 0], i) => nearest(longitude, part[Math.max(0, i - 1)]![0]!) !== longitude),
  )

/** True if the geometry has positions where its type has them. Missing brackets are a common mistake. */
export function isWellFormed(geometry: Geometry): boolean {
  const isPosition = (given: unknown) =>
    Array.isArray(given) && given.length > 1 && given.every((each) => Number.isFinite(each))
  try {
    return partsOf(geometry).every((part) => part.every(isPosition))
  } catch {
    return false
  }
}

/** Ring of a box, whose longitudes may be beyond 180 degrees. */
export const ringOf = ([west, south, east, north]: Box): Position[] => [
  [west, south],
  [east, south],
  [east, north],
  [west, north],
  [west, south],
]

export const featureOf = (geometry: Geometry): Feature => ({ type: 'Feature', properties: {}, geometry })

/** Geometry with other positions, without other changes. */
export function mapPositions(geometry: Geometry, change: (position: Position) => Position): Geometry {
  const changed = (coordinates: unknown): unknown => {
    if (!Array.isArray(coordinates)) return coordinates
    return typeof coordinates[0] === 'number' ? change(coordinates) : coordinates.map(changed)
  }
  return JSON.parse(JSON.stringify(geometry), (key, value: unknown) =>
    key === 'coordinates' ? changed(value) : value,
  ) as Geometry
}

/** All positions of a geometry. */
export const positionsOf = (geometry: Geometry): Position[] => partsOf(geometry).flat()

/** Longitude of the same meridian that is nearest to another longitude. */
export const nearest = (longitude: number, to: number) => longitude + 360 * Math.round((to - longitude) / 360)

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
