import { setMaxListeners } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { beforeAll, beforeEach, afterEach, expect, test } from 'vitest'
import { SIEVE_WORKER, startApi } from '../../test/api'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { insertRecords } from '../../test/records'
import { sentence, testSentences } from '../../test/sentences'
import { OWN_WORK, type Work } from '../http/work'
import { RecordSearch } from '../query'
import { Tiles } from '../tiles/tiles'
import { Store } from './store'
import { withPostgres } from '../../test/needs'

/** Shares of the database, with statements of clients that run until the test releases them. */

/** Timeouts long enough that nothing times out during a test. */
const PATIENT = { statement_timeout: 600_000, query_timeout: 600_000 }
const HELD = { text: 'SELECT pg_advisory_xact_lock_shared(7)', values: [] }
let database: TestDatabase
let store: Store
/** Holds the lock that the statements of clients wait for. */
let holder: Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  await insertRecords(database.url, [{ memo: 'one' }, { memo: 'two' }])
})
beforeEach(async () => {
  store = new Store(database.url, () => {}, PATIENT)
  holder = new Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('SELECT pg_advisory_lock(7)')
})
afterEach(async () => {
  await holder.end()
  await store.close()
})

/** Work of a client, which can disconnect. */
function workOf(client: string) {
  const abort = new AbortController()
  setMaxListeners(0, abort.signal)
  let spent = 0
  const work: Work = { ...OWN_WORK, client, signal: abort.signal, spend: (ms) => (spent += ms) }
  return { work, leave: () => abort.abort(new Error('gone')), spent: () => spent }
}

/** Starts statements of a client that do not end by themselves. */
function hold(work: Work, count: number): Promise<PromiseSettledResult<unknown>[]> {
  const own = store.of(work)
  return Promise.allSettled(Array.from({ length: count }, () => own.run(HELD, true)))
}

