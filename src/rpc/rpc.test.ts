import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { Logger, type LogRecord } from '@subsquid/logger'
import type { RpcClient } from '@subsquid/rpc-client'
import { afterEach, expect, test, vi } from 'vitest'
import { CHAINS } from '../chains'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { Rpc } from './rpc'
import { serve } from '../../test/http-server'
import { VirtualClock } from '../../test/simulation'
import { sentence, testSentences } from '../../test/sentences'

const KEY = 'secret-key'
/** Id of the chain in JSON-RPC's form. */
const OWN = `0x${CHAINS[0]!.id.toString(16)}`

/** An endpoint with a key in its path and a fixed response: a result, an error, an HTTP status, or none. */
async function endpoint(answer: (method: string) => unknown): Promise<{ url: string; calls: string[] }> {
  const calls: string[] = []
  const url = await serveJson(([{ id, method }], { response }) => {
    calls.push(method)
    const given =
      method === 'eth_chainId' ? { result: OWN, ...(answer(method) as object | undefined) } : answer(method)
    if (given === undefined) return
    const { status, ...rest } = given as { status?: number }
    response
      .writeHead(status ?? 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
  })
  return { url: `${url}/v2/${KEY}`, calls }
}
/** An endpoint of the chain with this response to every call. */
const answering = (answer: unknown) => endpoint((method) => (method === 'eth_chainId' ? {} : answer))

type Exchange = { request: IncomingMessage; response: ServerResponse }
/** Serves JSON-RPC requests. Passes their calls. Returns the URL. */
function serveJson(answer: (calls: [Call, ...Call[]], exchange: Exchange) => void): Promise<string> {
  return serve((request, response) => {
    void json(request).then((body) => answer([body].flat() as [Call], { request, response }))
  })
}
type Call = { id: number; method: string }
const logged: LogRecord[] = []
afterEach(() => void vi.restoreAllMocks())
/** Clock that is twenty times as fast as the real one. */
const FAST: Clock = {
  now: () => 20 * MONOTONIC.now(),
  pause: (milliseconds, signal) => MONOTONIC.pause(milliseconds / 20, signal),
}
const routeTo = (endpoints: readonly { url: string }[], timeoutMs: number, clock = FAST) =>
  new Rpc({
    chain: CHAINS[0]!,
    urls: endpoints.map(({ url }) => url),
    batchSize: 100,
    timeoutMs,
    clock,
    log: new Logger((record) => logged.push(record), 'test'),
  }).route()
/** Route with a timeout that no response exceeds. */
const rpc = (...endpoints: { url: string }[]) => routeTo(endpoints, 60_000)

const ofOtherChain = () =>
  endpoint((method) => (method === 'eth_chainId' ? { result: '0x1' } : { result: 'wrong' }))

test.each([
  ['returns HTTP 500', () => answering({ status: 500 })],
  ['returns HTTP 429', () => answering({ status: 429 })],
  ['does not respond', () => answering(undefined)],
  ['reports a rate limit', () => answering({ error: { code: -32005, message: 'rate limit exceeded' } })],
  ['lacks the state', () => answering({ error: { code: -32000, message: 'missing trie node' } })],
  ['is on another chain', ofOtherChain],
])('the RPC client uses the second endpoint while the first one %s, and logs no key', async (_, start) => {
  logged.length = 0
  const [first, second] = [await start(), await answering({ result: 'right' })]
  expect(await routeTo([first, second], 250).call('eth_call')).toBe('right')
  expect(second.calls).toContain('eth_call')
  expect(JSON.stringify(logged)).not.toContain(KEY)
})

test.each([
  (url: string) => url.replace(`/v2/${KEY}`, `?apikey=${KEY}`),
  (url: string) => url.replace('127.0.0.1', 'LOCALHOST'),
])('the RPC client logs no key in any spelling of the URL', async (written) => {
  logged.length = 0
  const first = await answering({ status: 500 })
  const second = await answering({ result: 'right' })
  expect(await rpc({ url: written(first.url) }, second).call('eth_call')).toBe('right')
  expect(JSON.stringify(logged)).toContain('an RPC endpoint failed')
  expect(JSON.stringify(logged)).not.toContain(KEY)
})

test.each([
  ['reports an error with HTTP 403', { status: 403, error: { code: -32601, message: 'not available' } }],
  ['fails', { status: 500 }],
])('the RPC client compares endpoints by another call after one that each of them %s', async (_, outcome) => {
  const one = () =>
    endpoint((method) =>
      method === 'eth_chainId' ? {} : method === 'eth_getLogs' ? { result: [] } : outcome,
    )
  const route = routeTo([await one(), await one()], 30_000, { ...MONOTONIC, now: () => 0 })
  const opinions = async (method: string) => {
    const all: unknown[] = []
    for await (const opinion of route.each([{ method, params: [] }]))
      all.push('answer' in opinion ? opinion.answer : opinion.refusal.code)
    return all
  }
  expect(await opinions('eth_getBlockReceipts')).toEqual('error' in outcome ? [-32601, -32601] : [])
  expect(await opinions('eth_getLogs')).toEqual([[[]], [[]]])
})

test('the RPC client throws and logs errors without the key, even if an endpoint quotes only the key', async () => {
  logged.length = 0
  const error = { code: -32601, message: `the key ${KEY} may not call eth_call` }
  const thrown = await rpc(await answering({ error }))
    .call('eth_call')
    .catch((refusal: unknown) => refusal)
  expect(thrown).toMatchObject({ code: -32601 })
  const failing = await answering({ error: { ...error, message: `rate limit of ${KEY}` } })
  const query = { url: `${new URL(failing.url).origin}/?dkey=${KEY}` }
  expect(await rpc(query, await answering({ result: 'right' })).call('eth_call')).toBe('right')
  expect(JSON.stringify(logged)).toContain('rate limit')
  expect(inspect([thrown, logged], { depth: 9 })).not.toContain(KEY)
})

test('the RPC client throws errors without the decoded password, even in their data and their cause', async () => {
  const password = 'pass/word+1'
  const { origin, host } = new URL((await answering({ error: refusalOf(password) })).url)
  const url = origin.replace(host, `me:${encodeURIComponent(password)}@${host}`)
  const refused = await rpc({ url })
    .call('eth_call')
    .catch((refusal: unknown) => refusal)
  expect(refused).toMatchObject({ code: -32601, data: ['not for ...', { code: 1 }] })
  expect(inspect(refused, { depth: 9 })).not.toContain(password)
  const cause = new Error(password)
  const failing = new Rpc({
    ...{ chain: CHAINS[0]!, urls: [url], batchSize: 1, timeoutMs: 1_000 },
    connect: () =>
      ({
        call: async (method: string) => {
          if (method !== 'eth_chainId') throw new Error('no JSON', { cause })
          return OWN
        },
      }) as unknown as RpcClient,
  })
  const failed = await failing
    .route()
    .call('eth_call', [], { rounds: 1 })
    .catch((failure: unknown) => failure)
  expect(failed).toMatchObject({ cause: { message: '...' } })
  expect(inspect(failed)).not.toContain(password)
})
const refusalOf = (key: string) => ({
  ...{ code: -32601, message: `not for ${key}` },
  data: [`not for ${key}`, { code: 1 }],
})

test('the RPC client lets many calls wait for an endpoint without a warning', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  try {
    const stop = new AbortController()
    const stopped = new Error('stopped')
    const { signal } = stop
    const failing = new Rpc({
      ...{ chain: CHAINS[0]!, urls: ['http://endpoint.example'], batchSize: 1, timeoutMs: 1_000, signal },
      connect: () => ({ call: () => Promise.reject(new Error('no response')) }) as unknown as RpcClient,
    })
    const calls = Array.from({ length: 12 }, () => failing.route().call('eth_call').catch(String))
    await vi.waitFor(() => expect([...failing.counts()].length).toBeGreaterThan(0))
    await new Promise(setImmediate)
    stop.abort(stopped)
    expect(await Promise.all(calls)).toEqual(calls.map(() => expect.any(String)))
    expect(warnings).toEqual([])
  } finally {
    process.off('warning', onWarning)
  }
})

