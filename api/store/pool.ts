import { Connection, Pool, type PoolClient, type PoolConfig } from 'pg'

/** A statement that runs longer is stopped by the database. */
export const STATEMENT_TIMEOUT_MS = 5_000

/**
 * A pool of connections; a lost connection does not end the process.
 * @param onError gets the errors of idle connections, which the pool replaces
 */
export function openPool(config: PoolConfig, onError: (error: Error) => void): Pool {
  const pool = new Pool(config)
  pool.on('error', onError)
  // Without this listener, a connection that ends during its hand-over would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Connections for the API's own statements, `max` to each server. ops/pgbouncer.ini sets the same. */
export function apiConnections(max: number, options: PoolConfig): PoolConfig {
  return {
    max,
    connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
    application_name: 'api',
    // Every query stops early or uses an index, which the planner cannot know of counts: JIT took 60 ms
    // a query, starting workers as long. Two indexes together make bitmaps beyond the usual 4 MB.
    options: '-c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=16MB',
    ...options,
  }
}

/**
 * Begins a read-only transaction of one snapshot on a connection of the pool.
 * @param more SQL that is run in it at once, after a semicolon
 * @returns the connection, the first row of the last statement, and what ends the transaction
 */
export async function beginReading(pool: Pool, more: string) {
  const client = await pool.connect()
  const discard = async () => {
    const failed = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    )
    client.release(failed)
  }
  try {
    // One result for each statement, or the only one.
    const results: unknown = await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${more}`)
    const last = [results].flat().at(-1) as { rows: unknown[] } | undefined
    return { client, last: last?.rows[0], discard }
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * Asks the server to cancel the statement of a connection, by the message of the protocol for it, which
 * PgBouncer passes on. If that fails, the statement ends by its timeout.
 */
export function cancelStatement(client: PoolClient): void {
  // @types/pg leaves these out.
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

/** As pg throws them, with Postgres' code. */
export interface DatabaseError extends Error {
  code?: string
}

/** Whether the statement was stopped by statement_timeout, or by pg's own timer for it. */
export function isTimeout({ code, message }: DatabaseError): boolean {
  return code === '57014' || message === 'Query read timeout'
}

/** Whether the database itself gave a statement up, for its time or its size: another one may get there. */
export function isGivenUp({ code }: DatabaseError): boolean {
  return code === '57014' || code === '54000'
}

/**
 * Whether the database is out of reach: connection lost or refused (08..., 28...: login refused, 3D...: no
 * such database), shutting down (57P..), too many clients (53...), a statement stopped for its time (57014).
 */
export function isOutage({ code, message }: DatabaseError): boolean {
  if (code) return /^(08|28|3D|53|57)/.test(code) || /^E[A-Z]+$/.test(code)
  return /timeout|terminated|not queryable/i.test(message)
}

/**
 * Whether another server may do what this one did not: it is out of reach, hangs, takes no writes any more
 * (25006), or stopped the statement for what it replays of its primary (40001). Not: the statement takes too
 * long, or waits too long for a connection of ours.
 */
export function isLost(error: DatabaseError): boolean {
  const { code, message } = error
  if (code === '25006' || code === '40001') return true
  return code !== '57014' && !/when trying to connect/.test(message) && isOutage(error)
}

/** The server follows another one now. */
export class StandbyError extends Error implements DatabaseError {
  readonly code = '25006'
}
