import { setImmediate } from 'node:timers/promises'
import { Pool, type PoolConfig } from 'pg'
import { UnavailableError } from './problems'

/** A location record as the Records API answers it (INTERFACE.md, Location record); addresses lower-case. */
export interface RecordRow {
  uid: string
  chain: string
  prover: string
  subject: string
  timestamp: Date
  event_timestamp: Date
  srs: string
  location_type: string
  location: string
  longitude: number | null
  latitude: number | null
  recipe_types: string[]
  recipe_payloads: string[]
  media_types: string[]
  media_data: string[]
  memo: string
  revoked: boolean
  created_at: Date
  updated_at: Date
}

/** What a computation needs of an attestation. */
export interface InputRow {
  revoked: boolean
  /** Unix seconds; 0 = never */
  expirationTime: bigint
  blockNumber: number
  /** GeoJSON geometry as text; null where it could not be read, or was not asked for */
  geometry: string | null
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

/** minLng, minLat, maxLng, maxLat in degrees; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
export type Bbox = readonly [number, number, number, number]

export interface RecordFilter {
  chain?: string
  /** lower-case, as the next */
  prover?: string
  subject?: string
  /** exclusive, as the next */
  after?: Date
  before?: Date
  bbox?: Bbox
  limit: number
  offset: number
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
  repairedEvents: number
}

const RECORD_COLUMNS = `uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
  longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
  memo, revoked, created_at, updated_at`

/** A statement that runs longer is stopped by the database. */
const STATEMENT_TIMEOUT_MS = 5_000
/** Queries for inputs of computations that run at once, and the inputs that one asks for: more wait and go together. */
const LOOKUPS_AT_ONCE = 2
const LOOKUPS_IN_QUERY = 500

/** Every SQL statement of the API. Throws UnavailableError when the database does not answer. */
export class Store {
  private readonly pool: Pool
  private readonly lookups: { id: string; withGeometry: boolean; resolve: (row: InputRow | undefined) => void; reject: (error: unknown) => void }[] = []
  private lookupsRunning = 0

  /** @param onError told of connections lost while idle, which need no other care */
  constructor(databaseUrl: string, onError: (error: Error) => void, options: PoolConfig = {}) {
    this.pool = new Pool({
      connectionString: databaseUrl,
      max: 10,
      connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
      application_name: 'api',
      ...options,
    })
    this.pool.on('error', onError)
  }

  close(): Promise<void> {
    return this.pool.end()
  }

  /** Whether the database answers and is migrated. */
  async ping(): Promise<boolean> {
    return this.query('SELECT FROM location_record LIMIT 1', []).then(
      () => true,
      () => false,
    )
  }

  /** Records newest first, in a total order. */
  listRecords(filter: RecordFilter): Promise<RecordRow[]> {
    const { text, values } = listQuery(filter)
    return this.query<RecordRow>(text, values)
  }

  /** The record with this UID, the newest where several chains have one. Lives by the index (uid). */
  async recordByUid(uid: string, chain?: string): Promise<RecordRow | undefined> {
    const rows = await this.query<RecordRow>(
      `SELECT ${RECORD_COLUMNS} FROM location_record WHERE uid = $1 AND ($2::text IS NULL OR chain = $2)
       ORDER BY timestamp DESC, id DESC LIMIT 1`,
      [uid, chain ?? null],
    )
    return rows[0]
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
      const rows = await this.query<Omit<InputRow, 'expirationTime'> & { id: string; expirationTime: string }>(
        `SELECT id, revoked, expiration_time::text AS "expirationTime", block_number AS "blockNumber", CASE WHEN id = ANY($2) THEN geometry END AS geometry
         FROM location_record WHERE id = ANY($1)`,
        [[...new Set(batch.map(({ id }) => id))], batch.filter(({ withGeometry }) => withGeometry).map(({ id }) => id)],
      )
      const found = new Map(rows.map(({ id, ...row }) => [id, { ...row, expirationTime: BigInt(row.expirationTime) }]))
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
    const blocks = (ranges: string) => `(SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(${ranges}) AS r)::float8`
    return this.query<ChainStatusRow>(
      `SELECT chain, head_height AS "headBlock", head_timestamp AS "headTime", checked_at AS "checkedAt", indexed_height AS "indexedBlock",
         indexed_timestamp AS "indexedTime", ${blocks('reread')} AS "rereadBlocks", ${blocks('proven')} AS "provenBlocks",
         unproven_blocks::float8 AS "unprovenBlocks", repaired_events::float8 AS "repairedEvents" FROM chain_status`,
      [],
    )
  }

