import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Cache } from './cache'
import { SharedRead } from './shared'

/** What an answer that is kept takes besides its body and its URL. */
const ENTRY_BYTES = 1_000
/** No answer takes more than this share of what is kept: one large page does not push out all others. */
const LARGEST_SHARE = 1 / 8
/** The headers that belong to a kept answer; the others belong to its request. */
const KEPT_HEADERS = [
  'content-type',
  'content-disposition',
  'content-security-policy',
  'link',
  'referrer-policy',
  'x-content-type-options',
] as const

/** An answer as it is sent again. */
interface KeptAnswer {
  headers: Record<string, string>
  body: Buffer
}

/**
 * Answers that depend on the records alone. Their ETags (RFC 9110, 13) are made of the state of the data, and
 * while it is the same, what was asked before is answered without asking the database for records: by 304, or
 * by the answer that was sent before.
 *
 * The state is read for each request, in one read for all that wait; so an answer is never older than its
 * request, and a revocation shows at once (`no-cache`: caches revalidate every copy). It is read before the
 * records, so an answer is never older than its ETag says; with replicas, too, as each read goes to a server
 * that has all that was shown before (api/store/servers.ts).
 */
export class Freshness {
  private readonly state: SharedRead<string>
  /** By URL and ETag, all of one state. */
  private readonly kept: Cache<KeptAnswer>
  private keptState = ''

  /**
   * @param readState names the state of the records
   * @param keptBytes of answers that are kept; 0: none
   */
  constructor(readState: () => Promise<string>, keptBytes: number) {
    this.state = new SharedRead(readState, 0)
    this.kept = new Cache('responses', {
      bytes: keptBytes,
      largest: keptBytes * LARGEST_SHARE,
      sizeOf: ({ body }, key) => body.length + key.length + ENTRY_BYTES,
    })
  }

  /** Bytes of the answers that are kept. */
  get size(): number {
    return this.kept.calculatedSize
  }

  /**
   * Whether the request is answered: by 304 where the client has the answer, or with the one that is kept.
   * If not, this sets the headers of the answer to come. `variant` names the representation among those of
   * one URL.
   */
  async answers(request: FastifyRequest, reply: FastifyReply, variant = 'json'): Promise<boolean> {
    const state = await this.state.fresh()
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
   * What `find` finds, to be answered; undefined where `answers` has answered the request. A thing that is
   * missing, where `find` throws, is 404, never 304: neither by `*` nor by the ETag of another answer.
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

  /** Has the answers of a scope's routes kept for `answers`. Streams, errors and HEAD are not. */
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
      const headers: KeptAnswer['headers'] = {}
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

/**
 * Whether the client already has the answer with this ETag. If so, this sends 304; else it sets the headers
 * of the answer.
 */
export function isKnown(
  request: FastifyRequest,
  reply: FastifyReply,
  etag: string,
  vary = 'accept',
): boolean {
  void reply.headers({ etag, 'cache-control': 'public, no-cache', vary })
  const known = request.headers['if-none-match']
  if (
    known === undefined ||
    !(known.trim() === '*' || known.split(',').some((tag) => weak(tag) === weak(etag)))
  )
    return false
  void reply.status(304).send()
  return true
}

/** Weak and strong tags compare as equal (RFC 9110, 13.1.2). */
function weak(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}
