import type { Logger } from '@subsquid/logger'
import type { Store } from '@subsquid/typeorm-store'
import type { ClientBase } from 'pg'
import type { Chain } from '../../chains'
import { Answer, AttestationEvent, EventKind, LocationRecord } from '../../model'
import type { AttestationBody } from '../calls'
import { ContentError, isolate } from '../isolate'
import {
  project,
  PROJECTED_TABLES,
  requireBodies,
  type ChainEvent,
  type ProjectedTable,
  type Projection,
  type Revocation,
} from '../project'
import { limitStatements, lockChain, type Query } from './connection'
import { copyOver, copyTexts, type Copy } from './copy'
import { settleHotBlocks } from './final'
import { insertWithheld } from './log'
import { noteIndexed, type IndexedBlock } from './status'

/** Records whose old state one statement saves for a rollback: the largest take 25 MB each. */
const TRACKED_AT_ONCE = 10
/** The greatest integer of Postgres, above every block number. */
const LAST_HEIGHT = 2 ** 31 - 1

/** Private parts of typeorm-store 1.5.1: test/indexer.system.test.ts rolls back what is written here. */
interface StoreParts {
  em(): {
    query<Row>(sql: string, values?: unknown[]): Promise<Row[]>
    /** Its connection, which is that of the transaction. */
    queryRunner: { connect(): Promise<ClientBase> }
  }
  /** Saves what a rollback restores; absent while blocks are final. */
  changes?: {
    trackInsert(type: Entity, rows: { id: string }[]): Promise<void>
    trackUpsert(type: Entity, rows: { id: string }[]): Promise<void>
  }
}
type Entity = typeof AttestationEvent | typeof LocationRecord | typeof Answer
const ENTITIES: Readonly<Record<ProjectedTable, Entity>> = { location_record: LocationRecord, answer: Answer }

/** Rows of a table, ready to be sent. */
interface Copied {
  type: Entity
  table: string
  columns: readonly string[]
  rows: readonly { id: string }[]
  texts: readonly string[]
}

/** A part of a batch, ready to be sent. */
interface Prepared extends Projection {
  /** The log first. */
  copied: readonly Copied[]
}

/**
 * Writes events and what follows from them into a transaction, that of evm-processor's store or another, in
 * parts: while Postgres writes one, the next is projected. A set of rows is one COPY, many times as fast as
 * TypeORM's inserts; as these do, it first tells the store's tracker of changes what may be rolled back. What
 * cannot be stored is isolated (isolate.ts) and withheld.
 */
export class BatchWriter {
  /** Of all that was written. */
  readonly total = { records: 0, answers: 0, problems: 0, withheld: 0, projectMs: 0 }
  private writing: Promise<unknown> | undefined
  private locked = false
  private readonly query: Query
  private readonly copy: Copy
  private readonly changes: StoreParts['changes'] = undefined

  /** @param target evm-processor's store; or a transaction that writes final blocks */
  constructor(
    target: Store | { query: Query; copy: Copy },
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {
    if ('copy' in target) ({ query: this.query, copy: this.copy } = target)
    else {
      const parts = target as unknown as StoreParts
      this.query = (sql, values) => parts.em().query(sql, values)
      this.copy = async (...given) => copyOver(await parts.em().queryRunner.connect())(...given)
      this.changes = parts.changes
    }
  }

  /** Takes events in chain order. Resolves once the earlier ones are written and these are under way. */
  async write(events: readonly ChainEvent[], bodies: ReadonlyMap<string, AttestationBody>): Promise<void> {
    requireBodies(events, bodies)
    let ready: Prepared | ContentError | undefined = this.prepare(events, bodies)
    await this.lock()
    await this.writing
    const writing = isolate(
      this.query,
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
          'an attestation could not be stored: it is withheld, all else goes on',
        )
      this.total.withheld += withheld.length
    })
    this.writing.catch(() => {}) // thrown where it is awaited
  }

  /** Waits until all is written. */
  async written(): Promise<void> {
    await this.lock()
    await this.writing
  }

  /** Like `written`; and notes the last block. */
  async finish(last: IndexedBlock): Promise<void> {
    await this.written()
    await noteIndexed(this.query, this.chain, last)
  }

  /** Taken before anything is written, as in every other transaction of ours: so none can deadlock. */
  private async lock(): Promise<void> {
    if (this.locked) return
    this.locked = true
    await lockChain(this.query, this.chain)
    await limitStatements(this.query)
    // Blocks that are written as final ones make the hot ones below them final: those are told of first.
    if (!this.changes) await settleHotBlocks(this.query, this.chain, LAST_HEIGHT)
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
          copied(AttestationEvent, 'attestation_event', projection.events),
          ...PROJECTED_TABLES.map((table) => copied(ENTITIES[table], table, projection.rows[table])),
        ].flat(),
      }
    } catch (error) {
      return new ContentError((error as Error).message)
    } finally {
      this.total.projectMs += performance.now() - began
    }
  }

  private async insert({ copied, events, rows, revocations }: Prepared): Promise<void> {
    for (const each of copied) {
      await this.changes?.trackInsert(each.type, [...each.rows])
      await this.copy(each.table, each.columns, each.texts)
    }
    for (const table of PROJECTED_TABLES)
      if (revocations[table].length) await this.revoke(table, revocations[table])
    this.total.records += rows.location_record.length
    this.total.answers += rows.answer.length
    this.total.problems += events.filter(({ problem }) => problem).length
  }

  /** Writes an Attested without its record. A revocation has no content that could fail. */
  private async withhold(
    event: ChainEvent,
    bodies: ReadonlyMap<string, AttestationBody>,
    reason: Error,
  ): Promise<void> {
    if (event.kind === EventKind.REVOKED) throw reason
    await insertWithheld(
      this.query,
      this.copy,
      this.chain,
      event,
      bodies.get(event.uid),
      reason,
      async (row) => this.changes?.trackInsert(AttestationEvent, [row]),
    )
  }

  private async revoke(table: ProjectedTable, revocations: readonly Revocation[]): Promise<void> {
    const known = await this.query<{ id: string }>(`SELECT id FROM ${table} WHERE id = ANY($1)`, [
      revocations.map(({ id }) => id),
    ])
    if (known.length === 0) return
    if (this.changes)
      for (let i = 0; i < known.length; i += TRACKED_AT_ONCE)
        await this.changes.trackUpsert(ENTITIES[table], known.slice(i, i + TRACKED_AT_ONCE))
    await this.query(
      `UPDATE ${table} AS stored
       SET revoked = true, revocation_time = given.revocation_time, updated_at = given.updated_at
       FROM json_populate_recordset(NULL::${table}, $1) AS given WHERE stored.id = given.id`,
      [JSON.stringify(revocations)],
    )
  }
}

/** The rows of a table, if there are any. */
function copied(type: Entity, table: string, rows: readonly { id: string }[]): Copied[] {
  if (rows.length === 0) return []
  const columns = Object.keys(rows[0]!)
  return [{ type, table, columns, rows, texts: copyTexts(rows, columns) }]
}

/** Whether the blocks of this store's batch are final. */
export function isFinal(store: Store): boolean {
  return (store as unknown as StoreParts).changes === undefined
}
