import { Logger } from '@subsquid/logger'
import { AbiCoder } from 'ethers'
import * as eas from '../src/abi/EAS'
import * as multicall from '../src/abi/Multicall3'
import { CHAINS } from '../src/chains'
import {
  startRpcProxy as startProxy,
  type Fault,
  type RpcCall,
  type RpcProxy as Proxy,
} from '../dev/rpc-proxy'
import { Rpc } from '../src/rpc'
import { atEnd } from './ends'

export type { Fault, RpcCall }
export interface RpcProxy extends Proxy {
  /** every call received, in order */
  readonly calls: RpcCall[]
  /** number of HTTP requests received */
  readonly requests: number
}

/** Starts a JSON-RPC proxy in front of a node that records calls and injects faults, until the file's end. */
export async function startRpcProxy(nodeUrl: string, ...initial: Fault[]): Promise<RpcProxy> {
  const calls: RpcCall[] = []
  let requests = 0
  const proxy = await startProxy(nodeUrl, (received) => {
    calls.push(...received)
    requests++
  })
  proxy.misbehave(...initial)
  atEnd(() => proxy.close())
  // Spreading the proxy would copy the current value of its getter `met`.
  return Object.defineProperties(proxy, {
    calls: { value: calls },
    requests: { get: () => requests },
  }) as RpcProxy
}

const MULTICALL_RESULTS = ['tuple(bool success, bytes returnData)[]']
/** Result of getAttestation for an unknown UID: an empty attestation. */
const UNKNOWN = `0x${'20'.padStart(64, '0')}${'0'.repeat(64 * 9)}${'140'.padStart(64, '0')}${'0'.repeat(64)}`
const coder = AbiCoder.defaultAbiCoder()

/** Changes the results of one method; null stays null. */
const made =
  (method: string, change: (result: any, params: any[]) => unknown): Fault =>
  (call) =>
    call.method === method
      ? {
          ask: async (ask) =>
            ((result) => result && change(result, call.params))(await ask(call.method, call.params)),
        }
      : undefined
const logs = (change: (logs: any[]) => unknown) => made('eth_getLogs', change)
/** Changes the attestations that Multicall3 returns. */
const bodies = (change: (bodies: any[]) => any[]) =>
  made('eth_call', (result, [{ data }]) =>
    data.startsWith(multicall.functions.aggregate3.selector)
      ? coder.encode(MULTICALL_RESULTS, [
          change(
            coder
              .decode(MULTICALL_RESULTS, result)[0]
              .map(([success, returnData]: any) => ({ success, returnData })),
          ),
        ])
      : result,
  )
