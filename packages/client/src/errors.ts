// SPDX-License-Identifier: MIT
import {
  COMPUTE_ERRORS,
  UNAVAILABLE_STATUS,
  type ComputeErrorKind,
  type QuorumRefusal,
} from '../../../src/errors'
import type { BatchAnswer } from './types'

/** Base class of every error of this package. Its message states what is wrong and what to do. */
export class GeoError extends Error {
  override name = 'GeoError'
  /**
   * Answers that were signed before a later request of a `batch` of more than 20, or of its `resign`, failed:
   * a complete batch by itself. Undefined if there are none. Logs and JSON omit it.
   */
  declare readonly answered?: BatchAnswer

  /** True if the same call may succeed later. */
  get retryable(): boolean {
    return false
  }
}

/** Fields of the service's error response. */
export interface Refusal {
  /** HTTP status */
  status: number
  title: string
  /** names the field, and states what is expected */
  detail: string
  /** documentation page of this kind of error; only errors of the Compute API have one */
  type?: string
  /** seconds after which a retry can succeed */
  retryAfter?: number
  /** reason why an operator does not sign for its quorum */
  refusal?: QuorumRefusal
}

/** The service responded with an error. Each slug of its errors has a class (docs/reference/errors.md). */
export class ApiError extends GeoError implements Refusal {
  override name = 'ApiError'
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly type?: string
  readonly retryAfter?: number
  readonly refusal?: QuorumRefusal

  constructor({ status, title, detail, type, retryAfter, refusal }: Refusal) {
    super(detail ? `${title}: ${detail}` : title)
    this.status = status
    this.title = title
    this.detail = detail
    this.type = type
    this.retryAfter = retryAfter
    this.refusal = refusal
  }

  override get retryable(): boolean {
    return (
      this.retryAfter !== undefined ||
      this.status === COMPUTE_ERRORS['rate-limited'].status ||
      this.status === UNAVAILABLE_STATUS
    )
  }
}
/** `invalid-input`, a query that is too expensive, and any 4xx of the Records API without its own class. */
export class InvalidInputError extends ApiError {
  override name = 'InvalidInputError'

  override get retryable(): boolean {
    return false
  }
}
/** Creates the error for a value that this package rejects itself, in the form of the service's error. */
export function invalidInput(detail: string): InvalidInputError {
  return new InvalidInputError({ status: 400, title: 'Invalid Input', detail })
}
/** `attestation-not-found`: the chain has no such attestation, or the service no such record. */
export class AttestationNotFoundError extends ApiError {
  override name = 'AttestationNotFoundError'
}
/** `verification-failed`: an offchain attestation, an earlier answer or a signed request is not valid. */
export class VerificationFailedError extends ApiError {
  override name = 'VerificationFailedError'
}
/** `computation-error`: the service, its database or its RPC endpoint failed. Nothing was signed. */
export class ComputationError extends ApiError {
  override name = 'ComputationError'
}
/** `rate-limited`: too many requests. `retryAfter` is the number of seconds to wait. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}
/** 503 of the Records API: the database is unreachable, or too many exports are running. */
export class UnavailableError extends ApiError {
  override name = 'UnavailableError'
}

/** No response: the service or a chain's RPC endpoint is unreachable, or did not respond in time. */
export class ConnectionError extends GeoError {
  override name = 'ConnectionError'
  /** transaction that was sent, but whose result could not be read: the same call would send another one */
  readonly transactionHash?: string

  constructor(message: string, options: ErrorOptions & { transactionHash?: string } = {}) {
    super(message, options)
    this.transactionHash = options.transactionHash
  }

  override get retryable(): boolean {
    return this.transactionHash === undefined
  }
}
/** The service is older than this package, or another server responds at its URL. */
export class ServiceVersionError extends GeoError {
  override name = 'ServiceVersionError'
}
/** The given signer or provider cannot do what the call requires. */
export class SignerError extends GeoError {
  override name = 'SignerError'
}
/** The signer or provider is on another chain than the answer. Nothing was sent. */
export class ChainMismatchError extends SignerError {
  override name = 'ChainMismatchError'
}
/**
 * The answer is not the content that its attester signed, another attester signed it, or it answers another
 * question. Nothing was sent.
 */
export class AlteredAnswerError extends GeoError {
  override name = 'AlteredAnswerError'
}
/** The service did not report whether it can read a place. Nothing was sent or signed. */
export class UncheckedError extends GeoError {
  override name = 'UncheckedError'
}
/** It is unknown if an answer has landed, or if the wallet sent a transaction. */
export class UncertainError extends GeoError {
  override name = 'UncertainError'
}
/** The contract rejects the answer, place or revocation, or its transaction failed. */
export class LandingError extends GeoError {
  override name = 'LandingError'

