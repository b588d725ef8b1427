import type { Geometry, Position } from 'geojson'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { intersects, isWithin, readGeometry, reachOf } from '../../src/geodesy'
import { SIEVE_WORKER } from '../../test/api'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { insertRecords, preparedOf } from '../../test/records'
import { SEED, hunt } from '../../test/seed'
import { RecordSearch, type SearchQuery } from './search'
import { placeOf } from './sieve'
import { Store } from '../store/store'
import type { RecordResult } from '../store/model'
import { positions } from '../../test/positions'

const COUNT = 500
let random = seededRandom(SEED)
/** Returns a random longitude, more often near the antimeridian. */
const lng = () =>
  random() < 0.3
    ? [179.5, -179.5, 180, -180][Math.floor(random() * 4)]! + (random() - 0.5) * 0.9
    : random() * 360 - 180
const lat = () =>
  random() < 0.3
    ? [88, -88, 89.9, -89.9][Math.floor(random() * 4)]! + (random() - 0.5) * 0.15
    : (Math.asin(random() * 2 - 1) * 180) / Math.PI
const position = (): Position => {
  const x = lng()
  return [x > 180 ? x - 360 : x < -180 ? x + 360 : x, lat()]
}
/** Returns a position at most about that many degrees from another one. */
const near = ([x, y]: Position, degrees: number): Position => {
  const [east, north] = [
    x! + ((random() - 0.5) * degrees) / Math.max(0.05, Math.cos((y! * Math.PI) / 180)),
    Math.max(-90, Math.min(90, y! + (random() - 0.5) * degrees)),
  ]
  return [east - 360 * Math.round(east / 360), north]
}
const size = () => [0.01, 1, 20, 100][Math.floor(random() * 4)]!
const shape = (): Geometry => {
  const at = position()
  const degrees = size()
  const kind = Math.floor(random() * 5)
  if (kind <= 1) return { type: 'Point', coordinates: at }
  if (kind === 2) return { type: 'LineString', coordinates: [at, near(at, degrees), near(at, degrees)] }
  if (kind === 3) return { type: 'MultiPoint', coordinates: [at, near(at, degrees)] }
  const ring = [at, near(at, degrees), near(at, degrees)]
  return { type: 'Polygon', coordinates: [[...ring, at]] }
}
let database: TestDatabase
let store: Store
let records: RecordSearch
/** UIDs of the shapes, in their order. */
let uids: string[]
const shapes = Array.from({ length: COUNT }, shape)
const measurable = shapes.map(preparedOf)
beforeAll(async () => {
  database = await createMigratedDatabase()
  uids = (
    await insertRecords(
      database.url,
      shapes.map((geometry) => ({ geometry })),
    )
  ).map(({ uid }) => uid)
  store = new Store(database.url, () => {})
  records = new RecordSearch(store, SIEVE_WORKER)
})
afterAll(async () => {
  await records?.close()
  await store?.close()
})

const numbers = (found: RecordResult[]) => found.map(({ uid }) => uids.indexOf(uid)).sort((a, b) => a - b)
const all = async (search: Omit<SearchQuery, 'limit' | 'sort'>) => {
  const found: RecordResult[] = []
  for await (const page of records.search({ ...search, limit: Infinity }).pages()) found.push(...page)
  return numbers(found)
}

hunt(
  'the search by intersects and near finds the records that the kernel selects',
  5,
  async ({ random: seeded, cases }) => {
    random = seeded
    let hits = 0
    for (let n = 0; n < cases; n++) {
      const asked = shape()
      const target = preparedOf(asked)
      if (!target) continue
      const meets = await all({ place: placeOf(asked, 'intersects') })
      expect([asked, meets]).toEqual([
        asked,
        measurable.flatMap((each, i) => (each && intersects(each, target) ? [i] : [])),
      ])
      const [center, radius] = [position(), [50, 5_000, 300_000, 3_000_000, 15_000_000][n % 5]!]
      const point: Geometry = { type: 'Point', coordinates: center }
      const within = await all({ place: placeOf(point, 'near', radius) })
      const at = preparedOf(point)!
      expect([center, radius, within]).toEqual([
        center,
        radius,
        measurable.flatMap((each, i) => (each && isWithin(each, at, radius) ? [i] : [])),
      ])
      hits += meets.length + within.length
    }
    expect(hits).toBeGreaterThan(8 * cases)
  },
)

