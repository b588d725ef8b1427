import { AssertionError } from 'node:assert'
import { Logger } from '@subsquid/logger'
import { TypeormDatabase, type Store } from '@subsquid/typeorm-store'
import fc from 'fast-check'
import type { Client } from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { connect, createMigratedDatabase, migrate, rows, type TestDatabase } from '../../../test/database'
import { attestedPlace, type Attested, type Random } from '../../../test/hostile'
import { expectChanges, expectCounts } from '../../../test/invariants'
import { hunt } from '../../../test/seed'
import { seededRandom } from '../../../dev/random'
import { addAnswerAttesters } from '../../answer'
import { CHAINS } from '../../chains'
import { encodeBooleanResult } from '../../eas'
import { EventKind } from '../../model'
import { PROJECTED_TABLES, eventId, project, type ChainEvent, type ProjectedTable } from '../project'
import { watchedOf } from '../registry'
import {
  BatchWriter,
  ChainDatabase,
  copyOver,
  copyTexts,
  Database,
  NotFinalError,
  finalBlock,
  repairLog,
  replayPage,
  rewindFinal,
} from '.'
import { insertSql } from './log'

/**
 * Tests of ChainDatabase with a real database: after any reorg it holds the same rows as a database that
 * indexed only the final branch. The same applies to a database that the previous version wrote with
 * typeorm-store.
 */
const CHAIN = CHAINS[3]!
const SILENT = new Logger(() => {}, 'test')
const FINALITY = 4
const ATTESTER = `0x${'d'.repeat(40)}`
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

interface Block {
  height: number
  hash: string
  events: ChainEvent[]
}

/** Creates blocks with new attestations, and with revocations of attestations on a branch. */
class Blocks {
  readonly bodies = new Map<string, Attested['body']>()
  private made = 0

  constructor(private readonly random: Random) {
    addAnswerAttesters(CHAIN.slug, [{ address: ATTESTER }])
  }

  next(branch: readonly Block[]): Block {
    const height = branch.length
    const hash = word(++this.made * 1_000)
    const events: ChainEvent[] = []
    const add = (event: ChainEvent) =>
      events.push({
        ...{ ...event, blockNumber: height, blockHash: hash, blockTimestamp: height * 12_000 },
        ...{ transactionHash: word(this.made), logIndex: events.length },
      })
    for (let n = Math.floor(this.random() * 3); n > 0; n--) {
      const { event, body } = this.attestation()
      this.bodies.set(event.uid, { ...body, time: BigInt(height * 12) })
      add(event)
    }
    const all = [...branch.flatMap((block) => block.events), ...events]
    const revoked = new Set(all.flatMap(({ kind, uid }) => (kind === EventKind.REVOKED ? [uid] : [])))
    const valid = all.filter(({ uid, kind }) => kind === EventKind.ATTESTED && !revoked.has(uid))
    for (const event of valid) if (this.random() < 0.2) add({ ...event, kind: EventKind.REVOKED })
    return { height, hash, events }
  }

  private attestation(): Attested {
    const made = attestedPlace(++this.made, '1,2', 'coordinate-decimal+lon-lat', `${this.made}`)
    if (this.random() < 0.5) return made
    const data = encodeBooleanResult(true, { inputRefs: [], timestamp: 1_700_000_000, operation: 'contains' })
    const of = { schemaUid: word(9), attester: ATTESTER }
    return {
      event: { ...made.event, ...of },
      body: {
        ...made.body,
        schema: of.schemaUid,
        attester: ATTESTER,
        data: Buffer.from(data.slice(2), 'hex'),
      },
    }
  }
}

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
const opened = (own: TestDatabase) => {
  const database = new Database(own.url, () => {})
  closing.push(own.drop, () => database.close())
  return { url: own.url, database }
}
const fresh = async () => opened(await createMigratedDatabase())

const databaseOf = (database: Database) =>
  new ChainDatabase(
    (work) => database.transaction(work),
    CHAIN,
    (target) => new BatchWriter(target, CHAIN, SILENT),
  )

/** A target of updates in the form of evm-processor's runner. */
type Target = Pick<ChainDatabase<BatchWriter>, 'transact' | 'transactHot2'>
const FIRST = { height: -1, hash: '0x' }

