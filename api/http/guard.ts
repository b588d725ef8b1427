import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import {
  errorCodes,
  LogController,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { cut } from '../../src/cut'
import { parseBody } from './body'
import { OPEN } from './cors'
import { clientOf } from './limits'
import { OWN_WORK, type Work } from './work'
import {
  computeErrorHandler,
  computeProblem,
  ownShareUsed,
  PROBLEM_TYPE,
  notUtf8,
  QueryStringError,
  recordsErrorHandler,
  RequestError,
  SlowRequestError,
  UnavailableError,
} from './problems'

declare module 'fastify' {
  interface FastifyRequest {
    /** JSON body as received, for requests that need it; undefined if there was none. */
    rawBody: Buffer | undefined
  }
}

/** Bytes above which a worker parses a body: on the event loop 64 kB take 0.5 ms, 5 MiB take 70. */
const LARGE_BODY = 65_536
/**
 * Maximum bytes in memory for one client: of large bodies of unanswered requests, and of large responses that
 * it has not read. A body may take ten seconds to arrive, and a response half a minute between two reads, in
 * which one client could otherwise fill the memory.
 */
const BYTES_EACH = 100 * 1_048_576
/** Maximum number of headers. Browsers send 20, proxies add some. Node silently drops those beyond 1,000. */
const MAX_HEADERS = 100
/** Node itself enforces the size limit of 16 KiB. */
const HEAD_TOO_LARGE = `The URL and the headers of the request are too large: at most 16 KiB together, and ${MAX_HEADERS} headers.`
const NOT_HTTP = 'The request is not valid HTTP/1.1.'

/** Parses a body of more than LARGE_BODY bytes off the event loop. May transfer the memory of its pieces. */
export type ParseLarge = (pieces: readonly Buffer[], work: Work) => Promise<unknown>

class HeldBytes {
  private readonly bytesOf = new Map<string, number>()
  private readonly held = new WeakMap<FastifyRequest, number>()
  private readonly ended = new WeakSet<FastifyRequest>()

  /** Adds bytes for a request. Returns false if its client holds too many, or the request has ended. */
  add(request: FastifyRequest, bytes: number): boolean {
    if (this.ended.has(request)) return false
    const client = clientOf(request)
    const all = (this.bytesOf.get(client) ?? 0) + bytes
    this.bytesOf.set(client, all)
    this.held.set(request, (this.held.get(request) ?? 0) + bytes)
    return all <= BYTES_EACH
  }

  release(request: FastifyRequest): void {
    this.ended.add(request)
    const bytes = this.held.get(request)
    if (bytes === undefined) return
    const client = clientOf(request)
    const left = this.bytesOf.get(client)! - bytes
    if (left) this.bytesOf.set(client, left)
    else this.bytesOf.delete(client)
  }
}

/** Last request of each connection. */
const exchanges = new WeakMap<Socket, { request: FastifyRequest; reply: FastifyReply }>()

/** Notes a request, so that it gets no second response, and opens its response to scripts of any origin. */
function beginExchange(request: FastifyRequest, reply: FastifyReply): void {
  exchanges.set(request.raw.socket, { request, reply })
  reply.headers(OPEN)
}

/** Requests that had no response in time. Their handler may still send one, in addition to the error. */
const late = new WeakSet<FastifyReply>()
/** Status and headers of the responses to late requests, as they began to be sent. */
const heads = new WeakMap<FastifyReply, { status: number; headers: ReturnType<FastifyReply['getHeaders']> }>()
/** Headers that describe a body. */
const OF_BODY = ['content-type', 'content-disposition', 'etag', 'link', 'cache-control', 'location'] as const

/** Drops the second response to a late request, and restores the head of the first. */
function dropSecond(reply: FastifyReply, payload: unknown): void {
  const { status, headers } = heads.get(reply)!
  for (const name of OF_BODY) reply.removeHeader(name)
  reply.headers(headers).status(status)
  if (payload instanceof Readable) payload.destroy()
}

/** Responses that pass the `onSend` hooks, or did. Fastify's `sent` is true only after the last byte. */
const begun = new WeakSet<FastifyReply>()

/** True if a request has its response, or will have the one that is being prepared to be sent. */
export function isAnswered(reply: FastifyReply): boolean {
  return begun.has(reply) || reply.sent || reply.raw.headersSent
}

/** Milliseconds for a request to arrive, for its response, and of a connection without data. */
export interface Timeouts {
  request: number
  answer: number
  idle?: number
}

/** Options of a server whose requests `guardRequests` checks. */
export function guardedOptions(
  { publicBaseUrl, trustProxy }: { publicBaseUrl: string; trustProxy: readonly string[] },
  { request, answer, idle = answer + 2_000 }: Timeouts,
) {
  return {
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: request,
    connectionTimeout: idle,
    http: {
      connectionsCheckingInterval: Math.min(1_000, request),
      headersTimeout: request,
      // `guardRequests` refuses a request without Host.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle' as const,
    clientErrorHandler: clientErrorHandler(publicBaseUrl),
    frameworkErrors: frameworkErrorHandler(publicBaseUrl),
    trustProxy: trustProxy.length ? [...trustProxy] : false,
  }
}

/**
 * Milliseconds after a stop in which the first request of a connection may still be read: a busy process has
 * accepted connections whose request is in the system's buffer, and closing them would lose it.
 */
const SPARE_MS = 200

/**
 * Closes connections when the server stops: those on which nothing was sent, such as the spare connections of
 * browsers, and later each one whose last response is sent. Node closes only those that are idle at the stop.
 */
function closeConnectionsAtStop(app: FastifyInstance): void {
  const open = new Set<Socket>()
  let isStopping = false
  app.server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('preClose', (done) => {
    isStopping = true
    const closeSpare = () =>
      [...open].filter(({ bytesRead }) => bytesRead === 0).map((each) => each.destroy())
    setTimeout(closeSpare, SPARE_MS).unref()
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    // Without the header, the client may send its next request while the connection is being closed. With it,
    // fetch of Node 20 would accept a stream that the stop cuts off as complete.
    const isLast = isStopping && exchanges.get(request.raw.socket)?.reply === reply
    if (isLast && !(payload instanceof Readable)) reply.header('connection', 'close')
    done(null, payload)
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    // The connection is idle once this response has ended, unless another request has arrived on it.
    if (isStopping) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}

/**
 * Checks every request. Before it is counted or read, these are refused: another version of HTTP, too many
 * headers, a missing Host, a compressed body. Then bodies are refused that are not JSON in UTF-8, contain
 * `__proto__`, or nest too deep. A request without a response after `answerMs` gets an error. Errors have the
 * form of the requested API. Register it before the routes, so that it applies to all of them.
 * @param keepsBody true if a request needs the bytes of its body (`rawBody`), in addition to the parsed value
 */
export function guardRequests(
  app: FastifyInstance,
  answerMs: number,
  parseLarge: ParseLarge = async (pieces) => parseBody(Buffer.concat(pieces)),
  keepsBody: (request: FastifyRequest) => boolean = () => false,
): void {
  const largeBodies = new HeldBytes()
  closeConnectionsAtStop(app)
  app.decorateRequest('rawBody', undefined)
  app.decorateRequest('work', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    beginExchange(request, reply)
    // Fastify's handlerTimeout (5.12.8) does not cover the time after the body has been read.
    const timer = setTimeout(() => {
      // A response that has started, such as a stream, has its own time limits.
      if (isAnswered(reply)) return
      late.add(reply)
      reply.send(new UnavailableError('The service did not respond in time.'))
    }, answerMs)
    reply.raw.once('close', () => {
      clearTimeout(timer)
      largeBodies.release(request)
    })
    const fault = headFault(request)
    if (fault?.statusCode === 431) reply.header('connection', 'close')
    done(fault)
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (heads.has(reply)) return dropSecond(reply, payload)
    begun.add(reply)
    if (late.has(reply)) heads.set(reply, { status: reply.statusCode, headers: { ...reply.getHeaders() } })
    done(null, payload)
  })
  // Expectations except 100-continue are ignored (RFC 9110, 10.1.1). Node would return 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.removeContentTypeParser(['text/plain', 'application/json'])
  const parse = (request: FastifyRequest, pieces: Buffer[], length: number): unknown => {
    // No route will read the body. Clients may name a content type even without a body.
    if (request.is404 || (length === 0 && !takesBody(request))) return undefined
    if (keepsBody(request)) request.rawBody = Buffer.concat(pieces)
    const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(request.headers['content-type']!)?.[1]
    if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset))
      throw new RequestError(`Content-Type: expected the charset utf-8, got '${cut(charset, 40)}'.`)
    if (length > LARGE_BODY)
      return parseLarge(pieces, request.work ?? { ...OWN_WORK, client: clientOf(request) })
    return parseBody(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
  }
  app.addContentTypeParser('application/json', (request, payload, done) => {
    receive(request, payload, largeBodies, (error, pieces, length) => {
      if (error) return done(error)
      try {
        const parsed = parse(request, pieces, length)
        if (parsed instanceof Promise) parsed.then((body) => done(null, body), done)
        else done(null, parsed)
      } catch (error) {
        done(error as Error)
      }
    })
  })
}

/** Refuses large responses to a client that has not read those before. Counts bytes before compression. */
export function boundResponses(app: FastifyInstance): void {
  const unread = new HeldBytes()
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0
    if (bytes <= LARGE_BODY || reply.raw.destroyed) return done(null, payload)
    reply.raw.once('close', () => unread.release(request))
    if (unread.add(request, bytes)) return done(null, payload)
    reply.removeHeader('content-encoding')
    done(ownShareUsed('Too many large responses to you have not been read. Read them, and retry.'))
  })
}

