import { expect, test } from 'vitest'
import { centimetersBetween } from '../../src/geodesy'
import { seeded } from '../../test/seed'
import type { RecordFilter } from '../store/model'
import { nearest, type NearestReads } from './nearest'
import { placeOf } from './sieve'

/** Compares searches within a radius with brute force, without a database. */

const CENTRE: [number, number] = [13.4, 52.5]
/** Metres of a degree of latitude and of longitude at the centre, approximately. */
const DEGREE = [67_900, 111_270] as const
const RADIUS = 1_000
interface Known {
  id: string
  position: [number, number]
  geometry: string
  centimeters: number
}
/** A record at this distance east and north of the centre, in metres. */
const at = (i: number, east: number, north: number): Known => {
  const position: [number, number] = [CENTRE[0] + east / DEGREE[0], CENTRE[1] + north / DEGREE[1]]
  return {
    id: `celo-${String(i).padStart(6, '0')}`,
    position,
    geometry: JSON.stringify({ coordinates: position, type: 'Point' }),
    centimeters: centimetersBetween(position, CENTRE),
  }
}
/** Reads of these records, whose boxes contain all of them. */
const readsOf = (records: readonly Known[]): NearestReads => ({
  near: () => Promise.resolve(undefined),
  count: (_, cap) => Promise.resolve(Math.min(cap, records.length)),
  sample: (_, __, limit) =>
    Promise.resolve([...records].sort((a, b) => a.centimeters - b.centimeters).slice(0, limit)),
  all: async function* () {
    yield [...records]
  },
  measure: (list) => Promise.resolve(list.map(({ id }) => records[Number(id.slice(5))]!.centimeters)),
})

const random = seeded()
test('the nearest records are within the radius, even if fewer than requested are', async () => {
  const place = placeOf({ type: 'Point', coordinates: CENTRE }, 'near', RADIUS)
  for (const share of [0.1, 0.5, 1, 2]) {
    // Corners of the box around the circle are beyond the radius.
    const records = Array.from({ length: 2_000 }, (_, i) => {
      const size = RADIUS * (i % 3 === 0 ? share : 1)
      return i % 2 ? at(i, size * random(), size * random()) : at(i, 0.9 * RADIUS, (i % 4) - 1 + 0.9 * RADIUS)
    })
    const inside = records
      .filter(({ centimeters }) => centimeters <= RADIUS * 100)
      .sort((a, b) => a.centimeters - b.centimeters || (a.id < b.id ? -1 : 1))
      .map(({ id, centimeters }) => ({ id, centimeters }))
    for (const [after, limit] of [
      [0, 1],
      [0, 1_001],
      [0, inside.length],
      [0, inside.length + 1],
      [inside.length - 10, 101],
    ] as const) {
      const last = after > 0 ? inside[after - 1]! : undefined
      const from = last && { at: last.centimeters, id: last.id }
      const query = { filter: {}, place, limit, ...(from && { from }) }
      expect(await nearest(query, readsOf(records))).toEqual(inside.slice(after, after + limit))
    }
  }
})

test(
  'records that cannot be measured do not enlarge the circle that is read',
  { tags: ['slow'] },
  async () => {
    const records = Array.from({ length: 30_000 }, (_, i) => at(i, 3 * i + 1_000, 0))
    const place = placeOf({ type: 'Point', coordinates: CENTRE }, 'near', 500_000)
    const expected = records.slice(0, 10).map(({ id, centimeters }) => ({ id, centimeters }))
    for (const crossing of [1, 5, 10, 1_000]) {
      // Polygons that cross themselves next to the centre.
      const others = Array.from({ length: crossing }, (_, i) => ({ ...at(i, 0, 0), id: `celo-x${i}` }))
      const all = [...others, ...records]
      const within = ({ reaching }: RecordFilter) =>
        all.filter(({ position: [lng, lat] }) =>
          reaching!.some(([w, s, e, n]) => w <= lng && lng <= e && s <= lat && lat <= n),
        )
      let read = 0
      const found = await nearest(
        { filter: {}, place, limit: 10 },
        {
          ...readsOf(all),
          count: (filter, cap) => Promise.resolve(Math.min(cap, within(filter).length)),
          all: async function* (filter) {
            const rows = within(filter)
            read += rows.length
            yield rows
          },
          measure: (list) =>
            Promise.resolve(
              list.map(({ id }) =>
                id.startsWith('celo-x') ? null : records[Number(id.slice(5))]!.centimeters,
              ),
            ),
        },
      )
      expect(found).toEqual(expected)
      expect(read).toBeLessThan(20_000)
    }
  },
)
