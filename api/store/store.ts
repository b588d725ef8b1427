import { createHash } from 'node:crypto'
import type { PoolConfig } from 'pg'
import type { Logger } from 'pino'
import { CHAINS } from '../../src/chains'
import { awaitMigrations } from '../../src/migrations'
import { shownProblem } from '../http/problems'
import { busyWith } from '../http/semaphore'
import { SharedRead } from '../http/shared'
import { OWN_WORK, type Work } from '../http/work'
import {
  boxesQuery,
  changedRecordsQuery,
  changesQuery,
  type ChainChanges,
  type ChangeIds,
  type ChangedRecord,
  type Finality,
} from './sql-changes'
import { countQuery, listQuery, pageOf, readLines, written } from './sql'
import { nearQuery, placesQuery, readNear, readPlaces, sampleQuery } from './sql-near'
import {
  type Bbox,
  type NearRecords,
  type PlacedRecord,
  type RecordFilter,
  type RecordPage,
  type RecordParts,
  type RecordQuery,
  type RecordResult,
  type Statement,
  type TimeWindow,
  NEWEST_FIRST,
} from './model'
import { InputLookups, type InputRow } from './inputs'
import {
  STATEMENT_TIMEOUT_MS,
  apiConnections,
  isGivenUp,
  RETRY,
  shownError,
  type DatabaseError,
} from './pool'
import { DatabaseServers } from './servers'
import { listByWindows, type Extent, type ReadRecords, MOST_WANTED, LEAST_RECORDS } from './windows'
import {
  type ChainStatusRow,
  statsQuery,
  FOUND_SCHEMAS,
  statsOf,
  type Stats,
  indexStateQuery,
  followedSchemaQuery,
  unreadHistoryQuery,
  type ChainCounts,
  CHAIN_STATUSES,
  type IndexState,
  type FoundSchemaRow,
  RECORD_STATES,
  type RecordState,
} from './sql-status'
import { Turns } from '../http/turns'

/**
 * Milliseconds for which the extent of the records is reused. It only decides how the newest records of a
 * place are read.
 */
const EXTENT_SHARED_MS = 10_000
/** Connections to each server for the reads of clients. */
const LISTS = 8
/** Maximum number of these connections per client, depending on how long its last statements took. */
const LISTS_EACH = { quick: 6, slow: 2 }
/**
 * Maximum number of reads that wait for a connection, in total and per client: browsers and GIS send dozens
 * at once, and many users may share one address. A read waits longer than a statement takes (milliseconds),
 * so that each client gets its turn.
 */
const WAITING = { waiting: 1_000, waitingEach: 200, waitMs: STATEMENT_TIMEOUT_MS + 1_000 }

/** Offset from which a list can take long, because Postgres reads the rows that it skips. */
export const DEEP_OFFSET = 100_000

/** Runs every SQL statement of the API. Throws an UnavailableError if the database does not respond. */
export class Store {
  readonly servers: DatabaseServers
  /** Connections for operators and computations, which reads of clients cannot delay. */
  private readonly vital: PoolConfig
  /** Connections for reads that run once for all requests awaiting them. */
  private readonly shared: PoolConfig
  /** Connections for the reads of clients, which can be slow. Each client has a share of them. */
  private readonly lists: PoolConfig
  private readonly turns: Turns
  private readonly work: Work = OWN_WORK
  private readonly inputs = new InputLookups((text, values) => this.query(text, values))
  private readonly pinged = new SharedRead(
    () => this.ask({ text: 'SELECT FROM location_record LIMIT 1', values: [] }),
    0,
  )
  private readonly statuses = new SharedRead(() => this.ask<ChainStatusRow>(CHAIN_STATUSES), 0)
  private readonly states = new SharedRead(() => this.readStates(), 0)
  private readonly extent = new SharedRead(() => this.readExtent(), EXTENT_SHARED_MS)

  /**
   * @param onError receives the errors of idle connections, which are replaced, and of servers that are left
   *   out
   * @param readUrls connection strings of the replicas
   */
  constructor(
    databaseUrl: string,
    onError: (error: Error) => void,
    options: PoolConfig = {},
    readUrls: readonly string[] = [],
  ) {
    this.servers = new DatabaseServers(databaseUrl, readUrls, onError)
    this.vital = apiConnections(4, options)
    this.shared = apiConnections(4, options)
    this.lists = apiConnections(LISTS, options)
    this.turns = new Turns(
      { all: LISTS * this.servers.readers, each: LISTS_EACH, ...WAITING },
      busyWith(
        'Too many of your requests are running. Retry after they have finished',
        'Too many requests are queued for the database.',
      ),
    )
  }

