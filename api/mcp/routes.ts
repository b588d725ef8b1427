import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fetchInside } from './inside'
import { limitRequests, type RequestCounter } from '../http/limits'
import { mcpSchemas } from './openapi'
import { RequestError, StatusError, statusOf } from '../http/problems'

export interface McpParts {
  counter: RequestCounter
  /** Messages per hour and client; 0 = no limit. Requests of their tools count at the APIs that they call. */
  rateLimitPerHour: number
  publicBaseUrl: string
}

/**
 * Maximum size of a body in bytes: 3,000 positions, more than a model writes. Larger geometries are attested
 * and named by UID, or sent to /compute.
 */
const BODY_LIMIT = 65_536
/** Base URL of the tools' requests; this host is never contacted. */
const INSIDE = 'http://inside'
/** Error codes of JSON-RPC 2.0, 5.1. The last one is for requests that HTTP refuses. */
const CODES = { parseError: -32_700, internalError: -32_603, refused: -32_000 }

/**
 * Streamable HTTP at the scope's own path, without sessions or streams: POST accepts one message as JSON and
 * returns JSON. Pages of other origins are refused.
 */
export async function mcpRoutes(app: FastifyInstance, parts: McpParts): Promise<void> {
  const { counter, rateLimitPerHour, publicBaseUrl } = parts
  let answer: ReturnType<Awaited<ReturnType<typeof packages>>['createHttpHandler']> | undefined
  app.setErrorHandler(errorHandler)
  app.addHook('onRequest', async (request) => refuseForeignPages(request, publicBaseUrl))
  const where = `Send each message to ${publicBaseUrl}/mcp by POST.`
  app.setNotFoundHandler(({ method, url }) => {
    if (/^\/mcp\/?(\?|$)/.test(url) && method !== 'POST')
      throw new StatusError(405, `${where} There are no sessions and no streams.`, { allow: 'POST' })
    throw new StatusError(404, `Not found. ${where}`)
  })

  await app.register(async (scope) => {
    await limitRequests(scope, {
      scope: 'mcp',
      perHour: rateLimitPerHour,
      counter,
      byTime: false,
      tooMany: (perHour, after) =>
        new StatusError(
          429,
          `More than ${perHour} messages in an hour from your IP address. Retry in ${after}.`,
        ),
    })
    scope.post(
      '/',
      { schema: mcpSchemas.message, bodyLimit: BODY_LIMIT, prefixTrailingSlash: 'no-slash' },
      async (request, reply) => {
        const abort = new AbortController()
        reply.raw.once('close', () => abort.abort())
        if (reply.raw.destroyed) abort.abort()
        const { createGeo, createHttpHandler, createMcpServer } = await packages()
        answer ??= createHttpHandler((error) =>
          app.log.debug({ reason: error.message }, 'a message was rejected'),
        )
        const geo = createGeo({ url: INSIDE, fetch: fetchInside(app, request, abort.signal), retries: 0 })
        const onError = (error: unknown) => request.log.error(error, 'a tool failed')
        const response = await answer(webRequest(request, abort.signal), request.body, () =>
          createMcpServer({ geo, onError }),
        )
        return send(reply, response.status, await response.text())
      },
    )
  })
}

/** Loads the packages with the first message: they have 500 files, a quarter of what the API loads. */
async function packages() {
  const [client, mcp] = await Promise.all([
    import('@geospatial-attestation/client'),
    import('@geospatial-attestation/mcp'),
  ])
  return { ...client, ...mcp }
}

/** Converts a request for the SDK, with JSON as the response: some clients do not support streams. */
function webRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('mcp-') && typeof value === 'string' ? [[name, value] as [string, string]] : [],
  )
  return new Request(`${INSIDE}/mcp`, {
    method: 'POST',
    headers: [
      ...passed,
      ['content-type', 'application/json'],
      ['accept', 'application/json, text/event-stream'],
    ],
    signal,
  })
}

/**
 * Refuses requests of pages of other origins, as the specification requires: a page in a browser could
 * otherwise reach a service on its user's machine, through a host name that resolves to it (DNS rebinding).
 */
function refuseForeignPages({ headers: { origin } }: FastifyRequest, publicBaseUrl: string): void {
  if (origin === undefined || origin === new URL(publicBaseUrl).origin) return
  throw new StatusError(
    403,
    'The header Origin must be that of this service. Connect from a program that sends no Origin.',
  )
}

function send(reply: FastifyReply, status: number, body: string): FastifyReply {
  reply.status(status).headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  return body === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(body)
}

async function errorHandler(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [status, code, message] = refusalOf(error, request, reply)
  const { jsonRpcError } = await packages()
  return send(reply, status, JSON.stringify(jsonRpcError(code, message)))
}

function refusalOf(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): [status: number, code: number, message: string] {
  const refused = statusOf(
    error,
    reply,
    `The body is too large. The maximum is ${BODY_LIMIT / 1024} KiB. For a larger geometry, ` +
      'attest it and send its UID, or use /compute.',
  )
  if (refused)
    return [refused.status, error instanceof RequestError ? CODES.parseError : CODES.refused, refused.message]
  request.log.error(error, 'a message failed')
  return [500, CODES.internalError, 'The message failed because of an error in the service.']
}
