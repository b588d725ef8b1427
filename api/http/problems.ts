import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { cut } from '../../src/cut'
import {
  COMPUTE_ERRORS,
  RECORDS_ERRORS,
  type ComputeErrorKind,
  type QuorumRefusal,
  type RecordsErrorKind,
} from '../../src/errors'
import { GeometryError } from '../../src/geodesy'
import { sendPage } from './pages'
import { problemPage, wantsPage } from './problem-page'

/** Seconds after which a retry makes sense if the database, an RPC endpoint or a slot was unavailable. */
export const RETRY_AFTER_SECONDS = 5

/** Lists the other chains on which the index has an attestation; empty if none is known. */
export function itIsOn(chains: readonly string[]): string {
  return chains.length === 0 ? '' : `; it is on ${chains.join(' and ')}`
}

/** States why an attestation has no geometry. */
export function noGeometry(problem: string | null): string {
  return `has no unambiguous geometry${problem ? `: ${shownProblem(problem)}` : ''}`
}

/** Cuts a problem that may quote the text of others, and replaces invisible characters. */
export function shownProblem(problem: string): string {
  return cut(problem, 300).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
}

/** An error of the Compute API. Its `detail`, for the client, names the field and the rule. */
export class ComputeError extends Error {
  override readonly name = 'ComputeError'

  constructor(
    readonly slug: ComputeErrorKind,
    detail: string,
    /** Seconds after which a retry makes sense. */
    readonly retryAfter?: number,
    /** Reason for which an operator does not sign for its quorum, if `slug` does not determine it. */
    readonly refusal?: QuorumRefusal,
  ) {
    super(detail)
  }

  get retryable(): boolean {
    return this.retryAfter !== undefined || COMPUTE_ERRORS[this.slug].retryable === true
  }

  /** Returns the same error for a part of the request: `prefix` goes before its detail. */
  within(prefix: string): ComputeError {
    return new ComputeError(this.slug, prefix + this.message, this.retryAfter, this.refusal)
  }
}

/** Returns the error for a request that would exceed its client's share of slots (semaphore.ts). */
export function ownShareUsed(detail: string): ComputeError {
  return new ComputeError('rate-limited', detail, RETRY_AFTER_SECONDS)
}

/** A path of /compute does not exist, or does not support the method. `allow` lists the supported ones. */
export class UnknownRouteError extends Error {
  override readonly name = 'UnknownRouteError'

  constructor(
    detail: string,
    readonly allow?: string,
  ) {
    super(detail)
  }
}

export function invalidInput(detail: string): ComputeError {
  return new ComputeError('invalid-input', detail)
}

export function verificationFailed(detail: string): ComputeError {
  return new ComputeError('verification-failed', detail)
}

/** An error of the Records API. The client gets its message and its detail. */
export class RecordsError extends Error {
  override readonly name = 'RecordsError'
  readonly status: number

  readonly retryable: boolean

  /** @param kind of the error, or the name of the parameter with the problem */
  constructor(
    kind: RecordsErrorKind | { parameter: string },
    readonly detail: string,
    status?: number,
  ) {
    const row = RECORDS_ERRORS[typeof kind === 'string' ? kind : 'invalid-parameter']
    super(typeof kind === 'string' ? row.message : row.message.replace('<name>', () => kind.parameter))
    this.status = status ?? row.status
    this.retryable = row.retryable
  }
}

/** The database or a chain's RPC endpoint does not answer; a retry may succeed. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError'
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined

  constructor(
    message: string,
    { retryAfter = RETRY_AFTER_SECONDS, ...options }: ErrorOptions & { retryAfter?: number } = {},
  ) {
    super(message, options)
    this.retryAfter = retryAfter
  }

  /** Message for the client. @param more sentences before that about the retry */
  sentence(more = ''): string {
    const retry = this.retryAfter === undefined ? '' : ` Retry in ${this.retryAfter} seconds.`
    return this.message + more + retry
  }
}

/** The query exceeds a limit, and would do so again: its message names a remedy other than a retry. */
export class TooExpensiveError extends UnavailableError {
  override readonly name = 'TooExpensiveError'
  override readonly retryAfter = undefined
}