/** True if a route documents a body, or has no schema. */
function takesBody({ routeOptions: { schema } }: FastifyRequest): boolean {
  return schema === undefined || schema.body !== undefined
}

/**
 * Receives a body in pieces, unlike Fastify's `parseAs`, which joins them: the garbage of large bodies in
 * this thread makes V8 collect all of its memory every 60 requests.
 */
function receive(
  request: FastifyRequest,
  payload: IncomingMessage,
  largeBodies: HeldBytes,
  done: (error: Error | null, pieces: Buffer[], length: number) => void,
): void {
  const { routeOptions, headers } = request
  const limit = routeOptions.bodyLimit
  const stated = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  const pieces: Buffer[] = []
  let length = 0
  if (stated !== undefined && stated > limit)
    return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(), pieces, 0)
  const finish = (error: Error | null) => {
    payload.off('data', onData).off('end', onEnd).off('error', onError)
    done(error, pieces, length)
  }
  const onData = (piece: Buffer) => {
    const isNew = length <= LARGE_BODY
    length += piece.length
    if (length > limit) finish(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    else if (length > LARGE_BODY && !largeBodies.add(request, isNew ? length : piece.length))
      finish(ownShareUsed('Too many large bodies of your requests are being processed. Retry later.'))
    else pieces.push(piece)
  }
  const onEnd = () =>
    finish(
      stated !== undefined && stated !== length ? new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH() : null,
    )
  const onError = (error: Error & { statusCode?: number }) => {
    if (!(error.statusCode! >= 400)) error.statusCode = 400
    finish(error)
  }
  payload.on('data', onData).on('end', onEnd).on('error', onError)
}

