import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CITIES_SQL, FIRST_TIME, SECONDS_BETWEEN, insertRecordsSql } from '../../bench/generated-records'
import {
  TEST_DATABASE_URL,
  connect,
  createDatabase,
  createMigratedDatabase,
  rows,
  type TestDatabase,
} from '../../test/database'
import { seededRandom } from '../../dev/random'
import { addressOf, insertRecords, uidOf } from '../../test/records'
import { SEED } from '../../test/seed'
import { UnavailableError } from '../http/problems'
import { Store } from './store'
import { countQuery, listQuery } from './sql'
import type { Bbox, RecordQuery, RecordResult, Statement } from './model'
import { sentence, testSentences } from '../../test/sentences'
import { withPostgres } from '../../test/needs'

/** Plans and estimates need a large table, which takes a minute on the embedded database. */
const onLarge = withPostgres.test
const COUNT = TEST_DATABASE_URL ? 50_000 : 2_000
/** A time that many records share, and those records. */
const TIED = Date.UTC(2020, 0, 1)
let tied: { id: string; isFirst: boolean; isPlaced: boolean }[] = []
let database: TestDatabase
let store: Store
let client: Client
/** The busiest attester, and an attester with a few records. */
let busy: string
let usual: string
let cities: { lng: number; lat: number }[]
beforeAll(async () => {
  database = await createMigratedDatabase()
  await rows(database.url, insertRecordsSql(), [1, COUNT])
  await rows(database.url, 'ANALYZE')
  store = new Store(database.url, () => {})
  client = await connect(database.url)
  const provers = (
    await client.query<{ prover: string }>(
      'SELECT prover FROM location_record GROUP BY prover ORDER BY count(*) DESC, prover',
    )
  ).rows.map(({ prover }) => prover)
  ;[busy, usual] = [provers[0]!, provers[COUNT / 100]!]
  cities = (await client.query<{ lng: number; lat: number }>(CITIES_SQL)).rows
})
afterAll(() => store?.close())

const explained = async ({ text, values }: Statement) => {
  const lines = (await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)).rows
    .map((row) => row['QUERY PLAN'])
    .join('\n')
  expect(lines).not.toContain('Seq Scan')
  return lines
}
const boxRound = ({ lng, lat }: { lng: number; lat: number }, half: number): Bbox => [
  lng - half,
  lat - half,
  lng + half,
  lat + half,
]
/** Time of a record by its number. */
const timeOf = (i: number) => new Date(FIRST_TIME + i * SECONDS_BETWEEN * 1000)

onLarge.each<[string, () => Omit<RecordQuery, 'limit'>, RegExp]>([
  ['everything', () => ({}), /Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/],
  [
    'the oldest',
    () => ({ sort: { by: 'timestamp', descending: false } }),
    /Index Scan using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/,
  ],
  [
    'sorted by event time',
    () => ({ sort: { by: 'event_timestamp', descending: true } }),
    /Index Scan Backward using "IDX_d776ce0e5b0dca22721a90ba82"/,
  ],
  [
    'a chain',
    () => ({ chain: 'celo' }),
    /Index Scan Backward using "IDX_(580af116021f5047ffdc92002d|1cfc6c9a7979f2cd2fb4088bf7)"/,
  ],
  ['a prover', () => ({ prover: usual }), /"IDX_9a82d7a09825489f17fc2879e5"/],
  [
    'the busiest prover',
    () => ({ prover: busy }),
    /"IDX_9a82d7a09825489f17fc2879e5"|"IDX_1cfc6c9a7979f2cd2fb4088bf7"/,
  ],
  ['a subject', () => ({ subject: usual }), /"IDX_acb961b377153a587da6544262"/],
  ['an unknown schema', () => ({ schema: '0x00' }), /"IDX_3a1a3ee6216d62da15052a7f74"/],
  ['an unknown location type', () => ({ locationType: 'Nothing' }), /location_record_type/],
  ['revoked ones', () => ({ revoked: true }), /location_record_revoked|"IDX_1cfc6c9a7979f2cd2fb4088bf7"/],
  [
    'revoked ones of a chain',
    () => ({ revoked: true, chain: 'celo' }),
    /location_record_(chain_)?revoked|"IDX_/,
  ],
  [
    'an hour',
    () => ({ after: timeOf(20_000), before: timeOf(20_180) }),
    /Index .*"IDX_1cfc6c9a7979f2cd2fb4088bf7"/,
  ],
  [
    'after a position',
    () => ({ from: { at: timeOf(20_000).getTime(), id: 'celo-0x' } }),
    /Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/,
  ],
  ['a neighbourhood', () => ({ bbox: boxRound(cities[40]!, 0.02) }), /Scan (using|on) location_record_geom/],
  ['a city', () => ({ bbox: boxRound(cities[40]!, 0.2) }), /Scan (using|on) location_record_geom/],
  [
    'a city and a prover',
    () => ({ bbox: boxRound(cities[0]!, 0.2), prover: usual }),
    /location_record_geom|IDX_9a82d7a09825489f17fc2879e5/,
  ],
  [
    'a box across the antimeridian',
    () => ({ bbox: [179.5, -1, -179.5, 1] }),
    /BitmapOr[^]*location_record_geom[^]*location_record_geom/,
  ],
  [
    'the world',
    () => ({ bbox: [-180, -90, 180, 90] }),
    /Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/,
  ],
  [
    'all together',
    () => ({
      chain: 'celo',
      prover: usual,
      after: timeOf(1),
      before: timeOf(COUNT),
      bbox: boxRound(cities[0]!, 0.2),
      revoked: false,
    }),
    /Index|Bitmap/,
  ],
  [
    'geometries that may reach a box',
    () => ({ reaching: [boxRound(cities[40]!, 0.05)] }),
    /location_record_geom[^]*location_record_reach/,
  ],
])('the store finds %s by an index', async (_, query, plan) => {
  expect(await explained(listQuery({ ...query(), limit: 101 }))).toMatch(plan)
})

