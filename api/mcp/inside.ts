import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * A `fetch` that sends requests to the service itself, without a network, as from the caller of another
 * request: they count for the same client.
 */
export function fetchInside(app: FastifyInstance, caller: FastifyRequest): typeof fetch {
  const { remoteAddress } = caller.socket
  // Gone before it was looked at; without an address it would count as this machine.
  if (remoteAddress === undefined) throw new Error('the caller is gone')
  // By which a client is told apart behind a proxy; no other header of the caller is passed on.
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
    })
    return new Response(statusCode === 204 || statusCode === 304 ? null : new Uint8Array(rawPayload), {
      status: statusCode,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      ),
    })
  }
}
