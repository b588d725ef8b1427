import type { Logger } from '@subsquid/logger'
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
import { limitStatements, lockChain, type Copy, type Query } from './connection'
import { noteIndexed, saveRevoked, settleHotBlocks, type IndexedBlock, type UpdateTarget } from './position'

/** A part of a batch, projected and encoded for COPY. */
interface Prepared extends Projection {
  /** Arguments of COPY by table. The event log comes first. */
  copied: readonly Parameters<Copy>[]
}

/** Maximum number of events that are projected at a time, while Postgres writes the previous ones. */
export const EVENTS_PER_WRITE = 1_000

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
    private readonly target: UpdateTarget,
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

// Rows in the text format of COPY (PostgreSQL, "COPY"). It costs Postgres and this process less than half the
// work of an INSERT from JSON.

/** Returns the arguments of COPY for the rows of a table; an empty array if there are no rows. */
function copied(table: string, rows: readonly object[]): Parameters<Copy>[] {
  if (rows.length === 0) return []
  const columns = Object.keys(rows[0]!)
  return [[table, columns, copyTexts(rows, columns)]]
}

/** Approximate number of characters per text, far below JavaScript's limit of half a billion. */
const TEXT_LENGTH = 1_000_000

/** Encodes these columns of the rows as texts, each of which consists of whole lines. */
export function copyTexts(rows: readonly object[], columns: readonly string[]): string[] {
  const texts: string[] = []
  let text = ''
  for (const row of rows) {
    for (let i = 0; i < columns.length; i++) {
      if (i > 0) text += '\t'
      text += valueText((row as Record<string, unknown>)[columns[i]!])
    }
    text += '\n'
    if (text.length < TEXT_LENGTH) continue
    texts.push(text)
    text = ''
  }
  if (text) texts.push(text)
  return texts
}

/** Encodes a value for COPY: a text, number, boolean, time, byte string, list of texts, or JSON. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return escaped(value)
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`
  if (Array.isArray(value)) return value.length ? escaped(listText(value as string[])) : '{}'
  return escaped(JSON.stringify(value))
}

/** Encodes a list of texts as an array literal (PostgreSQL, "Array Input and Output Syntax"). */
function listText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`
}

const SPECIAL = /[\\\n\r\t]/
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (special) => ESCAPES[special]!) : text
}

// Poison isolation: an attestation whose content cannot be stored must not stop its batch (docs/spec/trust.md
// 5). Items are written together. If that fails, they are written in halves, down to the single item that
// fails. An outage of the database is never mistaken for poison: its error is thrown.

/** Error of a step without I/O, such as a projection, whose only possible cause is the content. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
}

/**
 * Runs `work` on all items. If their content makes it fail, runs it on halves of them, in order.
 *
 * A single item that fails is passed to `withhold`, which writes it without its content. If the database
 * accepts that, it works: the write is undone and the item tried once more, and only then withheld. If
 * `withhold` fails too, the content is not the cause, and the error is thrown.
 *
 * Returns the withheld items with the reasons. Must run within a transaction, for its savepoints.
 */
export async function isolate<T>(
  query: Query,
  items: readonly T[],
  work: (items: readonly T[]) => Promise<void>,
  withhold: (item: T, reason: Error) => Promise<void>,
): Promise<[item: T, reason: Error][]> {
  if (items.length === 0) return []
  const failure = await attempt(query, () => work(items))
  if (!failure) return []
  if (items.length > 1) {
    const half = Math.ceil(items.length / 2)
    const first = await isolate(query, items.slice(0, half), work, withhold)
    return [...first, ...(await isolate(query, items.slice(half), work, withhold))]
  }
  const item = items[0]!
  await query('SAVEPOINT control')
  await withhold(item, failure)
  await query('ROLLBACK TO SAVEPOINT control')
  await query('RELEASE SAVEPOINT control')
  const again = await attempt(query, () => work(items))
  if (!again) return []
  await withhold(item, again)
  return [[item, again]]
}

/** Runs `work` in a savepoint. If its content makes it fail, undoes it and returns the error. */
export async function attempt(query: Query, work: () => Promise<void>): Promise<Error | undefined> {
  await query('SAVEPOINT content')
  try {
    await work()
  } catch (error) {
    if (!isOfContent(error as Error)) throw error
    await query('ROLLBACK TO SAVEPOINT content')
    await query('RELEASE SAVEPOINT content')
    return error as Error
  }
  await query('RELEASE SAVEPOINT content')
  return undefined
}

/**
 * SQLSTATE classes and states (PostgreSQL, appendix A) that content can cause.
 *
 * Classes: cardinality, data, constraints, raised exceptions, external routines, checks of views, program
 * limits (oversized index entries, stack depth) and unsupported features. States: out of memory, a statement
 * canceled by its timeout, and internal errors, as which PostGIS reports its own.
 *
 * Not included, because they affect every statement: connections (08), locks and deadlocks (40, 55), missing
 * tables and privileges (42), other resources (53), shutdown (57) and disks (58).
 */
const CONTENT_CLASSES = new Set(['0A', '21', '22', '23', '38', '39', '44', '54', 'P0'])
const CONTENT_STATES = new Set(['53200', '57014', 'XX000'])

function isOfContent(error: Error): boolean {
  // A RangeError means that a string would exceed JavaScript's maximum length.
  if (error instanceof ContentError || error instanceof RangeError) return true
  const { code } = error as { code?: unknown }
  return (
    typeof code === 'string' &&
    code.length === 5 &&
    (CONTENT_CLASSES.has(code.slice(0, 2)) || CONTENT_STATES.has(code))
  )
}
