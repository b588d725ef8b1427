// oxlint-disable typescript/no-explicit-any -- parameters and results of JSON-RPC differ by method
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

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
  /**
   * Sets the faults; the first that applies to a call is used. Without arguments, the node's responses pass
   * unchanged.
   */
  misbehave(...faults: Fault[]): void
  close(): Promise<void>
}

/** Starts a proxy on a free port. `onCalls` is called with the calls of each HTTP request. */
export async function startRpcProxy(
  nodeUrl: string,
  onCalls: (calls: readonly RpcCall[]) => void = () => {},
): Promise<RpcProxy> {
  let faults: readonly Fault[] = []
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
        onCalls([parsed].flat())
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
