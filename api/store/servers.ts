import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { findPrimary, hostOf, hostUrls } from '../../src/postgres'
import { UnavailableError } from '../http/problems'
import { SharedRead } from '../http/shared'
import type { Statement } from './model'
import { cancelStatement, isLost, openPool, type DatabaseError, beginReading, StandbyError } from './pool'
import { reaches, furthest, type Marks, MARKS, MARKS_POOL } from './marks'

/** Milliseconds that a read waits for its replica to reach the required state, before the primary runs it. */
const CATCH_UP_MS = 500
const LOOK_EVERY_MS = 10
/** Milliseconds between two checks of a server that is left out. */
const RETRY_MS = 500
/** Milliseconds that a statement waits for another primary. Clients wait as long for a connection. */
const FAILOVER_MS = 2_000
/**
 * Milliseconds for which a server counts as the primary without a check. Behind PgBouncer, a change of the
 * primary breaks no connection.
 */
const PRIMARY_FOR_MS = 1_000

/** Marks of the primary or, if it is unavailable, of the most advanced replica. */
interface Newest {
  marks: Marks
  ofPrimary: boolean
}

/** One Postgres server, with one pool of connections per settings object. */
class Server {
  private readonly pools = new Map<PoolConfig, Pool>()
  /** Number of reads in progress. */
  reads = 0
  /** True while the server receives no reads because it failed or lagged. */
  isLeftOut = false

  constructor(
    readonly url: string,
    private readonly onError: (error: Error) => void,
  ) {}

  pool(config: PoolConfig): Pool {
    let pool = this.pools.get(config)
    if (!pool) this.pools.set(config, (pool = openPool(this.url, config, this.onError)))
    return pool
  }

  /** Runs a statement. @param signal cancels it in the database */
  async query<Row extends object>(
    config: PoolConfig,
    { text, values }: Statement,
    signal?: AbortSignal,
  ): Promise<Row[]> {
    const pool = this.pool(config)
    if (!signal) return (await pool.query<Row>(text, values)).rows
    const client = await pool.connect()
    const cancel = () => cancelStatement(client)
    signal.addEventListener('abort', cancel)
    let failure: Error | undefined
    try {
      signal.throwIfAborted()
      return (await client.query<Row>(text, values)).rows
    } catch (error) {
      failure = error as Error
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', cancel)
      // The cancel request may arrive after the end of the statement, so this connection must not run another
      // one.
      client.release(signal.aborted ? true : failure)
    }
  }

  /** Returns the rows of a statement and the marks of the server, both from one snapshot. */
  async read<Row extends object>(
    config: PoolConfig,
    { text, values }: Statement,
    signal?: AbortSignal,
  ): Promise<{ rows: Row[]; marks: Marks }> {
    this.reads++
    try {
      const rows = await this.query<Row & { marksOfServer: Marks | null; isRow: true | null }>(
        config,
        {
          text: `SELECT answer.*, server.marks AS "marksOfServer" FROM (SELECT ${MARKS} AS marks) AS server
          LEFT JOIN LATERAL (SELECT true AS "isRow", statement.* FROM (${text}) AS statement) AS answer ON true`,
          values,
        },
        signal,
      )
      return {
        marks: rows[0]?.marksOfServer ?? {},
        rows: rows.flatMap(({ isRow, marksOfServer: _, ...row }) => (isRow ? [row as unknown as Row] : [])),
      }
    } finally {
      this.reads--
    }
  }

  /** Connections of all pools together, and the number of requests that wait for one. */
  get connections(): { idle: number; busy: number; waiting: number } {
    let [idle, busy, waiting] = [0, 0, 0]
    for (const pool of this.pools.values()) {
      idle += pool.idleCount
      busy += pool.totalCount - pool.idleCount
      waiting += pool.waitingCount
    }
    return { idle, busy, waiting }
  }

  async marks(): Promise<{ marks: Marks; standby: boolean }> {
    const [row] = await this.query<{ marks: Marks | null; standby: boolean }>(MARKS_POOL, {
      text: `SELECT ${MARKS} AS marks, pg_is_in_recovery() AS standby`,
      values: [],
    })
    return { marks: row!.marks ?? {}, standby: row!.standby }
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()))
  }
}

/**
 * The database servers: the primary, which accepts writes, and its replicas. Reads that must be current go to
 * the primary. Other reads go to replicas, but never show less than any API instance has shown before. A read
 * therefore needs the state that the primary has when the read begins, and is returned only after the primary
 * has reached the state that was read. (A replica may be ahead: with synchronous replication a commit becomes
 * visible there first.) While no primary is available, reads need the state of the most advanced replica.
 */
