import { createHash } from 'node:crypto'
import { version } from '../../package.json'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SharedRead } from '../http/shared'
import type { Store } from './store'

/** How long the state of the data is reused for the ETag of a whole answer. A 304 is never out of date. */
const STATE_SHARED_MS = 250

/**
 * ETags of answers that depend on the records alone (RFC 9110, 13): made of the state of the data, with 304
 * while it is the same. The state is read before the records, so an answer is never older than its ETag says;
 * with replicas, too, as each read goes to a server that has all that was shown before (store-servers.ts).
 * Caches revalidate every copy (`no-cache`): a revocation shows at once.
 */
export class Freshness {
  private readonly state: SharedRead<string>

  constructor(store: Store, clock: () => number) {
    this.state = new SharedRead(async () => tagOf(await store.recordStates()), STATE_SHARED_MS, clock)
  }

  /**
   * As isKnown below, by the state of the data. `variant` names the representation among those of one URL.
   */
  async isKnown(request: FastifyRequest, reply: FastifyReply, variant = 'json'): Promise<boolean> {
    const isAsked = request.headers['if-none-match'] !== undefined
    const state = await (isAsked ? this.state.fresh() : this.state.get())
    return isKnown(request, reply, `W/"${state}-${variant}"`)
  }
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

function tagOf(states: Awaited<ReturnType<Store['recordStates']>>): string {
  // Another version of the program may show the same data in another way.
  const hash = createHash('sha256').update(version)
  for (const { chain, revision, since } of states) hash.update(`${chain} ${revision} ${since.getTime()};`)
  return hash.digest('base64url').slice(0, 22)
}
