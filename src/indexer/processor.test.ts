import { Logger, type LogRecord } from '@subsquid/logger'
import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { beforeAll, expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { SimulatedChain, SimulatedEndpoint, VirtualClock, fixedSelection, topic } from '../../test/simulation'
import * as eas from '../abi/EAS'
import { BlockReader, ContradictionError, Doubt, HeadReader, type ChainBlock } from '../chain'
import type { RpcLog } from '../chain/logs'
import { CHAINS } from '../chains'
import { LOCATION_SCHEMA } from '../location'
import { Rpc } from '../rpc'
import { FalseBodyError, MissingBodyError } from './bodies'
import { gatewayLog } from './gateway'
import { decodeEvents, runProcessor } from './processor'

const CHAIN = CHAINS[0]!
const UID = `0x${'1'.repeat(64)}`

const TOPICS = [eas.events.Attested.topic, UID, UID, LOCATION_SCHEMA.uid]
function blockWith(data: string, topics: readonly string[] = TOPICS): ChainBlock {
  return {
    header: { height: 1, hash: UID, parentHash: UID, timestamp: 0 },
    logs: [{ address: CHAIN.eas, topics: [...topics], data, logIndex: 0, transactionHash: UID }],
  }
}

test.each([
  ...['0x', UID.slice(0, -1), `${UID}00`, `${UID.slice(0, -1)}x`].map((data) => [data, TOPICS] as const),
  [UID, TOPICS.slice(0, 3)] as const,
  [UID, [...TOPICS, UID]] as const,
])('the processor rejects the data %s and topics %j, so that it reads the log again', (data, topics) => {
  expect(decodeEvents(CHAIN, blockWith(UID))).toMatchObject([{ uid: UID }])
  expect(() => decodeEvents(CHAIN, blockWith(data, topics))).toThrow(ContradictionError)
})

test('the processor skips a malformed log that nobody watches', () => {
  const [event, recipient, attester] = TOPICS as [string, string, string]
  expect(decodeEvents(CHAIN, blockWith('0x', [event, recipient, attester, UID]))).toEqual([])
})

test('the log of a gateway contains no key of its URL', () => {
  const records: LogRecord[] = []
  const log = gatewayLog(new Logger((record) => records.push(record), 'test')).child('archive')
  const url = 'https://gateway.example/secret/height'
  log.warn({ reason: `Got 503 from ${url}`, response: { url } }, 'archive request failed')
  expect(records).toMatchObject([{ msg: 'archive request failed' }])
  expect(JSON.stringify(records)).toContain('gateway.example"')
  expect(JSON.stringify(records)).not.toContain('secret')
})

const LENGTH = 40
const FINALITY = 10
const LONGEST_RANGE = 7
const begun = new SimulatedChain(CHAIN.eas)
const ATTESTED = [eas.events.Attested.topic, topic(1), topic(2), LOCATION_SCHEMA.uid]
beforeAll(async () => {
  for (let i = 0; i < LENGTH; i++) await begun.mine(1_700_000_000 + i, [ATTESTED])
})

/** Faults of an endpoint. */
interface Fault {
  /** First and last block of which eth_getLogs announces attestations that do not exist. */
  lies?: [number, number]
  /** Number of a block of which eth_getLogs announces the attestation of the next block. */
  repeats?: number
  /** Returns the additional latency of an eth_getLogs. */
  delayMs?: (fromBlock: number) => number
  hidesReceipts?: boolean
}

/**
 * Runs the processor over a simulated chain. `state.final` is the last final block that it has written, and
 * `uids` are the attestations whose bodies it has read. `failures` returns the number of runs that failed.
 */
function start(faults: Fault[], error: new (message: string) => Error) {
  const clock = new VirtualClock()
  const chain = begun.copy()
  const config = { ...CHAIN, finality: FINALITY, firstBlock: 1 }
  const endpoints = faults.map(() => new SimulatedEndpoint(chain, CHAIN.id, clock, () => 20, LONGEST_RANGE))
  const clientOf = (i: number) => {
    const { client } = endpoints[i]!
    const batchCall = async (calls: { method: string; params?: unknown[] }[]) => {
      const { lies, repeats, delayMs, hidesReceipts } = faults[i]!
      if (hidesReceipts && calls.some(({ method }) => /Receipt/.test(method)))
        throw new RpcError({ code: -32601, message: 'method not found' })
      const answers = await client.batchCall(calls)
      const from = calls.find(({ method }) => method === 'eth_getLogs')?.params![0] as { fromBlock?: string }
      if (from) await clock.pause(delayMs?.(Number(from.fromBlock)) ?? 0)
      const lie = (log: RpcLog) => {
        const height = Number(log.blockNumber)
        if (height === repeats) return { ...log, data: [...chain.blocks.values()][height + 1]!.logs[0]!.data }
        return lies && height >= lies[0] && height <= lies[1] ? { ...log, data: invented(log.data) } : log
      }
      return answers.map((answer, n) =>
        calls[n]!.method === 'eth_getLogs' ? (answer as RpcLog[]).map(lie) : answer,
      )
    }
    return {
      batchCall,
      call: async (method: string, params: unknown[]) => (await batchCall([{ method, params }]))[0],
      close: () => {},
    } as unknown as RpcClient
  }
  const urls = faults.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: config, urls, batchSize: 100, timeoutMs: 30_000, log: SILENT, clock },
    connect: ({ url }) => clientOf(urls.indexOf(url)),
  })
  const doubt = new Doubt(clock)
  const selection = fixedSelection([{ topic0: [ATTESTED[0]!] }])
  const blocks = () => new BlockReader(rpc, selection, doubt, clock)
  const head = new HeadReader({
    ...{ doubt, log: SILENT, clock, finality: FINALITY, pollMs: 1_000, blocks: blocks() },
  })
  const state = { final: null as { height: number; hash: string } | null, top: [] as unknown[] }
  const uids: string[] = []
  let failures = 0
  const query = (sql: string, [, height, hash]: unknown[] = []) => {
    if (sql.includes('INSERT INTO hot_block')) state.top.push({ height, hash })
    if (/INSERT INTO chain_status .chain, final_height/.test(sql))
      state.final = { height: height as number, hash: hash as string }
    return Promise.resolve([{ ...state }])
  }
  const stop = new AbortController()
  const ended = runProcessor({
    ...{ chain: config, rpc, doubt, head, clock, blocks: blocks(), log: SILENT, stored: undefined },
    ...{ gatewayUrl: undefined, registry: selection, batches: undefined, signal: stop.signal },
    storedAtOrBelow: () => Promise.resolve(undefined),
    requireSameChain: () => Promise.resolve(void failures++),
    lease: { transaction: (work: (...parts: unknown[]) => unknown) => work(query, () => Promise.resolve()) },
    metrics: { addRunnerMetrics: () => {}, serve: () => Promise.resolve({ port: 0 }) },
    bodies: {
      prefetch: () => {},
      read: async (times: ReadonlyMap<string, bigint>) => {
        await clock.pause(1_000)
        if ([...times.keys()].some((uid) => uid.endsWith(INVENTED))) throw new error('no such attestation')
        uids.push(...times.keys())
        return new Map([...times].map(([uid, time]) => [uid, bodyOf(uid, time)]))
      },
    },
  } as unknown as Parameters<typeof runProcessor>[0])
  const outcome = ended.then(
    () => 'ended',
    (failure: Error) => failure,
  )
  const passes = async (milliseconds: number) => {
    await clock.pass(milliseconds, () => {})
    return Promise.race([outcome, Promise.resolve('continues')])
  }
  return {
    chain,
    doubt,
    passes,
    state,
    uids,
    failures: () => failures,
    stop: () => stop.abort(new Error('stopped')),
  }
}