/** A branch and its database, which receives each change of the branch. */
class Followed {
  branch: Block[] = []
  /** Number of final blocks. */
  final = 0
  /** Events that an endpoint returns of a block. */
  returned = ({ events }: Block) => events

  constructor(
    private readonly target: (bodies: Blocks['bodies']) => Target & { connect(): Promise<unknown> },
    private readonly blocks: Blocks,
  ) {}

  private get last() {
    return this.branch[this.final - 1] ?? FIRST
  }

  /** Replaces the blocks above the first `kept` ones by `count` new blocks. */
  async hot(kept: number, count: number): Promise<void> {
    const branch = this.branch.slice(0, kept)
    for (let i = 0; i < count; i++) branch.push(this.blocks.next(branch))
    const final = Math.max(this.final, branch.length - FINALITY)
    const newBlocks = branch.slice(kept)
    await this.target(this.blocks.bodies).transactHot2(
      { baseHead: branch[kept - 1]!, finalizedHead: branch[final - 1]!, newBlocks },
      (writer, from, to) => this.write(writer, newBlocks.slice(from, to)),
    )
    ;[this.branch, this.final] = [branch, final]
  }

  /** Replaces the hot blocks by `count` final blocks. */
  async history(count: number): Promise<void> {
    const branch = this.branch.slice(0, this.final)
    for (let i = 0; i < count; i++) branch.push(this.blocks.next(branch))
    await this.target(this.blocks.bodies).transact(
      { prevHead: this.last, nextHead: branch.at(-1)!, isOnTop: false },
      (writer) => this.write(writer, branch.slice(this.final)),
    )
    ;[this.branch, this.final] = [branch, branch.length]
  }

  private async write(writer: BatchWriter, blocks: readonly Block[]): Promise<void> {
    await writer.write(blocks.flatMap(this.returned), this.blocks.bodies)
    const { height, hash } = blocks.at(-1)!
    await writer.finish({ height, hash, timestamp: height * 12_000, agreementAgeMs: 0, unproven: [] })
  }

  /** Expects that the database holds exactly this branch, and has published exactly its changes. */
  async expectStored({ url, database }: { url: string; database: Database }): Promise<void> {
    const { slug } = CHAIN
    expect(
      await rows(
        url,
        'SELECT kind, uid, block_number AS "blockNumber", block_hash AS "blockHash", log_index AS "logIndex" FROM attestation_event ORDER BY id',
      ),
    ).toEqual(
      this.branch
        .flatMap(({ events }) => events)
        .map(({ kind, uid, blockNumber, blockHash, logIndex }) => ({
          ...{ kind, uid, blockNumber, blockHash, logIndex },
        })),
    )
    const { differing } = await replayPage(database, CHAIN, watchedOf(CHAIN), '', 100_000, 2 ** 31 - 1, false)
    expect(differing).toEqual([])
    expect(await rows(url, 'SELECT id FROM location_record WHERE line IS NULL')).toEqual([])
    expect(await rows(url, 'SELECT height, hash FROM hot_block ORDER BY height')).toEqual(
      this.branch.slice(this.final).map(({ height, hash }) => ({ height, hash })),
    )
    expect(await finalBlock(database.query, CHAIN)).toEqual({ height: this.final - 1, hash: this.last.hash })
    await expectCounts(url, slug)
    await expectChanges(url, slug, 'latest', 'SELECT uid, revoked FROM location_record WHERE chain = $1')
    await expectChanges(
      url,
      slug,
      'final',
      `SELECT record.uid, event.id IS NOT NULL AS revoked FROM location_record AS record
       LEFT JOIN attestation_event AS event ON event.uid = record.uid AND event.kind = 'REVOKED' AND event.block_number < ${this.final}
       WHERE record.chain = $1 AND record.block_number < ${this.final}`,
    )
  }
}

const updatedAt = async (url: string) =>
  new Map(
    (
      await Promise.all(
        PROJECTED_TABLES.map((table) =>
          rows<{ id: string; at: Date }>(url, `SELECT id, updated_at AS at FROM ${table}`),
        ),
      )
    )
      .flat()
      .map(({ id, at }) => [id, at.getTime()]),
  )

