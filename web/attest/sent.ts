import { LandingError, LostTransactionError } from '@geospatial-attestation/client'
import { signal } from '@preact/signals'
import { storage, store } from '../storage'

/** Transaction that was sent. It, or a transaction that replaced it, may still be included in a block. */
export interface Sent {
  transactionHash: string
  /** slug of its chain */
  chain: string
}

const KEY = 'attest.sent'

const sent = signal(
  (JSON.parse(storage('sessionStorage')?.getItem(KEY) ?? 'null') as Sent | null) ?? undefined,
)

/** Transaction that is not settled yet. This tab keeps it when the page is left or reloaded. */
export function useSent(): [Sent | undefined, (now: Sent | undefined) => void] {
  const keep = (now: Sent | undefined) => {
    sent.value = now
    store(KEY, now && JSON.stringify(now), 'sessionStorage')
  }
  return [sent.value, keep]
}

/** True if this transaction is still the unsettled transaction of this tab. */
export const isUnsettled = ({ transactionHash }: Sent): boolean =>
  sent.peek()?.transactionHash === transactionHash

/** Returns true if a transaction failed in a block, so that it cannot attest its place any more. */
export const hasFailed = (error: unknown): boolean =>
  error instanceof LandingError && !(error instanceof LostTransactionError)
