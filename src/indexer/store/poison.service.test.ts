import { Logger } from '@subsquid/logger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../../../dev/random'
import { createMigratedDatabase, rows, type TestDatabase } from '../../../test/database'
import { FAMILIES, attestedPlace, hostile, type Attested } from '../../../test/hostile'
import { hunt } from '../../../test/seed'
import { sentence, testSentences } from '../../../test/sentences'
import { CHAINS, LAST_HEIGHT } from '../../chains'
import { EventKind } from '../../model'
import type { ChainEvent } from '../project'
import { watchedOf } from '../registry'
import {
  BatchWriter,
  ChainDatabase,
  Database,
  EVENTS_PER_WRITE,
  countUids,
  replayPage,
  withheldAttestations,
} from '.'

/**
 * Tests that no value that an attester chooses stops the indexer. Batches go through the real BatchWriter
 * into a real database (docs/spec/trust.md 5).
 */
const CHAIN = CHAINS[3]!
const SILENT = new Logger(() => {}, 'test')

let database: TestDatabase
let store: ChainDatabase<BatchWriter>
let replaying: Database
let head = { height: -1, hash: '0x' }
beforeAll(async () => {
  database = await createMigratedDatabase()
  replaying = new Database(database.url, () => {})
  store = new ChainDatabase(
    (work) => replaying.transaction(work),
    CHAIN,
    (target) => new BatchWriter(target, CHAIN, SILENT),
  )
})
afterAll(() => replaying?.close())

/** Writes a batch of final blocks, like the processor. */
async function write(batch: readonly (Attested | ChainEvent)[]): Promise<BatchWriter['total']> {
  const events = batch.map((item) => ('event' in item ? item.event : item))
  const bodies = new Map(
    batch.flatMap((each) => ('event' in each ? [[each.event.uid, each.body] as const] : [])),
  )
  const last = events[events.length - 1]!
  const next = { height: last.blockNumber, hash: last.blockHash }
  let total: BatchWriter['total'] | undefined
  await store.transact({ prevHead: head, nextHead: next, isOnTop: false }, async (writer) => {
    await writer.write(events, bodies)
    await writer.finish({
      ...next,
      timestamp: last.blockTimestamp,
      agreementAgeMs: Infinity,
      unproven: [],
    })
    total = writer.total
  })
  head = next
  return total!
}

const sql = <Row extends object>(text: string, values?: unknown[]) => rows<Row>(database.url, text, values)
const recordOf = async ({ event }: Attested) =>
  (await sql<{ uid: string }>('SELECT uid FROM location_record WHERE uid = $1', [event.uid]))[0]
const withheld = () => withheldAttestations(replaying.query, CHAIN)

/** Replays the whole event log. Returns the differences. */
async function replay(): Promise<string[]> {
  const differing: string[] = []
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await replayPage(
      replaying,
      CHAIN,
      watchedOf(CHAIN),
      after,
      EVENTS_PER_WRITE,
      LAST_HEIGHT,
      true,
    )
    differing.push(...page.differing.map(({ id, what }) => `${id}: ${what}`))
    after = page.last
  }
  return differing
}

let number = 0
const place = (memo = '', location = '{"type":"Point","coordinates":[1,2]}', type = 'geojson') =>
  attestedPlace(number++, location, type, memo)
const revocation = ({ event }: Attested): ChainEvent => {
  const later = place().event
  return { ...later, kind: EventKind.REVOKED, uid: event.uid }
}

test('the indexer stores and finds a location type that is too long for an index entry', async () => {
  const random = seededRandom(1)
  // 4,000 characters that do not compress.
  const type = Array.from({ length: 4_000 }, () =>
    String.fromCharCode(0x4e00 + Math.floor(random() * 20_000)),
  ).join('')
  const attestation = place('', 'x', type)
  await write([attestation])
  expect(
    await sql(
      'SELECT uid FROM location_record WHERE lower(left(location_type, 100)) = lower(left($1, 100)) AND location_type = $1',
      [type],
    ),
  ).toEqual([{ uid: attestation.event.uid }])
})

test('the indexer stores degrees that underflow when Postgres divides them', async () => {
  const attestation = place('', '{"type":"Point","coordinates":[5e-324,-1e-310]}')
  expect(await write([attestation])).toMatchObject({ withheld: 0, records: 1 })
})

