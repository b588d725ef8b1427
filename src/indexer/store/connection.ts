import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '@subsquid/logger'
import { DatabaseError, Pool, type ClientBase } from 'pg'
import { from } from 'pg-copy-streams'
import type { Chain } from '../../chains'
import { sessionsAt } from '../../postgres'
import { READING } from '../project'

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
 * batch waits longer for endpoints (Lease).
 */
const IDLE_SECONDS = 60

/** A pool of connections. The batches have their own, so that they wait for neither audit nor lease. */
export class Database {
  private readonly pool: Pool
  private readonly sockets = new Set<Socket>()

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
    const stream = () => {
      const socket = new Socket()
      this.sockets.add(socket)
      return socket.once('close', () => this.sockets.delete(socket))
    }
    this.pool = new Pool({ ...sessionsAt(url), max, connectionTimeoutMillis: 10_000, stream })
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

  /** Closes all connections at once. Statements reject, which would otherwise wait for a silent server. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy()
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

/** Seconds without a renewal after which a writer may be replaced. */
const LEASE_SECONDS = 6
const RENEW_EVERY_MS = 1_500
/**
 * Number of renewals without a response after which the database is unreachable: five minutes, because a long
 * statement of an embedded database delays all others. It is not a time, because a clock may continue while
 * this machine is suspended.
 */
const MOST_MISSED = 200
const LOOK_EVERY_MS = 500
const SAY_EVERY_MS = 60_000
const RELEASE_PATIENCE_MS = 1_000

/** Identifies the machine since its boot, and the container, within which a process id is unique. */
const PLACE = [hostname(), ...['/proc/sys/kernel/random/boot_id', '/proc/self/ns/pid'].map(readOrNothing)]
  .join(' ')
  .replaceAll('/', '')

/** Error for a lease that another process has taken. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Error for a database that does not respond any more. Its cause is the last error of a connection. */
export class SilentDatabaseError extends Error {
  override readonly name = 'SilentDatabaseError'
}

/**
 * The right to write a chain's rows: a row in the table chain_writer that its holder renews.
 *
 * A second indexer waits. It takes over when the holder releases the lease, has not renewed it for 6 s, or is
 * known to be dead (a process of this machine that has ended). Each batch checks the lease in its own
 * transaction and locks it until the end, so that a process that lost it unnoticed, for example while
 * suspended, writes nothing more. The new holder terminates the session of a batch that is still open.
 *
 * It is not an advisory lock of the session, because PgBouncer in transaction mode and the embedded database
 * share sessions between clients.
 */
export class Lease implements Transactions {
  private readonly writer = `${PLACE}/${process.pid}/${randomBytes(4).toString('hex')}/reading-${READING}`
  private timer: NodeJS.Timeout | undefined
  /** Number of renewals since the last response of the database. */
  private missed = 0
  /** Open transactions, with their number of statements without a response. */
  private readonly open = new Set<{ pending: number }>()

