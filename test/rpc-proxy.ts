import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Logger } from '@subsquid/logger'
import { CHAINS } from '../src/chains'
import { Rpc } from '../src/rpc'

export interface RpcCall {
  id: number
  method: string
  params: any[] // eslint-disable-line @typescript-eslint/no-explicit-any -- JSON
}
/** An answer in place of the node's: a JSON-RPC error, a result, an HTTP status without a body, or undefined to let the node answer. */
export type Fault = (call: RpcCall) => { error: { code: number; message: string } } | { result: unknown } | { status: number } | undefined

export interface RpcProxy {
  readonly url: string
  /** Every call seen, in order. */
  readonly calls: RpcCall[]
  close(): Promise<void>
}

/** A JSON-RPC endpoint in front of a real node that misbehaves as told. */
export async function startRpcProxy(nodeUrl: string, fault: Fault): Promise<RpcProxy> {
  const calls: RpcCall[] = []
  const answer = async (call: RpcCall) => {
    calls.push(call)
    const faulty = fault(call)
    if (faulty) return { jsonrpc: '2.0', id: call.id, ...faulty }
    return (await fetch(nodeUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })).json()
  }
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const parsed = JSON.parse(body) as RpcCall | RpcCall[]
      const answers = Array.isArray(parsed) ? await Promise.all(parsed.map(answer)) : await answer(parsed)
      const status = ([answers].flat() as { status?: number }[]).find((each) => each.status !== undefined)?.status
      if (status !== undefined) return response.writeHead(status).end()
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  }
}

export const SILENT = new Logger(() => {}, 'test')

/** What reads these endpoints of the local Base Sepolia. */
export function testRpc(urls: string[], options: { timeoutMs?: number; batchSize?: number } = {}): Rpc {
  return new Rpc({ chain: CHAINS[0]!, urls, batchSize: 100, timeoutMs: 5_000, log: SILENT, ...options })
}