/** A part of the service is stopped until its operator acts: its message names the action. */
export class StoppedError extends UnavailableError {
  override readonly name = 'StoppedError'
  override readonly retryAfter = undefined
}

/** The request is malformed. Its message is for the client, in the form of the requested API. */
export class RequestError extends Error {
  override readonly name = 'RequestError'

  /**
   * @param statusCode 408: the request did not arrive in time; 431 (RFC 6585): headers too large; 499
   *   (nginx): the client has left; only logged
   */
  constructor(
    message: string,
    readonly statusCode: 400 | 408 | 431 | 499 = 400,
  ) {
    super(message)
  }
}
/** A request was not received in time. Its sender may be slow or the machine busy: the client may retry. */
export class SlowRequestError extends RequestError {
  constructor() {
    super('The request was not received completely in time.', 408)
  }
}

export class QueryStringError extends RequestError {}

export function notUtf8(part: 'path' | 'query string'): string {
  return `The ${part} is not percent-encoded UTF-8: write a percent sign as %25 (RFC 3986, 2.1).`
}

/** Problems of requests that Fastify refuses. */
const REFUSALS: Readonly<Record<string, (request: FastifyRequest) => string>> = {
  FST_ERR_BAD_URL: () => notUtf8('path'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers: { 'content-type': type } }) =>
    `Content-Type: expected application/json, got ${type ? `'${cut(type, 80)}'` : 'none'}.`,
  FST_ERR_CTP_BODY_TOO_LARGE: () => 'The body is too large. The maximum is 5 MiB.',
}
/** Returns the problem of a request that Fastify refused; undefined for defects of this service. */
function refusalOf(error: Error, request: FastifyRequest): string | undefined {
  const { code, statusCode = 500, message } = error as FastifyError
  return REFUSALS[code]?.(request) ?? (statusCode >= 400 && statusCode < 500 ? message : undefined)
}

/** An error that GraphQL and MCP return with this status and these headers, each in its own form. */
export class StatusError extends Error {
  override readonly name = 'StatusError'

  constructor(
    readonly statusCode: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

/**
 * Returns the status and the message of an error for GraphQL and MCP, and sets its headers; undefined for
 * defects of this service. @param tooLarge message for a body above the limit
 */
export function statusOf(
  error: Error,
  reply: FastifyReply,
  tooLarge: string,
): { status: number; message: string } | undefined {
  if (error instanceof StatusError) {
    reply.headers(error.headers)
    return { status: error.statusCode, message: error.message }
  }
  if (error instanceof UnavailableError || error instanceof ComputeError) {
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter)
    // guard.ts throws a ComputeError if the client's share of memory is used, or no worker reads its body.
    return error instanceof ComputeError
      ? { status: COMPUTE_ERRORS[error.slug].status, message: error.message }
      : { status: 503, message: error.sentence() }
  }
  const { code, statusCode: status = 500 } = error as FastifyError
  const message = code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? tooLarge : refusalOf(error, reply.request)
  return message === undefined ? undefined : { status, message }
}

/** Error handler of /compute and /quorum: problem details, or a page. @param more returns further members */
export function computeErrorHandler(publicBaseUrl: string, more: (error: Error) => object = () => ({})) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply) => {
    const { retryAfter, ...problem } = problemOf(publicBaseUrl, error, request)
    const body = { ...problem, instance: pathOf(request.url), ...more(error) }
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    if (error instanceof UnknownRouteError && error.allow) reply.header('allow', error.allow)
    reply.status(problem.status)
    if (!wantsPage(request)) return reply.header('content-type', PROBLEM_TYPE).send(JSON.stringify(body))
    const about = problem.type === ABOUT_BLANK ? {} : { about: problem.type }
    return sendPage(
      reply.header('vary', 'accept'),
      problemPage({ ...problem, body, ...about }, publicBaseUrl),
    )
  }
}

/** Returns the path of a URL, shortened for messages. */
export function pathOf(url: string): string {
  return url.split('?')[0]!.slice(0, 200)
}

