import type { BlockRef, HeadReport } from '../../chain'
import type { Chain } from '../../chains'
import { READING } from '../project'
import type { Database, Query } from './connection'
import { noteHistoryRead } from './schemas'

/** Progress of a chain's indexing and audit: the table chain_status. */

/** Range of block numbers, both ends included. */
export interface BlockRange {
  from: number
  to: number
}

/** Maximum number of rows that one statement deletes, which takes a few hundred milliseconds. */
export const CHANGES_FORGOTTEN_AT_ONCE = 10_000

/** Position of the replay of a chain's records by this version of the projection. */
export interface ReplayPosition {
  /** last replayed UID */
  after: string
  /** UIDs up to `after` that were not final in their page, for events that a reorg may have removed since. */
  late: readonly string[]
}

/**
 * Returns the version of the projection that produced all records of a chain (0: unknown), and the position
 * at which the replay by this version stopped.
 */
export async function readingOf(
  query: Query,
  chain: Chain,
): Promise<{ reading: number; replayed: ReplayPosition | undefined }> {
  const [status] = await query<{
    reading: number
    replayed: (Partial<ReplayPosition> & { reading: number }) | null
  }>('SELECT reading, replayed FROM chain_status WHERE chain = $1', [chain.slug])
  const { reading = 0, replayed = null } = status ?? {}
  const { after, late } = replayed?.reading === READING ? replayed : {}
  // Positions of earlier versions have no `late`.
  return { reading, replayed: after !== undefined && late ? { after, late } : undefined }
}

/** Stores that the current version of the projection produced all records of a chain. */
export async function noteReading(query: Query, chain: Chain): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, reading) VALUES ($1, $2)
     ON CONFLICT (chain) DO UPDATE SET reading = excluded.reading, replayed = NULL
       WHERE chain_status.reading <> excluded.reading`,
    [chain.slug, READING],
  )
}

/** Like `noteReading()`, but does nothing while an indexer, perhaps of another version, is running. */
export function noteReadingAlone(database: Database, chain: Chain): Promise<void> {
  return database.transaction(async (query) => {
    const [writer] = await query<{ held: boolean }>(
      'SELECT until > now() AS held FROM chain_writer WHERE chain = $1 FOR UPDATE',
      [chain.slug],
    )
    if (!writer?.held) await noteReading(query, chain)
  })
}

/** Stores how far the replay by this version of the projection has come. */
export async function noteReplayed(query: Query, chain: Chain, position: ReplayPosition): Promise<void> {
  await query('UPDATE chain_status SET replayed = $2 WHERE chain = $1', [
    chain.slug,
    JSON.stringify({ reading: READING, ...position }),
  ])
}

/** True if older records of a chain are not counted yet for statistics by group. */
export async function hasUncounted(query: Query, chain: Chain): Promise<boolean> {
  return (await query('SELECT FROM record_uncounted WHERE chain = $1', [chain.slug])).length > 0
}

/** Counts at least `many` older records (migration Counts). Returns the percentage of counted ones. */
export async function countRecords(query: Query, chain: Chain, many: number): Promise<number> {
  await query('SELECT count_records($1, $2)', [chain.slug, many])
  const [row] = await query<{ percent: number }>(
    `SELECT coalesce(floor(100 * sum(total) / (SELECT nullif(total, 0) FROM record_state WHERE chain = $1)), 100)::int AS percent
     FROM record_group WHERE chain = $1 AND dimension = 'schema'`,
    [chain.slug],
  )
  return row!.percent
}

/** Last block of a batch. */
export interface IndexedBlock extends BlockRef {
  /** Time of the block in Unix milliseconds. */
  readonly timestamp: number
  /** Milliseconds since the start of the last poll that found this block on the chain, or Infinity. */
  readonly agreementAgeMs: number
  /** Numbers of the blocks up to this one whose logs only one endpoint vouches for. */
  readonly unproven: readonly number[]
}

/** Seconds between a poll of the head and the note of it, at most, unless the machine was suspended. */
const NOTED_WITHIN_SECONDS = 5

/**
 * Stores the last block of a batch, which also becomes the head if the last poll reported an older one. Its
 * agreement is not much later than the last noted poll: the local clock of a suspended machine stands still.
 */
export async function noteIndexed(query: Query, chain: Chain, last: IndexedBlock): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, indexed_height, indexed_hash, indexed_timestamp, agreed_at, unproven_at_head)
     VALUES ($1, $2, $3, $4, ${moment('$5')}, $6)
     ON CONFLICT (chain) DO UPDATE
     SET indexed_height = excluded.indexed_height, indexed_hash = excluded.indexed_hash,
       indexed_timestamp = excluded.indexed_timestamp,
       agreed_at = CASE WHEN excluded.agreed_at IS NOT NULL
         THEN least(excluded.agreed_at, chain_status.checked_at + make_interval(secs => ${NOTED_WITHIN_SECONDS})) END,
       unproven_at_head = excluded.unproven_at_head, (head_height, head_timestamp) = (
         SELECT height, time
         FROM (VALUES (chain_status.head_height, chain_status.head_timestamp),
           (excluded.indexed_height, excluded.indexed_timestamp)) AS block (height, time)
         ORDER BY height DESC NULLS LAST LIMIT 1)`,
    [
      ...[chain.slug, last.height, last.hash, new Date(last.timestamp), secondsAgo(last.agreementAgeMs)],
      multirange(last.unproven.map((block) => ({ from: block, to: block }))),
    ],
  )
}

