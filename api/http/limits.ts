import { isIP } from 'node:net'
import rateLimit, { normalizeIP, type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Count, SharedMarks } from './redis'

export const HOUR_MS = 3_600_000
/** Clients that this process remembers; beyond that, it forgets those seen longest ago. */
const CLIENTS_REMEMBERED = 100_000

/**
 * Counts requests by client and window, where copies share the counts, or in this process while that is out
 * of reach. This process also keeps the shared counts, and the larger count holds: no client starts at 0 when
 * Redis fails or comes back empty.
 */
export class RequestCounter {
  private readonly local = new Map<string, { current: number; until: number }>()

  /** @param clock milliseconds */
  constructor(
    private readonly clock: () => number,
    private readonly shared?: SharedMarks,
  ) {}

  async count(key: string, windowMs: number): Promise<Count> {
    const asked = this.clock()
    const shared = await this.shared?.count(key, windowMs)
    const local = this.countLocally(key, windowMs)
    if (!shared || shared.current < local.current) return local
    this.local.set(key, { current: shared.current, until: asked + shared.ttl })
    return shared
  }

  private countLocally(key: string, windowMs: number): Count {
    const now = this.clock()
    const known = this.local.get(key)
    const window = known && known.until > now ? known : { current: 0, until: now + windowMs }
    window.current++
    this.local.delete(key)
    this.local.set(key, window)
    if (this.local.size > CLIENTS_REMEMBERED) this.local.delete(this.local.keys().next().value!)
    return { current: window.current, ttl: window.until - now }
  }
}

/** A kind of requests with a count of its own. */
export interface Tier {
  /** Part of the keys of its counters. */
  readonly scope: string
  /** Requests per hour and client; 0 = no limit. */
  readonly perHour: number
}

/**
 * Limits this scope, its unknown routes included, to `perHour` requests of a client. Answers have the
 * RateLimit-* headers of the IETF draft, the same as X-RateLimit-*, and Retry-After beyond the limit. A
 * request for which `otherTier` gives a tier is counted there instead.
 */
export async function limitRequests(
  app: FastifyInstance,
  options: Tier & {
    counter: RequestCounter
    tooMany: (perHour: number, retryAfter: string) => Error
    otherTier?: (request: FastifyRequest) => Tier | undefined
  },
): Promise<void> {
  const { scope, perHour, counter, tooMany, otherTier } = options
  if (perHour === 0 && !otherTier) return
  const tierOf = (request: FastifyRequest): Tier => otherTier?.(request) ?? { scope, perHour }
  class CounterStore implements FastifyRateLimitStore {
    incr(client: string, done: (error: Error | null, result?: Count) => void): void {
      counter.count(`rate:${client}`, HOUR_MS).then((count) => done(null, count), done)
    }
    child(): CounterStore {
      return this
    }
  }
  await app.register(rateLimit, {
    global: false,
    max: (request) => tierOf(request).perHour,
    allowList: (request) => tierOf(request).perHour === 0,
    keyGenerator: (request) => `${tierOf(request).scope}:${clientOf(request)}`,
    timeWindow: HOUR_MS,
    store: CounterStore,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { max, after }) => tooMany(max, after),
  })
  app.addHook('onRequest', app.rateLimit())
  app.addHook('onSend', async (_request, reply) => {
    for (const name of ['limit', 'remaining', 'reset']) {
      const value = reply.getHeader(`ratelimit-${name}`)
      if (value !== undefined) reply.header(`x-ratelimit-${name}`, value)
    }
  })
}

/** Sets the headers of a count; whether it is within `perHour`. */
export function tellCount(reply: FastifyReply, perHour: number, { current, ttl }: Count): boolean {
  const reset = Math.ceil(ttl / 1000)
  reply
    .header('ratelimit-limit', perHour)
    .header('ratelimit-remaining', Math.max(0, perHour - current))
    .header('ratelimit-reset', reset)
  if (current > perHour) reply.header('retry-after', reset)
  return current <= perHour
}

/** The client that a request is counted for: its address, of IPv6 the /64. */
export function clientOf(request: FastifyRequest): string {
  const { ip } = request
  const known = clients.get(ip)
  if (known !== undefined) return known
  // Some proxies write address:port or [address]:port; the port does not tell clients apart.
  const bare = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(ip)
  const address = bare?.[1] ?? bare?.[2] ?? ip
  // A value that is no address comes from a header that the proxy did not check: the proxy is the client
  // then.
  if (!isIP(address)) return normalizeIP(request.socket.remoteAddress ?? '', 64)
  const client = normalizeIP(address, 64)
  clients.set(ip, client)
  return client
}

/** By address: as `clientOf` wrote it, which takes 3 microseconds. */
const clients = new LRUCache<string, string>({ max: 1_000 })
