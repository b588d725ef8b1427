import { createHash } from 'node:crypto'
import { version } from '../package.json'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SharedRead } from './shared'
import type { Store } from './store'

/** How long the state of the data is believed. What is younger may be answered with 304 so much longer. */
const STATE_SHARED_MS = 250

/**
 * What makes answers that follow from the records alone cheap to ask for again (RFC 9110, 13): an ETag out of the state of the data,
 * and 304 while that is what it was. The state is read before the records, so an answer is never older than its ETag says. Every
 * cached copy is to be checked (`no-cache`): a revocation counts at once.
 */
export class Freshness {
  private readonly state: SharedRead<string>

  constructor(store: Store, clock: () => number) {
    this.state = new SharedRead(async () => tagOf(await store.recordStates()), STATE_SHARED_MS, clock)
  }

  /** Whether the client has the answer already: then 304 is sent. Else the answer gets its headers; `variant` tells apart what one URL may be answered with. */
  async isKnown(request: FastifyRequest, reply: FastifyReply, variant = 'json'): Promise<boolean> {
    const etag = `W/"${await this.state.get()}-${variant}"`
    void reply.headers({ etag, 'cache-control': 'public, no-cache', vary: 'accept' })
    const asked = request.headers['if-none-match']
    if (
      asked === undefined ||
      !(asked.trim() === '*' || asked.split(',').some((tag) => weak(tag) === weak(etag)))
    )
      return false
    void reply.status(304).send()
    return true
  }
}

/** Tags are compared without saying whether they are weak (RFC 9110, 13.1.2). */
function weak(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

function tagOf(states: Awaited<ReturnType<Store['recordStates']>>): string {
  // Another version may write the same data otherwise.
  const hash = createHash('sha256').update(version)
  for (const { chain, revision, since } of states) hash.update(`${chain} ${revision} ${since.getTime()};`)
  return hash.digest('base64url').slice(0, 22)
}
