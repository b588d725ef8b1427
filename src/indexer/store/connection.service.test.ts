import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Logger } from '@subsquid/logger'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createMigratedDatabase, rows, type TestDatabase } from '../../../test/database'
import { CHAINS } from '../../chains'
import { READING } from '../project'
import { Database, Lease, LeaseLostError, lockChain, type Query } from './connection'
import { sentence, testSentences } from '../../../test/sentences'
import { withPostgres } from '../../../test/needs'

const CHAIN = CHAINS[0]!
let shared: TestDatabase
let database: Database
/** PLACE of this process, as its lease contains it: host name, boot id, process namespace. */
let place: string
beforeAll(async () => {
  shared = await createMigratedDatabase()
  database = new Database(shared.url, () => {})
  const own = lease()
  await own.lease.take(() => {})
  place = (await writer()).split('/')[0]!
  await own.lease.release()
})
afterEach(() => {
  for (const child of alive.splice(0)) child.kill('SIGKILL')
})
afterAll(() => database?.close())

test('the connection does not run statements that a failed transaction left pending', async () => {
  const connections = new Database(shared.url, () => {})
  const insert = `INSERT INTO chain_status (chain) VALUES ('celo')`
  let left: Promise<unknown> = Promise.resolve()
  const failed = connections.transaction((query) => {
    left = query(insert)
      .then(() => query('SELECT pg_sleep(0)'))
      .then(() => query(insert.replace('celo', 'base')))
    left.catch(() => {})
    return Promise.reject(new Error('the work failed'))
  })
  await expect(failed).rejects.toThrow(sentence())
  await expect(left).rejects.toThrow(sentence())
  expect(await rows(shared.url, 'SELECT chain FROM chain_status')).toEqual([])
  await connections.close()
})

