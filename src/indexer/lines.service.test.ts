import { Logger } from '@subsquid/logger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Store } from '../../api/store'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { attestedPlace, type Attested } from '../../test/hostile'
import { SILENT } from '../../test/rpc-proxy'
import { CHAINS } from '../chains'
import { EventKind } from '../model'
import { READING } from './project'
import { followReading } from './reading'
import { watchedOf } from './registry'
import {
  BatchWriter,
  Database,
  noteFinal,
  readingOf,
  replayPage,
  type Copy,
  type Query,
  type Transactions,
} from './store'

/** Tests of a database whose records were written by a version without lines. */

const CHAIN = CHAINS[3]!
/** Number of records that fill three pages of a replay. */
const OLD = 1_200

let own: TestDatabase
let database: Database
let store: Store
beforeAll(async () => {
  own = await createMigratedDatabase()
  database = new Database(own.url, () => {})
  store = new Store(own.url, () => {})
  await write(Array.from({ length: OLD }, (_, n) => place(n)))
  await revokeSome(50)
})
afterAll(async () => {
  await store?.close()
  await database?.close()
})

const sql = <Row extends object>(text: string, values: unknown[] = []) => rows<Row>(own.url, text, values)
const place = (n: number) => attestedPlace(n, '1.5,2', 'coordinate-decimal+lon-lat', `Place ${n}`)
let height = CHAIN.firstBlock
const inBatch = (work: (writer: BatchWriter) => Promise<void>) =>
  database.transaction(async (query: Query, copy: Copy) => {
    const writer = new BatchWriter({ query, copy }, CHAIN, SILENT)
    await work(writer)
    height += 10_000
    const last = { height, hash: `0x${height.toString(16).padStart(64, '0')}` }
    await writer.finish({ ...last, timestamp: Date.now(), agreementAgeMs: 0, unproven: [] })
    await noteFinal(query, CHAIN, last)
  })
const write = (attested: readonly Attested[]) =>
  inBatch((writer) =>
    writer.write(
      attested.map(({ event }) => event),
      new Map(attested.map(({ event, body }) => [event.uid, body])),
    ),
  )
let revocations = 0
const revokeSome = (count: number) =>
  inBatch((writer) =>
    writer.write(
      Array.from({ length: count }, () => {
        const { event } = place(3 * revocations++)
        return {
          ...event,
          kind: EventKind.REVOKED,
          blockNumber: height + revocations,
          transactionHash: `0x${revocations.toString(16).padStart(64, 'f')}`,
        }
      }),
      new Map(),
    ),
  )
/**
 * Removes all lines, as after the migration of an older database, without changing the recorded state of the
 * data.
 */
const forget = async () => {
  await sql('ALTER TABLE location_record DISABLE TRIGGER USER')
  await sql('UPDATE location_record SET line = NULL, line_version = NULL')
  await sql('ALTER TABLE location_record ENABLE TRIGGER USER')
  await sql('UPDATE chain_status SET reading = 0, replayed = NULL')
}
const answered = async () =>
  new Map((await store.listRecords({ limit: 10_000 })).map(({ uid, text }) => [uid, text]))
const unfilled = async () => (await sql('SELECT FROM location_record WHERE line IS NULL')).length
const state = () =>
  sql(`SELECT record_state.*, (SELECT max(id) FROM record_change) AS changes FROM record_state`)
const follow = (signal = new AbortController().signal, log = SILENT, lease: Transactions = database) =>
  followReading(database, CHAIN, lease, log, false, signal, 20)

test('the service returns the same responses before, during and after the fill of stored lines', async () => {
  const before = await answered()
  await forget()
  expect(await unfilled()).toBe(OLD)
  expect(await answered()).toEqual(before)
  const unchanged = await state()

  const stop = new AbortController()
  let pages = 0
  const killed = {
    transaction: async <T>(work: (query: Query) => Promise<T>) => {
      const result = await database.transaction(work)
      // The replay commits a page, and then its position.
      if (++pages === 2) stop.abort()
      return result
    },
  }
  await follow(stop.signal, SILENT, killed)
  expect([pages, await unfilled()]).toEqual([2, OLD - 500])
  expect(await answered()).toEqual(before)
  expect((await readingOf(database.query, CHAIN)).replayed).toMatchObject({ after: place(499).event.uid })

  const logged: Record<string, unknown>[] = []
  await follow(undefined, new Logger((entry) => logged.push(entry as never), 'test'))
  expect(await unfilled()).toBe(0)
  expect(await answered()).toEqual(before)
  expect(await state()).toEqual(unchanged)
  expect(logged.at(-1)).toMatchObject({ uids: OLD - 500, differing: 0 })
  expect(await readingOf(database.query, CHAIN)).toEqual({ reading: READING, replayed: undefined })
})

test('the indexer fills in lines while batches add and revoke records', { tags: ['slow'] }, async () => {
  await forget()
  let added = OLD
  const batches = async () => {
    // Each new record follows the last UID, so a new record per page would make the replay endless.
    if (added === OLD + 8) return
    await write([place(added++), place(added++)])
    await revokeSome(1)
  }
  await follow(undefined, SILENT, {
    transaction: async (work) => (await Promise.all([database.transaction(work), batches()]))[0],
  })
  expect(added).toBeGreaterThan(OLD)
  expect(await unfilled()).toBe(0)
  const after = await answered()
  expect(after.size).toBe(added)
  await forget()
  expect(await answered()).toEqual(after)
  await follow()
})

test(
  'attestations that were not final when the process ended are replayed by the next process',
  { tags: ['slow'] },
  async () => {
    await forget()
    const position = { reading: READING, after: place(600).event.uid, height: place(6).event.blockNumber }
    await sql('UPDATE chain_status SET replayed = $1', [JSON.stringify(position)])
    await follow()
    const left = await sql<{ uid: string }>('SELECT uid FROM location_record WHERE line IS NULL ORDER BY uid')
    // The other records up to number 6 were revoked later.
    expect(left.map(({ uid }) => uid)).toEqual([1, 2, 4, 5].map((n) => place(n).event.uid))
  },
)

test(
  'the next version ignores a position of another version, and begins at the first record',
  { tags: ['slow'] },
  async () => {
    await forget()
    const position = { reading: READING + 1, after: place(600).event.uid, height }
    await sql('UPDATE chain_status SET replayed = $1', [JSON.stringify(position)])
    await follow()
    expect(await unfilled()).toBe(0)
  },
)

test(
  'a replay finds a line that differs from its record, and repairs it with a new state of the data',
  { tags: ['slow'] },
  async () => {
    const before = await answered()
    const [{ revision }] = (await sql<{ revision: string }>('SELECT revision FROM record_state')) as [
      { revision: string },
    ]
    const { uid } = place(3).event
    await sql(`UPDATE location_record SET line = replace(line, 'Place', 'Pl\u00e4ce') WHERE uid = $1`, [uid])
    const page = (repair: boolean) =>
      replayPage(database, CHAIN, watchedOf(CHAIN), '', 10_000, 2 ** 31 - 1, repair)
    for (const repair of [false, true])
      expect((await page(repair)).differing).toEqual([{ id: `${CHAIN.slug}-${uid}`, what: 'different' }])
    expect((await page(false)).differing).toEqual([])
    expect(await answered()).toEqual(before)
    expect(await sql('SELECT revision FROM record_state')).toEqual([
      { revision: String(Number(revision) + 2) },
    ])
  },
)