const INVENTED = '00c0ffee'
const invented = (uid: string) => uid.slice(0, -INVENTED.length) + INVENTED
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
const bodyOf = (uid: string, time: bigint) => ({
  ...{ uid, schema: LOCATION_SCHEMA.uid, refUID: UID, time, expirationTime: 0n, revocable: true },
  ...{ recipient: ZERO_ADDRESS, attester: `0x${ATTESTED[2]!.slice(-40)}`, data: Buffer.alloc(0) },
})
const ALL: [number, number] = [0, Infinity]

test.each(
  [MissingBodyError, FalseBodyError].flatMap((error) =>
    [950, 970, 990, 5_000].map((ms) => [error, ms] as const),
  ),
)(
  'the processor rereads history from the second endpoint during a read of the first one',
  async (error, ms) => {
    const slow = { lies: ALL, delayMs: (from: number) => (from > LONGEST_RANGE ? ms : 0) }
    const { passes, state, uids, stop } = start([slow, { delayMs: () => 1_500 }], error)
    expect(await passes(120_000)).toBe('continues')
    expect(state.final?.height).toBe(LENGTH - 1 - FINALITY)
    expect(uids).toHaveLength(LENGTH - 1)
    stop()
  },
)

test('the processor rereads history if two blocks announce one attestation', async () => {
  const { passes, state, uids, failures, stop } = start([{ repeats: 10 }, {}], FalseBodyError)
  expect(await passes(120_000)).toBe('continues')
  expect([failures(), state.final?.height]).toEqual([1, LENGTH - 1 - FINALITY])
  expect(new Set(uids).size).toBe(LENGTH - 1)
  stop()
})

test('the processor ends once each endpoint was the first one and announced an unknown attestation', async () => {
  const lies: [number, number] = [10, 20]
  const { passes, failures, state } = start([{ lies }, { lies }, { lies }], MissingBodyError)
  expect(await passes(120_000)).toBeInstanceOf(MissingBodyError)
  expect([failures(), state.final?.height]).toEqual([3, LONGEST_RANGE])
})

test.each([MissingBodyError, FalseBodyError])(
  'the processor reads the head again if no endpoint has an attestation that it announces',
  async (error) => {
    const fault: Fault = { lies: [LENGTH, Infinity], hidesReceipts: true }
    const { chain, doubt, passes, failures, uids, stop } = start([fault], error)
    await passes(30_000)
    await chain.mine(1_700_000_000 + LENGTH, [ATTESTED])
    expect(await passes(30_000)).toBe('continues')
    expect([failures(), uids.length, doubt.reason()]).toEqual([0, LENGTH - 1, expect.any(String)])
    delete fault.lies
    expect(await passes(30_000)).toBe('continues')
    expect(uids).toHaveLength(LENGTH)
    stop()
  },
)
