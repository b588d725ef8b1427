import { afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { SILENT, startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import { fixedSelection } from '../../test/simulation'
import { mine } from '../../test/world'
import * as eas from '../abi/EAS'
import { BlockReader, Doubt, HeadReader, type BlockRef, type ChainBlock } from '../chain'
import { CHAINS } from '../chains'
import { SettingsError } from '../config'
import { LOCATION_SCHEMA } from '../location'
import { confirmedGateway } from './gateway'
import { ChainSource } from './processor'

const { eas: EAS, firstBlock, finality } = CHAINS[0]!
/** The local chain's first block with an attestation is slightly above this one. */
const FROM = firstBlock + finality
const FILTERS = [{ address: [EAS], topic0: [eas.events.Attested.topic], topic3: [LOCATION_SCHEMA.uid] }]
let chain: LocalChain
let blocks: number[]
let head: number
beforeAll(async () => {
  chain = await startTestChain({ port: await freePort() })
  for (let i = 0; i < 6; i++) {
    await attest(chain, locationRequest({ type: 'Point', coordinates: [i, i] }))
    await mine(chain, 25)
  }
  head = await chain.provider.getBlockNumber()
  blocks = (await chain.provider.getLogs({ address: EAS, fromBlock: firstBlock })).map(
    (log) => log.blockNumber,
  )
})

let proxy: RpcProxy
let source: ChainSource<ChainBlock>
let stopping: AbortController
let doubt: Doubt
/** Heights of the blocks that were decoded. */
let decoded: number[]
async function start(fault: Fault = () => undefined, stored?: BlockRef) {
  proxy = await startRpcProxy(chain.url, fault)
  stopping = new AbortController()
  decoded = []
  doubt = new Doubt()
  const [rpc, selection] = [testRpc([proxy.url]), fixedSelection(FILTERS)]
  const reader = () => new BlockReader(rpc, selection, doubt)
  const head = new HeadReader({ doubt, log: SILENT, finality, pollMs: 50, blocks: reader() })
  const { signal } = stopping
  source = new ChainSource({
    ...{ rpc, head, blocks: reader(), doubt, selection, finality, log: SILENT, stored, signal },
    storedAtOrBelow: () => Promise.resolve(undefined),
    decode: (block) => (decoded.push(block.header.height), block),
  })
}
afterEach(async () => {
  stopping.abort()
  await proxy.close()
})

/** Reads all batches of history, beginning at this block. */
async function batches(from = FROM): Promise<ChainBlock[][]> {
  const found: ChainBlock[][] = []
  for await (const batch of source.getFinalizedBlocks([{ range: { from }, request: undefined }], true))
    found.push(batch.blocks)
  return found
}
const withLogs = (read: ChainBlock[][]) => read.flat().filter(({ logs }) => logs.length > 0)
const numbers = (read: ChainBlock[][]) => withLogs(read).map(({ header }) => header.height)

test('the block source reads the final blocks with logs and the last block, in order', async () => {
  await start()
  const last = head - finality
  expect(await source.getFinalizedHeight()).toBe(last)
  const read = (await batches()).flat()
  expect(read.map(({ header }) => header.height)).toEqual([
    ...blocks.filter((number) => number <= last),
    last,
  ])
  const block = (await chain.provider.getBlock(blocks[0]!))!
  const [log] = await chain.provider.getLogs({ blockHash: block.hash! })
  expect(read[0]).toEqual({
    header: {
      ...{ height: block.number, hash: block.hash, parentHash: block.parentHash },
      timestamp: block.timestamp * 1000,
    },
    logs: [
      {
        ...{ logIndex: log!.index, address: EAS, topics: log!.topics, data: log!.data },
        transactionHash: log!.transactionHash,
      },
    ],
  })
  expect(await source.getBlockHash(last)).toBe(read.at(-1)!.header.hash)
  expect(proxy.calls.filter((call) => call.method === 'eth_getLogs')).toHaveLength(1)
  expect(await batches(last + 1)).toEqual([])
})

test.each([
  ['query returned more than 10000 results', 25],
  ['eth_getLogs is limited to a 20 range', 20],
  ['block range is too large, maximum is 40 blocks', 40],
])('the block source adapts to a provider whose error is "%s"', async (message, allowed) => {
  await start(({ method, params }) => {
    if (method !== 'eth_getLogs' || Number(params[0].toBlock) - Number(params[0].fromBlock) < allowed)
      return undefined
    return { error: { code: -32005, message } }
  })
  expect(numbers(await batches())).toEqual(blocks.filter((number) => number <= head - finality))
})

test('the block source adapts to a provider that rejects a range with HTTP 413 or 400', async () => {
  await start(({ method, params }) => {
    const asked = method === 'eth_getLogs' ? Number(params[0].toBlock) - Number(params[0].fromBlock) + 1 : 0
    return asked > 60 ? { status: 413 } : asked > 25 ? { status: 400 } : undefined
  })
  expect(numbers(await batches())).toEqual(blocks.filter((number) => number <= head - finality))
})

test('the block source returns repeated logs once, in order', async () => {
  const logs = await chain.provider.send('eth_getLogs', [
    { address: EAS, fromBlock: `0x${firstBlock.toString(16)}`, topics: [eas.events.Attested.topic] },
  ])
  const final = logs.filter((log: { blockNumber: string }) => Number(log.blockNumber) <= head - finality)
  await start(({ method }) =>
    method === 'eth_getLogs' ? { result: [...final, ...final].reverse() } : undefined,
  )
  expect(withLogs(await batches()).map(({ logs }) => logs.length)).toEqual(final.map(() => 1))
})

test.each([
  [2_000, 2],
  [6_000, 1],
])(
  'the block source ends a batch before a block that would exceed the limit (%i logs per block)',
  async (each, blocksAtOnce) => {
    // Simulates transactions that attest this many places each.
    await start(({ method, params }) =>
      method === 'eth_getLogs'
        ? {
            ask: async (ask) =>
              ((await ask(method, params)) as object[]).flatMap((log) =>
                Array.from({ length: each }, (_, i) => ({ ...log, logIndex: `0x${i.toString(16)}` })),
              ),
          }
        : undefined,
    )
    const read = await batches()
    const all = Array.from({ length: each }, (_, i) => i)
    expect(
      withLogs(read).map(({ header, logs }) => [header.height, logs.map(({ logIndex }) => logIndex)]),
    ).toEqual(blocks.filter((number) => number <= head - finality).map((number) => [number, all]))
    expect(Math.max(...read.map((batch) => withLogs([batch]).length))).toBe(blocksAtOnce)
  },
)

test.each<[string, Fault]>([
  ['a missing block', ({ method }) => (method === 'eth_getBlockByNumber' ? { result: null } : undefined)],
  [
    'logs of another fork than their header',
    ({ method, params }) =>
      method === 'eth_getLogs'
        ? {
            ask: async (ask) =>
              ((await ask(method, params)) as object[]).map((log) => ({
                ...log,
                blockHash: `0x${'1'.repeat(64)}`,
              })),
          }
        : undefined,
  ],
])('the block source rereads a range after %s', async (_, fault) => {
  let faulty = 0
  await start((call) => {
    const answer = faulty < 3 ? fault(call) : undefined
    if (answer) faulty++
    return answer
  })
  expect(numbers(await batches())).toEqual(blocks.filter((number) => number <= head - finality))
  expect(faulty).toBe(3)
})

test('the block source resumes after the stored block, and ends if the chain was replaced', async () => {
  const height = blocks[1]!
  const { hash } = (await chain.provider.getBlock(height))!
  await start(undefined, { height, hash: hash! })
  expect(numbers(await batches(height + 1))).toEqual(
    blocks.filter((number) => number > height && number <= head - finality),
  )
  expect(doubt.reason()).toBeUndefined()
  await proxy.close()
  await start(undefined, { height, hash: `0x${'2'.repeat(64)}` })
  await expect(batches(height + 1)).rejects.toThrow(SettingsError)
  expect(doubt.reason()).toBeDefined()
})

test('the block source trusts a gateway only for blocks that the endpoints have', async () => {
  await start()
  const header = async (height: number) => ({
    height,
    hash: (await chain.provider.getBlock(height))!.hash!,
  })
  const good = await header(blocks[1]!)
  const other = { height: blocks[2]!, hash: good.hash }
  const confirmed = confirmedGateway(source, {
    getFinalizedHeight: () => Promise.resolve(blocks[2]!),
    getBlockHash: () => Promise.resolve(good.hash),
    async *getFinalizedBlocks() {
      for (const each of [good, other])
        yield {
          blocks: [{ header: { ...each, parentHash: '', timestamp: 0 }, logs: [] }],
          isHead: false,
        }
    },
  })
  const silent = confirmedGateway(source, {
    getFinalizedHeight: () => new Promise<number>(() => {}),
    getBlockHash: () => Promise.resolve(good.hash),
    getFinalizedBlocks: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    }),
  })
  expect(await confirmed.getFinalizedHeight()).toBe(blocks[2])
  const read: unknown[] = []
  const reading = (async () => {
    for await (const batch of confirmed.getFinalizedBlocks([])) read.push(batch.blocks[0]!.header)
  })()
  await expect(reading).rejects.toThrow(SettingsError)
  expect(read).toMatchObject([good])
  const waiting = silent.getFinalizedBlocks([])[Symbol.asyncIterator]().next()
  stopping.abort(new Error('stopped'))
  await expect(waiting).rejects.toBe(stopping.signal.reason)
  await expect(silent.getFinalizedHeight()).rejects.toBe(stopping.signal.reason)
})
