import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Logger } from '@subsquid/logger'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createMigratedDatabase, rows, type TestDatabase } from '../../../test/database'
import { CHAINS } from '../../chains'
import { READING } from '../project'
import { Database, Lease, LeaseLostError, type Query } from './connection'

/** Tests that only a writer of the same PLACE that has ended is replaced while its lease is valid. */
const chain = CHAINS[0]!
let shared: TestDatabase
let database: Database
/** PLACE of this process, as its lease contains it: host name, boot id, process namespace. */
let place: string
const alive: ChildProcess[] = []
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

const query = <Row extends object>(sql: string, values?: unknown[]) => rows<Row>(shared.url, sql, values)
const writer = async () => (await query<{ writer: string }>('SELECT writer FROM chain_writer'))[0]!.writer
/** Creates a lease of this process, and returns its first log line, which reports that the process waits. */
function lease() {
  let said = (_: string) => {}
  const waits = new Promise<string>((resolve) => (said = resolve))
  const log = new Logger((record) => said(`${record.msg}: ${(record as { writer?: string }).writer}`), 'test')
  return { lease: new Lease(database, chain, log), waits }
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
  const said = `another indexer of ${chain.slug} is running: waiting to take over when it stops: ${holder}`
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
      [chain.slug, READING],
    )
    await query(`UPDATE chain_writer SET writer = $1, until = '-infinity'`, [last])
    const { lease: own } = lease()
    await own.take(() => {})
    expect(await query('SELECT reading FROM chain_status WHERE chain = $1', [chain.slug])).toEqual([
      { reading },
    ])
    await own.release()
  },
)
