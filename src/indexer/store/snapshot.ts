import type { Chain } from '../../chains'
import type { Database, Query } from './connection'
import { eventIds, READING } from '../project'
import { insertSql } from './log'
import { finalBlock } from './position'

/** Statements that read a snapshot, and restore one into an empty database (../snapshot.ts). */

/** Target number of characters of events per statement, and the first and the largest number of events. */
const PAGE_CHARACTERS = 8_000_000
const PAGE_FIRST = 100
const PAGE_MOST = 2_000

/** Position of a chain in a snapshot: the last final block. */
export interface SnapshotPosition {
  finalHeight: number
  finalHash: string
  /** Schemas and attesters whose events the database holds (noteSchemas). */
  schemas: string[]
  /** Epoch of the chain's records, ISO 8601 with microseconds; null if it has none. */
  epoch: string | null
}

/** Runs `work` in a read-only transaction that sees one consistent state of the database. */
export function atOneMoment<T>(database: Database, work: (query: Query) => Promise<T>): Promise<T> {
  return database.transaction(async (query) => {
    await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    // Some servers are set to another form, which `rowOf` does not read.
    await query(`SET LOCAL bytea_output = 'hex'`)
    return work(query)
  })
}

/** Returns the names of the applied migrations in order. */
export async function migrationsOf(query: Query): Promise<string[]> {
  const rows = await query<{ name: string }>('SELECT name FROM migrations ORDER BY timestamp')
  return rows.map(({ name }) => name)
}

/** Returns the position of a chain's snapshot; undefined before the first final block. */
export async function snapshotPosition(query: Query, chain: Chain): Promise<SnapshotPosition | undefined> {
  const final = await finalBlock(query, chain)
  if (!final) return undefined
  const [row] = await query<{ schemas: string[] | null; epoch: string | null }>(
    `SELECT (SELECT schemas FROM chain_status WHERE chain = $1) AS schemas,
       (SELECT to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM record_state WHERE chain = $1) AS epoch`,
    [chain.slug],
  )
  return { finalHeight: final.height, finalHash: final.hash, schemas: row!.schemas ?? [], epoch: row!.epoch }
}

/** Yields pages of the chain's final events as JSON texts, in chain order. */
export async function* eventTexts(query: Query, chain: Chain, finalHeight: number): AsyncGenerator<string[]> {
  let [after, size] = [`${chain.slug}-`, PAGE_FIRST]
  const [, last] = eventIds(chain.slug, 0, finalHeight)
  for (;;) {
    const rows = await query<{ id: string; text: string }>(
      `SELECT id, row_to_json(event)::text AS text FROM attestation_event AS event
       WHERE chain = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`,
      [chain.slug, after, last, size],
    )
    if (rows.length) yield rows.map(({ text }) => text)
    if (rows.length < size) return
    after = rows.at(-1)!.id
    const characters = rows.reduce((sum, { text }) => sum + text.length, 0)
    size = Math.min(PAGE_MOST, Math.max(1, Math.floor((rows.length / characters) * PAGE_CHARACTERS)))
  }
}

/** Describes the existing content of a database; undefined if it is empty and no indexer writes to it. */
export async function contentOf(query: Query, chains: readonly Chain[]): Promise<string | undefined> {
  for (const table of [
    ...['attestation_event', 'location_record', 'location_schema'],
    ...['answer', 'record_state'],
  ])
    if ((await query(`SELECT FROM ${table} LIMIT 1`)).length) return `${table} has rows`
  for (const chain of chains)
    if (await finalBlock(query, chain)) return `an indexer of ${chain.slug} has started`
  const [writer] = await query<{ chain: string }>(
    'SELECT chain FROM chain_writer WHERE until > now() LIMIT 1',
  )
  return writer && `an indexer of ${writer.chain} is running`
}

/** Inserts events, as `eventTexts` yields them, without projecting them. */
export async function insertEventTexts(query: Query, texts: readonly string[]): Promise<void> {
  await query(insertSql('attestation_event'), [`[${texts.join()}]`])
}

/**
 * Sets the block after which a chain's indexer resumes. No block counts as audited. Throws unless the event
 * log has `count` events of the chain.
 */
export async function endRestore(
  query: Query,
  chain: Chain,
  position: SnapshotPosition,
  count: number,
): Promise<void> {
  // Counting a large event log can take longer than the limit of the batches (limitStatements).
  await query("SELECT set_config('statement_timeout', '0', true)")
  const [log] = await query<{ stored: number; last: Date | null }>(
    'SELECT count(*)::int AS stored, max(block_timestamp) AS last FROM attestation_event WHERE chain = $1',
    [chain.slug],
  )
  if (log!.stored !== count)
    throw new Error(`${chain.slug}: ${log!.stored} of ${count} events were stored, so nothing was restored`)
  // The time of the last block is unknown. The time of the last event is a lower bound.
  await query(
    `INSERT INTO chain_status (chain, schemas, final_height, final_hash, indexed_height, indexed_hash, reading, indexed_timestamp)
     VALUES ($1, $2, $3, $4, $3, $4, $5, $6)
     ON CONFLICT (chain) DO UPDATE SET schemas = excluded.schemas, final_height = excluded.final_height, final_hash = excluded.final_hash, indexed_height = excluded.indexed_height,
       indexed_hash = excluded.indexed_hash, reading = excluded.reading, agreed_at = NULL, indexed_timestamp = excluded.indexed_timestamp, reread = '{}', proven = '{}'`,
    [chain.slug, position.schemas, position.finalHeight, position.finalHash, READING, log!.last],
  )
  // The epoch exceeds that of the snapshot on any clock, so that no ETag and no position repeats.
  await query(
    `UPDATE record_state SET since = greatest(clock_timestamp(), $2::timestamptz + interval '1 millisecond')
     WHERE chain = $1`,
    [chain.slug, position.epoch ?? '-infinity'],
  )
}
