import { RLP } from '@ethereumjs/rlp'
import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { keccak256 as keccakOfHex } from 'ethers/crypto'
import { getBytes, hexlify, toBeArray, toBeHex, zeroPadValue } from 'ethers/utils'
import type { Clock } from '../src/clock'
import { keccak256 } from '../src/eas'
import type { RpcLog } from '../src/chain'
import type { FullHeader, LogFilter, LogSelection } from '../src/chain/logs'
import { receiptsRoot, type RpcReceipt } from '../src/chain/receipts'

/**
 * A simulated world for code that reads chains: virtual time, a tree of blocks of which one branch is the
 * chain, and endpoints that lag, stop, lie or fail. Headers, bloom filters and receipts hash as on a real
 * chain.
 */

/** Time that passes only when the simulation has nothing else to do. */
export class VirtualClock implements Clock {
  private time = 0
  private timers: { at: number; go: () => void }[] = []

  now(): number {
    return this.time
  }

  pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = { at: this.time + Math.max(0, milliseconds), go: resolve }
      const stop = () => {
        this.timers = this.timers.filter((each) => each !== timer)
        reject(signal!.reason as Error)
      }
      if (signal?.aborted) return stop()
      signal?.addEventListener('abort', stop, { once: true })
      timer.go = () => (signal?.removeEventListener('abort', stop), resolve())
      this.timers.push(timer)
    })
  }

  /** Lets this much time pass. Calls `check` whenever no work is pending. */
  async pass(milliseconds: number, check: () => void): Promise<void> {
    const until = this.time + milliseconds
    for (;;) {
      await new Promise(setImmediate)
      check()
      const next = this.timers.reduce<{ at: number } | undefined>(
        (a, b) => (a && a.at <= b.at ? a : b),
        undefined,
      )
      if (!next || next.at > until) break
      this.time = next.at
      const due = this.timers.filter(({ at }) => at === next.at)
      this.timers = this.timers.filter(({ at }) => at !== next.at)
      for (const { go } of due) go()
    }
    this.time = until
  }
}

/** A block, its receipts, and its events: 0 or more logs, each in its own transaction. */
export interface SimulatedBlock {
  readonly header: FullHeader
  readonly height: number
  readonly parent: SimulatedBlock | undefined
  readonly logs: readonly RpcLog[]
  readonly receipts: readonly RpcReceipt[]
}

const ZERO = `0x${'0'.repeat(64)}`
const NO_BLOOM = `0x${'0'.repeat(512)}`
const QUANTITIES = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp']
const FIELDS = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...[...QUANTITIES, 'extraData', 'mixHash', 'nonce'],
]

/** A tree of blocks. `head` is the last block of the chain. Others are on forks that it has left. */
export class SimulatedChain {
  readonly blocks = new Map<string, SimulatedBlock>()
  head: SimulatedBlock | undefined

  /** @param salt makes the blocks differ from those of a chain with another salt */
  constructor(
    private readonly address: string,
    private salt = 0,
  ) {}

  /** Appends a block whose logs have these topics. `timestamp` in Unix seconds. */
  async mine(timestamp: number, topics: readonly string[][]): Promise<SimulatedBlock> {
    const parent = this.head
    const height = parent ? parent.height + 1 : 0
    const places = topics.flatMap((each) => [this.address, ...each])
    const logsBloom = bloomOf(places)
    const salt = toBeHex(++this.salt, 32)
    const transactions = topics.map((_, i) => keccakOfHex(`${salt}${toBeHex(i, 4).slice(2)}`))
    const number = quantity(height)
    const logs = topics.map((each, i) => ({
      ...{ address: this.address, topics: each, data: salt, blockNumber: number, blockHash: '' },
      ...{ transactionHash: transactions[i]!, transactionIndex: quantity(i), logIndex: quantity(i) },
    }))
    const receipts = logs.map((log, i) => ({
      ...{ type: '0x2', status: '0x1', cumulativeGasUsed: quantity(21_000 * (i + 1)) },
      ...{ logsBloom: bloomOf([this.address, ...log.topics]), logs: [log] },
      ...{ blockHash: '', transactionHash: log.transactionHash },
    }))
    const header: FullHeader = {
      ...{ parentHash: parent?.header.hash ?? ZERO, sha3Uncles: ZERO, miner: `0x${'0'.repeat(40)}` },
      ...{ stateRoot: salt, transactionsRoot: ZERO, receiptsRoot: await receiptsRoot(receipts), logsBloom },
      ...{ difficulty: '0x0', number, gasLimit: '0x1c9c380', gasUsed: '0x0', timestamp: quantity(timestamp) },
      ...{ extraData: '0x', mixHash: ZERO, nonce: '0x0000000000000000', transactions, hash: '' },
    }
    const fields = FIELDS.map((name) => {
      const value = header[name] as string
      return QUANTITIES.includes(name) ? toBeArray(BigInt(value)) : getBytes(value)
    })
    header.hash = `0x${await keccak256(RLP.encode(fields))}`
    for (const log of logs) log.blockHash = header.hash
    for (const receipt of receipts) receipt.blockHash = header.hash
    const block = { header, height, parent, logs, receipts }
    this.blocks.set(header.hash, block)
    return (this.head = block)
  }