onLarge('the store uses the index of positions and times for a time window within a box', async () => {
  const window = { since: timeOf(48_000), until: timeOf(49_000) }
  expect(await explained(listQuery({ bbox: boxRound(cities[0]!, 0.2), limit: 101 }, window))).toMatch(
    /location_record_place_time/,
  )
  expect(await explained(listQuery({ reaching: [boxRound(cities[0]!, 0.2)], limit: 101 }, window))).toMatch(
    /Index|Bitmap/,
  )
})

/** Reference: numbers of the matching records, found by filtering the whole table here. */
const scanned = async (passes: (place: { i: number; longitude: number; latitude: number }) => boolean) =>
  (
    await client.query<{ i: number; longitude: number; latitude: number }>(
      'SELECT block_number AS i, longitude::float8, latitude::float8 FROM location_record WHERE longitude IS NOT NULL ORDER BY timestamp DESC, id DESC',
    )
  ).rows
    .filter(passes)
    .map(({ i }) => i)
const numberOf = ({ text }: RecordResult) => Number((JSON.parse(text) as { memo: string }).memo.split(' ')[1])

onLarge(
  'the store finds the same records in boxes as a full scan, window by window and in pages',
  { tags: ['slow'] },
  async () => {
    for (const [bbox, atLeast] of [
      [boxRound(cities[0]!, 0.2), 3_000],
      [boxRound(cities[3]!, 0.2), 500],
      [boxRound(cities[100]!, 0.05), 5],
      [[-180, -90, 180, 90], 40_000],
      [[170, -50, -170, 70], 500],
      [[0, 85, 1, 86], 0],
    ] as const) {
      const [w, s, e, n] = bbox
      const inside = await scanned(
        ({ longitude, latitude }) =>
          (w <= e ? longitude >= w && longitude <= e : longitude >= w || longitude <= e) &&
          latitude >= s &&
          latitude <= n,
      )
      expect(inside.length).toBeGreaterThanOrEqual(atLeast)
      const query = { bbox, locationType: 'geojson-point' }
      const first = (await store.page({ ...query, limit: 101 })).rows
      expect(first.map(numberOf)).toEqual(inside.slice(0, 101))
      expect((await store.page({ ...query, limit: 50, offset: 30 })).rows.map(numberOf)).toEqual(
        inside.slice(30, 80),
      )
      const middle = timeOf(inside[Math.floor(inside.length / 2)] ?? 7)
      expect((await store.page({ ...query, before: middle, limit: 60 })).rows.map(numberOf)).toEqual(
        inside.filter((i) => timeOf(i) < middle).slice(0, 60),
      )
      expect((await store.page({ ...query, after: middle, limit: 2_000 })).rows.map(numberOf)).toEqual(
        inside.filter((i) => timeOf(i) > middle).slice(0, 2_000),
      )
      const last = first.at(-1)
      const candidates = (
        await store.page({
          reaching: [bbox],
          locationType: 'geojson-point',
          limit: 2_000,
        })
      ).rows
      expect(candidates.map(numberOf)).toEqual(inside.slice(0, 2_000))
      if (last)
        expect(
          (
            await store.page({
              ...query,
              from: { at: timeOf(numberOf(last)).getTime(), id: `${last.chain}-${last.uid}` },
              limit: 101,
            })
          ).rows.map(numberOf),
        ).toEqual(inside.slice(101, 202))
    }
  },
)

