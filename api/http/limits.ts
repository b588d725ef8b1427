import { isIP } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Cache } from './cache'
import type { Count, SharedCount, SharedMarks } from './redis'
import { Turns } from './turns'
import { beginWork, workOf, type Budget } from './work'

export const HOUR_MS = 3_600_000
/**
 * Milliseconds of a database connection or a worker that count as one request. The first of them are part of
 * the request itself. With 3,600 requests an hour a client gets a tenth of a core.
 */
const UNIT_MS = 100

/**
 * Counts requests by client and window. API instances share the counts in Redis; while it is unavailable,
 * this process counts alone. This process also mirrors the shared counts, and the larger count applies, so
 * that no client starts at 0 when Redis fails or returns empty.
 */
export class RequestCounter {
  private readonly local = new Cache<{ current: number; until: number }>('request counts')
  private readonly reserved = new Map<string, number>()

  /** @param clock monotonic milliseconds */
  constructor(
    private readonly clock: () => number,
    private readonly shared?: SharedMarks,
  ) {}

  /** Adds to a count. The result includes reserved units. */
  async count(key: string, windowMs: number, by = 1): Promise<Count> {
    const { current, ttl, reserved } = await this.countApart(key, windowMs, by)
    return { current: current + reserved, ttl }
  }

  /** Adds to a count. The result lists reserved units separately. */
  async countApart(key: string, windowMs: number, by: number): Promise<SharedCount> {
    const asked = this.clock()
    const shared = await this.shared?.count(key, windowMs, by)
    const local = this.countLocally(key, windowMs, by)
    const isKnown = !shared || shared.current < local.current
    if (!isKnown) this.local.set(key, { current: shared.current, until: asked + shared.ttl })
    const { current, ttl } = isKnown ? local : shared
    return { current, ttl, reserved: Math.max(this.reservedOf(key), shared?.reserved ?? 0) }
  }

  /** Reserves units for work under way; a negative number ends a reservation. */
  async reserve(key: string, units: number): Promise<void> {
    const all = this.reservedOf(key) + units
    if (all) this.reserved.set(key, all)
    else this.reserved.delete(key)
    await this.shared?.reserve(key, units)
  }

  private reservedOf(key: string): number {
    return this.reserved.get(key) ?? 0
  }

  private countLocally(key: string, windowMs: number, by: number): Count {
    const now = this.clock()
    const known = this.local.get(key)
    const window = known && known.until > now ? known : { current: 0, until: now + windowMs }
    window.current += by
    this.local.set(key, window)
    return { current: window.current, ttl: window.until - now }
  }
}

/** A kind of requests with its own count. */
export interface Tier {
  /** Part of the keys of its counters. */
  readonly scope: string
  /** Requests per hour and client; 0 = no limit. */
  readonly perHour: number
}

/** Creates the error beyond a limit. @param retryAfter Retry-After with its unit, such as `12 seconds` */
type TooMany = (perHour: number, retryAfter: string) => Error

/**
 * Limits this scope, its unknown routes included, to `perHour` requests per client, and begins the work of
 * each request (work.ts). With `byTime`, work that takes long counts as several requests. Its estimate is
 * reserved in advance; the time spent is counted with the response, or afterwards if it is spent later.
 * Responses have the RateLimit-* headers of the IETF draft, X-RateLimit-* with the same values, and
 * Retry-After beyond the limit. A request for which `otherTier` returns a tier is counted there instead.
 */
export async function limitRequests(
  app: FastifyInstance,
  options: Tier & {
    counter: RequestCounter
    /** False if every request counts once. Default: true. */
    byTime?: boolean
    tooMany: TooMany
    otherTier?: (request: FastifyRequest) => Tier | undefined
  },
): Promise<void> {
  const { scope, perHour, counter, byTime = true, tooMany, otherTier } = options
  app.addHook('preValidation', admit)
  const tierOf = (request: FastifyRequest): Tier => otherTier?.(request) ?? { scope, perHour }
  const bills = new WeakMap<FastifyRequest, Bill>()
  app.addHook('onRequest', async (request, reply) => {
    const client = clientOf(request)
    const tier = tierOf(request)
    if (tier.perHour === 0) return beginWork(request, reply, client)
    const key = `rate:${tier.scope}:${client}`
    const count = await counter.count(key, HOUR_MS)
    showCount(reply, tier.perHour, count)
    expectWithin(count, tier.perHour, reply, tooMany)
    if (!byTime) return beginWork(request, reply, client)
    const bill = new Bill(counter, key, tier.perHour, reply, tooMany)
    bills.set(request, bill)
    beginWork(request, reply, client, bill)
    reply.raw.once('close', () => void bill.settle())
  })
  app.addHook('onSend', async (request, reply) => {
    // Retry-After stays that of this response. If the hour's limit is reached, the next request is refused.
    const count = await bills.get(request)?.settle()
    if (count) showCount(reply, tierOf(request).perHour, count)
  })
}

/**
 * Maximum number of requests with a body or a long query whose checks may start in one turn of the event
 * loop, once others have taken SHARED_MS: for all clients, and for one. A check takes up to 20 ms of the main
 * thread, for large geometries and for attestations of smart accounts. No hourly limit counts that time. A
 * client whose checks are quick may start several: with a limit of one, its concurrent requests used a
 * quarter to a half more of the thread.
 */
