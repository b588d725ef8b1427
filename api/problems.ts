import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { GeometryError } from '../src/geodesy'
import { sendPage } from './pages'
import { problemPage, wantsPage } from './problem-page'

/** Errors of the Compute API (INTERFACE.md, Errors; RFC 7807): slug -> status and title. Nothing else ever leaves /compute. */
export const COMPUTE_PROBLEMS = {
  'invalid-input': { status: 400, title: 'Invalid input' },
  'attestation-not-found': { status: 404, title: 'Attestation not found' },
  'verification-failed': { status: 401, title: 'Verification failed' },
  'computation-error': { status: 500, title: 'Computation error' },
  'rate-limited': { status: 429, title: 'Too many requests' },
} as const
export type ProblemSlug = keyof typeof COMPUTE_PROBLEMS

/** Messages of the Records API's errors -> status (INTERFACE.md, Errors; statuses decided in this project). Others are `Invalid <name> parameter`, 400. */
export const RECORDS_PROBLEMS: Readonly<Record<string, number>> = {
  'Location record not found': 404,
  'Not found': 404,
  'Method not allowed': 405,
  'Rate limit exceeded': 429,
  'Internal error': 500,
  'Temporarily unavailable': 503,
}

/** What is said of an attestation without a geometry. The problem may quote attested text, so it is cut short, and what is no visible text is replaced. */
export function noGeometry(problem: string | null): string {
  const shown =
    problem &&
    Array.from(problem.slice(0, 600))
      .slice(0, 300)
      .join('')
      .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
  return `has no geometry that can be read for certain${shown ? `: ${shown}` : ''}`
}

/** The caller of the Compute API is told this. `detail` names the field and what would be right. */
export class ComputeProblem extends Error {
  constructor(
    readonly slug: ProblemSlug,
    detail: string,
    /** Seconds after which another try makes sense, where that is so. */
    readonly retryAfter?: number,
  ) {
    super(detail)
  }

  /** The same, about a part of the request: `prefix` goes before its detail. */
  within(prefix: string): ComputeProblem {
    return new ComputeProblem(this.slug, prefix + this.message, this.retryAfter)
  }
}

/** The caller of the Records API is told this. */
export class RecordsProblem extends Error {
  readonly status: number

  constructor(
    message: string,
    readonly detail: string,
    status?: number,
  ) {
    super(message)
    this.status = status ?? RECORDS_PROBLEMS[message] ?? 400
  }
}

/** The database or a chain's node does not answer: not the caller's fault and worth another try. */
export class UnavailableError extends Error {}

/** The request itself is malformed; its message, for the sender, is told in the form of the API it was sent to. */
export class RequestFault extends Error {
  /** @param statusCode 431 (RFC 6585) is for a head that is too large */
  constructor(
    message: string,
    readonly statusCode: 400 | 431 = 400,
  ) {
    super(message)
  }
}

/** Seconds after which another try makes sense when the database or a node was gone. */
const RETRY_AFTER_SECONDS = 5

/** What went wrong while a request was read, in words for its sender; undefined when it is our own fault. */
function requestFault(error: FastifyError): string | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return 'The body is not valid JSON.'
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return 'The body is empty; send a JSON object.'
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'Content-Type must be application/json.'
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return 'The body is too large: at most 5 MiB.'
  }
  return error.statusCode && error.statusCode >= 400 && error.statusCode < 500 ? error.message : undefined
}

/** The one error handler of /compute: whatever is thrown becomes problem details; a page for a browser that opens an address of it. */
export function computeErrorHandler(publicBaseUrl: string) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { slug, message, retryAfter } = asComputeProblem(error, request)
    const { status, contentType, body } = problemDocument(
      publicBaseUrl,
      slug,
      message,
      error instanceof RequestFault ? error.statusCode : undefined,
    )
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    if (wantsPage(request)) {
      const shown = JSON.parse(body) as { type: string; title: string; detail: string }
      return sendPage(
        reply.status(status).header('vary', 'accept'),
        problemPage({ ...shown, status, body: shown, about: shown.type }, publicBaseUrl),
      )
    }
    return reply.status(status).header('content-type', contentType).send(body)
  }
}

/** Problem details as they are sent. @param status the slug's own, unless HTTP has a better one for what is wrong with the request itself */
export function problemDocument(
  publicBaseUrl: string,
  slug: ProblemSlug,
  detail: string,
  status: number = COMPUTE_PROBLEMS[slug].status,
): { status: number; contentType: string; body: string } {
  const { title } = COMPUTE_PROBLEMS[slug]
  return {
    status,
    contentType: 'application/problem+json; charset=utf-8',
    body: JSON.stringify({ type: `${publicBaseUrl}/errors/${slug}`, title, status, detail }),
  }
}

function asComputeProblem(error: FastifyError, request: FastifyRequest): ComputeProblem {
  if (error instanceof ComputeProblem) return error
  if (error instanceof GeometryError) return new ComputeProblem('invalid-input', error.message)
  if (error instanceof UnavailableError) {
    request.log.warn({ reason: error.message }, 'a computation could not be done')
    return new ComputeProblem(
      'computation-error',
      `${error.message} Nothing was signed; try again in ${RETRY_AFTER_SECONDS} seconds.`,
      RETRY_AFTER_SECONDS,
    )
  }
  const fault = requestFault(error)
  if (fault) return new ComputeProblem('invalid-input', fault)
  request.log.error(error, 'a computation failed')
  return new ComputeProblem('computation-error', 'The computation failed on our side. Nothing was signed.')
}

/** The one error handler of /api, and of whatever lies outside both APIs. A browser gets a page, whoever else the same as JSON. */
export function recordsErrorHandler(publicBaseUrl: string) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { status, message, detail } = asRecordsProblem(error, request, reply)
    // What was said of the answer that was not to be.
    reply
      .removeHeader('etag')
      .removeHeader('content-disposition')
      .removeHeader('link')
      .headers({ 'cache-control': 'no-store', vary: 'accept' })
      .status(status)
    const body = { status: 'error', message, detail }
    return wantsPage(request)
      ? sendPage(reply, problemPage({ status, title: message, detail, body }, publicBaseUrl))
      : reply.send(body)
  }
}

function asRecordsProblem(error: FastifyError, request: FastifyRequest, reply: FastifyReply): RecordsProblem {
  if (error instanceof RecordsProblem) return error
  if (error instanceof UnavailableError) {
    request.log.warn({ reason: error.message }, 'a query could not be answered')
    reply.header('retry-after', RETRY_AFTER_SECONDS)
    return new RecordsProblem(
      'Temporarily unavailable',
      `${error.message} Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    )
  }
  const fault = requestFault(error)
  if (fault)
    return new RecordsProblem(
      'Invalid request',
      fault,
      error instanceof RequestFault ? error.statusCode : undefined,
    )
  request.log.error(error, 'a query failed')
  return new RecordsProblem('Internal error', 'The request failed on our side.')
}