test('the store finds a new record at once, although the cached extent is older', async () => {
  const bbox = boxRound(cities[0]!, 0.2)
  await store.page({ bbox, limit: 1 })
  await rows(database.url, insertRecordsSql(), [COUNT + 1, COUNT + 400])
  const newest = (
    await scanned(
      ({ longitude: x, latitude: y }) => x >= bbox[0] && x <= bbox[2] && y >= bbox[1] && y <= bbox[3],
    )
  )[0]!
  expect(newest).toBeGreaterThan(COUNT)
  expect(numberOf((await store.page({ bbox, locationType: 'geojson-point', limit: 1 })).rows[0]!)).toBe(
    newest,
  )
  await rows(database.url, 'DELETE FROM location_record WHERE block_number > $1', [COUNT])
})

test('a window of time without an end includes the year 9999', async () => {
  const last = Date.UTC(9999, 11, 31)
  await insertRecords(
    client,
    [{ uid: uidOf(9_999), timestamp: last, geometry: { type: 'Point', coordinates: [-170, -70] } }],
    COUNT + 2_000,
  )
  const { text, values } = listQuery({ bbox: [-171, -71, -169, -69], limit: 1 }, { since: new Date(last) })
  expect((await client.query(text, values)).rows).toMatchObject([
    { lines: expect.stringContaining(uidOf(9_999)) },
  ])
  await client.query('DELETE FROM location_record WHERE timestamp = $1', [new Date(last)])
})

test('the store reads large records and geometries in bounded parts, each of them once', async () => {
  const coordinates = Array.from({ length: 4_000 }, (_, i) => [-150 - i / 1e6, -60 + (i % 7) / 1e6])
  const large = await insertRecords(
    database.url,
    Array.from({ length: 55 }, () => ({ geometry: { type: 'LineString', coordinates } })),
    COUNT + 1_000,
  )
  const bbox: Bbox = [-151, -61, -149, -59]
  const ids = large.map(({ chain, uid }) => `${chain}-${uid}`)
  const query = { bbox, limit: 250 }
  for (const sort of [
    { by: 'timestamp', descending: true },
    { by: 'event_timestamp', descending: false },
  ] as const) {
    for (const withGeometry of [true, false]) {
      const read: string[] = []
      const bytes: number[] = []
      for (let from: RecordQuery['from'] | undefined | 'start' = 'start'; from;) {
        const page = await store.page({ ...query, sort, ...(from !== 'start' && { from }), withGeometry })
        read.push(...page.rows.map(({ chain, uid }) => `${chain}-${uid}`))
        bytes.push(page.rows.reduce((sum, row) => sum + row.text.length + (row.geometry?.length ?? 0), 0))
        from = page.next
      }
      expect(read).toEqual(sort.descending ? ids.toReversed() : ids)
      // A part may exceed the limit by its last row.
      expect(bytes.length).toBeGreaterThan(1)
      expect(Math.max(...bytes)).toBeLessThan(4_200_000)
    }
    const { rows: end, next } = await store.page({ ...query, sort, offset: 50 })
    expect([end.map(({ uid }) => uid), next]).toEqual([
      (sort.descending ? large.toReversed() : large).slice(50).map(({ uid }) => uid),
      undefined,
    ])
  }
  const placed: string[] = []
  let parts = 0
  for (let isLast = false; !isLast; parts++) {
    const read = await store.placesAfter({ bbox }, placed.at(-1) ?? '', 250)
    placed.push(...read.rows.map(({ id }) => id))
    isLast = read.isLast
  }
  expect([placed, parts > 1]).toEqual([ids.toSorted(), true])
  await rows(database.url, 'DELETE FROM location_record WHERE id = ANY($1)', [ids])
})