  constructor(
    private readonly database: Database,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  /**
   * Waits for the lease, then renews it. Calls `onLost` if another process has taken it, or if the database
   * does not respond any more: a host that has disappeared closes no connection. Rejects if the signal aborts
   * first.
   */
  async take(onLost: (error: Error) => void, signal?: AbortSignal): Promise<void> {
    let isHeld = false
    let cause: Error | undefined
    this.timer = setInterval(() => {
      if (!this.waitsForEndpoint() && ++this.missed > MOST_MISSED)
        return onLost(
          new SilentDatabaseError(`the database of ${this.chain.slug} does not respond`, { cause }),
        )
      if (!isHeld) return
      void this.renew().then(
        (isOurs) => {
          this.missed = 0
          if (!isOurs) onLost(this.lost())
        },
        // A server that rejects renewals responds. Until it accepts them, no batch is written either.
        (error: Error) => {
          if (error instanceof DatabaseError) this.missed = 0
          else cause = error
        },
      )
    }, RENEW_EVERY_MS)
    try {
      await this.waitForTurn(signal)
      isHeld = true
    } catch (error) {
      clearInterval(this.timer)
      throw error
    }
  }

  private async waitForTurn(signal?: AbortSignal): Promise<void> {
    for (let loggedAt = -Infinity; ;) {
      const other = await this.takeNow()
      this.missed = 0
      if (other === undefined) break
      signal?.throwIfAborted()
      if (performance.now() - loggedAt > SAY_EVERY_MS) {
        loggedAt = performance.now()
        this.log.info(
          { chain: this.chain.slug, writer: other },
          `another indexer of ${this.chain.slug} is running: waiting to take over when it stops`,
        )
      }
      await pause(LOOK_EVERY_MS, undefined, { signal })
    }
    if (signal?.aborted) {
      await this.release()
      signal.throwIfAborted()
    }
  }

  /** Runs work in a transaction, of this database or another, that commits only with the lease. */
  transaction<T>(work: (query: Query, copy: Copy) => Promise<T>, database = this.database): Promise<T> {
    return database.transaction(async (query, copy) => {
      if (!(await this.hold(query))) throw this.lost()
      const own = { pending: 0 }
      const counted =
        <Given extends unknown[], Result>(send: (...given: Given) => Promise<Result>) =>
        async (...given: Given): Promise<Result> => {
          own.pending++
          try {
            const result = await send(...given)
            this.missed = 0
            return result
          } finally {
            own.pending--
          }
        }
      this.open.add(own)
      try {
        return await work(counted(query) as Query, counted(copy))
      } finally {
        this.open.delete(own)
      }
    })
  }

  /**
   * True if a transaction is open without a statement, as while a batch waits for an endpoint. It delays all
   * renewals in an embedded database, whose clients share one session.
   */
  private waitsForEndpoint(): boolean {
    return [...this.open].some(({ pending }) => pending === 0)
  }

  /** Releases the lease. Never throws. Takes at most one second. */
  async release(): Promise<void> {
    clearInterval(this.timer)
    const released = this.database
      .query(`UPDATE chain_writer SET until = '-infinity' WHERE chain = $1 AND writer = $2`, this.own)
      .catch(() => {})
    await Promise.race([released, pause(RELEASE_PATIENCE_MS)])
  }

  /** Values of the conditions by which a statement affects only the lease of this process. */
  private get own(): [chain: string, writer: string] {
    return [this.chain.slug, this.writer]
  }

  /**
   * Makes this process the writer of the chain and returns undefined; returns the current writer if there is
   * one.
   *
   * A writer is replaced if its lease has expired or its process has ended. The session in which it may still
   * be writing is terminated: a process that is frozen or disconnected keeps its locks. After a writer with
   * another version of the projection, all records count as produced by that version, or by the one before
   * this version if that is lower.
   */
  private async takeNow(): Promise<string | undefined> {
    const { chain, database } = this
    await database.query(
      `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, '', '-infinity') ON CONFLICT DO NOTHING`,
      [chain.slug],
    )
    // First reads without a lock, which would prevent the writer from renewing its lease.
    const { last, other } = await this.find(database.query, '')
    if (other !== undefined) return other
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND usename = current_user AND application_name = $1
         AND pid <> pg_backend_pid()`,
      [sessionName(chain, last)],
    )
    return database.transaction(async (query) => {
      const { last: replaced, other: meanwhile } = await this.find(query, 'FOR UPDATE')
      if (meanwhile !== undefined) return meanwhile
      await query(
        'UPDATE chain_writer SET writer = $2, until = now() + make_interval(secs => $3) WHERE chain = $1',
        [...this.own, LEASE_SECONDS],
      )
      // A database without a writer contains at most a snapshot, whose records `restore` has projected.
      if (replaced && versionOf(replaced) !== READING)
        await query(
          'UPDATE chain_status SET reading = least(reading, $2), replayed = NULL WHERE chain = $1',
          [chain.slug, Math.min(versionOf(replaced), READING - 1)],
        )
      return undefined
    })
  }

  /** Returns the last writer of the chain, and as `other` too if it still has the lease. */
  private async find(query: Query, lock: '' | 'FOR UPDATE') {
    const [found] = await query<{ writer: string; held: boolean }>(
      `SELECT writer, until > now() AS held FROM chain_writer WHERE chain = $1 ${lock}`,
      [this.chain.slug],
    )
    const { writer, held } = found!
    return { last: writer, other: held && !this.isGone(writer) ? writer : undefined }
  }

  /** Returns true if this process is still the writer, for LEASE_SECONDS from now. */
  private async renew(): Promise<boolean> {
    const renewed = await this.database.query(
      `UPDATE chain_writer SET until = now() + make_interval(secs => $3) WHERE chain = $1 AND writer = $2
       RETURNING writer`,
      [...this.own, LEASE_SECONDS],
    )
    return renewed.length > 0
  }

  /**
   * Returns true if this process is the writer, which it stays until the transaction ends: the lock permits
   * renewals, but no other writer. Until then, the session has the writer's name, by which a successor
   * terminates it, so that it has no idle limit.
   */
  private async hold(query: Query): Promise<boolean> {
    const held = await query(
      `SELECT set_config('application_name', $3, true), set_config('idle_in_transaction_session_timeout', '0', true)
       FROM chain_writer WHERE chain = $1 AND writer = $2 FOR KEY SHARE`,
      [...this.own, sessionName(this.chain, this.writer)],
    )
    return held.length > 0
  }

  /** True if a writer is a process of this machine that has ended. */
  private isGone(writer: string): boolean {
    const [place, pid] = writer.split('/')
    if (place !== PLACE) return false
    if (Number(pid) === process.pid) return writer !== this.writer
    try {
      process.kill(Number(pid), 0)
      return false
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH'
    }
  }

  private lost(): LeaseLostError {
    return new LeaseLostError(`this process has lost its lease: another one is writing ${this.chain.slug}`)
  }
}

/** Version of the projection, with which a writer's name ends. Names written by versions before 2 lack it. */
function versionOf(writer: string): number {
  return Number(/\/reading-(\d+)$/.exec(writer)?.[1] ?? 0)
}

/** Name of a writer's session in pg_stat_activity. Postgres truncates names to 63 bytes. */
export function sessionName(chain: Pick<Chain, 'slug'>, writer: string): string {
  const hash = createHash('sha256').update(writer).digest('hex').slice(0, 16)
  return `indexer of ${chain.slug.slice(0, 35)} ${hash}`
}

/** Returns the text of a file or the target of a link; empty if the system has no such file. */
function readOrNothing(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
