import { randomInt } from 'node:crypto'
import { request } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { createClient } from 'redis'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startApi } from '../../test/api'
import { startRedisProxy } from '../../test/redis-proxy'
import { RequestCounter, limitRequests } from './limits'
import { ComputeError, computeErrorHandler } from './problems'
import { SharedRedis } from './redis'
import { workOf, type Work } from './work'
import { withRedis } from '../../test/needs'

const TEST_REDIS_URL = process.env.TEST_REDIS_URL
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Creates a server whose routes are limited to `perHour` requests. */
async function limited(
  {
    counter,
    perHour,
    trustProxy = false,
    byTime,
  }: { counter: RequestCounter; perHour: number; trustProxy?: string | false; byTime?: boolean },
  routes: (scope: FastifyInstance) => void,
) {
  const app = Fastify({ trustProxy })
  closing.push(() => app.close())
  await app.register(async (scope) => {
    scope.setErrorHandler(computeErrorHandler('https://x.example'))
    await limitRequests(scope, {
      scope: 'test',
      perHour,
      counter,
      byTime,
      tooMany: (limit, after) => new ComputeError('rate-limited', `${limit}, try in ${after}`),
    })
    routes(scope)
  })
  return app
}

async function serve(counter: RequestCounter, perHour: number, trustProxy?: string) {
  const app = await limited({ counter, perHour, trustProxy }, (scope) => void scope.get('/', () => 'ok'))
  return (headers: Record<string, string> = {}, remoteAddress = '192.0.2.1') =>
    app.inject({ url: '/', headers, remoteAddress })
}

/** Starts a server of long queries, and returns a function that sends one for a client. */
async function serveLongQueries(check: (from: string) => void) {
  const app = Fastify()
  closing.push(() => app.close())
  await app.register(async (scope) => {
    const counter = new RequestCounter(() => 0)
    await limitRequests(scope, { scope: 'test', perHour: 0, counter, tooMany: () => new Error() })
    scope.setValidatorCompiler(() => (query) => {
      check((query as { from: string }).from)
      return true
    })
    scope.get('/', { schema: { querystring: {} } }, () => 'ok')
  })
  await app.ready()
  return (from: string) =>
    new Promise<number>((resolve, reject) =>
      app.inject(
        { url: `/?from=${from}&filter=${'x'.repeat(1_000)}`, remoteAddress: from },
        (error, response) => (response ? resolve(response.statusCode) : reject(error!)),
      ),
    )
}

test.each([
  [true, 6],
  [false, 9],
])('a request of 350 ms counts by time: %s', async (byTime, left) => {
  const counter = new RequestCounter(() => 0)
  const app = await limited({ counter, perHour: 10, byTime }, (scope) => {
    scope.get('/', (request) => {
      workOf(request).spend(350)
      return 'ok'
    })
  })
  expect((await app.inject('/')).headers['ratelimit-remaining']).toBe(String(left))
})

test('the service alternates between clients when it starts checks of long queries', async () => {
  const started: string[] = []
  const ask = await serveLongQueries((from) => started.push(from))
  const greedy = Array.from({ length: 50 }, () => ask('192.0.2.1'))
  const others = [ask('192.0.2.2'), ask('192.0.2.3')]
  expect(new Set(await Promise.all([...greedy, ...others]))).toEqual(new Set([200]))
  expect(started).toHaveLength(52)
  // A client that is known to be quick fills the first turn with 8 checks before the other clients arrive.
  expect(Math.max(...['192.0.2.2', '192.0.2.3'].map((from) => started.indexOf(from)))).toBeLessThan(12)
})