/** Media type of problem details (RFC 7807). */
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
/** Type of a problem that its status fully describes (RFC 7807, 4.2). */
const ABOUT_BLANK = 'about:blank'

function problemOf(publicBaseUrl: string, error: Error, request: FastifyRequest) {
  if (error instanceof UnknownRouteError)
    return {
      ...{ type: ABOUT_BLANK, detail: error.message, retryAfter: undefined as number | undefined },
      ...(error.allow ? { status: 405, title: 'Method Not Allowed' } : { status: 404, title: 'Not Found' }),
    }
  const { slug, message, retryAfter } = asComputeProblem(error as FastifyError, request)
  const status = error instanceof RequestError ? error.statusCode : undefined
  return { ...computeProblem(publicBaseUrl, slug, message, status), retryAfter }
}

/** @param status that of the slug, unless HTTP has a more specific one for a problem with the request */
export function computeProblem(
  publicBaseUrl: string,
  slug: ComputeErrorKind,
  detail: string,
  status: number = COMPUTE_ERRORS[slug].status,
) {
  return { type: `${publicBaseUrl}/errors/${slug}`, title: COMPUTE_ERRORS[slug].title, status, detail }
}

function asComputeProblem(error: FastifyError, request: FastifyRequest): ComputeError {
  if (error instanceof ComputeError) return error
  if (error instanceof GeometryError) return invalidInput(error.message)
  if (error instanceof UnavailableError) {
    request.log.warn({ reason: error.message }, 'a computation is unavailable')
    return new ComputeError('computation-error', error.sentence(' Nothing was signed.'), error.retryAfter)
  }
  const fault = refusalOf(error, request)
  if (fault) return invalidInput(fault)
  request.log.error(error, 'a computation failed')
  return new ComputeError(
    'computation-error',
    'The computation failed because of an error in the service. Nothing was signed.',
  )
}

/** Headers of a response that failed, which a stream sets before its first byte. */
const OF_THE_FAILED = [
  ...['accept-ranges', 'content-disposition', 'content-encoding', 'content-length', 'content-range'],
  ...['content-type', 'etag', 'last-modified', 'link'],
]

/** Error handler of /api and of all paths outside both APIs: JSON, or a page with it for a browser. */
export function recordsErrorHandler(publicBaseUrl: string) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { status, message, detail } = asRecordsProblem(error, request, reply)
    for (const name of OF_THE_FAILED) reply.removeHeader(name)
    reply.headers({ 'cache-control': 'no-store', vary: 'accept' }).status(status)
    const body = { status: 'error', message, detail }
    return wantsPage(request)
      ? sendPage(reply, problemPage({ status, title: message, detail, body }, publicBaseUrl))
      : reply.send(body)
  }
}

function asRecordsProblem(error: FastifyError, request: FastifyRequest, reply: FastifyReply): RecordsError {
  if (error instanceof RecordsError) {
    if (error.retryable && !reply.hasHeader('retry-after')) reply.header('retry-after', RETRY_AFTER_SECONDS)
    return error
  }
  if (error instanceof UnavailableError) {
    request.log.warn({ reason: error.message }, 'a query is unavailable')
    if (error.retryAfter === undefined) return new RecordsError('too-expensive', error.sentence())
    reply.header('retry-after', error.retryAfter)
    return new RecordsError('unavailable', error.sentence())
  }
  // The client has used up its share of a node's calls, which compute requests use as well.
  if (error instanceof ComputeError && error.slug === 'rate-limited') {
    reply.header('retry-after', error.retryAfter ?? RETRY_AFTER_SECONDS)
    return new RecordsError('rate-limited', error.message)
  }
  const fault = refusalOf(error, request)
  if (fault)
    return new RecordsError(
      error instanceof QueryStringError ? 'invalid-query' : 'invalid-request',
      fault,
      error instanceof RequestError ? error.statusCode : undefined,
    )
  request.log.error(error, 'a query failed')
  return new RecordsError('internal-error', 'The request failed because of an error in the service.')
}
