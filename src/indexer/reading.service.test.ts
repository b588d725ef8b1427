import { setTimeout as pause } from 'node:timers/promises'
import { Logger, LogLevel } from '@subsquid/logger'
import { AbiCoder } from 'ethers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, request, revoke } from '../../dev/chain'
import { rows } from '../../test/database'
import { SILENT } from '../../test/rpc-proxy'
import { LOCAL_CHAIN, mine, startTestWorld, type TestWorld } from '../../test/world'
import { LOCATION_PROTOCOL_SCHEMA } from '../location'
import { READING } from './project'
import { followReading } from './reading'
import { countRecords, Database, Lease } from './store'

/** Tests with a database whose records an older version of the projection produced. */

let world: TestWorld
let database: Database
beforeAll(async () => {
  world = await startTestWorld()
  database = new Database(world.databaseUrl, () => {})
})
afterAll(() => database?.close())

const ofType = (type: string, location: string, srs = 'EPSG:4326') =>
  request(
    LOCATION_PROTOCOL_SCHEMA.uid,
    AbiCoder.defaultAbiCoder().encode(
      ['string', 'string', 'string', 'string'],
      ['0.2.0', srs, type, location],
    ),
  )
const point = (lng: number) => ({ type: 'Point' as const, coordinates: [lng, 10] })
const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  rows<Row>(world.databaseUrl, text, values)
/** Reads all columns except write times, which lines contain. */
const content = () =>
  sql<{ uid: string }>(
    `SELECT to_jsonb(record) - ARRAY['created_at', 'updated_at', 'line'] AS row, geom::bytea AS geom, event.problem,
       location_line(line, record.revoked, 'epoch', 'epoch') AS line
     FROM attestation_event AS event LEFT JOIN location_record AS record USING (chain, uid)
     ORDER BY event.id`,
  )
const reading = async () => (await sql<{ reading: number }>('SELECT reading FROM chain_status'))[0]!.reading

/** Changes rows to those of a version that cannot read the UIDs `unread` and rejects the UIDs `refused`. */
async function age(unread: readonly string[], refused: readonly string[]): Promise<void> {
  await sql(
    `UPDATE location_record SET geometry = NULL, geom = NULL, longitude = NULL, latitude = NULL, problem = 'unknown'
     WHERE uid = ANY($1)`,
    [unread],
  )
  await sql('DELETE FROM location_record WHERE uid = ANY($1)', [refused])
  await sql(`UPDATE attestation_event SET problem = 'unknown' WHERE uid = ANY($1) AND kind = 'ATTESTED'`, [
    [...unread, ...refused],
  ])
  await sql('UPDATE chain_status SET reading = 0')
}
const follow = (isEmpty = false, signal = new AbortController().signal) =>
  followReading(database, LOCAL_CHAIN, database, SILENT, isEmpty, signal, 20)

test('the indexer treats a new database as a database of its version', async () => {
  await world.caughtUp()
  while ((await reading().catch(() => 0)) !== READING) await pause(20)
  await sql('UPDATE chain_status SET reading = 0')
  await follow(true)
  expect(await reading()).toBe(READING)
})

test('the indexer replays records of an older version as a new database would have them', async () => {
  const { chain } = world
  const uids = [
    await attest(chain, ofType('DecimalDegrees<string>', '30.5, 60.25')),
    await attest(chain, ofType('GeoJSON:Point', JSON.stringify(point(31)), '')),
    await attest(chain, locationRequest(point(32))),
  ]
  const refused = [
    await attest(chain, locationRequest(point(33), { eventTimestamp: 1_700_000_000_000 })),
    await attest(chain, locationRequest(point(34), { eventTimestamp: 1_700_000_000_000 })),
  ]
  await revoke(chain, refused[1]!)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  const late = await attest(chain, ofType('DecimalDegrees<string>', '35, 60'))
  await world.caughtUp()
  const fresh = await content()
  expect(fresh).toHaveLength(7)

  await age([uids[0]!, uids[1]!, late], refused)
  const aged = await content()
  expect(aged).not.toEqual(fresh)
  const following = follow()
  const repaired = async () =>
    (
      await sql('SELECT FROM location_record WHERE uid = ANY($1) AND longitude IS NOT NULL', [
        [...uids, ...refused],
      ])
    ).length
  while ((await repaired()) < 5) await pause(20)
  const between = await content()
  expect(between.slice(0, -1)).toEqual(fresh.slice(0, -1))
  expect([between.at(-1), await reading()]).toEqual([aged.at(-1), 0])

  await mine(chain, LOCAL_CHAIN.finality + 2)
  await following
  expect(await content()).toEqual(fresh)
  expect(await reading()).toBe(READING)
})

test('the indexer leaves records of its own version unchanged', async () => {
  const times = () => sql('SELECT id, created_at, updated_at FROM location_record ORDER BY id')
  const before = await times()
  await follow()
  expect(await times()).toEqual(before)
})

test('the indexer counts older records for statistics, and logs the start and the end', async () => {
  await sql('DELETE FROM record_group')
  await sql(`INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state`)
  // Records of one second are counted together: the first ones, or all of them.
  const percent = await countRecords(database.query, LOCAL_CHAIN, 1)
  const [share] = await sql(
    `SELECT floor(100.0 * count(*) FILTER (WHERE timestamp = (SELECT min(timestamp) FROM location_record)) / count(*))::int AS percent FROM location_record`,
  )
  expect({ percent }).toEqual(share)
  const messages: string[] = []
  const log = new Logger(({ msg }) => messages.push(msg ?? ''), 'test')
  const follow = () =>
    followReading(database, LOCAL_CHAIN, database, log, false, new AbortController().signal, 20)
  await follow()
  await follow()
  expect(messages).toEqual([
    'counting older records for statistics',
    'all records are counted for statistics',
  ])
})

test('the replay ends when stopped, and restarts at the first record', async () => {
  await age([], [])
  const stop = new AbortController()
  stop.abort()
  await follow(false, stop.signal)
  expect(await reading()).toBe(0)
  await follow()
  expect(await reading()).toBe(READING)
})

test('the indexer replays and stores no record if the process lacks the lease', async () => {
  const [record] = await sql<{ uid: string }>('SELECT uid FROM location_record LIMIT 1')
  await age([record!.uid], [])
  const aged = await content()
  for (const isEmpty of [false, true]) {
    const stop = new AbortController()
    let warnings = 0
    const log = new Logger(({ level }) => {
      if (level < LogLevel.WARN) return
      warnings++
      stop.abort()
    }, 'test')
    const lost = new Lease(database, LOCAL_CHAIN, SILENT)
    await followReading(database, LOCAL_CHAIN, lost, log, isEmpty, stop.signal)
    expect(warnings).toBe(1)
    expect([await content(), await reading()]).toEqual([aged, 0])
  }
  await follow()
})

test('the indexer keeps a record whose geometry PostGIS cannot write as JSON', async () => {
  const nested = (...geometries: object[]) => ({ type: 'GeometryCollection', geometries })
  const text = JSON.stringify(nested(nested(point(36))))
  const uid = await attest(world.chain, ofType('geojson', text))
  await mine(world.chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
  const record = () =>
    sql(
      'SELECT location, line, withheld FROM location_record JOIN attestation_event USING (uid) WHERE uid = $1',
      [uid],
    )
  const before = await record()
  expect(before).toMatchObject([{ location: text, withheld: false }])
  await age([], [])
  await follow()
  expect(await record()).toEqual(before)
})
