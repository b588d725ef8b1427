import { setTimeout as pause } from 'node:timers/promises'
import { hexlify } from 'ethers'
import { afterAll, beforeAll, expect } from 'vitest'
import { locationRequest, request, testAccount } from '../dev/chain'
import { seededRandom } from '../dev/random'
import * as eas from '../src/abi/EAS'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import {
  ANSWERER,
  HASTY,
  TIMEOUT_MS,
  answerRequest,
  audit,
  startFaultyWorld,
  startIndexerProcess,
  type FaultyWorld,
  type KeptProcess,
} from './behind'
import { TEST_DATABASE_URL, rows } from './database'
import { expectInvariants } from './invariants'
import { faults, sometimes, type Fault } from './rpc-proxy'
import { SEED, hunt } from './seed'
import { LOCAL_CHAIN, mine, reorg } from './world'
import { positions } from './positions'

/**
 * Tests a busy chain with reorgs, endpoints that fail and lie, and an indexer that is killed and
 * disconnected, in an order drawn from the seed. At intervals and at the end, nothing may be lost. The seed
 * fixes the order of events, not their timing.
 */
const STEPS_BETWEEN_CHECKS = 2_000
/** Maximum depth of reorgs below the highest head. Blocks that the indexer may treat as final are deeper. */
const DEEPEST = LOCAL_CHAIN.finality - 30

let world: FaultyWorld
let indexer: KeptProcess
beforeAll(async () => {
  world = await startFaultyWorld()
  indexer = startIndexerProcess(world, [], { ...HASTY, AUDIT_CALLS_PER_SECOND: '1000', LOG_LEVEL: 'info' })
  await Promise.race([world.caughtUp(), refusal()])
})
afterAll(async () => {
  await indexer?.stop()
  await world?.stop()
})
const refusal = () =>
  indexer.refused.then((log) =>
    Promise.reject(new Error(`the indexer could not start:\n${log.slice(-2000)}`)),
  )

const random = seededRandom(SEED)
/** Has a random generator of its own, because the number of calls depends on timing. */
const randomOfFaults = seededRandom(SEED + 1)
const below = (end: number) => Math.floor(random() * end)
const pick = <T>(list: readonly T[]): T => list[below(list.length)]!

const MODES: readonly Fault[] = [
  ...[429, 500, 503].map(faults.http),
  ...['rate limit exceeded', 'missing trie node', 'query returned more than 10000 results'].map((message) =>
    faults.refusal(message),
  ),
  faults.rangeAtMost(5, 'eth_getLogs is limited to a 5 range'),
  ...[faults.logsCutByOne, faults.logsEmpty, faults.logsTwice, faults.logsRemoved],
  ...[faults.logsOfAnotherFork, faults.blocksNull],
  ...[faults.logsCutEverywhere, faults.logsForged, faults.headersForged, faults.anotherBlock(randomOfFaults)],
  ...[faults.multicallShort, faults.multicallReversed, faults.bodiesUnknown],
  ...[faults.dropped, faults.hanging, faults.slow(50), faults.slow(TIMEOUT_MS + 300), faults.batchCut],
  ...[faults.batchReordered, faults.wrongIds, faults.invalidJson],
  ...[faults.lagging(1), faults.lagging(5)],
]

/** Attester of places, and attester whose attestations are answers. */
const [PLACES, ANSWERS] = [testAccount(0).address, testAccount(ANSWERER).address]
/** Candidates for a revocation; a reorg may have removed some. */
const attested: { uid: string; schema: string; from: string }[] = []
let highest = 0
const done: Record<string, number> = {}

function payload() {
  const [longitude, latitude] = [below(3_600) / 10 - 180, below(1_600) / 10 - 80]
  switch (below(6)) {
    case 0: {
      const square = positions('0 0, 1 0, 1 1, 0 1, 0 0').map(([x, y]) => [
        longitude / 2 + x,
        latitude / 2 + y,
      ])
      return locationRequest(
        { type: 'Polygon', coordinates: [square] },
        { schema: pick([LOCATION_SCHEMA.uid, LOCATION_PROTOCOL_SCHEMA.uid]) },
      )
    }
    case 1:
      return request(
        pick([LOCATION_SCHEMA.uid, LOCATION_PROTOCOL_SCHEMA.uid]),
        hexlify(Uint8Array.from({ length: below(400) }, () => below(256))),
      )
    case 2:
      return locationRequest(
        { type: 'Point', coordinates: [longitude * 10, latitude] },
        { memo: 'x'.repeat(below(20_000)) },
      )
    default:
      return locationRequest(
        { type: 'Point', coordinates: [longitude, latitude] },
        { schema: pick([LOCATION_SCHEMA.uid, LOCATION_PROTOCOL_SCHEMA.uid]) },
      )
  }
}

