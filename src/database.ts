import type { Logger } from '@subsquid/logger'
import type { Store } from '@subsquid/typeorm-store'
import { Pool, type PoolClient } from 'pg'
import type { AttestationBody } from './bodies'
import { stateSchema, type Chain } from './chains'
import { ContentError, attempt, isolate } from './isolate'
import { AttestationEvent, EventKind, LocationRecord } from './model'
import {
  eventId,
  eventRow,
  project,
  recordId,
  requireBodies,
  type ChainEvent,
  type EventRow,
  type Projection,
  type RecordRow,
} from './project'

/** Every statement of ours that the indexer and its tools send to Postgres. */

/** Runs one statement and answers its rows. */
export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>

/** A stored event, as far as the audit compares it with the chain. */
export type StoredEvent = Pick<
  EventRow,
  | 'id'
  | 'kind'
  | 'uid'
  | 'schema_uid'
  | 'attester'
  | 'recipient'
  | 'block_number'
  | 'block_hash'
  | 'transaction_hash'
>

/** What replaying found: records that were not what the log says, now made so. */
export interface Replayed {
  /** Attestations looked at. */
  uids: number
  differing: { id: string; what: 'missing' | 'surplus' | 'different' }[]
  /** UIDs with events that a reorg may still take back: left as they are. */
  notFinal: string[]
}

/** The last block of a chain's copy that no reorg takes back. */
export interface ChainState {
  finalHeight: number
  finalHash: string
}

/** Records whose old state is kept by one statement: the largest take 25 MB each. */
const TRACKED_AT_ONCE = 10
/** Longest JSON text of one statement, in characters. */
const JSON_CHARACTERS = 8_000_000
/**
 * No statement that writes takes so long unless its content makes it: it is then cut off (57014, which isolate.ts takes for
 * poison). Waiting for a lock ends before that (55P03, which it does not): somebody else holds the table.
 */
const STATEMENT_SECONDS = 30
const LOCK_SECONDS = 10

type Class = typeof AttestationEvent | typeof LocationRecord

/** Few: the batches have their own, and an embedded database has one session for all. */
const MAX_CONNECTIONS = 2
/** Some hundred milliseconds of Postgres' time. */
export const CHANGES_FORGOTTEN_AT_ONCE = 10_000
/** What differs between a record and its replay by nature: when it was written. */
const NOT_REPLAYED = ['created_at', 'updated_at']

/** A connection of its own for what runs beside the batches. */
export class Database {
  private readonly pool: Pool

  constructor(url: string, onLost: (error: Error) => void) {
    this.pool = new Pool({ connectionString: url, max: MAX_CONNECTIONS, connectionTimeoutMillis: 10_000 })
    this.pool.on('error', onLost)
  }

  readonly query: Query = async <Row extends object>(sql: string, values?: unknown[]) =>
    (await this.pool.query<Row>(sql, values)).rows

  /** All of it or nothing. */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    // While it is checked out nobody else listens; what was under way fails by itself.
    let lost: Error | undefined
    const onError = (error: Error) => (lost = error)
    client.on('error', onError)
    try {
      await client.query('BEGIN')
      const result = await work(queryOf(client))
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch((failed: Error) => (lost ??= failed))
      throw error
    } finally {
      client.off('error', onError)
      client.release(lost)
    }
  }

  close(): Promise<void> {
    return this.pool.end()
  }
}

function queryOf(client: PoolClient): Query {
  return async <Row extends object>(sql: string, values?: unknown[]) =>
    (await client.query<Row>(sql, values)).rows
}

/**
 * Writes a batch into the transaction of evm-processor's store, in parts: while Postgres takes one, the next is projected.
 * A set of rows is one statement with one JSON text, several times as fast as TypeORM's inserts; what may be rolled back is
 * first told to the store's tracker of changes, as its own inserts do. (Both are private parts of typeorm-store 1.5.1:
 * test/indexer.test.ts rolls back what was written here.) What cannot be stored is isolated (isolate.ts) and withheld.
 */
export class BatchWriter {
  /** Of all that was written. */
  readonly total = { records: 0, problems: 0, withheld: 0, projectMs: 0 }
  private writing: Promise<unknown> | undefined
  private locked = false
  private readonly query: Query
  private readonly changes: StoreParts['changes']

