// oxlint-disable typescript/no-explicit-any -- parameters and results of JSON-RPC differ by method
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** JSON-RPC proxy in front of a local node, which can inject faults. */

export interface RpcCall {
  id: number
  method: string
  params: any[]
}
/** Forwards the call to the node. The faults listed after this one still apply. */
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
 * socket, or changes it. `ask` returns the result of this call. `mangle` maps the whole parsed HTTP response
 * to another one or to raw text. undefined leaves the node's response unchanged.
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
  /** number of calls to which a fault has applied since the faults were set */
  readonly met: number
  /** Sets the faults; the first that applies to a call is used. By default responses pass unchanged. */
  misbehave(...faults: Fault[]): void
  close(): Promise<void>
}

type Mangle = (answer: any) => unknown

/**
 * Response to a call: of the first fault that applies, otherwise of the node. Adds the functions that change
 * the whole HTTP response to `mangles`. `onMet` is called if a fault applies.
 */
async function answerOf(
  nodeUrl: string,
  call: RpcCall,
  faults: readonly Fault[],
  mangles: Mangle[],
  onMet = () => {},
): Promise<Answer> {
  for (const [i, fault] of faults.entries()) {
    const faulty = fault(call)
    if (!faulty) continue
    onMet()
    const next = (other: RpcCall) => answerOf(nodeUrl, other, faults.slice(i + 1), mangles)
    if ('ask' in faulty) return asked(faulty.ask, call, next)
    if (!('mangle' in faulty)) return { jsonrpc: '2.0', id: call.id, ...faulty }
    mangles.push(faulty.mangle)
    return next(call)
  }
  const response = await fetch(nodeUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  })
  return response.json() as Promise<Answer>
}

/** Response of a fault that may ask further: its result, or the refusal that it received. */
async function asked(
  answer: (ask: Ask) => Promise<unknown>,
  call: RpcCall,
  next: (call: RpcCall) => Promise<Answer>,
): Promise<Answer> {
  let refused: Answer | undefined
  const ask: Ask = async (method, params) => {
    const { result, ...other } = await next({ ...call, method, params })
    if (!other.error && !other.status && !other.drop) return result
    refused = other
    throw new Error('refused')
  }
  const envelope = { jsonrpc: '2.0', id: call.id }
  return answer(ask).then(
    (result) => ({ ...envelope, result }),
    (error: Error) => refused ?? { ...envelope, error: { code: -32000, message: error.message } },
  )
}

/** Starts a proxy on a free port. `onCalls` is called with the calls of each HTTP request. */
export async function startRpcProxy(
  nodeUrl: string,
  onCalls: (calls: readonly RpcCall[]) => void = () => {},
): Promise<RpcProxy> {
  let faults: readonly Fault[] = []
  let met = 0
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const parsed = (await json(request)) as RpcCall | RpcCall[]
    onCalls([parsed].flat())
    const mangles: Mangle[] = []
    const answer = (call: RpcCall) => answerOf(nodeUrl, call, faults, mangles, () => void met++)
    const answers = Array.isArray(parsed) ? await Promise.all(parsed.map(answer)) : await answer(parsed)
    const all = [answers].flat()
    if (all.some((each) => each.drop)) return request.socket.destroy()
    const status = all.find((each) => each.status !== undefined)?.status
    if (status !== undefined) return response.writeHead(status).end()
    const mangled = [...new Set(mangles)].reduce<unknown>((whole, mangle) => mangle(whole), answers)
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(typeof mangled === 'string' ? mangled : JSON.stringify(mangled))
  }
  // If it fails, the client or the node closed the connection.
  const server = createServer(
    (request, response) => void respond(request, response).catch(() => request.socket.destroy()),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get met() {
      return met
    },
    misbehave: (...others) => {
      faults = others
      met = 0
    },
    close: async () => {
      // Closes connections repeatedly, because some may still be opening the first time.
      const cut = setInterval(() => server.closeAllConnections(), 50)
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      clearInterval(cut)
    },
  }
}