test.each([
  [0, 50],
  [1, 11],
  [20, 1],
])(
  'the service starts checks of clients that take %i ms in groups of %i per turn of the event loop',
  async (ms, most) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    closing.push(() => vi.useRealTimers())
    let turn = 0
    let timer: NodeJS.Immediate
    const count = () => {
      turn++
      timer = setImmediate(count)
    }
    count()
    closing.push(() => clearImmediate(timer))
    const startedIn = new Map<number, number>()
    const ask = await serveLongQueries(() => {
      startedIn.set(turn, (startedIn.get(turn) ?? 0) + 1)
      vi.advanceTimersByTime(ms)
    })
    // Not a client of another test, which is known to be quick until its first check has been timed.
    await Promise.all(Array.from({ length: 50 }, () => ask(`192.0.2.${10 + ms}`)))
    // The counter may advance after the first group of a turn.
    expect([most, 2 * most]).toContain(Math.max(...startedIn.values()))
  },
)

/** Starts a server whose requests spend the time in their query, after the given function has finished. */
async function serveWork(
  counter: RequestCounter,
  perHour: number,
  wait: () => Promise<void> = async () => {},
) {
  type Costs = { foreseen?: number; spent?: number; fails?: number }
  const works: Work[] = []
  const app = await limited({ counter, perHour }, (scope) => {
    scope.get<{ Querystring: Costs }>('/', async (request) => {
      const work = workOf(request)
      works.push(work)
      await work.foresee(Number(request.query.foreseen ?? 0))
      await wait()
      work.spend(Number(request.query.spent ?? 0))
      if (request.query.fails)
        throw new ComputeError('computation-error', 'Busy.', Number(request.query.fails))
      return 'ok'
    })
  })
  const get = async (query = '') => {
    const { statusCode, headers } = await app.inject({ url: `/${query}` })
    return [statusCode, Number(headers['ratelimit-remaining'])]
  }
  return { app, get, works }
}

describe('the rate limit for long work', () => {
  test('counts one request per tenth of a second, also after the response', async () => {
    const { get, works } = await serveWork(new RequestCounter(() => 0), 100)
    expect(await get('?spent=100')).toEqual([200, 99])
    expect(await get('?spent=101')).toEqual([200, 97])
    expect(await get('?spent=3400')).toEqual([200, 63])
    // Time spent after the response, for example by an export.
    works.at(-1)!.spend(600)
    expect(await get()).toEqual([200, 56])
    expect(await get('?spent=9000')).toEqual([200, 0])
    expect((await get())[0]).toBe(429)
  })

  test('reserves work until the response, and refuses a client with too few requests left', async () => {
    let [begun, end] = [0, () => {}]
    const ended = new Promise<void>((resolve) => (end = resolve))
    const { get } = await serveWork(new RequestCounter(() => 0), 100, () => (begun++, ended))
    const waiting = get('?foreseen=5000')
    await expect.poll(() => begun).toBe(1)
    // The first request counts as 1, and 49 more are reserved for its estimate. This request counts as 1, so
    // 49 are left.
    expect(await get('?foreseen=6000')).toEqual([429, 49])
    const second = get('?foreseen=4000')
    await expect.poll(() => begun).toBe(2)
    end()
    expect((await waiting)[0]).toBe(200)
    expect((await second)[0]).toBe(200)
    // No time was spent, so only the three requests and this one count.
    expect(await get()).toEqual([200, 96])
  })
})

test('simultaneous estimates of one request share a reservation, which is fully released', async () => {
  const counter = new RequestCounter(() => 0)
  const { get, works } = await serveWork(counter, 100, async () => {
    const foresee = () => works.at(-1)!.foresee(5000)
    await Promise.all([foresee(), foresee()])
  })
  expect(await get()).toEqual([200, 99])
  expect(await get('?foreseen=5000')).toEqual([200, 98])
  expect(await get()).toEqual([200, 97])
})

