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

/** The request that each connection brought last. */
const exchanges = new WeakMap<Socket, { request: FastifyRequest; reply: FastifyReply }>()

/**
 * What holds for any request, in the form of the API that it is for. Refused before it is counted or read: no Host, a
 * compressed body. Of bodies: all but JSON in UTF-8, `__proto__`, deep nesting. After `answerMs` it is told that there is no
 * answer. Before the routes, so that it applies to them all.
 */
export function guardEdge(app: FastifyInstance, answerMs: number, measurer: Measurer): void {
  app.decorateRequest('rawBody', undefined)
  app.addHook('onRequest', async (request, reply) => {
    exchanges.set(request.raw.socket, { request, reply })
    // Fastify's handlerTimeout (5.12.8) ends when the body has been read.
    const timer = setTimeout(() => {
      // A stream that is under way is its own watch.
      if (!reply.sent && !reply.raw.headersSent) reply.send(new UnavailableError('There was no answer in time.'))
    }, answerMs)
    reply.raw.once('close', () => clearTimeout(timer))
    // RFC 9112, 3.2. Node would answer this itself, with an empty body.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) throw new RequestFault('The header Host is missing.')
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new RequestFault('Content-Encoding: not accepted; send the body as it is.')
  })
  // An expectation other than 100-continue is ignored (RFC 9110, 10.1.1). Node would answer 417 with an empty body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.removeContentTypeParser(['text/plain', 'application/json'])
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    // Nobody reads it.
    if (request.is404) return undefined
    request.rawBody = body
    const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(request.headers['content-type']!)?.[1]
    if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) throw new RequestFault('Content-Type: charset must be utf-8.')
    return body.length > LARGE_BODY ? measurer.read(body, clientOf(request)) : parseBody(body)
  })
}

/**
 * Answers what fails below HTTP's requests (a malformed or oversize head, a broken or unfinished body) in the form of its API;
 * where no path is known, as problem details. Never before the answers to earlier requests of the connection, nor in their place.
 */
export function clientErrorHandler(publicBaseUrl: string) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const detail = connectionFault(error.code)
    const last = exchanges.get(socket)
    const answer = () => socket.writable && socket.end(rawAnswer(publicBaseUrl, detail))
    if (!last) answer()
    else if (last.request.raw.complete) afterwards(last.reply, answer)
    else if (last.reply.sent) afterwards(last.reply, () => socket.end())
    else last.reply.header('connection', 'close').send(new RequestFault(detail))
  }
}

function afterwards({ raw }: FastifyReply, then: () => void): void {
  if (raw.writableFinished) then()
  else raw.once('close', then)
}

function connectionFault(code: string | undefined): string {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'The request did not arrive whole in time.'
    case 'HPE_HEADER_OVERFLOW':
      return 'The head of the request is too large: at most 16 KiB.'
  }
  return 'This is not valid HTTP/1.1.'
}

function rawAnswer(publicBaseUrl: string, detail: string): string {
  const { status, contentType, body } = problemDocument(publicBaseUrl, 'invalid-input', detail)
  return `HTTP/1.1 ${status} Bad Request\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\ndate: ${new Date().toUTCString()}\r\nconnection: close\r\n\r\n${body}`
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
