import type { Geometry, Position } from 'geojson'
import { reachOf, readGeometry } from '../../../src/geodesy'

/** Geometry of a record as the columnar formats need it. */
export interface Shape {
  /** Either all positions have a height, or none has. Those that lack it get NaN. */
  geometry: Geometry
  hasZ: boolean
  bounds: Bounds
}

/** West, south, east, north in degrees. A geometry that crosses the antimeridian reaches from -180 to 180. */
export type Bounds = [number, number, number, number]

/** Empty bounds: no box meets them, and extending others by them changes nothing. */
export const NOWHERE: Readonly<Bounds> = [Infinity, Infinity, -Infinity, -Infinity]

/**
 * Reads GeoJSON text. Its bounds contain every position, the geodesics between them, and the straight lines
 * that some readers draw instead.
 */
export function shapeOf(text: string): Shape {
  const geometry = JSON.parse(text) as Geometry
  const bounds: Bounds = [...NOWHERE]
  let [hasZ, lacksZ] = [false, false]
  eachPosition(geometry, ([lng, lat, height]) => {
    extend(bounds, [lng!, lat!, lng!, lat!])
    if (height === undefined) lacksZ = true
    else hasZ = true
  })
  if (geometry.type !== 'Point' && geometry.type !== 'MultiPoint')
    for (const [west, south, east, north] of reachOf(readGeometry(geometry, 'geometry')))
      extend(bounds, west > east ? [-180, south, 180, north] : [west, south, east, north])
  if (hasZ && lacksZ) eachPosition(geometry, (position) => (position[2] ??= NaN))
  return { geometry, hasZ, bounds }
}

/** Extends bounds in place to contain others. */
export function extend(bounds: Bounds, [west, south, east, north]: Readonly<Bounds>): void {
  if (west < bounds[0]) bounds[0] = west
  if (south < bounds[1]) bounds[1] = south
  if (east > bounds[2]) bounds[2] = east
  if (north > bounds[3]) bounds[3] = north
}

function eachPosition(geometry: Geometry, visit: (position: Position) => void): void {
  if (geometry.type === 'GeometryCollection')
    for (const part of geometry.geometries) eachPosition(part, visit)
  else eachIn(geometry.coordinates, visit)
}
type Nested = Position | Nested[]
function eachIn(nested: Nested, visit: (position: Position) => void): void {
  if (typeof nested[0] === 'number') visit(nested as Position)
  else for (const each of nested as Nested[]) eachIn(each, visit)
}

/** Steps of the curve along each axis, as a power of two: cells of 600 m at the equator. */
const CURVE_ORDER = 16
/** Key of records without a geometry, which sorts them last. */
export const LAST_KEY = 2 ** 32 - 1

/** Position of the centre of bounds on a Hilbert curve over the world. Neighbours have close numbers. */
export function curveKey([west, south, east, north]: Readonly<Bounds>): number {
  const cell = (degrees: number, range: number) =>
    Math.max(0, Math.min(2 ** CURVE_ORDER - 1, Math.floor((degrees / range + 0.5) * 2 ** CURVE_ORDER)))
  let [x, y, key] = [cell((west + east) / 2, 360), cell((south + north) / 2, 180), 0]
  for (let side = 2 ** (CURVE_ORDER - 1); side >= 1; side /= 2) {
    const [right, upper] = [x & side ? 1 : 0, y & side ? 1 : 0]
    key += side * side * ((3 * right) ^ upper)
    // In a lower quarter the curve is rotated.
    if (!upper) {
      if (right) [x, y] = [side - 1 - (x & (side - 1)), side - 1 - (y & (side - 1))]
      ;[x, y] = [y, x]
    }
  }
  return key
}
