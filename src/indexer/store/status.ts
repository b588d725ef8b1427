import type { BlockRef, HeadReport } from '../../chain'
import type { Chain } from '../../chains'
import { READING } from '../project'
import type { Query } from './connection'

/** How far a chain's copy goes and is checked: the table chain_status. */

/** Blocks, both ends included. */
interface Range {
  from: number
  to: number
}

/** One statement that deletes so many takes some hundred milliseconds. */
export const CHANGES_FORGOTTEN_AT_ONCE = 10_000

/** The version of the projection by which all records of a chain were made; 0 if that is not known. */
export async function readingOf(query: Query, chain: Chain): Promise<number> {
  const [status] = await query<{ reading: number }>('SELECT reading FROM chain_status WHERE chain = $1', [
    chain.slug,
  ])
  return status?.reading ?? 0
}

/** Notes that all records of a chain are those of this version. */
export async function noteReading(query: Query, chain: Chain): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, reading) VALUES ($1, $2)
     ON CONFLICT (chain) DO UPDATE SET reading = excluded.reading WHERE chain_status.reading <> excluded.reading`,
    [chain.slug, READING],
  )
}

/** The last block of a batch. */
export interface IndexedBlock {
  readonly height: number
  readonly hash: string
  /** Unix milliseconds */
  readonly timestamp: number
  /** Milliseconds since a look at the head began that found this block on the chain; Infinity if none has. */
  readonly agreementAgeMs: number
}

/**
 * Notes the last block of a batch. It is the head as well where the last look at the head has named an older
 * block.
 */
export async function noteIndexed(query: Query, chain: Chain, last: IndexedBlock): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, indexed_height, indexed_hash, indexed_timestamp, agreed_at)
     VALUES ($1, $2, $3, $4, ${moment('$5')})
     ON CONFLICT (chain) DO UPDATE
     SET indexed_height = excluded.indexed_height, indexed_hash = excluded.indexed_hash,
       indexed_timestamp = excluded.indexed_timestamp, agreed_at = excluded.agreed_at,
       (head_height, head_timestamp) = (
         SELECT height, time
         FROM (VALUES (chain_status.head_height, chain_status.head_timestamp),
           (excluded.indexed_height, excluded.indexed_timestamp)) AS block (height, time)
         ORDER BY height DESC NULLS LAST LIMIT 1)`,
    [chain.slug, last.height, last.hash, new Date(last.timestamp), secondsAgo(last.agreementAgeMs)],
  )
}

/**
 * The last block that the database holds, final or not, and the time of the database's clock, in
 * milliseconds.
 */
export async function indexedTip(
  query: Query,
  chain: Chain,
): Promise<{ tip: BlockRef | undefined; now: number }> {
  const [row] = await query<{ height: number | null; hash: string | null; now: number }>(
    `SELECT indexed_height AS height, indexed_hash AS hash, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
     FROM (SELECT) AS one LEFT JOIN chain_status ON chain = $1`,
    [chain.slug],
  )
  const { height, hash, now } = row!
  return { tip: height === null || hash === null ? undefined : { height, hash }, now }
}

/**
 * Notes the chain's head as an endpoint has named it. Ages become times of the database's clock before the
 * row is locked: waiting for it makes nothing younger. A batch that was written since may end with a newer
 * block than the endpoint has named.
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

/** SQL for the time that many seconds ago; null for null. */
function moment(seconds: string): string {
  return `clock_timestamp() - make_interval(secs => ${seconds})`
}

function secondsAgo(milliseconds: number): number | null {
  return milliseconds === Infinity ? null : milliseconds / 1000
}

/**
 * Whether the indexer has caught up with the head, as of its last look; false while history is being read.
 */
export async function followsHead(query: Query, chain: Chain): Promise<boolean> {
  const [status] = await query<{ follows: boolean | null }>(
    'SELECT indexed_height >= head_height - $2::int AS follows FROM chain_status WHERE chain = $1',
    [chain.slug, chain.finality],
  )
  return status?.follows ?? false
}

/**
 * Notes what is watched from now on (Registry.watched) and answers what is new. Its history is not in the log
 * yet: the audit then reads all blocks again. Rows from when it was watched before may be those of an older
 * version: all are replayed. `fresh`: nothing is indexed yet, so nothing is new.
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
     SET schemas = excluded.schemas${added.length ? `, reread = '{}', proven = '{}', reading = 0` : ''}`,
    [chain.slug, schemas],
  )
  return added
}

/**
 * Spends calls of the audit's budget, which grows by `perSecond` each second up to a day's worth. Answers
 * what is left, which may be negative.
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
         coalesce(audit_calls + extract(epoch FROM now() - audit_calls_at)::float8 * $3, $3 * 86400)
       ) - $2
     WHERE chain = $1 RETURNING audit_calls AS left`,
    [chain.slug, calls, perSecond],
  )
  return row?.left ?? 0
}

/**
 * Blocks up to the last final one that are neither read twice (`reread`) nor proven, or that are not proven
 * (`proven`), in order, without those that are postponed.
 */
export async function unaudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  finalHeight: number,
  postponed: readonly Range[] = [],
): Promise<Range[]> {
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
 * Notes that the blocks of a range were read twice, or proven, except those of `but`, by a process that
 * watched all this. Answers false, and notes nothing, where the chain's indexer watches more by now.
 */
export async function noteAudited(
  query: Query,
  chain: Chain,
  what: 'reread' | 'proven',
  range: Range,
  watched: readonly string[],
  but: readonly number[] = [],
): Promise<boolean> {
  const less = multirange(but.map((block) => ({ from: block, to: block })))
  // The condition is of the row as it is once it is locked.
  const noted = await query(
    `INSERT INTO chain_status (chain, ${what}) VALUES ($1, $2::int8multirange - $3::int8multirange)
     ON CONFLICT (chain) DO UPDATE SET ${what} = chain_status.${what} + excluded.${what}
       WHERE NOT EXISTS (SELECT unnest(chain_status.schemas) EXCEPT SELECT unnest($4::text[]))
     RETURNING chain`,
    [chain.slug, multirange([range]), less, watched],
  )
  return noted.length > 0
}

/** Notes how many blocks cannot be proven as of now. */
export async function noteUnproven(query: Query, chain: Chain, blocks: number): Promise<void> {
  await query('UPDATE chain_status SET unproven_blocks = $2 WHERE chain = $1', [chain.slug, blocks])
}

/** Counts events that the audit has corrected. */
export async function noteRepaired(query: Query, chain: Chain, count: number): Promise<void> {
  await query('UPDATE chain_status SET repaired_events = repaired_events + $2 WHERE chain = $1', [
    chain.slug,
    count,
  ])
}

/** As Postgres writes an int8multirange. */
function multirange(ranges: readonly Range[]): string {
  return `{${ranges.map(({ from, to }) => `[${from},${to}]`).join()}}`
}

/**
 * Deletes changes of the chain's records that are older than so many days, at most the first 10,000, and
 * answers how many. The API tells a reader that has not read so far to start anew.
 */
export async function forgetChanges(query: Query, chain: Chain, days: number): Promise<number> {
  // In order of ids: it reads no more rows than it deletes, except the first that stays.
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
