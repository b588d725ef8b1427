import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, createMigratedDatabase, rows, type TestDatabase } from '../test/database'
import { UnavailableError } from './problems'
import { Store } from './store'
import { listQuery, type RecordFilter } from './store-records'

const COUNT = 30_000
let database: TestDatabase
let store: Store
beforeAll(async () => {
  database = await createMigratedDatabase()
  // Points over the whole globe, 300 provers, one record a minute, on four chains.
  await rows(
    database.url,
    `INSERT INTO location_record (id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location, longitude, latitude,
       recipe_types, recipe_payloads, media_types, media_data, memo, revoked, created_at, updated_at, geometry, schema_uid, ref_uid, revocable,
       expiration_time, block_number, block_hash, transaction_hash, log_index)
     SELECT chain || '-' || uid, uid, chain, prover, prover, time, time, 'EPSG:4326', 'geojson-point', geometry, lng, lat, '{}', '{}', '{}', '{}', '',
       i % 10 = 0, now(), now(), geometry, '0x', '0x', true, 0, i, '0x', '0x', 0
     FROM (SELECT i, '0x' || lpad(to_hex(i), 64, '0') AS uid, (ARRAY['base-sepolia', 'sepolia', 'arbitrum', 'celo'])[(1 + i % 4)::int] AS chain,
       '0x' || lpad(to_hex(i % 300), 40, '0') AS prover, timestamptz '2026-01-01' + i * interval '1 minute' AS time,
       (i * 7919 % 36000) / 100.0 - 180 AS lng, (i * 104729 % 18000) / 100.0 - 90 AS lat,
       format('{"type":"Point","coordinates":[%s,%s]}', (i * 7919 % 36000) / 100.0 - 180, (i * 104729 % 18000) / 100.0 - 90) AS geometry
       FROM generate_series(1::bigint, ${COUNT}) AS i) AS source`,
  )
  await rows(database.url, 'ANALYZE location_record')
  store = new Store(database.url, () => {})
}, 180_000)
afterAll(async () => {
  await store?.close()
  await database?.drop()
})

const PAGE = { limit: 100, offset: 0 }
test.each<[string, RecordFilter, RegExp]>([
  ['everything', {}, /Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/],
  ['a prover', { prover: `0x${'7'.padStart(40, '0')}` }, /"IDX_9a82d7a09825489f17fc2879e5"/],
  ['a subject', { subject: `0x${'7'.padStart(40, '0')}` }, /"IDX_acb961b377153a587da6544262"/],
  ['an hour', { after: new Date('2026-01-05T00:00Z'), before: new Date('2026-01-05T01:00Z') }, /Index .*"IDX_1cfc6c9a7979f2cd2fb4088bf7"/],
  ['a city', { bbox: [13, 52, 14, 53] }, /Index Scan (using|on) location_record_geom/],
  ['a city and a prover', { bbox: [13, 52, 14, 53], prover: `0x${'7'.padStart(40, '0')}` }, /location_record_geom|IDX_9a82d7a09825489f17fc2879e5/],
  ['a box across the antimeridian', { bbox: [179.5, -1, -179.5, 1] }, /BitmapOr[^]*location_record_geom[^]*location_record_geom/],
  ['the world', { bbox: [-180, -90, 180, 90] }, /Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"/],
])('%s is found by an index', async (_, filter, plan) => {
  const { text, values } = listQuery({ ...filter, ...PAGE })
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const lines = (await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)).rows.map((row) => row['QUERY PLAN']).join('\n')
  await client.end()
  expect(lines).toMatch(plan)
  expect(lines).not.toContain('Seq Scan')
})

test('what it finds is what a scan finds', async () => {
  const all = await store.listRecords({ limit: 100_000, offset: 0 })
  expect(all).toHaveLength(COUNT)
  const inBox = all.filter(({ rest }) => {
    const { longitude, latitude } = JSON.parse(rest) as { longitude: number; latitude: number }
    return (longitude >= 170 || longitude <= -170) && Math.abs(latitude) <= 10
  })
  expect(await store.listRecords({ bbox: [170, -10, -170, 10], limit: 100_000, offset: 0 })).toEqual(inBox)
  expect(inBox.length).toBeGreaterThan(50)
  expect(await store.stats(new Date('2026-01-20T00:00Z'))).toMatchObject({ total: COUNT, byChain: { celo: COUNT / 4 }, revoked: COUNT / 10 })
})

test('a database that is gone is unavailable, not an error of ours', async () => {
  const gone = new Store('postgres://nobody@127.0.0.1:1/none', () => {})
  await expect(gone.listRecords(PAGE)).rejects.toThrow(UnavailableError)
  expect(await gone.ping()).toBe(false)
  await gone.close()
})

test('a database without our tables says so', async () => {
  const empty = await createDatabase()
  const unmigrated = new Store(empty.url, () => {})
  await expect(unmigrated.listRecords(PAGE)).rejects.toThrow(new UnavailableError('The database is not migrated yet.'))
  await unmigrated.close()
  await empty.drop()
})

test('how far an index can be relied on: asked long ago, behind its node, of a node that stands still, never', async () => {
  const state = async (checked: string, head: [number, string], indexed: [number, string]) => {
    await rows(database.url, `INSERT INTO chain_status (chain, checked_at, head_height, head_timestamp, indexed_height, indexed_timestamp) VALUES ('celo', now() - $1::interval, $2, now() - $3::interval, $4, now() - $5::interval)
      ON CONFLICT (chain) DO UPDATE SET checked_at = excluded.checked_at, head_height = excluded.head_height, head_timestamp = excluded.head_timestamp, indexed_height = excluded.indexed_height, indexed_timestamp = excluded.indexed_timestamp`, [checked, ...head, ...indexed])
    const { age, headAge, block } = await store.indexState('celo')
    return [Math.round(age / 10) * 10, Math.round(headAge / 10) * 10, block]
  }
  expect(await state('0 s', [9, '0 s'], [9, '0 s'])).toEqual([0, 0, 9])
  expect(await state('100 s', [9, '100 s'], [9, '100 s'])).toEqual([100, 0, 9])
  expect(await state('0 s', [9, '0 s'], [8, '60 s'])).toEqual([60, 0, 8])
  expect(await state('0 s', [9, '7200 s'], [9, '7200 s'])).toEqual([0, 7_200, 9])
  expect(await store.indexState('base')).toEqual({ age: Infinity, headAge: 0, block: -1 })
})

test('inputs that are asked for at once each get their own, known or not, with or without their geometry', async () => {
  const uidOf = (i: number) => `0x${i.toString(16).padStart(64, '0')}`
  const asked = Array.from({ length: 1_200 }, (_, i) => ({ i: 1 + (i % 700), withGeometry: i % 3 === 0 }))
  const slug = (i: number) => ['base-sepolia', 'sepolia', 'arbitrum', 'celo'][i % 4]!
  const found = await Promise.all(asked.map(({ i, withGeometry }) => store.inputByUid(slug(i), uidOf(i), withGeometry)))
  for (const [n, { i }] of asked.entries()) expect([i, found[n]]).toMatchObject([i, { blockNumber: i, revoked: i % 10 === 0, expirationTime: 0n }])
  expect(found.filter((row, n) => asked[n]!.withGeometry && row!.geometry === null)).toEqual([])
  expect(await store.inputByUid('celo', uidOf(999_999), true)).toBeUndefined()
  expect(await store.inputByUid(slug(2), uidOf(1), true)).toBeUndefined()
})
