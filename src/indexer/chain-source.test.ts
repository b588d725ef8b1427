import { inspect } from 'node:util'
import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { Runner, type HotDatabase, type RunnerConfig } from '@subsquid/util-internal-processor-tools'
import { beforeAll, expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import {
  SimulatedChain,
  SimulatedEndpoint,
  VirtualClock,
  ancestor,
  fixedSelection,
  topic,
} from '../../test/simulation'
import { BlockReader, ContradictionError, Doubt, HeadReader, type ChainBlock } from '../chain'
import { CHAINS } from '../chains'
import { SettingsError } from '../config'
import { Rpc } from '../rpc'
import { confirmedGateway } from './gateway'
import { ChainSource, ShorterChainError } from './processor'

/** Tests the change from history to the head in evm-processor's runner, with endpoints that lag. */

const CHAIN = { ...CHAINS[0]!, finality: 10, firstBlock: 1 }
const LENGTH = 60
const FINAL = LENGTH - 1 - CHAIN.finality
const LONGEST_RANGE = 7

/** Chain of LENGTH blocks, which each test continues in a copy. */
const begun = new SimulatedChain(CHAIN.eas)
beforeAll(async () => {
  for (let i = 0; i < LENGTH; i++) await begun.mine(1_700_000_000 + i, [[topic(1)]])
})

/** Runs the runner over a simulated chain; `heights` are those of the blocks that it has written. */
async function start({
  archiveUpTo,
  archiveError,
  archiveLogs = [],
  laterLag = 0,
}: {
  archiveUpTo?: number
  archiveError?: Error
  archiveLogs?: ChainBlock['logs']
  laterLag?: number
} = {}) {
  const clock = new VirtualClock()
  const chain = begun.copy()
  const endpoints = [0, 1].map(() => new SimulatedEndpoint(chain, CHAIN.id, clock, () => 20, LONGEST_RANGE))
  const urls = endpoints.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => endpoints[urls.indexOf(url)]!.client,
  })
  const doubt = new Doubt(clock)
  const learned: unknown[] = []
  const decoded: ChainBlock[] = []
  const selection = {
    ...fixedSelection([{ topic0: [topic(1)] }]),
    learn: (logs: readonly unknown[]) => Promise.resolve(learned.push(...logs)),
  }
  const blocks = () => new BlockReader(rpc, selection, doubt, clock)
  const common = { doubt, log: SILENT, clock, finality: CHAIN.finality }
  const stop = new AbortController()
  const head = new HeadReader({ ...common, pollMs: 1_000, blocks: blocks() })
  const source = new ChainSource<ChainBlock>({
    ...{ ...common, rpc, selection, blocks: blocks(), signal: stop.signal, stored: undefined },
    head,
    storedAtOrBelow: () => Promise.resolve(undefined),
    decode: (block) => {
      if (block.logs.some(({ data }) => data === '0x')) throw new ContradictionError('a log has no data')
      decoded.push(block)
      return block
    },
  })
  const archive = confirmedGateway(source, {
    getFinalizedHeight: () => (archiveError ? Promise.reject(archiveError) : Promise.resolve(archiveUpTo!)),
    getBlockHash: () => Promise.reject(new Error('the gateway has no such block')),
    async *getFinalizedBlocks() {
      const { hash, parentHash } = ancestor(chain.head, archiveUpTo!)!.header
      yield await Promise.resolve({
        ...{
          blocks: [{ header: { height: archiveUpTo!, hash, parentHash, timestamp: 0 }, logs: archiveLogs }],
        },
        isHead: true,
      })
    },
  })
  const heights: number[] = []
  const faults = { isIncomplete: false }
  const note = (written: readonly { height: number }[]) => {
    if (faults.isIncomplete) return Promise.reject(new DataConsistencyError('a body is missing'))
    heights.push(...written.map(({ height }) => height))
    return Promise.resolve()
  }
  /** Called once the runner knows the last block of history, before it reads the first one. */
  const serve = () => {
    for (const { behaviour } of endpoints) behaviour.lag = laterLag
    // The runner repeats this request every 20 seconds.
    return source.getFinalizedHeight().then(() => ({ port: 0 }))
  }
  const database = {
    supportsHotBlocks: true,
    connect: () => Promise.resolve({ height: -1, hash: '0x', top: [] }),
    transact: ({ nextHead }: { nextHead: { height: number } }) => note([nextHead]),
    transactHot2: ({ newBlocks }: { newBlocks: { height: number }[] }) => note(newBlocks),
  } as unknown as HotDatabase<unknown>
  const ended = new Runner({
    ...{ database, log: SILENT, hotDataSource: source, allBlocksAreFinal: false },
    ...(archiveUpTo !== undefined && { archive }),
    requests: [{ range: { from: CHAIN.firstBlock }, request: {} }],
    prometheus: { addRunnerMetrics: () => {}, serve },
    process: () => Promise.resolve(),
  } as unknown as RunnerConfig<unknown, unknown>).run()
  const outcome = ended.then(
    () => 'ended',
    (error: Error) => error,
  )
  const passes = async (milliseconds: number) => {
    await clock.pass(milliseconds, () => {})
    return Promise.race([outcome, Promise.resolve('continues')])
  }
  return {
    ...{ chain, decoded, doubt, endpoints, faults, head, heights, learned, passes },
    stop: () => stop.abort(new Error('stopped')),
  }
}

