import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Pool, type ClientBase } from 'pg'
import { from } from 'pg-copy-streams'
import type { Chain } from '../../chains'

/** Executes one statement and returns its rows. */
export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>

/** Writes rows, encoded by `copied`, into columns of a table. Throws if Postgres rejects one. */
export type Copy = (table: string, columns: readonly string[], texts: readonly string[]) => Promise<void>

/** Runs work in transactions: a Database, or a Lease, which also checks that it is held. */
export interface Transactions {
  transaction<T>(work: (query: Query, copy: Copy) => Promise<T>): Promise<T>
}

/** Maximum number of connections, low because all those to an embedded database share one session. */
const MAX_CONNECTIONS = 2
/**
 * Limits of each statement. Only the content of a write can make it exceed STATEMENT_SECONDS (57014), while
 * another process causes a wait for a lock (55P03), which `isolate` does not attribute to the content.
 */
const STATEMENT_SECONDS = 30
const LOCK_SECONDS = 10
/**
 * Seconds without a statement after which Postgres ends a transaction. A process that is stopped or cut off
 * would otherwise keep the chain's lock, and the indexer would wait for it. In a transaction of a lease, a
 * batch waits longer for endpoints (lease.ts).
 */
const IDLE_SECONDS = 60

/** A pool of connections. The batches have their own, so that they wait for neither audit nor lease. */
export class Database {
  private readonly pool: Pool

  /**
   * @param onLost called with the error of a connection that broke while idle; the pool replaces the
   *   connection
   * @param onReadOnly called when the server has become read-only because another server was promoted
   * @param idleSeconds maximum number of seconds between two statements of a transaction
   */
  constructor(
    url: string,
    onLost: (error: Error) => void,
    private readonly onReadOnly: (error: Error) => void = () => {},
    max = MAX_CONNECTIONS,
    private readonly idleSeconds = IDLE_SECONDS,
  ) {
    this.pool = new Pool({ connectionString: url, max, connectionTimeoutMillis: 10_000 })
    this.pool.on('error', onLost)
  }

  readonly query: Query = async <Row extends object>(sql: string, values?: unknown[]) => {
    try {
      return (await this.pool.query<Row>(sql, values)).rows
    } catch (error) {
      if ((error as { code?: string }).code === '25006') this.onReadOnly(error as Error)
      throw error
    }
  }

  /**
   * Runs `work` in a transaction. Commits when `work` resolves and rolls back when it rejects. The functions
   * passed to `work` throw once the transaction is over.
   */
  async transaction<T>(work: (query: Query, copy: Copy) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    // The pool does not handle errors of a client that is checked out. The running query rejects anyway.
    let lost: Error | undefined
    const onError = (error: Error) => (lost = error)
    client.on('error', onError)
    let isOver = false
    // A statement that `work` sends after the end would run, and commit, outside the transaction.
    const requireOpen = () => {
      if (isOver) throw new Error('this transaction has ended')
    }
    const query: Query = async <Row extends object>(sql: string, values?: unknown[]) => {
      requireOpen()
      return (await client.query<Row>(sql, values)).rows
    }
    const copy: Copy = async (...given) => {
      requireOpen()
      await copyOver(client)(...given)
    }
    try {
      await client.query(
        `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '${this.idleSeconds}s'`,
      )
      const result = await work(query, copy)
      isOver = true
      await client.query('COMMIT')
      return result
    } catch (error) {
      isOver = true
      await client.query('ROLLBACK').catch((failed: Error) => (lost ??= failed))
      throw error
    } finally {
      client.off('error', onError)
      client.release(lost)
    }
  }

  close(): Promise<void> {
    return this.pool.end()
  }
}

/**
 * Waits for the lock of a chain's rows and holds it until the transaction ends. It serializes batches,
 * repairs and replays. The triggers of location_record acquire the same lock.
 */
export async function lockChain(query: Query, chain: Chain): Promise<void> {
  await query('SELECT pg_advisory_xact_lock(hashtext($1))', [`attestations of ${chain.slug}`])
}

/** Limits the duration of statements and of lock waits until the transaction ends. */
export async function limitStatements(query: Query): Promise<void> {
  await query(
    `SELECT set_config('statement_timeout', '${STATEMENT_SECONDS}s', true),
       set_config('lock_timeout', '${LOCK_SECONDS}s', true)`,
  )
}

/** Returns a function that runs COPY over this connection. */
export function copyOver(client: ClientBase): Copy {
  return async (table, columns, texts) => {
    const names = columns.map((column) => `"${column}"`).join()
    await pipeline(Readable.from(texts), client.query(from(`COPY ${table} (${names}) FROM STDIN`)))
  }
}

// Rows in the text format of COPY (PostgreSQL, "COPY"). It costs Postgres and this process less than half the
// work of an INSERT from JSON.

/** Returns the arguments of COPY for the rows of a table; an empty array if there are no rows. */
export function copied(table: string, rows: readonly object[]): Parameters<Copy>[] {
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
