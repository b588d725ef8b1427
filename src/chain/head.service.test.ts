import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { SILENT, startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import { mine } from '../../test/world'
import { BlockReader } from './blocks'
import { Doubt } from './doubt'
import { HeadReader } from './head'
import { fixedSelection } from './logs'
import { attestationFilter } from '../indexer/registry'

/** The head of a chain, behind nodes that stop or name a far head of another network. */
const AHEAD = 300
let chain: LocalChain
let other: LocalChain
const proxies: RpcProxy[] = []
beforeAll(async () => {
  const start = async () => startTestChain({ port: await freePort() })
  ;[chain, other] = await Promise.all([start(), start()])
  await mine(other, AHEAD)
})
afterAll(() => Promise.all([chain?.stop(), other?.stop()]))
let falseTips: string[] = []
/** How far the reader's clock is ahead, milliseconds. */
let later = 0
beforeEach(() => {
  falseTips = []
  later = 0
})
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close()
})

/** Answers with blocks of the other network: as the latest one this many times, and by any of its hashes. */
function ofOther(times: number): Fault {
  const send = (method: string, params: unknown[]) => other.provider.send(method, params)
  return ({ method, params }) => {
    if (params[0] === 'latest' && times-- > 0) return { ask: () => send(method, params) }
    if (method !== 'eth_getBlockByHash') return undefined
    return { ask: async (ask) => (await ask(method, params)) ?? send(method, params) }
  }
}
/** A node that has no block above this one. */
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
/** A reader with one endpoint for each list of faults, which looks at every call. */
async function reader(...behind: Fault[][]) {
  for (const each of behind) proxies.push(await startRpcProxy(chain.url, ...each))
  const doubt = new Doubt()
  const blocks = new BlockReader(
    testRpc(proxies.map(({ url }) => url)),
    fixedSelection([attestationFilter(chain.chain)]),
    doubt,
  )
  const onFalseTip = (error: Error) => falseTips.push(error.message)
  const head = new HeadReader(blocks, doubt, SILENT, 0, onFalseTip, () => Date.now() + later)
  const height = async () => Number((await head.answer([{ method: 'eth_blockNumber', params: [] }]))[0])
  return { doubt, height }
}
const block = async () => {
  await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  return chain.provider.getBlockNumber()
}

/** Looks until the head is this block. */
const reaches = async (height: () => Promise<number>, number: number) => {
  while ((await height()) !== number);
}

test.each([
  ['the only endpoint', () => [[ofOther(1)]]],
  ['the first of two', () => [[ofOther(1)], []]],
  ['the second of two', () => [[], [ofOther(1)]]],
])('a far head that %s names once at the start is not taken', async (_, behind) => {
  const { height } = await reader(...behind())
  const before = await chain.provider.getBlockNumber()
  expect(await height()).toBe(before)
  const next = await block()
  expect([before, next]).toContain(await height())
  await reaches(height, next)
  expect(falseTips).toEqual([])
})

test('a far head that an endpoint names now and then, with progress of the chain in between, is not taken', async () => {
  const { height } = await reader([])
  const start = await height()
  for (let number = start; number < start + 3;) {
    proxies[0]!.misbehave(ofOther(1))
    expect(await height()).toBe(number)
    expect(proxies[0]!.met).toBeGreaterThan(0)
    number = await block()
    await reaches(height, number)
  }
  expect(falseTips).toEqual([])
})

test('a far head that two looks name is taken, and given up when no endpoint has it any more', async () => {
  const { height, doubt } = await reader([ofOther(2)])
  const tip = await other.provider.getBlockNumber()
  expect(await height()).toBe(tip)
  proxies[0]!.misbehave()
  while (falseTips.length === 0) await height()
  const latest = await chain.provider.getBlockNumber()
  const reason = `block ${tip}, which was named as the latest, is none: the latest is ${latest}`
  expect(falseTips[0]).toBe(reason)
  expect(doubt.reason()).toContain(reason)
})

test('with two endpoints the second look asks the other one', async () => {
  const { height } = await reader([ofOther(1)], [ofOther(0)])
  expect(await height()).toBe(await chain.provider.getBlockNumber())
  const looks = proxies.map(({ calls }) => calls.filter(({ params }) => params[0] === 'latest').length)
  expect(looks).toEqual([2, 1])
})

test.each([0, 1])(
  'the tip is not given up while number %i of two endpoints is far behind',
  async (stopped) => {
    const { height } = await reader([], [])
    await mine(chain, 150)
    const tip = await height()
    proxies[stopped]!.misbehave(stoppedAt(tip - 120))
    later = 20_000
    for (let i = 0; i < 12; i++) expect(await height()).toBe(tip)
    expect(proxies[stopped]!.met).toBeGreaterThan(0)
    expect(falseTips).toEqual([])
  },
)

test('the tip is not given up while the only endpoint has it but names an old block as the latest', async () => {
  await mine(chain, 150)
  const { height } = await reader([])
  const tip = await height()
  const old = `0x${(tip - 120).toString(16)}`
  proxies[0]!.misbehave(({ method, params }) =>
    params[0] === 'latest' ? { ask: (ask) => ask(method, [old, false]) } : undefined,
  )
  for (let i = 0; i < 12; i++) expect(await height()).toBe(tip)
  expect(falseTips).toEqual([])
})

test.each([
  ['the first', 0, 3],
  ['the second', 1, 3],
  ['the first', 0, 150],
  ['the second', 1, 150],
])('%s of two endpoints stops (%i): the head follows the chain for %i blocks', async (_, stopped, blocks) => {
  const { height } = await reader([], [])
  proxies[stopped]!.misbehave(stoppedAt(await height()))
  await mine(chain, blocks)
  const number = await block()
  await height()
  later = 20_000
  await reaches(height, number)
  expect(falseTips).toEqual([])
})

test.each([0, 1])('the head is found when number %i of two endpoints stopped long ago', async (stopped) => {
  const at = await chain.provider.getBlockNumber()
  await mine(chain, 150)
  const number = await block()
  const { height } = await reader(...[0, 1].map((each) => (each === stopped ? [stoppedAt(at)] : [])))
  expect([at, number]).toContain(await height())
  later = 20_000
  await reaches(height, number)
  expect(falseTips).toEqual([])
})
