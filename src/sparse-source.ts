import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Logger } from '@subsquid/logger'
import type { RpcClient } from '@subsquid/rpc-client'

/**
 * History by filtered eth_getLogs. evm-processor's own RPC source reads every block with every log (270 blocks/s at
 * 100 ms latency: days for Arbitrum); here only what was asked for crosses the wire. It is a Subsquid gateway in this
 * process: evm-processor 1.27.3 is pointed at it with setGateway and asks it for finalized blocks only.
 *
 * The protocol (internal to that version, pinned by sparse-source.test.ts):
 *   GET  /height         -> last block it can serve, text/plain
 *   GET  /<from>/worker  -> URL to POST the query to, text/plain
 *   POST /query          -> JSON array of blocks in order, always with the last block of the range it covered
 */
export interface SparseSource {
  readonly url: string
  close(): Promise<void>
}

export interface SparseSourceOptions {
  rpc: RpcClient
  /** Blocks below the head that are served: nothing younger ever is. */
  finality: number
  log: Logger
}

interface Query {
  fromBlock: number
  toBlock?: number
  includeAllBlocks?: boolean
  logs?: LogFilter[]
}
interface LogFilter {
  address?: string[]
  topic0?: string[]
  topic1?: string[]
  topic2?: string[]
  topic3?: string[]
}
interface RpcLog {
  address: string
  topics: string[]
  data: string
  blockNumber: string
  blockHash: string
  transactionHash: string
  transactionIndex: string
  logIndex: string
}
interface RpcHeader {
  number: string
  hash: string
  parentHash: string
  timestamp: string
}

/** Blocks asked for at first; doubled while answers are small, halved when a provider refuses. */
const FIRST_RANGE = 2_000
const LARGEST_RANGE = 1_000_000
/** A range that keeps failing is too wide: the client's own patience, which has no end elsewhere, ends here. */
const GET_LOGS_RETRIES = 2
/** A refusal met in a crowded stretch need not hold for ever: after so many good answers more is tried again. */
const ANSWERS_BEFORE_MORE = 32
/** An answer of more logs than this is cut at a block's end, so that a batch stays small in memory. */
const LOGS_PER_ANSWER = 5_000

export async function startSparseSource(options: SparseSourceOptions): Promise<SparseSource> {
  const reader = new RangeReader(options)
  let url = ''
  const server = createServer((request, response) => {
    handle(request, response).catch((error: Error) => {
      // 503 makes the processor ask again; what refuses for ever shows up here at every attempt.
      options.log.warn({ reason: error.message }, 'history could not be read, will be asked again')
      if (!response.headersSent) response.writeHead(503, { 'content-type': 'text/plain' })
      response.end('try again')
    })
  })
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    if (request.method === 'GET' && path === '/height') return reply(response, 'text/plain', String(await reader.height()))
    if (request.method === 'GET' && /^\/\d+\/worker$/.test(path)) return reply(response, 'text/plain', `${url}/query`)
    if (request.method === 'POST' && path === '/query')
      return reply(response, 'application/json', JSON.stringify(await reader.read(JSON.parse(await text(request)) as Query)))
    response.writeHead(404).end()
  }
  await listen(server)
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  }
}

/** Answers queries in ranges as wide as the provider allows. */
class RangeReader {
  private range = FIRST_RANGE
  /** What the provider says it allows, once it has said so. */
  private limit = LARGEST_RANGE
  /** What it has answered lately; never above its limit. */
  private ceiling = LARGEST_RANGE
  private answersSinceRefusal = 0

  constructor(private readonly options: SparseSourceOptions) {}

  async height(): Promise<number> {
    const head = Number(await this.options.rpc.call<string>('eth_blockNumber'))
    return Math.max(0, head - this.options.finality)
  }

  async read(query: Query) {
    const last = Math.min(query.toBlock ?? Infinity, await this.height())
    const from = query.fromBlock
    if (from > last) throw new Error(`block ${from} is not final yet, the last final one is ${last}`)
    if (query.includeAllBlocks) return this.blocks([], rangeOf(from, Math.min(last, from + 99)))

    const { logs, to } = await this.widestLogs(query.logs ?? [], from, last)
    const numbers = new Set(logs.map((log) => Number(log.blockNumber)))
    numbers.add(to)
    return this.blocks(logs, [...numbers].sort((a, b) => a - b))
  }

