import assert from 'node:assert'
import type { Logger } from '@subsquid/logger'
import type {
  FinalTxInfo,
  HashAndHeight,
  HotDatabase,
  HotDatabaseState,
  HotTxInfo,
} from '@subsquid/util-internal-processor-tools'
import { LAST_HEIGHT, type Chain } from '../../chains'
import { EventKind } from '../../model/generated/_eventKind'
import type { AttestationBody } from '../bodies'
import {
  eventRow,
  project,
  PROJECTED_TABLES,
  requireBodies,
  type ChainEvent,
  type EventRow,
  type ProjectedTable,
  type Projection,
  type Revocation,
} from '../project'
import {
  attempt,
  ContentError,
  copied,
  isolate,
  limitStatements,
  lockChain,
  type Copy,
  type Query,
} from './connection'
import {
  chainState,
  insertHotBlock,
  noteFinal,
  noteIndexed,
  rollBack,
  saveRevoked,
  settleHotBlocks,
  type IndexedBlock,
} from './position'

/**
 * The database to which evm-processor writes the blocks of a chain and the position of the last final block.
 * Each update is one transaction. Its handlers write through a BatchWriter.
 */
export class ChainDatabase implements HotDatabase<BatchWriter> {
  readonly supportsHotBlocks = true

  /** @param holding runs work in a transaction that commits only if this process holds the chain's lease */
  constructor(
    private readonly holding: <T>(work: (query: Query, copy: Copy) => Promise<T>) => Promise<T>,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  connect(): Promise<HotDatabaseState> {
    return this.holding((query) => chainState(query, this.chain))
  }

  /** Rolls back the hot blocks and writes final blocks instead. */
  transact(
    { prevHead, nextHead }: FinalTxInfo,
    write: (writer: BatchWriter) => Promise<void>,
  ): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      assertSame(final, prevHead)
      assert(prevHead.height < nextHead.height)
      if (top.length > 0) await rollBack(query, this.chain, final.height)
      await this.write(query, copy, undefined, write)
      await noteFinal(query, this.chain, nextHead)
    })
  }

  /** Replaces the blocks above `baseHead`. One BatchWriter writes all final blocks, others each hot one. */
  transactHot2(
    { baseHead, newBlocks, finalizedHead }: HotTxInfo,
    write: (writer: BatchWriter, from: number, to: number) => Promise<void>,
  ): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      const before = [final, ...top]
      const base = before.findIndex(({ height }) => height === baseHead.height)
      assertSame(before[base], baseHead)
      const after = [...before.slice(0, base + 1), ...newBlocks]
      after.forEach(({ height }, i) =>
        assert.equal(height, final.height + i, 'blocks must follow each other'),
      )
      assertSame(after[finalizedHead.height - final.height], finalizedHead)

      if (base < top.length) await rollBack(query, this.chain, baseHead.height)
      const firstHot = newBlocks.filter(({ height }) => height <= finalizedHead.height).length
      if (firstHot > 0) await this.write(query, copy, undefined, (writer) => write(writer, 0, firstHot))
      for (let i = firstHot; i < newBlocks.length; i++) {
        await insertHotBlock(query, this.chain, newBlocks[i]!)
        await this.write(query, copy, newBlocks[i]!.height, (writer) => write(writer, i, i + 1))
      }
      await settleHotBlocks(query, this.chain, finalizedHead.height)
      await noteFinal(query, this.chain, finalizedHead)
    })
  }

  transactHot(): Promise<never> {
    return Promise.reject(new Error('the runner calls transactHot2'))
  }

  private async write(
    query: Query,
    copy: Copy,
    hotHeight: number | undefined,
    write: (writer: BatchWriter) => Promise<void>,
  ): Promise<void> {
    const writer = new BatchWriter({ query, copy, hotHeight }, this.chain, this.log)
    await write(writer)
    await writer.written()
  }
}

/** Throws an AssertionError unless the database holds this block where evm-processor expects it. */
function assertSame(stored: HashAndHeight | undefined, expected: HashAndHeight): void {
  assert(
    stored?.height === expected.height && stored.hash === expected.hash,
    `expected block ${expected.height} (${expected.hash}) in the database, found ${stored ? `${stored.height} (${stored.hash})` : 'none'}`,
  )
}

/** A part of a batch, projected and encoded for COPY. */
interface Prepared extends Projection {
  /** Arguments of COPY by table. The event log comes first. */
  copied: readonly Parameters<Copy>[]
}

/** Maximum number of events that are projected at a time, while Postgres writes the previous ones. */
export const EVENTS_PER_WRITE = 1_000

/** The transaction in which a BatchWriter writes. */
interface BatchTarget {
  query: Query
  copy: Copy
  /** Height of the written block if a reorg may still replace it; undefined for final blocks. */
  hotHeight?: number | undefined
}

/**
 * Writes events, and the records and answers projected from them, in parts: while Postgres writes one, the
 * next one is projected. COPY is many times as fast as TypeORM's inserts. Attestations that cannot be stored
 * are isolated (`isolate`) and withheld.
 */
export class BatchWriter {
  /** Numbers of rows written and withheld so far, and milliseconds spent on projection. */
  readonly total = { records: 0, answers: 0, problems: 0, withheld: 0, projectMs: 0 }
  private writing: Promise<unknown> | undefined
  private locked = false

