import { beforeAll, expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import {
  SimulatedChain,
  SimulatedEndpoint,
  VirtualClock,
  ancestor,
  fixedSelection,
  topic,
  type Behaviour,
} from '../../test/simulation'
import { CHAINS } from '../chains'
import { Rpc } from '../rpc'
import { BlockReader } from './blocks'
import { Doubt } from './doubt'
import type { BlockRef } from './followed'
import { HeadReader } from './head'

/** Tests how long the head reader of a simulated chain needs to follow a fork that no block makes longer. */

const CHAIN = { ...CHAINS[0]!, finality: 20, firstBlock: 1 }
const FIRST = 5
const LENGTH = 30
/** Maximum time until a fork is followed, in milliseconds: three polls. */
const LATEST_MS = 4_000
const STEP_MS = 250

/** Outcome of a reader that is still running. */
const continues = Promise.resolve('continues')

const mineOn = async (chain: SimulatedChain, blocks: number) => {
  for (let i = 0; i < blocks; i++) await chain.mine(1_700_000_000 + chain.blocks.size, [[topic(1)]])
}
/** Chain of LENGTH blocks, which each test continues in a copy. */
const begun = new SimulatedChain(CHAIN.eas)
beforeAll(() => mineOn(begun, LENGTH))

/** Starts a reader of a simulated chain of LENGTH blocks behind these endpoints. */
async function start(count: number, latencyMs = 20) {
  const clock = new VirtualClock()
  const chain = begun.copy()
  const mine = (blocks: number, on = chain) => mineOn(on, blocks)
  const endpoints = Array.from(
    { length: count },
    () => new SimulatedEndpoint(chain, CHAIN.id, clock, () => latencyMs, 100),
  )
  const urls = endpoints.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => endpoints[urls.indexOf(url)]!.client,
  })
  const doubt = new Doubt(clock)
  const blocks = new BlockReader(rpc, fixedSelection([{ topic0: [topic(1)] }]), doubt, clock)
  const head = new HeadReader({
    ...{ doubt, log: SILENT, clock, finality: CHAIN.finality, pollMs: 1_000, blocks },
  })
  let tip: BlockRef = { height: FIRST, hash: ancestor(chain.head, FIRST)!.header.hash }
  const stop = new AbortController()
  /** Blocks are written once `open` resolves. */
  const gate = { open: Promise.resolve() }
  const ended = head.follow(
    [tip],
    async ({ blocks: added }) => {
      const { number, hash } = added.at(-1)!.header
      await gate.open
      tip = { height: Number(number), hash }
    },
    stop.signal,
  )
  ended.catch(() => {})
  const pass = (ms: number) => clock.pass(ms, () => {})
  await pass(10_000)
  const written = { tip: () => tip, gate }
  return { clock, chain, mine, endpoints, doubt, head, ended, pass, ...written, stop: () => stop.abort() }
}

/** Reverts and mines blocks. Returns the milliseconds until the reader follows the chain's branch. */
async function timeToFollow(behaviours: readonly Partial<Behaviour>[], dropped: number, mined: number) {
  const { clock, chain, mine, endpoints, pass, tip, stop } = await start(behaviours.length)
  // The chain has moved lately, so that its endpoints do not count as stalled.
  await mine(dropped)
  await pass(3_000)
  expect(tip().hash).toBe(chain.head!.header.hash)
  for (const [i, behaviour] of behaviours.entries()) Object.assign(endpoints[i]!.behaviour, behaviour)
  chain.revert(dropped)
  await mine(mined)
  const began = clock.now()
  const isFollowed = () =>
    tip().height >= LENGTH && ancestor(chain.head, tip().height)?.header.hash === tip().hash
  while (!isFollowed() && clock.now() - began < 60_000) await pass(STEP_MS)
  stop()
  return clock.now() - began
}

