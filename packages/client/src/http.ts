// SPDX-License-Identifier: MIT
import { cut } from '../../../src/cut'
import {
  ApiError,
  ConnectionError,
  ServiceVersionError,
  SignerError,
  apiError,
  invalidInput,
  messageOf,
} from './errors'
import { hexOf, walletOf, type Signer } from './signer'
import { limitOf, pause } from './waiting'

/**
 * Returns the URL of a service in one form for all spellings, without the rest of a page's address. Throws an
 * InvalidInputError, which names the option, unless it is http or https.
 */
export function baseOf(url: string, option: 'url' | 'operators'): string {
  const base = URL.canParse(url) ? new URL(url) : undefined
  // fetch rejects a URL with credentials, and would print them in its error.
  if (base?.username || base?.password)
    throw invalidInput(
      `${option}: expected no user and password for ${base.host}. Send them with the option fetch, in a header`,
    )
  if (!base || !/^https?:$/.test(base.protocol))
    throw invalidInput(
      `${option}: '${url}' is not the URL of a service: expected one such as https://geo.example.org or ` +
        'http://127.0.0.1:3000',
    )
  base.search = base.hash = ''
  return base.href.replace(/\/+$/, '')
}

/** Options for sending requests. */
export interface HttpOptions {
  /** URL of the service, such as `https://geo.example.org` */
  url: string
  /** replaces the global `fetch` */
  fetch?: typeof fetch
  /** maximum number of retries after a temporary failure; default 3, 0 disables retries */
  retries?: number
  /** timeout of one attempt in milliseconds; default 60,000 */
  timeout?: number
  /**
   * longest Retry-After that the client waits, in seconds; default 30. For a longer one it throws
   * immediately.
   */
  maxWait?: number
  /** Signs requests to /compute, which then count against the wallet's limit (docs/reference/wallet.md). */
  wallet?: Signer
  /** id of the chain of a smart account */
  walletChainId?: number
}

export interface Sending {
  /** Aborts the request, and the pause before a retry, with the signal's reason. */
  signal?: AbortSignal
  /** false for a response without an end, such as a stream: no timeout applies */
  timed?: boolean
  /** True for a response besides 2xx that is valid. It must not read the body of the response itself. */
  accepted?: (response: Response) => boolean | Promise<boolean>
}

/** Sends a request, with retries. Throws an ApiError, ConnectionError or ServiceVersionError. */
export type Send = (request: Request, sending?: Sending) => Promise<Response>

/** Statuses after which a request is retried, which is safe: no request to this API has an effect twice. */
const PASSING = [429, 500, 502, 503, 504]

/**
 * Creates the function that sends every request of this package. It retries after connection failures, 429
 * and some 5xx statuses, with exponential backoff and jitter or after the service's Retry-After.
 */
export function sender(options: HttpOptions): Send {
  const { retries = 3, timeout = 60_000, maxWait = 30 } = options
  const send = options.fetch ?? ((request: Request, init: RequestInit) => globalThis.fetch(request, init))
  const { host } = new URL(options.url)
  return async (request, { signal, timed = true, accepted = () => false } = {}) => {
    // Firefox has no Request.body.
    const bytes = new Uint8Array(await request.clone().arrayBuffer())
    const body = bytes.length > 0 ? bytes : undefined
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted()
      const headers = new Headers(request.headers)
      if (options.wallet && new URL(request.url).pathname.includes('/compute/'))
        for (const [name, value] of await signedHeaders(options, request, body)) headers.set(name, value)
      let failure: ApiError | ConnectionError
      const limit = timed ? limitOf(timeout, signal, late()) : undefined
      // The signal is also passed to fetch directly: fetch follows the signal of a Request only while the
      // Request is referenced.
      const stopping = { signal: limit?.signal ?? signal ?? null }
      try {
        const response = await send(
          new Request(request.url, {
            method: request.method,
            headers,
            ...(body && { body }),
            ...stopping,
          }),
          stopping,
        )
        // fetch follows most redirects with GET and without the body: another path may then respond with 200.
        const at = response.url.replace(/\/+$/, '')
        const path = request.url.slice(options.url.length)
        const isMoved = response.redirected && body !== undefined
        const moved = (url: string) =>
          new ServiceVersionError(
            `The server at ${options.url} redirects requests to ${cut(response.url, 80)}. Set the URL ${url}.`,
          )
        if (isMoved && !at.endsWith(path)) throw moved('of the service')
        if (response.ok || (await accepted(response)))
          return timed && response.body ? new Response(await response.arrayBuffer(), response) : response
        const refused = await refusalOf(response, options.url)
        failure = refused
        if (isMoved && refused.type === 'about:blank') throw moved(at.slice(0, -path.length))
        // The error of another server, such as a reverse proxy, does not state whether a retry may succeed.
        const isFinal = failure.constructor !== ApiError && !failure.retryable
        if (isFinal || !PASSING.includes(response.status)) throw failure
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof ApiError || error instanceof ServiceVersionError) throw error
        failure = new ConnectionError(
          `${host} does not respond (${messageOf((error as Error).cause ?? error)}). Check that the ` +
            `service is running at ${options.url}.`,
          { cause: error },
        )
      } finally {
        limit?.end()
      }
      const wanted = 'retryAfter' in failure ? failure.retryAfter : undefined
      if (attempt >= retries || (wanted ?? 0) > maxWait) throw failure
      // Delays of 0.5, 1, 2 s ..., each half fixed and half random, so that clients do not retry
      // simultaneously.
      await pause(wanted ? wanted * 1000 : 500 * 2 ** attempt * (0.5 + Math.random() / 2), signal)
    }
  }
}