/** Reads the blocks that only one endpoint vouched for when they were written, and that are not proven. */
export async function unprovenBlocks(query: Query, chain: Chain): Promise<number[]> {
  const rows = await query<{ block: number }>(
    `SELECT block::float8 AS block FROM chain_status, unnest(unproven_at_head - proven) AS r, generate_series(lower(r), upper(r) - 1) AS block
     WHERE chain = $1 ORDER BY 1`,
    [chain.slug],
  )
  return rows.map(({ block }) => block)
}

/** Returns the last block in the database, final or not, and the database's clock in milliseconds. */
export async function indexedTip(
  query: Query,
  chain: Chain,
): Promise<{ tip: BlockRef | undefined; now: number }> {
  const [row] = await query<{
    height: number | null
    hash: string | null
    now: number
  }>(
    `SELECT indexed_height AS height, indexed_hash AS hash, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
     FROM (SELECT) AS one LEFT JOIN chain_status ON chain = $1`,
    [chain.slug],
  )
  const { height, hash, now } = row!
  return { tip: height === null || hash === null ? undefined : { height, hash }, now }
}

/**
 * Stores the chain's head as an endpoint reported it. Ages become times of the database's clock before the
 * row is locked, so that a wait for the lock does not make them more recent. A batch written in the meantime
 * may end with a newer block.
 */
export async function noteHead(query: Query, chain: Chain, note: HeadReport): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, head_height, head_timestamp, checked_at, doubt, contradictions, agreed_at)
     VALUES ($1, $2, $3, ${moment('$4')}, $5, $6, ${moment('$8')})
     ON CONFLICT (chain) DO UPDATE
     SET (head_height, head_timestamp) = (
         SELECT height, time
         FROM (VALUES (excluded.head_height, excluded.head_timestamp),
           (chain_status.indexed_height, chain_status.indexed_timestamp)) AS block (height, time)
         WHERE height = excluded.head_height OR chain_status.indexed_hash <> $7
         ORDER BY height DESC LIMIT 1),
       checked_at = excluded.checked_at, doubt = excluded.doubt,
       contradictions = chain_status.contradictions + excluded.contradictions,
       agreed_at = CASE WHEN chain_status.indexed_hash = $7 THEN excluded.agreed_at ELSE chain_status.agreed_at END`,
    [
      chain.slug,
      note.number,
      new Date(note.timestamp * 1000),
      secondsAgo(note.ageMs),
      note.doubt ?? null,
      note.contradictions,
      note.tipHash ?? null,
      secondsAgo(note.agreementAgeMs),
    ],
  )
}

/** SQL for the time that lies `seconds` (an SQL expression) in the past; null if the number is null. */
function moment(seconds: string): string {
  return `clock_timestamp() - make_interval(secs => ${seconds})`
}

function secondsAgo(milliseconds: number): number | null {
  return milliseconds === Infinity ? null : milliseconds / 1000
}

/** True if the indexer had caught up with the head at its last poll; false while it reads history. */
export async function followsHead(query: Query, chain: Chain): Promise<boolean> {
  const [status] = await query<{ follows: boolean | null }>(
    'SELECT indexed_height >= head_height - $2::int AS follows FROM chain_status WHERE chain = $1',
    [chain.slug, chain.finality],
  )
  return status?.follows ?? false
}

/** SQL that makes all records those of an older version, of an unknown one if an added schema has records. */
const OLDER = `reading = CASE
  WHEN EXISTS (SELECT FROM location_record AS record WHERE record.chain = $1 AND schema_uid = ANY($3)) THEN 0
  ELSE least(chain_status.reading, $4) END`

/**
 * Stores what is watched from now on (Registry.watched) and returns the new items, none if nothing is indexed
 * yet (`fresh`). For new items, the audit reads all blocks again, and all records are replayed: rows from an
 * earlier period may come from any older version.
 */
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
     ON CONFLICT (chain) DO UPDATE
     SET schemas = excluded.schemas${added.length ? `, reread = '{}', proven = '{}', replayed = NULL, ${OLDER}` : ''}`,
    added.length ? [chain.slug, schemas, added, READING - 1] : [chain.slug, schemas],
  )
  return added
}

