import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { weighted } from './accept'

/** Media types that are compressed. Event streams are excluded, because each event must be sent at once. */
const TEXTS =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|xml|javascript|yaml)\b|image\/svg)/
/** Minimum bytes of a compressed body. A smaller one fits into two packets: compression saves no time. */
const SMALL = 2_048
const compressors = {
  // Quality 4 compresses JSON better than gzip does, in less CPU time.
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body),
}
type Coding = keyof typeof compressors

/** Compressed forms of a cached body, computed once for all its responses. */
const compressed = new WeakMap<Buffer, Partial<Record<Coding, Promise<Buffer>>>>()

/**
 * Compresses text bodies of the routes that are registered after this call, as the client accepts, except
 * streams. Strong ETags become weak, because they identify exact bytes (RFC 9110, 8.8.3).
 */
export function compressTexts(app: FastifyInstance): void {
  // Fastify runs a route's hooks after those of its scopes: this one after that which caches the uncompressed
  // body, and before Fastify's own that removes the body of HEAD, which has the headers of GET.
  app.addHook('onRoute', (route) => {
    route.onSend = [compress, route.onSend ?? []].flat() as NonNullable<typeof route.onSend>
  })
}

async function compress(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  const type = String(reply.getHeader('content-type') ?? '')
  const isText = reply.statusCode === 304 || TEXTS.test(type)
  if (!isText || reply.hasHeader('content-encoding') || reply.hasHeader('content-range')) return payload
  addVary(reply)
  const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload)
  if (!isWhole || payload.length < SMALL) return payload
  const accepted = request.headers['accept-encoding']
  const coding = (['br', 'gzip'] as const).find((each) => acceptsCoding(accepted, each))
  if (coding === undefined) return payload
  const etag = reply.getHeader('etag')
  if (typeof etag === 'string' && !etag.startsWith('W/')) void reply.header('etag', `W/${etag}`)
  void reply.header('content-encoding', coding).removeHeader('content-length')
  if (typeof payload === 'string') return compressors[coding](Buffer.from(payload))
  const forms = compressed.get(payload) ?? {}
  compressed.set(payload, forms)
  return (forms[coding] ??= compressors[coding](payload))
}

function addVary(reply: FastifyReply): void {
  const vary = String(reply.getHeader('vary') ?? '')
  if (vary !== '*' && !/\baccept-encoding\b/i.test(vary))
    void reply.header('vary', vary ? `${vary}, accept-encoding` : 'accept-encoding')
}

/** True if Accept-Encoding accepts a coding, by name or `*` (RFC 9110, 12.5.3), with a weight above 0. */
export function acceptsCoding(header: string | string[] | undefined, coding: Coding): boolean {
  const given = weighted(String(header ?? ''))
  const named = given.find(({ range }) => range === coding || range === `x-${coding}`)
  return (named ?? given.findLast(({ range }) => range === '*') ?? { q: 0 }).q > 0
}
