import { CHAINS } from '../../src/chains'
import type { Statement } from './model'

/** SQL for chains: how far they are indexed, their schemas, and counts of their records. */

/**
 * Indexed state of a chain and its head, as the indexer last stored them; null before the first check or
 * block. Ages are in seconds by the clock of the database, which all processes share.
 */
export interface IndexState {
  headBlock: number | null
  headTime: Date | null
  /** Age of the newest block that an RPC endpoint has reported, when the indexer last read it. */
  headAge: number | null
  /** Time since the indexer read that block. */
  checkedAge: number | null
  indexedBlock: number | null
  indexedTime: Date | null
  /** Time since a check of the head found the last indexed block on the chain; null if none has. */
  agreedAge: number | null
  /** Reason why the indexer does not trust the indexed data. */
  doubt: string | null
}

const INDEX_STATE = `head_height AS "headBlock", head_timestamp AS "headTime", indexed_height AS "indexedBlock",
  indexed_timestamp AS "indexedTime", doubt, ${(
    [
      ['checked_at - head_timestamp', 'headAge'],
      ['clock_timestamp() - checked_at', 'checkedAge'],
      ['clock_timestamp() - agreed_at', 'agreedAge'],
    ] as const
  )
    .map(([age, name]) => `extract(epoch FROM ${age})::float8 AS "${name}"`)
    .join(', ')}`

/** Indexed state of a chain, and its audit. */
export interface ChainStatusRow extends IndexState {
  chain: string
  rereadBlocks: number
  provenBlocks: number
  unprovenBlocks: number
  contradictions: number
  repairedEvents: number
  withheldAttestations: number
  /** Location schemas of the chain's registry: those that are indexed, and those that are left out. */
  schemasFound: number
  schemasLeftOut: number
  /**
   * Number of blocks that remain to be read for attestations of schemas or attesters that were found later.
   */
  schemaHistoryBlocks: number
  /** True if an indexer currently holds the lease of the chain. */
  hasIndexer: boolean
}

/** Location schema of a chain's registry, in lower-case hex. */
export interface FoundSchemaRow {
  uid: string
  chain: string
  fields: string
  resolver: string
  revocable: boolean
  /** Number of the block that registered it. */
  block: number
  /** True if its attestations are indexed. */
  indexed: boolean
}

/** Reads the indexed state of a chain. */
export function indexStateQuery(chain: string): Statement {
  return { text: `SELECT ${INDEX_STATE} FROM chain_status WHERE chain = $1`, values: [chain] }
}

/** Finds the chain if its indexer reads a schema. */
export function followedSchemaQuery(chain: string, schema: string): Statement {
  return {
    text: `SELECT FROM chain_status WHERE chain = $1 AND $2 = ANY(schemas)
           AND NOT EXISTS (SELECT FROM location_schema WHERE chain = $1 AND uid = $2 AND NOT watched)`,
    values: [chain, schema],
  }
}

/** Finds a schema of a chain, or this one, whose history the indexer has not read completely. */
export function unreadHistoryQuery(chain: string, schema?: string): Statement {
  return {
    text: `SELECT FROM location_schema
           WHERE chain = $1 AND watched AND read_from > block_number AND uid = coalesce($2, uid) LIMIT 1`,
    values: [chain, schema],
  }
}

const blocks = (ranges: string) =>
  `(SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(${ranges}) AS r)::float8`
