import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { connect, createDatabase, migrate } from '../test/database'

test('a migration that fails keeps those before it, and the next run applies the others once', async () => {
  const { url } = await createDatabase()
  const client = await connect(url)
  const names = async () =>
    (await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY timestamp')).rows.map(
      ({ name }) => name.replace(/\d+$/, ''),
    )
  migrate(url)
  const all = await names()
  await client.query(`DELETE FROM migrations WHERE name ~ '^(Transactions|FoldedWords)'`)
  await client.query('DROP INDEX attestation_event_transaction')
  expect(() => migrate(url)).toThrow('function "folded" already exists')
  expect(await names()).toEqual(all.filter((name) => name !== 'FoldedWords'))
  await client.query(readFileSync('db/migrations/1797775200000-FoldedWords.down.sql', 'utf8'))
  migrate(url)
  expect(await names()).toEqual(all)
})
