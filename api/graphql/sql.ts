import type { Socket } from 'node:net'
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { QueryError } from './limits'
import { UnavailableError } from '../http/problems'
import { cancelStatement, DatabaseServers, type DatabaseError, isOutage, isTimeout, openPool } from '../store'

/** Schema of the views that raw GraphQL shows, and the role that may read them (migration Graphql). */
export const PUBLISHED_SCHEMA = 'published'
const READER_ROLE = 'published_reader'
/** SQL: the views that are complete. A migration writes last the comments that the GraphQL schema needs. */
const COMPLETE_VIEWS = `SELECT FROM pg_class AS view WHERE relkind = 'v' AND relnamespace = to_regnamespace('${PUBLISHED_SCHEMA}')
  AND relname IN ('location_record', 'attestation_event', 'answer') AND obj_description(oid, 'pg_class') IS NOT NULL
  AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = view.oid AND attnum > 0 AND col_description(view.oid, attnum) IS NULL)`

/** Milliseconds after which the database cancels a statement. */
export const STATEMENT_TIMEOUT_MS = 3_000
/** Time limit in milliseconds of all statements of one request together. */
const REQUEST_TIMEOUT_MS = 5_000
/** Bytes that one request may receive from the database: a page of 1,000 typical records has 2 MiB. */
const ANSWER_BYTES = 16 * 1_048_576
/** Milliseconds. PostGraphile's introspection of the views takes a second on the embedded database. */
const INTROSPECTION_TIMEOUT_MS = 30_000

const READS: PoolConfig = {
  // One for each query that runs at once: SLOTS of gateway.ts.
  max: 4,
  connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
  statement_timeout: STATEMENT_TIMEOUT_MS,
  query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
  application_name: 'graphql',
}

/** Part of a Postgres client that PostGraphile uses. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** Role that reads the views; undefined: the login itself. */
export type Reader = { readonly role: string | undefined; readonly warning?: string }

/**
 * Reads the published views. Each request runs in a read-only transaction under the role `published_reader`,
 * one statement after another.
 */
export class PublishedViews {
  private readonly servers: DatabaseServers
  private prelude = ''

  /**
   * @param from database servers of the API, or the URL of a separate login for raw GraphQL
   *   (GRAPHQL_DATABASE_URL) with the servers that it names
   * @param onError receives the error of a connection that was lost while idle
   * @param ownLogin true if the login is a separate one for raw GraphQL
   */
  constructor(
    private readonly from: DatabaseServers | string,
    private readonly onError: (error: Error) => void,
    private readonly ownLogin: boolean,
  ) {
    this.servers = typeof from === 'string' ? new DatabaseServers(from, [], onError) : from
  }

  async close(): Promise<void> {
    if (typeof this.from === 'string') await this.servers.close()
  }

  /**
   * Determines the role that reads the views. Must be called before the first `read`. Throws an
   * UnavailableError that names the missing part.
   */
  async open(): Promise<Reader> {
    const reader = await this.servers.connect(READS).then(
      (client) => this.readerOf(client).finally(() => client.release()),
      (error: Error) => Promise.reject(unavailable(error)),
    )
    // SET LOCAL ends with the transaction, because a pooler may share the connection with others. JIT
    // compilation costs more than it saves. Parallel workers would occupy processors that other requests
    // need.
    this.prelude = `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1${reader.role === undefined ? '' : `; SET LOCAL ROLE ${reader.role}`}`
    return reader
  }

  private async readerOf(client: PoolClient): Promise<Reader> {
    const { rows } = await client.query<{ migrated: boolean; superuser: boolean; writes: boolean }>(
      `SELECT (SELECT count(*) FROM (${COMPLETE_VIEWS}) AS complete) = 3 AS migrated,
         (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
         EXISTS (SELECT FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = to_regnamespace('public') AND has_table_privilege(current_user, oid, 'INSERT, UPDATE, DELETE, TRUNCATE')) AS writes`,
    )
    const { migrated, superuser, writes } = rows[0]!
    if (!migrated) throw new UnavailableError('The database is not migrated yet.')
    const asRole = await this.canRead(client, READER_ROLE)
    if (asRole === undefined) return { role: READER_ROLE }
    const asLogin = this.ownLogin ? await this.canRead(client) : asRole
    if (asLogin !== undefined)
      throw new UnavailableError(
        `The role ${READER_ROLE} cannot read the views (${asLogin}). Ask the database's ` +
          'administrator to set up the role (docs/operations/deploying.md).',
      )
    if (!superuser && !writes) return { role: undefined }
    return {
      role: undefined,
      warning:
        'the login of GRAPHQL_DATABASE_URL may do more than read, and cannot set the role ' +
        `${READER_ROLE}: only read-only transactions prevent writes`,
    }
  }

