import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Logger } from '@subsquid/logger'
import { AbiCoder } from 'ethers'
import * as eas from '../src/abi/EAS'
import * as multicall from '../src/abi/Multicall3'
import { CHAINS } from '../src/chains'
import { Rpc } from '../src/rpc'

/* eslint-disable @typescript-eslint/no-explicit-any -- JSON */
export interface RpcCall {
  id: number
  method: string
  params: any[]
}
/** Asks the node, through the faults that come after this one. */
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
 * An answer in place of the node's: a JSON-RPC error, a result, an HTTP status without a body, a socket dropped; what is made
 * of the node's own answer (`ask`: one call's result, `mangle`: the whole HTTP answer, parsed, or a text to send in its place);
 * or undefined to let the node answer.
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
  /** Every call seen, in order. */
  readonly calls: RpcCall[]
  /** How many calls the faults have met since they were set. */
  readonly met: number
  /** From now on it misbehaves in these ways, the first one that concerns a call first; in none: as the node does. */
  misbehave(...faults: Fault[]): void
  close(): Promise<void>
}

/** A JSON-RPC endpoint in front of a real node that misbehaves as told. */
export async function startRpcProxy(nodeUrl: string, ...initial: Fault[]): Promise<RpcProxy> {
  const calls: RpcCall[] = []
  let faults: readonly Fault[] = initial
  let met = 0
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
      // Whoever asked went away, or the node did.
      .catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get met() {
      return met
    },
    misbehave: (...others) => {
      faults = others
      met = 0
    },
    close: async () => {
      // Again and again: one may have been on its way in.
      const cut = setInterval(() => server.closeAllConnections(), 50)
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      clearInterval(cut)
    },
  }
}

const MULTICALL_RESULTS = ['tuple(bool success, bytes returnData)[]']
/** What getAttestation answers for a UID it does not know. */
export const UNKNOWN = `0x${'20'.padStart(64, '0')}${'0'.repeat(64 * 9)}${'140'.padStart(64, '0')}${'0'.repeat(64)}`
const coder = AbiCoder.defaultAbiCoder()

/** The result of calls of one method, made into another; null stays null. */
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
/** What Multicall3 answers for several bodies. */
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
/** The log, and one that says that what it attests was revoked. */
const withForged = (log: any) => [
  log,
  {
    ...log,
    topics: [eas.events.Revoked.topic, ...log.topics.slice(1)],
    logIndex: `0x${(Number(log.logIndex) + 500).toString(16)}`,
  },
]
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The ways in which nodes misbehave (TRUST.md 6), each by itself. */
export const faults = {
  // Lies about logs that nothing in the answer gives away.
  logsCutByOne: logs((list) => list.slice(0, -1)),
  logsEmpty: logs(() => []),
  /** Leaves one kind of event out. */
  logsWithout: (topic0: string) => logs((list) => list.filter((log) => log.topics[0] !== topic0)),
  /** Receipts that lack the last log of each block, or all of its last transaction's; eth_getLogs does as well. */
  logsCutEverywhere: ((call) =>
    receipts((list) =>
      list.map((receipt, i) =>
        i === list.length - 1 ? { ...receipt, logs: receipt.logs.slice(0, -1) } : receipt,
      ),
    )(call) ?? logs((list) => list.slice(0, -1))(call)) as Fault,
  /** Each log a second time, as another event of the same block: in receipts and in eth_getLogs. */
  logsForged: ((call) =>
    receipts((list) => list.map((receipt) => ({ ...receipt, logs: receipt.logs.flatMap(withForged) })))(
      call,
    ) ?? logs((list) => list.flatMap(withForged))(call)) as Fault,
  // Nonsense about logs.
  logsTwice: logs((list) => [...list, ...list].reverse()),
  logsRemoved: logs((list) => list.map((log) => ({ ...log, removed: true }))),
  logsOfAnotherFork: logs((list) => list.map((log) => ({ ...log, blockHash: `0x${'1'.repeat(64)}` }))),
  // Blocks, bodies.
  blocksNull: ((call) => (/^eth_getBlockBy/.test(call.method) ? { result: null } : undefined)) as Fault,
  /** Any of the last blocks in place of the one that was asked for, be it by number, by hash or as the latest. */
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
  /** Headers whose bloom filter says that there are no logs. */
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
  // Refusals.
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
  // Connections and JSON-RPC itself.
  dropped: (() => ({ drop: true })) as Fault,
  hanging: (() => ({ ask: () => new Promise(() => {}) })) as Fault,
  slow:
    (ms: number): Fault =>
    ({ method, params }) => ({ ask: async (ask) => (await pause(ms), ask(method, params)) }),
  batchCut: (() => ({ mangle: cutBatch })) as Fault,
  batchReordered: (() => ({ mangle: reorderBatch })) as Fault,
  wrongIds: (() => ({ mangle: shiftIds })) as Fault,
  invalidJson: (() => ({ mangle: halfOf })) as Fault,
  // Another chain, or not all of this one.
  anotherChain: (({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined)) as Fault,
  /** A replica that has not got the last blocks yet, nor their state. */
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

/** The fault at every nth call that it concerns. */
export function everyNth(n: number, fault: Fault): Fault {
  let count = 0
  return (call) => {
    const faulty = fault(call)
    return faulty && ++count % n === 0 ? faulty : undefined
  }
}

/** Faults that concern the same calls, one after the other. */
export function inTurn(...several: Fault[]): Fault {
  let count = 0
  return (call) => {
    const faulty = several[count % several.length]!(call)
    if (faulty) count++
    return faulty
  }
}

/** The fault at a share of the calls that it concerns. */
export function sometimes(share: number, fault: Fault, random: () => number): Fault {
  return (call) => (random() < share ? fault(call) : undefined)
}

// Named, so that one fault mangles an answer once, however many calls of it were met.
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
/* eslint-enable @typescript-eslint/no-explicit-any */

export const SILENT = new Logger(() => {}, 'test')

/** What reads these endpoints of the local Base Sepolia. */
export function testRpc(urls: string[], options: { timeoutMs?: number; batchSize?: number } = {}): Rpc {
  return new Rpc({ chain: CHAINS[0]!, urls, batchSize: 100, timeoutMs: 5_000, log: SILENT, ...options })
}
