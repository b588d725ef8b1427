import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Pool, type ClientBase } from 'pg'
import { from } from 'pg-copy-streams'
import type { Chain } from '../../chains'

/** Runs one statement and answers its rows. */
export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>

/** Writes rows, as `copyTexts` returns them, into columns of a table. Throws what Postgres refuses. */
export type Copy = (table: string, columns: readonly string[], texts: readonly string[]) => Promise<void>

/** Runs work in a transaction: a Database, or one that requires a lease. */
export interface Transactions {
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>
}

/** Few: an embedded database has one session for all. */
const MAX_CONNECTIONS = 2
/**
 * Only the content of a write can make it take so long: it is then cancelled (57014, which isolate.ts counts
 * as an error of the content). Waiting for a lock ends before that (55P03, which it does not): another
 * process holds the table.
 */
const STATEMENT_SECONDS = 30
const LOCK_SECONDS = 10

/** Connections. The batches have a Database of their own, and never wait for the audit or the lease. */
export class Database {
  private readonly pool: Pool

  /**
   * @param onLost is told of connections that broke while idle; the pool replaces them
   * @param onReadOnly is told when the server takes no writes any more: another one was promoted
   */
  constructor(
    url: string,
    onLost: (error: Error) => void,
    private readonly onReadOnly: (error: Error) => void = () => {},
    max = MAX_CONNECTIONS,
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
   * Runs `work` in a transaction: commits when it resolves, rolls back when it throws. From then on its query
   * and its copy throw.
   */
  async transaction<T>(work: (query: Query, copy: Copy) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    // The pool does not listen to a client that is checked out; the query under way fails by itself.
    let lost: Error | undefined
    const onError = (error: Error) => (lost = error)
    client.on('error', onError)
    let isOver = false
    // What `work` left under way would be committed by itself.
    const requireOpen = () => {
      if (isOver) throw new Error('this transaction is over')
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
      await client.query('BEGIN')
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
 * Waits for the lock of a chain's rows and holds it until the transaction ends: batches, repairs and replays
 * write one at a time. The triggers of location_record take the same lock.
 */
export async function lockChain(query: Query, chain: Chain): Promise<void> {
  await query('SELECT pg_advisory_xact_lock(hashtext($1))', [`attestations of ${chain.slug}`])
}

/** Limits how long statements run and wait for locks, until the transaction ends. */
export async function limitStatements(query: Query): Promise<void> {
  await query(
    `SELECT set_config('statement_timeout', '${STATEMENT_SECONDS}s', true),
       set_config('lock_timeout', '${LOCK_SECONDS}s', true)`,
  )
}

/** COPY over a connection. */
export function copyOver(client: ClientBase): Copy {
  return async (table, columns, texts) => {
    const names = columns.map((column) => `"${column}"`).join()
    await pipeline(Readable.from(texts), client.query(from(`COPY ${table} (${names}) FROM STDIN`)))
  }
}
