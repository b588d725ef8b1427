import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { expect, test } from 'vitest'
import { Store } from '../api/store'
import { blankSettings } from '../dev/settings'
import { connect, createDatabase, createMigratedDatabase, migrate, rows } from '../test/database'
import { runNode } from '../test/node'
import { SettingsError } from './config'
import { awaitMigrations } from './migrations'

test('a migration that fails keeps those before it, and the next run applies the others once', async () => {
  const { url } = await createDatabase()
  const client = await connect(url)
  const names = async () =>
    (await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY timestamp')).rows.map(
      ({ name }) => name.replace(/\d+$/, ''),
    )
  await migrate(url)
  const all = await names()
  await client.query(`DELETE FROM migrations WHERE name ~ '^(Transactions|FoldedWords)'`)
  await client.query('DROP INDEX attestation_event_transaction')
  await expect(migrate(url)).rejects.toThrow('function "folded" already exists')
  expect(await names()).toEqual(all.filter((name) => name !== 'FoldedWords'))
  await client.query(readFileSync('db/migrations/1797775200000-FoldedWords.down.sql', 'utf8'))
  await migrate(url)
  expect(await names()).toEqual(all)
})

test('a migration may take longer than the statements of its role', async () => {
  const { url } = await createDatabase()
  const client = await connect(url)
  await client.query(`
    CREATE FUNCTION delay() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.2); END';
    CREATE EVENT TRIGGER delay ON ddl_command_end WHEN TAG IN ('CREATE SCHEMA') EXECUTE FUNCTION delay()`)
  const limited = new URL(url)
  limited.searchParams.set('options', '-c statement_timeout=1s')
  await migrate(limited.href)
  expect(await rows(url, 'SELECT FROM migrations')).not.toEqual([])
})

test('`--to` undoes later migrations, and refuses a migration that the database lacks', async () => {
  const { url } = await createMigratedDatabase()
  const names = async () =>
    (await rows<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY timestamp')).map(
      ({ name }) => name,
    )
  const all = await names()
  await expect(migrate(url, 'Line')).rejects.toThrow(SettingsError)
  expect(await names()).toEqual(all)
  await migrate(url, 'ChainState')
  expect(await names()).toEqual(
    all.slice(
      0,
      all.findIndex((name) => name.startsWith('Lines')),
    ),
  )
  await expect(migrate(url, 'Lines')).rejects.toThrow(SettingsError)
  await migrate(url)
  expect(await names()).toEqual(all)
})
test('`--to` undoes nothing if a newer version has migrated the database', async () => {
  const { url } = await createMigratedDatabase()
  await rows(url, `INSERT INTO migrations (timestamp, name) VALUES (1899999999999, 'Newer1899999999999')`)
  await expect(migrate(url, 'ChainState')).rejects.toThrow('Newer')
  expect(await rows(url, `SELECT FROM migrations WHERE name LIKE 'Lines%'`)).toHaveLength(1)
})

test('a missing column counts as a missing migration until the database has all of them', async () => {
  const { url } = await createMigratedDatabase()
  await migrate(url, 'ChainState')
  await rows(url, 'ALTER TABLE migrations RENAME TO hidden')
  const store = new Store(url, () => {})
  const missing = ['nothing', 'nothing()'].map((part) => ({ text: `SELECT ${part}`, values: [] }))
  const names = () => Promise.all(missing.map((each) => store.run(each).catch((error: Error) => error.name)))
  const reasons: string[] = []
  const log = { error: ({ reason }: { reason: string }) => reasons.push(reason) } as unknown as Logger
  const migrated = store.awaitMigrations(log, new AbortController().signal)
  await expect.poll(() => reasons.length).toBe(1)
  await rows(url, 'ALTER TABLE hidden RENAME TO migrations')
  await expect.poll(() => reasons.length, { timeout: 10_000 }).toBe(2)
  expect(await names()).toEqual(['UnavailableError', 'UnavailableError'])
  await migrate(url)
  await migrated
  expect(await names()).toEqual(['error', 'error'])
  expect(reasons[1]).toContain('Lines, Counts')
  await store.close()
})

test('awaitMigrations() logs once that the login may not read the applied migrations', async () => {
  const logged: unknown[] = []
  const log = { error: (...given: unknown[]) => logged.push(given) } as unknown as Logger
  const read = () => Promise.reject(Object.assign(new Error('permission denied'), { code: '42501' }))
  expect(await awaitMigrations(read, log, new AbortController().signal)).toBe(false)
  expect(logged).toEqual([[{ reason: expect.stringContaining('GRANT') }, expect.anything()]])
})

test('npm run migrate reports what it did, and exits with a status for each kind of error', async () => {
  const { url } = await createMigratedDatabase()
  const run = (...args: string[]) =>
    runNode(['lib/migrate.js', ...args], { ...process.env, ...blankSettings(), DATABASE_URL: url })
  expect(await run()).toEqual({ code: 0, output: 'The database is up to date\n' })
  expect(await run('--from', 'Lines')).toEqual({
    code: 2,
    output: expect.stringContaining('--to <migration>'),
  })
  await rows(url, `INSERT INTO migrations (timestamp, name) VALUES (1899999999999, 'Newer1899999999999')`)
  expect(await run('--to', 'ChainState')).toEqual({ code: 1, output: expect.stringContaining('Newer') })
})
