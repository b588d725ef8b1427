import { expect, test } from 'vitest'
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import { checkSameChain } from '../dev/indexed'
import type { Settings } from '../src/config'
import { createMigratedDatabase, rows } from './database'

test('checkSameChain leaves no answer and no schema of another local chain', async () => {
  const { url } = await createMigratedDatabase()
  const { slug } = LOCAL_CHAIN
  for (const chain of [slug, 'other'])
    await rows(
      url,
      `INSERT INTO answer (id, uid, chain, attester, recipient, operation, result, input_refs, computed_at, timestamp,
         revoked, created_at, updated_at, schema_uid, ref_uid, revocable, expiration_time, block_number, block_hash,
         transaction_hash, log_index)
       VALUES ('${chain}-1', '1', '${chain}', '', '', 'area', '1', '{}', now(), now(), false, now(), now(), '', '',
         false, 0, 5, '', '', 0);
       INSERT INTO location_schema (chain, uid, fields, resolver, revocable, block_number, read_from, watched)
       VALUES ('${chain}', '1', '', '', true, 5, 5, true);
       INSERT INTO chain_status (chain, final_height, final_hash) VALUES ('${chain}', 5, '0x1')`,
    )
  const chain = { chain: LOCAL_CHAIN, provider: { getBlock: async () => ({ hash: '0x2' }) } }
  await checkSameChain({ databaseUrl: url } as Settings, chain as unknown as LocalChain, true, () => {})
  expect(
    await rows(
      url,
      `SELECT chain FROM answer UNION ALL SELECT chain FROM location_schema UNION ALL SELECT chain FROM chain_status`,
    ),
  ).toEqual(Array(3).fill({ chain: 'other' }))
})
