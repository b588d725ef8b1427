import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Pool, type ClientBase } from 'pg'
import { from } from 'pg-copy-streams'
import type { Chain } from '../../chains'

/** Executes one statement and returns its rows. */
export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>

/** Writes rows, encoded by `copyTexts`, into columns of a table. Throws if Postgres rejects one. */
export type Copy = (table: string, columns: readonly string[], texts: readonly string[]) => Promise<void>

/** Runs work in transactions: a Database, or a Lease, which also checks that it is held. */
export interface Transactions {
  transaction<T>(work: (query: Query, copy: Copy) => Promise<T>): Promise<T>
}

/** Maximum number of connections, low because all those to an embedded database share one session. */
const MAX_CONNECTIONS = 2
/**
 * Limits of each statement. Only the content of a write can make it exceed STATEMENT_SECONDS (57014), while
 * another process causes a wait for a lock (55P03), which isolate.ts does not attribute to the content.
 */
const STATEMENT_SECONDS = 30
const LOCK_SECONDS = 10
/**
 * Seconds without a statement after which Postgres ends a transaction. A process that is stopped or cut off
 * would otherwise keep the chain's lock, and the indexer would wait for it. In a transaction of a lease, a
 * batch waits longer for endpoints (holdWriter).
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