onLarge('the store estimates no fewer than a hundredth of the records in a box', async () => {
  const city = boxRound(cities[0]!, 0.2)
  const plan = (
    await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      'EXPLAIN (FORMAT JSON) SELECT 1 FROM location_record WHERE ' +
        /WHERE (.*)/.exec(countQuery({ bbox: city }, 1).text)![1]!.replace(/ LIMIT.*/, ''),
      countQuery({ bbox: city }, 1).values.slice(0, -1),
    )
  ).rows[0]!['QUERY PLAN']
  const inside = (
    await scanned(
      ({ longitude: x, latitude: y }) => x >= city[0] && x <= city[2] && y >= city[1] && y <= city[3],
    )
  ).length
  expect(plan[0].Plan['Plan Rows']).toBeGreaterThan(inside / 100)
})

// An embedded database has only one session.
withPostgres.test(
  'the store leaves connections for other queries while endless lists time out with advice',
  { tags: ['slow'] },
  async () => {
    const locker = new Client({ connectionString: database.url })
    await locker.connect()
    await locker.query('BEGIN; LOCK TABLE location_record')
    const limits = { statement_timeout: 400, query_timeout: 2_000 }
    const hasty = new Store(database.url, () => {}, limits)
    const lists = Promise.allSettled(Array.from({ length: 20 }, () => hasty.page({ limit: 1 })))
    let ended = false
    void lists.then(() => (ended = true))
    expect((await hasty.recordStates()).length).toBe(4)
    expect(await hasty.indexState('celo')).toBeUndefined()
    // A list ends after its time, whether it waits for the lock or for a connection.
    expect(ended).toBe(false)
    const reasons = (await lists).map((each) =>
      each.status === 'rejected' ? (each.reason as Error).message : each.status,
    )
    await locker.query('ROLLBACK')
    await locker.end()
    expect(new Set(reasons)).toContain(
      'The database query took more than 5 seconds. Narrow it by chain, prover, a shorter time range or a smaller bbox, or sort by timestamp.',
    )
    expect((await hasty.page({ limit: 1 })).rows).toHaveLength(1)
    await hasty.close()
  },
)

test('the store reads the state of the data once for all requests that wait for it', async () => {
  const states = await Promise.all(Array.from({ length: 100 }, () => store.recordStates()))
  // All but the first wait for the read that follows the first.
  expect(new Set(states).size).toBe(2)
  expect(new Set(await Promise.all(states.map(() => store.stateTag()))).size).toBe(1)
})

test('the store throws an UnavailableError, not an internal error, if the database is lost', async () => {
  const gone = new Store('postgres://nobody@127.0.0.1:1/none', () => {})
  await expect(gone.page({ limit: 100 })).rejects.toThrow(UnavailableError)
  expect(await gone.ping()).toBe(false)
  await gone.close()
})

test('the store throws an error that names missing tables', async () => {
  const empty = await createDatabase()
  const unmigrated = new Store(empty.url, () => {})
  await expect(unmigrated.page({ limit: 100 })).rejects.toThrow(sentence())
  await unmigrated.close()
  await empty.drop()
})

test('the store computes the ages of an index by the clock of the database', async () => {
  await rows(
    database.url,
    `INSERT INTO chain_status (chain, head_height, head_timestamp, checked_at, indexed_height, indexed_timestamp, agreed_at)
    VALUES ('celo', 9, now() - interval '7230 s', now() - interval '30 s', 8, now(), now() - interval '90 s')`,
  )
  const state = (await store.indexState('celo'))!
  const ages = [state.headAge, state.checkedAge, state.agreedAge]
  expect(ages.map((age) => Math.round(age! / 10) * 10)).toEqual([7_200, 30, 90])
  expect(state).toMatchObject({ headBlock: 9, indexedBlock: 8, doubt: null })
  expect(await store.indexState('base')).toBeUndefined()
})