test('the indexer withholds rows that Postgres refuses, until a replay, and writes all others', async () => {
  await sql(`ALTER TABLE location_record ADD CONSTRAINT refused CHECK (memo NOT LIKE 'poison%')`)
  const batch = Array.from({ length: 300 }, (_, i) => place(i % 130 === 7 ? `poison ${i}` : `place ${i}`))
  const [guilty, healthy] = [batch.filter((_, i) => i % 130 === 7), batch.filter((_, i) => i % 130 !== 7)]
  const total = await write([...batch, revocation(healthy[0]!), revocation(guilty[0]!)])
  expect([total.withheld, total.records]).toEqual([guilty.length, healthy.length])
  expect((await withheld()).map(({ uid, hasBody }) => [uid, hasBody])).toEqual(
    guilty.map(({ event }) => [event.uid, true]),
  )
  expect((await withheld())[0]!.problem).toEqual(sentence('', 'refused'))
  const stored = await sql<{ uid: string; revoked: boolean }>(
    'SELECT uid, revoked FROM location_record WHERE uid = ANY($1)',
    [batch.map(({ event }) => event.uid)],
  )
  expect(new Set(stored.map(({ uid }) => uid))).toEqual(new Set(healthy.map(({ event }) => event.uid)))
  expect(stored.filter(({ revoked }) => revoked).map(({ uid }) => uid)).toEqual([healthy[0]!.event.uid])

  // Postgres still refuses these rows, and in the meantime a replay finds no difference.
  expect(await replay()).toEqual([])
  expect(await withheld()).toHaveLength(guilty.length)
  await sql('ALTER TABLE location_record DROP CONSTRAINT refused')
  expect(await replay()).toEqual(guilty.map(({ event }) => `celo-${event.uid}: missing`))
  expect(await withheld()).toEqual([])
  expect(await sql('SELECT revoked FROM location_record WHERE uid = $1', [guilty[0]!.event.uid])).toEqual([
    { revoked: true },
  ])
  expect(await replay()).toEqual([])
})

test('the indexer stores an event without its body if the database refuses the body', async () => {
  await sql(`ALTER TABLE attestation_event ADD CONSTRAINT refused CHECK (withheld = false OR data IS NULL)`)
  await sql(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.memo = 'poison' THEN RAISE EXCEPTION 'no poison'; END IF; RETURN NEW; END $$`,
  )
  await sql('CREATE TRIGGER refuse BEFORE INSERT ON location_record FOR EACH ROW EXECUTE FUNCTION refuse()')
  const [guilty, healthy] = [place('poison'), place('healthy')]
  expect(await write([guilty, healthy])).toMatchObject({ withheld: 1, records: 1 })
  expect(await withheld()).toEqual([
    { uid: guilty.event.uid, problem: sentence('', 'no poison'), hasBody: false },
  ])
  expect(await replay()).toEqual([])
  await sql('ALTER TABLE attestation_event DROP CONSTRAINT refused')
  expect(await recordOf(guilty)).toBeUndefined()
  // Cleans up for the next test's replay.
  await sql('DROP TRIGGER refuse ON location_record')
  await sql('DELETE FROM attestation_event WHERE withheld')
})

test.each([
  [
    'a missing table',
    'ALTER TABLE location_record RENAME TO elsewhere',
    'ALTER TABLE elsewhere RENAME TO location_record',
  ],
  [
    'a full disk',
    `CREATE TRIGGER refuse BEFORE INSERT ON location_record FOR EACH ROW EXECUTE FUNCTION full_disk()`,
    'DROP TRIGGER refuse ON location_record',
  ],
])(
  'the indexer withholds no event because of %s, but fails the whole batch and writes it later',
  async (_, fault, cure) => {
    await sql(
      `CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$`,
    )
    await sql(fault)
    const batch = [place('a'), place('b')]
    await expect(write(batch)).rejects.toThrow()
    await sql(cure)
    expect(await write(batch)).toMatchObject({ withheld: 0, records: 2 })
  },
)

test('the indexer writes a batch of large texts in parts', async () => {
  // Two of these rows exceed the size of one statement.
  const batch = Array.from({ length: 8 }, () => place('m'.repeat(900_000)))
  expect(await write(batch)).toMatchObject({ withheld: 0, records: 8 })
})

/** Writes a geometry of each family, in whole degrees, so that the largest one fits into a payload. */
async function storesShapes(positions: number): Promise<void> {
  const batch = Object.values(FAMILIES).map((shape) =>
    place(
      '',
      JSON.stringify(shape(positions), (_key, value: unknown) =>
        typeof value === 'number' ? Math.round(value) : value,
      ),
    ),
  )
  expect(await write(batch)).toMatchObject({ withheld: 0, records: batch.length })
  const stored = await sql<{ uid: string; size: number; problem: string | null }>(
    'SELECT uid, ST_NPoints(geom) AS size, problem FROM location_record WHERE uid = ANY($1)',
    [batch.map(({ event }) => event.uid)],
  )
  const families = Object.keys(FAMILIES)
  const of = new Map(stored.map(({ uid, ...each }) => [uid, each]))
  // The size grows linearly with the positions: each is stored at most three times.
  expect(
    batch.map(({ event }, i) => {
      const { size, problem } = of.get(event.uid)!
      return [families[i], size <= 3 * positions + 10, problem]
    }),
  ).toEqual(families.map((family) => [family, true, null]))
}

test('the indexer stores shapes of 2,000 positions unchanged', () => storesShapes(2_000))

hunt(
  'the indexer stores all hostile attestations, withholds none, and finds no difference in a replay of the whole event log',
  500,
  async ({ random, cases }) => {
    const before = await countUids(replaying.query, CHAIN, watchedOf(CHAIN))
    for (let done = 0; done < cases; done += 1_000) {
      const batch = Array.from({ length: Math.min(1_000, cases - done) }, () => hostile(number++, random))
      expect(await write(batch)).toMatchObject({ withheld: 0 })
    }
    expect(await countUids(replaying.query, CHAIN, watchedOf(CHAIN))).toBe(before + cases)
    expect(await replay()).toEqual([])
  },
)

test('the indexer stores shapes of 60,000 positions unchanged', { tags: ['slow'] }, () =>
  storesShapes(60_000),
)

testSentences()
