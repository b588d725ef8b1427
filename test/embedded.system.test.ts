import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, startService, type Service } from '../dev/services'
import { copyOver } from '../src/indexer/store/connection'
import { connect, temporaryFolder } from './database'

/** Tests the embedded database through the pg driver: several clients share its only session. */
let service: Service
let url: string
const folder = temporaryFolder()
beforeAll(async () => {
  const port = await freePort()
  service = startService('database', ['dist/dev/database.js', '--small', String(port)], process.env, folder)
  await service.ready
  url = `postgres://postgres@127.0.0.1:${port}/postgres`
})
afterAll(() => service.stop())
async function connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
const one = async (client: Client, value: unknown) =>
  (await client.query<{ value: string }>('SELECT $1::text AS value', [value])).rows[0]!.value

test('the embedded database returns the correct result of a query after a failed query', () =>
  connected(async (client) => {
    for (let i = 0; i < 3; i++) {
      await expect(client.query('SELEC $1', [i])).rejects.toThrow('syntax error')
      expect(await one(client, `after ${i}`)).toBe(`after ${i}`)
      await expect(client.query('SELECT $1::int', ['x'])).rejects.toThrow('invalid input syntax')
      expect(await one(client, `and ${i}`)).toBe(`and ${i}`)
    }
  }))

test('the embedded database returns each concurrent client its own results, even megabytes', () =>
  Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      connected(async (client) => {
        for (let k = 0; k < 10; k++) {
          const value = `${i}-${k}-`.padEnd(k === 5 ? 3_000_000 : 100, 'x')
          expect(await one(client, value)).toBe(value)
        }
      }),
    ),
  ))

test('the embedded database excludes other clients from a transaction until it ends', async () => {
  await connected((client) => client.query('CREATE TABLE counted (n int)'))
  const vanishing = new Client({ connectionString: url })
  vanishing.on('error', () => {})
  await vanishing.connect()
  await vanishing.query('BEGIN')
  await vanishing.query('INSERT INTO counted VALUES (1)')
  const other = connected((client) => client.query<{ count: string }>('SELECT count(*) FROM counted'))
  ;(vanishing as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  expect((await other).rows).toEqual([{ count: '0' }])
})

test('the embedded database writes rows by COPY, even after a failed COPY', () =>
  connected(async (client) => {
    const copy = copyOver(client)
    await client.query('CREATE TABLE copied (n int, t text)')
    await client.query('BEGIN')
    // The rows arrive in several messages.
    await copy('copied', ['n', 't'], ['1\tone\n', '2\t\\N\n', `3\t${'x'.repeat(3_000_000)}\n`])
    await client.query('SAVEPOINT here')
    await expect(copy('copied', ['n', 't'], ['4\tfour\nfive\tfive\n'])).rejects.toMatchObject({
      code: '22P02',
    })
    await client.query('ROLLBACK TO SAVEPOINT here')
    await expect(copy('missing', ['n'], ['1\n'])).rejects.toMatchObject({ code: '42P01' })
    await client.query('ROLLBACK TO SAVEPOINT here')
    await copy('copied', ['n', 't'], [])
    await client.query('COMMIT')
    expect((await client.query('SELECT n, length(t) AS length FROM copied ORDER BY n')).rows).toEqual([
      { n: 1, length: 3 },
      { n: 2, length: null },
      { n: 3, length: 3_000_000 },
    ])
    expect(await one(client, 'after')).toBe('after')
  }))

test('the embedded database replaces damaged folders, and keeps each', async () => {
  const damaged = path.join(temporaryFolder(), 'database')
  const version = (name = '') => path.join(`${damaged}${name}`, 'PG_VERSION')
  mkdirSync(damaged)
  const args = ['dist/dev/database.js', '--small', String(await freePort()), damaged]
  for (const content of ['damaged first', 'damaged again']) {
    writeFileSync(version(), content)
    const replaced = startService('replaced', args, process.env, folder)
    await replaced.ready
    await replaced.stop()
  }
  expect(['.damaged', '.damaged-2'].map((name) => readFileSync(version(name), 'utf8'))).toEqual([
    'damaged first',
    'damaged again',
  ])
  expect(existsSync(version())).toBe(true)
})

test('the embedded server has one database, and neither opens nor creates another', async () => {
  const other = new Client({ connectionString: url.replace(/postgres$/, 'other') })
  await expect(other.connect()).rejects.toMatchObject({
    code: '3D000',
    message: expect.stringContaining('has only the database postgres'),
  })
  await connected(async (client) => {
    for (const text of ['CREATE DATABASE other', 'COPY some FROM STDIN']) {
      const prepared = client.query({ name: text, text })
      await expect(prepared).rejects.toMatchObject({ code: '0A000' })
    }
    await expect(client.query('CREATE DATABASE other')).rejects.toMatchObject({ code: '0A000' })
    expect(await one(client, 'after')).toBe('after')
  })
})
