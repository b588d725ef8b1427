import { beforeAll, expect, test } from 'vitest'
import { createMigratedDatabase, rows, type TestDatabase } from '../../../test/database'
import { Database } from './connection'
import { sentence, testSentences } from '../../../test/sentences'

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

testSentences()
