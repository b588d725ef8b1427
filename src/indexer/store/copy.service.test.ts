import fc from 'fast-check'
import { Client } from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { connect, createMigratedDatabase, type TestDatabase } from '../../../test/database'
import { hunt } from '../../../test/seed'
import { copyTexts } from './batch'
import { copyOver } from './connection'

let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
})

const COLUMNS = ['t', 'n', 'i', 'b', 'at', 'bytes', 'list', 'json']
/** Returns any text that Postgres can store, including texts that COPY must escape. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', '')),
  fc.constantFrom(
    '\\N',
    '\\.',
    '\\',
    '',
    'NULL',
    '\t',
    '\n',
    '\r',
    '\r\n',
    '"',
    '{}',
    'a\\tb',
    '\\x00',
    '\u2028',
  ),
)
const row = fc.record({
  t: fc.option(text),
  n: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
  i: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  b: fc.boolean(),
  at: fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
  bytes: fc.option(fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes))),
  list: fc.array(text, { maxLength: 4 }),
  json: fc.option(fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)))),
})

hunt('COPY stores values of every type unchanged', 20, async ({ seed, cases }) => {
  await client.query(
    'CREATE TABLE kinds (at_row serial, t text, n float8, i int, b boolean, at timestamptz, bytes bytea, list text[], json jsonb)',
  )
  const copy = copyOver(client)
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
      await client.query('TRUNCATE kinds')
      await copy('kinds', COLUMNS, copyTexts(rows, COLUMNS))
      const { rows: stored } = await client.query(`SELECT ${COLUMNS.join()} FROM kinds ORDER BY at_row`)
      expect(stored).toEqual(rows.map((each) => ({ ...each, json: each.json && { ...each.json } })))
    }),
    { seed, numRuns: cases },
  )
})

test('COPY rejects rows with the reason from Postgres, and accepts the next rows', async () => {
  const copy = copyOver(client)
  await client.query('CREATE TABLE texts (t text)')
  await expect(copy('texts', ['t'], copyTexts([{ t: 'a\0b' }], ['t']))).rejects.toMatchObject({
    code: '22021',
  })
  await copy('texts', ['t'], copyTexts([{ t: 'next' }], ['t']))
  expect((await client.query('SELECT t FROM texts')).rows).toEqual([{ t: 'next' }])
})

test('the COPY writer splits rows into texts of whole lines', () => {
  const rows = Array.from({ length: 30 }, (_, i) => ({ t: `${i}${'x'.repeat(100_000)}` }))
  const texts = copyTexts(rows, ['t'])
  expect(texts.length).toBeGreaterThan(1)
  expect(texts.every((each) => each.endsWith('\n'))).toBe(true)
  expect(texts.join('')).toBe(rows.map(({ t }) => `${t}\n`).join(''))
  expect(copyTexts([], ['t'])).toEqual([])
})