test('the RPC client throws a revert, whose reason any contract chooses, and does not pause the endpoint', async () => {
  logged.length = 0
  const error = { code: 3, message: 'execution reverted: rate limit, try again', data: '0x08c379a0' }
  await expect(rpc(await answering({ error })).call('eth_call')).rejects.toMatchObject({ code: 3 })
  expect(logged).toEqual([])
})

test('the RPC client returns to the first endpoint after the pause of this endpoint', async () => {
  let well = false
  const [first, second] = [
    await endpoint((method) =>
      method === 'eth_chainId' ? {} : well ? { result: 'first' } : { status: 500 },
    ),
    await answering({ result: 'second' }),
  ]
  const both = rpc(first, second)
  const ask = () => both.call('eth_call')
  expect(await ask()).toBe('second')
  well = true
  while ((await ask()) !== 'first') await MONOTONIC.pause(2)
})

test('the RPC client loses two timeouts to an endpoint that does not respond, then one per 15 s', async () => {
  // Timeouts begin at 0 s and 31 s, and at 76 s, 121 s and 166 s, after the pauses of 15 s.
  expect(await firstAnswers(Infinity, 50)).toEqual({ lost: 5, first: 0, seconds: 200 })
})

test('the RPC client soon returns to an endpoint that lost a single call', async () => {
  expect(await firstAnswers(1, 10)).toEqual({ lost: 1, first: 9, seconds: 40 })
})