export class DatabaseServers {
  /** True once the primary is known to have all migrations of this version. */
  isMigrated = false
  private readonly candidates: readonly Server[]
  private readonly replicas: readonly Server[]
  private primary: Server
  /** Resolves once a primary is found; undefined while one is known. */
  private seeking: Promise<void> | undefined
  /** Marks that the last reads needed. While no primary is available, replicas with less are not used. */
  private needed: Marks = {}
  private neededAt = 0
  private turn = 0
  private lookedAt = -Infinity
  private readonly newest = new SharedRead(() => this.readNewest(), 0)
  private isClosed = false

  /**
   * @param url connection string of the primary; if it lists several hosts, they are tried alternately until
   *   one is the primary
   * @param readUrls connection strings of the replicas, one server each; the primary may be among them
   * @param onError receives the errors of idle connections, which are replaced, and of servers that are left
   *   out
   */
  constructor(
    url: string,
    readUrls: readonly string[],
    private readonly onError: (error: Error) => void,
  ) {
    this.candidates = hostUrls(url).map((each) => new Server(each, onError))
    this.replicas = readUrls.map((each) => new Server(each, onError))
    this.primary = this.candidates[0]!
    if (this.candidates.length > 1) void this.seek()
  }

  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all([...this.candidates, ...this.replicas].map((server) => server.close()))
  }

  /** Returns the connections to each server, by host and port. */
  connections(): [host: string, Server['connections']][] {
    return [...this.candidates, ...this.replicas].map((server) => [hostOf(server.url), server.connections])
  }

  /** Returns the URL of the primary. Throws an UnavailableError if there is none. */
  async primaryUrl(): Promise<string> {
    return this.onPrimary((server) => Promise.resolve(server.url))
  }

  /** Opens a connection to the primary. */
  connect(config: PoolConfig): Promise<PoolClient> {
    return this.onPrimary((server) => server.pool(config).connect())
  }

  /** Reads rows from the primary. Throws the signal's reason once it is aborted. */
  query<Row extends object>(config: PoolConfig, statement: Statement, signal?: AbortSignal): Promise<Row[]> {
    return this.onPrimary((server) => server.query<Row>(config, statement, signal))
  }

  /** Reads rows from any server that has everything that was ever shown. */
  async read<Row extends object>(
    config: PoolConfig,
    statement: Statement,
    signal?: AbortSignal,
  ): Promise<Row[]> {
    if (this.replicas.length === 0) return this.query(config, statement, signal)
    return this.onReader(
      async (server) => {
        const { rows, marks } = await server.read<Row>(config, statement, signal)
        return { answer: rows, marks, discard: () => Promise.resolve() }
      },
      () => this.query<Row>(config, statement, signal),
    )
  }

  /** Number of servers that share the reads. */
  get readers(): number {
    return Math.max(1, this.replicas.length)
  }

  /**
   * Opens a connection in a read-only transaction of one snapshot, on any server that has everything that was
   * ever shown.
   */
  async begin(config: PoolConfig): Promise<PoolClient> {
    const open = async (server: Server, marks = '') => {
      const { client, last, discard } = await beginReading(server.pool(config), marks)
      return { answer: client, marks: (last as { marks?: Marks | null } | undefined)?.marks ?? {}, discard }
    }
    const onPrimary = () => this.onPrimary(async (server) => (await open(server)).answer)
    if (this.replicas.length === 0) return onPrimary()
    return this.onReader((server) => open(server, `; SELECT ${MARKS} AS marks`), onPrimary)
  }

  private async onPrimary<T>(work: (server: Server) => Promise<T>): Promise<T> {
    // If there is only one server, it gets every statement.
    if (this.candidates.length === 1 && this.replicas.length === 0) return work(this.primary)
    for (let attempt = 1; ; attempt++) {
      if (this.candidates.length > 1 && performance.now() - this.lookedAt > PRIMARY_FOR_MS)
        await this.newest.fresh().catch(() => {})
      await this.found()
      if (this.seeking) throw new UnavailableError('No database server accepts writes.')
      const server = this.primary
      try {
        return await work(server)
      } catch (error) {
        if (!isLost(error as DatabaseError)) throw error
        this.loosePrimary(server, error as Error)
        if (attempt === 2) throw error
      }
    }
  }

  /** If there is no primary, waits for one for at most FAILOVER_MS. */
  private async found(): Promise<void> {
    if (this.seeking) await Promise.race([this.seeking, pause(FAILOVER_MS, undefined, { ref: false })])
  }

  /** Runs a read on a replica, or on the primary if no replica is fit. */
  private async onReader<T>(
    read: (server: Server) => Promise<{ answer: T; marks: Marks; discard: () => Promise<void> }>,
    onPrimary: () => Promise<T>,
  ): Promise<T> {
    const newest = this.newest.fresh()
    newest.catch(() => {})
    const until = performance.now() + CATCH_UP_MS
    for (let server = this.leastBusy(); server; server = this.leastBusy()) {
      const reading = read(server)
      reading.catch(() => {})
      try {
        const known = await newest
        const { answer, marks, discard } = await reading
        if (reaches(marks, known.marks)) {
          if (await this.isKnown(marks, known, until)) return answer
          await discard()
          this.leaveOut(server, new Error('it has data that the primary does not have'))
        } else {
          await discard()
          if (!(await this.catchesUp(server, known.marks, until)))
            this.leaveOut(server, new Error(`it is behind by more than ${CATCH_UP_MS} ms`))
        }
      } catch (error) {
        void reading.then(({ discard }) => discard()).catch(() => {})
        if (!isLost(error as DatabaseError)) throw error
        this.leaveOut(server, error as Error)
      }
    }
    return onPrimary()
  }

  /** Returns the usable replica with the fewest reads in progress. */
  private leastBusy(): Server | undefined {
    const fit = this.replicas.filter(({ isLeftOut }) => !isLeftOut)
    // A random start spreads reads over equally busy replicas.
    const start = Math.floor(Math.random() * fit.length)
    let best: Server | undefined
    for (let i = 0; i < fit.length; i++) {
      const each = fit[(start + i) % fit.length]!
      if (!best || each.reads < best.reads) best = each
    }
    return best
  }

  /** True if the primary has reached the state that a replica shows, or if there is no primary. */
  private async isKnown(marks: Marks, newest: Newest, until: number): Promise<boolean> {
    for (let known = newest; known.ofPrimary; known = await this.newest.fresh())
      if (reaches(known.marks, marks)) return true
      else if (performance.now() > until) return false
    this.needed = furthest(this.needed, marks)
    return true
  }

  private async catchesUp(server: Server, needed: Marks, until: number): Promise<boolean> {
    while (performance.now() < until) {
      if (reaches((await server.marks()).marks, needed)) return true
      await pause(LOOK_EVERY_MS)
    }
    return false
  }

  /**
   * Reads the marks of the primary or, without one, of the most advanced replica. Throws an UnavailableError
   * if no server has all records.
   */
  private async readNewest(): Promise<Newest> {
    const server = this.primary
    const turn = ++this.turn
    this.lookedAt = performance.now()
    if (!this.seeking)
      try {
        const { marks, standby } = await server.marks()
        // A single server is trusted to be the primary, as configured.
        if (standby && this.candidates.length > 1)
          throw new StandbyError('it does not accept writes any more')
        // Responses may arrive out of order.
        if (turn > this.neededAt) [this.needed, this.neededAt] = [marks, turn]
        return { marks, ofPrimary: true }
      } catch (error) {
        if (!isLost(error as DatabaseError)) throw error
        this.loosePrimary(server, error as Error)
      }
    const fit = this.replicas.filter(({ isLeftOut }) => !isLeftOut)
    const found = await Promise.all(
      fit.map(async (replica) => {
        try {
          return (await replica.marks()).marks
        } catch (error) {
          if (!isLost(error as DatabaseError)) throw error
          this.leaveOut(replica, error as Error)
          return {}
        }
      }),
    )
    this.needed = found.reduce(furthest, this.needed)
    if (!found.some((marks) => reaches(marks, this.needed))) {
      await this.found()
      if (!this.seeking) return this.readNewest()
      throw new UnavailableError('No database server with all records responds.')
    }
    return { marks: this.needed, ofPrimary: false }
  }

  private loosePrimary(server: Server, error: Error): void {
    if (this.seeking || this.isClosed || server !== this.primary) return
    this.onError(new Error(`${hostOf(server.url)}: ${error.message}; looking for the primary`))
    void this.seek()
  }

  /** Searches for the primary until one is found. */
  private seek(): Promise<void> {
    const urls = this.candidates.map(({ url }) => url)
    return (this.seeking = (async () => {
      while (!this.isClosed) {
        const found = await findPrimary(urls)
        if (found !== undefined) {
          this.primary = this.candidates[urls.indexOf(found)]!
          break
        }
        await pause(RETRY_MS, undefined, { ref: false })
      }
      this.seeking = undefined
    })())
  }

  /** Excludes a replica from reads until it responds and has caught up. */
  private leaveOut(server: Server, error: Error): void {
    if (server.isLeftOut) return
    server.isLeftOut = true
    this.onError(new Error(`${hostOf(server.url)}: ${error.message}; not used for reads until it is back`))
    void (async () => {
      while (!this.isClosed) {
        await pause(RETRY_MS, undefined, { ref: false })
        const isBack = async () => {
          const { marks } = await server.marks()
          // The primary's marks are read after the replica's, because the replica must not be ahead of the
          // primary either.
          const newest = this.seeking ? undefined : await this.newest.fresh().catch(() => undefined)
          return reaches(marks, this.needed) && (!newest?.ofPrimary || reaches(newest.marks, marks))
        }
        if (!(await isBack().catch(() => false))) continue
        server.isLeftOut = false
        return
      }
    })()
  }
}