/** Sends calls of EAS, each mined in its own block or all in one. A reverted transaction is allowed. */
async function send(calls: readonly string[], inOneBlock = false, from = PLACES): Promise<void> {
  const { provider, chain } = world.chain
  const automine = (on: boolean) => (inOneBlock ? provider.send('evm_setAutomine', [on]) : undefined)
  const hashes: string[] = []
  await automine(false)
  for (const data of calls)
    hashes.push(
      (await provider.send('eth_sendTransaction', [
        { from, to: chain.eas, data, gas: '0x1dcd650' },
      ])) as string,
    )
  if (inOneBlock) await mine(world.chain, 1)
  await automine(true)
  for (const hash of hashes) {
    // Waits until the transaction is mined, because a reorg while anvil is still mining leaves it with
    // missing blocks.
    let receipt: { logs: { topics: string[]; data: string }[] } | null
    while ((receipt = (await provider.send('eth_getTransactionReceipt', [hash])) as typeof receipt) === null)
      await pause(2)
    attested.push(
      ...receipt.logs
        .filter(({ topics }) => topics[0] === eas.events.Attested.topic)
        .map(({ topics, data }) => ({ uid: data, schema: topics[3]!, from })),
    )
  }
}

const steps: Record<string, { weight: number; act: () => Promise<unknown> }> = {
  attest: { weight: 30, act: async () => send([await call('attest', payload())]) },
  answer: {
    weight: 6,
    act: async () => {
      const content = pick([() => answerRequest(BigInt(below(1e9))), () => answerRequest(true), payload])()
      await send([await call('attest', content)], false, ANSWERS)
    },
  },
  'several in a block': {
    weight: 12,
    act: async () => {
      const [twin, one, two] = [
        payload(),
        locationRequest({ type: 'Point', coordinates: [below(180), 1] }),
        locationRequest({ type: 'Point', coordinates: [below(180), 2] }),
      ]
      const several = await call('multiAttest', [
        { schema: one.schema, data: [one.data, two.data, one.data] },
      ] as never)
      await send(
        [await call('attest', twin), several, await call('attest', twin)].slice(0, 1 + below(3)),
        true,
      )
    },
  },
  revoke: {
    weight: 12,
    act: async () => {
      const recent = attested.slice(-60)
      if (recent.length === 0) return
      const { uid, schema, from } = pick(recent)
      await send([await call('revoke', { schema, data: { uid, value: 0 } })], false, from)
    },
  },
  mine: { weight: 14, act: () => mine(world.chain, 1 + below(3)) },
  'mine beyond finality': { weight: 2, act: () => mine(world.chain, LOCAL_CHAIN.finality + below(20)) },
  // Does not use evm_revert: combined with anvil_reorg, it leaves anvil with missing blocks and lost state
  // (test/reorgs.service.test.ts uses it alone).
  anvil_reorg: {
    weight: 5,
    act: async () => {
      const depth = 1 + below(1 + below(10))
      if ((await world.chain.provider.getBlockNumber()) - depth < highest - DEEPEST) return
      await reorg(world.chain, depth)
    },
  },
  'faults on': {
    weight: 5,
    act: async () =>
      world.proxy.misbehave(
        ...Array.from({ length: 1 + below(2) }, () =>
          sometimes(pick([0.05, 0.3, 1]), pick(MODES), randomOfFaults),
        ),
      ),
  },
  'faults off': { weight: 6, act: async () => world.proxy.misbehave() },
  // For one seed in three, kills are frequent.
  kill: { weight: SEED % 3 ? 4 : 30, act: () => indexer.kill() },
  'cut connections': { weight: TEST_DATABASE_URL ? 2 : 0, act: cutConnections },
  wait: { weight: 10, act: () => pause(below(400)) },
}
const weights = Object.values(steps).reduce((sum, { weight }) => sum + weight, 0)

async function call(method: 'attest' | 'multiAttest' | 'revoke', argument: object): Promise<string> {
  return (await world.chain.eas()).interface.encodeFunctionData(method, [argument])
}

function cutConnections() {
  return rows(
    world.databaseUrl,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
}

async function step(): Promise<void> {
  let draw = random() * weights
  const [name, { act }] = Object.entries(steps).find(([, { weight }]) => (draw -= weight) < 0)!
  done[name] = (done[name] ?? 0) + 1
  await act()
  highest = Math.max(highest, await world.chain.provider.getBlockNumber())
}

/** Stops the faults. Then an audit must find the omitted events, and all invariants must hold. */
async function check(): Promise<void> {
  world.proxy.misbehave()
  await mine(world.chain, LOCAL_CHAIN.finality + 15)
  await world.caughtUp()
  highest = await world.chain.provider.getBlockNumber()
  // The first audit may still repair events. The second one must find nothing to repair.
  const found = [await audit(world), await audit(world)]
  expect(found[1]!.output).toMatch(/the log matches/)
  await expectInvariants(world)
}

hunt('the indexer loses no event under random faults', 40, async ({ cases, report }) => {
  highest = await world.chain.provider.getBlockNumber()
  const run = async () => {
    for (let i = 1; i <= cases; i++) {
      await step()
      if (i % STEPS_BETWEEN_CHECKS === 0) await check()
    }
    await check()
  }
  await Promise.race([run(), refusal()])
  const [counts] = await rows<object>(
    world.databaseUrl,
    `SELECT count(*)::int AS events, (SELECT count(*)::int FROM location_record) AS records, (SELECT count(*)::int FROM answer) AS answers, (SELECT count(*)::int FROM location_record WHERE revoked) AS revoked, (SELECT repaired_events::int FROM chain_status) AS repaired FROM attestation_event`,
  )
  report(
    JSON.stringify({
      ...done,
      ...counts,
      blocks: highest - LOCAL_CHAIN.firstBlock,
      starts: indexer.exits.length + 1,
    }),
  )
})