/**
 * Makes calls, one second after each other, to an endpoint that loses the first `losing` ones, each after
 * 30 s, and to one that responds. Returns the number of calls that the first one lost and answered.
 */
async function firstAnswers(losing: number, calls: number) {
  const clock = new VirtualClock()
  const timeoutMs = 30_000
  const client = (respond: () => Promise<unknown>) =>
    ({ call: async (method: string) => (method === 'eth_chainId' ? OWN : respond()) }) as unknown as RpcClient
  let lost = 0
  let first = 0
  const lossy = client(async () => {
    if (lost === losing) return 'first'
    lost++
    await clock.pause(timeoutMs)
    throw new Error('no response')
  })
  const urls = ['http://lossy.example', 'http://other.example']
  const rpc = new Rpc({
    ...{ chain: CHAINS[0]!, urls, batchSize: 1, timeoutMs, clock },
    connect: ({ url }) => (url === urls[0] ? lossy : client(() => Promise.resolve('other'))),
  })
  const route = rpc.route()
  let seconds: number | undefined
  const calling = (async () => {
    for (let i = 0; i < calls; i++) {
      if ((await route.call('eth_call')) === 'first') first++
      await clock.pause(1_000)
    }
    seconds = clock.now() / 1_000
  })()
  while (seconds === undefined) await clock.pass(1_000, () => {})
  await calling
  return { lost, first, seconds }
}

test('the RPC client pauses an endpoint that refuses even eth_chainId, and logs that', async () => {
  logged.length = 0
  const refusing = await endpoint(() => ({ status: 403, error: { code: -32600, message: 'inactive' } }))
  const other = await answering({ result: 'right' })
  expect(await rpc(refusing, other).call('eth_call')).toBe('right')
  expect(logged).toMatchObject([{ msg: 'an RPC endpoint failed', reason: 'inactive' }])
})

test('the RPC client throws if all endpoints refuse, or at once for a size that can be split', async () => {
  const refusing = () => answering({ error: { code: -32000, message: 'limited to a 5 range' } })
  const [first, second] = [await refusing(), await refusing()]
  const both = rpc(first, second)
  await expect(both.call('eth_getLogs', [], { splittable: true })).rejects.toThrow(sentence())
  expect(second.calls).toEqual([])
  await expect(both.call('eth_getLogs')).rejects.toThrow(sentence())
  expect(second.calls).toContain('eth_getLogs')
})

test.each([
  [null, 1],
  [null, 2],
  [1, 2],
])('the RPC client throws the error of a response with the id %s, to %i calls', async (id, count) => {
  const error = { code: -32005, message: 'daily request count exceeded' }
  const refusing = await answering({ id, error })
  const calls = Array(count).fill({ method: 'eth_call', params: [] })
  await expect(rpc(refusing).batch(calls)).rejects.toMatchObject(error)
})