/** Returns the problem of a request's line or headers; undefined if they are valid. */
function headFault({ raw, headers }: FastifyRequest): RequestError | undefined {
  const { httpVersion, rawHeaders, url = '' } = raw
  // Node's parser also accepts HTTP/0.9, and HTTP/2.0 without its preface.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new RequestError(NOT_HTTP)
  // The array holds names and values.
  if (rawHeaders.length > 2 * MAX_HEADERS) return new RequestError(HEAD_TOO_LARGE, 431)
  // RFC 9112, 3.2. Node itself would return an empty body.
  if (httpVersion === '1.1' && headers.host === undefined)
    return new RequestError('The header Host is missing.')
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return new RequestError('Content-Encoding: expected none. Send the body uncompressed.')
  if (!isEncoded(url)) return new QueryStringError(notUtf8('query string'))
  return undefined
}

/** True if the query is percent-encoded UTF-8. Fastify accepts other bytes, which a search never finds. */
function isEncoded(url: string): boolean {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('%', start)) return true
  try {
    decodeURIComponent(url.slice(start))
    return true
  } catch {
    return false
  }
}

/**
 * Handles errors that occur before there is a complete request (malformed or oversize headers, a broken or
 * unfinished body). They have the form of the requested API, or of problem details if the path is unknown.
 * The error follows the responses to earlier requests of the connection, and never replaces one.
 */
function clientErrorHandler(publicBaseUrl: string) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // Browsers open spare connections. An error on one would be the response to a request that the browser
    // sends at that moment, whereas a request on a closed connection is sent again.
    const isSpare = socket.bytesRead === 0
    if (isSpare || error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const fault = connectionFault(error.code)
    const last = exchanges.get(socket)
    const answer = () => socket.writable && socket.end(rawAnswer(publicBaseUrl, fault))
    if (!last) answer()
    else if (last.request.raw.complete) afterwards(last.reply, answer)
    else if (isAnswered(last.reply)) afterwards(last.reply, () => socket.end())
    else last.reply.header('connection', 'close').send(fault)
  }
}

/** Handles a URL that cannot be decoded. It fails before routing; its error has the form of its API. */
function frameworkErrorHandler(publicBaseUrl: string) {
  const onComputeError = computeErrorHandler(publicBaseUrl)
  const onRecordsError = recordsErrorHandler(publicBaseUrl)
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    beginExchange(request, reply)
    if (isOfCompute(request.url)) onComputeError(error, request, reply)
    else onRecordsError(error, request, reply)
  }
}

function afterwards({ raw }: FastifyReply, then: () => void): void {
  if (raw.writableFinished) then()
  else raw.once('close', then)
}

function connectionFault(code: string | undefined): RequestError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new SlowRequestError()
  return code === 'HPE_HEADER_OVERFLOW' ? new RequestError(HEAD_TOO_LARGE, 431) : new RequestError(NOT_HTTP)
}

function rawAnswer(publicBaseUrl: string, { message, statusCode: status }: RequestError): string {
  const body = JSON.stringify(computeProblem(publicBaseUrl, 'invalid-input', message, status))
  const headers = {
    ...{ 'content-type': PROBLEM_TYPE, 'content-length': Buffer.byteLength(body) },
    ...{ date: new Date().toUTCString(), connection: 'close', ...OPEN },
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

/** True if a raw target, also in absolute form or undecodable after its first segment, lies in /compute. */
function isOfCompute(target: string): boolean {
  const segment = /^(?:https?:\/\/[^/]*)?\/([^/?#;]*)/i.exec(target)?.[1] ?? ''
  try {
    return ['compute', 'quorum'].includes(decodeURIComponent(segment))
  } catch {
    return false
  }
}