hunt('the store has exactly the rows of the chain after reorgs', 15, async ({ random, cases }) => {
  const world = await fresh()
  const blocks = new Blocks(random)
  const store = databaseOf(world.database)
  const followed = new Followed(() => store, blocks)
  await followed.history(3)
  /** Update times of each row, by the hash of the last block. */
  const times = new Map<string, Map<string, number>>()
  for (let i = 0; i < cases; i++) {
    const { branch, final } = followed
    const kept = random() < 0.5 ? branch.length : final + Math.floor(random() * (branch.length - final + 1))
    if (random() < 0.15) await followed.history(1 + Math.floor(random() * (branch.length - final + 6)))
    else {
      await followed.hot(kept, 1 + Math.floor(random() * 7))
      // Rows that the new blocks do not change have the state that they had before the old blocks.
      const touched = new Set(
        followed.branch.slice(kept).flatMap(({ events }) => events.map(({ uid }) => uid)),
      )
      const now = await updatedAt(world.url)
      for (const [id, at] of times.get(branch[kept - 1]!.hash) ?? [])
        if (!touched.has(id.slice(CHAIN.slug.length + 1))) expect(now.get(id), id).toBe(at)
    }
    times.set(followed.branch.at(-1)!.hash, await updatedAt(world.url))
    await followed.expectStored(world)
    expect(await store.connect()).toEqual({
      ...{ height: followed.final - 1, hash: followed.branch[followed.final - 1]!.hash },
      top: followed.branch.slice(followed.final).map(({ height, hash }) => ({ height, hash })),
    })
  }
})

hunt(
  'the store has the rows of the chain after reorgs, omitted events and repairs',
  5,
  async ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const world = await fresh()
      const { database, url } = world
      const blocks = new Blocks(random)
      const store = databaseOf(database)
      const followed = new Followed(() => store, blocks)
      const repair = async (share: number) => {
        const known = new Set(
          (await rows<{ id: string }>(url, 'SELECT id FROM attestation_event')).map(({ id }) => id),
        )
        const events = followed.branch
          .slice(0, followed.final)
          .flatMap((block) => block.events)
          .filter(
            (event) => !known.has(eventId(CHAIN.slug, event.blockNumber, event.logIndex)) && random() < share,
          )
        const { bodies } = blocks
        const found = { events, bodies, surplus: [], finalHeight: followed.final - 1 }
        // The repair waits while one of its attestations has an event that is not final.
        await repairLog(database, CHAIN, found).catch((error: unknown) => {
          if (!(error instanceof NotFinalError)) throw error
        })
      }
      const replay = () => replayPage(database, CHAIN, watchedOf(CHAIN), '', 1_000, followed.final - 1, true)
      const steps = [
        () => followed.history(1 + Math.floor(random() * 8)),
        () => followed.hot(followed.branch.length, 1 + Math.floor(random() * 7)),
        () =>
          followed.hot(followed.final + Math.floor(random() * (followed.branch.length - followed.final)), 3),
        () => repair(0.5),
        () => rows(url, `UPDATE location_record SET memo = memo || '!' WHERE random() < 0.1`).then(replay),
        () =>
          rows(
            url,
            `DELETE FROM record_group; INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state ON CONFLICT (chain) DO UPDATE SET counted_until = '-infinity'`,
          ),
        () => rows(url, 'SELECT count_records($1, 3)', [CHAIN.slug]),
      ]
      followed.returned = ({ events }) => events.filter(() => random() > 0.1)
      await followed.history(3)
      for (let step = 0; step < 30; step++) await steps[Math.floor(random() * steps.length)]!()
      followed.returned = ({ events }) => events
      await followed.history(followed.branch.length - followed.final + 1)
      await repair(1)
      await replay()
      await followed.expectStored(world)
    }
  },
)

test('a reorg keeps the rows of final blocks whose attestations a hot block announced again', async () => {
  const world = await fresh()
  const store = databaseOf(world.database)
  const followed = new Followed(() => store, new Blocks(seededRandom(1)))
  await followed.history(6)
  const attested = followed.branch
    .flatMap(({ events }) => events)
    .filter(({ kind }) => kind === EventKind.ATTESTED)
  expect(attested.length).toBeGreaterThan(2)
  // Several blocks of a chain may have one time, on which a UID depends.
  followed.returned = ({ events, height, hash }) => [
    ...events,
    ...attested.map((event, i) => ({ ...event, blockNumber: height, blockHash: hash, logIndex: 90 + i })),
  ]
  await followed.hot(6, 1)
  followed.returned = ({ events }) => events
  await followed.hot(6, 2)
  await followed.expectStored(world)
})