const ADMISSIONS = new Turns({ all: 8, each: { quick: 8, slow: 1 }, slowMs: 4 })
/**
 * Milliseconds of checks in a turn. Until they are used, a check frees its slot at once: requests of one turn
 * share their reads of the database and the chain.
 */
const SHARED_MS = 4
let msOfTurn = 0
/** Maximum length in characters of a URL whose check takes less than a millisecond. */
const SHORT_URL = 1_000

async function admit(request: FastifyRequest): Promise<void> {
  if (request.method !== 'POST' && request.url.length <= SHORT_URL) return
  const client = clientOf(request)
  const end = await ADMISSIONS.acquire(client, workOf(request))
  const began = performance.now()
  // Runs after the check and all other work that needs no event.
  process.nextTick(() => {
    const ms = performance.now() - began
    ADMISSIONS.note(client, ms)
    if (msOfTurn === 0) setImmediate(() => (msOfTurn = 0))
    msOfTurn += ms
    if (msOfTurn < SHARED_MS) end()
    else setImmediate(end)
  })
}

/** Returns the number of further requests that a request counts as, after this many milliseconds of work. */
function unitsOf(ms: number): number {
  return Math.max(0, Math.ceil(ms / UNIT_MS) - 1)
}

/** The cost of one request, counted in requests. */
class Bill implements Budget {
  private spentMs = 0
  private charged = 0
  private release: (() => void) | undefined
  /** Reservation for this request. Concurrent estimates share it. */
  private foreseen: Promise<void> | undefined

  /** @param tooMany the refusal if the client has fewer requests left than estimated */
  constructor(
    private readonly counter: RequestCounter,
    private readonly key: string,
    private readonly perHour: number,
    private readonly reply: FastifyReply,
    private readonly tooMany: TooMany,
  ) {}

  readonly foresee = (ms: number): Promise<void> => {
    const units = unitsOf(ms)
    if (units === 0 || this.hasStarted) return Promise.resolve()
    return (this.foreseen ??= this.reserve(units))
  }

  private async reserve(units: number): Promise<void> {
    const release = () => void this.counter.reserve(this.key, -units)
    await this.counter.reserve(this.key, units)
    const count = await this.counter.count(this.key, HOUR_MS, 0)
    try {
      expectWithin(count, this.perHour, this.reply, this.tooMany)
    } catch (error) {
      release()
      throw error
    }
    if (this.hasStarted) release()
    else this.release = release
  }

  readonly spend = (ms: number): void => {
    this.spentMs += ms
    if (this.hasStarted) void this.charge()
  }

  /** Counts time as it is spent. Time spent after the start of the response is counted at once. */
  settle(): Promise<Count | undefined> {
    this.release?.()
    this.release = undefined
    return this.charge()
  }

  /** True if the response has started, or cannot be sent. */
  private get hasStarted(): boolean {
    return this.reply.raw.headersSent || this.reply.raw.destroyed
  }

  private async charge(): Promise<Count | undefined> {
    const due = unitsOf(this.spentMs) - this.charged
    if (due <= 0) return undefined
    this.charged += due
    return this.counter.count(this.key, HOUR_MS, due)
  }
}

/** Sets the headers of a count (draft-ietf-httpapi-ratelimit-headers-03), also with the prefix X-. */
export function showCount(reply: FastifyReply, perHour: number, { current, ttl }: Count): void {
  const shown = { limit: perHour, remaining: Math.max(0, perHour - current), reset: Math.ceil(ttl / 1000) }
  for (const [name, value] of Object.entries(shown))
    reply.header(`ratelimit-${name}`, value).header(`x-ratelimit-${name}`, value)
}

/** Throws the error of `tooMany`, and sets Retry-After, if a count is beyond its limit. */
export function expectWithin(
  { current, ttl }: Count,
  perHour: number,
  reply: FastifyReply,
  tooMany: TooMany,
): void {
  if (current <= perHour) return
  reply.header('retry-after', Math.ceil(ttl / 1000))
  throw tooMany(perHour, inSeconds(ttl))
}

/** Formats milliseconds as the whole seconds of Retry-After, with their unit. */
function inSeconds(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
}

/** Returns the client that a request is counted for: its address; for IPv6 the /64. */
export function clientOf(request: FastifyRequest): string {
  const { ip } = request
  const known = clients.get(ip)
  if (known !== undefined) return known
  // Some proxies write address:port or [address]:port. The port does not identify a client.
  const bare = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(ip)
  const address = bare?.[1] ?? bare?.[2] ?? ip
  // A value that is not an address comes from a header that the proxy did not check: the proxy is the client.
  if (!isIP(address)) return networkOf(request.socket.remoteAddress ?? '')
  const client = networkOf(address)
  clients.set(ip, client)
  return client
}

/** Returns an IPv4 address, also one that IPv6 contains, or the first address of an IPv6 address's /64. */
function networkOf(address: string): string {
  if (!isIP(address)) return address
  const parsed = ipaddr.process(address)
  const network =
    parsed instanceof ipaddr.IPv6 ? new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]) : parsed
  return network.toString()
}

/** Cache of `clientOf` by address, because formatting one takes 3 microseconds. */
const clients = new Cache<string>('clients')
