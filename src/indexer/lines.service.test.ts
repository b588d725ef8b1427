import { Logger } from '@subsquid/logger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Store } from '../../api/store'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { attestedPlace, type Attested } from '../../test/hostile'
import { SILENT } from '../../test/rpc-proxy'
import { addAnswerAttesters } from '../answer'
import { CHAINS } from '../chains'
import { EventKind } from '../model'
import { eventId, READING } from './project'
import { followReading } from './reading'
import { watchedOf } from './registry'
import {
  BatchWriter,
  Database,
  noteFinal,
  readingOf,
  replayAgain,
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
/** Removes all lines, as the migration of an older database does. */
const forget = async () => {
  await sql('ALTER TABLE location_record DISABLE TRIGGER USER')
  await sql('UPDATE location_record SET line = NULL, line_version = NULL')
  await sql('ALTER TABLE location_record ENABLE TRIGGER USER')
  await sql('UPDATE chain_status SET reading = 0, replayed = NULL')
}
const answered = async () =>
  new Map((await store.page({ limit: 10_000 })).rows.map(({ uid, text }) => [uid, text]))
const unfilled = async () => (await sql('SELECT FROM location_record WHERE line IS NULL')).length
const state = () =>
  sql(`SELECT record_state.*, (SELECT max(id) FROM record_change) AS changes FROM record_state`)
const follow = (signal = new AbortController().signal, log = SILENT, lease: Transactions = database) =>
  followReading(database, CHAIN, lease, log, false, signal, 20)
/** Replays one page in a process that then ends. */
const followPage = () => {
  const stop = new AbortController()
  let transactions = 0
  return follow(stop.signal, SILENT, {
    transaction: async (work) => {
      const result = await database.transaction(work)
      // The replay commits a page, and then its position.
      if (++transactions === 2) stop.abort()
      return result
    },
  })
}

test('the service returns the same responses before, during and after the fill of stored lines', async () => {
  const before = await answered()
  await forget()
  expect(await unfilled()).toBe(OLD)
  expect(await answered()).toEqual(before)
  const unchanged = await state()

  await followPage()
  expect(await unfilled()).toBe(OLD - 500)
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
    const old = await unfilled()
    const { uid, blockHash, ...event } = place(1).event
    const id = eventId(CHAIN.slug, height + 1, 0)
    await sql(
      `INSERT INTO attestation_event (id, chain, kind, uid, schema_uid, attester, recipient, withheld, block_number,
         block_hash, block_timestamp, transaction_hash, log_index)
       VALUES ($1, $2, 'REVOKED', $3, $4, $5, $6, false, $7, $8, now(), $9, 0)`,
      [
        ...[id, CHAIN.slug, uid, event.schemaUid, event.attester, event.recipient, height + 1, blockHash],
        event.transactionHash,
      ],
    )
    await followPage()
    expect(await unfilled()).toBe(old - 499)
    // A reorg removes the revocation.
    await sql('DELETE FROM attestation_event WHERE id = $1', [id])
    await follow()
    expect(await unfilled()).toBe(0)
  },
)

test(
  'the next version ignores a position of another version, and begins at the first record',
  { tags: ['slow'] },
  async () => {
    await forget()
    const position = { reading: READING + 1, after: place(600).event.uid, late: [] }
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

test('a replay leaves the records of a schema that was excluded unchanged', async () => {
  const { uid, attester } = place(4).event
  const excluded = `0x${'e'.repeat(64)}`
  for (const table of ['attestation_event', 'location_record'])
    await sql(`UPDATE ${table} SET schema_uid = $1 WHERE uid = $2`, [excluded, uid])
  const stored = () =>
    sql(
      'SELECT to_jsonb(record) AS record, event.problem FROM location_record AS record JOIN attestation_event AS event USING (chain, uid) WHERE uid = $1',
      [uid],
    )
  const before = await stored()
  const replay = async () => (await replayAgain(database, CHAIN, [uid], 2 ** 31 - 1)).differing
  expect([before.length, await replay(), await stored()]).toEqual([1, [], before])
  addAnswerAttesters(CHAIN.slug, [{ address: attester }])
  expect([await replay(), await stored()]).toEqual([[], before])
})