  constructor(
    store: Store,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {
    const parts = store as unknown as StoreParts
    this.query = (sql, values) => parts.em().query(sql, values)
    this.changes = parts.changes
  }

  /** Resolves once these events, in chain order, are on their way; those before them are written then. */
  async write(events: readonly ChainEvent[], bodies: ReadonlyMap<string, AttestationBody>): Promise<void> {
    requireBodies(events, bodies)
    let ready: Prepared | ContentError | undefined = this.prepare(events, bodies)
    await this.lock()
    await this.writing
    const writing = isolate(
      this.query,
      events,
      async (part) => {
        const prepared = ready ?? this.prepare(part, bodies)
        ready = undefined
        if (prepared instanceof ContentError) throw prepared
        await this.insert(prepared)
      },
      (event, reason) => this.withhold(event, bodies, reason),
    )
    this.writing = writing.then((withheld) => {
      for (const [{ uid }, reason] of withheld) logWithheld(this.log, this.chain, uid, reason)
      this.total.withheld += withheld.length
    })
    this.writing.catch(() => {}) // thrown where it is awaited
  }

  /** Waits until all is written, and notes how far the chain's copy goes now; timestamp in Unix milliseconds. */
  async finish(last: { height: number; timestamp: number }): Promise<void> {
    await this.lock()
    await this.writing
    await this.query(
      `INSERT INTO chain_status (chain, indexed_height, indexed_timestamp) VALUES ($1, $2, $3)
       ON CONFLICT (chain) DO UPDATE SET indexed_height = excluded.indexed_height, indexed_timestamp = excluded.indexed_timestamp`,
      [this.chain.slug, last.height, new Date(last.timestamp)],
    )
  }

  /** Before anything else is written, as in every other transaction of ours: none ever waits for one that waits for it. */
  private async lock(): Promise<void> {
    if (this.locked) return
    this.locked = true
    await lockChain(this.query, this.chain)
    await limitStatements(this.query)
  }

  private prepare(
    events: readonly ChainEvent[],
    bodies: ReadonlyMap<string, AttestationBody>,
  ): Prepared | ContentError {
    const began = performance.now()
    try {
      const { events: rows, records, revocations } = project(this.chain.slug, events, bodies, new Date())
      return { rows, records, revocations, rowTexts: jsonTexts(rows), recordTexts: jsonTexts(records) }
    } catch (error) {
      return new ContentError((error as Error).message)
    } finally {
      this.total.projectMs += performance.now() - began
    }
  }

  private async insert({ rows, records, revocations, rowTexts, recordTexts }: Prepared): Promise<void> {
    await this.changes?.trackInsert(AttestationEvent, rows)
    for (const text of rowTexts) await this.query(insertSql('attestation_event'), [text])
    if (records.length) await this.changes?.trackInsert(LocationRecord, records)
    for (const text of recordTexts) await this.query(insertSql('location_record'), [text])
    if (revocations.length) await this.revoke(revocations)
    this.total.records += records.length
    this.total.problems += rows.filter(({ problem }) => problem).length
  }

  /** Writes the event alone: with what was attested, if that can be stored, else without. A revocation always can be. */
  private async withhold(
    event: ChainEvent,
    bodies: ReadonlyMap<string, AttestationBody>,
    reason: Error,
  ): Promise<void> {
    if (event.kind === EventKind.REVOKED) throw reason
    await insertWithheld(this.query, this.chain, event, bodies.get(event.uid), reason, this.changes)
  }

  private async revoke(revocations: Projection['revocations']): Promise<void> {
    const known = await this.query<{ id: string }>('SELECT id FROM location_record WHERE id = ANY($1)', [
      revocations.map(({ id }) => id),
    ])
    if (known.length === 0) return
    // What it may roll back it keeps whole, of as many records as it is told of in one text.
    if (this.changes)
      for (let i = 0; i < known.length; i += TRACKED_AT_ONCE)
        await this.changes.trackUpsert(LocationRecord, known.slice(i, i + TRACKED_AT_ONCE))
    await this.query(
      `UPDATE location_record AS record SET revoked = true, revocation_time = given.revocation_time, updated_at = given.updated_at
       FROM json_populate_recordset(NULL::location_record, $1) AS given WHERE record.id = given.id`,
      [JSON.stringify(revocations)],
    )
  }
}

/** A part of a batch, ready to be sent. */
interface Prepared {
  rows: EventRow[]
  records: RecordRow[]
  revocations: Projection['revocations']
  rowTexts: string[]
  recordTexts: string[]
}

/** Rows as JSON arrays of some megabytes each: Postgres takes a gigabyte, a JavaScript string half of one. */
function jsonTexts(rows: readonly object[]): string[] {
  const texts: string[] = []
  let part: string[] = []
  let length = 0
  for (const row of rows) {
    const text = JSON.stringify(row)
    if (length + text.length > JSON_CHARACTERS && part.length) {
      texts.push(`[${part.join()}]`)
      part = []
      length = 0
    }
    part.push(text)
    length += text.length
  }
  if (part.length) texts.push(`[${part.join()}]`)
  return texts
}

/** Throws a ContentError where the text would be longer than a string can be. */
function contentJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    throw new ContentError((error as Error).message)
  }
}