const FORKS = [
  [3, 1],
  [2, 2],
  [4, 3],
  [4, 4],
] as const
test.each<[string, Partial<Behaviour>[]]>([
  ['one endpoint', [{}]],
  ['two endpoints', [{}, {}]],
  ...[1, 2, 3, 5, 8].flatMap((lag): [string, Partial<Behaviour>[]][] => [
    [`two endpoints, the first ${lag} blocks behind`, [{ lag }, {}]],
    [`two endpoints, the second ${lag} blocks behind`, [{}, { lag }]],
  ]),
  ['three endpoints, the first two behind', [{ lag: 5 }, { lag: 4 }, {}]],
  ['three endpoints, the middle one behind', [{}, { lag: 5 }, {}]],
  ['three endpoints, the first and the last behind', [{ lag: 5 }, {}, { lag: 6 }]],
  ['four endpoints, all but the third behind', [{ lag: 9 }, { lag: 5 }, {}, { lag: 6 }]],
])('the indexer follows a fork that is not longer: %s', async (_, behaviours) => {
  for (const [dropped, mined] of FORKS)
    expect([dropped, mined, await timeToFollow(behaviours, dropped, mined)]).toEqual([
      dropped,
      mined,
      expect.toSatisfy((ms: number) => ms <= LATEST_MS),
    ])
})

test.each([1, 2, 3])(
  'the indexer ends if all of %i endpoints are on another chain below the final blocks',
  async (count) => {
    const { mine, endpoints, ended, pass } = await start(count)
    const other = new SimulatedChain(CHAIN.eas, 1_000_000)
    await mine(FIRST + 2, other)
    for (const endpoint of endpoints) endpoint.chain = other
    const outcome = ended.catch((error: Error) => error.name)
    await pass(20_000)
    expect(await Promise.race([outcome, continues])).toBe('SettingsError')
  },
)

test('the indexer does not follow a fork while an endpoint follows the old chain', async () => {
  const { chain, mine, endpoints, doubt, pass, tip, stop } = await start(3)
  const left = chain.head!
  chain.revert(3)
  const shared = chain.head!
  await mine(2)
  endpoints[1]!.behaviour.frozenAt = left.parent
  endpoints[2]!.behaviour.frozenAt = shared
  await pass(40_000)
  expect([tip().hash, doubt.reason()]).toEqual([left.header.hash, expect.any(String)])
  endpoints[1]!.behaviour.frozenAt = undefined
  await pass(LATEST_MS)
  expect(tip().hash).toBe(chain.head!.header.hash)
  stop()
})

test.each([
  ['longer', 3, CHAIN.finality + 6],
  ['as high as the final block', 1, 1],
])('the indexer ends if a chain that is %s has another final block', async (_, deeper, mined) => {
  const { chain, mine, ended, pass, tip } = await start(1)
  const { hash } = tip()
  const outcome = ended.catch((error: Error) => error.name)
  chain.revert(CHAIN.finality + deeper)
  await mine(mined)
  await pass(20_000)
  expect([await Promise.race([outcome, continues]), tip().hash]).toEqual(['SettingsError', hash])
})

test('the indexer counts the age of an agreement from the start of its poll', async () => {
  const latencyMs = 700
  const { clock, chain, head, tip, stop } = await start(1, latencyMs)
  expect(tip().hash).toBe(chain.head!.header.hash)
  const ages: number[] = []
  await clock.pass(10_000, () => ages.push(head.agreementAge(tip())))
  expect(Math.min(...ages)).toBe(latencyMs)
  stop()
})

test('the indexer does not agree with a longer fork while its logs are uncertain', async () => {
  const { chain, mine, endpoints, head, pass, tip, stop } = await start(1)
  const { hash } = tip()
  expect(head.agreementAge(tip())).toBeLessThan(2_000)
  endpoints[0]!.behaviour.omitsLogs = true
  chain.revert(2)
  await mine(4)
  await pass(20_000)
  expect([tip().hash, head.agreementAge(tip()) > 18_000]).toEqual([hash, true])
  endpoints[0]!.behaviour.omitsLogs = false
  await pass(40_000)
  expect([tip().hash, head.agreementAge(tip()) < 2_000]).toEqual([chain.head!.header.hash, true])
  stop()
})

