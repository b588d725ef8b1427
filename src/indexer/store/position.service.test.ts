import { expect, test } from 'vitest'
import { createMigratedDatabase, rows } from '../../../test/database'
import { CHAINS } from '../../chains'
import { Database, type Query } from './connection'
import { rollBack, settleHotBlocks } from './position'
import { lastEventBlock } from './log'

interface Plan {
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}
/** Returns the number of rows that a plan has read in vain. */
const inVain = (plan: Plan): number =>
  (plan.Plans ?? []).map(inVain).reduce((sum, each) => sum + each, plan['Rows Removed by Filter'] ?? 0)

test('a reorg reads only the events of its hot blocks, not those of other chains', async () => {
  const { url } = await createMigratedDatabase()
  const slugs = CHAINS.map(({ slug }) => slug)
  await rows(
    url,
    `INSERT INTO attestation_event (id, chain, kind, uid, schema_uid, attester, recipient, withheld, block_number, block_hash,
       block_timestamp, transaction_hash, log_index)
     SELECT chain || '-' || lpad(n::text, 12, '0') || '-000000', chain, 'ATTESTED', md5(chain || n), '', '', '', false, n, '',
       now(), '', 0 FROM unnest($1::text[]) AS chain, generate_series(1, 3000) AS n`,
    [slugs],
  )
  await rows(
    url,
    `INSERT INTO hot_block SELECT chain, height, '' FROM unnest($1::text[]) AS chain, generate_series(2990, 3000) AS height`,
    [slugs],
  )
  await rows(url, 'ANALYZE attestation_event')
  const database = new Database(url, () => {})
  let read = 0
  const explained =
    (query: Query): Query =>
    async (sql, values) => {
      if (!sql.includes('attestation_event')) return query(sql, values)
      const [row] = await query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        values,
      )
      read += inVain(row!['QUERY PLAN'][0]!.Plan)
      return []
    }
  try {
    for (const chain of CHAINS)
      await database.transaction(async (query) => {
        await lastEventBlock(explained(query), chain, 0)
        await rollBack(explained(query), chain, 2995)
        await settleHotBlocks(explained(query), chain, 2992)
      })
    expect(read).toBe(0)
    const left = await rows(
      url,
      'SELECT chain, count(*)::int AS events FROM attestation_event GROUP BY chain ORDER BY chain COLLATE "C"',
    )
    expect(left).toEqual(slugs.sort().map((chain) => ({ chain, events: 2995 })))
  } finally {
    await database.close()
  }
})