test('the RPC client throws the refusal of one endpoint if the other is on another chain', async () => {
  const first = await answering({ error: { code: -32601, message: 'method not found' } })
  const second = await ofOtherChain()
  await expect(rpc(first, second).call('eth_call')).rejects.toThrow(sentence())
})

test.each([0, 1])(
  'the RPC client throws a refusal if the other endpoint fails',
  async (refusing) => {
    const all = [{ status: 500 }, { status: 500 }].map((failure, i) =>
      i === refusing ? { error: { code: -32603, message: 'Internal error' } } : failure,
    )
    const route = rpc(...(await Promise.all(all.map(answering))))
    await expect(route.call('eth_call')).rejects.toMatchObject({ code: -32603 })
  },
  5_000,
)

test('the RPC client names the endpoints if all are on other chains', { tags: ['slow'] }, async () => {
  const one = await ofOtherChain()
  const error = await rpc(one)
    .call('eth_call')
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(SettingsError)
  expect((error as Error).message).toEqual(sentence())
  await expect(rpc(await ofOtherChain(), await ofOtherChain()).call('eth_call')).rejects.toThrow(sentence())
})

test('the RPC client queries each endpoint once with `once`, and skips null with `required`', async () => {
  const failing = await answering({ status: 500 })
  const lacking = await answering({ result: null })
  const having = await answering({ result: 'right' })
  const options = { once: true, required: true }
  expect(await rpc(failing, lacking, having).call('eth_call', [], options)).toBe('right')
  const route = rpc(failing, lacking)
  await expect(route.call('eth_call', [], options)).rejects.toThrow(sentence())
  const before = failing.calls.length
  await expect(rpc(failing).call('eth_call', [], options)).rejects.toThrow(sentence())
  expect(failing.calls.length).toBe(before + 2)
})

test('the RPC client throws the refusal of an endpoint, not the failure of a later one, with `once`', async () => {
  const refusing = await answering({ error: { code: -32601, message: 'no batches' } })
  const failing = await answering({ status: 500 })
  const route = rpc(refusing, failing)
  await expect(route.call('eth_call', [], { once: true })).rejects.toMatchObject({ code: -32601 })
  expect(failing.calls).toContain('eth_call')
})

test('the RPC client starts each call at the preferred endpoint, with `once`', async () => {
  const first = await endpoint((method) =>
    method === 'eth_chainId' ? {} : method === 'eth_getLogs' ? { status: 400 } : { result: 'newest' },
  )
  const behind = await answering({ result: 'older' })
  const route = rpc(first, behind)
  expect(await route.call('eth_getLogs', [], { once: true })).toBe('older')
  expect(await route.call('eth_call', [], { once: true })).toBe('newest')
})

test('the RPC client does not exclude an endpoint that returns no chain id', async () => {
  let answers: object = { result: null }
  const one = await endpoint((method) => (method === 'eth_chainId' ? answers : { result: 'right' }))
  const route = rpc(one)
  await expect(route.call('eth_call', [], { once: true })).rejects.toThrow(sentence())
  answers = {}
  expect(await route.call('eth_call', [], { once: true })).toBe('right')
})

