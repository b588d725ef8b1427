import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Returns a `fetch` that sends requests to the service itself, without a network, on behalf of the client of
 * another request: they count for the same client.
 * @param left aborted once the client has left, which ends the requests and their work
 */
export function fetchInside(app: FastifyInstance, caller: FastifyRequest, left: AbortSignal): typeof fetch {
  const { remoteAddress } = caller.socket
  // The client has already disconnected. Without an address, its requests would count as those of this
  // machine.
  if (remoteAddress === undefined) throw new Error('the caller is gone')
  // Identifies a client behind a reverse proxy. No other header of the client is forwarded.
  const forwarded = caller.headers['x-forwarded-for']
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const { statusCode, headers, rawPayload } = await app.inject({
      method: request.method,
      url: pathname + search,
      headers: {
        ...Object.fromEntries(request.headers),
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
      },
      ...(request.body && { payload: Buffer.from(await request.arrayBuffer()) }),
      remoteAddress,
      signal: left,
    })
    return new Response(statusCode === 204 || statusCode === 304 ? null : new Uint8Array(rawPayload), {
      status: statusCode,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      ),
    })
  }
}
