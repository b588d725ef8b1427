import { Client } from 'pg'
import { expect, test } from 'vitest'
import { attest } from '../dev/chain'
import { startIndexerProcess } from './behind'
import {
  HISTORY_AND_HEAD,
  finalize,
  inFaultyWorld,
  indexer,
  kill,
  place,
  query,
  records,
  restart,
  until,
  whileDown,
  world,
} from './faulty'
import { expectInvariants } from './invariants'
import type { Fault } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'
import { withPostgres } from './needs'

/** Tests the process of an indexer with kills, lost connections and a deep reorg (docs/spec/trust.md 6). */
inFaultyWorld({}, startIndexerProcess)

test('the indexer loses no event if it is killed when it requests payloads', async () => {
  const { chain, caughtUp } = world
  let killing = true
  const deadly: Fault = ({ method }) => {
    if (method !== 'eth_call' || !killing) return undefined
    killing = false
    void kill()
    return { drop: true }
  }
  const uids = await whileDown({}, deadly)
  await caughtUp()
  killing = true
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid'])
  expect(indexer.exits).toEqual(['SIGKILL', 'SIGKILL'])
})

/** Acts on the indexer while its transaction has written the blocks of its events, but not yet the events. */
async function inTheMiddleOfABatch(act: () => Promise<unknown>): Promise<string[]> {
  const { chain, databaseUrl, caughtUp } = world
  const holder = new Client({ connectionString: databaseUrl })
  holder.on('error', () => {})
  await holder.connect()
  try {
    await holder.query('SELECT pg_advisory_lock(hashtext($1))', [`attestations of ${LOCAL_CHAIN.slug}`])
    const uids = [await attest(chain, place()), await attest(chain, place())]
    await until(
      async () =>
        (
          await query(
            `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          )
        ).length > 0,
    )
    await act()
    await holder.end().catch(() => {})
    await caughtUp()
    return uids
  } finally {
    await holder.end().catch(() => {})
  }
}
const cutConnections = () =>
  query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )

withPostgres.test(
  'the indexer loses no event if it is killed during a transaction (Postgres only)',
  async () => {
    expect(await records(await inTheMiddleOfABatch(kill))).toEqual(['valid', 'valid'])
  },
)

withPostgres.test(
  'the indexer loses no event if all database connections are cut (Postgres only)',
  async () => {
    const uids = await inTheMiddleOfABatch(cutConnections)
    for (let i = 0; i < 3; i++) {
      await cutConnections()
      uids.push(await attest(world.chain, place()))
    }
    await world.caughtUp()
    expect(await records(uids)).toEqual(uids.map(() => 'valid'))
  },
)

test('the indexer exits with status 2 for a reorg below the last final block', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  await attest(chain, place())
  await finalize()
  await caughtUp()
  await expectInvariants(world)
  const copy = () =>
    query('SELECT id, xmin FROM attestation_event UNION ALL SELECT id, xmin FROM location_record ORDER BY id')
  const written = await copy()
  await chain.provider.send('evm_revert', [before])
  await attest(chain, place())
  await mine(chain, LOCAL_CHAIN.finality + 10)
  expect(await indexer.refused).toMatch(/a reorg went deeper than 75 blocks/)
  expect(indexer.exits.at(-1)).toBe(2)
  expect(await copy()).toEqual(written)
  // The new chain is indexed from scratch, so that the invariants hold after this test too.
  await query('TRUNCATE attestation_event, location_record, answer, chain_status, hot_block CASCADE')
  restart()
  await caughtUp()
})