  /** Returns a chain that continues from these blocks. */
  copy(): SimulatedChain {
    const copy = new SimulatedChain(this.address, this.salt)
    for (const [hash, block] of this.blocks) copy.blocks.set(hash, block)
    copy.head = this.head
    return copy
  }

  /** Reverts the last blocks. */
  revert(count: number): void {
    for (let i = 0; i < count; i++) this.head = this.head?.parent
  }
}

/** Block of this height on the branch that ends with `head`. */
export function ancestor(head: SimulatedBlock | undefined, height: number): SimulatedBlock | undefined {
  let block = head
  while (block && block.height > height) block = block.parent
  return block?.height === height ? block : undefined
}

/** Behaviour of an endpoint: its head is `lag` blocks behind the chain's, or stays at a block. */
export interface Behaviour {
  lag: number
  frozenAt: SimulatedBlock | undefined
  /** head that it reports as the latest block, although it has later blocks by number and hash */
  cachedAt: SimulatedBlock | undefined
  /** maximum number of further blocks by which each node behind the endpoint lags, in turn */
  spread: number
  isDown: boolean
  /** number of blocks by which the block that it returns for a number is older */
  staleBy: number
  /** omits the last log from receipts, and from eth_getLogs for a single block */
  omitsLogs: boolean
  /** truncates the data of logs, and returns no receipts, which would disprove it */
  cutsLogs: boolean
  /** changes a field of receipts whose last log it omits, also from eth_getLogs of one block */
  spoils: ReceiptField | undefined
  /** returns null instead of headers by number and by hash */
  hidesHeaders: boolean
  /** chain id that it reports instead of the chain's */
  otherId: number | undefined
  /** endpoint that responds to this method instead, as behind one URL of several providers */
  mixed: { method: string; endpoint: SimulatedEndpoint } | undefined
  /** share of requests that fail */
  fails: number
}

/** False values of fields of receipts, by field. */
const SPOILT = {
  status: '0x0',
  type: '0x7d',
  cumulativeGasUsed: '0x1',
  logsBloom: NO_BLOOM,
} as const
type ReceiptField = keyof typeof SPOILT
export const RECEIPT_FIELDS = Object.keys(SPOILT) as ReceiptField[]

export const WELL: Behaviour = {
  ...{ lag: 0, frozenAt: undefined, cachedAt: undefined, spread: 0 },
  ...{ isDown: false, staleBy: 0, omitsLogs: false, cutsLogs: false },
  ...{ spoils: undefined, hidesHeaders: false, otherId: undefined },
  ...{ mixed: undefined, fails: 0 },
}

/** A JSON-RPC endpoint of a simulated chain. Each request takes some time. */
export class SimulatedEndpoint {
  readonly behaviour: Behaviour = { ...WELL }
  /** heads that it has shown, with the time */
  readonly shown: { at: number; head: SimulatedBlock }[] = []
  /** number of blocks by which the node of the current request lags behind the others */
  private nodeLag = 0

  constructor(
    public chain: SimulatedChain,
    private readonly chainId: number,
    private readonly clock: Clock,
    private readonly latencyMs: () => number,
    /** maximum number of blocks of one eth_getLogs, which a provider may change */
    public longestRange: number,
  ) {}

  /** client that an Rpc uses instead of one over HTTP */
  get client(): RpcClient {
    const reach = async () => {
      await this.clock.pause(this.latencyMs())
      this.nodeLag = this.behaviour.spread && (this.latencyMs() * 7) % (this.behaviour.spread + 1)
    }
    const call = async (method: string, params: unknown[] = []) => {
      await reach()
      return this.answer(method, params)
    }
    const batchCall = async (calls: { method: string; params?: unknown[] }[]) => {
      await reach()
      return calls.map(({ method, params }) => this.answer(method, params ?? []))
    }
    return { call, batchCall, close: () => {} } as unknown as RpcClient
  }