test('the store returns its own row to each concurrent look-up of an input', async () => {
  await rows(
    database.url,
    `INSERT INTO chain_status (chain, schemas) SELECT chain, array_agg(DISTINCT schema_uid) FROM location_record GROUP BY chain
     ON CONFLICT (chain) DO UPDATE SET schemas = excluded.schemas`,
  )
  const known = (
    await client.query<{ i: number; chain: string; uid: string }>(
      'SELECT block_number AS i, chain, uid FROM location_record WHERE block_number <= 700 ORDER BY block_number',
    )
  ).rows
  const asked = Array.from({ length: 1_200 }, (_, n) => ({ ...known[n % 700]!, withGeometry: n % 3 === 0 }))
  const found = await Promise.all(
    asked.map(({ chain, uid, withGeometry }) => store.inputByUid(chain, uid, withGeometry)),
  )
  for (const [n, { i }] of asked.entries())
    expect([i, found[n]]).toMatchObject([i, { blockNumber: i, revoked: i % 50 === 0, expirationTime: 0n }])
  expect(found.filter((row, n) => asked[n]!.withGeometry && row!.geometry === null)).toEqual([])
  expect(await store.inputByUid('celo', `0x${'9'.repeat(64)}`, true)).toBeUndefined()
  expect(await store.inputByUid(known[0]!.chain, known[1]!.uid, true)).toBeUndefined()
})

test('the store finds no input whose later revocations may be unknown', async () => {
  const [record] = await rows<{ chain: string; uid: string; schema: string }>(
    database.url,
    'SELECT chain, uid, schema_uid AS schema FROM location_record LIMIT 1',
  )
  const { chain, uid, schema } = record!
  const finds = async (note: string, ...values: unknown[]) => {
    await rows(database.url, note, [chain, schema, ...values])
    return [
      (await store.inputByUid(chain, uid, false)) !== undefined,
      await store.readsHistory(chain, schema),
      await store.followsSchema(chain, schema),
    ]
  }
  const found = (isWatched: boolean, readFrom: number) =>
    finds(
      `INSERT INTO location_schema (chain, uid, fields, resolver, revocable, block_number, watched, read_from)
       VALUES ($1, $2, '', '', true, 5, $3, $4)
       ON CONFLICT (chain, uid) DO UPDATE SET watched = excluded.watched, read_from = excluded.read_from`,
      ...[isWatched, readFrom],
    )
  try {
    expect(await found(true, 5)).toEqual([true, false, true])
    expect(await found(true, 6)).toEqual([false, true, true])
    expect(await found(false, 5)).toEqual([false, false, false])
  } finally {
    await rows(database.url, 'DELETE FROM location_schema')
  }
  const noted = (change: string) =>
    finds(`UPDATE chain_status SET schemas = ${change}(schemas, $2) WHERE chain = $1`)
  expect(await noted('array_remove')).toEqual([false, false, false])
  expect(await noted('array_append')).toEqual([true, false, true])
})

// This test is the last one because it changes the records.
onLarge(
  'the store lists records in a box and records without a geometry in one order, in pages',
  async () => {
    await rows(
      database.url,
      'UPDATE location_record SET geometry = NULL, geom = NULL, longitude = NULL, latitude = NULL WHERE block_number % 150 = 0',
    )
    await rows(database.url, 'ANALYZE location_record')
    for (const [bbox, atLeast] of [
      [boxRound(cities[0]!, 0.2), 3_000],
      [boxRound(cities[40]!, 0.05), 300],
      [[-180, -90, 180, 90], 40_000],
      [[0, 85, 1, 86], 300],
    ] as const) {
      const [w, s, e, n] = bbox
      const found = (
        await rows<{ i: number }>(
          database.url,
          `SELECT block_number AS i FROM location_record WHERE location_type = 'geojson-point' AND (geom IS NULL OR longitude BETWEEN $1 AND $2 AND latitude BETWEEN $3 AND $4) ORDER BY timestamp DESC, id DESC`,
          [w, e, s, n],
        )
      ).map(({ i }) => i)
      expect(found.length).toBeGreaterThanOrEqual(atLeast)
      const query = { bbox, nowhere: 'too' as const, locationType: 'geojson-point' }
      expect(await store.countRecords(query, 1_000_000)).toBe(found.length)
      expect(await store.countRecords(query, 200)).toBe(200)
      let from: RecordQuery['from']
      for (let seen = 0; seen < Math.min(found.length, 2_000); seen += 150) {
        const page = (await store.page({ ...query, limit: 150, ...(from && { from }) })).rows
        expect(page.map(numberOf)).toEqual(found.slice(seen, seen + 150))
        const last = page.at(-1)!
        from = { at: timeOf(numberOf(last)).getTime(), id: `${last.chain}-${last.uid}` }
      }
      expect((await store.page({ ...query, limit: 20, offset: 10 })).rows.map(numberOf)).toEqual(
        found.slice(10, 30),
      )
    }
    expect(
      await explained(listQuery({ bbox: boxRound(cities[40]!, 0.02), nowhere: 'too', limit: 101 })),
    ).toMatch(/location_record_geom[^]*location_record_nowhere/)
  },
)

