import type { Socket } from 'node:net'
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RequestFault, UnavailableError, problemDocument } from './problems'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was received; undefined when there was none. */
    rawBody: Buffer | undefined
  }
}

/** Objects and arrays in one another. A collection of collections to the kernel's limit, in a Feature, in a batch, needs less than half. */
const MAX_NESTING = 64

/** The request that each connection brought last. */
const exchanges = new WeakMap<Socket, { request: FastifyRequest; reply: FastifyReply }>()

/**
 * What holds for any request, in the form of the API that it is for. Refused before it is counted or read: no Host, a
 * compressed body. Of bodies: all but JSON in UTF-8, `__proto__`, deep nesting. After `answerMs` it is told that there is no
 * answer. Before the routes, so that it applies to them all.
 */
export function guardEdge(app: FastifyInstance, answerMs: number): void {
  app.decorateRequest('rawBody', undefined)
  app.addHook('onRequest', async (request, reply) => {
    exchanges.set(request.raw.socket, { request, reply })
    // Fastify's handlerTimeout (5.12.8) ends when the body has been read.
    const timer = setTimeout(() => {
      if (!reply.sent) reply.send(new UnavailableError('There was no answer in time.'))
    }, answerMs)
    reply.raw.once('close', () => clearTimeout(timer))
    // RFC 9112, 3.2. Node would answer this itself, with an empty body.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) throw new RequestFault('The header Host is missing.')
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new RequestFault('Content-Encoding: not accepted; send the body as it is.')
  })
  // An expectation other than 100-continue is ignored (RFC 9110, 10.1.1). Node would answer 417 with an empty body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(['text/plain', 'application/json'])
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.rawBody = body
    const fault = bodyFault(body, request.headers['content-type']!)
    if (fault) return done(new RequestFault(fault))
    const text = body.toString()
    return parse(request, text, (error, value) => (error && isJson(text) ? done(new RequestFault('The body must not hold __proto__, nor a constructor with a prototype.')) : done(error, value as unknown)))
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

function bodyFault(body: Buffer, contentType: string): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(contentType)?.[1]
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) return 'Content-Type: charset must be utf-8.'
  if (!isUtf8(body)) return 'The body is not valid UTF-8.'
  if (nestsDeeper(body, MAX_NESTING)) return `The body is nested deeper than ${MAX_NESTING} levels.`
  return undefined
}

/** By counting only, as what follows may recurse. 5 MiB take 15 ms. */
function nestsDeeper(json: Buffer, levels: number): boolean {
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!
    if (byte === QUOTE) {
      while (++i < json.length && json[i] !== QUOTE) if (json[i] === BACKSLASH) i++
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > levels) return true
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
  }
  return false
}
const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\[]{}') as unknown as [number, number, number, number, number, number]

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