test('the block store rejects an update that does not fit the stored blocks, without a write', async () => {
  const world = await fresh()
  const blocks = new Blocks(seededRandom(1))
  const store = databaseOf(world.database)
  const followed = new Followed(() => store, blocks)
  await followed.history(3)
  await followed.hot(3, 3)
  const [, first, , third, , last] = followed.branch as [Block, Block, Block, Block, Block, Block]
  const next = blocks.next(followed.branch)
  const none = () => Promise.reject(new Error('nothing is to be written'))
  for (const update of [
    // Rejected changes: a block other than the stored one, a gap, a final block outside the branch, and a
    // block below the last one.
    { baseHead: { ...last, hash: word(1) }, newBlocks: [next], finalizedHead: third },
    { baseHead: last, newBlocks: [{ ...next, height: next.height + 1 }], finalizedHead: third },
    { baseHead: last, newBlocks: [next], finalizedHead: { ...third, hash: word(1) } },
    { baseHead: last, newBlocks: [next], finalizedHead: first },
    { baseHead: { ...next, height: 100 }, newBlocks: [], finalizedHead: third },
  ])
    await expect(store.transactHot2(update, none)).rejects.toThrow(AssertionError)
  await expect(store.transact({ prevHead: first, nextHead: next, isOnTop: false }, none)).rejects.toThrow(
    AssertionError,
  )
  await expect(
    store.transactHot2({ baseHead: third, newBlocks: [], finalizedHead: first }, none),
  ).rejects.toThrow(AssertionError)
  const failure = new Error('failure')
  const failing = (writer: BatchWriter) =>
    writer.write(next.events, blocks.bodies).then(() => Promise.reject(failure))
  const update = { baseHead: third, newBlocks: [{ ...next, height: 4 }], finalizedHead: third }
  await expect(store.transactHot2(update, failing)).rejects.toBe(failure)
  await followed.expectStored(world)
  expect(await rewindFinal(world.database, CHAIN, first)).toBe(false)
  await followed.expectStored(world)
})

/** Private parts of typeorm-store 1.5.1, with which the previous version wrote. */
interface OldStore {
  em(): { query(sql: string, values?: unknown[]): Promise<unknown> }
  changes?: {
    trackInsert(type: string, rows: readonly { id: string }[]): Promise<void>
    trackUpsert(type: string, rows: readonly { id: string }[]): Promise<void>
  }
}
const ENTITIES: Record<ProjectedTable, string> = { location_record: 'LocationRecord', answer: 'Answer' }

/** Writes events like the previous version. */
async function writeOld(
  store: Store,
  events: readonly ChainEvent[],
  bodies: Blocks['bodies'],
): Promise<void> {
  const old = store as unknown as OldStore
  const { changes } = old
  const projection = project(CHAIN.slug, events, bodies, new Date())
  const insert = async (
    type: string,
    table: 'attestation_event' | ProjectedTable,
    list: { id: string }[],
  ) => {
    if (list.length === 0) return
    await changes?.trackInsert(type, list)
    const texts = list.map((row) =>
      'data' in row && Buffer.isBuffer(row.data) ? { ...row, data: `\\x${row.data.toString('hex')}` } : row,
    )
    await old.em().query(insertSql(table), [JSON.stringify(texts)])
  }
  await insert('AttestationEvent', 'attestation_event', projection.events)
  for (const table of PROJECTED_TABLES) await insert(ENTITIES[table], table, projection.rows[table])
  for (const table of PROJECTED_TABLES) {
    const given = projection.revocations[table]
    if (given.length === 0) continue
    await changes?.trackUpsert(ENTITIES[table], given)
    await old.em().query(
      `UPDATE ${table} AS stored SET revoked = true, revocation_time = given.revocation_time, updated_at = given.updated_at
       FROM json_populate_recordset(NULL::${table}, $1) AS given WHERE stored.id = given.id`,
      [JSON.stringify(given)],
    )
  }
}

