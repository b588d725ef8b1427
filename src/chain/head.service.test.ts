import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { SILENT, startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import { fixedSelection } from '../../test/simulation'
import { mine } from '../../test/world'
import { MONOTONIC, type Clock } from '../clock'
import { BlockReader } from './blocks'
import { Doubt } from './doubt'
import type { BlockRef } from './followed'
import { HeadReader, type HeadUpdate } from './head'
import { attestationFilter } from '../indexer/registrations'

/** Tests the reader of a chain's head with nodes that stop, lie, or are on another fork. */
const AHEAD = 300
let chain: LocalChain
/** A chain with the same first blocks, whose branch is longer. */
let other: LocalChain
const proxies: RpcProxy[] = []
beforeAll(async () => {
  const start = async () => startTestChain({ port: await freePort() })
  ;[chain, other] = await Promise.all([start(), start()])
  await mine(other, AHEAD)
})
afterAll(() => Promise.all([chain?.stop(), other?.stop()]))
/** Milliseconds by which the readers' clock is ahead. */
let later = 0
let stopping: AbortController
beforeEach(() => {
  later = 0
  stopping = new AbortController()
})
afterEach(async () => {
  stopping.abort()
  for (const proxy of proxies.splice(0)) await proxy.close()
})

/** A fault: reports the head of the other chain this many times. Returns its blocks by hash only. */
function ofOther(times: number): Fault {
  const send = (method: string, params: unknown[]) => other.provider.send(method, params)
  return ({ method, params }) => {
    if (params[0] === 'latest' && times-- > 0) return { ask: () => send(method, params) }
    if (method !== 'eth_getBlockByHash') return undefined
    return { ask: async (ask) => (await ask(method, params)) ?? send(method, params) }
  }
}
/** A fault: returns responses of the other chain's endpoint. */
const whollyOfOther: Fault = ({ method, params }) => ({ ask: () => other.provider.send(method, params) })
/** A fault: does not know any block above this one. */
const stoppedAt =
  (number: number): Fault =>
  ({ method, params }) => {
    if (!/^eth_getBlockBy/.test(method)) return undefined
    const asked = params[0] === 'latest' ? [`0x${number.toString(16)}`, false] : params
    return {
      ask: async (ask) => {
        const found = (await ask(method, asked)) as { number: string } | null
        return found && Number(found.number) <= number ? found : null
      },
    }
  }

/**
 * Starts a reader with one endpoint per list of faults, which follows the chain from the last final block.
 * `look` polls once and resolves with the height of the last written block. It rejects with the error that
 * ends the reader.
 */
async function reader(...behind: Fault[][]) {
  for (const each of behind) proxies.push(await startRpcProxy(chain.url, ...each))
  const clock: Clock = { ...MONOTONIC, now: () => performance.now() + later }
  let resume = () => {}
  let onPause = () => {}
  const stepwise: Clock = { ...clock, pause: () => new Promise((resolve) => ((resume = resolve), onPause())) }
  const doubt = new Doubt(clock)
  const rpc = testRpc(proxies.map(({ url }) => url))
  const blocks = new BlockReader(rpc, fixedSelection([attestationFilter(chain.chain)]), doubt, clock)
  const { finality } = chain.chain
  const head = new HeadReader({ blocks, doubt, log: SILENT, finality, pollMs: 0, clock: stepwise })
  const height = (await chain.provider.getBlockNumber()) - finality
  let tip: BlockRef = { height, hash: (await chain.provider.getBlock(height))!.hash! }
  const updates: HeadUpdate[] = []
  const paused = () => new Promise<void>((resolve) => (onPause = resolve))
  const first = paused()
  const ended = head.follow(
    [tip],
    async (update) => {
      updates.push(update)
      const { header } = update.blocks.at(-1)!
      tip = { height: Number(header.number), hash: header.hash }
    },
    stopping.signal,
  )
  ended.catch(() => {})
  await Promise.race([first, ended])
  const look = async () => {
    const next = paused()
    resume()
    await Promise.race([next, ended])
    return tip.height
  }
  return {
    ...{ doubt, updates, look },
    tip: () => tip,
    agreementAge: () => head.agreementAge(tip),
    reported: async () => (await head.report(() => Promise.resolve(tip))).number,
  }
}
const headOf = ({ provider }: LocalChain) => provider.getBlockNumber()
const block = async () => {
  await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  return headOf(chain)
}
/** Polls until this block is the last written one. */
const reaches = async (look: () => Promise<number>, number: number) => {
  while ((await look()) !== number);
}

test('the indexer follows the blocks above the final block, and agrees with the chain', async () => {
  const { look, updates, agreementAge, doubt } = await reader([])
  const number = await block()
  expect(await look()).toBe(number)
  expect(agreementAge()).toBeLessThan(60_000)
  for (const [i, { base, blocks, final }] of updates.entries()) {
    expect(blocks[0]!.header.parentHash).toBe(base.hash)
    if (i > 0) expect(base.hash).toBe(updates[i - 1]!.blocks.at(-1)!.header.hash)
    expect(final.height).toBe(
      Math.max(Number(blocks.at(-1)!.header.number) - chain.chain.finality, final.height),
    )
  }
  expect(doubt.reason()).toBeUndefined()
  later = 100_000
  expect(agreementAge()).toBeGreaterThan(90_000)
  await look()
  expect(agreementAge()).toBeLessThan(60_000)
})

test.each([
  ['the only endpoint', () => [[ofOther(1)]]],
  ['the first of two', () => [[ofOther(1)], []]],
  ['the second of two', () => [[], [ofOther(1)]]],
])(
  'the indexer does not follow a distant head that %s reports once',
  { tags: ['slow'] },
  async (_, behind) => {
    const { look, updates } = await reader(...behind())
    const number = await block()
    await reaches(look, number)
    for (const { blocks } of updates)
      for (const { header } of blocks)
        expect(await chain.provider.send('eth_getBlockByHash', [header.hash, false])).not.toBeNull()
  },
)

test('the indexer follows a longer branch until its endpoint returns to the chain', async () => {
  const { look, tip, agreementAge } = await reader([])
  const number = await block()
  expect(await look()).toBe(number)
  proxies[0]!.misbehave(stoppedAt(number + 20), whollyOfOther)
  await reaches(look, number + 20)
  proxies[0]!.misbehave()
  await reaches(look, number)
  expect(tip().hash).toBe((await chain.provider.getBlock(number))!.hash)
  expect(agreementAge()).toBeLessThan(60_000)
})

test('the indexer clears its doubt once it follows a fork that grew before its confirmation', async () => {
  const { look, tip, doubt } = await reader([])
  const before = await chain.provider.send('evm_snapshot', [])
  const base = await headOf(chain)
  await mine(chain, 2)
  await reaches(look, base + 2)
  const left = tip()
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('evm_increaseTime', [11])
  await mine(chain, 1)
  // The endpoint reports the fork, but still has the followed head.
  proxies[0]!.misbehave(({ method, params }) =>
    method === 'eth_getBlockByNumber' && Number(params[0]) === base + 2
      ? { result: { number: `0x${(base + 2).toString(16)}`, hash: left.hash } }
      : undefined,
  )
  await look()
  expect([tip().hash, doubt.reason()]).toEqual([left.hash, expect.any(String)])
  proxies[0]!.misbehave()
  await mine(chain, 2)
  expect(await look()).toBe(base + 3)
  expect(doubt.reason()).toBeUndefined()
})

test('the indexer reports the lower head of a chain that shrinks, but does not agree with it', async () => {
  const { look, agreementAge, reported } = await reader([])
  const before = await chain.provider.send('evm_snapshot', [])
  const number = await block()
  expect(await look()).toBe(number)
  await chain.provider.send('evm_revert', [before])
  later = 100_000
  expect(await look()).toBe(number)
  expect(await reported()).toBe(number - 1)
  expect(agreementAge()).toBeGreaterThan(90_000)
  await chain.provider.send('evm_increaseTime', [9])
  await mine(chain, 1)
  expect(await look()).toBe(number)
  expect(await reported()).toBe(number)
  expect(agreementAge()).toBeLessThan(60_000)
})

test.each([
  ['the first', [0], 2],
  ['the second', [1], 2],
  ['the first and the last', [0, 2], 3],
])(
  'the indexer does not follow an abandoned fork while %s of the endpoints stays on it (%j of %i)',
  async (_, stuck, count) => {
    const before = await chain.provider.send('evm_snapshot', [])
    await mine(chain, 1)
    const number = await headOf(chain)
    const left = (await chain.provider.send('eth_getBlockByNumber', ['latest', false])) as { hash: string }
    await chain.provider.send('evm_revert', [before])
    await chain.provider.send('evm_increaseTime', [3])
    await mine(chain, 3)
    const ofLeft: Fault = ({ method, params }) =>
      /^eth_getBlockBy/.test(method) &&
      (params[0] === 'latest' || params[0] === left.hash || Number(params[0]) === number)
        ? { result: left }
        : method === 'eth_getBlockByNumber' && Number(params[0]) > number
          ? { result: null }
          : undefined
    const { look, tip, doubt } = await reader(...Array.from({ length: count }, () => []))
    await reaches(look, number + 2)
    for (const each of stuck) proxies[each]!.misbehave(ofLeft)
    const { hash } = tip()
    later = 20_000
    for (let i = 0; i < 12; i++) {
      await look()
      expect(tip().hash).toBe(hash)
      // The doubt remains when another endpoint agrees with the followed chain.
      if (stuck.some((each) => proxies[each]!.met > 0)) expect(doubt.reason()).toBeDefined()
    }
    for (const each of stuck) expect(proxies[each]!.met).toBeGreaterThan(0)
  },
)

test('the indexer does not follow a fork that its endpoint reports only once', async () => {
  const before = await chain.provider.send('evm_snapshot', [])
  await mine(chain, 1)
  const left: unknown = await chain.provider.send('eth_getBlockByNumber', ['latest', false])
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('evm_increaseTime', [13])
  await mine(chain, 2)
  const { look, tip, doubt } = await reader([])
  const head = await headOf(chain)
  await reaches(look, head)
  const { hash } = tip()
  let reports = 1
  // One of several nodes behind the endpoint is on the fork, and does not have the followed head.
  proxies[0]!.misbehave(({ method, params }) => {
    if (params[0] === 'latest' && reports-- > 0) return { result: left }
    return method === 'eth_getBlockByNumber' && Number(params[0]) === head ? { result: null } : undefined
  })
  for (let i = 0; i < 3; i++) {
    await look()
    expect([tip().hash, doubt.reason()]).toEqual([hash, expect.any(String)])
  }
  expect(reports).toBeLessThan(0)
})

test.each([0, 1])(
  'the indexer keeps its head while endpoint %i of two lags far behind',
  { tags: ['slow'] },
  async (stopped) => {
    const { look, reported } = await reader([], [])
    await mine(chain, 150)
    const tip = await headOf(chain)
    await reaches(look, tip)
    proxies[stopped]!.misbehave(stoppedAt(tip - 60))
    later = 20_000
    for (let i = 0; i < 12; i++) {
      expect(await look()).toBe(tip)
      expect(await reported()).toBe(tip)
    }
    expect(proxies[stopped]!.met).toBeGreaterThan(0)
  },
)
