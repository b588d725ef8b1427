/** Code of JSON-RPC's internal error. */
const INTERNAL = -32603

/**
 * Returns the code of a wallet's error, which wallets place differently; undefined if there is none. The
 * mobile MetaMask wraps the error of a chain that it does not know in an internal error (code -32603).
 */
export function codeOf(error: unknown): number | undefined {
  const { code, data, cause } = (error ?? {}) as {
    code?: unknown
    data?: { originalError?: unknown }
    cause?: unknown
  }
  const inner = data?.originalError ?? cause
  const original = inner === undefined || inner === null ? undefined : codeOf(inner)
  return typeof code === 'number' && (code !== INTERNAL || original === undefined) ? code : original
}

/** First line of the message of a wallet's error. Wallets also send messages that are not text. */
export function messageOf(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: unknown; message?: unknown }
  const text = [shortMessage, message].find((each) => typeof each === 'string')
  return text?.split('\n')[0] || String(error)
}