/** Opens a database with the store of the previous version. */
function oldStore(url: string) {
  process.env.DB_URL = url
  const store = new TypeormDatabase({
    ...{ supportHotBlocks: true, stateSchema: 'squid_celo', isolationLevel: 'READ COMMITTED' },
  })
  closing.push(() => store.disconnect())
  /** ChainDatabase's interface, with a store that has the BatchWriter methods that these tests use. */
  const target = (bodies: Blocks['bodies']) => {
    const writer = (each: Store) =>
      ({
        write: (events: ChainEvent[]) => writeOld(each, events, bodies),
        finish: (last: { height: number }) =>
          (each as unknown as OldStore).em().query(
            `INSERT INTO chain_status (chain, indexed_height) VALUES ($1, $2)
               ON CONFLICT (chain) DO UPDATE SET indexed_height = excluded.indexed_height, indexed_hash = NULL`,
            [CHAIN.slug, last.height],
          ),
      }) as unknown as BatchWriter
    return {
      connect: () => store.connect(),
      transact: (info, write) => store.transact(info, (each) => write(writer(each))),
      transactHot2: (info, write) =>
        store.transactHot2(info, (each, ...part) => write(writer(each), ...part)),
    } as Target & { connect(): Promise<unknown> }
  }
  return { store, target }
}

/** Copies a model's database and continues the model with the copy. */
function movedTo(
  followed: Followed,
  target: ConstructorParameters<typeof Followed>[0],
  blocks: Blocks,
): Followed {
  return Object.assign(new Followed(target, blocks), { branch: followed.branch, final: followed.final })
}

test.each([1, 2, 3])(
  'the block store continues a database of the previous version, and vice versa (%i)',
  { tags: ['slow'] },
  async (seed) => {
    const own = await createMigratedDatabase()
    const undo = () => migrate(own.url, 'Readings')
    await undo()
    // A schema of another squid in the same database.
    await rows(own.url, `CREATE SCHEMA squid_processor; CREATE TABLE squid_processor.status (id int)`)
    const blocks = new Blocks(seededRandom(seed))
    const old = oldStore(own.url)
    await old.store.connect()
    let followed = new Followed(old.target, blocks)
    await followed.history(3)
    await followed.hot(3, 6)
    await followed.hot(followed.branch.length - 1, 2)
    const state = { branch: followed.branch, final: followed.final }
    await migrate(own.url)

    const world = opened(own)
    const store = databaseOf(world.database)
    followed = movedTo(followed, () => store, blocks)
    const [{ hash }] = (await rows(own.url, 'SELECT indexed_hash AS hash FROM chain_status')) as [
      { hash: string },
    ]
    expect(hash).toBe(followed.branch.at(-1)!.hash)
    expect(await rows(own.url, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'squid%'`)).toEqual([
      { nspname: 'squid_processor' },
    ])
    expect(await store.connect()).toMatchObject({
      height: state.final - 1,
      hash: state.branch[state.final - 1]!.hash,
    })
    // The previous version did not publish final changes. The test expects all changes as if it had published
    // them.
    await rows(
      own.url,
      `UPDATE record_change SET finality = 'both' WHERE id <= (SELECT max(id) FROM record_change)`,
    )
    await followed.hot(followed.final, 3)
    await followed.hot(followed.final + 1, 3)

    // Reverts the database to the previous version.
    await undo()
    const again = oldStore(own.url)
    expect(await again.store.connect()).toMatchObject({
      ...{ height: followed.final - 1, hash: followed.branch[followed.final - 1]!.hash },
      top: followed.branch.slice(followed.final).map(({ height, hash }) => ({ height, hash })),
    })
    followed = movedTo(followed, again.target, blocks)
    await followed.hot(followed.final, 2)
    await migrate(own.url)
    followed = movedTo(followed, () => store, blocks)
    await followed.hot(followed.branch.length, 1)
    const { differing } = await replayPage(
      ...([world.database, CHAIN, watchedOf(CHAIN), '', 100_000, 2 ** 31 - 1, false] as const),
    )
    expect(differing).toEqual([])
    expect(await rows(own.url, 'SELECT uid, kind FROM attestation_event ORDER BY id')).toEqual(
      followed.branch.flatMap(({ events }) => events).map(({ uid, kind }) => ({ uid, kind })),
    )
    await expectCounts(own.url, CHAIN.slug)
    await expectChanges(
      ...([
        own.url,
        CHAIN.slug,
        'latest',
        'SELECT uid, revoked FROM location_record WHERE chain = $1',
      ] as const),
    )
  },
)

let client: Client
beforeAll(async () => {
  client = await connect((await createMigratedDatabase()).url)
})

/** Tests of COPY. */
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
