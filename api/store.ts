import { setImmediate } from 'node:timers/promises'
import { Pool, type PoolConfig } from 'pg'
import { CHAINS } from '../src/chains'
import { UnavailableError } from './problems'
import { SharedRead } from './shared'
import {
  boxesQuery,
  changedRecordsQuery,
  changesQuery,
  type ChainChanges,
  type ChangeIds,
  type ChangedRecord,
} from './store-changes'
import {
  NEWEST_FIRST,
  countQuery,
  listQuery,
  readLines,
  type Bbox,
  type RecordFilter,
  type RecordQuery,
  type RecordRow,
  type Statement,
  type TimeWindow,
} from './store-records'

/** What a computation needs of an attestation. */
export interface InputRow {
  revoked: boolean
  /** Unix seconds; 0 = never */
  expirationTime: bigint
  blockNumber: number
  /** GeoJSON geometry as text; null where it could not be read, or was not asked for */
  geometry: string | null
  /** Why there is no geometry; null where there is one */
  problem: string | null
}

/** How far the index of a chain can be relied on. */
export interface IndexState {
  /** Seconds since the index held all that its chain's node had; Infinity when it never has */
  age: number
  /** How old the node's last block was when the index last asked it, in seconds */
  headAge: number
  /** The last block that is indexed; -1 before the first */
  block: number
}

/** What is known of a chain's records without looking at them. */
export interface RecordState {
  chain: string
  total: number
  revoked: number
  /** Goes up with every change; with `since`, when the database got its first record of the chain, it names the state of the data. */
  revision: bigint
  since: Date
}

export interface Stats {
  total: number
  byChain: Record<string, number>
  last24Hours: number
  last7Days: number
  last30Days: number
  revoked: number
}

/** How far the indexer's copy of a chain goes, and the audit of it; null before the first look, block, or audit. */
export interface ChainStatusRow {
  chain: string
  headBlock: number | null
  headTime: Date | null
  /** When the indexer last asked for the head. */
  checkedAt: Date | null
  indexedBlock: number | null
  indexedTime: Date | null
  rereadBlocks: number
  provenBlocks: number
  unprovenBlocks: number
  /** Why the copy is not to be relied on, as the indexer last said. */
  doubt: string | null
  contradictions: number
  repairedEvents: number
  withheldAttestations: number
}

/** A statement that runs longer is stopped by the database. */
const STATEMENT_TIMEOUT_MS = 5_000
/** Queries for inputs of computations that run at once, and the inputs that one asks for: more wait and go together. */
const LOOKUPS_AT_ONCE = 2
const LOOKUPS_IN_QUERY = 500

/** Fewer records than this are not looked through window by window, nor where more are wanted than that. */
const LEAST_FOR_WINDOWS = 20_000
const MOST_BY_WINDOWS = 5_001
/** The first window holds so many times the records that are wanted, of the whole world; the next is at most so many times as long. */
const FIRST_WINDOW = 4
const MOST_GROWTH = 64
/** So many records of a place are read whatever their times. */
const FEW = 1_500
/** How long it is believed how many records there are, and of what times: it only decides how the newest are looked for. */
const EXTENT_SHARED_MS = 10_000

/** How many records there are, and of what times. */
export interface Extent {
  total: number
  first: Date
  last: Date
}

