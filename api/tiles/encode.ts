import { fromVectorTileJs } from '@maplibre/vt-pbf'
import { PbfWriter } from 'pbf'
import { type TileCell, type TileRecord } from './sql'
import { EXTENT, MAX_LATITUDE, WORLD_BITS, worldY, type Tile } from './grid'
import { draw, RECORD_BUDGET, TILE_BUDGET, type Budget, type Drawing, type Path } from './shapes'

/** Encodes vector tiles (Mapbox Vector Tile 2.1). */

type Properties = Record<string, string | number | boolean>
interface Feature {
  /** 1 points, 2 lines, 3 polygons */
  type: 1 | 2 | 3
  paths: Path[]
  properties: Properties
}

export const RECORDS_LAYER = 'records'
export const CLUSTERS_LAYER = 'clusters'
const WORLD = 2 ** WORLD_BITS

/** Draws each record: its shape, or a point if the shape is too small to be visible or too large to read. */
export function drawnTile(tile: Tile, records: readonly TileRecord[]): Buffer {
  let left = TILE_BUDGET
  return encoded(
    RECORDS_LAYER,
    records.flatMap((record): Feature[] => {
      const { uid, chain, prover, location_type, revoked, memo, shape, at } = record
      const timestamp = new Date(at).toISOString()
      const properties: Properties = { uid, chain, prover, location_type, revoked, timestamp, memo }
      if (shape !== null && left > 0) {
        const budget: Budget = { work: Math.min(left, RECORD_BUDGET) }
        left -= budget.work
        const drawing = draw(JSON.parse(shape) as object, tile, budget)
        left += Math.max(0, budget.work)
        if (drawing) return featuresOf(drawing, properties)
      }
      const place = placeOf(record)
      if (!place || !isIn(tile, place)) return []
      return [
        {
          type: 1,
          paths: [within(tile, place[0], place[1])],
          properties: record.lon === null ? { ...properties, reduced: true } : properties,
        },
      ]
    }),
  )
}

/** Small parts are shown only if the tile would otherwise omit the record. */
function featuresOf({ points, lines, rings, open, small }: Drawing, properties: Properties): Feature[] {
  const parts: readonly Feature[] = [
    { type: 1, paths: points.length ? [points] : [], properties },
    { type: 2, paths: lines, properties },
    { type: 3, paths: rings, properties },
    { type: 3, paths: open, properties: { ...properties, open: true } },
  ]
  const features = parts.filter(({ paths }) => paths.length > 0)
  if (features.length || small.size === 0) return features
  const path = [...small].flatMap((at) => [at % EXTENT, Math.floor(at / EXTENT)])
  return [{ type: 1, paths: [path], properties: { ...properties, reduced: true } }]
}

/** Counts records: one point per cell of its grid, at the mean of their positions. */
export function countedTile(tile: Tile, cells: readonly TileCell[]): Buffer {
  const clusters = new Map<string, TileCell[]>()
  for (const cell of cells) {
    const key = `${cell.x} ${cell.y}`
    const known = clusters.get(key)
    if (known) known.push(cell)
    else clusters.set(key, [cell])
  }
  return encoded(
    CLUSTERS_LAYER,
    [...clusters.values()].map((parts): Feature => {
      const sum = (value: (part: TileCell) => number) => parts.reduce((total, part) => total + value(part), 0)
      const total = sum((part) => part.total)
      const properties: Properties = {
        point_count: total,
        revoked_count: sum((part) => (part.revoked ? part.total : 0)),
      }
      for (const { chain, total } of parts)
        properties[chain] = ((properties[chain] as number | undefined) ?? 0) + total
      return {
        type: 1,
        paths: [
          within(
            tile,
            (sum(({ xSum }) => xSum) / total + 0.5) / WORLD,
            (sum(({ ySum }) => ySum) / total + 0.5) / WORLD,
          ),
        ],
        properties,
      }
    }),
  )
}

/** Position like location_x and location_y (migration Tiles), in shares of the world's width. */
function placeOf({ lon, lat, x, y }: TileRecord): [number, number] | undefined {
  if (lon === null || lat === null)
    return x === null || y === null ? undefined : [(x + 0.5) / WORLD, (y + 0.5) / WORLD]
  if (Math.abs(lat) > MAX_LATITUDE) return undefined
  const wx = lon / 360 + 0.5
  return [wx - Math.floor(wx), worldY(lat)]
}

/** True if a position is in the tile. Positions at the edge of the map are in the last tile. */
function isIn({ z, x, y }: Tile, [wx, wy]: [number, number]): boolean {
  const last = 2 ** z - 1
  return (
    Math.min(last, Math.floor(wx * 2 ** z)) === x &&
    Math.max(0, Math.min(last, Math.floor(wy * 2 ** z))) === y
  )
}

/** Tile coordinates of a point, clamped so that rounding cannot move it out of the tile. */
function within({ z, x, y }: Tile, wx: number, wy: number): Path {
  const clamp = (value: number) => Math.max(0, Math.min(EXTENT - 1, Math.floor(value * EXTENT)))
  return [clamp((wx % 1) * 2 ** z - x), clamp(wy * 2 ** z - y)]
}

/**
 * Corrects pbf 5.1.2, with which vt-pbf encodes: it joins the halves of a surrogate pair with | instead of +,
 * and so writes another character for every second plane of Unicode, such as that of rare Chinese characters.
 */
const writer: { writeString: (this: PbfWriter, text: string) => void } = PbfWriter.prototype
const { writeString } = writer
writer.writeString = function (text) {
  if (/[\ud800-\udfff]/.test(text)) this.writeBytes(Buffer.from(text))
  else writeString.call(this, text)
}

/** Encodes one layer; empty if it has no features. */
function encoded(name: string, features: readonly Feature[]): Buffer {
  if (features.length === 0) return Buffer.alloc(0)
  const layer = {
    ...{ version: 2, name, extent: EXTENT, length: features.length },
    feature: (i: number) => {
      const { type, paths, properties } = features[i]!
      return { type, properties, id: undefined, extent: EXTENT, loadGeometry: () => paths.map(pointsOf) }
    },
  }
  return Buffer.from(fromVectorTileJs({ layers: { [name]: layer } }))
}

function pointsOf(path: Path): { x: number; y: number }[] {
  const points: { x: number; y: number }[] = []
  for (let i = 0; i < path.length; i += 2) points.push({ x: path[i]!, y: path[i + 1]! })
  return points
}
