import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Logger } from '@subsquid/logger'
import type { Rpc, RpcCall } from '../rpc'
import type { Doubt } from './doubt'
import type { HeadReader } from './head'
import { HistoryReader } from './history'
import type { BlockLogs, LogSelection } from './logs'

/**
 * The source that evm-processor 1.27.3 reads a chain from, as an HTTP server in this process: a Subsquid
 * gateway for history and a JSON-RPC endpoint for the head. The processor's own RPC source reads every block
 * with every log (270 blocks/s at 100 ms latency, which is days for Arbitrum), knows one endpoint only,
 * writes its URL into logs, and ends on answers that this one asks for again.
 *
 * The gateway's protocol is internal to that version and pinned by source.service.test.ts:
 * - GET /height: the last block that can be served, text/plain
 * - GET /<from>/worker: the URL to POST the query to, text/plain
 * - POST /query: a JSON array of blocks in order, always with the last block of the range that was covered
 *
 * The JSON-RPC endpoint is POST /rpc.
 */
export interface Source {
  readonly gatewayUrl: string
  readonly rpcUrl: string
  /** From now on every request gets status 410, which the processor does not retry: it ends. */
  end(): void
  close(): Promise<void>
}

export interface SourceOptions {
  rpc: Rpc
  head: HeadReader
  doubt: Doubt
  /** The logs that are served, of those that the processor asks for. */
  selection: LogSelection
  finality: number
  log: Logger
  /** Called with blocks of history before the processor gets them. */
  onHistory?: (blocks: readonly BlockLogs[]) => void
}

type RpcRequest = RpcCall & { id: unknown }

interface Query {
  fromBlock: number
  toBlock?: number
  includeAllBlocks?: boolean
}

export async function startSource({
  rpc,
  head,
  doubt,
  selection,
  finality,
  log,
  onHistory,
}: SourceOptions): Promise<Source> {
  const history = new HistoryReader(rpc, { selection, finality, log, doubt })
  let url = ''
  let hasEnded = false
  const server = createServer((request, response) => {
    handle(request, response).catch((error: Error) => {
      if (hasEnded) return void response.writeHead(410).end()
      // 503 makes the processor ask again. A permanent refusal is logged at every attempt.
      log.warn({ reason: error.message.slice(0, 300) }, 'the chain could not be read and will be read again')
      if (!response.headersSent) response.writeHead(503, { 'content-type': 'text/plain' })
      response.end('try again')
    })
  })
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    if (hasEnded) return void response.writeHead(410).end()
    if (request.method === 'GET' && path === '/height')
      return reply(response, 'text/plain', String(await history.height()))
    if (request.method === 'GET' && /^\/\d+\/worker$/.test(path))
      return reply(response, 'text/plain', `${url}/query`)
    if (request.method === 'POST' && path === '/query')
      return reply(
        response,
        'application/json',
        JSON.stringify(await blocks(JSON.parse(await text(request)) as Query)),
      )
    if (request.method === 'POST' && path === '/rpc')
      return reply(
        response,
        'application/json',
        JSON.stringify(await answers(JSON.parse(await text(request)) as RpcRequest | RpcRequest[])),
      )
    response.writeHead(404).end()
  }

  async function blocks({ fromBlock, toBlock, includeAllBlocks }: Query) {
    // The processor asks this way only for the hash of a single block.
    if (includeAllBlocks) return [gatewayBlock(await history.blockWithoutLogs(fromBlock))]
    const answer = await history.read(fromBlock, toBlock)
    onHistory?.(answer.blocks)
    return answer.blocks.map(gatewayBlock)
  }

  async function answers(request: RpcRequest | RpcRequest[]) {
    const calls = Array.isArray(request) ? request : [request]
    const results = await head.answer(calls)
    const answered = calls.map(({ id }, i) => ({ jsonrpc: '2.0', id, result: results[i] ?? null }))
    return Array.isArray(request) ? answered : answered[0]
  }

  await listen(server)
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    gatewayUrl: url,
    rpcUrl: `${url}/rpc`,
    end: () => void (hasEnded = true),
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  }
}

function gatewayBlock({ header, logs }: BlockLogs) {
  return {
    header: {
      number: Number(header.number),
      hash: header.hash,
      parentHash: header.parentHash,
      timestamp: Number(header.timestamp),
    },
    logs: logs.map((log) => ({
      logIndex: Number(log.logIndex),
      transactionIndex: Number(log.transactionIndex),
      address: log.address.toLowerCase(),
      topics: log.topics,
      data: log.data,
      transactionHash: log.transactionHash,
    })),
    transactions: [],
  }
}

function reply(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type }).end(body)
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
}
