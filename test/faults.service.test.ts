// @module-tag slow
import { expect, test } from 'vitest'
import { attest } from '../dev/chain'
import { HASTY, TIMEOUT_MS } from './behind'
import { HISTORY_AND_HEAD, inFaultyWorld, place, records, until, whileDown, world } from './faulty'
import { faults, inTurn, type Fault } from './rpc-proxy'
import { mine, reorg } from './world'

/** Tests the indexer behind an RPC endpoint that fails or contradicts itself (docs/spec/trust.md 6). */
inFaultyWorld()

test.each<[string, Fault, NodeJS.ProcessEnv?]>([
  ['HTTP 429, 500, 503', inTurn(...[429, 500, 503].map(faults.http))],
  [
    '"rate limit exceeded", "missing trie node"',
    inTurn(faults.refusal('rate limit exceeded', -32005), faults.refusal('missing trie node')),
  ],
  ['sockets dropped', faults.dropped],
  ['no response', faults.hanging, HASTY],
  ['responses beyond the time-out', faults.slow(TIMEOUT_MS + 300), HASTY],
  ['truncated batch responses', faults.batchCut],
  ['responses with incorrect ids', faults.wrongIds],
  ['truncated JSON', faults.invalidJson],
  ['null blocks', faults.blocksNull],
  ['logs removed, or of another fork', inTurn(faults.logsRemoved, faults.logsOfAnotherFork)],
  [
    'a multicall response that is too short, or in another order',
    inTurn(faults.multicallShort, faults.multicallReversed),
  ],
  ['unknown attestations', faults.bodiesUnknown],
  ['a lagging endpoint', faults.lagging(3)],
])('the indexer loses no event despite %s, in history or at the head', async (_, fault, settings = {}) => {
  const { chain, proxy, caughtUp } = world
  const uids = await whileDown(settings, fault)
  await until(() => proxy.met >= 2)
  proxy.misbehave()
  await caughtUp()
  // Repeats the test with an indexer that has verified its endpoint and is following the head.
  proxy.misbehave(fault)
  uids.push(await attest(chain, place()), await attest(chain, place()))
  // A block that is proven by receipts needs no eth_getLogs, so this fault may apply to no call.
  await until(async () => proxy.met >= 1 || (await records(uids.slice(-1)))[0] === 'valid')
  await reorg(chain, 1)
  await mine(chain, 2)
  proxy.misbehave()
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid', 'missing'])
})