  /** Returns the reason why this role, or the login, cannot read the views; undefined if it can. */
  private async canRead(client: PoolClient, role?: string): Promise<string | undefined> {
    try {
      await client.query(`BEGIN READ ONLY${role === undefined ? '' : `; SET LOCAL ROLE ${role}`}`)
      await client.query(
        `SELECT FROM ${PUBLISHED_SCHEMA}.location_record, ${PUBLISHED_SCHEMA}.attestation_event LIMIT 0`,
      )
      return undefined
    } catch (error) {
      if (isOutage(error as DatabaseError)) throw unavailable(error as Error)
      return (error as Error).message
    } finally {
      await client.query('ROLLBACK').catch(() => {})
    }
  }

  /** Runs work with a connection whose time limit is long enough for introspection. */
  async describe<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    const config = {
      ...READS,
      max: 1,
      statement_timeout: INTROSPECTION_TIMEOUT_MS,
      query_timeout: INTROSPECTION_TIMEOUT_MS + 1_000,
    }
    const pool = openPool(await this.servers.primaryUrl(), config, this.onError)
    try {
      return await work(pool)
    } finally {
      await pool.end()
    }
  }

  /**
   * Runs work in a read-only transaction. Starts no statement after the signal is aborted, which also cancels
   * the current one, after the time is used up, or after a failure. Throws a QueryError for statements that
   * take too long or return too much, and an UnavailableError if the database does not respond.
   * @param requestMs time of all statements together
   */
  async read<T>(
    signal: AbortSignal,
    work: (runner: StatementRunner) => Promise<T>,
    requestMs = REQUEST_TIMEOUT_MS,
  ): Promise<T> {
    const client = await this.servers
      .begin(READS)
      .catch((error: Error) => Promise.reject(isOutage(error) ? unavailable(error) : error))
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
    let received = 0
    const count = (chunk: Buffer) => {
      received += chunk.length
      if (received > ANSWER_BYTES) stream.destroy()
    }
    stream.on('data', count)
    // When the connection is lost, the current statement fails by itself.
    const ignore = () => {}
    client.on('error', ignore)
    const cancel = () => cancelStatement(client)
    signal.addEventListener('abort', cancel)
    let left = requestMs
    let failed = false
    const run = async (text: string, values?: unknown[]): Promise<{ rows: unknown[] }> => {
      // After a failure, Postgres rejects all further statements of the transaction.
      if (failed) throw new QueryError('This field was not read, because another field of the query failed.')
      if (signal.aborted || left <= 0) throw tooLongTogether(requestMs)
      const started = performance.now()
      const isShortened = left < STATEMENT_TIMEOUT_MS
      try {
        if (isShortened) await client.query(`SET LOCAL statement_timeout = ${Math.ceil(left)}`)
        return await client.query(text, values)
      } catch (error) {
        failed = true
        if (isShortened && isTimeout(error as DatabaseError)) throw tooLongTogether(requestMs)
        throw received > ANSWER_BYTES
          ? new QueryError(
              `The response would be larger than ${ANSWER_BYTES / 1_048_576} MiB. Request fewer rows, or ` +
                'fewer of the large fields (geometry, location, memo, mediaData, recipePayloads, data).',
            )
          : translated(error as DatabaseError)
      } finally {
        left -= performance.now() - started
      }
    }
    let broken = true
    try {
      await run(this.prelude)
      // A connection runs one statement at a time.
      let last: Promise<unknown> = Promise.resolve()
      const result = await work({
        query: (text, values) => {
          const next = last.then(() => run(text, values))
          last = next.catch(() => {})
          return next
        },
      })
      await last
      // The result is complete. If the connection is lost now, the pool only has to remove it.
      broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      )
      return result
    } finally {
      stream.off('data', count)
      client.off('error', ignore)
      signal.removeEventListener('abort', cancel)
      // A connection whose transaction was not rolled back, or that may still be cancelled, is not reused.
      client.release(broken || signal.aborted)
    }
  }
}

function tooLongTogether(requestMs: number): QueryError {
  return new QueryError(
    `The request takes longer than ${requestMs / 1000} seconds in total. Request fewer fields or rows.`,
  )
}

function translated(error: DatabaseError): Error {
  if (isTimeout(error))
    return new QueryError(
      `Reading this field takes longer than ${STATEMENT_TIMEOUT_MS / 1000} seconds. Narrow it by ` +
        'chain and uid, prover, subject, attester, a time range or a bbox.',
    )
  return isOutage(error) ? unavailable(error) : error
}

export function unavailable(cause: Error): UnavailableError {
  return new UnavailableError('The database does not respond.', { cause })
}
