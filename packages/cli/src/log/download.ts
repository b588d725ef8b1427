// SPDX-License-Identifier: MIT
import { LogFault, MAX_ENTRY_BYTES, TILE_WIDTH } from '../../../../src/tlog'

/** Time in milliseconds after which a file that is not complete counts as unreachable. */
const LIMIT_MS = 60_000
/** Number of bytes of the largest file of a log: a bundle of the longest entries, each after its length. */
const MAX_FILE_BYTES = TILE_WIDTH * (2 + MAX_ENTRY_BYTES)

/**
 * Runs a request with a signal that aborts with `signal`, and after a time. AbortSignal.any is unsuitable:
 * Node 20 garbage-collects a timeout signal that nothing else references, so it never fires.
 */
export async function withLimit<Result>(
  signal: AbortSignal,
  milliseconds: number,
  request: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted()
  const ending = new AbortController()
  const stop = () => ending.abort(signal.reason)
  const late = () => ending.abort(new Error(`not complete after ${milliseconds / 1000} s`))
  const timer = setTimeout(late, milliseconds)
  signal.addEventListener('abort', stop)
  try {
    return await request(ending.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Reads a file of a log or a witness over HTTP; undefined if there is none. Throws a ConnectionError, or a
 * LogFault if the file is larger than any file of a log.
 */
export async function download(url: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    return await withLimit(signal, LIMIT_MS, async (limited) => {
      const headers = { 'cache-control': 'no-cache' }
      const response = await fetch(url, { signal: limited, headers })
      if (response.ok) return contentOf(url, response)
      await response.body?.cancel()
      if (response.status === 404) return undefined
      throw new Error(`HTTP ${response.status}`)
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof LogFault) throw error
    const { ConnectionError } = await import('@geospatial-attestation/client')
    throw new ConnectionError(`${url} does not respond: ${(error as Error).message}.`, { cause: error })
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
