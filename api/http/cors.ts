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
export async function openToAllOrigins(app: FastifyInstance): Promise<void> {
  await app.register(cors, {
    hook: 'onRequest',
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url === UNSHARED)
      for (const name of Object.keys(OPEN)) void reply.removeHeader(name)
    done()
  })
}
