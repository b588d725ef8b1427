// SPDX-License-Identifier: MIT
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
} from '@modelcontextprotocol/server'
import { INVALID_REQUEST, jsonRpcError, lackingParams } from './params'

/** Responds to one request; `body` is its parsed JSON, and `server` creates the server that handles it. */
export type HttpHandler = (request: Request, body: unknown, server: () => McpServer) => Promise<Response>

/** Status for a client that has disconnected. Nobody receives it; the SDK uses the same status. */
const CLIENT_LEFT = 499

/**
 * Creates a handler for Streamable HTTP without sessions. Each POST gets its own server and a JSON response,
 * with every revision of the protocol. No stream is opened, so nothing outlives its request.
 *
 * @param onError called with rejected requests and internal errors; the client gets a response in any case
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
        jsonRpcError(INVALID_REQUEST, 'Batches are not supported. Send one message per request.'),
        { status: 400 },
      )
    const lacking = lackingParams(body)
    if (lacking) return Response.json(lacking)
    if (await isLegacyRequest(request, body)) return answerEarlier(request, body, server())
    servers.set(request, server)
    return current.fetch(request, { parsedBody: body })
  }
}

/** Handles the 2025 revisions of the protocol, to which the SDK's handler would respond with streams. */
async function answerEarlier(request: Request, parsedBody: unknown, server: McpServer): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  // The transport does not respond to a client that has disconnected.
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
