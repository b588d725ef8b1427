import { beforeAll, expect, test, vi } from 'vitest'
import { createMigratedDatabase, rows, type TestDatabase } from '../../../test/database'
import { CHAINS } from '../../chains'
import { Database, lockChain } from './connection'
import { sentence, testSentences } from '../../../test/sentences'
import { withPostgres } from '../../../test/needs'

const CHAIN = CHAINS[0]!
let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})

test('the connection does not run statements that a failed transaction left pending', async () => {
  const connections = new Database(database.url, () => {})
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
  expect(await rows(database.url, 'SELECT chain FROM chain_status')).toEqual([])
  await connections.close()
})

// Sessions of the embedded database take turns, and its time limits do not apply.
withPostgres.test('the connection ends a transaction that stops, which releases its lock', async () => {
  const nothing = () => {}
  const stopped = new Database(database.url, nothing, nothing, 1, 1)
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
  const indexer = new Database(database.url, () => {})
  await indexer.transaction((query) => lockChain(query, CHAIN))
  resume()
  await expect(left).rejects.toThrow()
  // The pool has replaced the connection.
  expect(await stopped.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  await Promise.all([stopped.close(), indexer.close()])
})

test('the connection reads times and numbers whole and lets writers wait, whatever the defaults of the database and the options of the URL are', async () => {
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
})
test('the connection has the options of PGOPTIONS unless its URL has others', async () => {
  vi.stubEnv('PGOPTIONS', '-c search_path=pg_catalog -c DateStyle=German')
  const connections = new Database(database.url, () => {})
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

testSentences()