  constructor(
    private readonly target: BatchTarget,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  /** True if no reorg can replace the written blocks. */
  get isFinal(): boolean {
    return this.target.hotHeight === undefined
  }

  /** Accepts events in chain order. Resolves when all but the last EVENTS_PER_WRITE of them are written. */
  async write(events: readonly ChainEvent[], bodies: ReadonlyMap<string, AttestationBody>): Promise<void> {
    requireBodies(events, bodies)
    for (let i = 0; i < events.length; i += EVENTS_PER_WRITE)
      await this.writePart(events.slice(i, i + EVENTS_PER_WRITE), bodies)
  }

  private async writePart(
    events: readonly ChainEvent[],
    bodies: ReadonlyMap<string, AttestationBody>,
  ): Promise<void> {
    let ready: Prepared | ContentError | undefined = this.prepare(events, bodies)
    await this.lock()
    await this.writing
    const writing = isolate(
      this.target.query,
      events,
      async (part) => {
        const prepared = ready ?? this.prepare(part, bodies)
        ready = undefined
        if (prepared instanceof ContentError) throw prepared
        await this.insert(prepared)
      },
      (event, reason) => this.withhold(event, bodies, reason),
    )
    this.writing = writing.then((withheld) => {
      for (const [{ uid }, reason] of withheld)
        this.log.error(
          { chain: this.chain.slug, uid, reason: reason.message.slice(0, 300) },
          'could not store an attestation: it is withheld, and indexing continues',
        )
      this.total.withheld += withheld.length
    })
    this.writing.catch(() => {}) // the await throws the error
  }

  /** Waits until every accepted event is written. Rejects with the error of a failed write. */
  async written(): Promise<void> {
    await this.lock()
    await this.writing
  }

  /** Waits like `written()`, then stores the last block of the batch as the chain's position. */
  async finish(last: IndexedBlock): Promise<void> {
    await this.written()
    await noteIndexed(this.target.query, this.chain, last)
  }

  /** Acquires the chain's lock before the first write, as all transactions do, so that none deadlock. */
  private async lock(): Promise<void> {
    if (this.locked) return
    this.locked = true
    const { query } = this.target
    await lockChain(query, this.chain)
    await limitStatements(query)
    // Final blocks make the hot blocks below them final. The changes of the hot blocks are logged first.
    if (this.isFinal) await settleHotBlocks(query, this.chain, LAST_HEIGHT)
  }

  private prepare(
    events: readonly ChainEvent[],
    bodies: ReadonlyMap<string, AttestationBody>,
  ): Prepared | ContentError {
    const began = performance.now()
    try {
      const projection = project(this.chain.slug, events, bodies, new Date())
      return {
        ...projection,
        copied: [
          copied('attestation_event', projection.events),
          ...PROJECTED_TABLES.map((table) => copied(table, projection.rows[table])),
        ].flat(),
      }
    } catch (error) {
      return new ContentError((error as Error).message)
    } finally {
      this.total.projectMs += performance.now() - began
    }
  }

  private async insert({ copied, events, rows, revocations }: Prepared): Promise<void> {
    for (const each of copied) await this.target.copy(...each)
    for (const table of PROJECTED_TABLES)
      if (revocations[table].length) await this.revoke(table, revocations[table])
    this.total.records += rows.location_record.length
    this.total.answers += rows.answer.length
    this.total.problems += events.filter(({ problem }) => problem).length
  }

  /** Writes an Attested event without its record. A revocation has no content that could fail. */
  private async withhold(
    event: ChainEvent,
    bodies: ReadonlyMap<string, AttestationBody>,
    reason: Error,
  ): Promise<void> {
    if (event.kind === EventKind.REVOKED) throw reason
    const { query, copy } = this.target
    await insertWithheld(query, copy, this.chain, event, bodies.get(event.uid), reason)
  }

  private async revoke(table: ProjectedTable, revocations: readonly Revocation[]): Promise<void> {
    const { query, hotHeight } = this.target
    if (hotHeight !== undefined)
      await saveRevoked(
        query,
        this.chain,
        hotHeight,
        table,
        revocations.map(({ id }) => id),
      )
    await query(
      `UPDATE ${table} AS stored
       SET revoked = true, revocation_time = given.revocation_time, updated_at = given.updated_at
       FROM json_populate_recordset(NULL::${table}, $1) AS given WHERE stored.id = given.id`,
      [JSON.stringify(revocations)],
    )
  }
}

/** Inserts rows into the event log. */
export async function insertEvents(copy: Copy, rows: readonly EventRow[]): Promise<void> {
  for (const each of copied('attestation_event', rows)) await copy(...each)
}

const PROBLEM_CHARACTERS = 300

/**
 * Inserts an Attested event without a record: with its body if Postgres accepts it, otherwise without. Throws
 * if that fails too: the content is then not the cause.
 */
export async function insertWithheld(
  query: Query,
  copy: Copy,
  chain: Chain,
  event: ChainEvent,
  body: AttestationBody | undefined,
  reason: Error,
): Promise<void> {
  const problem = withheldProblem(reason)
  let failure: Error | undefined
  for (const kept of body ? [body, undefined] : [undefined]) {
    failure = await attempt(query, () =>
      insertEvents(copy, [eventRow(chain.slug, event, kept, problem, true)]),
    )
    if (!failure) return
  }
  throw failure!
}

/** Text of the column `problem` of a withheld event. */
export function withheldProblem(reason: Error): string {
  return `it could not be stored: ${reason.message.slice(0, PROBLEM_CHARACTERS)}`
}
