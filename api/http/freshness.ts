import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Cache } from './cache'

/** Estimated bytes of a cached response in addition to its body and its URL. */
const ENTRY_BYTES = 1_000
/** Maximum share of the cache per response, so that one large page does not evict all others. */
const LARGEST_SHARE = 1 / 8
/** Headers that are cached with a response. All other headers belong to its request. */
const KEPT_HEADERS = [
  'content-type',
  'content-disposition',
  'content-security-policy',
  'link',
  'referrer-policy',
  'x-content-type-options',
] as const

/**
 * Responses that depend on the records alone. Their ETags (RFC 9110, 13) are derived from the state of the
 * data. While that state stays the same, a repeated request is answered without reading records from the
 * database: by 304, or by the cached response.
 *
 * The state is read for each request, in one read for all waiting requests. A response is therefore never
 * older than its request, and a revocation shows at once (`no-cache`: caches revalidate every response). The
 * state is read before the records, so a response is never older than its ETag. This also holds with
 * replicas, because each read goes to a server that has all data shown before (api/store/servers.ts).
 */
export class Freshness {
  /** Cached responses by URL and ETag. All of them belong to one state of the data. */
  private readonly kept: Cache<{ headers: Record<string, string>; body: Buffer }>
  private keptState = ''

  /** @param readState names the state of the records @param keptBytes size of the cache; 0 disables it */
  constructor(
    private readonly readState: () => Promise<string>,
    keptBytes: number,
  ) {
    this.kept = new Cache('responses', {
      bytes: keptBytes,
      largest: keptBytes * LARGEST_SHARE,
      sizeOf: ({ body }, key) => body.length + key.length + ENTRY_BYTES,
    })
  }

  /** Size of the cached responses in bytes. */
  get size(): number {
    return this.kept.calculatedSize
  }

  /**
   * True if it answered: by 304 if the client has the response, or with the cached one. If not, it sets the
   * headers of the later response. `variant` names the representation among those of the URL.
   */
  async answers(request: FastifyRequest, reply: FastifyReply, variant = 'json'): Promise<boolean> {
    const state = await this.readState()
    if (state !== this.keptState) {
      this.kept.clear()
      this.keptState = state
    }
    const etag = `W/"${state}-${variant}"`
    if (isKnown(request, reply, etag)) return true
    const kept = this.kept.get(keyOf(request, etag))
    if (!kept) return false
    void reply.headers(kept.headers).send(kept.body)
    return true
  }

  /**
   * Returns the result of `find`; undefined if `answers` has answered the request. If `find` throws for a
   * missing thing, the response is 404, never 304: neither by `*` nor by the ETag of another response.
   */
  async find<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    find: () => Promise<T>,
    variant?: string,
  ): Promise<T | undefined> {
    if (request.headers['if-none-match'] !== undefined) await find()
    return (await this.answers(request, reply, variant)) ? undefined : find()
  }

  /** Caches the responses of a scope's routes for `answers`, except streams, errors and HEAD. */
  keepAnswersOf(scope: FastifyInstance): void {
    scope.addHook('onSend', (request, reply, payload: unknown, done) => {
      const etag = reply.getHeader('etag')
      if (
        reply.statusCode !== 200 ||
        request.method !== 'GET' ||
        !(typeof payload === 'string' || Buffer.isBuffer(payload)) ||
        typeof etag !== 'string' ||
        !etag.startsWith(`W/"${this.keptState}-`)
      )
        return done(null, payload)
      const headers: Record<string, string> = {}
      for (const name of KEPT_HEADERS) {
        const value = reply.getHeader(name)
        if (value !== undefined) headers[name] = String(value)
      }
      const body = typeof payload === 'string' ? Buffer.from(payload) : payload
      this.kept.set(keyOf(request, etag), { headers, body })
      done(null, body)
    })
  }
}

function keyOf({ url }: FastifyRequest, etag: string): string {
  return `${url} ${etag}`
}

/** True if the client has the response with this ETag; sends 304. If not, sets the response's headers. */
export function isKnown(
  request: FastifyRequest,
  reply: FastifyReply,
  etag: string,
  vary = 'accept',
): boolean {
  void reply.headers({ etag, 'cache-control': 'public, no-cache', vary })
  if (!hasResponse(request, etag)) return false
  void reply.status(304).send()
  return true
}

/** True if If-None-Match names the response with this ETag, so that 304 is the answer. */
export function hasResponse(request: FastifyRequest, etag: string): boolean {
  const known = request.headers['if-none-match'] ?? ''
  return known.trim() === '*' || known.split(',').some((tag) => weak(tag) === weak(etag))
}

/** Strips the weakness mark: weak and strong tags compare as equal (RFC 9110, 13.1.2). */
function weak(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}
