import { createHash } from 'node:crypto'
import { version } from '../../package.json'
import type { PoolConfig } from 'pg'
import { CHAINS } from '../../src/chains'
import { isUnmigrated } from '../../src/postgres'
import { shownProblem, UnavailableError } from '../http/problems'
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
import { countQuery, listQuery, readLines } from './sql'
import { nearQuery, placesQuery, readNear, readPlaces, sampleQuery } from './sql-near'
import {
  type Bbox,
  type NearRecords,
  type PlacedRecord,
  type RecordFilter,
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
  isOutage,
  isTimeout,
  type DatabaseError,
} from './pool'
import { DatabaseServers } from './servers'
import { listByWindows, type Extent, MOST_WANTED, LEAST_RECORDS } from './windows'
import {
  type ChainStatusRow,
  statsQuery,
  FOUND_SCHEMAS,
  statsOf,
  type Stats,
  indexStateQuery,
  type ChainCounts,
  CHAIN_STATUSES,
  type IndexState,
  type FoundSchemaRow,
  RECORD_STATES,
  type RecordState,
} from './sql-status'
import { Turns } from '../http/turns'

/** How long the extent of the records is reused: it only decides how the newest of a place are looked for. */
const EXTENT_SHARED_MS = 10_000
/** Connections to each server for the reads of clients. */
const LISTS = 8
/** How many of them one client may have, by how long its last statements took. */
const LISTS_EACH = { quick: 6, slow: 2 }
/**
 * Reads that may wait for one: browsers and GIS send dozens at once, and many people may have one address.
 * Milliseconds that a read waits: longer than a statement takes, so that each client gets its turn.
 */
const WAITING = { waiting: 1_000, waitingEach: 200, waitMs: STATEMENT_TIMEOUT_MS + 1_000 }

/** Every SQL statement of the API. Throws UnavailableError when the database does not answer. */
export class Store {
  readonly servers: DatabaseServers
  /** For what operators and computations need: nothing that clients read makes it wait. */
  private readonly vital: PoolConfig
  /** For what is read once for all that wait for it. */
  private readonly shared: PoolConfig
  /** For the reads of clients, which can be slow: each client has a share of them. */
  private readonly lists: PoolConfig
  private readonly turns: Turns
  private readonly work: Work = OWN_WORK
  private readonly inputs = new InputLookups((text, values) => this.query(text, values))
  private readonly pinged = this.readOnce(() =>
    this.ask({ text: 'SELECT FROM location_record LIMIT 1', values: [] }),
  )
  private readonly statuses = this.readOnce(() => this.ask<ChainStatusRow>(CHAIN_STATUSES))
  private readonly states = this.readOnce(() => this.run<RecordState>(RECORD_STATES))
  private readonly extent = new SharedRead(() => this.readExtent(), EXTENT_SHARED_MS)

  /**
   * @param onError gets the errors of idle connections, which are replaced, and of servers that are left out
   * @param readUrls of replicas
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
        'Too many of your requests are answered at the same time; wait for them',
        'Too many requests wait for the database.',
      ),
    )
  }

  /**
   * This store for the work of a request: its reads take the share of the client, count as its cost, and stop
   * when the request does.
   */
  of(work: Work): Store {
    return Object.assign(Object.create(this) as Store, { work })
  }

  async close(): Promise<void> {
    await this.servers.close()
  }

  /** Connections to each server, and requests that wait for one. Their turn may come at any server. */
  connections(): [server: string, states: Readonly<Record<string, number>>][] {
    return [...this.servers.connections(), ['any', { waiting: this.turns.waiting }]]
  }

  /** Whether the database answers, to reads at least, and is migrated. */
  async ping(): Promise<boolean> {
    return this.pinged.fresh().then(
      () => true,
      () => false,
    )
  }

  /** Records in a total order, newest first unless asked otherwise. */
  async listRecords(query: RecordQuery): Promise<RecordResult[]> {
    const extent = isNewestOfPlace(query) ? await this.extent.get() : undefined
    return extent && extent.total >= LEAST_RECORDS
      ? listByWindows(query, extent, (part, window) => this.list(part, window))
      : this.list(query)
  }

  private async list(query: RecordQuery, window?: TimeWindow): Promise<RecordResult[]> {
    const { text, values } = listQuery(query, window)
    const [row] = await this.run<{ lines: string | null }>({ text, values }, true)
    return readLines(row!.lines, !query.withGeometry && !query.withProvenance)
  }