  /**
   * Returns this store for the work of a request: its reads use the share of the client, count as its cost,
   * and stop when the request does.
   */
  of(work: Work): Store {
    return Object.assign(Object.create(this) as Store, { work })
  }

  /** Waits until the primary has all migrations. Until then, errors about missing columns are outages. */
  async awaitMigrations(log: Logger, signal: AbortSignal): Promise<void> {
    const read = (text: string) =>
      this.servers.query<{ name: string }>(this.vital, { text, values: [] }, signal)
    this.servers.isMigrated = await awaitMigrations(read, log, signal)
  }

  async close(): Promise<void> {
    await this.servers.close()
  }

  /**
   * Returns the connections to each server, and the number of requests that wait for one, which any server
   * may serve.
   */
  connections(): [server: string, states: Readonly<Record<string, number>>][] {
    return [...this.servers.connections(), ['any', { waiting: this.turns.waiting }]]
  }

  /** True if the database responds, at least to reads, and is migrated. */
  async ping(): Promise<boolean> {
    return this.pinged.fresh().then(
      () => true,
      () => false,
    )
  }

  /**
   * Reads up to `limit` records in a total order, by default newest first; fewer if they are large, with the
   * position of the next ones.
   */
  async page(query: RecordQuery): Promise<RecordPage> {
    const { limit, sort = NEWEST_FIRST } = query
    const { rows, isCut } = await this.list({ ...query, limit: limit + 1 })
    return pageOf(rows, limit, sort, isCut || rows.length > limit)
  }

  private async list(query: RecordQuery): Promise<ReadRecords> {
    const extent = isNewestOfPlace(query) ? await this.extent.get() : undefined
    return extent && extent.total >= LEAST_RECORDS
      ? listByWindows(query, extent, {
          list: (part, window) => this.listIn(part, window),
          count: (filter, cap, window) => this.countRecords(filter, cap, window),
        })
      : this.listIn(query)
  }

  private async listIn(query: RecordQuery, window?: TimeWindow): Promise<ReadRecords> {
    const statement = listQuery(query, window)
    const [row] = await this.run<{ lines: string | null; found?: number }>(statement, true, remedyOf(query))
    const { lines, found = 0 } = row!
    const rows = readLines(lines, !query.withGeometry && !query.withProvenance)
    return { rows, isCut: rows.length < found }
  }

  /** Reads the number of records, and the times of the first and the last; undefined if there are none. */
  async readExtent(): Promise<Extent | undefined> {
    const [row] = await this.run<{ total: number | null; first: Date | null; last: Date | null }>({
      text: `SELECT (SELECT sum(total) FROM record_state)::float8 AS total, (SELECT min(timestamp) FROM location_record) AS first, (SELECT max(timestamp) FROM location_record) AS last`,
      values: [],
    })
    return row?.total && row.first && row.last ? (row as Extent) : undefined
  }

  /** Returns the approximate number of records. */
  async size(): Promise<number> {
    return (await this.extent.get())?.total ?? 0
  }

  /** Counts matching records, up to `cap`, within a window of time if one is given. */
  async countRecords(filter: RecordFilter, cap: number, window?: TimeWindow): Promise<number> {
    return (await this.run<{ count: number }>(countQuery(filter, cap, window), true))[0]!.count
  }

  /** Reads the first records by planar distance from each of the boxes, at most `limit` for each. */
  async samplePlaces(filter: RecordFilter, boxes: readonly Bbox[], limit: number): Promise<PlacedRecord[]> {
    const [row] = await this.run<{ lines: string | null }>(sampleQuery(filter, boxes, limit), true)
    return readPlaces(row!.lines)
  }

  /**
   * Reads at least `limit` records around a position; undefined if one statement cannot find them
   * (sql-near.ts), or the database aborted it.
   */
  async recordsNear(
    at: readonly [number, number],
    limit: number,
    parts: RecordParts,
  ): Promise<NearRecords | undefined> {
    const statement = nearQuery(at, limit, parts)
    const reading = this.inTurn<{ meters: number; lines: string | null }>(statement)
    const [row] = await translated(
      this.servers,
      reading.catch((error: DatabaseError) => {
        if (isGivenUp(error)) return []
        throw error
      }),
      true,
    )
    return row?.lines ? { meters: row.meters, records: readNear(row.lines, parts) } : undefined
  }