test('the store lists all indexed schemas, and the newest 100 other schemas', async () => {
  const registered = (first: number, last: number, watched: boolean) =>
    client.query(
      `INSERT INTO location_schema (chain, uid, fields, resolver, revocable, block_number, read_from, watched)
       SELECT chain, 'schema ' || i, '', '0x', true, i, 0, $3::boolean
       FROM generate_series($1::int, $2::int) AS i, unnest(ARRAY['celo', 'sepolia']) AS chain`,
      [first, last, watched],
    )
  await registered(1, 150, true)
  await registered(151, 400, false)
  await registered(401, 402, true)
  const numbers = [...Array(150).keys()].map((i) => i + 1)
  const left = [...Array(102).keys()].map((i) => i + 301)
  const listed = (await store.foundSchemas()).map(({ chain, block }) => `${chain} ${block}`)
  expect(listed).toEqual(
    ['celo', 'sepolia'].flatMap((chain) => [...numbers, ...left].map((block) => `${chain} ${block}`)),
  )
})

test.each<[string, Omit<RecordQuery, 'limit'>]>([
  ['a prover', { prover: addressOf(1) }],
  ['a subject', { subject: addressOf(2) }],
  ['a schema', { schema: uidOf(3) }],
  ['a location type', { locationType: 'tied' }],
  ['two provers', { prover: [addressOf(1), addressOf(2)] }],
  ['a box', { bbox: [0, 88, 1, 89] }],
  ['records without a geometry or in a box', { prover: addressOf(1), bbox: [0, 88, 1, 89], nowhere: 'too' }],
  ['a time', { after: new Date(TIED - 1), before: new Date(TIED + 1) }],
])('the store lists records of one time by their IDs, in pages: %s', async (_, query) => {
  if (!tied.length) {
    const random = seededRandom(SEED)
    tied = (
      await insertRecords(
        database.url,
        Array.from({ length: 60 }, (_, i) => ({
          ...{ prover: addressOf(1 + (i % 2)), subject: addressOf(2), schema: uidOf(3), timestamp: TIED },
          ...{ locationType: 'tied', chain: i % 3 ? 'celo' : 'arbitrum' },
          uid: uidOf(Math.floor(random() * 2 ** 50)),
          geometry: i % 5 ? { type: 'Point', coordinates: [0.5, 88.5] } : null,
        })),
        COUNT + 1_000,
      )
    ).map(({ id, prover, geometry }) => ({ id, isFirst: prover === addressOf(1), isPlaced: !!geometry }))
  }
  const expected = tied
    .filter(({ isFirst }) => isFirst || query.prover !== addressOf(1))
    .filter(({ isPlaced }) => isPlaced || !query.bbox || query.nowhere)
    .map(({ id }) => id)
    .sort()
  expect(expected.length).toBeGreaterThan(20)
  for (const by of ['timestamp', 'event_timestamp'] as const)
    for (const descending of [true, false]) {
      const found: string[] = []
      for (let from: RecordQuery['from']; ;) {
        const page = (
          await store.page({
            ...{ ...query, sort: { by, descending }, limit: 7 },
            ...(from && { from }),
          })
        ).rows
        const ids = page.map(({ chain, uid }) => `${chain}-${uid}`)
        found.push(...ids)
        if (page.length < 7) break
        from = { at: TIED, id: ids.at(-1)! }
      }
      expect(found).toEqual(descending ? expected.toReversed() : expected)
    }
})

test('the store reads times from a database whose default form of dates is not ISO', async () => {
  const other = await createMigratedDatabase()
  const [stored] = await insertRecords(other.url, [{ memo: 'dated' }])
  await rows(
    other.url,
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = ''SQL, DMY''', current_database()); END $$`,
  )
  const dated = new Store(other.url, () => {})
  try {
    expect((await dated.readExtent())?.first).toEqual(new Date(stored!.timestamp))
    expect(await dated.stateTag()).toHaveLength(22)
  } finally {
    await dated.close()
  }
})

testSentences()