test('the indexer does not agree with a dropped block while it writes the replacements', async () => {
  const { chain, mine, head, gate, pass, tip, stop } = await start(1)
  const dropped = tip()
  let open = () => {}
  gate.open = new Promise((resolve) => (open = resolve))
  chain.revert(2)
  await mine(3)
  await pass(LATEST_MS)
  expect([tip(), head.agreementAge(dropped)]).toEqual([dropped, Infinity])
  open()
  await pass(LATEST_MS)
  expect(head.agreementAge(tip())).toBeLessThan(2_000)
  stop()
})

test('the indexer keeps its head while the only endpoint briefly reports a lower head', async () => {
  const { chain, endpoints, pass, doubt, tip, stop } = await start(1)
  const { hash } = tip()
  endpoints[0]!.behaviour.cachedAt = ancestor(chain.head, FIRST + 1)!
  await pass(20_000)
  expect([tip().hash, doubt.reason()]).toEqual([hash, expect.any(String)])
  endpoints[0]!.behaviour.cachedAt = undefined
  await pass(20_000)
  expect([tip().hash, doubt.reason()]).toEqual([hash, undefined])
  stop()
})

test.each([
  [0, 2, 5],
  [1, 2, 5],
  [0, 2, 60],
  [1, 2, 60],
  [0, 2, 600],
  [1, 3, 60],
])(
  'the indexer follows the chain while endpoint %i of %i is on another chain of %i blocks',
  async (which, count, length) => {
    const { chain, mine, endpoints, pass, tip, stop } = await start(count)
    const other = new SimulatedChain(CHAIN.eas, 1_000_000)
    await mine(length, other)
    endpoints[which]!.chain = other
    for (let i = 0; i < 20; i++) {
      await mine(1)
      await pass(1_000)
    }
    await pass(LATEST_MS)
    expect(tip().hash).toBe(chain.head!.header.hash)
    stop()
  },
)

test.each([0, 1])(
  'the indexer follows a slow chain while endpoint %i of two stays on a fork',
  async (which) => {
    const { chain, mine, endpoints, pass, tip, stop } = await start(2)
    endpoints[which]!.behaviour.frozenAt = chain.head
    chain.revert(1)
    for (let i = 0; i < 6; i++) {
      await mine(1)
      await pass(20_000)
    }
    expect(tip().hash).toBe(chain.head!.header.hash)
    stop()
  },
)

test('the indexer continues after the chain left a fork and returned to it during a write', async () => {
  const { chain, mine, head, ended, pass, tip, gate, stop } = await start(1)
  const outcome = ended.catch((error: Error) => error.message)
  let reported = 0
  const poll = async () => {
    void head.report(() => Promise.resolve(tip())).then(({ number }) => (reported = number))
    await pass(4_000)
  }
  const returned = chain.head!
  await mine(1)
  await pass(3_000)
  let write = () => {}
  gate.open = new Promise((resolve) => (write = resolve))
  await mine(1)
  await pass(3_000)
  chain.revert(3)
  await mine(1)
  await poll()
  chain.head = returned
  await poll()
  expect(reported).toBe(returned.height)
  write()
  await pass(3_000)
  expect(await Promise.race([outcome, continues])).toBe('continues')
  await mine(3)
  await pass(3_000)
  expect(tip().hash).toBe(chain.head.header.hash)
  stop()
})

test('a block that is written slowly does not agree with the chain if a poll has found a lower head', async () => {
  const { chain, mine, head, pass, tip, gate, stop } = await start(1)
  const poll = async () => {
    await pass(2_000)
    const report = head.report(() => Promise.resolve(tip()))
    await pass(1_000)
    return report
  }
  gate.open = new Promise(() => {})
  await mine(1)
  await pass(2_000)
  const slow = chain.head!
  const block = { height: slow.height, hash: slow.header.hash }
  expect(head.agreementAge(block)).toBeLessThan(3_000)
  chain.revert(1)
  expect((await poll()).number).toBe(slow.height - 1)
  expect(head.agreementAge(block)).toBe(Infinity)
  chain.head = slow
  await poll()
  expect(head.agreementAge(block)).toBeLessThan(3_000)
  stop()
})
