import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { fixedSelection } from '../../test/simulation'
import { CHAINS } from '../chains'
import { Rpc } from '../rpc'
import { HistoryReader } from './history'

/** Reads the history of a chain without logs from two endpoints with different limits. */

const CHAIN = CHAINS[0]!
const HEAD = 100_000_000
const hex = (number: number) => `0x${number.toString(16)}`
const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}`

interface Endpoint {
  /** Maximum number of blocks, which the endpoint states in its errors. */
  limit: number
  down?: boolean
  /** Number of blocks of the last request that was answered. */
  blocks?: number
}

function reader(endpoints: readonly Endpoint[]) {
  const answer = (endpoint: Endpoint, method: string, [first]: any[]) => {
    if (endpoint.down) throw new Error('no response')
    if (method === 'eth_chainId') return hex(CHAIN.id)
    if (method === 'eth_blockNumber') return hex(HEAD)
    if (method === 'eth_getBlockByNumber')
      return {
        number: first,
        hash: hash(Number(first)),
        parentHash: hash(Math.max(0, Number(first) - 1)),
        timestamp: '0x1',
      }
    const blocks = Number(first.toBlock) - Number(first.fromBlock) + 1
    if (blocks > endpoint.limit)
      throw new RpcError({ code: -32005, message: `eth_getLogs is limited to a ${endpoint.limit} range` })
    endpoint.blocks = blocks
    return []
  }
  const clients = endpoints.map(
    (endpoint) =>
      ({
        call: async (method: string, params: unknown[]) => answer(endpoint, method, params),
        batchCall: async (calls: { method: string; params: unknown[] }[]) =>
          calls.map(({ method, params }) => answer(endpoint, method, params)),
        close: () => {},
      }) as unknown as RpcClient,
  )
  const urls = clients.map((_, i) => `http://endpoint-${i}.example`)
  // Pauses end at once.
  let now = 0
  const clock = { now: () => now, pause: async (milliseconds: number) => void (now += milliseconds) }
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => clients[urls.indexOf(url)]!,
  })
  const selection = fixedSelection([{ address: [CHAIN.eas] }])
  const history = new HistoryReader(rpc, { selection, finality: CHAIN.finality, log: SILENT, clock })
  let next = 0
  return {
    read: async (answers: number) => {
      for (let i = 0; i < answers; i++) next = (await history.read(next)).to + 1
    },
    pass: (milliseconds: number) => (now += milliseconds),
  }
}

test('the range of history follows the limit of the endpoint that is read', async () => {
  const [first, second]: [Endpoint, Endpoint] = [{ limit: 10 }, { limit: 5_000 }]
  const { read, pass } = reader([first, second])
  await read(40)
  first.down = true
  await read(20)
  expect([first.blocks, second.blocks]).toEqual([10, 5_000])
  first.down = false
  pass(60_000)
  await read(20)
  expect([first.blocks, second.blocks]).toEqual([10, 5_000])
  first.limit = 100_000
  second.limit = 10
  first.down = true
  await read(20)
  expect(second.blocks).toBe(10)
})

test('the range of history widens again after another endpoint with a lower limit was read', async () => {
  const [first, second]: [Endpoint, Endpoint] = [{ limit: 100_000 }, { limit: 10 }]
  const { read, pass } = reader([first, second])
  await read(20)
  first.down = true
  await read(20)
  expect([first.blocks, second.blocks]).toEqual([100_000, 10])
  first.down = false
  pass(60_000)
  await read(20)
  expect(first.blocks).toBe(100_000)
})
