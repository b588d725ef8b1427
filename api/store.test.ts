import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, createMigratedDatabase, rows, type TestDatabase } from '../test/database'
import { UnavailableError } from './problems'
import { Store, listQuery, type RecordFilter } from './store'

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
test.each<[string, Omit<RecordFilter, 'limit' | 'offset'>, RegExp]>([
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
  const inBox = all.filter(({ longitude, latitude }) => (longitude! >= 170 || longitude! <= -170) && Math.abs(latitude!) <= 10)
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