describe('a request that ends before its work', () => {
  const count = async (counter: RequestCounter) =>
    (await counter.count('rate:test:127.0.0.1', 3_600_000, 0)).current

  test('counts the time spent, before and after its client disconnects', async () => {
    const counter = new RequestCounter(() => 0)
    let begun = 0
    const { app, works } = await serveWork(counter, 100, () => (begun++, new Promise(() => {})))
    const asked = request(await app.listen({ port: 0, host: '127.0.0.1' })).on('error', () => {})
    asked.end()
    await expect.poll(() => begun).toBe(1)
    const [work] = works as [Work]
    work.spend(600)
    expect(await count(counter)).toBe(1)
    asked.destroy()
    await expect.poll(() => work.signal.aborted).toBe(true)
    await expect.poll(() => count(counter)).toBe(6)
    // Time that the statement or worker used until it was cancelled.
    work.spend(300)
    await expect.poll(() => count(counter)).toBe(9)
  })
  test('ends a reservation that was incomplete when the request was answered', async () => {
    let reserve = () => {}
    const reserving = new Promise<void>((resolve) => (reserve = resolve))
    class SlowCounter extends RequestCounter {
      override async reserve(key: string, units: number) {
        await super.reserve(key, units)
        if (units > 0) await reserving
      }
    }
    const counter = new SlowCounter(() => 0)
    let foreseen: Promise<void> | undefined
    const { get, works } = await serveWork(counter, 100, async () => {
      foreseen = works.at(-1)!.foresee(5_000)
    })
    expect((await get())[0]).toBe(200)
    expect(await count(counter)).toBe(50)
    reserve()
    await foreseen
    expect(await count(counter)).toBe(1)
  })
})

describe('Retry-After and the error text', () => {
  const perHour = 5
  test.each([
    ['beyond the limit', ['', '', '', '', '', ''], 429, 3_000],
    ['for reserved work', ['?foreseen=600'], 429, 3_000],
    ['for an error that uses up the hour', ['?spent=9000&fails=60'], 500, 60],
    ['for an error within the limit', ['?fails=60'], 500, 60],
    ['for a response that uses up the hour', ['?spent=9000'], 200, undefined],
  ])('agree %s', async (_, queries, status, seconds) => {
    let now = 0
    const { app } = await serveWork(new RequestCounter(() => now), perHour)
    await app.inject('/')
    now = 600_000.5
    const responses = []
    for (const query of queries) responses.push(await app.inject(`/${query}`))
    const last = responses.at(-1)!
    expect([last.statusCode, last.headers['retry-after']]).toEqual([status, seconds && String(seconds)])
    if (status === 429) expect(last.json().detail).toContain(`in ${seconds} seconds`)
  })
})

