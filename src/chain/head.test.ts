import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { SimulatedChain, SimulatedEndpoint, VirtualClock, fixedSelection, topic } from '../../test/simulation'
import { CHAINS } from '../chains'
import { Rpc } from '../rpc'
import { BlockReader } from './blocks'
import { Doubt } from './doubt'
import { HeadReader } from './head'
import type { RpcLog } from './logs'

const CHAIN = { ...CHAINS[0]!, finality: 20, firstBlock: 1 }

/**
 * Follows a chain through one endpoint without receipts, and mines a block. `faults.lies` makes the endpoint
 * announce an attestation without a body. `written` are the announced attestations that were written.
 */
async function start() {
  const clock = new VirtualClock()
  const chain = new SimulatedChain(CHAIN.eas)
  const mine = () => chain.mine(1_700_000_000 + chain.blocks.size, [[topic(1)]])
  for (let i = 0; i < 5; i++) await mine()
  const simulated = new SimulatedEndpoint(chain, CHAIN.id, clock, () => 20, 100)
  const faults = { lies: true }
  const batchCall = async (calls: { method: string; params?: unknown[] }[]) => {
    if (calls.some(({ method }) => /Receipt/.test(method)))
      throw new RpcError({ code: -32601, message: 'method not found' })
    const answers = await simulated.client.batchCall(calls)
    const invent = (logs: RpcLog[]) => logs.map((log) => ({ ...log, data: topic(66) }))
    return answers.map((answer, i) =>
      faults.lies && calls[i]!.method === 'eth_getLogs' ? invent(answer as RpcLog[]) : answer,
    )
  }
  const endpoint = {
    batchCall,
    call: async (method: string, params: unknown[]) => (await batchCall([{ method, params }]))[0],
    close: () => {},
  } as unknown as RpcClient
  const rpc = new Rpc({
    ...{
      chain: CHAIN,
      urls: ['http://endpoint.example'],
      batchSize: 100,
      timeoutMs: 1_000,
      log: SILENT,
      clock,
    },
    connect: () => endpoint,
  })
  const doubt = new Doubt(clock)
  const blocks = new BlockReader(rpc, fixedSelection([{ topic0: [topic(1)] }]), doubt, clock)
  const head = new HeadReader({
    ...{ doubt, log: SILENT, clock, finality: CHAIN.finality, pollMs: 1_000, blocks },
  })
  const written: string[] = []
  const { height, header } = chain.head!
  const stop = new AbortController()
  const ended = head.follow(
    [{ height, hash: header.hash }],
    async ({ blocks: added }) => {
      const uids = added.flatMap(({ logs }) => logs.map(({ data }) => data))
      if (uids.includes(topic(66))) throw new DataConsistencyError('no body')
      written.push(...uids)
    },
    stop.signal,
  )
  ended.catch(() => {})
  await mine()
  const pass = (ms: number) => clock.pass(ms, () => {})
  return {
    behaviour: simulated.behaviour,
    chain,
    doubt,
    faults,
    mine,
    pass,
    stop: () => stop.abort(),
    written,
  }
}

test('the head reader rereads a block without proof whose attestations have no bodies', async () => {
  const { chain, faults, mine, pass, stop, written } = await start()
  await pass(30_000)
  expect(written).toEqual([])
  faults.lies = false
  await mine()
  await pass(30_000)
  stop()
  const attested = [...chain.blocks.values()].slice(-2).flatMap(({ logs }) => logs.map(({ data }) => data))
  expect(written).toEqual(attested)
})

test('the head reader keeps a block without proof that a shorter chain may have removed', async () => {
  const { behaviour, chain, doubt, faults, pass, stop, written } = await start()
  await pass(2_000)
  behaviour.lag = 1
  await pass(12_000)
  expect([doubt.takeContradictions(), written]).toEqual([0, []])
  behaviour.lag = 0
  faults.lies = false
  await pass(12_000)
  stop()
  expect(written).toEqual(chain.head!.logs.map(({ data }) => data))
})