test('the RPC client re-sends a call if the endpoint closed a kept-alive connection', async () => {
  let requests = 0
  const url = await serveJson(([{ id, method }], { request, response }) => {
    const result = method === 'eth_chainId' ? OWN : 'right'
    if (++requests === 2) request.socket.destroy()
    else response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const route = rpc({ url })
  expect(await route.call('eth_call', [], { once: true })).toBe('right')
  expect(requests).toBe(3)
})

test('the RPC client uses an endpoint again after its chain id has become correct', async () => {
  let chainId = '0x1'
  const one = await endpoint((method) =>
    method === 'eth_chainId' ? { result: chainId } : { result: 'right' },
  )
  const route = new Rpc({
    chain: CHAINS[0]!,
    urls: [one.url],
    batchSize: 1,
    timeoutMs: 60_000,
    chainIdValidMs: 60_000,
    clock: FAST,
  }).route()
  await expect(route.call('eth_call', [], { once: true })).rejects.toThrow(sentence())
  chainId = OWN
  await expect.poll(() => route.call('eth_call', [], { once: true }).catch(() => 'wrong')).toBe('right')
})

test('the RPC client logs an endpoint on another chain once, until its chain id changes', async () => {
  logged.length = 0
  let chainId = '0x1'
  const one = await endpoint((method) =>
    method === 'eth_chainId' ? { result: chainId } : { result: 'right' },
  )
  let now = 0
  const route = new Rpc({
    ...{ chain: CHAINS[0]!, urls: [one.url], batchSize: 1, timeoutMs: 60_000, chainIdValidMs: 1_000 },
    log: new Logger((record) => logged.push(record), 'test'),
    clock: { ...MONOTONIC, now: () => now },
  }).route()
  const seen: unknown[] = []
  for (chainId of ['0x1', '0x1', '0x1', '0x2', OWN, OWN, '0x2']) {
    now += 60_000
    const answer = await route.call('eth_call', [], { once: true }).catch(() => 'refused')
    seen.push([chainId, answer, logged.length])
  }
  expect(one.calls.filter((method) => method === 'eth_chainId')).toHaveLength(7)
  expect(seen).toEqual([
    ['0x1', 'refused', 1],
    ['0x1', 'refused', 1],
    ['0x1', 'refused', 1],
    ['0x2', 'refused', 2],
    [OWN, 'right', 2],
    [OWN, 'right', 2],
    ['0x2', 'refused', 3],
  ])
})

test(
  'the RPC client keeps its rate and sends batches after the system clock was set back',
  { tags: ['slow'] },
  async () => {
    const sizes: number[] = []
    const url = await serveJson((calls, { response }) => {
      sizes.push(calls.length)
      const limited = sizes.length === 2
      const answers = calls.map(({ id, method }) => ({
        ...(limited ? { error: { code: 429, message: 'rate limit' } } : { result: method }),
        ...(method === 'eth_chainId' && { result: OWN }),
        id,
      }))
      response.end(JSON.stringify(answers.length > 1 ? answers : answers[0]))
    })
    const limits = { rateLimit: 10, batchSize: 100, timeoutMs: 60_000 }
    const route = new Rpc({ chain: CHAINS[0]!, urls: [url], ...limits }).route()
    const { now } = Date
    const call = { method: 'eth_call', params: [] }
    // A second of the meter takes 100 ms.
    vi.spyOn(MONOTONIC, 'now').mockImplementation(() => 10 * performance.now())
    expect(await route.call('eth_call')).toBe('eth_call')
    vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000)
    const started = MONOTONIC.now()
    expect(await route.batch(Array(7).fill(call))).toMatchObject({ answer: Array(7).fill('eth_call') })
    await Promise.all(Array.from({ length: 5 }, () => route.call('eth_call')))
    // 15 calls, of which the first second has ten.
    expect(MONOTONIC.now() - started).toBeGreaterThan(1_000)
    expect(performance.now() - started / 10).toBeLessThan(20_000)
    expect(sizes.slice(0, 5)).toEqual([1, 1, 1, 4, 3])
  },
)

test('the RPC client reads compressed and reordered batches, and sends the credentials of the URL', async () => {
  const seen: (string | undefined)[] = []
  const address = await serveJson((calls, { request, response }) => {
    seen.push(request.headers.authorization)
    const answers = calls.map(({ id, method }) => ({
      ...{ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? OWN : method },
    }))
    const text = JSON.stringify(answers.length === 1 ? answers[0] : answers.reverse())
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text))
  })
  const url = address.replace('//', '//user:pass%20word@')
  const calls = ['eth_a', 'eth_b', 'eth_c'].map((method) => ({ method, params: [] }))
  expect(await rpc({ url }).batchCall(calls)).toEqual(['eth_a', 'eth_b', 'eth_c'])
  expect(new Set(seen)).toEqual(new Set([`Basic ${Buffer.from('user:pass word').toString('base64')}`]))
})

testSentences()