/**
 * Spends calls of the audit's budget, which grows by `perSecond` each second, up to one day's, and never
 * shrinks with the database's clock. Returns the remaining calls, which may be negative.
 */
export async function spendAuditCalls(
  query: Query,
  chain: Chain,
  calls: number,
  perSecond: number,
): Promise<number> {
  const [row] = await query<{ left: number }>(
    `UPDATE chain_status SET audit_calls_at = now(),
       audit_calls = least(
         $3::float8 * 86400,
         coalesce(audit_calls + greatest(0, extract(epoch FROM now() - audit_calls_at)::float8) * $3, $3 * 86400)
       ) - $2
     WHERE chain = $1 RETURNING audit_calls AS left`,
    [chain.slug, calls, perSecond],
  )
  return row?.left ?? 0
}

/**
 * Returns ranges of blocks up to the last final one in ascending order, except postponed ranges. `reread`:
 * blocks that are neither reread nor proven. `proven`: blocks that are not proven.
 */
export async function unaudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  finalHeight: number,
  postponed: readonly BlockRange[] = [],
): Promise<BlockRange[]> {
  if (finalHeight < chain.firstBlock) return []
  const minus = what === 'reread' ? 'reread - proven' : 'proven'
  const rows = await query<{ from: string; to: string }>(
    `SELECT lower(gap) AS "from", upper(gap) - 1 AS "to"
     FROM chain_status,
       unnest(int8multirange(int8range($2, $3, '[]')) - ${minus} - $4::int8multirange) AS gap
     WHERE chain = $1 ORDER BY gap`,
    [chain.slug, chain.firstBlock, finalHeight, multirange(postponed)],
  )
  return rows.map(({ from, to }) => ({ from: Number(from), to: Number(to) }))
}

/**
 * Stores that the blocks of a range, except those of `but`, were reread or proven with these watched items.
 * Returns false, and stores nothing, if the chain's indexer watches more by now.
 */
export async function noteAudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  range: BlockRange,
  watched: readonly string[],
  but: readonly number[] = [],
): Promise<boolean> {
  const less = multirange(but.map((block) => ({ from: block, to: block })))
  // The condition is checked against the row after it is locked.
  const noted = await query(
    `INSERT INTO chain_status (chain, ${what}) VALUES ($1, $2::int8multirange - $3::int8multirange)
     ON CONFLICT (chain) DO UPDATE SET ${what} = chain_status.${what} + excluded.${what}
       WHERE NOT EXISTS (SELECT unnest(chain_status.schemas) EXCEPT SELECT unnest($4::text[]))
     RETURNING chain`,
    [chain.slug, multirange([range]), less, watched],
  )
  if (noted.length > 0) await noteHistoryRead(query, chain)
  return noted.length > 0
}

/** Stores the number of blocks that cannot be proven at present. */
export async function noteUnproven(query: Query, chain: Chain, blocks: number): Promise<void> {
  await query('UPDATE chain_status SET unproven_blocks = $2 WHERE chain = $1', [chain.slug, blocks])
}

/** Adds to the number of events that the audit has corrected. */
export async function noteRepaired(query: Query, chain: Chain, count: number): Promise<void> {
  await query('UPDATE chain_status SET repaired_events = repaired_events + $2 WHERE chain = $1', [
    chain.slug,
    count,
  ])
}

/** Formats ranges as a Postgres int8multirange. */
function multirange(ranges: readonly BlockRange[]): string {
  return `{${ranges.map(({ from, to }) => `[${from},${to}]`).join()}}`
}

/**
 * Deletes changes of the chain's records that are older than this many days, at most 10,000, and returns
 * their number. Clients that have not read them get an error and must restart.
 */
export async function forgetChanges(query: Query, chain: Chain, days: number): Promise<number> {
  // Scans in order of ids, so that it reads only the deleted rows and the first remaining row.
  const [forgotten] = await query<{ count: number }>(
    `WITH oldest AS (
       SELECT id, changed_at FROM record_change WHERE chain = $1 ORDER BY id LIMIT ${CHANGES_FORGOTTEN_AT_ONCE}
     ), gone AS (
       DELETE FROM record_change AS change USING oldest
       WHERE change.chain = $1 AND change.id = oldest.id
         AND oldest.changed_at < now() - make_interval(days => $2)
       RETURNING change.id
     )
     UPDATE record_state SET forgotten = greatest(forgotten, (SELECT max(id) FROM gone))
     WHERE chain = $1 AND EXISTS (SELECT FROM gone)
     RETURNING (SELECT count(*)::int FROM gone) AS count`,
    [chain.slug, days],
  )
  return forgotten?.count ?? 0
}
