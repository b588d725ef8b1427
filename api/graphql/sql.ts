import type { Socket } from 'node:net'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { QueryError } from './limits'
import { UnavailableError } from '../http/problems'
import { cancelStatement, DatabaseServers, type DatabaseError, isOutage } from '../store'

/** The schema of the views that raw GraphQL shows, and the role that may read them (migration Graphql). */
export const PUBLISHED_SCHEMA = 'published'
const READER_ROLE = 'published_reader'

/** Connections of one process, and so statements that run at once. */
const READS_AT_ONCE = 4
/** The database cancels a statement that runs longer. */
const STATEMENT_TIMEOUT_MS = 3_000
/** Time limit of all statements of one request together. */
const REQUEST_TIMEOUT_MS = 5_000
/** Bytes that one request may receive from the database: a page of 1,000 usual records has 2 MiB. */
const ANSWER_BYTES = 16 * 1_048_576
/** PostGraphile's introspection of the views takes a second on the embedded database. */
const INTROSPECTION_TIMEOUT_MS = 30_000

const READS: PoolConfig = {
  max: READS_AT_ONCE,
  connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
  statement_timeout: STATEMENT_TIMEOUT_MS,
  query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
  application_name: 'graphql',
}

/** The part of a Postgres client that PostGraphile uses. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The role that the views are read as; undefined: the login itself. */
export type Reader = { readonly role: string | undefined; readonly warning?: string }

/**
 * Reads the published views: each request in a read-only transaction under the role `published_reader`, its
 * statements one after another. The database cancels each after 3 seconds, all of them together after 5.
 */
export class PublishedViews {
  private readonly servers: DatabaseServers
  private prelude = ''

  /**
   * @param from the database servers of the API; or the URL of a login of its own for raw GraphQL
   *   (GRAPHQL_DATABASE_URL), which is asked where it leads
   * @param onError receives the error of a connection that was lost while idle
   * @param ownLogin whether it is a login of its own
   */
  constructor(
    private readonly from: DatabaseServers | string,
    onError: (error: Error) => void,
    private readonly ownLogin: boolean,
  ) {
    this.servers = typeof from === 'string' ? new DatabaseServers(from, [], onError) : from
  }

  async close(): Promise<void> {
    if (typeof this.from === 'string') await this.servers.close()
  }

  /**
   * Finds out which role the views are read as. Call it before the first `read`. Throws an UnavailableError
   * that says what is missing.
   */
  async open(): Promise<Reader> {
    const reader = await this.servers.connect(READS).then(
      (client) => this.readerOf(client).finally(() => client.release()),
      (error: Error) => Promise.reject(unavailable(error)),
    )
    // SET LOCAL ends with the transaction: a pooler may share the connection with others. JIT compilation
    // costs more than it saves; parallel workers would take the processors from other requests.
    this.prelude = `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL TimeZone = 'UTC'${reader.role === undefined ? '' : `; SET LOCAL ROLE ${reader.role}`}`
    return reader
  }

  private async readerOf(client: PoolClient): Promise<Reader> {
    const { rows } = await client.query<{ migrated: boolean; superuser: boolean; writes: boolean }>(
      `SELECT (SELECT count(*) FROM pg_class WHERE relkind = 'v' AND relnamespace = to_regnamespace('${PUBLISHED_SCHEMA}') AND relname IN ('location_record', 'attestation_event')) = 2 AS migrated,
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
        `The views cannot be read under the role ${READER_ROLE} (${asLogin}). docs/operations/deploying.md says what the database's administrator does about it.`,
      )
    if (!superuser && !writes) return { role: undefined }
    return {
      role: undefined,
      warning: `GRAPHQL_DATABASE_URL is of a login that may do more than read, and may not take the role ${READER_ROLE}: only read-only transactions keep it from writing`,
    }
  }

  /** Why the views cannot be read under this role, or as the login; undefined if they can. */
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
    const pool = new Pool({
      ...READS,
      connectionString: await this.servers.primaryUrl(),
      max: 1,
      statement_timeout: INTROSPECTION_TIMEOUT_MS,
      query_timeout: INTROSPECTION_TIMEOUT_MS + 1_000,
    })
    try {
      return await work(pool)
    } finally {
      await pool.end()
    }
  }

  /**
   * Runs work in a read-only transaction. The statement under way is cancelled when the signal is aborted,
   * and none starts after that, after the time is used up, or after a statement has failed. Throws a
   * QueryError for statements that take too long or answer too much, an UnavailableError when the database
   * does not answer.
   */
  async read<T>(signal: AbortSignal, work: (runner: StatementRunner) => Promise<T>): Promise<T> {
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
    // The statement under way fails by itself when the connection is lost.
    const ignore = () => {}
    client.on('error', ignore)
    const cancel = () => cancelStatement(client)
    signal.addEventListener('abort', cancel)
    let left = REQUEST_TIMEOUT_MS
    let failed = false
    const run = async (text: string, values?: unknown[]): Promise<{ rows: unknown[] }> => {
      // After a failure Postgres refuses all further statements of the transaction.
      if (failed) throw new QueryError('This was not looked up, as another field of the query failed.')
      if (signal.aborted || left <= 0) throw tooLongTogether()
      const started = performance.now()
      const isShortened = left < STATEMENT_TIMEOUT_MS
      try {
        if (isShortened) await client.query(`SET LOCAL statement_timeout = ${Math.ceil(left)}`)
        return await client.query(text, values)
      } catch (error) {
        failed = true
        if (isShortened && isTimeout(error as DatabaseError)) throw tooLongTogether()
        throw received > ANSWER_BYTES
          ? new QueryError(
              `The answer would be larger than ${ANSWER_BYTES / 1_048_576} MiB: ask for fewer rows, or fewer of the large fields (geometry, location, memo, mediaData, recipePayloads, data).`,
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
      // The result is complete: a connection that is lost now only leaves the pool.
      broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      )
      return result
    } finally {
      stream.off('data', count)
      client.off('error', ignore)
      signal.removeEventListener('abort', cancel)
      // A connection whose transaction was not rolled back is not used again; nor one that may be cancelled.
      client.release(broken || signal.aborted)
    }
  }
}

function isTimeout({ code, message }: DatabaseError): boolean {
  return code === '57014' || /query read timeout/i.test(message)
}

function tooLongTogether(): QueryError {
  return new QueryError(
    `The request takes longer than ${REQUEST_TIMEOUT_MS / 1000} seconds as a whole: ask for less at once.`,
  )
}

/** The database's error as an error of ours. */
function translated(error: DatabaseError): Error {
  if (isTimeout(error))
    return new QueryError(
      `Looking this up takes longer than ${STATEMENT_TIMEOUT_MS / 1000} seconds: narrow it, by chain and uid, prover, subject, attester, a range of time or a bbox.`,
    )
  return isOutage(error) ? unavailable(error) : error
}

function unavailable(cause: Error): UnavailableError {
  return new UnavailableError('The database does not answer right now.', { cause })
}