test('search boxes contain all positions within the radius, also at the antimeridian and the poles', () => {
  const boxes = (geometry: Geometry, meters = 0) =>
    reachOf(readGeometry(geometry, 'geometry'), meters).map((box) =>
      box.map((degrees) => Math.round(degrees * 1000) / 1000 + 0),
    )
  expect(boxes({ type: 'Point', coordinates: [10, 20] })).toEqual([[10, 20, 10, 20]])
  // The geodesic from 0 to 100 E at 49 N reaches 60.8 N.
  expect(boxes({ type: 'LineString', coordinates: positions('0 49, 100 49') })).toEqual([
    [0, 49, 100, 60.907],
  ])
  expect(boxes({ type: 'LineString', coordinates: positions('179 -17, -179 -18') })).toEqual([
    [179, -18.003, -179, -17],
  ])
  expect(boxes({ type: 'Polygon', coordinates: [positions('0 70, 120 70, -120 70, 0 70')] })).toEqual([
    [-180, -90, 180, 90],
  ])
  expect(boxes({ type: 'Point', coordinates: [179.9, 60] }, 100_000)).toEqual([
    [178.053, 59.095, -178.253, 60.905],
  ])
  expect(boxes({ type: 'Point', coordinates: [10, 89.9] }, 100_000)).toEqual([[-180, 88.995, 180, 90]])
})

test('the search by place applies limit, offset, cursors and counts consistently', async () => {
  const place = placeOf({ type: 'Point', coordinates: [0, 0] }, 'near', 9_000_000)
  const everything = await records.search({ place, limit: 600 }).page()
  expect(everything.next).toBeUndefined()
  expect(everything.rows.length).toBeGreaterThan(100)
  const [first, second] = [
    await records.search({ place, limit: 50 }).page(),
    await records.search({ place, limit: 50, offset: 50 }).page(),
  ]
  expect([...first.rows, ...second.rows]).toEqual(everything.rows.slice(0, 100))
  const after = await records.search({ place, limit: 50, from: first.next! }).page()
  expect(after.rows).toEqual(second.rows)
  expect(await records.search({ place, limit: 1 }).count()).toEqual({
    total: everything.rows.length,
    exact: true,
  })
  const exported: RecordResult[] = []
  for await (const page of records.search({ place, limit: 80, offset: 7 }).pages()) exported.push(...page)
  expect(exported).toEqual(everything.rows.slice(7, 87))
})

test('the stored counts equal a full scan after every change', async () => {
  const count = async () => [
    (await records.search({ limit: 1 }).count()).total,
    (await records.search({ limit: 1, revoked: true }).count()).total,
    BigInt((await store.recordStates())[0]!.revision),
  ]
  const [total, revoked, revision] = (await count()) as [number, number, bigint]
  expect([total, revoked]).toEqual([COUNT, 0])
  await rows(
    database.url,
    `UPDATE location_record SET revoked = true WHERE uid IN ('${uids[1]!}', '${uids[2]!}')`,
  )
  expect(await count()).toEqual([total, 2, revision + 1n])
  await rows(database.url, `DELETE FROM location_record WHERE uid = '${uids[1]!}'`)
  expect(await count()).toEqual([total - 1, 1, revision + 2n])
  expect(await rows(database.url, 'SELECT kind, uid FROM record_change ORDER BY id DESC LIMIT 3')).toEqual([
    { kind: 'reorged', uid: uids[1] },
    { kind: 'revoked', uid: uids[2] },
    { kind: 'revoked', uid: uids[1] },
  ])
})
