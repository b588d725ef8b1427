import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** What a script of another origin may read of an answer, beside its body. */
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
/** As long as browsers remember a preflight at most. */
const PREFLIGHT_SECONDS = 86_400

/** Lets scripts of any origin read what lies in this scope, errors included: it is public, and no cookie or key plays a part. Before the limits, so that a preflight is not counted. */
export async function openToAllOrigins(
  scope: FastifyInstance,
  methods: readonly string[] = ['GET', 'HEAD'],
): Promise<void> {
  await scope.register(cors, {
    origin: '*',
    methods: [...methods],
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  })
}
