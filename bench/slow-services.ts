import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { LOCAL_SIGNER_KEY } from '../dev/chain'
import { startRpcProxy, type Ask, type RpcCall } from '../dev/rpc-proxy'
import {
  attestDigest,
  domainSeparator,
  keySigner,
  type AttestMessage,
  type AttestTypedData,
} from '../src/eas'
import type { Bench } from './bench'

/** Services of others that respond as late as over a network. */

/** Milliseconds in which the service that holds the key makes a signature: those of a cloud service. */
const SIGNATURE_MS = 40

/** True for calls of smart accounts, which are those of `eth_call` without a `to`. */
export const isAccountCall = ({ method, params }: RpcCall) =>
  method === 'eth_call' && (params[0] as { to?: string }).to === undefined

/**
 * Starts a proxy to the node that responds this number of milliseconds later, to all calls or to some.
 * `onCalls` is called at each HTTP request. Returns its URL.
 */
export async function startSlowNode(
  bench: Bench,
  given: { url: string; ms: number; isSlow?: (call: RpcCall) => boolean; onCalls?: () => void },
): Promise<string> {
  const { url, ms, isSlow = () => true, onCalls } = given
  const proxy = await startRpcProxy(url, onCalls)
  bench.atEnd(() => proxy.close())
  const late = async (ask: Ask, { method, params }: RpcCall): Promise<unknown> => {
    await pause(ms)
    return ask(method, params)
  }
  proxy.misbehave((call) => (isSlow(call) ? { ask: (ask) => late(ask, call) } : undefined))
  return proxy.url
}

/**
 * Starts a service that holds the local signer's key (eth_signTypedData_v4), and responds as late as one in a
 * cloud.
 */
export async function startSigner(bench: Bench): Promise<{ url: string; address: string }> {
  const signer = await keySigner(LOCAL_SIGNER_KEY)
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, params } = (await json(incoming)) as { id: number; params: [string, AttestTypedData] }
    const { domain, message } = params[1]
    const digest = await attestDigest(
      domainSeparator(domain),
      'attester' in message ? 'v2' : 'v1',
      Object.fromEntries(
        Object.entries(message).map(([name, value]) => [
          name,
          /^\d+$/.test(`${value}`) ? BigInt(value) : value,
        ]),
      ) as unknown as AttestMessage,
    )
    const result = await signer.sign(digest)
    await pause(SIGNATURE_MS)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const server = createServer((incoming, response) => void answer(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  bench.atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, address: signer.address }
}
