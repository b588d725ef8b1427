import { expect, test } from 'vitest'
import { attest } from '../dev/chain'
import * as eas from '../src/abi/EAS'
import { startIndexerBehind } from './behind'
import {
  HISTORY_AND_HEAD,
  audited,
  finalize,
  inFaultyWorld,
  indexer,
  place,
  query,
  records,
  repairedSoFar,
  restart,
  until,
  whileDown,
  world,
} from './faulty'
import { faults, startRpcProxy } from './rpc-proxy'
import { inOneBlock } from './world'

/** Tests the indexer on another chain, and behind endpoints that omit logs (docs/spec/trust.md 6). */
inFaultyWorld()
const repaired = async () => (await audited()).repaired

test('the indexer does not start if its only endpoint serves another chain, and logs why', async () => {
  await indexer.stop()
  const wrong = startIndexerBehind(world, [faults.anotherChain])
  expect(await wrong.refused).toMatch(/is on chain 1 instead of 84532/)
  await wrong.stop()
  restart()
  await world.caughtUp()
})

test('the indexer does not start on a database of another chain, and logs the reason', async () => {
  await indexer.stop()
  const [before] = await query<{ hash: string }>('SELECT final_hash AS hash FROM chain_status')
  await query(`UPDATE chain_status SET final_hash = $1`, [`0x${'2'.repeat(64)}`])
  await attest(world.chain, place())
  const copy = () =>
    query('SELECT id, xmin FROM attestation_event UNION ALL SELECT id, xmin FROM location_record ORDER BY id')
  const written = await copy()
  const wrong = startIndexerBehind(world)
  expect(await wrong.refused).toMatch(/belongs to another network/)
  await wrong.stop()
  expect(await copy()).toEqual(written)
  await query(`UPDATE chain_status SET final_hash = $1`, [before!.hash])
  restart()
  await world.caughtUp()
})

test('the indexer reads logs that an endpoint omits at the head, and the audit those in history', async () => {
  const { chain, proxy, caughtUp } = world
  await finalize()
  const uids = await whileDown({}, faults.logsCutByOne)
  await caughtUp()
  // The last event of history is a revocation.
  expect(await records(uids)).toEqual(['valid', 'valid', 'valid', 'valid', 'revoked'])
  const contract = await chain.eas()
  const attested = await inOneBlock(
    chain,
    [1, 2].map(() => () => contract.getFunction('attest').send(place(), { gasLimit: 1_000_000 })),
  )
  uids.push(...attested.flatMap((receipt) => receipt.logs.map((log) => log.data)))
  await caughtUp()
  expect(await records(uids.slice(5))).toEqual(['valid', 'valid'])
  await finalize()
  proxy.misbehave(faults.logsEmpty)
  expect(await repaired()).toBe(1)
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid', 'valid'])
  expect(await repaired()).toBe(0)
})

test('the audit restores an omitted revocation in history, and an omitted attestation that was revoked', async () => {
  const withoutRevoked = await whileDown({}, faults.logsWithout(eas.events.Revoked.topic))
  await world.caughtUp()
  expect(await records(withoutRevoked)).toEqual(['valid', 'valid', 'valid', 'valid', 'revoked'])
  // Otherwise, hot blocks would be read again as history, with the next fault.
  await finalize()
  const withoutAttested = await whileDown({}, faults.logsWithout(eas.events.Attested.topic))
  await world.caughtUp()
  expect(await records(withoutAttested)).toEqual(['missing', 'missing', 'missing', 'valid', 'revoked'])
  world.proxy.misbehave()
  await finalize()
  expect(await repaired()).toBe(4)
  expect(await records([...withoutRevoked, ...withoutAttested])).toEqual([
    ...HISTORY_AND_HEAD,
    ...HISTORY_AND_HEAD,
  ])
})

test('the indexer rereads history from the second endpoint if the first one announces unknown UIDs', async () => {
  const { chain, proxy, caughtUp } = world
  const liar = await startRpcProxy(chain.url, faults.logsOfOtherUids)
  const uids = await whileDown({ RPC_URL_BASE_SEPOLIA: [liar.url, proxy.url].join() })
  await caughtUp()
  expect(await records(uids)).toEqual(HISTORY_AND_HEAD)
  expect(indexer.exits).toEqual([])
  await indexer.stop()
  await liar.close()
  restart()
  await caughtUp()
})

test('the continuous audit repairs and counts the omissions of the first of two endpoints', async () => {
  const { chain, proxy, caughtUp } = world
  const before = await repairedSoFar()
  const liar = await startRpcProxy(chain.url, faults.logsCutByOne)
  const uids = await whileDown({
    RPC_URL_BASE_SEPOLIA: [liar.url, proxy.url].join(),
    AUDIT_CALLS_PER_SECOND: '10000',
  })
  await caughtUp()
  await finalize()
  await until(async () => (await repairedSoFar()) >= before + 1)
  expect(await records(uids)).toEqual(HISTORY_AND_HEAD)
  expect(await repairedSoFar()).toBe(before + 1)
  await indexer.stop()
  await liar.close()
  restart()
  await caughtUp()
})
