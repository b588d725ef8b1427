import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createClient } from 'redis'

const HOUR_MS = 3_600_000
/** A counter that Redis has not answered by then is kept in this process: a frozen Redis must not hold requests. */
const REDIS_TIMEOUT_MS = 200
/** Clients remembered in this process; beyond that the ones seen longest ago start anew. */
const CLIENTS_REMEMBERED = 100_000

/** Requests of a client in the running window, and the milliseconds left of it. */
interface Count {
  current: number
  ttl: number
}

/** Counts requests by client and window: shared through Redis, in this process while Redis is missing. */
export class RequestCounter {
  private readonly local = new Map<string, { current: number; until: number }>()

  /** @param clock milliseconds */
  constructor(
    private readonly clock: () => number,
    private readonly redis?: RedisCounter,
  ) {}

  async count(key: string, windowMs: number): Promise<Count> {
    return (await this.redis?.count(key, windowMs)) ?? this.countLocally(key, windowMs)
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

/** The shared counter. Never throws, never waits long: no answer means that the caller counts for itself. */
export class RedisCounter {
  private readonly client

  constructor(
    url: string,
    private readonly log: FastifyBaseLogger,
  ) {
    this.client = createClient({
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: 10_000,
      socket: { connectTimeout: 2_000, reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 5_000) },
    })
    this.client.on('error', (error: Error) => this.log.warn({ reason: error.message }, 'Redis is out of reach, rate limits are counted in this process'))
    this.client.connect().catch(() => {})
  }

  async count(key: string, windowMs: number): Promise<Count | undefined> {
    if (!this.client.isReady) return undefined
    const counted = this.client
      .multi()
      .incr(key)
      .pExpire(key, windowMs, 'NX')
      .pTTL(key)
      .exec()
      .then(([current, , ttl]) => ({ current: Number(current), ttl: Number(ttl) }))
      .catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), REDIS_TIMEOUT_MS)))
    return Promise.race([counted, late]).finally(() => clearTimeout(timer))
  }

  close(): void {
    this.client.destroy()
  }
}

/**
 * Limits the routes of this scope, its unknown ones included, to `perHour` requests a client (IPv6 by /64): with the
 * RateLimit-* headers of the IETF draft, the same as X-RateLimit-*, and Retry-After once exceeded. 0 = no limit.
 */
export async function limitRequests(
  app: FastifyInstance,
  options: { scope: string; perHour: number; counter: RequestCounter; tooMany: (perHour: number, retryAfter: string) => Error },
): Promise<void> {
  const { scope, perHour, counter, tooMany } = options
  if (perHour === 0) return
  class CounterStore implements FastifyRateLimitStore {
    incr(client: string, done: (error: Error | null, result?: Count) => void): void {
      counter.count(`rate:${scope}:${client}`, HOUR_MS).then((count) => done(null, count), done)
    }
    child(): CounterStore {
      return this
    }
  }
  await app.register(rateLimit, {
    max: perHour,
    timeWindow: HOUR_MS,
    store: CounterStore,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { after }) => tooMany(perHour, after),
  })
  app.addHook('onSend', async (_request, reply) => {
    for (const name of ['limit', 'remaining', 'reset']) {
      const value = reply.getHeader(`ratelimit-${name}`)
      if (value !== undefined) reply.header(`x-ratelimit-${name}`, value)
    }
  })
}