test('the block source reads up to a reported block, even if endpoints report older blocks later', async () => {
  const { endpoints, heights, passes, stop } = await start({ laterLag: 15 })
  expect(await passes(30_000)).toBe('continues')
  expect(heights.at(-1)).toBe(FINAL - 15)
  for (const { behaviour } of endpoints) behaviour.lag = 0
  expect(await passes(30_000)).toBe('continues')
  expect(heights.at(-1)).toBe(LENGTH - 1)
  stop()
})

test('the block source follows a gateway that one of two endpoints confirms', async () => {
  const { chain, endpoints, heights, passes, stop } = await start({ archiveUpTo: FINAL - 2 })
  const fork = new SimulatedChain(CHAIN.eas, 1_000_000)
  for (let i = 0; i < LENGTH; i++) await fork.mine(1_700_000_000 + i, [[topic(1)]])
  endpoints[0]!.chain = fork
  expect(await passes(30_000)).toBe('continues')
  endpoints[0]!.chain = chain
  expect(await passes(30_000)).toBe('continues')
  expect(heights.at(-1)).toBe(LENGTH - 1)
  stop()
})

test('the block source reads the hex of a gateway in any letter case', async () => {
  const hex = (digits: number) => `0x${'ab'.repeat(digits / 2)}`
  const log = { address: hex(40), topics: [hex(64)], data: hex(64), transactionHash: hex(64), logIndex: 0 }
  const upper = (text: string) => text.toUpperCase().replace('X', 'x')
  const { decoded, learned, passes, stop } = await start({
    archiveUpTo: FINAL - 2,
    archiveLogs: [
      {
        ...{ address: upper(log.address), topics: log.topics.map(upper), data: upper(log.data) },
        ...{ transactionHash: upper(log.transactionHash), logIndex: 0 },
      },
    ],
  })
  await passes(5_000)
  expect([learned[0], decoded[0]!.logs]).toEqual([{ ...log, blockNumber: FINAL - 2 }, [log]])
  stop()
})

test('the block source ends with the error of a gateway, without the key in its URL', async () => {
  const archiveError = new Error('Got 403 from https://user:secret@gateway.example/secret/height?key=secret')
  const { passes } = await start({ archiveUpTo: FINAL, archiveError })
  const outcome = inspect(await passes(1_000))
  expect(outcome).toContain('Got 403 from gateway.example')
  expect(outcome).not.toContain('secret')
})

test('the block source ends with a SettingsError if a shorter chain replaces its chain', async () => {
  const { endpoints, passes } = await start({ laterLag: 15 })
  expect(await passes(30_000)).toBe('continues')
  const other = new SimulatedChain(CHAIN.eas, 1_000_000)
  for (let i = 0; i < LENGTH - 15; i++) await other.mine(1_700_000_000 + i, [])
  for (const endpoint of endpoints) {
    endpoint.chain = other
    endpoint.behaviour.lag = 0
  }
  expect(await passes(30_000)).toBeInstanceOf(SettingsError)
})

