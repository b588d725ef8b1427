import type { Eip1193Provider } from '@geospatial-attestation/client'
import { request } from '../service'

/** RPC URLs of nodes on this machine by chain id, requested until known; none if the service is not local. */
export const localNodes = (): Promise<Readonly<Record<number, string>>> => (asked ??= ask())
let asked: Promise<Record<number, string>> | undefined

async function ask(): Promise<Record<number, string>> {
  try {
    const response = await request('local-nodes')
    if (response.ok) return (await response.json()) as Record<number, string>
  } catch {
    // The request failed, or another server responded, such as the login page of a network:
    // the next call asks again.
  }
  asked = undefined
  return {}
}

/** Time limit for a response of a node on this machine, in milliseconds. Usually it responds immediately. */
const TIMEOUT_MS = 30_000

/** Provider of a local node, used as a wallet: the node signs with its first unlocked test account. */
export function testAccount(url: string): Eip1193Provider {
  let id = 0
  const request = async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: ++id, params },
        method: method === 'eth_requestAccounts' ? 'eth_accounts' : method,
      }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { result, error } = (await response.json()) as {
      result?: unknown
      error?: { code: number; message: string; data?: unknown }
    }
    if (error) throw Object.assign(new Error(error.message), error)
    return result
  }
  return { request }
}