  /** Counts over all records, as of `now`. */
  async stats(now: Date): Promise<Stats> {
    const rows = await this.query<{ chain: string; total: number; day: number; week: number; month: number; revoked: number }>(
      `SELECT chain, count(*)::int AS total,
         count(*) FILTER (WHERE timestamp > $1::timestamptz - interval '24 hours')::int AS day,
         count(*) FILTER (WHERE timestamp > $1::timestamptz - interval '7 days')::int AS week,
         count(*) FILTER (WHERE timestamp > $1::timestamptz - interval '30 days')::int AS month,
         count(*) FILTER (WHERE revoked)::int AS revoked
       FROM location_record GROUP BY chain`,
      [now],
    )
    const sum = (column: 'total' | 'day' | 'week' | 'month' | 'revoked') => rows.reduce((total, row) => total + row[column], 0)
    return {
      total: sum('total'),
      byChain: Object.fromEntries(rows.map((row) => [row.chain, row.total])),
      last24Hours: sum('day'),
      last7Days: sum('week'),
      last30Days: sum('month'),
      revoked: sum('revoked'),
    }
  }

  private async query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    try {
      return (await this.pool.query<Row>(text, values)).rows
    } catch (error) {
      if ((error as DatabaseError).code === '42P01') throw new UnavailableError('The database is not migrated yet.', { cause: error })
      if (isOutage(error as DatabaseError)) throw new UnavailableError('The database does not answer right now.', { cause: error })
      throw error
    }
  }
}

/**
 * The query of a list. Lives by the indexes (timestamp, id), (chain, timestamp), (prover, timestamp), (subject, timestamp)
 * and the GiST index on geom (store.test.ts holds the plans to that).
 */
export function listQuery(filter: RecordFilter): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const where: string[] = []
  if (filter.chain !== undefined) where.push(`chain = ${value(filter.chain)}`)
  if (filter.prover !== undefined) where.push(`prover = ${value(filter.prover)}`)
  if (filter.subject !== undefined) where.push(`subject = ${value(filter.subject)}`)
  if (filter.after !== undefined) where.push(`timestamp > ${value(filter.after)}`)
  if (filter.before !== undefined) where.push(`timestamp < ${value(filter.before)}`)
  if (filter.bbox !== undefined) {
    const corner = (x: number, y: number) => `ST_MakePoint(${value(x)}, ${value(y)})`
    // ST_Envelope gives a box without width or height as the line or point that it is; ST_MakeEnvelope's meets nothing.
    const boxes = boxesOf(filter.bbox).map(([w, s, e, n]) => `ST_Intersects(geom, ST_Envelope(ST_SetSRID(ST_MakeLine(${corner(w, s)}, ${corner(e, n)}), 4326)))`)
    where.push(`(${boxes.join(' OR ')})`)
  }
  const text = `SELECT ${RECORD_COLUMNS} FROM location_record
    ${where.length ? `WHERE ${where.join(' AND ')}` : ''}
    ORDER BY timestamp DESC, id DESC
    LIMIT ${value(filter.limit)} OFFSET ${value(filter.offset)}`
  return { text, values }
}

/** As pg throws them, with Postgres' code. */
export interface DatabaseError extends Error {
  code?: string
}

/** Connection lost or refused (08...), shutting down (57P..), too many clients (53...), a statement stopped for its time (57014). */
export function isOutage({ code, message }: DatabaseError): boolean {
  if (code) return /^(08|53|57)/.test(code) || /^E[A-Z]+$/.test(code)
  return /timeout|terminated/i.test(message)
}

/**
 * The bbox as boxes on the plane: two when it crosses the antimeridian; and where it ends there or at a pole, the same
 * places under their other names (180 is -180, and a pole has every longitude).
 */
export function boxesOf([minLng, minLat, maxLng, maxLat]: Bbox): Bbox[] {
  const boxes: Bbox[] = []
  if (minLng > maxLng) boxes.push([minLng, minLat, 180, maxLat], [-180, minLat, maxLng, maxLat])
  else {
    boxes.push([minLng, minLat, maxLng, maxLat])
    if (minLng === -180 && maxLng < 180) boxes.push([180, minLat, 180, maxLat])
    if (maxLng === 180 && minLng > -180) boxes.push([-180, minLat, -180, maxLat])
  }
  if (maxLat === 90) boxes.push([-180, 90, 180, 90])
  if (minLat === -90) boxes.push([-180, -90, 180, -90])
  return boxes
}
