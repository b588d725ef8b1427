import type { Chain } from '../../chains'
import { lockChain, type Query, type Transactions } from './connection'

/** Location schemas found in a chain's SchemaRegistry: the table location_schema. */

/** A registered schema, hex in lower case, whose UID is the hash of `fields`, resolver and revocability. */
export interface FoundSchema {
  uid: string
  fields: string
  resolver: string
  revocable: boolean
  /** Account that registered it, lower-case; null if an older version stored the schema without it. */
  registerer: string | null
  /** Number of the block that registered it; the first one of the chain if registrations are not read. */
  block: number
  /** True if its attestations are indexed. */
  watched: boolean
  /** First block indexed with this schema; `block` once the audit has read its history (noteHistoryRead). */
  readFrom: number
}

/** Returns all found schemas of a chain in the order of their registration. */
export function foundSchemas(query: Query, chain: Chain): Promise<FoundSchema[]> {
  return query<FoundSchema>(
    `SELECT uid, fields, resolver, revocable, registerer, block_number AS block, watched, read_from AS "readFrom"
     FROM location_schema WHERE chain = $1 ORDER BY block_number, uid`,
    [chain.slug],
  )
}

/** Maximum number of records per schema that are searched for attesters. */
const USES_READ = 1_000

/** Returns up to `most` attesters for each of these schemas, found among its first records. */
export function schemaUses(
  query: Query,
  chain: Chain,
  uids: readonly string[],
  most: number,
): Promise<{ uid: string; attester: string }[]> {
  return query<{ uid: string; attester: string }>(
    `SELECT given.uid, prover AS attester FROM unnest($2::text[]) AS given (uid), LATERAL (SELECT DISTINCT prover FROM (
       SELECT prover FROM location_record WHERE schema_uid = given.uid AND chain = $1 ORDER BY timestamp LIMIT ${USES_READ}) AS first
       LIMIT $3) AS users`,
    [chain.slug, uids, most],
  )
}

/**
 * Stores which found schemas are watched from now on, and returns the new ones, including `added`, which
 * another process may have found: the audit must find their attestations in the blocks indexed so far.
 */
export function noteWatched(
  query: Query,
  chain: Chain,
  uids: readonly string[],
  added: readonly string[],
): Promise<Pick<FoundSchema, 'uid' | 'readFrom'>[]> {
  return query<Pick<FoundSchema, 'uid' | 'readFrom'>>(
    `WITH changed AS (
       UPDATE location_schema AS schema SET watched = uid = ANY($2), read_from = CASE WHEN uid = ANY($2) THEN greatest(read_from,
         (SELECT greatest(indexed_height, head_height) + 1 FROM chain_status WHERE chain_status.chain = schema.chain)) ELSE read_from END
       WHERE chain = $1 AND (watched <> (uid = ANY($2)) OR uid = ANY($3)) RETURNING uid, read_from AS "readFrom", watched)
     SELECT uid, "readFrom" FROM changed WHERE watched`,
    [chain.slug, uids, added],
  )
}

/** Sets `read_from` of schemas whose history the audit has read. Records may lack a revocation until then. */
export async function noteHistoryRead(query: Query, chain: Chain): Promise<void> {
  await query(
    `UPDATE location_schema AS schema SET read_from = block_number FROM chain_status AS status
     WHERE schema.chain = $1 AND status.chain = $1 AND watched AND read_from > block_number AND uid = ANY(schemas)
       AND reread + proven @> int8range(block_number, read_from)`,
    [chain.slug],
  )
}

/**
 * Returns the block before which the audit must cover all blocks to read the history of a schema whose last
 * block is final; 0 without such a schema.
 */
export async function unreadHistoryEnd(query: Query, chain: Chain, finalHeight: number): Promise<number> {
  const [late] = await query<{ end: number | null }>(
    `SELECT max(read_from) AS end FROM location_schema
     WHERE chain = $1 AND watched AND read_from > block_number AND read_from <= $2::int + 1`,
    [chain.slug, finalHeight],
  )
  return late!.end ?? 0
}

/** Inserts schemas, and returns them with the `readFrom` of their rows, which may be that of earlier rows. */
export async function insertSchemas(
  query: Query,
  chain: Chain,
  schemas: readonly FoundSchema[],
): Promise<FoundSchema[]> {
  const rows = await query<Pick<FoundSchema, 'uid' | 'readFrom'>>(
    `INSERT INTO location_schema (chain, uid, fields, resolver, revocable, registerer, block_number, watched, read_from)
     SELECT $1, uid, fields, resolver, revocable, registerer, block, watched, "readFrom"
     FROM json_to_recordset($2) AS found (uid text, fields text, resolver text, revocable boolean, registerer text,
       block integer, watched boolean, "readFrom" integer)
     ON CONFLICT (chain, uid) DO UPDATE SET block_number = excluded.block_number, watched = excluded.watched,
       registerer = coalesce(excluded.registerer, location_schema.registerer), read_from = greatest(location_schema.read_from, excluded.read_from)
     RETURNING uid, read_from AS "readFrom"`,
    [chain.slug, JSON.stringify(schemas)],
  )
  const readFrom = new Map(rows.map((row) => [row.uid, row.readFrom]))
  return schemas.map((schema) => ({ ...schema, readFrom: readFrom.get(schema.uid)! }))
}

/**
 * Stores found schemas, and marks those in `left`, which they replaced. Returns the found ones. `isIndexer`:
 * this process indexes them from now on, and blocks already indexed without a schema are read and proven
 * again. Schemas found by another process are new to the indexer at its next start.
 */
export function storeSchemas(
  database: Transactions,
  chain: Chain,
  found: readonly Omit<FoundSchema, 'readFrom'>[],
  left: readonly string[],
  isIndexer: boolean,
): Promise<FoundSchema[]> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const [status] = await query<{ copied: number | null; last: number | null; indexed: string[] }>(
      'SELECT indexed_height AS copied, greatest(indexed_height, head_height) AS last, schemas AS indexed FROM chain_status WHERE chain = $1',
      [chain.slug],
    )
    const copied = status?.copied ?? -1
    const isLate = ({ uid, block }: Pick<FoundSchema, 'uid' | 'block'>) =>
      block <= copied && !status!.indexed.includes(uid)
    const schemas = await insertSchemas(
      query,
      chain,
      found.map((schema) => ({ ...schema, readFrom: isLate(schema) ? status!.last! + 1 : schema.block })),
    )
    if (left.length)
      await query('UPDATE location_schema SET watched = false WHERE chain = $1 AND uid = ANY($2)', [
        chain.slug,
        left,
      ])
    if (!isIndexer) return schemas
    const watched = schemas.filter((schema) => schema.watched)
    const late = watched.filter(isLate).map(({ block }) => block)
    const kept = late.length ? `* int8multirange(int8range(NULL, ${Math.min(...late)}))` : ''
    // A replaced schema counts as new if it returns: the audit then reads its history.
    await query(
      `UPDATE chain_status SET reread = reread ${kept}, proven = proven ${kept},
         schemas = ARRAY(SELECT uid FROM unnest(schemas || $2::text[]) AS uid WHERE uid <> ALL($3))
       WHERE chain = $1`,
      [chain.slug, watched.map(({ uid }) => uid), left],
    )
    return schemas
  })
}