  /** How many records there are, and the times of the first and the last; undefined where there is none. */
  async readExtent(): Promise<Extent | undefined> {
    const [row] = await this.run<{ total: number | null; first: Date | null; last: Date | null }>({
      text: `SELECT (SELECT sum(total) FROM record_state)::float8 AS total, (SELECT min(timestamp) FROM location_record) AS first, (SELECT max(timestamp) FROM location_record) AS last`,
      values: [],
    })
    return row?.total && row.first && row.last ? (row as Extent) : undefined
  }

  /** About how many records there are. */
  async size(): Promise<number> {
    return (await this.extent.get())?.total ?? 0
  }

  /** How many records match, counted up to `cap`. */
  async countRecords(filter: RecordFilter, cap: number): Promise<number> {
    const { text, values } = countQuery(filter, cap)
    return (await this.run<{ count: number }>({ text, values }, true))[0]!.count
  }

  /**
   * The first records in the order of distances from each of these boxes on the plane, `limit` of each at
   * most.
   */
  samplePlaces(filter: RecordFilter, boxes: readonly Bbox[], limit: number): Promise<PlacedRecord[]> {
    return this.places(sampleQuery(filter, boxes, limit))
  }

  /**
   * The records round a position, `limit` at least; undefined where one statement cannot tell (sql.ts), or
   * the database gave it up.
   */
  async recordsNear(
    at: readonly [number, number],
    limit: number,
    parts: RecordParts,
  ): Promise<NearRecords | undefined> {
    const statement = nearQuery(at, limit, parts)
    const reading = this.inTurn<{ meters: number; lines: string | null }>(statement)
    const [row] = await translated(
      reading.catch((error: DatabaseError) => {
        if (isGivenUp(error)) return []
        throw error
      }),
      true,
    )
    return row?.lines ? { meters: row.meters, records: readNear(row.lines, parts) } : undefined
  }

  /** Records after an id, in the order of their ids. */
  placesAfter(filter: RecordFilter, after: string, limit: number): Promise<PlacedRecord[]> {
    return this.places(placesQuery(filter, after, limit))
  }

  private async places(statement: Statement): Promise<PlacedRecord[]> {
    const [row] = await this.run<{ lines: string | null }>(statement, true)
    return readPlaces(row!.lines)
  }

