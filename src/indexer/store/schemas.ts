import type { Chain } from '../../chains'
import { lockChain, type Database, type Query } from './connection'

/** Location schemas that were found in a chain's SchemaRegistry: the table location_schema. */

/** A registered schema, hex lower-case: `fields` is its text, whose hash with the other two is its UID. */
export interface FoundSchema {
  uid: string
  fields: string
  resolver: string
  revocable: boolean
  /** The block that registered it. */
  block: number
  /** Whether its attestations are read. */
  watched: boolean
  /** Attestations in blocks below this are found by the audit, as the schema was not known before. */
  readFrom: number
}

/** All of a chain, in the order of their registration. */
export function foundSchemas(query: Query, chain: Chain): Promise<FoundSchema[]> {
  return query<FoundSchema>(
    `SELECT uid, fields, resolver, revocable, block_number AS block, watched, read_from AS "readFrom"
     FROM location_schema WHERE chain = $1 ORDER BY block_number, uid`,
    [chain.slug],
  )
}

/** Notes which of the found schemas are watched from now on. */
export async function noteWatched(query: Query, chain: Chain, uids: readonly string[]): Promise<void> {
  await query(
    'UPDATE location_schema SET watched = NOT watched WHERE chain = $1 AND watched <> (uid = ANY($2))',
    [chain.slug, uids],
  )
}

/**
 * Stores schemas that were found, and answers them with `readFrom`. `isIndexer`: this process reads them from
 * now on. Blocks of its copy that come after a registration were read without the schema: the audit reads and
 * proves them again. What another process finds, the indexer takes in at its next start, as a new schema.
 */
export function storeSchemas(
  database: Database,
  chain: Chain,
  found: readonly Omit<FoundSchema, 'readFrom'>[],
  isIndexer: boolean,
): Promise<FoundSchema[]> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const [status] = await query<{ copied: number | null; last: number | null }>(
      'SELECT indexed_height AS copied, greatest(indexed_height, head_height) AS last FROM chain_status WHERE chain = $1',
      [chain.slug],
    )
    const copied = status?.copied ?? -1
    const schemas = found.map((schema) => ({
      ...schema,
      readFrom: schema.block <= copied ? status!.last! + 1 : schema.block,
    }))
    await query(
      `INSERT INTO location_schema (chain, uid, fields, resolver, revocable, block_number, watched, read_from)
       SELECT $1, uid, fields, resolver, revocable, block, watched, "readFrom"
       FROM json_to_recordset($2) AS found (uid text, fields text, resolver text, revocable boolean, block integer,
         watched boolean, "readFrom" integer)
       ON CONFLICT (chain, uid) DO UPDATE SET block_number = excluded.block_number, watched = excluded.watched`,
      [chain.slug, JSON.stringify(schemas)],
    )
    if (!isIndexer) return schemas
    const watched = schemas.filter((schema) => schema.watched)
    const late = watched.filter(({ block }) => block <= copied).map(({ block }) => block)
    const kept = late.length ? `* int8multirange(int8range(NULL, ${Math.min(...late)}))` : ''
    await query(
      `UPDATE chain_status SET schemas = schemas || $2::text[], reread = reread ${kept}, proven = proven ${kept}
       WHERE chain = $1`,
      [chain.slug, watched.map(({ uid }) => uid)],
    )
    return schemas
  })
}