/** Writes an Attested without its record; without its body, too, where that cannot be stored. Throws when even that fails: then the content is not the cause. */
async function insertWithheld(
  query: Query,
  chain: Chain,
  event: ChainEvent,
  body: AttestationBody | undefined,
  reason: Error,
  changes?: StoreParts['changes'],
): Promise<void> {
  const problem = withheldProblem(reason)
  let failure: Error | undefined
  for (const kept of body ? [body, undefined] : [undefined]) {
    failure = await attempt(query, async () => {
      const row = eventRow(chain.slug, event, kept, problem, true)
      await changes?.trackInsert(AttestationEvent, [row])
      await query(insertSql('attestation_event'), [contentJson([row])])
    })
    if (!failure) return
  }
  throw failure!
}

function withheldProblem(reason: Error): string {
  return `it could not be stored: ${reason.message.slice(0, 300)}`
}

function logWithheld(log: Logger, chain: Chain, uid: string, reason: Error): void {
  log.error(
    { chain: chain.slug, uid, reason: reason.message.slice(0, 300) },
    'an attestation could not be stored: it is withheld, all else goes on',
  )
}

/** Whether the batch of this store is of final blocks. */
export function isFinal(store: Store): boolean {
  return (store as unknown as StoreParts).changes === undefined
}

interface StoreParts {
  em(): { query<Row>(sql: string, values?: unknown[]): Promise<Row[]> }
  /** Absent while blocks are final. */
  changes?: {
    trackInsert(type: Class, rows: { id: string }[]): Promise<void>
    trackUpsert(type: Class, rows: { id: string }[]): Promise<void>
  }
}

/** One writer of a chain's rows at a time, until the transaction ends: batches, repairs, replays. */
async function lockChain(query: Query, chain: Chain): Promise<void> {
  await query('SELECT pg_advisory_xact_lock(hashtext($1))', [`attestations of ${chain.slug}`])
}

/** Until the end of this transaction. */
async function limitStatements(query: Query): Promise<void> {
  await query(
    `SELECT set_config('statement_timeout', '${STATEMENT_SECONDS}s', true), set_config('lock_timeout', '${LOCK_SECONDS}s', true)`,
  )
}

/** Inserts rows given as a JSON array of objects named as the columns. */
function insertSql(table: 'attestation_event' | 'location_record'): string {
  return `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`
}

/** The last block that is final in the database, and its hash; undefined before the first batch. */
export async function finalState(query: Query, chain: Chain): Promise<ChainState | undefined> {
  const [exists] = await query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `${stateSchema(chain)}.status`,
  ])
  if (!exists?.there) return undefined
  const [status] = await query<{ height: number; hash: string }>(
    `SELECT height, hash FROM ${stateSchema(chain)}.status WHERE id = 0`,
  )
  return status && status.height >= 0 ? { finalHeight: status.height, finalHash: status.hash } : undefined
}

/** What is known of a chain's head: timestamp in Unix seconds, when a node said so in Unix milliseconds, and what speaks against the chain's copy. */
export interface HeadNote {
  number: number
  timestamp: number
  askedAt: number
  doubt: string | undefined
  /** Since the last note. */
  contradictions: number
}

