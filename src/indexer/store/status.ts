import type { Chain } from '../../chains'
import { READING } from '../project'
import type { Database, Query } from './connection'
import { multirange, type BlockRange } from './position'
import { noteHistoryRead } from './schemas'

/**
 * Progress of the replay and the audit of a chain's records: the columns reading, replayed, schemas, proven,
 * reread, unproven_blocks, repaired_events, audit_calls and audit_calls_at of chain_status.
 */

/** Maximum number of rows that one statement deletes, which takes a few hundred milliseconds. */
export const CHANGES_FORGOTTEN_AT_ONCE = 10_000

/** Position of the replay of a chain's records by this version of the projection. */
interface ReplayPosition {
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
