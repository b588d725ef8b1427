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

/**
 * Lets scripts of any origin read all answers, errors included: they are public, and depend on no cookie.
 * Register it before the rate limits, so that preflights are not counted.
 */
export async function openToAllOrigins(app: FastifyInstance): Promise<void> {
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  })
}