async function countHeld(): Promise<number> {
  const found = await rows<{ count: number }>(
    database.url,
    `SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
  return found[0]!.count
}

const memos = async (work: Work) => (await store.of(work).page({ limit: 10 })).rows.length

// The embedded database has one session.
withPostgres.test(
  'the pool limits a client with slow statements to two connections and a queue',
  async () => {
    const hostile = workOf('hostile')
    const holding = hold(hostile.work, 20)
    await expect.poll(countHeld).toBe(2)
    expect(await memos(workOf('victim').work)).toBe(2)
    expect(await countHeld()).toBe(2)
    hostile.leave()
    expect((await holding).map((each) => each.status === 'rejected' && String(each.reason))).toEqual(
      Array(20).fill('Error: gone'),
    )
    // The lock is still held, so the statements were cancelled.
    await expect.poll(countHeld).toBe(0)
    expect(hostile.spent()).toBeGreaterThan(0)
    expect(await memos(workOf('hostile').work)).toBe(2)
  },
)

withPostgres.test(
  'the pool runs no statement of a client that left while a connection was opened',
  async () => {
    const early = workOf('early')
    const reading = store.of(early.work).run(HELD, true)
    await new Promise(setImmediate)
    early.leave()
    await expect(reading).rejects.toThrow('gone')
  },
)

withPostgres.test('the pool closes a connection whose client leaves as its statement ends', async () => {
  const open = () => store.connections().reduce((sum, [, { idle = 0, busy = 0 }]) => sum + idle + busy, 0)
  const { work, leave } = workOf('late')
  expect(await memos(work)).toBe(2)
  const before = open()
  const { signal } = work
  const remove = signal.removeEventListener.bind(signal)
  signal.removeEventListener = (...listener: Parameters<typeof remove>) => (leave(), remove(...listener))
  await memos(work)
  await expect.poll(open).toBeLessThan(before)
})

withPostgres.test(
  'the pool serves health, status and inputs of computations while clients use all connections',
  async () => {
    const clients = ['a', 'b', 'c', 'd'].map(workOf)
    const holding = clients.map(({ work }) => hold(work, 3))
    await expect.poll(countHeld).toBe(8)
    const waiting = memos(workOf('victim').work)
    expect(await store.ping()).toBe(true)
    expect(await store.chainStatuses()).toEqual([])
    expect(await store.inputByUid('celo', `0x${'0'.repeat(64)}`, true)).toBeUndefined()
    expect((await store.recordStates()).map(({ total }) => total)).toEqual([2])
    // The victim is next, before statements that have waited longer.
    clients[0]!.leave()
    expect(await waiting).toBe(2)
    for (const { leave } of clients.slice(1)) leave()
    await Promise.all(holding)
  },
)

withPostgres.test(
  'the pool lets a client with quick statements use six connections, and reserves two',
  async () => {
    const hostile = workOf('hostile')
    // The first one waits for its connection.
    for (let i = 0; i < 10; i++) await store.of(hostile.work).run({ text: 'SELECT', values: [] }, true)
    const holding = hold(hostile.work, 20)
    await expect.poll(countHeld).toBe(6)
    expect(await memos(workOf('victim').work)).toBe(2)
    expect(await countHeld()).toBe(6)
    hostile.leave()
    await holding
  },
)

withPostgres.test('the API returns 429 to a client whose queue is full', async () => {
  const hostile = workOf('hostile')
  const holding = hold(hostile.work, 202)
  await expect.poll(countHeld).toBe(2)
  await expect(store.of(hostile.work).run(HELD, true)).rejects.toMatchObject({
    status: 429,
    detail: sentence(),
  })
  hostile.leave()
  await holding
})

const LIST = '/api/v0/location-records'
const ITEMS = '/ogc/collections/location-records/items'
/** Statements that wait for a lock on the table. */
const waiting = () =>
  rows(
    database.url,
    `SELECT FROM pg_locks WHERE NOT granted AND relation IN ('location_record'::regclass, 'answer'::regclass)`,
  ).then(({ length }) => length)
const lockRecords = () => holder.query('BEGIN; LOCK TABLE location_record IN ACCESS EXCLUSIVE MODE')

withPostgres.test('the API cancels the statement of a client that disconnects', async () => {
  const api = await startApi({ databaseUrl: database.url, databaseOptions: PATIENT })
  try {
    await lockRecords()
    const asked = request(`${api.url}${LIST}?limit=1`).on('error', () => {})
    asked.end()
    await expect.poll(waiting).toBe(1)
    asked.destroy()
    await expect.poll(waiting).toBe(0)
  } finally {
    await holder.query('ROLLBACK')
    await api.close()
  }
})

withPostgres.test(
  'the API counts all requests that read records against the share of their client',
  async () => {
    const api = await startApi({ databaseUrl: database.url, trustProxy: ['127.0.0.1/32'] })
    const ask = (path: string, client: string) =>
      fetch(api.url + path, { headers: { 'x-forwarded-for': client } }).then(({ status }) => status)
    const uid = (digit: number) => `0x${String(digit).repeat(64)}`
    try {
      await holder.query('BEGIN; LOCK TABLE location_record, answer IN ACCESS EXCLUSIVE MODE')
      const asked = [1, 2].flatMap((i) =>
        [
          ...[`${LIST}?limit=${i}`, `${LIST}?format=ndjson&limit=${i}`, `${LIST}/${uid(i)}`],
          ...[`/api/v0/answers?limit=${i}`, `/api/v0/answers/${uid(i)}`, `${ITEMS}?limit=${i}`],
          ...[`${ITEMS}/celo-${uid(i)}`, `/tiles/location-records/4/${i}/5.mvt`],
        ].map((path) => ask(path, '192.0.2.1')),
      )
      const waitingRequests = async () => {
        const metrics = await (await fetch(`${api.url}/metrics`)).text()
        return Number(
          /^geospatial_database_connections\{server="any",state="waiting"\} (\d+)$/m.exec(metrics)?.[1],
        )
      }
      await expect.poll(waitingRequests).toBe(asked.length - 2)
      const other = ask(`${LIST}?limit=3`, '192.0.2.2')
      // Two statements of the client, and one of the other client.
      await expect.poll(waiting).toBe(3)
      expect(await waitingRequests()).toBe(asked.length - 2)
      await holder.query('ROLLBACK')
      expect(await other).toBe(200)
      const statuses = await Promise.all(asked)
      expect(statuses.filter((status) => status === 200 || status === 404)).toHaveLength(asked.length)
    } finally {
      await holder.query('ROLLBACK')
      await api.close()
    }
  },
)

withPostgres.test('a client that needs a tile does not wait for a hanging client', async () => {
  const records = new RecordSearch(store, SIEVE_WORKER)
  const tiles = new Tiles({ store, records, cacheBytes: 0 })
  const hostile = workOf('hostile')
  try {
    const holding = hold(hostile.work, 2)
    await expect.poll(countHeld).toBe(2)
    const greedy = tiles.get({ z: 0, x: 0, y: 0 }, {}, hostile.work)
    const made = await tiles.get({ z: 0, x: 0, y: 0 }, {}, workOf('other').work)
    expect(await countHeld()).toBe(2)
    await holder.query('SELECT pg_advisory_unlock(7)')
    expect((await greedy).etag).toBe(made.etag)
    await holding
  } finally {
    await records.close()
  }
})

withPostgres.test('the API counts a slow list as several requests', async () => {
  const api = await startApi({ databaseUrl: database.url, rateLimitPerHour: 1_000 })
  await lockRecords()
  const asked = fetch(`${api.url}${LIST}?limit=1`)
  await expect.poll(waiting).toBe(1)
  await pause(350)
  await holder.query('ROLLBACK')
  const { status, headers } = await asked
  expect(status).toBe(200)
  expect(Number(headers.get('ratelimit-remaining'))).toBeLessThanOrEqual(1_000 - 4)
  expect(headers.get('x-ratelimit-remaining')).toBe(headers.get('ratelimit-remaining'))
})

test('the API refuses a filter without an index if its client has too little budget left', async () => {
  const api = await startApi({ databaseUrl: database.url, rateLimitPerHour: 20 })
  const ask = (filter: string) => fetch(`${api.url}${ITEMS}?${new URLSearchParams({ filter }).toString()}`)
  try {
    await rows(database.url, 'UPDATE record_state SET total = 1000000000')
    const left = ({ headers }: Response) => Number(headers.get('ratelimit-remaining'))
    const first = await ask("prover = '0x0000000000000000000000000000000000000001'")
    expect(first.status).toBe(200)
    const refused = await ask("memo LIKE '%a%'")
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 3600])
    expect(await refused.json()).toMatchObject({ message: 'Rate limit exceeded', detail: sentence() })
    // The filter did not run, and counts as one request.
    expect(left(refused)).toBe(left(first) - 1)
  } finally {
    await rows(database.url, 'UPDATE record_state SET total = 2')
    await api.close()
  }
})

testSentences()
