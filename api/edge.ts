import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseBody } from './body'
import { clientOf } from './limits'
import type { Measurer } from './measure'
import { RequestFault, UnavailableError, problemDocument } from './problems'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was received; undefined when there was none. */
    rawBody: Buffer | undefined
  }
}

/** Bytes above which a body is parsed, and its geometries read, in a worker: 64 kB would hold the event loop for half a millisecond, 5 MiB for 70. */
const LARGE_BODY = 65_536
/** Headers of one request. Browsers send 20, proxies add some; Node would drop those beyond 1,000 without a word. */
const MAX_HEADERS = 100
/** The bytes are Node's own limit. */
const HEAD_TOO_LARGE = `The head of the request is too large: at most ${MAX_HEADERS} headers and 16 KiB.`
const NOT_HTTP = 'This is not valid HTTP/1.1.'

/** The request that each connection brought last. */
const exchanges = new WeakMap<Socket, { request: FastifyRequest; reply: FastifyReply }>()

/**
 * What holds for any request, in the form of the API that it is for. Refused before it is counted or read: another version
 * of HTTP, too many headers, no Host, a compressed body. Of bodies: all but JSON in UTF-8, `__proto__`, deep nesting. After `answerMs` it is told that there is no
 * answer. Before the routes, so that it applies to them all.
 */
export function guardEdge(app: FastifyInstance, answerMs: number, measurer: Measurer): void {
  app.decorateRequest('rawBody', undefined)
  app.addHook('onRequest', async (request, reply) => {
    exchanges.set(request.raw.socket, { request, reply })
    // Fastify's handlerTimeout (5.12.8) ends when the body has been read.
    const timer = setTimeout(() => {
      // A stream that is under way is its own watch.
      if (!reply.sent && !reply.raw.headersSent)
        reply.send(new UnavailableError('There was no answer in time.'))
    }, answerMs)
    reply.raw.once('close', () => clearTimeout(timer))
    const { httpVersion, rawHeaders } = request.raw
    // Node's parser also takes 0.9, and 2.0 where its preface is missing.
    if (httpVersion !== '1.1' && httpVersion !== '1.0') throw new RequestFault(NOT_HTTP)
    // Names and values.
    if (rawHeaders.length > 2 * MAX_HEADERS) {
      reply.header('connection', 'close')
      throw new RequestFault(HEAD_TOO_LARGE, 431)
    }
    // RFC 9112, 3.2. Node would answer this itself, with an empty body.
    if (httpVersion === '1.1' && request.headers.host === undefined)
      throw new RequestFault('The header Host is missing.')
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
      throw new RequestFault('Content-Encoding: not accepted; send the body as it is.')
  })
  // An expectation other than 100-continue is ignored (RFC 9110, 10.1.1). Node would answer 417 with an empty body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.removeContentTypeParser(['text/plain', 'application/json'])
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      // Nobody reads it.
      if (request.is404) return undefined
      request.rawBody = body
      const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(request.headers['content-type']!)?.[1]
      if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset))
        throw new RequestFault('Content-Type: charset must be utf-8.')
      return body.length > LARGE_BODY ? measurer.read(body, clientOf(request)) : parseBody(body)
    },
  )
}

/**
 * Answers what fails below HTTP's requests (a malformed or oversize head, a broken or unfinished body) in the form of its API;
 * where no path is known, as problem details. Never before the answers to earlier requests of the connection, nor in their place.
 */
export function clientErrorHandler(publicBaseUrl: string) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const fault = connectionFault(error.code)
    const last = exchanges.get(socket)
    const answer = () => socket.writable && socket.end(rawAnswer(publicBaseUrl, fault))
    if (!last) answer()
    else if (last.request.raw.complete) afterwards(last.reply, answer)
    else if (last.reply.sent) afterwards(last.reply, () => socket.end())
    else last.reply.header('connection', 'close').send(fault)
  }
}

function afterwards({ raw }: FastifyReply, then: () => void): void {
  if (raw.writableFinished) then()
  else raw.once('close', then)
}

function connectionFault(code: string | undefined): RequestFault {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RequestFault('The request did not arrive whole in time.')
    case 'HPE_HEADER_OVERFLOW':
      return new RequestFault(HEAD_TOO_LARGE, 431)
  }
  return new RequestFault(NOT_HTTP)
}

function rawAnswer(publicBaseUrl: string, { message, statusCode }: RequestFault): string {
  const { status, contentType, body } = problemDocument(publicBaseUrl, 'invalid-input', message, statusCode)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\ndate: ${new Date().toUTCString()}\r\nconnection: close\r\n\r\n${body}`
}

/** Whether a request target, as it came, lies in /compute: also in absolute form, and where it does not decode further on. */
export function isOfCompute(target: string): boolean {
  const segment = /^(?:https?:\/\/[^/]*)?\/([^/?#;]*)/i.exec(target)?.[1] ?? ''
  try {
    return decodeURIComponent(segment) === 'compute'
  } catch {
    return false
  }
}
