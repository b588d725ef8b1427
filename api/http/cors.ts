import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Response headers that a script of another origin may read. */
const EXPOSED = [
  'Link',
  'ETag',
  'Content-Disposition',
  'Retry-After',
  'Allow',
  // The client compares the log's promise with this time (packages/client/src/log.ts).
  'Date',
  ...['RateLimit', 'X-RateLimit'].flatMap((prefix) =>
    ['Limit', 'Remaining', 'Reset'].map((name) => `${prefix}-${name}`),
  ),
]
/** Headers of all responses but the metrics, which the guard sets first, so that its own errors have them. */
export const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED.join(', '),
} as const
const PREFLIGHT_SECONDS = 86_400

/** Only for the operator's scraper: pages in browsers of the operator's network must not read it. */
const UNSHARED = '/metrics'

/**
 * Lets scripts of any origin read all responses, including errors, except the metrics. The responses are
 * public and need no cookie. Register it before the rate limits, so that preflights are not counted.
 */
export function openToAllOrigins(app: FastifyInstance): void {
  // The hook also runs for paths that no route matches.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS') return void preflight(request, reply)
    if (request.routeOptions.url === UNSHARED)
      for (const name of Object.keys(OPEN)) void reply.removeHeader(name)
    done()
  })
}

function preflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asked = headers['access-control-request-headers']
  if (asked !== undefined) void reply.header('access-control-allow-headers', asked)
  return reply
    .status(204)
    .headers({
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-max-age': PREFLIGHT_SECONDS,
      vary: 'Access-Control-Request-Headers',
      'content-length': 0,
    })
    .send()
}
