// SPDX-License-Identifier: MIT
import { RECORDS_ERRORS } from '../../../../src/errors'
import { LogFault, MAX_ENTRY_BYTES, TILE_WIDTH } from '../../../../src/tlog'

/** Time in milliseconds after which a response that is not complete counts as unreachable. */
const LIMIT_MS = 60_000

/** Maximum number of bytes of files and responses. */
export const MAX_BYTES = {
  /** a bundle of the longest entries, each after its length */
  bundle: TILE_WIDTH * (2 + MAX_ENTRY_BYTES),
  /** a full tile of SHA-256 hashes */
  hashes: TILE_WIDTH * 32,
  /** a checkpoint with some hundred cosignatures, a description of a log, or a proof */
  text: 131_072,
  /** quorums of all chains, with epochs of up to 255 operators */
  quorums: 1_000_000,
} as const

/** Returns the maximum number of bytes of a file of a log. */
export function maximumOf(path: string): number {
  if (path.startsWith('tile/entries/')) return MAX_BYTES.bundle
  return path.startsWith('tile/') ? MAX_BYTES.hashes : MAX_BYTES.text
}

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

/** Sends a GET request, and reads its response. Throws a ConnectionError, or a LogFault of the reader. */
export async function request<Result>(
  url: string,
  signal: AbortSignal,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  try {
    return await withLimit(signal, LIMIT_MS, async (limited) => {
      const headers = { 'cache-control': 'no-cache' }
      return read(await fetch(url, { signal: limited, headers }))
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof LogFault) throw error
    const { ConnectionError, messageOf } = await import('@geospatial-attestation/client')
    const reason = messageOf((error as Error).cause ?? error)
    throw new ConnectionError(`Could not read ${url}: ${reason}. Check that the service is running.`, {
      cause: error,
    })
  }
}

/** True if a response shows that there is no file. */
type IsAbsence = (response: Response) => boolean | Promise<boolean>

/** True for a 404 of the service itself. That of a reverse proxy does not show what the service has. */
const isOwnAbsence: IsAbsence = async (response) => {
  if (response.status !== 404) return false
  const content = await contentOf(response, MAX_BYTES.text)
  try {
    const { message } = JSON.parse(new TextDecoder().decode(content)) as { message?: unknown }
    return message === RECORDS_ERRORS['not-found'].message
  } catch {
    return false
  }
}

/** Reads a file; undefined if there is none. Throws a ConnectionError, or a LogFault if it is too long. */
export async function download(
  url: string,
  signal: AbortSignal,
  maximum: number,
  isAbsence: IsAbsence = isOwnAbsence,
): Promise<Uint8Array | undefined> {
  const tooLong = new LogFault('format', `${url} has more than ${maximum} bytes.`)
  return request(url, signal, (response) => fileOf(response, maximum, tooLong, isAbsence))
}

/** Reads a JSON document of the service; undefined if there is none. Throws a ConnectionError. */
export async function downloadJson(url: string, signal: AbortSignal, maximum: number): Promise<unknown> {
  const tooLong = new Error(`more than ${maximum} bytes`)
  return request(url, signal, async (response) => {
    const file = await fileOf(response, maximum, tooLong, isOwnAbsence)
    return file && (JSON.parse(new TextDecoder().decode(file)) as unknown)
  })
}

async function fileOf(
  response: Response,
  maximum: number,
  tooLong: Error,
  isAbsence: IsAbsence,
): Promise<Uint8Array | undefined> {
  // No file is a page: a reverse proxy may respond with one.
  const isPage = response.headers.get('content-type')?.includes('text/html')
  if (response.ok && !isPage) {
    const content = await contentOf(response, maximum)
    if (content) return content
    throw tooLong
  }
  const isAbsent = await isAbsence(response)
  if (!response.bodyUsed) await response.body?.cancel()
  if (isAbsent) return undefined
  throw new Error(isPage ? `HTTP ${response.status} with a page` : `HTTP ${response.status}`)
}

/** Reads the body of a response; undefined if it has more than `maximum` bytes. */
export async function contentOf({ body }: Response, maximum: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the body.
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > maximum) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}