describe('rate limits in this process', () => {
  test('admit the last request within the limit, and return 429 with all headers until the hour ends', async () => {
    let now = 0
    const get = await serve(new RequestCounter(() => now), 3)
    expect((await get()).headers).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-remaining': '2',
      'ratelimit-reset': '3600',
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '2',
      'x-ratelimit-reset': '3600',
    })
    now = 600_000
    await get()
    expect((await get()).statusCode).toBe(200)
    const refused = await get()
    expect(refused.statusCode).toBe(429)
    expect(refused.headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'retry-after': '3000',
      'x-ratelimit-remaining': '0',
      'ratelimit-reset': '3000',
    })
    expect(refused.json()).toMatchObject({
      type: 'https://x.example/errors/rate-limited',
      status: 429,
      detail: '3, try in 3000 seconds',
    })
    now = 3_600_001
    expect((await get()).statusCode).toBe(200)
  })
  test('count clients by address (IPv6 by /64), and use a forwarded address only from a trusted proxy', async () => {
    const get = await serve(new RequestCounter(() => 0), 1)
    expect((await get()).statusCode).toBe(200)
    expect((await get({}, '192.0.2.2')).statusCode).toBe(200)
    expect((await get({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(429)
    expect((await get({}, '2001:db8::1')).statusCode).toBe(200)
    expect((await get({}, '2001:db8::2:1')).statusCode).toBe(429)
    expect((await get({}, '2001:db8:0:1::1')).statusCode).toBe(200)
    // An IPv4-mapped address identifies the same client.
    expect((await get({}, '::ffff:192.0.2.1')).statusCode).toBe(429)
    expect((await get({}, 'fe80::1%eth0')).statusCode).toBe(200)
    expect((await get({}, 'fe80::2%eth0')).statusCode).toBe(429)
    const behindProxy = await serve(new RequestCounter(() => 0), 1, '192.0.2.0/24')
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.8' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(429)
    // Entries of the client before the proxy's own are ignored, and so is a port.
    expect((await behindProxy({ 'x-forwarded-for': '203.0.113.1, 198.51.100.7' })).statusCode).toBe(429)
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.7:4711' })).statusCode).toBe(429)
    expect((await behindProxy({ 'x-forwarded-for': '[2001:db8::1]:4711' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': '2001:db8::2' })).statusCode).toBe(429)
    // The request passes two trusted proxies. If the header contains no address, the proxy's own address
    // counts.
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.8, 192.0.2.77' })).statusCode).toBe(429)
    expect((await behindProxy({ 'x-forwarded-for': 'unknown' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': 'anything else' })).statusCode).toBe(429)
  })
  test('are disabled by the value 0', async () => {
    const get = await serve(new RequestCounter(() => 0), 0)
    for (let i = 0; i < 5; i++) expect((await get()).headers['ratelimit-limit']).toBeUndefined()
  })
  test('count requests without a connection to Redis', async () => {
    const redis = new SharedRedis('redis://127.0.0.1:1', Fastify().log)
    closing.push(() => redis.close())
    const get = await serve(new RequestCounter(() => 0, redis), 1)
    expect([(await get()).statusCode, (await get()).statusCode]).toEqual([200, 429])
  })
})

withRedis.describe('rate limits through Redis', () => {
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const connect = async (url = TEST_REDIS_URL!, timeoutMs = 60_000, pingMs?: number) => {
    const redis = new SharedRedis(url, Fastify().log, timeoutMs, pingMs)
    closing.push(() => redis.close())
    while ((await redis.count('test:ready', 1)) === undefined) await pause(10)
    return redis
  }
  test('share the cost of work between API instances', async () => {
    const [here, there] = await Promise.all(
      [0, 1].map(async () => serveWork(new RequestCounter(() => Date.now(), await connect()), 100)),
    )
    const before = (await here!.get())[1]!
    await here!.get('?spent=2000')
    expect((await there!.get())[1]).toBe(before - 21)
  })
  test('reserve work in all API instances until the response', async () => {
    let [begun, end] = [0, () => {}]
    const ended = new Promise<void>((resolve) => (end = resolve))
    const [here, there] = await Promise.all(
      [async () => (begun++, ended), undefined].map(async (wait) =>
        serveWork(new RequestCounter(() => Date.now(), await connect()), 1_000, wait),
      ),
    )
    const before = (await there!.get())[1]!
    // Reserves all remaining requests except 20.
    const waiting = here!.get(`?foreseen=${100 * (before - 20)}`)
    await expect.poll(() => begun).toBe(1)
    expect((await there!.get('?foreseen=3000'))[0]).toBe(429)
    expect(await there!.get('?foreseen=1000')).toEqual([200, 18])
    end()
    expect((await waiting)[0]).toBe(200)
    await expect.poll(async () => (await there!.get('?foreseen=3000'))[0]).toBe(200)
  })
  test('do not credit a reservation that ends after its minute', async () => {
    const redis = await connect()
    const key = newKey()
    await redis.reserve(key, -5)
    expect((await redis.count(key, 60_000))!.reserved).toBe(0)
    await redis.reserve(key, 3)
    expect((await redis.count(key, 60_000))!.reserved).toBe(3)
    await redis.reserve(key, -3)
    expect(await redis.count(key, 60_000)).toMatchObject({ current: 3, reserved: 0 })
  })

  /**
   * Time limit for a response while Redis fails, far longer than any response that does not wait for Redis.
   */
  const TIMEOUT_MS = 1_000
  const flaky = async (pingMs?: number) => {
    const proxy = await startRedisProxy(TEST_REDIS_URL!)
    closing.unshift(() => proxy.close())
    return { proxy, redis: await connect(proxy.url, TIMEOUT_MS, pingMs) }
  }
  /** Deletes the count in Redis, which all copies of the API share, like the end of its window. */
  const forgetInRedis = async (key: string) => {
    const admin = await createClient({ url: TEST_REDIS_URL! }).connect()
    await admin.del(key)
    admin.destroy()
  }
  let keys = 0
  const newKey = () => `test:${process.pid}:${process.hrtime.bigint()}:${keys++}`
  const newClient = () => `2001:db8:${randomInt(65_536).toString(16)}:${randomInt(65_536).toString(16)}::1`
  const timed = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
    const started = performance.now()
    return [await work(), performance.now() - started]
  }

  test('share one count between two processes', async () => {
    const [one, two] = [await connect(), await connect()]
    const key = newKey()
    expect(await one.count(key, 60_000)).toMatchObject({ current: 1, ttl: expect.closeTo(60_000, -3) })
    expect(await two.count(key, 60_000)).toMatchObject({ current: 2 })
    // Requests do not extend the window.
    await pause(50)
    expect((await one.count(key, 60_000))!.ttl).toBeLessThan(59_990)
  })
  test('apply to two API instances together, over HTTP', async () => {
    const options = { redisUrl: TEST_REDIS_URL!, rateLimitPerHour: 3, trustProxy: ['127.0.0.1'] }
    const copies = [await startApi(options), await startApi(options)]
    closing.push(...copies.map((copy) => () => copy.close()))
    const client = newClient()
    const ask = async (copy: number, path = '/compute/v0/distance') => {
      const { status, headers } = await fetch(copies[copy]!.url + path, {
        method: 'POST',
        headers: { 'x-forwarded-for': client },
      })
      return [status, headers.get('x-ratelimit-remaining'), headers.get('ratelimit-remaining')]
    }
    // Unknown paths count too. Health checks and information do not count.
    expect(await ask(0)).toEqual([400, '2', '2'])
    expect(await ask(1, '/compute/v1')).toEqual([404, '1', '1'])
    expect((await ask(1, '/health'))[1]).toBe(null)
    expect((await ask(0, '/'))[1]).toBe(null)
    expect(await ask(0)).toEqual([400, '0', '0'])
    expect([await ask(1), await ask(0)]).toEqual([
      [429, '0', '0'],
      [429, '0', '0'],
    ])
    expect((await ask(0, '/api/v0/config'))[1]).toBe('2')
  })
  test('delay only the first requests while Redis hangs, count all requests, and later share the count', async () => {
    const { proxy, redis } = await flaky()
    const counter = new RequestCounter(() => Date.now(), redis)
    const key = newKey()
    for (let i = 0; i < 3; i++) await counter.count(key, 60_000)
    proxy.freeze()
    // Requests that are in progress when Redis hangs share one time-out.
    const [counts, waited] = await timed(() =>
      Promise.all([counter.count(key, 60_000), counter.count(key, 60_000)]),
    )
    // The count resumes from the last count of Redis.
    expect(counts.map(({ current }) => current)).toEqual([4, 5])
    expect(waited).toBeLessThan(2 * TIMEOUT_MS)
    const [, waitedLater] = await timed(async () => {
      for (let i = 0; i < 200; i++) await counter.count(key, 60_000)
    })
    expect(waitedLater).toBeLessThan(TIMEOUT_MS)
    expect((await counter.count(key, 60_000)).current).toBe(206)
    proxy.thaw()
    while ((await redis.count('test:ready', 1)) === undefined) await pause(5)
    // The larger of both counts is used: Redis has five and this one.
    expect((await counter.count(key, 60_000)).current).toBe(207)
    expect((await redis.count(key, 60_000))!.current).toBe(7)
  })
  test('replace a dead Redis connection, and keep a healthy idle connection', async () => {
    const pingMs = 250
    const { proxy, redis } = await flaky(pingMs)
    await pause(4 * pingMs)
    expect(proxy.connections()).toBe(1)
    proxy.strand()
    expect(await redis.count(newKey(), 60_000)).toBeUndefined()
    while ((await redis.count('test:ready', 1)) === undefined) await pause(20)
    expect(proxy.connections()).toBe(2)
  })
  test('delay no request while Redis hangs during connecting', async () => {
    const { proxy, redis } = await flaky()
    proxy.freeze()
    expect(await redis.count(newKey(), 60_000)).toBeUndefined()
    await proxy.cut()
    await proxy.restore()
    while (proxy.connections() < 2) await pause(20)
    const [answer, waited] = await timed(() => redis.count(newKey(), 60_000))
    expect([answer, waited < TIMEOUT_MS]).toEqual([undefined, true])
    proxy.thaw()
    while ((await redis.count('test:ready', 1)) === undefined) await pause(20)
  })
  test('continue to count while Redis is down, and keep their counts if Redis returns empty', async () => {
    const { proxy, redis } = await flaky()
    const counter = new RequestCounter(() => Date.now(), redis)
    const key = newKey()
    const hour = 3_600_000
    for (let i = 0; i < 5; i++) await counter.count(key, hour)
    await proxy.cut()
    const [{ current, ttl }, waited] = await timed(() => counter.count(key, hour))
    expect([current, ttl > hour - 600_000 && ttl <= hour, waited < TIMEOUT_MS]).toEqual([6, true, true])
    await forgetInRedis(key)
    await proxy.restore()
    while ((await redis.count('test:ready', 1)) === undefined) await pause(20)
    expect((await counter.count(key, hour)).current).toBe(7)
    expect((await redis.count(key, hour))!.current).toBe(2)
  })
  test('include counts of all API instances while Redis is down, and end each window for all of them', async () => {
    const { proxy, redis } = await flaky()
    let now = 0
    const [here, there] = [
      new RequestCounter(() => now, redis),
      new RequestCounter(() => now, await connect()),
    ]
    const key = newKey()
    const hour = 3_600_000
    await here.count(key, hour)
    for (let i = 0; i < 5; i++) await there.count(key, hour)
    expect((await here.count(key, hour)).current).toBe(7)
    await proxy.cut()
    expect((await here.count(key, hour)).current).toBe(8)
    now += hour
    await forgetInRedis(key)
    expect([(await here.count(key, hour)).current, (await there.count(key, hour)).current]).toEqual([1, 1])
  })
  test('apply over HTTP while Redis is frozen, and delay no response', async () => {
    const proxy = await startRedisProxy(TEST_REDIS_URL!)
    const api = await startApi({
      ...{ redisUrl: proxy.url, redisTimeoutMs: TIMEOUT_MS },
      ...{ rateLimitPerHour: 50, trustProxy: ['127.0.0.1'] },
    })
    closing.push(
      () => api.close(),
      () => proxy.close(),
    )
    proxy.freeze()
    const client = newClient()
    const started = performance.now()
    const statuses: number[] = []
    for (let i = 0; i < 60; i++)
      statuses.push(
        (
          await fetch(`${api.url}/compute/v0/distance`, {
            method: 'POST',
            headers: { 'x-forwarded-for': client },
          })
        ).status,
      )
    expect(statuses).toEqual([...Array<number>(50).fill(400), ...Array<number>(10).fill(429)])
    // If each request had to time out, the test would take sixty times the timeout.
    expect(performance.now() - started).toBeLessThan(30 * TIMEOUT_MS)
  })
})
