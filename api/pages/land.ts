import { readFileSync } from 'node:fs'
import { clipPolygon } from 'lineclip'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { Cache } from '../http/cache'

type Position = [number, number]
type Box = [west: number, south: number, east: number, north: number]

/** Land polygons of Natural Earth. Each file is used for pictures narrower than `below` degrees. */
const DETAILS = [
  { below: 2, file: 'world-atlas/land-10m.json' },
  { below: 60, file: 'world-atlas/land-50m.json' },
  { below: Infinity, file: 'world-atlas/land-110m.json' },
]
const read = new Cache<{ ring: Position[]; box: Box }[]>('land')

/**
 * Returns the rings of land within a box, clipped to it. The box may extend east of 180 or west of -180.
 * @param turnsOf degrees by which a box is shifted into the picture
 */
export function landIn(
  [west, south, east, north]: Box,
  unrolled: (ring: Position[]) => Position[],
  turnsOf: (box: Box) => number[],
): Position[][] {
  const { file } = DETAILS.find(({ below }) => east - west < below)!
  return read
    .of(file, () => ringsOf(file, unrolled))
    .flatMap(({ ring, box }) =>
      turnsOf(box).flatMap((turn) => {
        if (box[1] > north || box[3] < south) return []
        const clipped = clipPolygon(ring, [west - turn, south, east - turn, north])
        return clipped.length < 3 ? [] : [clipped.map(([lng, lat]): Position => [lng + turn, lat])]
      }),
    )
}

function ringsOf(file: string, unrolled: (ring: Position[]) => Position[]) {
  const world = JSON.parse(readFileSync(require.resolve(file), 'utf8')) as Topology<{
    land: GeometryCollection
  }>
  return feature(world, world.objects.land)
    .features.flatMap(({ geometry }) => (geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : []))
    .map((positions) => {
      const ring = unrolled(positions as Position[])
      const [lngs, lats] = [ring.map(([lng]) => lng), ring.map(([, lat]) => lat)]
      const box: Box = [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
      return { ring, box }
    })
}