test('the block source ends once the chain has been shorter for a minute', async () => {
  const { passes } = await start({ laterLag: 15 })
  expect(await passes(55_000)).toBe('continues')
  expect(await passes(20_000)).toBeInstanceOf(ShorterChainError)
})

test('the block source ends after the endpoints reported the head of a longer chain', async () => {
  const { endpoints, heights, passes } = await start()
  const longer = new SimulatedChain(CHAIN.eas, 1_000_000)
  for (let i = 0; i < 2 * LENGTH; i++) await longer.mine(1_700_000_000 + i, [])
  for (const { behaviour } of endpoints) behaviour.cachedAt = longer.head
  expect(await passes(30_000)).toBe('continues')
  expect(heights.at(-1)).toBe(LENGTH - 1)
  for (const { behaviour } of endpoints) behaviour.cachedAt = undefined
  expect(await passes(120_000)).toBeInstanceOf(ShorterChainError)
})

test.each(['read', 'written'])('the source reports a doubt if the last block cannot be %s', async (how) => {
  const { chain, doubt, endpoints, faults, heights, passes, stop } = await start()
  await passes(30_000)
  expect([heights.at(-1), doubt.reason()]).toEqual([LENGTH - 1, undefined])
  const fail = (fails: boolean) => {
    if (how === 'written') faults.isIncomplete = fails
    else for (const { behaviour } of endpoints) behaviour.staleBy = fails ? 1 : 0
  }
  fail(true)
  await chain.mine(1_700_000_000 + LENGTH, [[topic(1)]])
  await passes(10_000)
  expect(doubt.reason()).toBeDefined()
  fail(false)
  await passes(20_000)
  expect([heights.at(-1), doubt.reason()]).toEqual([LENGTH, undefined])
  stop()
})

test('the block source reports a doubt about an unwritable block that every other poll misses', async () => {
  const { chain, doubt, endpoints, faults, head, passes, stop } = await start()
  await passes(30_000)
  faults.isIncomplete = true
  await chain.mine(1_700_000_000 + LENGTH, [[topic(1)]])
  for (let second = 0; second < 12; second++) {
    for (const { behaviour } of endpoints) behaviour.lag = second % 2
    expect(await passes(1_000)).toBe('continues')
    // The reader forgets its earlier polls, as after the machine was suspended.
    if (second === 9) head.forgetLooks()
  }
  expect(doubt.reason()).toBeDefined()
  stop()
})

test.each([
  ['read', 'removed'],
  ['read', 'replaced'],
  ['written', 'removed'],
  ['written', 'replaced'],
])(
  'the source delays its doubt about a block that cannot be %s after a fork has %s another block',
  async (how, left) => {
    const { chain, doubt, endpoints, faults, passes, stop } = await start()
    await passes(30_000)
    faults.isIncomplete = how === 'written'
    for (const { behaviour } of endpoints) behaviour.staleBy = how === 'read' ? 1 : 0
    const mine = () => chain.mine(1_700_000_000 + LENGTH, [[topic(1)]])
    await mine()
    await passes(3_000)
    chain.revert(1)
    if (left === 'removed') await passes(60_000)
    await mine()
    await passes(4_000)
    expect(doubt.reason()).toBeUndefined()
    await passes(4_000)
    expect(doubt.reason()).toBeDefined()
    stop()
  },
)

test.each([
  ['history', 0],
  ['the head', 30_000],
])('the block source reads %s again after both endpoints returned malformed logs', async (_, beforeMs) => {
  const { chain, doubt, endpoints, heights, passes, stop } = await start()
  const malform = (cutsLogs: boolean) => endpoints.forEach(({ behaviour }) => (behaviour.cutsLogs = cutsLogs))
  malform(beforeMs === 0)
  await passes(beforeMs)
  malform(true)
  const { height } = await chain.mine(1_700_000_000 + LENGTH, [[topic(1)]])
  expect(await passes(20_000)).toBe('continues')
  expect([heights.includes(height), doubt.reason()]).toEqual([false, expect.any(String)])
  malform(false)
  expect(await passes(30_000)).toBe('continues')
  expect([heights.at(-1), doubt.reason()]).toEqual([height, undefined])
  stop()
})