  constructor(
    message: string,
    /** name of the contract's error, such as `InvalidSchema`, if known */
    readonly contractError?: string,
    readonly transactionHash?: string,
    /** ABI-encoded revert data, for errors that this package does not know */
    readonly revertData?: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * A sent transaction is not on its chain. Another transaction of the account used its nonce (`replaced`), or
 * the RPC endpoint has reported it as unknown for minutes (`dropped`); a dropped transaction may still be
 * included.
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

/** Only the first of several places were attested. `cause` is the error of the others. */
export class PartlyAttestedError extends GeoError {
  override name = 'PartlyAttestedError'

  constructor(
    message: string,
    readonly attested: readonly { uid: string; transactionHash: string }[],
    /** transaction of the remaining places, if it was sent: it failed, or may still be included in a block */
    readonly transactionHash: string | undefined,
    options: ErrorOptions,
  ) {
    super(message, options)
  }
}

type ApiErrorClass = new (refusal: Refusal) => ApiError
/** Classes of the Compute API's errors, by slug. */
const CLASSES: Readonly<Record<ComputeErrorKind, ApiErrorClass>> = {
  'invalid-input': InvalidInputError,
  'attestation-not-found': AttestationNotFoundError,
  'verification-failed': VerificationFailedError,
  'computation-error': ComputationError,
  'rate-limited': RateLimitedError,
}
/** Classes of errors of the Records API by status. */
const BY_STATUS = new Map<number, ApiErrorClass>([
  ...(Object.keys(CLASSES) as ComputeErrorKind[]).map((slug): [number, ApiErrorClass] => [
    COMPUTE_ERRORS[slug].status,
    CLASSES[slug],
  ]),
  [UNAVAILABLE_STATUS, UnavailableError],
])

/** Statuses that have the same class for servers in front of the service, such as a firewall. */
const PASSING: readonly number[] = [COMPUTE_ERRORS['rate-limited'].status, UNAVAILABLE_STATUS]
/** Statuses for which the service sends problem details without a type of its own. */
const NOT_FOUND: readonly number[] = [404, 405]

/**
 * Creates the error for a response that is not successful: problem details, an error of the Records API, or
 * one of GraphQL. A body in another form is not the service's, and says nothing about the request: its error
 * has no class of its own.
 */
export function apiError(status: number, body: unknown, retryAfter?: number): ApiError {
  const {
    title,
    detail,
    type,
    message,
    errors,
    refusal: kind,
    status: state,
  } = (typeof body === 'object' && body ? body : {}) as {
    [name: string]: unknown
  }
  const [ofGraphql] = (Array.isArray(errors) ? errors : []) as { message?: unknown }[]
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const refusal: Refusal = {
    status,
    title: text(title) ?? text(message) ?? (ofGraphql ? 'Invalid query' : `The service returned ${status}`),
    detail: text(detail) ?? text(ofGraphql?.message) ?? '',
    ...(text(type) !== undefined && { type: text(type)! }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(typeof kind === 'string' && { refusal: kind as QuorumRefusal }),
  }
  const slug = refusal.type?.split('/').pop() ?? ''
  // RFC 7807, 4.2: about:blank adds nothing to the status, so a 404 means that the endpoint does not exist.
  if (refusal.type === 'about:blank' && NOT_FOUND.includes(status)) return new InvalidInputError(refusal)
  if (Object.hasOwn(CLASSES, slug)) return new CLASSES[slug as ComputeErrorKind](refusal)
  const isOwn = (state === 'error' && text(message) !== undefined) || text(ofGraphql?.message) !== undefined
  // The service sends Retry-After with every 503 that a retry may resolve.
  if (isOwn && status === UNAVAILABLE_STATUS && retryAfter === undefined)
    return new InvalidInputError(refusal)
  if (isOwn || PASSING.includes(status))
    return new (BY_STATUS.get(status) ?? (status < 500 ? InvalidInputError : ApiError))(refusal)
  return new ApiError(refusal)
}

/** Returns true if the service rejects the request itself, so that repeating it fails again. */
export function isOfRequest(error: unknown): error is ApiError {
  return [InvalidInputError, AttestationNotFoundError, VerificationFailedError].some(
    (kind) => error instanceof kind,
  )
}

/** Throws an InvalidInputError for an option that the method does not have, such as a misspelt one. */
export function refuseUnknown<Options extends object>(
  method: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined)
    throw invalidInput(`${method} has no option '${unknown}'. Options: ${Object.keys(known).join(', ')}`)
}

/** Returns the message of an unknown error: its first line, without the full stop. */
export function messageOf(error: unknown): string {
  const { shortMessage, message } = (error ?? {}) as { shortMessage?: string; message?: string }
  return (shortMessage ?? message ?? String(error)).split('\n')[0]!.replace(/\.$/, '')
}
