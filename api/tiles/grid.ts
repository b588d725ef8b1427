import type { Bbox } from '../store'
import { invalid } from '../http/parameters'

/**
 * Tile of the tile matrix set WebMercatorQuad (OGC 17-083r4, D.1): zoom z has 2^z tiles on a side, counted
 * from the north-western corner of the world in Web Mercator (EPSG:3857).
 */

export interface Tile {
  z: number
  x: number
  y: number
}

/** Largest zoom: one of its tiles is 10 metres wide at the equator. */
export const MAX_ZOOM = 22
/** Range of a tile's coordinates along each axis, which start with 0 at its north-western corner. */
export const EXTENT = 4_096
/** Tile units by which shapes extend beyond the tile's edges, so that clients draw no border there. */
export const BUFFER = 64
/** Degrees of latitude at which the map ends in the north and the south, which makes it a square. */
export const MAX_LATITUDE = 85.0511287798066
/** Exponent of 2: the database stores positions in units of the world's width / 2^WORLD_BITS. */
export const WORLD_BITS = 31
const RADIANS = Math.PI / 180

/** Longitude and latitude in degrees as shares of the world's width, from its north-western corner. */
export function worldX(lon: number): number {
  return lon / 360 + 0.5
}
export function worldY(lat: number): number {
  return 0.5 - Math.asinh(Math.tan(lat * RADIANS)) / (2 * Math.PI)
}

/** Box of the tile with its buffer, in degrees. It crosses the antimeridian if the buffer does. */
export function boxOf({ z, x, y }: Tile): Bbox {
  const tiles = 2 ** z
  const margin = BUFFER / EXTENT
  const lat = (row: number) =>
    Math.max(
      -MAX_LATITUDE,
      Math.min(MAX_LATITUDE, Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / tiles))) / RADIANS),
    )
  const lon = (column: number) => {
    const degrees = (column / tiles) * 360 - 180
    return degrees < -180 ? degrees + 360 : degrees > 180 ? degrees - 360 : degrees
  }
  const [south, north] = [lat(y + 1 + margin), lat(y - margin)]
  return z === 0 ? [-180, south, 180, north] : [lon(x - margin), south, lon(x + 1 + margin), north]
}

/** Columns (rows) of a grid of 2^bits by 2^bits cells over the world in one column (row) of tiles. */
export function cellsOf(at: number, z: number, bits: number): [first: number, last: number] {
  const cells = 2 ** (bits - z)
  return [at * cells, (at + 1) * cells - 1]
}

export function readZoom(text: string, name: string): number {
  const zoom = /^\d{1,2}$/.test(text) ? Number(text) : NaN
  if (!(zoom <= MAX_ZOOM)) throw invalid(name, `Expected a whole number from 0 to ${MAX_ZOOM}`)
  return zoom
}

/** Throws a RecordsError for a tile that does not exist. */
export function tileOf({ z, x, y }: Tile): Tile {
  for (const [name, value] of Object.entries({ x, y }))
    if (value >= 2 ** z) throw invalid(name, `Expected a whole number from 0 to ${2 ** z - 1} at zoom ${z}`)
  return { z, x, y }
}
