import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { connect, createDatabase, createMigratedDatabase, migrate, rows } from '../test/database'

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

test('`--to` undoes later migrations, and refuses a migration that the database lacks', async () => {
  const { url } = await createMigratedDatabase()
  const names = async () =>
    (await rows<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY timestamp')).map(
      ({ name }) => name,
    )
  const all = await names()
  expect(() => migrate(url, '--to', 'Line')).toThrow('--to')
  expect(await names()).toEqual(all)
  migrate(url, '--to', 'ChainState')
  expect(await names()).toEqual(
    all.slice(
      0,
      all.findIndex((name) => name.startsWith('Lines')),
    ),
  )
  expect(() => migrate(url, '--to', 'Lines')).toThrow('--to')
  migrate(url)
  expect(await names()).toEqual(all)
})
test('`--to` undoes nothing if a newer version has migrated the database', async () => {
  const { url } = await createMigratedDatabase()
  await rows(url, `INSERT INTO migrations (timestamp, name) VALUES (1899999999999, 'Newer1899999999999')`)
  expect(() => migrate(url, '--to', 'ChainState')).toThrow('Newer')
  expect(await rows(url, `SELECT FROM migrations WHERE name LIKE 'Lines%'`)).toHaveLength(1)
})
