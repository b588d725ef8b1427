import type { Eip1193Provider } from '@geospatial-attestation/client'
import { addressOf } from '../service'

/** Nodes on this machine by chain id, if the deployment is local; otherwise none. Requested once. */
export const localNodes = (): Promise<Readonly<Record<number, string>>> => (asked ??= ask())
let asked: Promise<Record<number, string>> | undefined

async function ask(): Promise<Record<number, string>> {
  const response = await fetch(addressOf('local-nodes')).catch(() => undefined)
  if (!response?.ok) asked = undefined
  return response?.ok ? ((await response.json()) as Record<number, string>) : {}
}

/** Milliseconds that a node on this machine may take; usually it responds at once. */
const TIMEOUT_MS = 30_000

/** A local node as a wallet: its first unlocked test account signs. */
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
