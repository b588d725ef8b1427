import { ApiError, ConnectionError, ServiceVersionError, SignerError, apiError, messageOf } from './errors'
import { walletOf, type Signer } from './signer'
import { pause } from './waiting'

/** How requests are sent. */
export interface HttpOptions {
  /** address of the service, such as `https://geo.example.org` */
  url: string
  /** in place of the global one */
  fetch?: typeof fetch
  /** how often a request is sent again after a failure that may pass; 3 by default, 0 for never */
  retries?: number
  /** how long one attempt may take, milliseconds; 60,000 by default */
  timeout?: number
  /** the longest Retry-After that is waited for, seconds; 30 by default: a longer one is thrown at once */
  maxWait?: number
  /** Signs requests to /compute, which then count against the wallet (docs/reference/wallet.md). */
  wallet?: Signer
  /** Of a smart account: the chain that it is on. */
  walletChainId?: number
}

export interface Sending {
  /** Ends the request, and the waiting before another try, with the signal's reason. */
  signal?: AbortSignal
  /** false for an answer that does not end: its time is not limited */
  timed?: boolean
  /** statuses beside 2xx that are an answer */
  accepted?: readonly number[]
}

/** Sends a request until it is answered well. Throws ApiError, ConnectionError or ServiceVersionError. */
export type Send = (request: Request, sending?: Sending) => Promise<Response>

/** Statuses after which the same request may be answered: nothing that this API does happens twice. */
const PASSING = [429, 500, 502, 503, 504]

/**
 * Every request of this package goes through here. Connection failures, 429 and 5xx are tried again with
 * exponential back-off and jitter, or after the service's Retry-After.
 */
export function sender(options: HttpOptions): Send {
  const { retries = 3, timeout = 60_000, maxWait = 30 } = options
  const send = options.fetch ?? ((request: Request, init: RequestInit) => globalThis.fetch(request, init))
  const { host } = new URL(options.url)
  return async (request, { signal, timed = true, accepted = [] } = {}) => {
    const body = request.body ? new Uint8Array(await request.clone().arrayBuffer()) : undefined
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted()
      const headers = new Headers(request.headers)
      if (options.wallet && new URL(request.url).pathname.includes('/compute/'))
        for (const [name, value] of await signedHeaders(options, request, body)) headers.set(name, value)
      let failure: ApiError | ConnectionError
      const limit = timed ? limitOf(timeout, signal) : undefined
      // Beside the request too: fetch follows the signal in a Request only while somebody holds the Request.
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
        if (response.ok || accepted.includes(response.status))
          return timed && response.body ? new Response(await response.arrayBuffer(), response) : response
        failure = await refusalOf(response, options.url)
        if (!PASSING.includes(response.status)) throw failure
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof ApiError || error instanceof ServiceVersionError) throw error
        failure = new ConnectionError(
          `${host} does not answer (${messageOf((error as Error).cause ?? error)}): is the service running at ${options.url}?`,
          { cause: error },
        )
      } finally {
        limit?.end()
      }
      const wanted = 'retryAfter' in failure ? failure.retryAfter : undefined
      if (attempt >= retries || (wanted ?? 0) > maxWait) throw failure
      // 0.5, 1, 2 s ..., each half fixed and half random, so that clients do not come back together.
      await pause(wanted ? wanted * 1000 : 500 * 2 ** attempt * (0.5 + Math.random() / 2), signal)
    }
  }
}

/**
 * The signal of one attempt: aborted when the time is over, and with the caller's. AbortSignal.any would not
 * do: on Node 20 a time limit that nothing else holds is collected as garbage, and never comes.
 */
function limitOf(milliseconds: number, signal: AbortSignal | undefined) {
  const attempt = new AbortController()
  const stop = () => attempt.abort(signal!.reason)
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  const over = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  const timer = setTimeout(() => attempt.abort(over), milliseconds)
  return {
    signal: attempt.signal,
    /** Lets go of the caller's signal and of the time. */
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    },
  }
}

/** Statuses of a server that has no such path or method. Others may come from a proxy before the service. */
const NOT_HERE = [400, 404, 405, 501]

/** The error when something else answers at the address of the service, such as the node of a chain. */
export function notTheService(url: string): ServiceVersionError {
  return new ServiceVersionError(
    `What answers at ${url} is no Geospatial Attestation Service of version 0.1 or newer: look at ${url} in a browser.`,
  )
}

/** The answer, if it is JSON. Throws a ServiceVersionError for another one, such as a page. */
export function requireJson(response: Response, url: string): Response {
  if (response.status === 204 || response.headers.get('content-type')?.includes('json')) return response
  throw notTheService(url)
}

/** What the service said. Throws a ServiceVersionError where it was something else. */
async function refusalOf(response: Response, url: string): Promise<ApiError> {
  const text = await response.text()
  const retryAfter = Number(response.headers.get('retry-after') ?? NaN)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = { detail: text.slice(0, 200).split('\n')[0] }
  }
  // Problem details have a title, errors of the Records API a message, those of GraphQL are a list.
  const { title, message, errors } = (body ?? {}) as Record<string, unknown>
  if (NOT_HERE.includes(response.status) && [title, message, errors].every((each) => each === undefined))
    throw notTheService(url)
  return apiError(response.status, body, Number.isNaN(retryAfter) ? undefined : retryAfter)
}

/**
 * The headers of a signed request (docs/reference/wallet.md). The service refuses one nonce a second time.
 */
async function signedHeaders(
  { url, wallet: signer, walletChainId }: HttpOptions,
  request: Request,
  body: Uint8Array<ArrayBuffer> | undefined,
): Promise<[string, string][]> {
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
    `body-sha256: ${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
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
