import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
} from '@modelcontextprotocol/server'
import { INVALID_REQUEST, jsonRpcError, lackingParams } from './params'

/** Answers one request; `body` is its parsed JSON, `server` makes the server that answers it. */
export type HttpHandler = (request: Request, body: unknown, server: () => McpServer) => Promise<Response>

/** Nobody sees it; the SDK uses the same one. */
const CLIENT_LEFT = 499

/**
 * Streamable HTTP without sessions: each POST gets a server of its own, and JSON in answer, whatever revision
 * of the protocol it speaks. No stream is ever opened, so nothing outlives its request.
 * @param onError told of what was refused, and of our own faults; the caller gets an answer in any case
 */
export function createHttpHandler(onError: (error: Error) => void = () => {}): HttpHandler {
  const servers = new WeakMap<Request, () => McpServer>()
  const current = createMcpHandler(({ requestInfo }) => servers.get(requestInfo!)!(), {
    legacy: 'reject',
    maxSubscriptions: 0,
    onerror: onError,
  })
  return async (request, body, server) => {
    if (Array.isArray(body))
      return Response.json(
        jsonRpcError(INVALID_REQUEST, 'One message a request: batches are not answered.'),
        { status: 400 },
      )
    const lacking = lackingParams(body)
    if (lacking) return Response.json(lacking)
    if (await isLegacyRequest(request, body)) return answerEarlier(request, body, server())
    servers.set(request, server)
    return current.fetch(request, { parsedBody: body })
  }
}

/** The revisions of 2025, which the SDK's handler answers as streams. */
async function answerEarlier(request: Request, parsedBody: unknown, server: McpServer): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  // The transport answers nobody who has left.
  const left = new Promise<Response>((resolve) => {
    const leave = () => resolve(new Response(null, { status: CLIENT_LEFT }))
    if (request.signal.aborted) leave()
    else request.signal.addEventListener('abort', leave, { once: true })
  })
  try {
    await server.connect(transport)
    return await Promise.race([transport.handleRequest(request, { parsedBody }), left])
  } finally {
    void server.close().catch(() => {})
  }
}
