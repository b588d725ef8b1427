// SPDX-License-Identifier: MIT
import { LogFault, MAX_ENTRY_BYTES, TILE_WIDTH } from '../../../../src/tlog'

/** Time in milliseconds after which a file that is not complete counts as unreachable. */
const LIMIT_MS = 60_000
/** Number of bytes of the largest file of a log: a bundle of the longest entries, each after its length. */
const MAX_FILE_BYTES = TILE_WIDTH * (2 + MAX_ENTRY_BYTES)

/**
 * Reads a file of a log or a witness over HTTP; undefined if there is none. Throws a ConnectionError, or a
 * LogFault if the file is larger than any file of a log.
 */
export async function download(url: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
  // Node 20 may garbage-collect a signal of AbortSignal.timeout, which then never aborts.
  const ending = new AbortController()
  const stop = () => ending.abort(signal.reason)
  const timer = setTimeout(() => ending.abort(new Error(`not complete after ${LIMIT_MS / 1000} s`)), LIMIT_MS)
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    const response = await fetch(url, {
      signal: ending.signal,
      headers: { 'cache-control': 'no-cache' },
    })
    if (!response.ok) {
      await response.body?.cancel()
      if (response.status === 404) return undefined
      throw new Error(`HTTP ${response.status}`)
    }
    return await contentOf(url, response)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof LogFault) throw error
    const { ConnectionError } = await import('@geospatial-attestation/client')
    throw new ConnectionError(`${url} does not respond: ${(error as Error).message}.`, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

async function contentOf(url: string, { body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the body.
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > MAX_FILE_BYTES) throw new LogFault('format', `${url} has more than ${MAX_FILE_BYTES} bytes.`)
    parts.push(part)
  }
  return Uint8Array.from(Buffer.concat(parts))
}
