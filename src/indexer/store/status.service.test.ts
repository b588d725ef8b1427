import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMigratedDatabase, type TestDatabase } from '../../../test/database'
import { insertRecords } from '../../../test/records'
import { chainNamed } from '../../chains'
import { READING } from '../project'
import { Database } from './connection'
import { noteHead, noteIndexed, unprovenBlocks } from './position'
import { foundSchemas, insertSchemas, noteWatched } from './schemas'
import { noteAudited, noteReading, noteSchemas, readingOf, spendAuditCalls } from './status'

let server: TestDatabase
let database: Database
beforeAll(async () => {
  server = await createMigratedDatabase()
  database = new Database(server.url, () => {})
})
afterAll(() => database?.close())

const CHAIN = chainNamed('celo')!
const TIME = 1_700_000_000
const indexed = (height: number) =>
  noteIndexed(database.query, CHAIN, {
    height,
    hash: `0x${height}`,
    timestamp: (TIME + height) * 1000,
    agreementAgeMs: 0,
    unproven: [],
  })
const named = (number: number, tipHeight: number) =>
  noteHead(database.query, CHAIN, {
    number,
    timestamp: TIME + number,
    ageMs: 0,
    tipHash: `0x${tipHeight}`,
    agreementAgeMs: 0,
    doubt: undefined,
    contradictions: 0,
  })

test('the chain status has the newest block as its head until an older block is reported', async () => {
  const head = async () =>
    (
      await database.query<{ height: number; seconds: number }>(
        'SELECT head_height AS height, extract(epoch FROM head_timestamp)::int AS seconds FROM chain_status',
      )
    )[0]
  const block = (height: number) => ({ height, seconds: TIME + height })
  await indexed(10)
  expect(await head(), 'before the first look').toEqual({ height: null, seconds: null })
  await named(30, 10)
  await indexed(20)
  expect(await head(), 'while blocks are read up to the head').toEqual(block(30))
  await indexed(40)
  expect(await head(), 'a batch beyond the last look').toEqual(block(40))
  await named(35, 30)
  expect(await head(), 'a look before that batch').toEqual(block(40))
  await named(35, 40)
  expect(await head(), 'a look after it').toEqual(block(35))
})

test('the chain status stores the time since the last block agreed with the chain', async () => {
  const age = async () =>
    (
      await database.query<{ age: number | null }>(
        'SELECT extract(epoch FROM clock_timestamp() - agreed_at)::float8 AS age FROM chain_status WHERE chain = $1',
        [CHAIN.slug],
      )
    )[0]!.age
  const about = (hash: string, agreementAgeMs: number) =>
    noteHead(database.query, CHAIN, {
      ...{ number: 90, timestamp: TIME, ageMs: 0, tipHash: hash, agreementAgeMs },
      ...{ doubt: undefined, contradictions: 0 },
    })
  const write = (agreementAgeMs: number) =>
    noteIndexed(database.query, CHAIN, {
      ...{ height: 80, hash: '0x80', timestamp: TIME, agreementAgeMs, unproven: [] },
    })
  const [hour, day] = [3_600, 86_400]
  await write(1_000 * day)
  expect(await age()).toBeGreaterThanOrEqual(day)
  // The poll compared a block that a batch has since replaced.
  await about('0x79', 0)
  expect(await age()).toBeGreaterThanOrEqual(day)
  await about('0x80', 1_000 * hour)
  expect(await age()).toSatisfy((seconds: number) => seconds >= hour && seconds < day)
  await about('0x80', Infinity)
  expect(await age()).toBeNull()
  await write(Infinity)
  expect(await age()).toBeNull()
})

test('the chain status does not date the agreement of a batch after a suspension', async () => {
  await named(60, 50)
  await database.query(
    `UPDATE chain_status SET checked_at = checked_at - interval '1 hour' WHERE chain = $1`,
    [CHAIN.slug],
  )
  await indexed(61)
  const [row] = await database.query<{ age: number }>(
    'SELECT extract(epoch FROM clock_timestamp() - agreed_at)::float8 AS age FROM chain_status WHERE chain = $1',
    [CHAIN.slug],
  )
  expect(row!.age).toBeGreaterThan(3_590)
})

test('the chain status remembers the unproven blocks of the last batch after a restart', async () => {
  const write = (unproven: number[]) =>
    noteIndexed(database.query, CHAIN, {
      ...{ height: 120, hash: '0x120', timestamp: TIME, agreementAgeMs: 0, unproven },
    })
  const after = () => unprovenBlocks(database.query, CHAIN)
  await write([101, 102, 105, 119, 120])
  expect(await after()).toEqual([101, 102, 105, 119, 120])
  await noteAudited(database.query, CHAIN, 'proven', { from: 90, to: 119 }, [], [105])
  expect(await after()).toEqual([105, 120])
  await write([])
  expect(await after()).toEqual([])
  expect(await unprovenBlocks(database.query, chainNamed('base')!)).toEqual([])
})

test('the indexer replays records once a schema is no longer excluded', async () => {
  const reading = async (schemas: string[]) => {
    await noteSchemas(database.query, CHAIN, schemas, false)
    return (await readingOf(database.query, CHAIN)).reading
  }
  await reading(['a', 'b'])
  await noteReading(database.query, CHAIN)
  expect([await reading(['a', 'b']), await reading(['a']), await reading(['a', 'b'])]).toEqual([
    READING,
    READING,
    READING - 1,
  ])
  await noteReading(database.query, CHAIN)
  await insertRecords(server.url, [{ chain: CHAIN.slug }])
  await database.query(`UPDATE location_record SET schema_uid = 'b'`)
  expect([await reading(['a']), await reading(['a', 'b'])]).toEqual([READING, 0])
})

test('the status keeps the calls of the audit if the clock of the database is set back', async () => {
  await indexed(1)
  await database.query(
    "UPDATE chain_status SET audit_calls = 10, audit_calls_at = now() + interval '1 hour' WHERE chain = $1",
    [CHAIN.slug],
  )
  expect(await spendAuditCalls(database.query, CHAIN, 1, 1)).toBe(9)
})

test('the history of a schema counts as read once the audit has covered it, also after an exclusion', async () => {
  const { query } = database
  const schema = { uid: 's', fields: '', resolver: '', revocable: true, registerer: null, block: 10 }
  const readFrom = async () => (await foundSchemas(query, CHAIN)).map((each) => each.readFrom)
  const watch = async (schemas: string[]) =>
    noteWatched(query, CHAIN, schemas, await noteSchemas(query, CHAIN, schemas, false))
  const audited = async (from: number, to: number, schemas: string[]) => {
    await noteAudited(query, CHAIN, 'reread', { from, to }, schemas)
    return readFrom()
  }
  await query('DELETE FROM chain_status')
  await watch([])
  await indexed(100)
  await insertSchemas(query, CHAIN, [{ ...schema, watched: false, readFrom: 10 }])
  // A command watches it, but not the indexer.
  await insertSchemas(query, CHAIN, [{ ...schema, watched: true, readFrom: 50 }])
  expect(await audited(0, 60, [])).toEqual([50])
  expect(await watch(['s'])).toEqual([{ uid: 's', readFrom: 101 }])
  expect(await audited(0, 99, ['s'])).toEqual([101])
  expect(await audited(100, 100, ['s'])).toEqual([10])
  await watch([])
  await indexed(200)
  expect(await watch(['s'])).toEqual([{ uid: 's', readFrom: 201 }])
  expect(await audited(0, 199, ['s'])).toEqual([201])
  expect(await audited(200, 200, ['s'])).toEqual([10])
})