  /** The record with this UID; the newest where several chains have one. Uses the primary key. */
  async recordByUid(
    uid: string,
    chain?: string,
    wanted: Pick<RecordQuery, 'withGeometry' | 'withProvenance'> = {},
  ): Promise<RecordResult | undefined> {
    const ids = (chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain]).map(
      (slug) => `${slug}-${uid}`,
    )
    return (await this.listRecords({ ids, limit: 1, ...wanted }))[0]
  }

  /** The slugs of the chains on which an attestation with this UID was read, in the order of the table. */
  async chainsOf(uid: string): Promise<string[]> {
    const slugs = CHAINS.map(({ slug }) => slug)
    const rows = await this.query<{ chain: string }>(
      `SELECT DISTINCT chain FROM attestation_event WHERE chain = ANY($1) AND uid = $2 AND kind = 'ATTESTED'`,
      [slugs, uid.toLowerCase()],
    )
    return slugs.filter((slug) => rows.some(({ chain }) => chain === slug))
  }

  /** Why the attestation with this UID has no record; undefined where there is none that cannot be read. */
  async unreadable(uid: string, chain?: string): Promise<string | undefined> {
    const [row] = await this.run<{ chain: string; problem: string }>(
      {
        text: `SELECT chain, problem FROM attestation_event WHERE chain = ANY($1) AND uid = $2 AND kind = 'ATTESTED' AND problem IS NOT NULL LIMIT 1`,
        values: [chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain], uid.toLowerCase()],
      },
      true,
    )
    return (
      row &&
      `Attestation ${uid} on ${row.chain} has no record, as it cannot be read: ${shownProblem(row.problem)}`
    )
  }

  /**
   * The state of the data, and how many records there are, by chain; kept by the database as records change.
   */
  recordStates(): Promise<RecordState[]> {
    return this.states.fresh()
  }

  /** Names the state of the data, in 22 characters. */
  async stateTag(): Promise<string> {
    // Another version of the program may show the same data in another way.
    const hash = createHash('sha256').update(version)
    for (const { chain, revision, since } of await this.recordStates())
      hash.update(`${chain} ${revision} ${since.getTime()};`)
    return hash.digest('base64url').slice(0, 22)
  }

  /** An attestation as the input of a computation. */
  inputByUid(chain: string, uid: string, withGeometry: boolean): Promise<InputRow | undefined> {
    return this.inputs.read(`${chain}-${uid}`, withGeometry)
  }

  /** The state of a chain's copy; undefined before its indexer has noted any. */
  async indexState(chain: string): Promise<IndexState | undefined> {
    const { text, values } = indexStateQuery(chain)
    const [row] = await this.query<IndexState>(text, values)
    return row
  }

  /** The location schemas that were found in the chains' registries, in the order of their registration. */
  foundSchemas(): Promise<FoundSchemaRow[]> {
    return this.run<FoundSchemaRow>(FOUND_SCHEMAS, true)
  }

  /** How far the copy of each chain goes. */
  chainStatuses(): Promise<ChainStatusRow[]> {
    return this.statuses.fresh()
  }

  /**
   * What changed in each chain's records after these places, `limit` changes a chain at most, none beyond
   * `upTo`; all of one moment.
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
   * These records (`<chain>-<uid>`), where they still are, in no order. final: without revocations that are
   * not.
   */
  changedRecords(finality: Finality, ids: readonly string[]): Promise<ChangedRecord[]> {
    return this.run<ChangedRecord>(changedRecordsQuery(finality, ids))
  }

  /** Which of these records (`<chain>-<uid>`) lie in which of the boxes. */
  recordsInBoxes(ids: readonly string[], boxes: readonly Bbox[]): Promise<{ place: number; id: string }[]> {
    return this.run<{ place: number; id: string }>(boxesQuery(ids, boxes))
  }

  /** Counts over all records as of `now`, all in one snapshot. */
  async stats(now: Date): Promise<Stats> {
    return statsOf(await this.run<ChainCounts>(statsQuery(now)))
  }

  /**
   * Runs a statement on a server that has all that anybody was shown before.
   * @param heavy true if it is a client's, which can make it slow; else it is read once for all that wait
   */
  run<Row extends object>(statement: Statement, heavy = false): Promise<Row[]> {
    return translated(
      heavy ? this.inTurn<Row>(statement) : this.servers.read<Row>(this.shared, statement),
      heavy,
    )
  }

  /** Runs a client's statement when it is its turn, until its work ends. */
  private inTurn<Row extends object>(statement: Statement): Promise<Row[]> {
    const { signal } = this.work
    return this.turns.take(this.work, () => this.servers.read<Row>(this.lists, statement, signal))
  }

  /** Runs a statement of the service itself, which nothing that clients read makes wait. */
  private ask<Row extends object>(statement: Statement): Promise<Row[]> {
    return translated(this.servers.read<Row>(this.vital, statement), false)
  }

  /** A read that starts after each call, one at a time for all calls. */
  private readOnce<T>(read: () => Promise<T>): SharedRead<T> {
    return new SharedRead(read, 0)
  }

  /** Runs a statement on the primary: what a signature depends on. */
  private query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return translated(this.servers.query<Row>(this.vital, { text, values }), false)
  }
}

/** Whether a list can be read window by window: the newest records of a place, and not too many. */
function isNewestOfPlace({ bbox, reaching, sort = NEWEST_FIRST, limit, offset = 0 }: RecordQuery): boolean {
  return (
    (bbox ?? reaching) !== undefined &&
    sort.by === 'timestamp' &&
    sort.descending &&
    limit + offset <= MOST_WANTED
  )
}

/**
 * What the database answers; its outages as an UnavailableError.
 * @param heavy whether clients can make it slow
 */
export async function translated<T>(reading: Promise<T>, heavy: boolean): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (heavy && isTimeout(error as DatabaseError))
      throw new UnavailableError(
        `The database did not finish this in ${STATEMENT_TIMEOUT_MS / 1000} seconds. Narrow it by chain, prover, a shorter time or a smaller bbox, or sort by timestamp.`,
        { cause: error },
      )
    if (isUnmigrated(error)) throw new UnavailableError('The database is not migrated yet.', { cause: error })
    if (isOutage(error as DatabaseError))
      throw new UnavailableError('The database does not answer right now.', { cause: error })
    throw error
  }
}
