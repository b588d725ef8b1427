import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Logger } from '@subsquid/logger'
import { AbiCoder } from 'ethers'
import * as eas from '../src/abi/EAS'
import * as multicall from '../src/abi/Multicall3'
import { CHAINS } from '../src/chains'
import { Rpc } from '../src/rpc'

export interface RpcCall {
  id: number
  method: string
  params: any[]
}
/** Calls the node. The faults listed after this one still apply. */
export type Ask = (method: string, params: any[]) => Promise<any>
type Answer = {
  jsonrpc: string
  id: number
  result?: unknown
  error?: { code: number; message: string }
  status?: number
  drop?: true
}
/**
 * Replaces the node's response by a JSON-RPC error, a result, an HTTP status without a body or a dropped
 * socket; or changes it: `ask` returns the result of this call, `mangle` maps the whole parsed HTTP response
 * to another one or to raw text. undefined passes the node's response on.
 */
export type Fault = (
  call: RpcCall,
) =>
  | { error: { code: number; message: string } }
  | { result: unknown }
  | { status: number }
  | { drop: true }
  | { ask: (ask: Ask) => Promise<unknown> }
  | { mangle: (answer: any) => unknown }
  | undefined

export interface RpcProxy {
  readonly url: string
  /** every call received, in order */
  readonly calls: RpcCall[]
  /** number of HTTP requests received */
  readonly requests: number
  /** number of calls that a fault applied to, since the faults were set */
  readonly met: number
  /**
   * Sets the faults; the first that applies to a call is used. Without arguments, the node's responses pass
   * unchanged.
   */
  misbehave(...faults: Fault[]): void
  close(): Promise<void>
}

/** A JSON-RPC proxy in front of a real node that injects faults. */
export async function startRpcProxy(nodeUrl: string, ...initial: Fault[]): Promise<RpcProxy> {
  const calls: RpcCall[] = []
  let faults: readonly Fault[] = initial
  let met = 0
  let requests = 0
  const answer = async (
    call: RpcCall,
    left: readonly Fault[],
    mangles: ((answer: any) => unknown)[],
  ): Promise<Answer> => {
    for (const [i, fault] of left.entries()) {
      const faulty = fault(call)
      if (!faulty) continue
      if (left === faults) met++
      const rest = left.slice(i + 1)
      if ('mangle' in faulty) {
        mangles.push(faulty.mangle)
        return answer(call, rest, mangles)
      }
      if (!('ask' in faulty)) return { jsonrpc: '2.0', id: call.id, ...faulty }
      let refused: Answer | undefined
      const ask: Ask = async (method, params) => {
        const { result, ...other } = await answer({ ...call, method, params }, rest, mangles)
        if (!other.error && !other.status && !other.drop) return result
        refused = other
        throw new Error('refused')
      }
      return faulty.ask(ask).then(
        (result) => ({ jsonrpc: '2.0', id: call.id, result }),
        (error: Error) =>
          refused ?? { jsonrpc: '2.0', id: call.id, error: { code: -32000, message: error.message } },
      )
    }
    return (
      await fetch(nodeUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(call),
      })
    ).json() as Promise<Answer>
  }
  const server = createServer((request, response) => {
    void text(request)
      .then(async (body) => {
        const parsed = JSON.parse(body) as RpcCall | RpcCall[]
        calls.push(...[parsed].flat())
        requests++
        const mangles: ((answer: any) => unknown)[] = []
        const answers = Array.isArray(parsed)
          ? await Promise.all(parsed.map((call) => answer(call, faults, mangles)))
          : await answer(parsed, faults, mangles)
        const all = [answers].flat()
        if (all.some((each) => each.drop)) return request.socket.destroy()
        const status = all.find((each) => each.status !== undefined)?.status
        if (status !== undefined) return response.writeHead(status).end()
        const mangled = [...new Set(mangles)].reduce<unknown>((whole, mangle) => mangle(whole), answers)
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(typeof mangled === 'string' ? mangled : JSON.stringify(mangled))
      })
      // The client or the node closed the connection.
      .catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get requests() {
      return requests
    },
    get met() {
      return met
    },
    misbehave: (...others) => {
      faults = others
      met = 0
    },
    close: async () => {
      // Repeated, because a connection may still be arriving.
      const cut = setInterval(() => server.closeAllConnections(), 50)
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      clearInterval(cut)
    },
  }
}

const MULTICALL_RESULTS = ['tuple(bool success, bytes returnData)[]']
/** Result of getAttestation for an unknown UID: an empty attestation. */
export const UNKNOWN = `0x${'20'.padStart(64, '0')}${'0'.repeat(64 * 9)}${'140'.padStart(64, '0')}${'0'.repeat(64)}`
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
  // Incorrect logs that look valid.
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
  // Malformed lists of logs.
  logsTwice: logs((list) => [...list, ...list].reverse()),
  logsRemoved: logs((list) => list.map((log) => ({ ...log, removed: true }))),
  logsOfAnotherFork: logs((list) => list.map((log) => ({ ...log, blockHash: `0x${'1'.repeat(64)}` }))),
  // Incorrect blocks and attestations.
  blocksNull: ((call) => (/^eth_getBlockBy/.test(call.method) ? { result: null } : undefined)) as Fault,
  /** Returns one of the last 90 blocks instead of the requested one (by number, by hash or latest). */
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
  /** Headers with a bloom filter for no logs. */
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
  // Errors that the endpoint returns.
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
  // Broken connections and broken JSON-RPC.
  dropped: (() => ({ drop: true })) as Fault,
  hanging: (() => ({ ask: () => new Promise(() => {}) })) as Fault,
  slow:
    (ms: number): Fault =>
    ({ method, params }) => ({ ask: async (ask) => (await pause(ms), ask(method, params)) }),
  batchCut: (() => ({ mangle: cutBatch })) as Fault,
  batchReordered: (() => ({ mangle: reorderBatch })) as Fault,
  wrongIds: (() => ({ mangle: shiftIds })) as Fault,
  invalidJson: (() => ({ mangle: halfOf })) as Fault,
  // Another chain, or a node that lags.
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
          // anvil forgets the code of old states after some reorgs.
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

/** Applies the fault to every nth call that it matches. */
export function everyNth(n: number, fault: Fault): Fault {
  let count = 0
  return (call) => {
    const faulty = fault(call)
    return faulty && ++count % n === 0 ? faulty : undefined
  }
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

// Named functions, so that several faulty calls of one batch mangle its response only once (the Set above
// compares them).
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
