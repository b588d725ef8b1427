import { ApiError, createGeo } from '@geospatial-attestation/client'
import { say } from './messages'

/** Path of the page of a place: chain and UID, below the path of the deployment. */
export const PLACE_PATH = /\/r\/([a-z0-9-]+)\/(0x[0-9a-f]{64})\/?$/i

/** Base URL of the service, which may have a path. All pages but those of places are one level below it. */
export const BASE = new URL('.', location.origin + location.pathname.replace(PLACE_PATH, '/')).href.replace(
  /\/$/,
  '',
)

/** Client of the service that served this page. */
export const geo = createGeo(BASE)

/** Client without retries, for pages that show the failure and the time of the next attempt (loading.ts). */
export const geoOnce = createGeo({ url: BASE, retries: 0 })

/** URL of a resource of the service, such as `api/v0/location-records`. */
export const addressOf = (path: string): string => `${BASE}/${path}`

/** Time limit of a request in milliseconds, equal to that of the client. */
const TIMEOUT_MS = 60_000
/** Requests a resource of the service that the client does not know. */
export const request = (path: string, options: RequestInit = {}): Promise<Response> =>
  fetch(addressOf(path), { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) })

/** Returns a successful response. Throws an ApiError with the Retry-After of another one. */
export function successful(response: Response): Response {
  const { ok, status, headers } = response
  if (ok) return response
  // Without seconds, or with a date, the page chooses the time of the next attempt.
  const retryAfter = Number(headers.get('retry-after'))
  throw new ApiError({
    ...{ status, title: say.failures.http(status), detail: '' },
    ...(retryAfter > 0 && { retryAfter }),
  })
}

/** Maximum number of characters of a memo in a filter (docs/reference/records.md). */
export const LONGEST_MEMO = 100
