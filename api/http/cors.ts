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
 * Lets scripts of any origin read the answers of this scope, errors included: they are public, and depend on
 * no cookie or key. Register it before the rate limit, so that preflights are not counted.
 * @param headers of requests that are allowed; undefined: all that the preflight names
 */
export async function openToAllOrigins(
  scope: FastifyInstance,
  { methods = ['GET', 'HEAD'], headers }: { methods?: string[]; headers?: string[] } = {},
): Promise<void> {
  await scope.register(cors, {
    origin: '*',
    methods,
    ...(headers && { allowedHeaders: headers }),
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  })
}