  /** last block that the node has */
  get head(): SimulatedBlock {
    const { frozenAt, lag } = this.behaviour
    const head = frozenAt ?? this.chain.head!
    return ancestor(head, Math.max(0, head.height - lag - this.nodeLag))!
  }

  private answer(method: string, params: readonly unknown[]): unknown {
    const { isDown, fails, mixed } = this.behaviour
    if (mixed?.method === method) {
      const answer = mixed.endpoint.answer(method, params)
      this.shown.push(...mixed.endpoint.shown.splice(0))
      return answer
    }
    if (isDown || (this.latencyMs() % 100) / 100 < fails) throw new Error('connection refused')
    if (method === 'eth_chainId') return quantity(this.behaviour.otherId ?? this.chainId)
    const isLatest = method === 'eth_blockNumber' || params[0] === 'latest'
    const head = (isLatest && this.behaviour.cachedAt) || this.head
    this.shown.push({ at: this.clock.now(), head })
    if (method === 'eth_blockNumber') return quantity(head.height)
    if (isLatest) return head.header
    if (this.behaviour.hidesHeaders && /^eth_getBlockBy/.test(method)) return null
    const numbered = () => ancestor(head, Number(params[0]) - this.behaviour.staleBy)
    if (method === 'eth_getBlockByNumber') return numbered()?.header ?? null
    if (method === 'eth_getBlockByHash') return this.block(params[0])?.header ?? null
    if (method === 'eth_getBlockReceipts') {
      if (this.behaviour.cutsLogs) throw new RpcError({ code: -32601, message: 'method not found' })
      const receipts = numbered()?.receipts ?? null
      const { omitsLogs, spoils } = this.behaviour
      const spoilt = spoils && { [spoils]: SPOILT[spoils] }
      return receipts && (omitsLogs || spoils)
        ? receipts.map((receipt, i) =>
            i === receipts.length - 1 ? { ...receipt, logs: [], ...spoilt } : receipt,
          )
        : receipts
    }
    if (method === 'eth_getLogs') {
      const logs = this.logs(params[0] as LogQuery)
      return this.behaviour.cutsLogs ? logs.map((log) => ({ ...log, data: '0x' })) : logs
    }
    throw new Error(`${method} is not simulated`)
  }

  /** Returns a block by its hash, on any fork. A node has no block above its head. */
  private block(hash: unknown): SimulatedBlock | undefined {
    const block = this.chain.blocks.get(hash as string)
    return block && block.height <= this.head.height ? block : undefined
  }

  private logs({ blockHash, fromBlock, toBlock, topics }: LogQuery): RpcLog[] {
    const isWanted = (log: RpcLog) =>
      (topics ?? []).every((wanted, i) => !wanted || wanted.includes(log.topics[i]!))
    if (blockHash !== undefined) {
      const logs = this.block(blockHash)?.logs ?? []
      const { omitsLogs, spoils } = this.behaviour
      return logs.filter(isWanted).slice(0, omitsLogs || spoils ? -1 : undefined)
    }
    if (Number(toBlock) - Number(fromBlock) >= this.longestRange)
      throw new RpcError({ code: -32005, message: `limited to a ${this.longestRange} range` })
    const found: RpcLog[] = []
    for (let block: SimulatedBlock | undefined = this.head; block; block = block.parent)
      if (block.height >= Number(fromBlock) && block.height <= Number(toBlock)) found.unshift(...block.logs)
    return found.filter(isWanted)
  }
}

interface LogQuery {
  blockHash?: string
  fromBlock?: string
  toBlock?: string
  topics?: (string[] | null)[]
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`
}

const blooms = new Map<string, string>()
/** A bloom filter with the bits of these values (Yellow Paper, 4.3.1). */
function bloomOf(values: readonly string[]): string {
  const known = blooms.get(values.join())
  if (known !== undefined) return known
  const bloom = new Uint8Array(256)
  for (const value of values) {
    const hash = getBytes(keccakOfHex(value))
    for (const i of [0, 2, 4]) {
      const bit = ((hash[i]! << 8) | hash[i + 1]!) & 2047
      bloom[255 - (bit >> 3)]! |= 1 << (bit & 7)
    }
  }
  blooms.set(values.join(), hexlify(bloom))
  return hexlify(bloom)
}

/** A topic that encodes a number. */
export function topic(value: number): string {
  return zeroPadValue(toBeHex(value), 32)
}

/** Returns a selection whose filters never change. */
export function fixedSelection(filters: readonly LogFilter[]): LogSelection {
  return { filters, version: 0, learn: () => Promise.resolve(0) }
}