/** Connections whose end kills no process. @param onError told of those lost while idle, which need no other care */
export function openPool(config: PoolConfig, onError: (error: Error) => void): Pool {
  const pool = new Pool(config)
  pool.on('error', onError)
  // One that ends while it changes hands has nobody else to tell.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Every SQL statement of the API. Throws UnavailableError when the database does not answer. */
export class Store {
  private readonly pool: Pool
  /** For lists and counts, which strangers can make slow: whatever they do, the rest finds a connection. */
  private readonly lists: Pool
  private readonly lookups: {
    id: string
    withGeometry: boolean
    resolve: (row: InputRow | undefined) => void
    reject: (error: unknown) => void
  }[] = []
  private lookupsRunning = 0
  private readonly extent = new SharedRead(
    () => this.readExtent(),
    EXTENT_SHARED_MS,
    () => performance.now(),
  )

  /** @param onError told of connections lost while idle, which need no other care */
  constructor(databaseUrl: string, onError: (error: Error) => void, options: PoolConfig = {}) {
    const open = (max: number) =>
      openPool(
        {
          connectionString: databaseUrl,
          max,
          connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
          statement_timeout: STATEMENT_TIMEOUT_MS,
          query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
          application_name: 'api',
          // Every query stops early or lives by an index, which the planner cannot know of counts: compiling one took 60 ms, starting workers as long.
          // Two indexes together make bitmaps that the usual 4 MB are too little for.
          options: '-c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=16MB',
          ...options,
        },
        onError,
      )
    this.pool = open(5)
    this.lists = open(8)
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.end(), this.lists.end()])
  }

  /** Whether the database answers and is migrated. */
  async ping(): Promise<boolean> {
    return this.query('SELECT FROM location_record LIMIT 1', []).then(
      () => true,
      () => false,
    )
  }

  /** Records in a total order, newest first unless asked otherwise. */
  async listRecords(query: RecordQuery): Promise<RecordRow[]> {
    const wanted = query.limit + (query.offset ?? 0)
    const { by, descending } = query.sort ?? NEWEST_FIRST
    const extent =
      (query.bbox ?? query.reaching) && by === 'timestamp' && descending && wanted <= MOST_BY_WINDOWS
        ? await this.extent.get()
        : undefined
    if (extent && extent.total >= LEAST_FOR_WINDOWS)
      return (await this.listByWindows(query, wanted, extent)).slice(query.offset ?? 0)
    return this.list(query)
  }

  /**
   * The newest of a place: looked for back in time, in windows as long as it takes to find so many by what was found so far. All that the
   * place holds would be read otherwise, or all times until there are enough, and the database cannot know which is less.
   */
  private async listByWindows(
    query: RecordQuery,
    wanted: number,
    { total, first, last }: Extent,
  ): Promise<RecordRow[]> {
    const end = Math.min(query.before?.getTime() ?? Infinity, query.from?.at ?? Infinity) + 1
    const newest = Math.min(last.getTime(), end)
    const oldest = Math.max(first.getTime(), query.after?.getTime() ?? -Infinity)
    const rows: RecordRow[] = []
    // What has come since the extent was read is newer than it says.
    let until = end <= newest ? new Date(end) : undefined
    let length = ((last.getTime() - first.getTime()) * FIRST_WINDOW * wanted) / total
    for (;;) {
      const since = new Date(Math.max(oldest, Math.floor((until?.getTime() ?? newest) - length)))
      const isLast = since.getTime() <= oldest
      rows.push(
        ...(await this.list(
          { ...query, limit: wanted - rows.length, offset: 0 },
          { ...(!isLast && { since }), ...(until && { until }) },
        )),
      )
      if (isLast || rows.length >= wanted) return rows
      // How many the whole place holds at most, by what was found so far (with 95 % confidence, were they spread evenly): where that is few, all at once.
      const seen = (newest - since.getTime()) / (newest - oldest)
      if ((rows.length + 3) / seen < FEW) length = Infinity
      else
        length = Math.max(
          2 * length,
          Math.min(
            MOST_GROWTH,
            rows.length
              ? (1.5 * (wanted - rows.length) * seen) / rows.length / (length / (newest - oldest))
              : MOST_GROWTH,
          ) * length,
        )
      until = since
    }
  }

  private async list(query: RecordQuery, window?: TimeWindow): Promise<RecordRow[]> {
    const { text, values } = listQuery(query, window)
    return readLines((await this.query<{ lines: string | null }>(text, values, this.lists))[0]!.lines)
  }

  /** How many records there are, and when the first and the last one was attested; undefined where there is none. */
  async readExtent(): Promise<Extent | undefined> {
    const [row] = await this.query<{ total: number | null; first: Date | null; last: Date | null }>(
      `SELECT (SELECT sum(total) FROM record_state)::float8 AS total, (SELECT min(timestamp) FROM location_record) AS first, (SELECT max(timestamp) FROM location_record) AS last`,
      [],
    )
    return row?.total && row.first && row.last ? (row as Extent) : undefined
  }

  /** How many records match, counted up to `cap`. */
  async countRecords(filter: RecordFilter, cap: number): Promise<number> {
    const { text, values } = countQuery(filter, cap)
    return (await this.query<{ count: number }>(text, values, this.lists))[0]!.count
  }

  /** The record with this UID, the newest where several chains have one. Lives by the primary key. */
  async recordByUid(uid: string, chain?: string, withGeometry = false): Promise<RecordRow | undefined> {
    const ids = (chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain]).map(
      (slug) => `${slug}-${uid}`,
    )
    return (await this.listRecords({ ids, limit: 1, withGeometry }))[0]
  }

  /** The state of the data, and how many records there are, by chain; kept by the database as records change. */
  async recordStates(): Promise<RecordState[]> {
    const rows = await this.query<Omit<RecordState, 'revision'> & { revision: string }>(
      'SELECT chain, total::float8 AS total, revoked::float8 AS revoked, revision, since FROM record_state ORDER BY chain',
      [],
    )
    return rows.map((row) => ({ ...row, revision: BigInt(row.revision) }))
  }

  /** An attestation as the input of a computation. Those that are asked for while the database is busy with others go in one query. Lives by the primary key. */
  inputByUid(chain: string, uid: string, withGeometry: boolean): Promise<InputRow | undefined> {
    return new Promise((resolve, reject) => {
      this.lookups.push({ id: `${chain}-${uid}`, withGeometry, resolve, reject })
      if (this.lookupsRunning < LOOKUPS_AT_ONCE) void this.lookUp()
    })
  }

  private async lookUp(): Promise<void> {
    this.lookupsRunning++
    // Others of this turn of the event loop come along.
    await setImmediate()
    const batch = this.lookups.splice(0, LOOKUPS_IN_QUERY)
    try {
      if (batch.length === 0) return
      const rows = await this.query<
        Omit<InputRow, 'expirationTime'> & { id: string; expirationTime: string }
      >(
        `SELECT id, revoked, expiration_time::text AS "expirationTime", block_number AS "blockNumber", CASE WHEN id = ANY($2) THEN geometry END AS geometry, problem
         FROM location_record WHERE id = ANY($1)`,
        [
          [...new Set(batch.map(({ id }) => id))],
          batch.filter(({ withGeometry }) => withGeometry).map(({ id }) => id),
        ],
      )
      const found = new Map(
        rows.map(({ id, ...row }) => [id, { ...row, expirationTime: BigInt(row.expirationTime) }]),
      )
      for (const { id, resolve } of batch) resolve(found.get(id))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.lookupsRunning--
      if (this.lookups.length) void this.lookUp()
    }
  }

  /** How far the index of a chain can be relied on, by the database's clock and the chain's. */
  async indexState(chain: string): Promise<IndexState> {
    const [row] = await this.query<{ age: number | null; headAge: number | null; block: number | null }>(
      `SELECT (extract(epoch FROM clock_timestamp() - checked_at)
           + CASE WHEN indexed_height >= head_height THEN 0 ELSE greatest(0, extract(epoch FROM head_timestamp - indexed_timestamp)) END)::float8 AS age,
         extract(epoch FROM checked_at - head_timestamp)::float8 AS "headAge", indexed_height AS block
       FROM chain_status WHERE chain = $1`,
      [chain],
    )
    return { age: row?.age ?? Infinity, headAge: row?.headAge ?? 0, block: row?.block ?? -1 }
  }

  /** How far the copy of each chain goes. */
  chainStatuses(): Promise<ChainStatusRow[]> {
    const blocks = (ranges: string) =>
      `(SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(${ranges}) AS r)::float8`
    return this.query<ChainStatusRow>(
      `SELECT chain, head_height AS "headBlock", head_timestamp AS "headTime", checked_at AS "checkedAt", indexed_height AS "indexedBlock",
         indexed_timestamp AS "indexedTime", ${blocks('reread')} AS "rereadBlocks", ${blocks('proven')} AS "provenBlocks",
         unproven_blocks::float8 AS "unprovenBlocks", repaired_events::float8 AS "repairedEvents", doubt, contradictions::float8,
         (SELECT count(*)::float8 FROM attestation_event AS event WHERE event.chain = chain_status.chain AND withheld) AS "withheldAttestations" FROM chain_status`,
      [],
    )
  }

  /** What changed in each chain's records after these places, `limit` changes a chain at most, none beyond `upTo`; all of one moment. */
  changesAfter(after: ChangeIds, upTo: ChangeIds | undefined, limit: number): Promise<ChainChanges[]> {
    return this.run<ChainChanges>(changesQuery(after, upTo, limit))
  }

  /** These records (`<chain>-<uid>`), where they still are, in no order. */
  changedRecords(ids: readonly string[]): Promise<ChangedRecord[]> {
    return this.run<ChangedRecord>(changedRecordsQuery(ids))
  }

  /** Which of these records (`<chain>-<uid>`) lie in which of the boxes. */
  recordsInBoxes(ids: readonly string[], boxes: readonly Bbox[]): Promise<{ place: number; id: string }[]> {
    return this.run<{ place: number; id: string }>(boxesQuery(ids, boxes))
  }

  /**
   * Counts over all records, as of `now`, all of one moment: those that the database keeps, and of the hour that each window begins
   * in the records themselves. Lives by the primary keys and the index (chain, timestamp).
   */
  async stats(now: Date): Promise<Stats> {
    const since = (
      at: string,
    ) => `((SELECT coalesce(sum(total), 0) FROM record_hour WHERE chain = state.chain AND hour > ${at})
      + (SELECT count(*) FROM location_record WHERE chain = state.chain AND timestamp > ${at} AND timestamp < date_trunc('hour', ${at}, 'UTC') + interval '1 hour'))::float8`
    const rows = await this.query<{
      chain: string
      total: number
      day: number
      week: number
      month: number
      revoked: number
    }>(
      `SELECT chain, total::float8 AS total, revoked::float8 AS revoked, ${since('$1::timestamptz')} AS day, ${since('$2::timestamptz')} AS week, ${since('$3::timestamptz')} AS month
       FROM record_state AS state ORDER BY chain`,
      [1, 7, 30].map((days) => new Date(now.getTime() - days * 86_400_000)),
    )
    const sum = (column: 'total' | 'day' | 'week' | 'month' | 'revoked') =>
      rows.reduce((total, row) => total + row[column], 0)
    return {
      total: sum('total'),
      byChain: Object.fromEntries(rows.map((row) => [row.chain, row.total])),
      last24Hours: sum('day'),
      last7Days: sum('week'),
      last30Days: sum('month'),
      revoked: sum('revoked'),
    }
  }

  private run<Row extends object>({ text, values }: Statement): Promise<Row[]> {
    return this.query<Row>(text, values)
  }

  private async query<Row extends object>(text: string, values: unknown[], pool = this.pool): Promise<Row[]> {
    try {
      return (await pool.query<Row>(text, values)).rows
    } catch (error) {
      if (pool === this.lists && ranOutOfTime(error as DatabaseError))
        throw new UnavailableError(
          `The database did not finish this in ${STATEMENT_TIMEOUT_MS / 1000} seconds. Narrow it by chain, prover, a shorter time or a smaller bbox, or sort by timestamp.`,
          { cause: error },
        )
      if ((error as DatabaseError).code === '42P01')
        throw new UnavailableError('The database is not migrated yet.', { cause: error })
      if (isOutage(error as DatabaseError))
        throw new UnavailableError('The database does not answer right now.', { cause: error })
      throw error
    }
  }
}

/** Stopped by statement_timeout, or by pg's own watch on it. */
function ranOutOfTime({ code, message }: DatabaseError): boolean {
  return code === '57014' || message === 'Query read timeout'
}

/** As pg throws them, with Postgres' code. */
export interface DatabaseError extends Error {
  code?: string
}

/** Connection lost or refused (08..., 28...: the login is, 3D...: no such database), shutting down (57P..), too many clients (53...), a statement stopped for its time (57014). */
export function isOutage({ code, message }: DatabaseError): boolean {
  if (code) return /^(08|28|3D|53|57)/.test(code) || /^E[A-Z]+$/.test(code)
  return /timeout|terminated|not queryable/i.test(message)
}
