import { lacksGeometry } from '../../src/location/event-time'
import type { Change } from './live'

/** Largest zoom of the service's tiles. */
export const MAX_ZOOM = 22

/** Tiles that contain changed points, if within the map; undefined if a change may be in any tile. */
export function touchedTiles(events: readonly Change[]): { x: number; y: number; z: number }[] | undefined {
  const touched = new Map<string, { x: number; y: number; z: number }>()
  for (const event of events) {
    if (!('record' in event)) return undefined
    const { longitude, latitude, problem } = event.record
    if (lacksGeometry(problem)) continue
    if (longitude === null || latitude === null) return undefined
    const radians = (latitude * Math.PI) / 180
    const [x, y] = [longitude / 360 + 0.5, 0.5 - Math.asinh(Math.tan(radians)) / (2 * Math.PI)]
    for (let z = 0; z <= MAX_ZOOM; z++) {
      const tiles = 2 ** z
      // A point on a border belongs to both tiles.
      for (const dx of [-1e-9, 1e-9])
        for (const dy of [-1e-9, 1e-9]) {
          const [column, row] = [Math.floor((x + dx) * tiles), Math.floor((y + dy) * tiles)]
          if (row < 0 || row >= tiles) continue
          const tile = { x: ((column % tiles) + tiles) % tiles, y: row, z }
          touched.set(`${z}/${tile.x}/${tile.y}`, tile)
        }
    }
  }
  return [...touched.values()]
}
