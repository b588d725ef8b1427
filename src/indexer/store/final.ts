import type { TypeormDatabase } from '@subsquid/typeorm-store'
import { stateSchema, type Chain } from '../../chains'
import { eventId } from '../project'
import { lockChain, type Query } from './connection'

/** Changes for readers of final ones (migration FinalChanges), written as hot blocks become final. */

const LAST_LOG = 999_999

/**
 * Ends the time in which a reorg may take back the hot blocks up to `height`, and logs what they did to
 * records as final changes, in the order of the chain.
 */
export async function settleHotBlocks(query: Query, chain: Chain, height: number): Promise<void> {
  const hot = `${stateSchema(chain)}.hot_block`
  const [blocks] = await query<{ from: number | null; to: number | null }>(
    `SELECT min(height) AS from, max(height) AS to FROM ${hot} WHERE height <= $1`,
    [height],
  )
  if (blocks?.from == null || blocks.to === null) return
  await lockChain(query, chain)
  // The new revision holds replicas to these changes, and begins a new epoch after a failover.
  await query(
    `WITH told AS (
       INSERT INTO record_change (chain, kind, uid, finality)
       SELECT event.chain, CASE event.kind WHEN 'ATTESTED' THEN 'new' ELSE 'revoked' END, event.uid, 'final'
       FROM attestation_event AS event JOIN location_record AS record ON record.id = event.chain || '-' || event.uid
       WHERE event.id BETWEEN $2 AND $3 AND event.chain = $1 ORDER BY event.id
       RETURNING chain)
     UPDATE record_state SET revision = revision + 1 WHERE chain = (SELECT DISTINCT chain FROM told)`,
    [chain.slug, eventId(chain.slug, blocks.from, 0), eventId(chain.slug, blocks.to, LAST_LOG)],
  )
  await query(`DELETE FROM ${hot} WHERE height <= $1`, [height])
}

/** Makes the store of evm-processor settle the hot blocks that become final, where it would delete them. */
export function settleWithState(store: TypeormDatabase, chain: Chain): void {
  ;(store as unknown as StoreParts).deleteHotBlocks = (em, height) =>
    settleHotBlocks((sql, values) => em.query(sql, values), chain, height)
}

/** The private method of typeorm-store 1.5.1 that is called where its last final block moves. */
interface StoreParts {
  deleteHotBlocks(
    em: { query<Row>(sql: string, values?: unknown[]): Promise<Row[]> },
    height: number,
  ): Promise<void>
}