/** Reads the indexed state of each chain, and its audit. */
export const CHAIN_STATUSES: Statement = {
  text: `SELECT chain, ${INDEX_STATE}, ${blocks('reread')} AS "rereadBlocks", ${blocks('proven')} AS "provenBlocks",
     unproven_blocks::float8 AS "unprovenBlocks", repaired_events::float8 AS "repairedEvents", contradictions::float8,
     (SELECT count(*)::float8 FROM attestation_event AS event WHERE event.chain = chain_status.chain AND withheld) AS "withheldAttestations",
     EXISTS (SELECT FROM chain_writer AS held WHERE held.chain = chain_status.chain AND until > now()) AS "hasIndexer",
     coalesce(found, 0) AS "schemasFound", coalesce(left_out, 0) AS "schemasLeftOut", ${blocks(`coalesce(schemas.late, '{}') + coalesce(attesters.late, '{}') - reread - proven`)} AS "schemaHistoryBlocks"
   FROM chain_status LEFT JOIN (
     SELECT chain, count(*) FILTER (WHERE watched)::float8 AS found, count(*) FILTER (WHERE NOT watched)::float8 AS left_out,
       range_agg(int8range(block_number, read_from)) FILTER (WHERE watched AND read_from > block_number) AS late
     FROM location_schema GROUP BY chain) AS schemas USING (chain)
   LEFT JOIN (
     SELECT chain, range_agg(int8range(greatest(first_block, start), greatest(first_block, start, read_from))) AS late
     FROM answer_attester JOIN unnest($1::text[], $2::int[]) AS known (chain, start) USING (chain)
     WHERE read_from IS NOT NULL GROUP BY chain) AS attesters USING (chain)`,
  values: [CHAINS.map(({ slug }) => slug), CHAINS.map(({ firstBlock }) => firstBlock)],
}

/** Number of schemas per chain that are listed without being indexed: anyone may register thousands. */
const LEFT_OUT_LISTED = 100
/** Indexed location schemas and the newest of the others, in the order of their registration. */
export const FOUND_SCHEMAS: Statement = {
  text: `SELECT uid, chain, fields, resolver, revocable, block_number AS block, watched AS indexed
         FROM (SELECT *, row_number() OVER (PARTITION BY chain, watched ORDER BY block_number DESC, uid) AS place
               FROM location_schema) AS found
         WHERE watched OR place <= $1 ORDER BY chain, block_number, uid`,
  values: [LEFT_OUT_LISTED],
}

/** Counts over all records. */
export interface Stats {
  total: number
  byChain: Record<string, number>
  last24Hours: number
  last7Days: number
  last30Days: number
  revoked: number
}

/** Counts of the records of a chain. */
export interface ChainCounts {
  chain: string
  total: number
  day: number
  week: number
  month: number
  revoked: number
}

/**
 * Reads the counts of each chain as of `now`: the counts that the database maintains per hour and, for the
 * hour in which each window begins, the records themselves. Uses the primary keys and the index (chain,
 * timestamp).
 */
export function statsQuery(now: Date): Statement {
  const since = (
    at: string,
  ) => `((SELECT coalesce(sum(total), 0) FROM record_hour WHERE chain = state.chain AND hour > ${at})
    + (SELECT count(*) FROM location_record WHERE chain = state.chain AND timestamp > ${at} AND timestamp < date_trunc('hour', ${at}, 'UTC') + interval '1 hour'))::float8`
  return {
    text: `SELECT chain, total::float8 AS total, revoked::float8 AS revoked, ${since('$1::timestamptz')} AS day, ${since('$2::timestamptz')} AS week, ${since('$3::timestamptz')} AS month
     FROM record_state AS state ORDER BY chain`,
    values: [1, 7, 30].map((days) => new Date(now.getTime() - days * 86_400_000)),
  }
}

/** Sums the counts of the chains. */
export function statsOf(rows: readonly ChainCounts[]): Stats {
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

/** Counts that the database maintains as a chain's records change. */
export interface RecordState {
  chain: string
  total: number
  revoked: number
  /** Integer that grows with every change. */
  revision: string
  /**
   * Time when the database received its first record of the chain. Together with `revision` it identifies the
   * state of the data.
   */
  since: Date
}
export const RECORD_STATES: Statement = {
  text: 'SELECT chain, total::float8 AS total, revoked::float8 AS revoked, revision::text, since FROM record_state ORDER BY chain',
  values: [],
}
