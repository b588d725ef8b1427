import type { Chain } from '../../chains'
import { lockChain, type Query, type Transactions } from './connection'

/** Accounts whose attestations are answers of this service: the table answer_attester. */

export interface AnswerAttester {
  /** Address of the account, lower-case. */
  address: string
  /** First block in which the account may have attested. */
  firstBlock: number
  /** First block that was indexed with this attester. The audit finds its attestations in earlier blocks. */
  readFrom: number
}

/** Returns the attesters that the chain's indexer knows. */
export function takenAttesters(query: Query, chain: Chain): Promise<AnswerAttester[]> {
  return query<AnswerAttester>(
    `SELECT address, first_block AS "firstBlock", read_from AS "readFrom" FROM answer_attester
     WHERE chain = $1 AND read_from IS NOT NULL ORDER BY address`,
    [chain.slug],
  )
}

/**
 * Marks the attesters that the API has added as indexed from now on. Blocks already indexed in which they may
 * have attested are read and proven again. Returns all attesters that the indexer must know, because the
 * response to an earlier transaction may have been lost.
 */
export async function takeAttesters(
  query: Query,
  transactions: Transactions,
  chain: Chain,
): Promise<AnswerAttester[]> {
  const noted = await query('SELECT FROM answer_attester WHERE chain = $1 AND read_from IS NULL LIMIT 1', [
    chain.slug,
  ])
  if (noted.length > 0) await transactions.transaction((query) => markTaken(query, chain))
  return takenAttesters(query, chain)
}

async function markTaken(query: Query, chain: Chain): Promise<void> {
  await lockChain(query, chain)
  const taken = await query<{ address: string; first: number }>(
    `UPDATE answer_attester SET read_from = greatest(first_block, coalesce(
       (SELECT greatest(indexed_height, head_height) + $2::int FROM chain_status WHERE chain = $1), 0))
     WHERE chain = $1 AND read_from IS NULL
     RETURNING address, first_block AS first`,
    // Running requests for blocks above the head do not include these attesters.
    [chain.slug, chain.finality],
  )
  const kept = '* int8multirange(int8range(NULL, $2::int8))'
  await query(
    `UPDATE chain_status SET schemas = schemas || $3::text[], reread = reread ${kept}, proven = proven ${kept}
     WHERE chain = $1`,
    [chain.slug, Math.min(...taken.map(({ first }) => first)), taken.map(({ address }) => address)],
  )
}

/** Inserts attesters of a snapshot into an empty database. */
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