const receipts = (change: (receipts: any[]) => unknown) => made('eth_getBlockReceipts', change)
/** The log, followed by an invented Revoked event for the same attestation. */
const withForged = (log: any) => [
  log,
  {
    ...log,
    topics: [eas.events.Revoked.topic, ...log.topics.slice(1)],
    logIndex: `0x${(Number(log.logIndex) + 500).toString(16)}`,
  },
]
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Faults of RPC endpoints (docs/spec/trust.md 6), one each. */
export const faults = {
  // Faults with incorrect logs that look valid.
  logsCutByOne: logs((list) => list.slice(0, -1)),
  logsEmpty: logs(() => []),
  /** Omits the events with this topic. */
  logsWithout: (topic0: string) => logs((list) => list.filter((log) => log.topics[0] !== topic0)),
  /** Omits the last log of each block's last transaction from receipts, and the last log from eth_getLogs. */
  logsCutEverywhere: ((call) =>
    receipts((list) =>
      list.map((receipt, i) =>
        i === list.length - 1 ? { ...receipt, logs: receipt.logs.slice(0, -1) } : receipt,
      ),
    )(call) ?? logs((list) => list.slice(0, -1))(call)) as Fault,
  /** Adds an invented Revoked event after each log, in receipts and in eth_getLogs. */
  logsForged: ((call) =>
    receipts((list) => list.map((receipt) => ({ ...receipt, logs: receipt.logs.flatMap(withForged) })))(
      call,
    ) ?? logs((list) => list.flatMap(withForged))(call)) as Fault,
  /** Changes the UID that each log announces. No topic changes, so bloom filters do not exclude the logs. */
  logsOfOtherUids: logs((list) => list.map((log) => ({ ...log, data: `${log.data.slice(0, -8)}00c0ffee` }))),
  // Faults with malformed lists of logs.
  logsTwice: logs((list) => [...list, ...list].reverse()),
  logsRemoved: logs((list) => list.map((log) => ({ ...log, removed: true }))),
  logsOfAnotherFork: logs((list) => list.map((log) => ({ ...log, blockHash: `0x${'1'.repeat(64)}` }))),
  // Faults with incorrect blocks and attestations.
  blocksNull: ((call) => (/^eth_getBlockBy/.test(call.method) ? { result: null } : undefined)) as Fault,
  /** Returns one of the last 90 blocks instead of the requested block (by number, by hash or latest). */
  anotherBlock:
    (random: () => number): Fault =>
    ({ method, params }) =>
      /^eth_getBlockBy/.test(method)
        ? {
            ask: async (ask) =>
              ask('eth_getBlockByNumber', [
                `0x${(Number(await ask('eth_blockNumber', [])) - Math.floor(random() * 90)).toString(16)}`,
                params[1],
              ]),
          }
        : undefined,
  /** Returns headers whose bloom filter contains no logs. */
  headersForged: made('eth_getBlockByNumber', (header) => ({ ...header, logsBloom: `0x${'0'.repeat(512)}` })),
  multicallShort: bodies((list) => list.slice(0, -1)),
  multicallReversed: bodies((list) => [...list].reverse()),
  bodiesUnknown: ((call) => {
    if (call.method !== 'eth_call') return undefined
    const data = call.params[0].data as string
    if (data.startsWith(eas.functions.getAttestation.selector)) return { result: UNKNOWN }
    if (!data.startsWith(multicall.functions.aggregate3.selector)) return undefined
    const asked = multicall.functions.aggregate3.decode(data).calls.length
    return {
      result: coder.encode(MULTICALL_RESULTS, [Array(asked).fill({ success: true, returnData: UNKNOWN })]),
    }
  }) as Fault,
  // Faults with errors that the endpoint returns.
  http:
    (status: number): Fault =>
    () => ({ status }),
  refusal:
    (message: string, code = -32000): Fault =>
    () => ({ error: { code, message } }),
  rangeAtMost:
    (blocks: number, message: string): Fault =>
    ({ method, params }) =>
      method === 'eth_getLogs' && Number(params[0].toBlock) - Number(params[0].fromBlock) >= blocks
        ? { error: { code: -32005, message } }
        : undefined,
  // Faults with broken connections and broken JSON-RPC.
  dropped: (() => ({ drop: true })) as Fault,
  hanging: (() => ({ ask: () => new Promise(() => {}) })) as Fault,
  slow:
    (ms: number): Fault =>
    ({ method, params }) => ({ ask: async (ask) => (await pause(ms), ask(method, params)) }),
  batchCut: (() => ({ mangle: cutBatch })) as Fault,
  batchReordered: (() => ({ mangle: reorderBatch })) as Fault,
  wrongIds: (() => ({ mangle: shiftIds })) as Fault,
  invalidJson: (() => ({ mangle: halfOf })) as Fault,
  // Faults with another chain, or with a node that lags.
  anotherChain: (({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined)) as Fault,
  /** A replica that lacks the last blocks and their state. */
  lagging:
    (blocks: number): Fault =>
    ({ method, params }) => ({
      ask: async (ask) => {
        const head = Number(await ask('eth_blockNumber', [])) - blocks
        const hex = `0x${head.toString(16)}`
        if (method === 'eth_blockNumber') return hex
        if (method === 'eth_call') {
          const old = await ask(method, [params[0], hex])
          // anvil forgets the code in old states after some reorgs.
          return old === '0x' ? ask(method, params) : old
        }
        if (method === 'eth_getBlockByNumber')
          return params[0] === 'latest'
            ? ask(method, [hex, params[1]])
            : Number(params[0]) > head
              ? null
              : ask(method, params)
        if (method === 'eth_getBlockByHash')
          return ((block) => (block && Number(block.number) <= head ? block : null))(
            await ask(method, params),
          )
        if (method !== 'eth_getLogs') return ask(method, params)
        if (
          params[0].blockHash &&
          Number((await ask('eth_getBlockByHash', [params[0].blockHash, false]))?.number) > head
        )
          throw new Error('unknown block')
        return (await ask(method, params)).filter(
          (log: { blockNumber: string }) => Number(log.blockNumber) <= head,
        )
      },
    }),
}

/** Applies these faults in turn, one per matching call. */
export function inTurn(...several: Fault[]): Fault {
  let count = 0
  return (call) => {
    const faulty = several[count % several.length]!(call)
    if (faulty) count++
    return faulty
  }
}

/** Applies the fault to a random share (0 to 1) of the calls that it matches. */
export function sometimes(share: number, fault: Fault, random: () => number): Fault {
  return (call) => (random() < share ? fault(call) : undefined)
}

// These faults are named functions, because the Set above compares functions: several faulty calls of one
// batch must mangle its response only once.
function cutBatch(answer: any): unknown {
  return Array.isArray(answer) ? answer.slice(0, -1) : answer
}
function reorderBatch(answer: any): unknown {
  return Array.isArray(answer) ? [...answer].reverse() : answer
}
function shiftIds(answer: any): unknown {
  return Array.isArray(answer) ? answer.map(shiftIds) : { ...answer, id: answer.id + 1_000_000 }
}
function halfOf(answer: any): unknown {
  const whole = JSON.stringify(answer)
  return whole.slice(0, whole.length / 2)
}

export const SILENT = new Logger(() => {}, 'test')

/** An Rpc client for these endpoints of the local Base Sepolia, with a timeout that no response exceeds. */
export function testRpc(urls: string[]): Rpc {
  return new Rpc({ chain: CHAINS[0]!, urls, batchSize: 100, timeoutMs: 60_000, log: SILENT })
}
