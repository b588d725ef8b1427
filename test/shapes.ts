import { Geodesic } from 'geographiclib-geodesic'
import type { Geometry, Polygon, Position } from 'geojson'
import { prepareGeometry, readGeometry } from '../src/geodesy'
import { positions } from './positions'

/** Shapes of tests of the kernel, and positions along geodesics, computed by GeographicLib. */

export type Random = () => number

export const prepare = (value: unknown) => prepareGeometry(readGeometry(value, 'g'))

export const range = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

export const closed = (ring: readonly Position[]): Position[] => [...ring, ring[0]!]
/** Ring of a rectangle with geodesic edges. */
export const box = (west: number, south: number, east: number, north: number): Position[] =>
  closed([
    [west, south],
    [east, south],
    [east, north],
    [west, north],
  ])

export const point = (coordinates: Position): Geometry => ({ type: 'Point', coordinates })
export const line = (...coordinates: Position[]): Geometry => ({ type: 'LineString', coordinates })
export const points = (coordinates: Position[]): Geometry => ({ type: 'MultiPoint', coordinates })
export const polygon = (...coordinates: Position[][]): Polygon => ({ type: 'Polygon', coordinates })
export const square = (west: number, south: number, size = 1): Polygon =>
  polygon(box(west, south, west + size, south + size))
export const ROUND_THE_POLE = polygon(positions('0 80, 90 80, 180 80, -90 80, 0 80'))
/** Parts without holes. */
export const parts = (...rings: Position[][]): Geometry => ({
  type: 'MultiPolygon',
  coordinates: rings.map((ring) => [ring]),
})

/** Position at a distance in metres from another one. */
export function travel([lon, lat]: Position, azimuth: number, metres: number): Position {
  const { lat2, lon2 } = Geodesic.WGS84.Direct(lat!, lon!, azimuth, metres)
  return [Math.max(-180, Math.min(180, lon2!)), lat2!]
}
export function between(a: Position, b: Position): { metres: number; azimuth: number } {
  const { s12, azi1 } = Geodesic.WGS84.Inverse(a[1]!, a[0]!, b[1]!, b[0]!)
  return { metres: s12!, azimuth: azi1! }
}
/** Position at a share of the way from one position to another. */
export function along(a: Position, b: Position, share: number): Position {
  const { metres, azimuth } = between(a, b)
  return travel(a, azimuth, metres * share)
}

/** A shapefile with one point (ESRI Shapefile Technical Description, 1998). */
export function pointShapefile(longitude: number, latitude: number): Buffer {
  const file = Buffer.alloc(128)
  for (const [at, value] of [
    [0, 9994],
    [24, 64],
    [100, 1],
    [104, 10],
  ] as const)
    file.writeInt32BE(value, at)
  for (const [at, value] of [
    [28, 1000],
    [32, 1],
    [108, 1],
  ] as const)
    file.writeInt32LE(value, at)
  for (const at of [36, 52, 112]) {
    file.writeDoubleLE(longitude, at)
    file.writeDoubleLE(latitude, at + 8)
  }
  return file
}
