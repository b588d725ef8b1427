import Fastify from 'fastify'
import { createClient } from 'redis'
import { afterEach, describe, expect, test } from 'vitest'
import { RedisCounter, RequestCounter, limitRequests } from './limits'
import { ComputeProblem, computeErrorHandler } from './problems'

const TEST_REDIS_URL = process.env.TEST_REDIS_URL
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function serve(counter: RequestCounter, perHour: number, trustProxy?: string) {
  const app = Fastify({ trustProxy: trustProxy ?? false })
  closing.push(() => app.close())
  await app.register(async (scope) => {
    scope.setErrorHandler(computeErrorHandler('https://x.example'))
    await limitRequests(scope, { scope: 'test', perHour, counter, tooMany: (limit, after) => new ComputeProblem('rate-limited', `${limit}, try in ${after}`) })
    scope.get('/', () => 'ok')
  })
  return (headers: Record<string, string> = {}, remoteAddress = '192.0.2.1') => app.inject({ url: '/', headers, remoteAddress })
}

describe('in this process', () => {
  test('the hundredth request passes, the next is 429 with every header, an hour later all is well', async () => {
    let now = 0
    const get = await serve(new RequestCounter(() => now), 3)
    expect((await get()).headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': '2', 'ratelimit-reset': '3600', 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2', 'x-ratelimit-reset': '3600' })
    now = 600_000
    await get()
    expect((await get()).statusCode).toBe(200)
    const refused = await get()
    expect(refused.statusCode).toBe(429)
    expect(refused.headers).toMatchObject({ 'content-type': 'application/problem+json; charset=utf-8', 'retry-after': '3000', 'x-ratelimit-remaining': '0', 'ratelimit-reset': '3000' })
    expect(refused.json()).toMatchObject({ type: 'https://x.example/errors/rate-limited', status: 429, detail: '3, try in 50 minutes' })
    now = 3_600_001
    expect((await get()).statusCode).toBe(200)
  })
  test('clients are told apart, IPv6 ones by /64; a forwarded address counts only from a trusted proxy', async () => {
    const get = await serve(new RequestCounter(() => 0), 1)
    expect((await get()).statusCode).toBe(200)
    expect((await get({}, '192.0.2.2')).statusCode).toBe(200)
    expect((await get({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(429)
    expect((await get({}, '2001:db8::1')).statusCode).toBe(200)
    expect((await get({}, '2001:db8::2:1')).statusCode).toBe(429)
    expect((await get({}, '2001:db8:0:1::1')).statusCode).toBe(200)
    const behindProxy = await serve(new RequestCounter(() => 0), 1, '192.0.2.0/24')
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.8' })).statusCode).toBe(200)
    expect((await behindProxy({ 'x-forwarded-for': '198.51.100.7' })).statusCode).toBe(429)
  })
  test('0 is no limit', async () => {
    const get = await serve(new RequestCounter(() => 0), 0)
    for (let i = 0; i < 5; i++) expect((await get()).headers['ratelimit-limit']).toBeUndefined()
  })
  test('Redis out of reach: counted here', async () => {
    const redis = new RedisCounter('redis://127.0.0.1:1', Fastify().log)
    closing.push(() => redis.close())
    const get = await serve(new RequestCounter(() => 0, redis), 1)
    expect([(await get()).statusCode, (await get()).statusCode]).toEqual([200, 429])
  })
})

describe.skipIf(!TEST_REDIS_URL)('through Redis (needs TEST_REDIS_URL)', () => {
  const connect = async () => {
    const redis = new RedisCounter(TEST_REDIS_URL!, Fastify().log)
    closing.push(() => redis.close())
    while ((await redis.count('test:ready', 1)) === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
    return redis
  }
  const address = () => `198.51.100.${Math.floor(Math.random() * 250)}:${process.hrtime.bigint()}`

  test('two processes share one count', async () => {
    const [one, two] = [await connect(), await connect()]
    const key = address()
    expect(await one.count(key, 60_000)).toMatchObject({ current: 1, ttl: expect.closeTo(60_000, -3) })
    expect(await two.count(key, 60_000)).toMatchObject({ current: 2 })
    // The window is not prolonged by requests.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await one.count(key, 60_000))!.ttl).toBeLessThan(59_990)
  })
  test('a frozen Redis holds no request: counted here meanwhile', async () => {
    const redis = await connect()
    const admin = await createClient({ url: TEST_REDIS_URL! }).connect()
    closing.push(() => admin.destroy())
    await admin.sendCommand(['CLIENT', 'PAUSE', '1500', 'ALL'])
    const counter = new RequestCounter(() => 0, redis)
    const key = address()
    const started = performance.now()
    expect((await counter.count(key, 60_000)).current).toBe(1)
    expect((await counter.count(key, 60_000)).current).toBe(2)
    expect(performance.now() - started).toBeLessThan(1_200)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
  })
})
