import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMigratedDatabase, type TestDatabase } from '../../../test/database'
import { chainBySlug } from '../../chains'
import { READING } from '../project'
import { Database } from './connection'
import { noteHead, noteIndexed, noteReading, noteSchemas, readingOf } from './status'

let server: TestDatabase
let database: Database
beforeAll(async () => {
  server = await createMigratedDatabase()
  database = new Database(server.url, () => {})
})
afterAll(async () => {
  await database?.close()
  await server?.drop()
})

const CHAIN = chainBySlug('celo')!
const TIME = 1_700_000_000
const indexed = (height: number) =>
  noteIndexed(database.query, CHAIN, {
    height,
    hash: `0x${height}`,
    timestamp: (TIME + height) * 1000,
    agreementAgeMs: 0,
  })
const named = (number: number, tipHeight: number) =>
  noteHead(database.query, CHAIN, {
    number,
    timestamp: TIME + number,
    ageMs: 0,
    tipHash: `0x${tipHeight}`,
    agreementAgeMs: 0,
    doubt: undefined,
    contradictions: 0,
  })

test('returns the newest known block as the head, and an older one after an endpoint went back', async () => {
  const head = async () =>
    (
      await database.query<{ height: number; seconds: number }>(
        'SELECT head_height AS height, extract(epoch FROM head_timestamp)::int AS seconds FROM chain_status',
      )
    )[0]
  const block = (height: number) => ({ height, seconds: TIME + height })
  await indexed(10)
  expect(await head(), 'before the first look').toEqual({ height: null, seconds: null })
  await named(30, 10)
  await indexed(20)
  expect(await head(), 'while blocks are read up to the head').toEqual(block(30))
  await indexed(40)
  expect(await head(), 'a batch beyond the last look').toEqual(block(40))
  await named(35, 30)
  expect(await head(), 'a look before that batch').toEqual(block(40))
  await named(35, 40)
  expect(await head(), 'a look after it').toEqual(block(35))
})

test('replays records once a schema is watched again after an exclusion', async () => {
  const reading = async (schemas: string[]) => {
    await noteSchemas(database.query, CHAIN, schemas, false)
    return (await readingOf(database.query, CHAIN)).reading
  }
  await reading(['a', 'b'])
  await noteReading(database.query, CHAIN)
  expect([await reading(['a', 'b']), await reading(['a']), await reading(['a', 'b'])]).toEqual([
    READING,
    READING,
    0,
  ])
})
