// SPDX-License-Identifier: MIT
/**
 * Errors of the service, as two tables: responses to clients, and texts of the documents. It also runs in
 * browsers, because the client derives its classes from it.
 */

export interface ErrorRow {
  /** HTTP status. Some errors are sent with a more specific status. */
  readonly status: number
  /**
   * True if the same request may succeed later; 'Retry-After' if it may whenever the response has this
   * header.
   */
  readonly retryable: boolean | 'Retry-After'
}

/**
 * Errors of the Compute API by slug (docs/spec/interface.md 10; RFC 7807). /compute returns no other errors.
 */
export const COMPUTE_ERRORS = {
  'invalid-input': { status: 400, title: 'Invalid Input', retryable: false },
  'attestation-not-found': { status: 404, title: 'Attestation Not Found', retryable: false },
  'verification-failed': { status: 401, title: 'Verification Failed', retryable: false },
  'computation-error': { status: 500, title: 'Computation Error', retryable: 'Retry-After' },
  'rate-limited': { status: 429, title: 'Too Many Requests', retryable: true },
} as const satisfies Readonly<Record<string, ErrorRow & { title: string }>>
export type ComputeErrorKind = keyof typeof COMPUTE_ERRORS

/**
 * Reasons for which an operator does not sign an answer for its quorum, in `refusal` of the error:
 * documentation in Markdown, with links relative to docs/reference.
 */
export const QUORUM_REFUSALS = {
  revoked: 'an attestation among the inputs is revoked',
  expired: 'an attestation among the inputs has expired',
  'unknown-input': "the operator's index and RPC endpoint have no such attestation",
  'not-indexed-yet':
    'the operator has not seen enough of the chain to be certain, or its database, RPC endpoint or transparency log is not available; ask again',
  skew: "`timestamp` or `deadline` differs too much from the operator's clock",
  'wrong-epoch': 'the operator does not belong to the epoch, or the epoch is not valid',
  busy: 'too many requests; ask again after `Retry-After`',
  'invalid-input': 'the request breaks a rule',
  failed: 'the operator failed; ask another operator',
} as const
export type QuorumRefusal = keyof typeof QUORUM_REFUSALS

/** HTTP status of `unavailable`, exported separately so that pages need not load the whole table. */
export const UNAVAILABLE_STATUS = 503

/** Errors of the Records API by kind. Clients recognize a kind by `message` (docs/spec/interface.md 10). */
export const RECORDS_ERRORS = {
  'invalid-parameter': { status: 400, message: 'Invalid <name> parameter', retryable: false },
  'invalid-bbox': { status: 400, message: 'Invalid bbox format', retryable: false },
  'invalid-query': { status: 400, message: 'Invalid query parameter', retryable: false },
  'invalid-uid': { status: 400, message: 'Invalid UID format', retryable: false },
  'invalid-request': { status: 400, message: 'Invalid request', retryable: false },
  unauthorized: { status: 401, message: 'Unauthorized', retryable: false },
  'record-not-found': { status: 404, message: 'Location record not found', retryable: false },
  'answer-not-found': { status: 404, message: 'Answer not found', retryable: false },
  'not-found': { status: 404, message: 'Not found', retryable: false },
  'method-not-allowed': { status: 405, message: 'Method not allowed', retryable: false },
  'rate-limited': { status: 429, message: 'Rate limit exceeded', retryable: true },
  'internal-error': { status: 500, message: 'Internal error', retryable: false },
  unavailable: { status: UNAVAILABLE_STATUS, message: 'Temporarily unavailable', retryable: true },
  'not-published': { status: UNAVAILABLE_STATUS, message: 'Not published yet', retryable: true },
  'too-expensive': { status: UNAVAILABLE_STATUS, message: 'Query too expensive', retryable: false },
} as const satisfies Readonly<Record<string, ErrorRow & { message: string }>>
export type RecordsErrorKind = keyof typeof RECORDS_ERRORS

/** Documentation of each error: Markdown, with links relative to docs/reference. */
export const COMPUTE_TEXTS: Readonly<Record<ComputeErrorKind, string>> = {
  'invalid-input':
    'the request breaks a rule, or its content type is not supported; with 408 it did not arrive in time, with 431 its head is too large',
  'attestation-not-found':
    'the attestation does not exist on that chain, or not yet on the chain that its endpoints have read ([new attestations](#new-attestations))',
  'verification-failed':
    'an [offchain attestation](offchain.md) is not what it claims, or is no longer valid; an earlier answer is not one of this service; a [signed request](wallet.md) is not valid',
  'computation-error':
    'the service failed; or, with `Retry-After`, the database or the RPC endpoint is unreachable, or too many large geometries are being measured; or the geometries are so entangled that measuring them takes more than 20 s; or the transparency log [accepts no entries](../operations/log.md#when-nothing-is-signed), without `Retry-After` if only the operator can open it (`detail` says which). Nothing was signed',
  'rate-limited': 'too many requests ([limits](limits.md#requests))',
}
export const RECORDS_TEXTS: Readonly<Record<RecordsErrorKind, string>> = {
  'invalid-parameter': 'a parameter has an invalid value',
  'invalid-bbox': '`bbox` is malformed',
  'invalid-query': 'the query string is malformed, or has an unknown parameter',
  'invalid-uid': 'the path has no UID',
  'invalid-request':
    'the request breaks a rule; with 408 it did not arrive in time, with 409 it conflicts with the current state ([webhooks](webhooks.md)), with 431 its head is too large',
  unauthorized: 'the key of the [admin API](webhooks.md#the-admin-api) is missing or incorrect',
  'record-not-found': 'no record has the UID',
  'answer-not-found': 'no answer of this service has the UID',
  'not-found': 'there is no such endpoint or resource',
  'method-not-allowed': 'the endpoint does not support the method; `Allow` lists those that it supports',
  'rate-limited':
    "too many requests in an hour, or too many of the client's at once ([shares](limits.md#requests))",
  'internal-error': 'the service failed',
  unavailable:
    'the database is unreachable or slow, the queue was full for too long, or the sums of older records are not measured yet',
  'not-published':
    'the [transparency log](log.md#requests) has the entry, but no published checkpoint includes it yet',
  'too-expensive': 'the query takes too long or reads too much; `detail` names a remedy',
}
