import { LandingError, LostTransactionError } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { storage } from '../storage'

/** Transaction that was sent. It, or a transaction that replaced it, may still be included in a block. */
export interface Sent {
  transactionHash: string
  /** slug of its chain */
  chain: string
}

const KEY = 'attest.sent'

/** Transaction that is not settled yet. This tab keeps it when the page is left or reloaded. */
export function useSent(): [Sent | undefined, (sent: Sent | undefined) => void] {
  const [sent, setSent] = useState<Sent | undefined>(
    () => (JSON.parse(storage('sessionStorage')?.getItem(KEY) ?? 'null') as Sent | null) ?? undefined,
  )
  const keep = (now: Sent | undefined) => {
    setSent(now)
    if (now) storage('sessionStorage')?.setItem(KEY, JSON.stringify(now))
    else storage('sessionStorage')?.removeItem(KEY)
  }
  return [sent, keep]
}

/** Returns true if a transaction failed in a block, so that it cannot attest its place any more. */
export const hasFailed = (error: unknown): boolean =>
  error instanceof LandingError && !(error instanceof LostTransactionError)