/** Notes the chain's head as a node has said it. */
export async function noteHead(
  query: Query,
  chain: Chain,
  { number, timestamp, askedAt, doubt, contradictions }: HeadNote,
): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, head_height, head_timestamp, checked_at, doubt, contradictions) VALUES ($1, $2, $3, now() - make_interval(secs => $4), $5, $6)
     ON CONFLICT (chain) DO UPDATE SET head_height = excluded.head_height, head_timestamp = excluded.head_timestamp, checked_at = excluded.checked_at,
       doubt = excluded.doubt, contradictions = chain_status.contradictions + excluded.contradictions`,
    [
      chain.slug,
      number,
      new Date(timestamp * 1000),
      (Date.now() - askedAt) / 1000,
      doubt ?? null,
      contradictions,
    ],
  )
}

/** Takes calls from what the audit of a chain has saved up, which grows by so many a second up to a day's; answers what is left. */
export async function spendAuditCalls(
  query: Query,
  chain: Chain,
  calls: number,
  perSecond: number,
): Promise<number> {
  const [row] = await query<{ left: number }>(
    `UPDATE chain_status SET audit_calls_at = now(),
       audit_calls = least($3::float8 * 86400, coalesce(audit_calls + extract(epoch FROM now() - audit_calls_at)::float8 * $3, $3 * 86400)) - $2
     WHERE chain = $1 RETURNING audit_calls AS left`,
    [chain.slug, calls, perSecond],
  )
  return row?.left ?? 0
}

/**
 * Forgets which of the chain's records changed more than so many days ago, the first 10,000 such changes at most; whoever has read no
 * further is told so by the API. Answers how many they were.
 */
export async function forgetChanges(query: Query, chain: Chain, days: number): Promise<number> {
  // In order of their ids, so that it never looks at more than it deletes, but for the first that stay.
  const [forgotten] = await query<{ count: number }>(
    `WITH oldest AS (SELECT id, changed_at FROM record_change WHERE chain = $1 ORDER BY id LIMIT ${CHANGES_FORGOTTEN_AT_ONCE}),
       gone AS (DELETE FROM record_change AS change USING oldest WHERE change.chain = $1 AND change.id = oldest.id AND oldest.changed_at < now() - make_interval(days => $2) RETURNING change.id)
     UPDATE record_state SET forgotten = greatest(forgotten, (SELECT max(id) FROM gone)) WHERE chain = $1 AND EXISTS (SELECT FROM gone)
     RETURNING (SELECT count(*)::int FROM gone) AS count`,
    [chain.slug, days],
  )
  return forgotten?.count ?? 0
}

/** Whether history of these schemas is in the log; where one is new, the audit must read everything again. Answers the new ones. */
export async function noteSchemas(
  query: Query,
  chain: Chain,
  schemas: readonly string[],
  fresh: boolean,
): Promise<string[]> {
  const [status] = await query<{ schemas: string[] }>('SELECT schemas FROM chain_status WHERE chain = $1', [
    chain.slug,
  ])
  const added = fresh || !status ? [] : schemas.filter((uid) => !status.schemas.includes(uid))
  await query(
    `INSERT INTO chain_status (chain, schemas) VALUES ($1, $2)
     ON CONFLICT (chain) DO UPDATE SET schemas = excluded.schemas${added.length ? `, reread = '{}', proven = '{}'` : ''}`,
    [chain.slug, schemas],
  )
  return added
}

/** Blocks up to the last final one that have been neither read twice (`reread`) nor proven, or not been proven, in order. */
export async function unaudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  finalHeight: number,
  postponed: readonly { from: number; to: number }[] = [],
): Promise<{ from: number; to: number }[]> {
  if (finalHeight < chain.firstBlock) return []
  const minus = what === 'reread' ? 'reread - proven' : 'proven'
  const rows = await query<{ from: string; to: string }>(
    `SELECT lower(gap) AS "from", upper(gap) - 1 AS "to" FROM chain_status, unnest(int8multirange(int8range($2, $3, '[]')) - ${minus} - $4::int8multirange) AS gap WHERE chain = $1 ORDER BY gap`,
    [chain.slug, chain.firstBlock, finalHeight, multirange(postponed)],
  )
  return rows.map(({ from, to }) => ({ from: Number(from), to: Number(to) }))
}

/** Notes that blocks were read twice, or proven; `but` for some. */
export async function noteAudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  range: { from: number; to: number },
  but: readonly number[] = [],
): Promise<void> {
  const less = multirange(but.map((block) => ({ from: block, to: block })))
  await query(
    `INSERT INTO chain_status (chain, ${what}) VALUES ($1, $2::int8multirange - $3::int8multirange)
     ON CONFLICT (chain) DO UPDATE SET ${what} = chain_status.${what} + excluded.${what}`,
    [chain.slug, multirange([range]), less],
  )
}

/** Notes how many blocks could not be proven as of now. */
export async function noteUnproven(query: Query, chain: Chain, blocks: number): Promise<void> {
  await query('UPDATE chain_status SET unproven_blocks = $2 WHERE chain = $1', [chain.slug, blocks])
}

/** As Postgres writes an int8multirange. */
function multirange(ranges: readonly { from: number; to: number }[]): string {
  return `{${ranges.map(({ from, to }) => `[${from},${to}]`).join()}}`
}

/** Whether the indexer has caught up with the head, as of its last look; false while history is being read. */
export async function followsHead(query: Query, chain: Chain): Promise<boolean> {
  const [status] = await query<{ follows: boolean | null }>(
    'SELECT indexed_height >= head_height - $2::int AS follows FROM chain_status WHERE chain = $1',
    [chain.slug, chain.finality],
  )
  return status?.follows ?? false
}

/** The events of these schemas that are stored of these blocks, by id. */
export async function storedEvents(
  query: Query,
  chain: Chain,
  from: number,
  to: number,
  schemas: readonly string[],
): Promise<Map<string, StoredEvent>> {
  const rows = await query<StoredEvent>(
    'SELECT id, kind, uid, schema_uid, attester, recipient, block_number, block_hash, transaction_hash FROM attestation_event WHERE id BETWEEN $1 AND $2 AND chain = $3 AND schema_uid = ANY($4)',
    [eventId(chain.slug, from, 0), eventId(chain.slug, to, 999_999), chain.slug, schemas],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** A repair has to wait until what follows on it is final. */
export class NotFinalError extends Error {
  override readonly name = 'NotFinalError'
}

/**
 * Puts final events into the log that were missing, takes out those that the chain's receipts disprove, and projects the
 * attestations concerned anew. Throws a NotFinalError, with nothing written, when one of them has an event in a block
 * that may still be rolled back: the rollback would bring the record's old state back.
 */
export function repairLog(
  database: Database,
  chain: Chain,
  {
    events,
    bodies,
    surplus,
    finalHeight,
  }: {
    events: readonly ChainEvent[]
    bodies: ReadonlyMap<string, AttestationBody>
    surplus: readonly StoredEvent[]
    finalHeight: number
  },
): Promise<number> {
  requireBodies(events, bodies)
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    await limitStatements(query)
    if (surplus.length)
      await query('DELETE FROM attestation_event WHERE id = ANY($1)', [surplus.map(({ id }) => id)])
    const idOf = (event: ChainEvent) => eventId(chain.slug, event.blockNumber, event.logIndex)
    const there = await query<{ id: string }>('SELECT id FROM attestation_event WHERE id = ANY($1)', [
      events.map(idOf),
    ])
    const known = new Set(there.map(({ id }) => id))
    const missing = events.filter((event) => !known.has(idOf(event)))
    await isolate(
      query,
      missing,
      async (part) => {
        for (const text of jsonTexts(part.map((event) => eventRow(chain.slug, event, bodies.get(event.uid)))))
          await query(insertSql('attestation_event'), [text])
      },
      (event, reason) => insertWithheld(query, chain, event, undefined, reason),
    )
    const { notFinal } = await replayUids(
      query,
      chain,
      [...new Set([...events, ...surplus].map(({ uid }) => uid))],
      finalHeight,
      true,
    )
    if (notFinal.length)
      throw new NotFinalError(`attestation ${notFinal[0]} has events in blocks that are not final yet`)
    const count = new Set([...missing.map(idOf), ...surplus.map(({ id }) => id)]).size
    await query('UPDATE chain_status SET repaired_events = repaired_events + $2 WHERE chain = $1', [
      chain.slug,
      count,
    ])
    return count
  })
}

/** How many attestations of these schemas the log knows of. */
export async function countUids(query: Query, chain: Chain, schemas: readonly string[]): Promise<number> {
  const [row] = await query<{ uids: number }>(
    'SELECT count(DISTINCT uid)::int AS uids FROM attestation_event WHERE chain = $1 AND schema_uid = ANY($2)',
    [chain.slug, schemas],
  )
  return row!.uids
}

/** Projects the next attestations of these schemas after `after` (in order of UIDs) from the log alone, and compares. Answers the last UID, undefined at the end. */
export function replayPage(
  database: Database,
  chain: Chain,
  schemas: readonly string[],
  after: string,
  pageSize: number,
  finalHeight: number,
  repair: boolean,
): Promise<Replayed & { last: string | undefined }> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const uids = await query<{ uid: string }>(
      `(SELECT DISTINCT uid FROM attestation_event WHERE chain = $1 AND uid > $2 AND schema_uid = ANY($4) ORDER BY uid LIMIT $3)
       UNION (SELECT uid FROM location_record WHERE chain = $1 AND uid > $2 AND schema_uid = ANY($4) ORDER BY uid LIMIT $3) ORDER BY uid LIMIT $3`,
      [chain.slug, after, pageSize, schemas],
    )
    const list = uids.map(({ uid }) => uid)
    return { ...(await replayUids(query, chain, list, finalHeight, repair)), last: list[list.length - 1] }
  })
}

async function replayUids(
  query: Query,
  chain: Chain,
  uids: readonly string[],
  finalHeight: number,
  repair: boolean,
): Promise<Replayed> {
  const log = await query<ReadRow>(
    'SELECT * FROM attestation_event WHERE chain = $1 AND uid = ANY($2) ORDER BY id',
    [chain.slug, uids],
  )
  const notFinal = new Set(log.filter((row) => row.block_number > finalHeight).map((row) => row.uid))
  const byUid = new Map<string, ReadRow[]>(uids.filter((uid) => !notFinal.has(uid)).map((uid) => [uid, []]))
  for (const row of log) byUid.get(row.uid)?.push(row)
  const found = new Map<string, Replayed['differing']>()
  await isolate(
    query,
    [...byUid.keys()],
    async (part) => {
      found.set(
        part[0]!,
        await replayPart(
          query,
          chain,
          part.map((uid) => byUid.get(uid)!),
          part,
          repair,
        ),
      )
    },
    async (uid, reason) => {
      found.set(uid, await replayWithheld(query, chain, uid, byUid.get(uid)!, reason, repair))
    },
  )
  return { uids: uids.length, differing: [...found.values()].flat(), notFinal: [...notFinal] }
}

/** Projects these attestations' events anew and compares; `repair` puts right what differs. */
async function replayPart(
  query: Query,
  chain: Chain,
  logs: readonly ReadRow[][],
  uids: readonly string[],
  repair: boolean,
): Promise<Replayed['differing']> {
  // One whose body could not be stored gives no record: it stays withheld until its body is read again.
  const rows = logs.filter((log) => !log.some(isBodiless)).flat()
  const { events, records } = projectContent(chain, rows)
  const given = contentJson(records)
  const ids = uids.map((uid) => recordId(chain.slug, uid))
  const differing = await query<Replayed['differing'][number]>(
    `SELECT coalesce(given.id, stored.id) AS id, CASE WHEN stored.id IS NULL THEN 'missing' WHEN given.id IS NULL THEN 'surplus' ELSE 'different' END AS what
     FROM json_populate_recordset(NULL::location_record, $1) AS given
     FULL JOIN (SELECT * FROM location_record WHERE id = ANY($2)) AS stored ON stored.id = given.id
     WHERE to_jsonb(given) - $3::text[] IS DISTINCT FROM to_jsonb(stored) - $3::text[] OR given.geom::bytea IS DISTINCT FROM stored.geom::bytea ORDER BY 1`,
    [given, ids, [...NOT_REPLAYED, 'geom']],
  )
  if (!repair) return differing
  if (differing.length) {
    const changed = new Set(differing.map(({ id }) => id))
    await query('DELETE FROM location_record WHERE id = ANY($1)', [[...changed]])
    await query(insertSql('location_record'), [JSON.stringify(records.filter(({ id }) => changed.has(id)))])
  }
  await query(
    `UPDATE attestation_event AS event SET problem = given.problem, withheld = false FROM json_populate_recordset(NULL::attestation_event, $1) AS given
     WHERE event.id = given.id AND (event.withheld OR event.problem IS DISTINCT FROM given.problem)`,
    [JSON.stringify(events.map(({ id, problem }) => ({ id, problem })))],
  )
  return differing
}

/** An attestation that still, or now, cannot be stored: it has no record, and its event says so. */
async function replayWithheld(
  query: Query,
  chain: Chain,
  uid: string,
  log: readonly ReadRow[],
  reason: Error,
  repair: boolean,
): Promise<Replayed['differing']> {
  const id = recordId(chain.slug, uid)
  const [stored] = await query<{ id: string }>('SELECT id FROM location_record WHERE id = $1', [id])
  if (repair) {
    await query('DELETE FROM location_record WHERE id = $1', [id])
    await query(
      `UPDATE attestation_event SET problem = $2, withheld = true WHERE id = ANY($1) AND NOT withheld`,
      [log.filter((row) => row.kind === EventKind.ATTESTED).map((row) => row.id), withheldProblem(reason)],
    )
  }
  return stored || log.some((row) => row.kind === EventKind.ATTESTED && !row.withheld)
    ? [{ id, what: stored ? 'surplus' : 'different' }]
    : []
}

function projectContent(chain: Chain, rows: readonly ReadRow[]): Projection {
  try {
    return project(
      chain.slug,
      rows.map(eventOf),
      new Map(rows.filter((row) => row.data !== null).map((row) => [row.uid, bodyOf(row)])),
      new Date(),
    )
  } catch (error) {
    throw new ContentError((error as Error).message)
  }
}

/** Whether the event lacks the body that it announces. */
function isBodiless({ kind, data }: ReadRow): boolean {
  return kind === EventKind.ATTESTED && data === null
}

/** An attestation that is withheld, and why. */
export interface Withheld {
  uid: string
  problem: string
  /** Whether its body is in the log: else it must be read from the chain before it can be replayed. */
  hasBody: boolean
}

/** The attestations of a chain that could not be stored. */
export function withheldAttestations(query: Query, chain: Chain): Promise<Withheld[]> {
  return query<Withheld>(
    'SELECT uid, problem, data IS NOT NULL AS "hasBody" FROM attestation_event WHERE chain = $1 AND withheld ORDER BY id',
    [chain.slug],
  )
}

/** The events, as far as they were announced, of attestations whose body could not be stored; none that may still be rolled back. */
export async function bodilessEvents(query: Query, chain: Chain, finalHeight: number): Promise<ChainEvent[]> {
  const rows = await query<ReadRow>(
    `SELECT * FROM attestation_event WHERE chain = $1 AND withheld AND data IS NULL AND kind = 'ATTESTED' AND block_number <= $2 ORDER BY id`,
    [chain.slug, finalHeight],
  )
  return rows.map(eventOf)
}

/** Puts a body that was read again into the log, if it can be stored now; replaying then makes its record. Answers whether it could. */
export function storeBody(
  database: Database,
  chain: Chain,
  event: ChainEvent,
  body: AttestationBody,
): Promise<boolean> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    await limitStatements(query)
    const { id, ref_uid, time, expiration_time, revocable, data } = eventRow(chain.slug, event, body)
    const failure = await attempt(query, async () => {
      await query(
        'UPDATE attestation_event SET ref_uid = $2, time = $3, expiration_time = $4, revocable = $5, data = $6 WHERE id = $1',
        [id, ref_uid, time, expiration_time, revocable, data],
      )
    })
    return !failure
  })
}

/** A row of the log as the driver gives it. */
export type ReadRow = Omit<EventRow, 'data'> & { data: Buffer | null }

/** A row of the log as the event that it was made of. */
export function eventOf(row: ReadRow): ChainEvent {
  return {
    kind: row.kind,
    uid: row.uid,
    schemaUid: row.schema_uid,
    attester: row.attester,
    recipient: row.recipient,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
    blockTimestamp: row.block_timestamp.getTime(),
    transactionHash: row.transaction_hash,
    logIndex: row.log_index,
  }
}

/** The body of an Attested: there these fields are never null. */
export function bodyOf(row: ReadRow): AttestationBody {
  return {
    uid: row.uid,
    schema: row.schema_uid,
    recipient: row.recipient,
    attester: row.attester,
    time: BigInt(row.time!),
    expirationTime: BigInt(row.expiration_time!),
    revocable: row.revocable!,
    refUID: row.ref_uid!,
    data: `0x${row.data!.toString('hex')}`,
  }
}

/**
 * Makes this process the writer of a chain, unless another one is: then answers that one. Its lease must have run out, or
 * it must be gone as far as the caller can tell.
 */
export async function takeWriter(
  database: Database,
  chain: Chain,
  writer: string,
  seconds: number,
  isGone: (writer: string) => boolean,
): Promise<string | undefined> {
  const find = async (query: Query, lock: '' | 'FOR UPDATE') => {
    const [found] = await query<{ writer: string; held: boolean }>(
      `SELECT writer, until > now() AS held FROM chain_writer WHERE chain = $1 ${lock}`,
      [chain.slug],
    )
    return found?.held && !isGone(found.writer) ? found.writer : undefined
  }
  await database.query(
    `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, '', '-infinity') ON CONFLICT DO NOTHING`,
    [chain.slug],
  )
  // Without a lock first: whoever waits for one keeps the writer from renewing its lease.
  const other = await find(database.query, '')
  if (other !== undefined) return other
  return database.transaction(async (query) => {
    const meanwhile = await find(query, 'FOR UPDATE')
    if (meanwhile === undefined)
      await query(
        'UPDATE chain_writer SET writer = $2, until = now() + make_interval(secs => $3) WHERE chain = $1',
        [chain.slug, writer, seconds],
      )
    return meanwhile
  })
}

/** Whether it is still the writer; if so, for so many seconds more. */
export async function renewWriter(
  query: Query,
  chain: Chain,
  writer: string,
  seconds: number,
): Promise<boolean> {
  const sql =
    'UPDATE chain_writer SET until = now() + make_interval(secs => $3) WHERE chain = $1 AND writer = $2 RETURNING writer'
  return (await query(sql, [chain.slug, writer, seconds])).length > 0
}

/** Whether it is the writer, and remains it until the transaction ends: a lock that lets renewals pass, but no other writer. */
export async function holdWriter(query: Query, chain: Chain, writer: string): Promise<boolean> {
  return (
    (
      await query('SELECT FROM chain_writer WHERE chain = $1 AND writer = $2 FOR KEY SHARE', [
        chain.slug,
        writer,
      ])
    ).length > 0
  )
}

/** Ends its lease now. */
export async function releaseWriter(query: Query, chain: Chain, writer: string): Promise<void> {
  await query(`UPDATE chain_writer SET until = '-infinity' WHERE chain = $1 AND writer = $2`, [
    chain.slug,
    writer,
  ])
}

/** The last block up to this one that the log has an event of. */
export async function lastEventBlock(
  query: Query,
  chain: Chain,
  upTo: number,
): Promise<{ number: number; hash: string } | undefined> {
  const [row] = await query<{ number: number; hash: string }>(
    'SELECT block_number AS number, block_hash AS hash FROM attestation_event WHERE chain = $1 AND id <= $2 ORDER BY id DESC LIMIT 1',
    [chain.slug, eventId(chain.slug, upTo, 999_999)],
  )
  return row
}

/**
 * Sets what counts as final back to a block that the chain is known to have, or to nothing: what follows is read again.
 * Answers false, with nothing done, where there are blocks above that are not final: they stand on the one that was.
 */
export function rewindFinal(
  database: Database,
  chain: Chain,
  block: { number: number; hash: string } | undefined,
): Promise<boolean> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const state = stateSchema(chain)
    if ((await query(`SELECT FROM ${state}.hot_block LIMIT 1`)).length) return false
    const { number, hash } = block ?? { number: -1, hash: '0x' }
    await query(`UPDATE ${state}.status SET height = $1, hash = $2, nonce = nonce + 1 WHERE id = 0`, [
      number,
      hash,
    ])
    const kept = `int8multirange(int8range(NULL, $2::int8, '[]'))`
    await query(
      `UPDATE chain_status SET indexed_height = ($2::int8)::int, reread = reread * ${kept}, proven = proven * ${kept} WHERE chain = $1`,
      [chain.slug, number],
    )
    return true
  })
}
