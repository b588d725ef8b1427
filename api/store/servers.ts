import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { findPrimary, hostOf, hostUrls } from '../../src/postgres'
import { UnavailableError } from '../http/problems'
import { SharedRead } from '../http/shared'
import type { Statement } from './model'
import { cancelStatement, isLost, openPool, type DatabaseError, beginReading, StandbyError } from './pool'
import { reaches, furthest, type Marks, MARKS, MARKS_POOL } from './marks'

/** How long a read waits for its replica to get to the state that it needs; then the primary is asked. */
const CATCH_UP_MS = 500
const LOOK_EVERY_MS = 10
/** Between two looks for a server that was left out. */
const RETRY_MS = 500
/** How long a statement waits for another primary. Clients wait as long for a connection. */
const FAILOVER_MS = 2_000
/** How long a server is taken for the primary without a look: behind PgBouncer no connection breaks. */
const PRIMARY_FOR_MS = 1_000

/** How far the primary is; or, where it does not answer, the furthest replica. */
interface Newest {
  marks: Marks
  ofPrimary: boolean
}

/** One Postgres server, with pools of connections by their settings. */
class Server {
  private readonly pools = new Map<PoolConfig, Pool>()
  /** Reads under way. */
  reads = 0
  /** Whether it is not asked until it is found to answer again. */
  isLeftOut = false

  constructor(
    readonly url: string,
    private readonly onError: (error: Error) => void,
  ) {}

  pool(config: PoolConfig): Pool {
    let pool = this.pools.get(config)
    if (!pool)
      this.pools.set(config, (pool = openPool({ ...config, connectionString: this.url }, this.onError)))
    return pool
  }

  /** @param signal cancels the statement in the database */
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
      // The cancelled statement may be over by now: this connection must not run another one.
      client.release(signal.aborted ? true : failure)
    }
  }

  /** The rows of a statement, and how far the server was, both of one snapshot. */
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

  /** Its connections, of all pools together, and how many wait for one. */
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
 * The database servers: the primary, which takes writes, and its replicas. What must be current is asked of
 * the primary. Other reads go to replicas, yet nobody is shown less than was shown to anybody before, by any
 * copy of the service: a read needs the state that the primary has when it begins, and is shown only once the
 * primary has its state, too. (A replica may be ahead: with synchronous replication a commit shows there
 * first.) While no primary answers, reads need the state of the replica that is furthest.
 */
export class DatabaseServers {
  private readonly candidates: readonly Server[]
  private readonly replicas: readonly Server[]
  private primary: Server
  /** Resolves once a primary is found; undefined while there is one. */
  private seeking: Promise<void> | undefined
  /** What the last reads needed: while no primary answers, no replica is asked that has less. */
  private needed: Marks = {}
  private neededAt = 0
  private turn = 0
  private lookedAt = -Infinity
  private readonly newest = new SharedRead(() => this.readNewest(), 0)
  private isClosed = false

  /**
   * @param url of the primary; several hosts where one of them is it, by turns
   * @param readUrls of the replicas, one server each; the primary may be among them
   * @param onError gets the errors of idle connections, which are replaced, and of servers that are left out
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

  /** The connections to each server, by its host and port. */
  connections(): [host: string, Server['connections']][] {
    return [...this.candidates, ...this.replicas].map((server) => [hostOf(server.url), server.connections])
  }

  /** Whether there is nothing to choose: statements then go to the server as they are. */
  private get isSingle(): boolean {
    return this.candidates.length === 1 && this.replicas.length === 0
  }

  /** The URL of the primary. Throws an UnavailableError. */
  async primaryUrl(): Promise<string> {
    return this.onPrimary((server) => Promise.resolve(server.url))
  }

  /** A connection to the primary. */
  connect(config: PoolConfig): Promise<PoolClient> {
    return this.onPrimary((server) => server.pool(config).connect())
  }

  /** Rows from the primary. Throws the signal's reason once it is aborted. */
  query<Row extends object>(config: PoolConfig, statement: Statement, signal?: AbortSignal): Promise<Row[]> {
    return this.onPrimary((server) => server.query<Row>(config, statement, signal))
  }

  /** Rows from any server that has all that anybody was shown. */
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

  /** Servers that reads are spread over. */
  get readers(): number {
    return Math.max(1, this.replicas.length)
  }

  /**
   * A connection in a read-only transaction, all of one snapshot, from any server that has all that anybody
   * was shown.
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
    if (this.isSingle) return work(this.primary)
    for (let attempt = 1; ; attempt++) {
      if (this.candidates.length > 1 && performance.now() - this.lookedAt > PRIMARY_FOR_MS)
        await this.newest.fresh().catch(() => {})
      await this.found()
      if (this.seeking) throw new UnavailableError('No database server takes writes right now.')
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

  /** Waits for another primary, if there is none, as long as clients are made to wait. */
  private async found(): Promise<void> {
    if (this.seeking) await Promise.race([this.seeking, pause(FAILOVER_MS, undefined, { ref: false })])
  }

  /** Runs a read on a replica; on the primary where none is fit for it. */
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
          this.leaveOut(server, new Error('it has what the primary does not have'))
        } else {
          await discard()
          if (!(await this.catchesUp(server, known.marks, until)))
            this.leaveOut(server, new Error(`it is behind by more than ${CATCH_UP_MS} ms`))
        }
      } catch (error) {
        void reading.then(
          ({ discard }) => discard(),
          () => {},
        )
        if (!isLost(error as DatabaseError)) throw error
        this.leaveOut(server, error as Error)
      }
    }
    return onPrimary()
  }

  /** The replica with the fewest reads under way. */
  private leastBusy(): Server | undefined {
    const fit = this.replicas.filter(({ isLeftOut }) => !isLeftOut)
    // Of equals another one each time.
    const start = Math.floor(Math.random() * fit.length)
    let best: Server | undefined
    for (let i = 0; i < fit.length; i++) {
      const each = fit[(start + i) % fit.length]!
      if (!best || each.reads < best.reads) best = each
    }
    return best
  }

  /** Whether the primary has got to the state that a replica shows. Without a primary the replica decides. */
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

  /** How far the primary is; without one, the furthest replica. Throws an UnavailableError. */
  private async readNewest(): Promise<Newest> {
    const server = this.primary
    const turn = ++this.turn
    this.lookedAt = performance.now()
    if (!this.seeking)
      try {
        const { marks, standby } = await server.marks()
        // A single one is what the settings say it is.
        if (standby && this.candidates.length > 1) throw new StandbyError('it takes no writes any more')
        // Answers may come in another order.
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
      throw new UnavailableError('No database server answers that has all records.')
    }
    return { marks: this.needed, ofPrimary: false }
  }

  private loosePrimary(server: Server, error: Error): void {
    if (this.seeking || this.isClosed || server !== this.primary) return
    this.onError(new Error(`${hostOf(server.url)}: ${error.message}; looking for the primary`))
    void this.seek()
  }

  /** Looks for the primary until there is one. */
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

  /** Asks a replica nothing more until it answers, and has what the others have. */
  private leaveOut(server: Server, error: Error): void {
    if (server.isLeftOut) return
    server.isLeftOut = true
    this.onError(new Error(`${hostOf(server.url)}: ${error.message}; left out of reads until it is back`))
    void (async () => {
      while (!this.isClosed) {
        await pause(RETRY_MS, undefined, { ref: false })
        const isBack = async () => {
          const { marks } = await server.marks()
          // Read after the replica's: it may not have more than the primary, either.
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