const late = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError')

/** Statuses of a server without the path or the method. A reverse proxy may send the others. */
const NOT_HERE = [400, 404, 405, 501]

export function notTheService(url: string): ServiceVersionError {
  return new ServiceVersionError(
    `The server at ${url} is not a Geospatial Attestation Service of version 0.1 or newer. Open ` +
      `${url} in a browser to check it.`,
  )
}

/**
 * Reads the JSON of a response; undefined if it is empty. Throws a ServiceVersionError for another type, such
 * as a web page, and a ConnectionError for JSON that is cut off.
 */
export async function jsonOf<T>(response: Response, url: string): Promise<T> {
  if (response.status !== 204 && !response.headers.get('content-type')?.includes('json'))
    throw notTheService(url)
  const text = await response.text()
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T
  } catch (cause) {
    throw new ConnectionError(`The JSON that ${url} returned is not complete (${messageOf(cause)}). Retry.`, {
      cause,
    })
  }
}

/** Creates the function that requests paths of the service and parses their JSON, if there is any. */
export function jsonAt(base: string, send: Send) {
  return async <T>(path: string, { body, ...sending }: Sending & { body?: object } = {}) => {
    const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) }
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    return jsonOf<T>(await send(new Request(base + path, { headers, ...init }), sending), base)
  }
}

/** Converts an unsuccessful response to an error. Throws a ServiceVersionError if it is another server's. */
export async function refusalOf(response: Response, url: string): Promise<ApiError> {
  const text = await response.text()
  const retryAfter = secondsIn(response.headers.get('retry-after') ?? '')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = { detail: cut(text, 200).split('\n')[0] }
  }
  // Problem details have a title, errors of the Records API a message, and those of GraphQL a list.
  const { title, message, errors } = (body ?? {}) as Record<string, unknown>
  if (NOT_HERE.includes(response.status) && [title, message, errors].every((each) => each === undefined))
    throw notTheService(url)
  return apiError(response.status, body, retryAfter)
}

/** Seconds of a Retry-After, which a reverse proxy may send as a date; undefined if it is neither. */
export function secondsIn(retryAfter: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(retryAfter)) return Number(retryAfter)
  // Date.parse reads many texts, such as -5, as a date.
  const milliseconds = retryAfter.endsWith(' GMT') ? Date.parse(retryAfter) - Date.now() : NaN
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, Math.ceil(milliseconds / 1000))
}

/** Returns the headers of a signed request (docs/reference/wallet.md), whose nonce is accepted once. */
async function signedHeaders(
  { url, wallet: signer, walletChainId }: HttpOptions,
  request: Request,
  body: Uint8Array<ArrayBuffer> | undefined,
): Promise<[string, string][]> {
  if (!('subtle' in crypto))
    throw new SignerError(
      'Browsers sign requests only in pages over HTTPS and on localhost. Open the page over HTTPS.',
    )
  const wallet = walletOf(signer!)
  const { pathname, search } = new URL(request.url)
  const [address, digest] = await Promise.all([
    wallet.address(),
    crypto.subtle.digest('SHA-256', body ?? new Uint8Array()),
  ])
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = crypto.randomUUID()
  const lines = [
    'Geospatial Attestation Service: signed request, version 1',
    `authority: ${new URL(url).host}`,
    `method: ${request.method}`,
    `target: ${pathname}${search}`,
    `body-sha256: ${hexOf(new Uint8Array(digest))}`,
    `address: ${address.toLowerCase()}`,
    `timestamp: ${timestamp}`,
    `nonce: ${nonce}`,
    ...(walletChainId === undefined ? [] : [`chain: ${walletChainId}`]),
  ]
  try {
    return [
      ['x-wallet-address', address],
      ['x-signature', await wallet.signMessage(lines.join('\n'))],
      ['x-wallet-timestamp', timestamp],
      ['x-wallet-nonce', nonce],
      ...(walletChainId === undefined ? [] : [['x-wallet-chain', String(walletChainId)] as [string, string]]),
    ]
  } catch (error) {
    throw new SignerError(`The wallet did not sign the request: ${messageOf(error)}.`, { cause: error })
  }
}