  /**
   * Reads up to `limit` records after an ID, in the order of their IDs; fewer if they are large. `isLast`: no
   * others follow.
   */
  async placesAfter(
    filter: RecordFilter,
    after: string,
    limit: number,
  ): Promise<{ rows: PlacedRecord[]; isLast: boolean }> {
    const statement = placesQuery(filter, after, limit)
    const [row] = await this.run<{ lines: string | null; found: number }>(statement, true)
    const rows = readPlaces(row!.lines)
    return { rows, isLast: rows.length === row!.found && row!.found < limit }
  }

  /** Reads the record with this UID; the newest one if several chains have one. Uses the primary key. */
  async recordByUid(
    uid: string,
    chain?: string,
    wanted: Pick<RecordQuery, 'withGeometry' | 'withProvenance'> = {},
  ): Promise<RecordResult | undefined> {
    const ids = (chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain]).map(
      (slug) => `${slug}-${uid}`,
    )
    return (await this.page({ ids, limit: 1, ...wanted })).rows[0]
  }

  /**
   * Returns the slugs of the other chains on which an attestation with this UID was indexed, in the order of
   * the table.
   */
  async otherChainsOf(uid: string, chain: string): Promise<string[]> {
    const slugs = CHAINS.map(({ slug }) => slug).filter((slug) => slug !== chain)
    const rows = await this.query<{ chain: string }>(
      `SELECT DISTINCT chain FROM attestation_event WHERE chain = ANY($1) AND uid = $2 AND kind = 'ATTESTED'`,
      [slugs, uid.toLowerCase()],
    )
    return slugs.filter((slug) => rows.some(({ chain }) => chain === slug))
  }

  /**
   * Explains why the attestation with this UID has no record; undefined if there is no such unreadable
   * attestation.
   */
  async unreadable(uid: string, chain?: string): Promise<string | undefined> {
    const [row] = await this.run<{ chain: string; problem: string }>(
      {
        text: `SELECT chain, problem FROM attestation_event WHERE chain = ANY($1) AND uid = $2 AND kind = 'ATTESTED' AND problem IS NOT NULL LIMIT 1`,
        values: [chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain], uid.toLowerCase()],
      },
      true,
      RETRY,
    )
    return (
      row &&
      `Attestation ${uid} on ${row.chain} has no record, because it cannot be decoded: ` +
        `${shownProblem(row.problem)}`
    )
  }

  /**
   * Reads the state of the data and the number of records by chain, which the database maintains as records
   * change.
   */
  async recordStates(): Promise<RecordState[]> {
    return (await this.states.fresh()).states
  }

  /** Returns 22 characters that identify the state of the data. */
  async stateTag(): Promise<string> {
    return (await this.states.fresh()).tag
  }

  private async readStates(): Promise<{ states: RecordState[]; tag: string }> {
    const states = await this.run<RecordState>(RECORD_STATES)
    const hash = createHash('sha256')
    for (const { chain, revision, since } of states) hash.update(`${chain} ${revision} ${since.getTime()};`)
    return { states, tag: hash.digest('base64url').slice(0, 22) }
  }

  /** Reads an attestation as the input of a computation. */
  inputByUid(chain: string, uid: string, withGeometry: boolean): Promise<InputRow | undefined> {
    return this.inputs.read(`${chain}-${uid}`, withGeometry)
  }

  /** Reads the indexed state of a chain; undefined before its indexer has stored any. */
  async indexState(chain: string): Promise<IndexState | undefined> {
    const { text, values } = indexStateQuery(chain)
    const [row] = await this.query<IndexState>(text, values)
    return row
  }

  /** True while the indexer reads the history of a schema of this chain, or of the given one. */
  async readsHistory(chain: string, schema?: string): Promise<boolean> {
    const { text, values } = unreadHistoryQuery(chain, schema)
    return (await this.query(text, values)).length > 0
  }

  /** True if the indexer reads a schema on this chain. */
  async followsSchema(chain: string, schema: string): Promise<boolean> {
    const { text, values } = followedSchemaQuery(chain, schema)
    return (await this.query(text, values)).length > 0
  }

  /** Reads the location schemas found in the chains' registries, in the order of registration. */
  foundSchemas(): Promise<FoundSchemaRow[]> {
    return this.run<FoundSchemaRow>(FOUND_SCHEMAS, true, RETRY)
  }

  /** Reads how far each chain is indexed. */
  chainStatuses(): Promise<ChainStatusRow[]> {
    return this.statuses.fresh()
  }

  /**
   * Reads the changes of each chain's records after these positions: at most `limit` per chain, none beyond
   * `upTo`, all from one snapshot.
   */
  changesAfter(
    finality: Finality,
    after: ChangeIds,
    upTo: ChangeIds | undefined,
    limit: number,
  ): Promise<ChainChanges[]> {
    return this.run<ChainChanges>(changesQuery(finality, after, upTo, limit))
  }

  /**
   * Reads the records (`<chain>-<uid>`) that still exist, in no particular order. With `final`, hides
   * revocations that are not final.
   */
  async changedRecords(finality: Finality, ids: readonly string[]): Promise<ChangedRecord[]> {
    const records = await this.run<ChangedRecord>(changedRecordsQuery(finality, ids))
    return records.map((record) => ({ ...record, text: written(record.text) }))
  }

  /** Reads which of the records (`<chain>-<uid>`) lie in which of the boxes. */
  recordsInBoxes(ids: readonly string[], boxes: readonly Bbox[]): Promise<{ place: number; id: string }[]> {
    return this.run<{ place: number; id: string }>(boxesQuery(ids, boxes))
  }

  /** Reads counts over all records as of `now`, in one snapshot. */
  async stats(now: Date): Promise<Stats> {
    return statsOf(await this.run<ChainCounts>(statsQuery(now)))
  }

  /**
   * Runs a statement on a server that has everything that was ever shown.
   * @param heavy true for a client's own statement, which may be slow; false for one that runs once for all
   *   requests awaiting it
   * @param remedy for clients whose statement timed out
   */
  run<Row extends object>(statement: Statement, heavy = false, remedy?: string): Promise<Row[]> {
    return translated(
      this.servers,
      heavy ? this.inTurn<Row>(statement) : this.servers.read<Row>(this.shared, statement),
      heavy,
      remedy,
    )
  }

  /** Like `run` with `heavy`, but on the primary: for data that replicas may not have yet. */
  runOnPrimary<Row extends object>(statement: Statement, remedy?: string): Promise<Row[]> {
    return translated(this.servers, this.inTurn<Row>(statement, 'query'), true, remedy)
  }

  /** Runs a statement of a client when its turn comes. It stops when the client's work ends. */
  private async inTurn<Row extends object>(
    statement: Statement,
    by: 'read' | 'query' = 'read',
  ): Promise<Row[]> {
    const { signal } = this.work
    signal.throwIfAborted()
    return this.turns.take(this.work, () => this.servers[by]<Row>(this.lists, statement, signal))
  }

  /** Runs a statement of the service itself, which reads of clients cannot delay. */
  private ask<Row extends object>(statement: Statement): Promise<Row[]> {
    return translated(this.servers, this.servers.read<Row>(this.vital, statement), false)
  }

  /** Runs a statement on the primary, for data that a signature depends on. */
  private query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return translated(this.servers, this.servers.query<Row>(this.vital, { text, values }), false)
  }
}

/** True if a list can be read window by window: the newest records of a place, and not too many. */
function isNewestOfPlace({ bbox, reaching, sort = NEWEST_FIRST, limit, offset = 0 }: RecordQuery): boolean {
  return (
    (bbox ?? reaching) !== undefined &&
    sort.by === 'timestamp' &&
    sort.descending &&
    limit + offset <= MOST_WANTED
  )
}

/** Remedy for a list that takes too long; undefined for that of `shownError`. */
function remedyOf({ ids, offset = 0 }: RecordQuery): string | undefined {
  if (ids) return RETRY
  return offset >= DEEP_OFFSET
    ? 'Pass next_cursor of the previous page as cursor instead of offset, or split the records by time.'
    : undefined
}

/** Awaits a result of the database. Its errors are those that clients see (shownError). */
export async function translated<T>(
  servers: DatabaseServers,
  reading: Promise<T>,
  heavy: boolean,
  remedy?: string,
): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw shownError(error as DatabaseError, heavy, remedy, servers.isMigrated)
  }
}
