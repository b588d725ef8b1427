import type { Socket } from 'node:net'
import type { Pool, PoolClient } from 'pg'
import { QueryFault } from './graphql-limits'
import { UnavailableError } from './problems'
import { isOutage, openPool, type DatabaseError } from './store'

/** The schema of views that raw GraphQL shows, and the role that may read them (db/migrations, Graphql). */
export const PUBLISHED_SCHEMA = 'published'
const READER_ROLE = 'published_reader'

/** Connections, and so statements under way, of one process. */
export const READS_AT_ONCE = 4
/** A statement that runs longer is stopped by the database. */
const STATEMENT_TIMEOUT_MS = 3_000
/** Statements of one request together; the last is stopped when this is used up. */
const REQUEST_TIMEOUT_MS = 5_000
/** The longest answer that is taken from the database to one request: a page of 1,000 usual records has 2 MiB. */
const ANSWER_BYTES = 16 * 1_048_576
/** PostGraphile's questions about the views take a second on the embedded database. */
const INTROSPECTION_TIMEOUT_MS = 30_000

/** What PostGraphile asks of its client. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** As whom the views are read: under the role, or as the login itself. */
export type Reader = { readonly role: string | undefined; readonly warning?: string }

/**
 * The published views in the database, for reading only: each request in a read-only transaction under the role
 * `published_reader`, its statements one after another, each stopped by the database after 3 seconds, all of them after 5.
 */
export class PublishedViews {
  private readonly pool: Pool
  private prelude = ''

  /**
   * @param onError told of connections lost while idle
   * @param ownLogin whether the URL is of a login that the operator made for this
   */
  constructor(
    private readonly databaseUrl: string,
    private readonly onError: (error: Error) => void,
    private readonly ownLogin: boolean,
  ) {
    this.pool = this.connections(READS_AT_ONCE, STATEMENT_TIMEOUT_MS)
  }

  private connections(max: number, timeout: number): Pool {
    return openPool(
      {
        connectionString: this.databaseUrl,
        max,
        connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
        statement_timeout: timeout,
        query_timeout: timeout + 1_000,
        application_name: 'graphql',
      },
      this.onError,
    )
  }

  close(): Promise<void> {
    return this.pool.end()
  }

  /** Finds out as whom the views are read; before the first `read`. Throws an UnavailableError that says what is missing. */
  async open(): Promise<Reader> {
    const reader = await this.pool.connect().then(
      (client) => this.readerOf(client).finally(() => client.release()),
      (error: Error) => Promise.reject(unavailable(error)),
    )
    // All of it holds for the transaction only: connections may be shared with others by a pooler.
    // Compiling costs more than it saves, and workers would take the processors from everyone else, as in store.ts.
    this.prelude = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL TimeZone = 'UTC'${reader.role === undefined ? '' : `; SET LOCAL ROLE ${reader.role}`}`
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
        `The views cannot be read under the role ${READER_ROLE} (${asLogin}). docs/graphql.md says what the database's administrator does about it.`,
      )
    if (!superuser && !writes) return { role: undefined }
    return {
      role: undefined,
      warning: `GRAPHQL_DATABASE_URL is of a login that may do more than read, and may not take the role ${READER_ROLE}: only read-only transactions keep it from writing`,
    }
  }

  /** Why these views cannot be read under this role; undefined when they can. */
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

  /** Runs work with a connection that has the time to describe the views. */
  async describe<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    const pool = this.connections(1, INTROSPECTION_TIMEOUT_MS)
    try {
      return await work(pool)
    } finally {
      await pool.end()
    }
  }

  /**
   * Runs work in a read-only transaction; once the signal is aborted, its time is used up, or a statement failed, it gets no further one.
   * Throws a QueryFault for what took too long or gave too much, an UnavailableError when the database does not answer.
   */
  async read<T>(signal: AbortSignal, work: (runner: StatementRunner) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch((error: Error) => Promise.reject(unavailable(error)))
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
    let received = 0
    const count = (chunk: Buffer) => {
      received += chunk.length
      if (received > ANSWER_BYTES) stream.destroy()
    }
    stream.on('data', count)
    // Told of a lost connection beside the statement that fails for it.
    const ignore = () => {}
    client.on('error', ignore)
    let left = REQUEST_TIMEOUT_MS
    let failed = false
    const asked = async (text: string, values?: unknown[]): Promise<{ rows: unknown[] }> => {
      // Postgres answers nothing more in a transaction of which a statement failed.
      if (failed) throw new QueryFault('This was not looked up, as another field of the query failed.')
      if (signal.aborted || left <= 0) throw tooLongTogether()
      const started = performance.now()
      const hurried = left < STATEMENT_TIMEOUT_MS
      try {
        if (hurried) await client.query(`SET LOCAL statement_timeout = ${Math.ceil(left)}`)
        return await client.query(text, values)
      } catch (error) {
        failed = true
        if (hurried && isTimeout(error as DatabaseError)) throw tooLongTogether()
        throw received > ANSWER_BYTES
          ? new QueryFault(
              `The answer would be larger than ${ANSWER_BYTES / 1_048_576} MiB: ask for fewer rows, or fewer of the large fields (geometry, location, memo, mediaData, recipePayloads, data).`,
            )
          : translated(error as DatabaseError)
      } finally {
        left -= performance.now() - started
      }
    }
    let broken = true
    try {
      await asked(this.prelude)
      // One after another: a connection does one thing at a time.
      let last: Promise<unknown> = Promise.resolve()
      const result = await work({
        query: (text, values) => {
          const next = last.then(() => asked(text, values))
          last = next.catch(() => {})
          return next
        },
      })
      await last
      // The answer is there, whatever becomes of the connection.
      broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      )
      return result
    } finally {
      stream.off('data', count)
      client.off('error', ignore)
      // A connection whose transaction did not end in order is not used again.
      client.release(broken)
    }
  }
}

function isTimeout({ code, message }: DatabaseError): boolean {
  return code === '57014' || /query read timeout/i.test(message)
}

function tooLongTogether(): QueryFault {
  return new QueryFault(
    `The request takes longer than ${REQUEST_TIMEOUT_MS / 1000} seconds as a whole: ask for less at once.`,
  )
}

/** What the database said, for the one who asked. */
function translated(error: DatabaseError): Error {
  if (isTimeout(error))
    return new QueryFault(
      `Looking this up takes longer than ${STATEMENT_TIMEOUT_MS / 1000} seconds: narrow it, by chain and uid, prover, subject, attester, a range of time or a bbox.`,
    )
  return isOutage(error) ? unavailable(error) : error
}

function unavailable(cause: Error): UnavailableError {
  return new UnavailableError('The database does not answer right now.', { cause })
}
