import { Connection, Pool, type PoolClient, type PoolConfig } from 'pg'
import { isUnmigrated, sessionsAt } from '../../src/postgres'
import { TooExpensiveError, UnavailableError } from '../http/problems'

/** Milliseconds after which the database cancels a statement. */
export const STATEMENT_TIMEOUT_MS = 5_000

/**
 * Opens a pool of connections to a server. A lost connection does not end the process.
 * @param onError receives the errors of idle connections, which the pool replaces
 */
export function openPool(url: string, config: PoolConfig, onError: (error: Error) => void): Pool {
  const pool = new Pool({ ...config, ...sessionsAt(url, config.options) })
  pool.on('error', onError)
  // Without this listener, a connection that ends while the pool hands it over would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * Settings for connections that run the API's own statements, at most `max` to each server. ops/pgbouncer.ini
 * has the same settings.
 */
export function apiConnections(max: number, options: PoolConfig): PoolConfig {
  return {
    max,
    connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
    application_name: 'api',
    // Every query stops early or uses an index, but the planner cannot know this for counts. JIT took 60 ms
    // per query, and starting parallel workers as long. A bitmap of two indexes exceeds the default work_mem
    // of 4 MB.
    options: '-c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=16MB',
    ...options,
  }
}

/**
 * Begins a read-only transaction of one snapshot on a connection of the pool.
 * @param more SQL appended to BEGIN, after a semicolon
 * @returns the connection, the first row of the last statement, and a function that ends the transaction,
 *   which callers may call again
 */
export async function beginReading(pool: Pool, more: string) {
  const client = await pool.connect()
  let ended: Promise<void> | undefined
  const discard = () =>
    (ended ??= client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    ))
  try {
    // For several statements, pg returns an array of results. For one statement, it returns a single result.
    const results: unknown = await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${more}`)
    const last = [results].flat().at(-1) as { rows: unknown[] } | undefined
    return { client, last: last?.rows[0], discard }
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * Asks the server to cancel the statement of a connection, with the protocol's cancel request, which
 * PgBouncer forwards. If this fails, the statement ends by its timeout.
 */
export function cancelStatement(client: PoolClient): void {
  // Fields that @types/pg omits.
  const { host, port, ssl, processID, secretKey } = client as PoolClient & Session
  if (processID === null) return
  const connection = new Connection({ ssl }) as Connection & CancelConnection
  const cancel = () => connection.cancel(processID, secretKey)
  connection.on('error', () => {})
  connection.once('connect', () => (ssl ? connection.requestSsl() : cancel()))
  connection.once('sslconnect', cancel)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
  else connection.connect(port, host)
}
interface Session {
  host: string
  port: number
  ssl: unknown
  processID: number | null
  secretKey: number
}
interface CancelConnection {
  requestSsl(): void
  connect(port: number | string, host?: string): void
  cancel(processID: number, secretKey: number): void
}

/** Error as pg throws it, with the SQLSTATE code, and the function of Postgres that reported the error. */
export interface DatabaseError extends Error {
  code?: string
  routine?: string
}

/**
 * True if statement_timeout stopped the statement. False if an operator cancelled it, or if the database did
 * not respond before pg's own query timer. The server may translate the message of statement_timeout.
 */
export function isTimeout({ code, message }: DatabaseError): boolean {
  return code === '57014' && !/user request|authentication/i.test(message)
}

/**
 * True if the database aborted the statement for its time or its size. Another statement may still succeed.
 */
export function isGivenUp({ code }: DatabaseError): boolean {
  return code === '57014' || code === '54000'
}

/**
 * True if the database is unavailable: connection lost or refused (08...), transaction ended by a time limit
 * of the role (25P03, 25P04), login refused (28...), database missing (3D...), statement ended by replayed
 * changes or a deadlock (40...), out of resources such as connections (53...), a lock not acquired within
 * lock_timeout (55P03), shutting down or statement cancelled (57...), disk failed (58...). PgBouncer reports
 * its own failures as protocol violations (08P01). If Postgres reports one when it binds parameters, the
 * statement has too many of them.
 */
export function isOutage({ code, message, routine }: DatabaseError): boolean {
  if (code === '08P01') return routine !== 'exec_bind_message'
  if (code) return /^(08|25P0[34]|28|3D|40|53|55P03|57|58)/.test(code) || /^E[A-Z]+$/.test(code)
  return /timeout|terminated|not queryable/i.test(message)
}

/**
 * True if another server may succeed where this one failed: this one is unreachable, hangs, has become
 * read-only (25006), or cancelled the statement because of replayed changes (40001). False if the statement
 * exceeded a time limit, waited too long for a connection of our pool, ended by a deadlock, or needs a
 * library that is not installed.
 */
export function isLost(error: DatabaseError): boolean {
  const { code = '', message } = error
  if (code === READ_ONLY) return true
  return !OF_STATEMENT.includes(code) && !/when trying to connect/.test(message) && isOutage(error)
}

/** Outages of one statement, after which the server still responds to others. */
const OF_STATEMENT = ['25P03', '25P04', '40P01', '55P03', '57014', '58P01']

/** State of a statement that would write on a server that accepts no writes. */
const READ_ONLY = '25006'

/** Error for a server that has become a standby and is no longer the primary. */
export class StandbyError extends Error implements DatabaseError {
  readonly code = READ_ONLY
}

/** Remedy for a statement of fixed cost: only a retry can succeed. */
export const RETRY = ''

/**
 * Returns the error that clients see: an UnavailableError for outages of the database, a TooExpensiveError
 * for statements that timed out; otherwise the error itself.
 * @param heavy true if clients can make the statement slow
 * @param remedy for clients whose statement timed out; it must fit the parameters that they can change
 * @param isMigrated true if the database is known to have all migrations
 */
export function shownError(
  error: DatabaseError,
  heavy: boolean,
  remedy = 'Narrow it by chain, prover, a shorter time range or a smaller bbox, or sort by timestamp.',
  isMigrated = false,
): Error {
  const unavailable = (reason: string) => new UnavailableError(reason, { cause: error })
  if (heavy && isTimeout(error)) {
    const problem = `The database query took more than ${STATEMENT_TIMEOUT_MS / 1000} seconds.`
    return remedy === RETRY
      ? unavailable(problem)
      : new TooExpensiveError(`${problem} ${remedy}`, { cause: error })
  }
  if (isUnmigrated(error, isMigrated)) return unavailable('The database is not migrated yet.')
  if (error.code === READ_ONLY) return unavailable('The database accepts no writes.')
  if (isOutage(error)) return unavailable('The database does not respond.')
  return error
}
