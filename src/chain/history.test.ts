import { Logger } from '@subsquid/logger'
import type { RpcClient } from '@subsquid/rpc-client'
import { beforeAll, expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { SimulatedChain, SimulatedEndpoint, VirtualClock, fixedSelection, topic } from '../../test/simulation'
import { CHAINS } from '../chains'
import { Rpc } from '../rpc'
import { Doubt } from './doubt'
import { HistoryReader } from './history'
import { chainBlock, type FullHeader, type RpcHeader, type RpcLog } from './logs'

/** Reads history from two endpoints, the first of which changes its responses. */

const CHAIN = { ...CHAINS[0]!, firstBlock: 0 }
const FINALITY = 2
const NUMBER = 3
const [ATTESTED, REVOKED] = [topic(1), topic(2)]

const chain = new SimulatedChain(CHAIN.eas)
beforeAll(async () => {
  for (let i = 0; i < 10; i++) await chain.mine(1_700_000_000 + i, i === NUMBER ? [[ATTESTED]] : [])
})

/** A changed response of an endpoint; `method` is that of JSON-RPC. */
type Change = (method: string, answer: unknown) => unknown
const inHeaders =
  (change: Partial<FullHeader>): Change =>
  (method, answer) =>
    method === 'eth_getBlockByNumber' ? { ...(answer as RpcHeader), ...change } : answer
/** Adds a log that the bloom filter of its block excludes. */
const addsLog: Change = (method, answer) => {
  if (method !== 'eth_getLogs') return answer
  const [log] = answer as RpcLog[]
  return [log, { ...log, topics: [REVOKED], logIndex: '0x1' }]
}

/** Writes the hex of a response in upper case. Decoding would then find neither the event nor its schema. */
const shouts: Change = (_, answer) =>
  JSON.parse(
    JSON.stringify(answer, (_, value: unknown) =>
      typeof value === 'string' ? `0x${value.slice(2).toUpperCase()}` : value,
    ),
  )

/** Reads the chain from endpoints with these changes. */
async function read(changes: readonly Change[]) {
  const clock = new VirtualClock()
  const clients = changes.map((change) => {
    const { client } = new SimulatedEndpoint(chain, CHAIN.id, clock, () => 1, 100)
    const batchCall = async (calls: { method: string; params?: unknown[] }[]) =>
      (await client.batchCall(calls)).map((answer, i) => change(calls[i]!.method, answer))
    return {
      batchCall,
      call: async (method: string, params: unknown[]) => (await batchCall([{ method, params }]))[0],
      close: () => {},
    } as unknown as RpcClient
  })
  const urls = clients.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => clients[urls.indexOf(url)]!,
  })
  const selection = fixedSelection([{ address: [CHAIN.eas.toLowerCase()], topic0: [ATTESTED, REVOKED] }])
  const doubt = new Doubt(clock)
  const logged: unknown[] = []
  const log = new Logger((record) => logged.push(record), 'test')
  const reader = new HistoryReader(rpc, { selection, finality: FINALITY, log, clock, doubt })
  const reading = reader.read(0)
  let isRead = false
  void reading.finally(() => (isRead = true)).catch(() => {})
  while (!isRead) await clock.pass(1_000, () => {})
  const { blocks } = await reading
  const [block] = blocks
  const { header, logs } = [...chain.blocks.values()][NUMBER]!
  expect(chainBlock(block!)).toEqual(chainBlock({ header, logs: [...logs] }))
  // A false response is not a refusal of the range.
  expect(logged).toEqual([])
  return doubt.takeContradictions()
}

const honest: Change = (_, answer) => answer

test.each<[string, Partial<RpcHeader>]>([
  ['content than it has', {}],
  ['time', { timestamp: '0x1' }],
  ['bloom filter', { logsBloom: `0x${'f'.repeat(512)}` }],
])('the history reader believes no invented log, nor a header with another %s', async (_, change) => {
  await read([(method, answer) => addsLog(method, inHeaders(change)(method, answer)), honest])
})

test('the history reader uses the header of another endpoint if the first one leaves out a field', async () => {
  expect(await read([inHeaders({ mixHash: undefined }), honest])).toBe(0)
})

test('the history reader leaves out logs that the bloom filter excludes at each endpoint', async () => {
  expect(await read([addsLog, addsLog])).toBe(1)
})

test('the history reader reads hex in any letter case', async () => {
  expect(await read([shouts])).toBe(0)
  expect(await read([(method, answer) => (method === 'eth_getLogs' ? shouts(method, answer) : answer)])).toBe(
    0,
  )
})

test.each([
  ['last header', undefined, { timestamp: undefined }],
  ['first header', 0, { timestamp: undefined }],
  ['first header', 0, { number: '0x1' }],
])('the history reader turns from an endpoint whose %s of block %s has %j', async (_, height, change) => {
  const falsify: Change = (method, answer) =>
    height === undefined || Number((answer as RpcHeader).number) === height
      ? inHeaders(change)(method, answer)
      : answer
  expect(await read([falsify, honest])).toBe(1)
})
