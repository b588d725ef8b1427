import type { HashAndHeight, HotDatabaseState } from '@subsquid/util-internal-processor-tools'
import type { BlockRef } from '../../chain'
import { LAST_HEIGHT, type Chain } from '../../chains'
import { eventIds, PROJECTED_TABLES, type ProjectedTable } from '../project'
import { lockChain, type Query, type Transactions } from './connection'

/**
 * The last final block of a chain (chain_status) and the hot blocks above it, which a reorg may replace
 * (hot_block). The event log shows which rows a hot block inserted. hot_revocation holds the earlier state of
 * the rows that it revoked.
 */

/** The state before the first final block, in the notation of evm-processor. */
const NO_BLOCK: HashAndHeight = { height: -1, hash: '0x' }

/** Returns the last final block, and the hot blocks in ascending order. */
export async function chainState(query: Query, chain: Chain): Promise<HotDatabaseState> {
  const [row] = await query<{ final: HashAndHeight | null; top: HashAndHeight[] | null }>(
    `SELECT (SELECT json_build_object('height', final_height, 'hash', final_hash) FROM chain_status
         WHERE chain = $1 AND final_height IS NOT NULL) AS final,
       (SELECT json_agg(json_build_object('height', height, 'hash', hash) ORDER BY height) FROM hot_block
         WHERE chain = $1) AS top`,
    [chain.slug],
  )
  return { ...(row!.final ?? NO_BLOCK), top: row!.top ?? [] }
}

/** Returns the last block that no reorg can replace; undefined before the first one. */
export async function finalBlock(query: Query, chain: Chain): Promise<BlockRef | undefined> {
  const { height, hash } = await chainState(query, chain)
  return height >= 0 ? { height, hash } : undefined
}

export async function noteFinal(query: Query, chain: Chain, block: BlockRef): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, final_height, final_hash) VALUES ($1, $2, $3)
     ON CONFLICT (chain) DO UPDATE SET final_height = excluded.final_height, final_hash = excluded.final_hash`,
    [chain.slug, block.height, block.hash],
  )
}

export async function insertHotBlock(query: Query, chain: Chain, { height, hash }: BlockRef): Promise<void> {
  await query('INSERT INTO hot_block (chain, height, hash) VALUES ($1, $2, $3)', [chain.slug, height, hash])
}

/** Saves rows that a hot block is about to revoke, so that `rollBack` can restore them. */
export async function saveRevoked(
  query: Query,
  chain: Chain,
  height: number,
  table: ProjectedTable,
  ids: readonly string[],
): Promise<void> {
  await query(
    `INSERT INTO hot_revocation (chain, height, projection, id, revoked, revocation_time, updated_at)
     SELECT $1, $2, $3, id, revoked, revocation_time, updated_at FROM ${table} WHERE id = ANY($4)
     ON CONFLICT DO NOTHING`,
    [chain.slug, height, table, ids],
  )
}

/** Removes the hot blocks above `height`, and undoes everything that they wrote. */
export async function rollBack(query: Query, chain: Chain, height: number): Promise<void> {
  await lockChain(query, chain)
  const above = [chain.slug, ...eventIds(chain.slug, height + 1, LAST_HEIGHT)]
  // Triggers look up the block of a revocation in the event log. Revocations are therefore undone first, and
  // rows of the log are deleted last.
  for (const table of PROJECTED_TABLES)
    await query(
      `UPDATE ${table} AS stored
       SET revoked = before.revoked, revocation_time = before.revocation_time, updated_at = before.updated_at
       FROM (SELECT DISTINCT ON (id) * FROM hot_revocation
         WHERE chain = $1 AND height > $2 AND projection = $3 ORDER BY id, height) AS before
       WHERE stored.id = before.id`,
      [chain.slug, height, table],
    )
  for (const table of PROJECTED_TABLES)
    await query(
      `DELETE FROM ${table} WHERE id IN (SELECT chain || '-' || uid FROM attestation_event
         WHERE chain = $1 AND id BETWEEN $2 AND $3 AND kind = 'ATTESTED')`,
      above,
    )
  await query('DELETE FROM attestation_event WHERE chain = $1 AND id BETWEEN $2 AND $3', above)
  await query('DELETE FROM hot_block WHERE chain = $1 AND height > $2', [chain.slug, height])
}

/**
 * Marks the hot blocks up to `height` as final, and logs their changes to records as final changes, in chain
 * order (migration FinalChanges).
 */
export async function settleHotBlocks(query: Query, chain: Chain, height: number): Promise<void> {
  const [blocks] = await query<{ from: number | null; to: number | null }>(
    'SELECT min(height) AS from, max(height) AS to FROM hot_block WHERE chain = $1 AND height <= $2',
    [chain.slug, height],
  )
  if (blocks?.from == null || blocks.to === null) return
  await lockChain(query, chain)
  // The new revision makes API instances wait for a replica's changes, and starts an epoch after a failover.
  await query(
    `WITH told AS (
       INSERT INTO record_change (chain, kind, uid, finality)
       SELECT event.chain, CASE event.kind WHEN 'ATTESTED' THEN 'new' ELSE 'revoked' END, event.uid, 'final'
       FROM attestation_event AS event JOIN location_record AS record ON record.id = event.chain || '-' || event.uid
       WHERE event.id BETWEEN $2 AND $3 AND event.chain = $1 ORDER BY event.id
       RETURNING chain)
     UPDATE record_state SET revision = revision + 1 WHERE chain = (SELECT DISTINCT chain FROM told)`,
    [chain.slug, ...eventIds(chain.slug, blocks.from, blocks.to)],
  )
  await query('DELETE FROM hot_block WHERE chain = $1 AND height <= $2', [chain.slug, height])
}

/**
 * Resets the last final block to an earlier one, or to none. Returns false, and changes nothing, if the
 * database holds hot blocks: they build on the current one.
 */
export function rewindFinal(
  database: Transactions,
  chain: Chain,
  block: BlockRef | undefined,
): Promise<boolean> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    if ((await chainState(query, chain)).top.length > 0) return false
    const { height, hash } = block ?? NO_BLOCK
    const kept = `int8multirange(int8range(NULL, $2::int8, '[]'))`
    await query(
      `UPDATE chain_status
       SET final_height = ($2::int8)::int, final_hash = $3, indexed_height = ($2::int8)::int, indexed_hash = $3,
         agreed_at = NULL, reread = reread * ${kept}, proven = proven * ${kept}
       WHERE chain = $1`,
      [chain.slug, height, hash],
    )
    return true
  })
}
