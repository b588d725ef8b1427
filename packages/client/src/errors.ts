import { COMPUTE_ERRORS, UNAVAILABLE_STATUS, type ComputeErrorKind } from '../../../src/errors'
import type { BatchAnswer } from './types'

/** Every error of this package. Its message is a sentence that says what is wrong and what to do. */
export class GeoError extends Error {
  override name = 'GeoError'
  /**
   * Answers to the first questions of a `batch` of more than 20, or those that `resign` had signed, when a
   * later request failed: a batch of its own. Undefined if there are none. Logs and JSON leave it out.
   */
  declare readonly answered?: BatchAnswer

  /** True if the same call may succeed later. */
  get retryable(): boolean {
    return false
  }
}

/** What the service said when it refused a request. */
export interface Refusal {
  /** HTTP status */
  status: number
  title: string
  /** names the field, and what would be right */
  detail: string
  /** the page about this kind of error; the Compute API alone has one */
  type?: string
  /** seconds after which another try makes sense */
  retryAfter?: number
}

/** The service answered, and refused. One class for each slug of its errors (docs/reference/errors.md). */
export class ApiError extends GeoError implements Refusal {
  override name = 'ApiError'
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly type?: string
  readonly retryAfter?: number

  constructor({ status, title, detail, type, retryAfter }: Refusal) {
    super(detail ? `${title}: ${detail}` : title)
    this.status = status
    this.title = title
    this.detail = detail
    this.type = type
    this.retryAfter = retryAfter
  }

  override get retryable(): boolean {
    return (
      this.retryAfter !== undefined ||
      this.status === COMPUTE_ERRORS['rate-limited'].status ||
      this.status === UNAVAILABLE_STATUS
    )
  }
}
/** `invalid-input`, and any 4xx of the Records API that has no class of its own. */
export class InvalidInputError extends ApiError {
  override name = 'InvalidInputError'
}
/** The error for a value that this package refuses itself, in the form of the service's own. */
export function invalidInput(detail: string): InvalidInputError {
  return new InvalidInputError({ status: 400, title: 'Invalid Input', detail })
}
/** `attestation-not-found`: no such attestation on that chain, or no such record. */
export class AttestationNotFoundError extends ApiError {
  override name = 'AttestationNotFoundError'
}
/** `verification-failed`: an offchain attestation, an earlier answer or a signed request is not valid. */
export class VerificationFailedError extends ApiError {
  override name = 'VerificationFailedError'
}
/** `computation-error`: the service, its database or its node failed. Nothing was signed. */
export class ComputationError extends ApiError {
  override name = 'ComputationError'
}
/** `rate-limited`; `retryAfter` says when to go on. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}
/** 503 of the Records API: the database is out of reach, or too many exports run. */
export class UnavailableError extends ApiError {
  override name = 'UnavailableError'
}

/** No answer: the service or a chain's node cannot be reached, or did not answer in time. */
export class ConnectionError extends GeoError {
  override name = 'ConnectionError'

  override get retryable(): boolean {
    return true
  }
}
/** The service is older than this package, or something else answers at its address. */
export class ServiceVersionError extends GeoError {
  override name = 'ServiceVersionError'
}
/** The signer or provider that was given cannot do what is needed. */
export class SignerError extends GeoError {
  override name = 'SignerError'
}
/** The signer or provider is on another chain than the answer. Nothing was sent. */
export class ChainMismatchError extends SignerError {
  override name = 'ChainMismatchError'
}
/** The answer is not what its attester signed, or another attester signed it. Nothing was sent. */
export class AlteredAnswerError extends GeoError {
  override name = 'AlteredAnswerError'
}
/** The service did not say whether it can read a place. Nothing was sent or signed. */
export class UncheckedError extends GeoError {
  override name = 'UncheckedError'
}
/** The contract refuses the answer, place or revocation, or its transaction failed. */
export class LandingError extends GeoError {
  override name = 'LandingError'

  constructor(
    message: string,
    /** the error of the contract, such as `InvalidSchema`, where it is known */
    readonly contractError?: string,
    readonly transactionHash?: string,
    /** what the contract reverted with, ABI-encoded, for errors that this package does not know */
    readonly revertData?: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * A transaction that was sent is not on its chain: another one of its account took its nonce (`replaced`), or
 * the node has not known it for minutes (`dropped`), after which it may still come.
 */
export class LostTransactionError extends LandingError {
  override name = 'LostTransactionError'

  constructor(
    message: string,
    readonly reason: 'replaced' | 'dropped',
    override readonly transactionHash: string,
  ) {
    super(message, undefined, transactionHash)
  }
}

/** Of several places only the first ones were attested; `cause` says why not the others. */
export class PartlyAttestedError extends GeoError {
  override name = 'PartlyAttestedError'

  constructor(
    message: string,
    readonly attested: readonly { uid: string; transactionHash: string }[],
    /** of the places that come next, where it was sent: it failed, or may still come into a block */
    readonly transactionHash: string | undefined,
    options: ErrorOptions,
  ) {
    super(message, options)
  }
}

type ApiErrorClass = new (refusal: Refusal) => ApiError
/** One class for each slug of the Compute API. */
const CLASSES: Readonly<Record<ComputeErrorKind, ApiErrorClass>> = {
  'invalid-input': InvalidInputError,
  'attestation-not-found': AttestationNotFoundError,
  'verification-failed': VerificationFailedError,
  'computation-error': ComputationError,
  'rate-limited': RateLimitedError,
}
/** Errors of the Records API, and of what answers in the service's place, by status. */
const BY_STATUS = new Map<number, ApiErrorClass>([
  ...(Object.keys(CLASSES) as ComputeErrorKind[]).map((slug): [number, ApiErrorClass] => [
    COMPUTE_ERRORS[slug].status,
    CLASSES[slug],
  ]),
  [UNAVAILABLE_STATUS, UnavailableError],
])

/** The error for an answer that is no success: problem details, the form of the Records API, or GraphQL's. */
export function apiError(status: number, body: unknown, retryAfter?: number): ApiError {
  const { title, detail, type, message, errors } = (typeof body === 'object' && body ? body : {}) as {
    [name: string]: unknown
  }
  const [ofGraphql] = (Array.isArray(errors) ? errors : []) as { message?: unknown }[]
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const refusal: Refusal = {
    status,
    title: text(title) ?? text(message) ?? (ofGraphql ? 'Invalid query' : `The service answered ${status}`),
    detail: text(detail) ?? text(ofGraphql?.message) ?? '',
    ...(text(type) !== undefined && { type: text(type)! }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
  const slug = refusal.type?.split('/').pop() ?? ''
  // RFC 7807, 4.2: what such a 404 lacks is the endpoint.
  const isBlank = refusal.type === 'about:blank' && status < 500
  const Class = isBlank
    ? InvalidInputError
    : ((Object.hasOwn(CLASSES, slug) ? CLASSES[slug as ComputeErrorKind] : undefined) ??
      BY_STATUS.get(status) ??
      (status < 500 ? InvalidInputError : ApiError))
  return new Class(refusal)
}

/** Throws an InvalidInputError for an option of this method that there is not: it may be misspelt. */
export function refuseUnknown<Options extends object>(
  method: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined)
    throw invalidInput(`${method} has no option '${unknown}'; it has ${Object.keys(known).join(', ')}`)
}

/** What an unknown error says, on one line and without its full stop. */
export function messageOf(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: string; message?: string }
  return (shortMessage ?? message ?? String(error)).split('\n')[0]!.replace(/\.$/, '')
}
