import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { SILENT, startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import { mine } from '../../test/world'
import * as eas from '../abi/EAS'
import { BlockReader } from './blocks'
import { CHAINS } from '../chains'
import { Doubt } from './doubt'
import { HeadReader } from './head'
import { fixedSelection } from './logs'
import { LOCATION_SCHEMA } from '../location'
import { startSource, type Source } from './source'

const { eas: EAS, firstBlock, finality } = CHAINS[0]!
/** The first blocks of the local chain. */
const QUERY = {
  fromBlock: firstBlock + finality,
  logs: [{ address: [EAS], topic0: [eas.events.Attested.topic], topic3: [LOCATION_SCHEMA.uid] }],
  fields: {},
}
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
afterAll(() => chain.stop())

let proxy: RpcProxy
let source: Source
async function start(fault: Fault = () => undefined) {
  proxy = await startRpcProxy(chain.url, fault)
  const [rpc, doubt, selection] = [testRpc([proxy.url]), new Doubt(), fixedSelection(QUERY.logs)]
  const head = new HeadReader(new BlockReader(rpc, selection, doubt), doubt, SILENT, 50, () => {})
  source = await startSource({ rpc, head, doubt, selection, finality, log: SILENT })
}
afterEach(async () => {
  await source.close()
  await proxy.close()
})
const ask = async (path: string, init?: RequestInit) => {
  const response = await fetch(source.gatewayUrl + path, init)
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() }
}
const query = async (body: object) => {
  const { status, body: text } = await ask('/query', { method: 'POST', body: JSON.stringify(body) })
  return {
    status,
    blocks:
      status === 200
        ? (JSON.parse(text) as {
            header: { number: number; hash: string; timestamp: number }
            logs: { logIndex: number }[]
          }[])
        : [],
  }
}
/** Follows the protocol as the processor does: the next query begins after the last block answered. */
async function readAll(): Promise<number[]> {
  const found: number[] = []
  const last = Number((await ask('/height')).body)
  for (let from = QUERY.fromBlock; from <= last;) {
    const answer = await query({ ...QUERY, fromBlock: from })
    expect(answer.status).toBe(200)
    found.push(...answer.blocks.filter((block) => block.logs.length).map((block) => block.header.number))
    from = answer.blocks[answer.blocks.length - 1]!.header.number + 1
  }
  return found
}

test('speaks the gateway protocol of evm-processor 1.27.3', async () => {
  await start()
  const last = head - finality
  expect(await ask('/height')).toEqual({ status: 200, type: 'text/plain', body: String(last) })
  expect(await ask(`/${firstBlock}/worker`)).toEqual({
    status: 200,
    type: 'text/plain',
    body: `${source.gatewayUrl}/query`,
  })
  const { blocks: answered } = await query(QUERY)
  // Blocks with logs and the last block of the range, in order, none younger than finality.
  expect(answered.map((block) => block.header.number)).toEqual([
    ...blocks.filter((number) => number <= last),
    last,
  ])
  const block = (await chain.provider.getBlock(blocks[0]!))!
  const [log] = await chain.provider.getLogs({ blockHash: block.hash! })
  expect(answered[0]).toEqual({
    header: {
      number: block.number,
      hash: block.hash,
      parentHash: block.parentHash,
      timestamp: block.timestamp,
    },
    logs: [
      {
        logIndex: log!.index,
        transactionIndex: log!.transactionIndex,
        address: EAS,
        topics: log!.topics,
        data: log!.data,
        transactionHash: log!.transactionHash,
      },
    ],
    transactions: [],
  })
  expect(
    (await query({ fromBlock: firstBlock, toBlock: firstBlock, includeAllBlocks: true })).blocks,
  ).toMatchObject([{ header: { number: firstBlock } }])
  expect((await query({ ...QUERY, fromBlock: last + 1 })).status).toBe(503)
  expect((await ask('/nowhere')).status).toBe(404)
  expect(proxy.calls.filter((call) => call.method === 'eth_getLogs')).toHaveLength(1)
})

test.each([
  ['query returned more than 10000 results', 25],
  ['eth_getLogs is limited to a 20 range', 20],
  ['block range is too large, maximum is 40 blocks', 40],
])('adapts to a provider that says "%s"', async (message, allowed) => {
  await start(({ method, params }) => {
    if (method !== 'eth_getLogs' || Number(params[0].toBlock) - Number(params[0].fromBlock) < allowed)
      return undefined
    return { error: { code: -32005, message } }
  })
  expect(await readAll()).toEqual(blocks.filter((number) => number <= head - finality))
})

test('adapts to a provider that refuses by HTTP 413 or 400', async () => {
  await start(({ method, params }) => {
    const asked = method === 'eth_getLogs' ? Number(params[0].toBlock) - Number(params[0].fromBlock) + 1 : 0
    return asked > 60 ? { status: 413 } : asked > 25 ? { status: 400 } : undefined
  })
  expect(await readAll()).toEqual(blocks.filter((number) => number <= head - finality))
})

test('repeated logs are served once, in order', async () => {
  const logs = await chain.provider.send('eth_getLogs', [
    { address: EAS, fromBlock: `0x${firstBlock.toString(16)}`, topics: [eas.events.Attested.topic] },
  ])
  const final = logs.filter((log: { blockNumber: string }) => Number(log.blockNumber) <= head - finality)
  await start(({ method }) =>
    method === 'eth_getLogs' ? { result: [...final, ...final].reverse() } : undefined,
  )
  expect(
    (await query(QUERY)).blocks.filter((block) => block.logs.length).map((block) => block.logs.length),
  ).toEqual(final.map(() => 1))
})

test.each([
  [2_000, 2],
  [6_000, 1],
])(
  'an answer ends before a block with which it has too many logs: %i a block',
  async (each, blocksAtOnce) => {
    // As if each transaction had attested so many places.
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
    const last = Number((await ask('/height')).body)
    const found: { number: number; logs: number[] }[][] = []
    for (let from = QUERY.fromBlock; from <= last;) {
      const { blocks } = await query({ ...QUERY, fromBlock: from })
      found.push(
        blocks
          .filter(({ logs }) => logs.length)
          .map(({ header, logs }) => ({
            number: header.number,
            logs: logs.map(({ logIndex }) => logIndex).toSorted((a, b) => a - b),
          })),
      )
      from = blocks.at(-1)!.header.number + 1
    }
    const all = Array.from({ length: each }, (_, i) => i)
    expect(found.flat()).toEqual(
      blocks.filter((number) => number <= last).map((number) => ({ number, logs: all })),
    )
    expect(Math.max(...found.map((answer) => answer.length))).toBe(blocksAtOnce)
  },
)

test('logs of another fork than their header, and a missing block, are not served but read again', async () => {
  let faults = 0
  await start(({ method }) =>
    method === 'eth_getBlockByNumber' && faults++ === 0 ? { result: null } : undefined,
  )
  expect((await query(QUERY)).status).toBe(200)
  expect(faults).toBeGreaterThan(1)
  await source.close()
  await proxy.close()
  const other = await chain.provider.send('eth_getLogs', [
    { address: EAS, fromBlock: `0x${firstBlock.toString(16)}`, topics: [eas.events.Attested.topic] },
  ])
  await start(({ method }) =>
    method === 'eth_getLogs' ? { result: [{ ...other[0], blockHash: `0x${'1'.repeat(64)}` }] } : undefined,
  )
  expect((await query(QUERY)).status).toBe(503)
})
