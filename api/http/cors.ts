import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** Headers of an answer that a script of another origin may read. */
const EXPOSED = [
  'Link',
  'ETag',
  'Content-Disposition',
  'Retry-After',
  'Allow',
  ...['RateLimit', 'X-RateLimit'].flatMap((prefix) =>
    ['Limit', 'Remaining', 'Reset'].map((name) => `${prefix}-${name}`),
  ),
]
/** No browser keeps the answer to a preflight longer. */
const PREFLIGHT_SECONDS = 86_400

/** For the operator's scraper: a page in a browser of the operator's network must not read it. */
const UNSHARED = '/metrics'

/**
 * Lets scripts of any origin read all answers but the metrics, errors included: they are public, and need no
 * cookie. Register it before the rate limits, so that preflights are not counted.
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
