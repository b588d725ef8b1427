import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

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
const PREFLIGHT_SECONDS = 86_400

/** Only for the operator's scraper: pages in browsers of the operator's network must not read it. */
const UNSHARED = '/metrics'

/**
 * Lets scripts of any origin read all responses, including errors, except the metrics. The responses are
 * public and need no cookie. Register it before the rate limits, so that preflights are not counted.
 */
export async function openToAllOrigins(app: FastifyInstance): Promise<void> {
  await app.register(cors, {
    hook: 'onRequest',
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url === UNSHARED)
      for (const name of ['access-control-allow-origin', 'access-control-expose-headers'])
        void reply.removeHeader(name)
    done()
  })
}
