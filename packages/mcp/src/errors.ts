// SPDX-License-Identifier: MIT
import {
  AttestationNotFoundError,
  ComputationError,
  ConnectionError,
  GeoError,
  InvalidInputError,
  RateLimitedError,
  UnavailableError,
  VerificationFailedError,
  type ApiError,
} from '@geospatial-attestation/client'

/** Invalid input that is detected before the service is asked. The message states what is expected. */
export class ToolInputError extends Error {
  override name = 'ToolInputError'
}

/**
 * Returns a message for the model: what is wrong, and what to do next. Undefined for an internal error, which
 * neither the input nor an outage explains.
 */
export function adviceOf(error: unknown): string | undefined {
  if (error instanceof ToolInputError) return error.message
  if (!(error instanceof GeoError)) return undefined
  const message = /[.!?]$/.test(error.message) ? error.message : `${error.message}.`
  if (error instanceof RateLimitedError)
    return `${message} Do not call again before that. Tell the user when to retry${inSeconds(error)}.`
  const isPassing = error instanceof ComputationError && error.retryAfter !== undefined
  if (isPassing || error instanceof UnavailableError)
    return `${message} Call again${inSeconds(error) || ' in a few seconds'}. If it fails again, tell the user.`
  if (error instanceof AttestationNotFoundError)
    return `${message} A UID is valid on its own chain only. search_records finds places.`
  if (error instanceof InvalidInputError) return `${message} Correct the input and call again.`
  if (error instanceof VerificationFailedError)
    return `${message} Do not use it. Call the operation again for a valid answer.`
  if (error instanceof ConnectionError) return `${message} Tell the user.`
  // The messages of the other errors state what to do.
  return message
}

/** Formats the delay, such as ` (in 40 s)`; empty if the service did not send one. */
function inSeconds({ retryAfter }: ApiError): string {
  return retryAfter === undefined ? '' : ` (in ${retryAfter} s)`
}