// Sessions of the embedded database take turns, and its time limits do not apply.
withPostgres.test('the connection ends a transaction that stops, which releases its lock', async () => {
  const nothing = () => {}
  const stopped = new Database(shared.url, nothing, nothing, 1, 1)
  let isLocked = () => {}
  const locked = new Promise<void>((resolve) => (isLocked = resolve))
  let resume = () => {}
  const left = stopped.transaction(async (query) => {
    await lockChain(query, CHAIN)
    isLocked()
    await new Promise<void>((resolve) => (resume = resolve))
    await query('SELECT 1')
  })
  left.catch(() => {})
  await locked
  const indexer = new Database(shared.url, () => {})
  await indexer.transaction((query) => lockChain(query, CHAIN))
  resume()
  await expect(left).rejects.toThrow()
  // The pool has replaced the connection.
  expect(await stopped.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  await Promise.all([stopped.close(), indexer.close()])
})

// All clients of the embedded database share one session, which has its own options.
withPostgres.test(
  'the connection reads times and numbers whole and lets writers wait, whatever the defaults of the database and the options of the URL are',
  async () => {
    const odd = await createMigratedDatabase()
    for (const setting of [
      "DateStyle = 'SQL, DMY'",
      'extra_float_digits = 0',
      "default_transaction_isolation = 'repeatable read'",
    ])
      await rows(
        odd.url,
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${setting.replaceAll("'", "''")}', current_database()); END $$`,
      )
    const url = new URL(odd.url)
    url.searchParams.set('options', '-c search_path=pg_catalog -c DateStyle=German')
    const connections = new Database(url.href, () => {})
    const at = new Date('2026-11-30T12:34:56.789Z')
    try {
      expect(
        await connections.query(
          `SELECT $1::timestamptz AS at, $2::float8 AS degrees, current_setting('transaction_isolation') AS isolation,
           current_setting('search_path') AS path`,
          [at, 0.1 + 0.2],
        ),
      ).toEqual([{ at, degrees: 0.1 + 0.2, isolation: 'read committed', path: 'pg_catalog' }])
    } finally {
      await connections.close()
    }
  },
)
withPostgres.test('the connection has the options of PGOPTIONS unless its URL has others', async () => {
  vi.stubEnv('PGOPTIONS', '-c search_path=pg_catalog -c DateStyle=German')
  const connections = new Database(shared.url, () => {})
  try {
    expect(
      await connections.query(
        `SELECT current_setting('search_path') AS path, current_setting('DateStyle') AS style`,
      ),
    ).toEqual([{ path: 'pg_catalog', style: expect.stringMatching(/^ISO/) as string }])
  } finally {
    vi.unstubAllEnvs()
    await connections.close()
  }
})

/** Tests of the lease: a writer of the same PLACE is replaced early only if it has ended. */
const alive: ChildProcess[] = []
const query = <Row extends object>(sql: string, values?: unknown[]) => rows<Row>(shared.url, sql, values)
const writer = async () => (await query<{ writer: string }>('SELECT writer FROM chain_writer'))[0]!.writer
/** Creates a lease of this process, and returns its first log line, which reports that the process waits. */
function lease() {
  let said = (_: string) => {}
  const waits = new Promise<string>((resolve) => (said = resolve))
  const log = new Logger((record) => said(`${record.msg}: ${(record as { writer?: string }).writer}`), 'test')
  return { lease: new Lease(database, CHAIN, log), waits }
}
/** Enters another writer as the holder of the chain's lease for one hour. */
const heldBy = (holder: string) =>
  query(`UPDATE chain_writer SET writer = $1, until = now() + interval '1 hour'`, [holder])
const deadPid = () => spawnSync('true').pid
function livingPid(): number {
  const child = spawn('sleep', ['1000'])
  alive.push(child)
  return child.pid!
}

test.each<[string, () => string]>([
  ['an ended process of this place', () => `${place}/${deadPid()}/x`],
  ['an earlier process of this place with the same id', () => `${place}/${process.pid}/x`],
])('the lease replaces %s immediately', async (_, holder) => {
  await heldBy(holder())
  const { lease: own } = lease()
  await own.take(() => {})
  expect(await writer()).toMatch(new RegExp(`/${process.pid}/(?!x)`))
  await own.release()
})

/** Returns the PLACE with one of its parts changed. */
const elsewhere = (part: number) => {
  const parts = place.split(' ')
  return parts.map((each, i) => (i === part ? `${each}0` : each)).join(' ')
}

test.each<[string, () => string]>([
  ['a living process of this place', () => `${place}/${livingPid()}/x`],
  ['an ended process of a machine with another name', () => `${elsewhere(0)}/${deadPid()}/x`],
  ['a process of this machine before its last boot', () => `${elsewhere(1)}/${deadPid()}/x`],
  ['a process of another container on this machine', () => `${elsewhere(2)}/${deadPid()}/x`],
  ['a process elsewhere with the same id', () => `${elsewhere(2)}/${process.pid}/x`],
])('the lease waits for %s until the other lease has expired', async (_, given) => {
  const holder = given()
  await heldBy(holder)
  const { lease: own, waits } = lease()
  const taken = own.take(() => {})
  const said = `another indexer of ${CHAIN.slug} is running: waiting to take over when it stops: ${holder}`
  expect(await Promise.race([waits, taken])).toBe(said)
  expect(await writer()).toBe(holder)
  await query('UPDATE chain_writer SET until = now()')
  await taken
  expect(await writer()).not.toBe(holder)
  await own.release()
})

test('the lease immediately replaces a local process that ends during the wait', async () => {
  await heldBy(`${place}/${livingPid()}/x`)
  const { lease: own, waits } = lease()
  const taken = own.take(() => {})
  await waits
  const [child] = alive
  child!.kill('SIGKILL')
  await once(child!, 'exit')
  await taken
  await own.release()
})

test('the lease permits a batch to wait longer for endpoints than other transactions may be idle', async () => {
  await heldBy(`${place}/${deadPid()}/x`)
  const { lease: own } = lease()
  await own.take(() => {})
  const limit = (within: Query) => within('SHOW idle_in_transaction_session_timeout')
  expect(await own.transaction(limit)).toEqual([{ idle_in_transaction_session_timeout: '0' }])
  expect(await database.transaction(limit)).toEqual([{ idle_in_transaction_session_timeout: '1min' }])
  await own.release()
})

test('the indexer writes no data once its lease is lost', async () => {
  await heldBy(`${place}/${deadPid()}/x`)
  const { lease: own } = lease()
  await own.take(() => {})
  const note = (slug: string) =>
    own.transaction((within) => within('INSERT INTO chain_status (chain) VALUES ($1)', [slug]))
  await note('celo')
  await heldBy(`${place}/${livingPid()}/x`)
  await expect(note('base')).rejects.toThrow(LeaseLostError)
  expect(await query('SELECT chain FROM chain_status')).toEqual([{ chain: 'celo' }])
  await own.release()
})

test.each([
  ['this version', `elsewhere/1/0a1b2c3d/reading-${READING}`, READING],
  ['an older version', `elsewhere/1/0a1b2c3d/reading-${READING - 2}`, READING - 2],
  ['a newer version', `elsewhere/1/0a1b2c3d/reading-${READING + 1}`, READING - 1],
  ['a version that names no projection', 'elsewhere/1/0a1b2c3d', 0],
  ['no version: a snapshot was restored', '', READING],
])(
  'the indexer stores which version of the projection wrote the records after a writer of %s',
  async (_, last, reading) => {
    await query(
      `INSERT INTO chain_status (chain, reading) VALUES ($1, $2)
     ON CONFLICT (chain) DO UPDATE SET reading = excluded.reading`,
      [CHAIN.slug, READING],
    )
    await query(`UPDATE chain_writer SET writer = $1, until = '-infinity'`, [last])
    const { lease: own } = lease()
    await own.take(() => {})
    expect(await query('SELECT reading FROM chain_status WHERE chain = $1', [CHAIN.slug])).toEqual([
      { reading },
    ])
    await own.release()
  },
)

testSentences()
