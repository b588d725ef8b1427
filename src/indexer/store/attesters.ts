import type { Chain } from '../../chains'
import { lockChain, type Database, type Query } from './connection'

/** Whose attestations are answers of this service: the table answer_attester. */

export interface AnswerAttester {
  /** lower-case */
  address: string
  /** It has attested nothing in blocks below this. */
  firstBlock: number
  /** Attestations in blocks below this are found by the audit, as the attester was not known before. */
  readFrom: number
}

/** Those that the chain's indexer has taken. */
export function takenAttesters(query: Query, chain: Chain): Promise<AnswerAttester[]> {
  return query<AnswerAttester>(
    `SELECT address, first_block AS "firstBlock", read_from AS "readFrom" FROM answer_attester
     WHERE chain = $1 AND read_from IS NOT NULL ORDER BY address`,
    [chain.slug],
  )
}

/**
 * Takes those that the API has noted since: this process, the chain's indexer, reads them from now on. Blocks
 * of its copy in which they may have attested were read without them: the audit reads and proves them again.
 */
export async function takeAttesters(database: Database, chain: Chain): Promise<AnswerAttester[]> {
  const noted = await database.query(
    'SELECT FROM answer_attester WHERE chain = $1 AND read_from IS NULL LIMIT 1',
    [chain.slug],
  )
  if (noted.length === 0) return []
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const taken = await query<AnswerAttester>(
      `UPDATE answer_attester SET read_from = greatest(first_block, coalesce(
         (SELECT greatest(indexed_height, head_height) + $2::int FROM chain_status WHERE chain = $1), 0))
       WHERE chain = $1 AND read_from IS NULL
       RETURNING address, first_block AS "firstBlock", read_from AS "readFrom"`,
      // Blocks above its head may be under way, read without them.
      [chain.slug, chain.finality],
    )
    const first = Math.min(...taken.map(({ firstBlock }) => firstBlock))
    const kept = '* int8multirange(int8range(NULL, $2::int8))'
    await query(
      `UPDATE chain_status SET schemas = schemas || $3::text[], reread = reread ${kept}, proven = proven ${kept}
       WHERE chain = $1`,
      [chain.slug, first, taken.map(({ address }) => address)],
    )
    return taken
  })
}

/** Writes attesters of a snapshot into an empty database. */
export async function insertAttesters(
  query: Query,
  chain: Chain,
  attesters: readonly AnswerAttester[],
): Promise<void> {
  await query(
    `INSERT INTO answer_attester (chain, address, first_block, read_from)
     SELECT $1, address, "firstBlock", "readFrom"
     FROM json_to_recordset($2) AS taken (address text, "firstBlock" integer, "readFrom" integer)
     ON CONFLICT (chain, address) DO UPDATE SET first_block = excluded.first_block, read_from = excluded.read_from`,
    [chain.slug, JSON.stringify(attesters)],
  )
}