  /** Logs of a range starting at `from`, as far as one call reaches. */
  private async widestLogs(filters: LogFilter[], from: number, last: number): Promise<{ logs: RpcLog[]; to: number }> {
    for (;;) {
      const to = Math.min(last, from + this.range - 1)
      try {
        const logs = uniqueLogs((await Promise.all(filters.map((filter) => this.logs(filter, from, to)))).flat())
        if (++this.answersSinceRefusal > ANSWERS_BEFORE_MORE) this.ceiling = this.limit
        if (logs.length < LOGS_PER_ANSWER / 2) this.range = Math.min(this.range * 2, this.ceiling)
        return this.cut(logs, to)
      } catch (error) {
        // Providers refuse in many ways: JSON-RPC errors, HTTP 400 or 413, time-outs. Less is tried for all of them.
        if (to === from) throw error
        const asked = to - from + 1
        const reason = (error as Error).message
        const allowed = allowedRange(reason)
        // A limit that is said but was not exceeded was misread: half of what was asked, then.
        const kept = allowed === undefined || allowed >= asked
        if (!kept) this.limit = allowed
        this.range = this.ceiling = kept ? Math.max(1, Math.floor(asked / 2)) : allowed
        this.answersSinceRefusal = 0
        this.options.log.info({ from, to, range: this.range, reason }, 'provider refused the range, asking for less')
      }
    }
  }

  private cut(logs: RpcLog[], to: number): { logs: RpcLog[]; to: number } {
    if (logs.length <= LOGS_PER_ANSWER) return { logs, to }
    this.range = Math.max(1, Math.floor(this.range / 2))
    const cutAt = Number(logs[LOGS_PER_ANSWER]!.blockNumber)
    const kept = logs.filter((log) => Number(log.blockNumber) < cutAt)
    // One block may hold more than the limit by itself: it is never split.
    if (kept.length === 0) return { logs: logs.filter((log) => Number(log.blockNumber) === cutAt), to: cutAt }
    return { logs: kept, to: cutAt - 1 }
  }

  private logs(filter: LogFilter, from: number, to: number): Promise<RpcLog[]> {
    const topics = [filter.topic0, filter.topic1, filter.topic2, filter.topic3].map((list) => (list?.length ? list : null))
    while (topics.length && topics[topics.length - 1] === null) topics.pop()
    return this.options.rpc.call<RpcLog[]>('eth_getLogs', [
      { fromBlock: hexNumber(from), toBlock: hexNumber(to), ...(filter.address?.length ? { address: filter.address } : {}), topics },
    ], { retryAttempts: GET_LOGS_RETRIES })
  }

  private async blocks(logs: RpcLog[], numbers: number[]) {
    const headers = await this.options.rpc.batchCall<RpcHeader | null>(
      numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [hexNumber(number), false] })),
    )
    const byBlock = new Map<number, RpcLog[]>(numbers.map((number) => [number, []]))
    for (const log of logs) byBlock.get(Number(log.blockNumber))!.push(log)
    return numbers.map((number, i) => {
      const header = headers[i]
      if (!header || Number(header.number) !== number) throw new Error(`the node has no block ${number}, though its head is beyond`)
      const own = byBlock.get(number)!
      if (own.some((log) => log.blockHash !== header.hash)) throw new Error(`logs and header of block ${number} are of different forks`)
      return {
        header: { number, hash: header.hash, parentHash: header.parentHash, timestamp: Number(header.timestamp) },
        logs: own.map((log) => ({
          logIndex: Number(log.logIndex),
          transactionIndex: Number(log.transactionIndex),
          address: log.address.toLowerCase(),
          topics: log.topics,
          data: log.data,
          transactionHash: log.transactionHash,
        })),
        transactions: [],
      }
    })
  }
}

/** In chain order, each once: some providers repeat logs. */
function uniqueLogs(logs: RpcLog[]): RpcLog[] {
  const seen = new Map(logs.map((log) => [`${Number(log.blockNumber)}:${Number(log.logIndex)}`, log]))
  return [...seen.values()].sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex))
}

/** The range that a provider says it allows: "limited to a 5 range", "up to a 10K block range", "max 2,000 blocks". */
function allowedRange(message: string): number | undefined {
  const found = /(?:limited to|up to|max(?:imum)?|at most|exceeds?)\D{0,40}?(\d[\d,_]*)\s*(k\b)?\s*(?:block|range)/i.exec(message)
  if (!found) return undefined
  return Number(found[1]!.replace(/[,_]/g, '')) * (found[2] ? 1000 : 1) || undefined
}

function rangeOf(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

function hexNumber(value: number): string {
  return `0x${value.toString(16)}`
}

function reply(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type }).end(body)
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
}
