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

/** Wrong input that is found before the service is asked. Its message says what would be right. */
export class ToolInputError extends Error {
  override name = 'ToolInputError'
}

/**
 * What a model is told of an error: what is wrong, and what to do next. Undefined for an error that is
 * neither the caller's nor the world's.
 */
export function adviceOf(error: unknown): string | undefined {
  if (error instanceof ToolInputError) return error.message
  if (!(error instanceof GeoError)) return undefined
  const message = /[.!?]$/.test(error.message) ? error.message : `${error.message}.`
  if (error instanceof RateLimitedError)
    return `${message} Do not call again before that; tell the user when it goes on${inSeconds(error)}.`
  if (error instanceof ComputationError || error instanceof UnavailableError)
    return `${message} Call again${inSeconds(error) || ' in a few seconds'}; if it fails again, tell the user.`
  if (error instanceof AttestationNotFoundError)
    return `${message} A UID counts on its own chain only; search_records finds places.`
  if (error instanceof InvalidInputError) return `${message} Correct the input and call again.`
  if (error instanceof VerificationFailedError)
    return `${message} Do not use it; ask the question again for an answer that holds.`
  if (error instanceof ConnectionError) return `${message} Tell the user.`
  // What is left says in its message what to do.
  return message
}

/** ` (in 40 s)`, or nothing where the service did not say when. */
function inSeconds({ retryAfter }: ApiError): string {
  return retryAfter === undefined ? '' : ` (in ${retryAfter} s)`
}
