import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Signature, Wallet } from 'ethers'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { exchange, startApi, type TestApi, type TestApiOptions } from '../../test/api'
import { startRedisProxy } from '../../test/redis-proxy'
import { signedText, type SignedRequest } from './wallet'
import { sentence, testSentences } from '../../test/sentences'
import { withRedis } from '../../test/needs'

/** Tests signed requests over HTTP, as a client sends them. */
const TEST_REDIS_URL = process.env.TEST_REDIS_URL
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
const serve = async (options: TestApiOptions = {}) => {
  const api = await startApi({
    trustProxy: ['127.0.0.1'],
    wallet: { perHour: 1000, perHourByAddress: 2000 },
    ...options,
  })
  closing.push(() => api.close())
  return api
}

const newWallet = () => new Wallet(Wallet.createRandom().privateKey)
const now = () => Math.floor(Date.now() / 1000)
let nonces = 0
const newNonce = () => `nonce-${process.pid}-${process.hrtime.bigint()}-${nonces++}`
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

interface Sent {
  method: string
  path: string
  body: string | undefined
  headers: Record<string, string>
}
/** Builds a request that a wallet signs; `signed` replaces fields of the signed text. */
async function sign(
  wallet: Wallet,
  signed: Partial<SignedRequest> = {},
  sent: Partial<Sent> = {},
): Promise<Sent> {
  const { method = 'POST', path = '/compute/v0/distance', body = '{}', headers } = sent
  const fields = {
    ...{ authority: 'x.example', method, target: path, bodyHash: sha256(body), nonce: newNonce() },
    ...{ address: wallet.address.toLowerCase(), timestamp: String(now()), ...signed },
  }
  return {
    ...{ method, path, body: method === 'GET' ? undefined : body },
    headers: {
      'content-type': 'application/json',
      'x-wallet-address': wallet.address,
      'x-signature': await wallet.signMessage(signedText(fields)),
      'x-wallet-timestamp': fields.timestamp,
      'x-wallet-nonce': fields.nonce,
      ...headers,
    },
  }
}
/** The request with other values of headers. */
const withHeaders = (sent: Sent, headers: Record<string, string>): Sent => ({
  ...{ ...sent, headers: { ...sent.headers, ...headers } },
})
/** A request without a signature, with these headers. */
const unsigned = (headers: Record<string, string> = {}): Sent => ({
  ...{ method: 'POST', path: '/compute/v0/distance', body: '{}' },
  headers: { 'content-type': 'application/json', ...headers },
})
const signAndSend = async (api: TestApi, ...given: Parameters<typeof sign>) => send(api, await sign(...given))
async function send(api: TestApi, { method, path, body, headers }: Sent) {
  // Uses a new client address unless the test names one.
  const from = { 'x-forwarded-for': client(`f${(clients++).toString(16)}1`) }
  const response = await fetch(api.url + path, {
    method,
    headers: { ...from, ...headers },
    ...(body !== undefined && { body }),
  })
  const problem = (await response.json()) as { type: string; detail: string; status: number }
  const header = (name: string) => response.headers.get(name)
  return {
    ...{ status: response.status, detail: problem.detail },
    slug: problem.type?.replace('https://x.example/errors/', ''),
    limit: ['limit', 'remaining', 'reset'].map((name) => Number(header(`x-ratelimit-${name}`))),
    ...{ retryAfter: header('retry-after'), type: header('content-type') },
  }
}
/** Seconds until the end of a window that has just begun. */
const RESET = expect.closeTo(3600, -2) as unknown as number
/** This API serves no chain, so a request that is admitted gets status 400. */
const LET_IN = { status: 400, slug: 'invalid-input', detail: sentence('chainId') }
const PROBLEM = 'application/problem+json; charset=utf-8'
const refused = (detail: unknown) => ({ status: 401, slug: 'verification-failed', type: PROBLEM, detail })
/** Addresses of this run only, because Redis stores counts for an hour. The letters identify a /64. */
const RUN = `2001:db8:${Math.floor(Math.random() * 65_536).toString(16)}`
const client = (name: string) => `${RUN}:${name.slice(0, -1)}::${name.slice(-1)}`
let clients = 0

test('a wallet signs the text in docs/reference/wallet.md', () => {
  const page = readFileSync('docs/reference/wallet.md', 'utf8')
  const example = /## The text[^]*?```text\n([^]*?)\n```/.exec(page)![1]!
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(example)![1]!
  const names = ['authority', 'method', 'target', 'address', 'timestamp', 'nonce'] as const
  const fields = Object.fromEntries(names.map((name) => [name, field(name)]))
  expect(signedText({ ...(fields as any), bodyHash: field('body-sha256') })).toBe(example)
})

describe('a signed request', () => {
  let api: TestApi
  const wallet = newWallet()
  const other = newWallet()
  beforeAll(async () => {
    const wallet = { perHour: 1000, perHourByAddress: 2000 }
    api = await startApi({ trustProxy: ['127.0.0.1'], wallet, rateLimitPerHour: 100 })
  })
  afterAll(() => api.close())

  test('is admitted, and counts for its wallet instead of its address', async () => {
    expect(await signAndSend(api, wallet)).toMatchObject({ ...LET_IN, limit: [1000, 999, RESET] })
    expect(await signAndSend(api, wallet)).toMatchObject({ ...LET_IN, limit: [1000, 998, RESET] })
    expect(await signAndSend(api, other)).toMatchObject({ ...LET_IN, limit: [1000, 999, RESET] })
    const without = await send(api, unsigned({ 'x-forwarded-for': client('e1') }))
    expect(without).toMatchObject({ ...LET_IN, limit: [100, 99, RESET] })
  })
  test('accepts any letter case and 64-byte signatures (EIP-2098), but rejects an incorrect checksum', async () => {
    const request = async (address: string, change = (signature: string) => signature) => {
      const sent = await sign(wallet)
      const signature = change(sent.headers['x-signature']!)
      return send(api, withHeaders(sent, { 'x-wallet-address': address, 'x-signature': signature }))
    }
    const capitals = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
    const { address } = wallet
    expect(await request(address.toLowerCase())).toMatchObject(LET_IN)
    expect(await request(capitals(address), capitals)).toMatchObject(LET_IN)
    expect(await request(address, (given) => Signature.from(given).compactSerialized)).toMatchObject(LET_IN)
    const swapped = address.replace(/[a-fA-F](?=[^a-fA-F]*$)/, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    )
    expect(await request(swapped)).toMatchObject(refused(sentence('X-Wallet-Address')))
  })
  test('is signed in the same way for an unknown endpoint, with a query, or without a body', async () => {
    const path = '/compute/v0/volume?a=%20b&c'
    const get = (signed: Partial<SignedRequest>) => signAndSend(api, wallet, signed, { method: 'GET', path })
    expect(await get({ bodyHash: sha256('') })).toMatchObject({
      ...{ status: 404, slug: 'about:blank', detail: sentence() },
      limit: [1000, expect.any(Number), expect.any(Number)],
    })
    expect(await get({ target: '/compute/v0/volume' })).toMatchObject({ status: 401 })
  })
  test('may have a body that a worker parses', async () => {
    const body = `{${' '.repeat(100_000)}}`
    const post = (bodyHash: string) => signAndSend(api, wallet, { bodyHash }, { body })
    expect(await post(sha256(body))).toMatchObject(LET_IN)
    expect(await post(sha256(''))).toMatchObject({ status: 401 })
  })
  const headOf = (headers: object) =>
    ['POST /compute/v0/distance HTTP/1.1', ...Object.entries(headers).map((each) => each.join(': '))].join(
      '\r\n',
    )
  test('accepts any Host header, because the public address is signed', async () => {
    const over = async (host: string, authority: string) => {
      const { headers } = await sign(wallet, { authority })
      const head = headOf({ ...headers, host, connection: 'close', 'content-length': 2 })
      return (await exchange(api.url, `${head}\r\n\r\n{}`)).slice('HTTP/1.1 '.length, 'HTTP/1.1 400'.length)
    }
    expect(await over('inside:3000', 'x.example')).toBe('400')
    expect(await over('evil.example', 'evil.example')).toBe('401')
  })

  const NOT_THIS = sentence('X-Signature', /(?<=version 1\\nauthority: x\.example\\n).*/s)
  const DISTANCE = '/compute/v0/distance'
  const bySignature = (w: Wallet, signature: string) => sign(w, {}, { headers: { 'x-signature': signature } })
  test.each<[string, (wallet: Wallet) => Promise<Sent>]>([
    ['another host', (w) => sign(w, { authority: 'y.example' })],
    ['the host with a port', (w) => sign(w, { authority: 'x.example:443' })],
    ['another method', (w) => sign(w, { method: 'PUT' })],
    ['another path', (w) => sign(w, { target: '/compute/v0/area' })],
    ['a path with a slash more', (w) => sign(w, { target: '/compute/v0/distance/' })],
    ['a query less', (w) => sign(w, { target: DISTANCE }, { path: `${DISTANCE}?x=1` })],
    ['another query', (w) => sign(w, { target: `${DISTANCE}?x=1&y=2` }, { path: `${DISTANCE}?y=2&x=1` })],
    ['another body', (w) => sign(w, { bodyHash: sha256('{"radius":1}') }, { body: '{"radius":2}' })],
    ['the same JSON, written in another way', (w) => sign(w, { bodyHash: sha256('{}') }, { body: '{ }' })],
    ['another address in the text', (w) => sign(w, { address: other.address.toLowerCase() })],
    ['another address in the header', (w) => sign(w, {}, { headers: { 'x-wallet-address': other.address } })],
    ['the checksummed address in the text', (w) => sign(w, { address: w.address })],
    ['another time', async (w) => sign(w, {}, { headers: { 'x-wallet-timestamp': String(now() - 5) } })],
    ['another nonce', (w) => sign(w, {}, { headers: { 'x-wallet-nonce': newNonce() } })],
    ['another text altogether', async (w) => bySignature(w, await w.signMessage('I own this wallet'))],
    ['a raw digest, not EIP-191', (w) => bySignature(w, w.signingKey.sign(`0x${sha256('x')}`).serialized)],
    ['numbers that are no signature', (w) => bySignature(w, `0x${'00'.repeat(64)}1b`)],
    ['r beyond the order', (w) => bySignature(w, `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`)],
  ])('is refused if it is signed for %s', async (_, make) => {
    expect(await send(api, await make(wallet))).toMatchObject({
      ...refused(NOT_THIS),
      limit: [2000, expect.any(Number), expect.any(Number)],
    })
  })

  const SIGNATURE_FORM = sentence('X-Signature')
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  test.each<[string, (signature: Signature) => string]>([
    [
      'the other s',
      ({ r, s, v }) =>
        `0x${r.slice(2)}${(ORDER - BigInt(s)).toString(16).padStart(64, '0')}${v === 27 ? '1c' : '1b'}`,
    ],
    ['63 bytes', ({ compactSerialized }) => compactSerialized.slice(0, -2)],
    ['v of 0 or 1', ({ r, s, yParity }) => `0x${r.slice(2)}${s.slice(2)}0${yParity}`],
    ['66 bytes', ({ serialized }) => `${serialized}1b`],
    ['no 0x', ({ serialized }) => serialized.slice(2)],
    ['nothing', () => ''],
    ['words', () => 'signed, me'],
  ])('is refused if its signature has %s', async (_, change) => {
    const sent = await sign(wallet)
    const signature = change(Signature.from(sent.headers['x-signature']))
    expect(await send(api, withHeaders(sent, { 'x-signature': signature }))).toMatchObject(
      refused(SIGNATURE_FORM),
    )
  })
  test('is refused with the other parity in v, which recovers another address', async () => {
    const sent = await sign(wallet)
    const flipped = sent.headers['x-signature']!.replace(/1[bc]$/, (v) => (v === '1b' ? '1c' : '1b'))
    expect(await send(api, withHeaders(sent, { 'x-signature': flipped }))).toMatchObject(refused(NOT_THIS))
  })
  const NONCE_FORM = 'X-Wallet-Nonce: expected 16 to 64 letters, digits, - and _'
  test.each<readonly [string, string, unknown]>([
    ['x-wallet-timestamp', '1.7e9', sentence('X-Wallet-Timestamp')],
    ['x-wallet-timestamp', '-5', sentence('X-Wallet-Timestamp')],
    ['x-wallet-timestamp', `0${now()}`, sentence('X-Wallet-Timestamp')],
    ['x-wallet-timestamp', `${Date.now()}`, sentence('X-Wallet-Timestamp')],
    ['x-wallet-timestamp', '170000000000', sentence('X-Wallet-Timestamp', /\d+(?= seconds)/)],
    ...['short', 'a'.repeat(65), 'a:b:c:d:e:f:g:h:i:j', `nonce-1, nonce-${'2'.repeat(20)}`].map(
      (value) => ['x-wallet-nonce', value, NONCE_FORM] as const,
    ),
    ['x-wallet-address', '0x12', sentence('X-Wallet-Address')],
  ])('is refused if the header %s is %s', async (name, value, detail) => {
    const response = await signAndSend(api, wallet, {}, { headers: { [name]: value } })
    expect(response).toMatchObject(refused(detail))
  })
  test.each(['X-Wallet-Address', 'X-Signature', 'X-Wallet-Timestamp', 'X-Wallet-Nonce'])(
    'is refused without %s, and without all other headers',
    async (name) => {
      const all = (await sign(wallet)).headers
      const { [name.toLowerCase()]: value, ...others } = all
      expect(await send(api, unsigned(others))).toMatchObject(refused(sentence(name)))
      expect(await send(api, unsigned({ [name]: value! }))).toMatchObject({ status: 401 })
    },
  )
  test('is refused for invalid headers before its body arrives', async () => {
    const { headers } = await sign(wallet, { timestamp: String(now() - 400) })
    const head = headOf({ ...headers, host: 'x', 'content-length': 1_000 })
    const response = await exchange(api.url, `${head}\r\n\r\n`)
    expect(response).toMatch(/^HTTP\/1\.1 401 [^]*seconds before the server's clock/)
  })
  test('is not checked by the Records API', async () => {
    const response = await fetch(`${api.url}/api/v0/nowhere`, { headers: { 'x-signature': 'x' } })
    expect([response.status, response.headers.get('x-ratelimit-limit')]).toEqual([404, '100'])
  })
})

test('a wallet signs the whole path of the URL if the service is below a path', async () => {
  const api = await serve({ publicBaseUrl: 'https://x.example:8443/geo' })
  const wallet = newWallet()
  const below = (signed: Partial<SignedRequest>) =>
    signAndSend(api, wallet, { authority: 'x.example:8443', ...signed })
  expect(await below({ target: '/geo/compute/v0/distance' })).toMatchObject({ status: 400 })
  expect(await below({})).toMatchObject({ status: 401 })
})
test('the service ignores the headers of a wallet if the setting is off', async () => {
  const api = await startApi({ rateLimitPerHour: 7 })
  closing.push(() => api.close())
  const sent = await sign(newWallet(), { authority: 'elsewhere' })
  for (const left of [6, 5])
    expect(await send(api, sent)).toMatchObject({ ...LET_IN, limit: [7, left, RESET] })
  const response = await send(api, unsigned({ 'x-signature': '' }))
  expect(response).toMatchObject({ ...LET_IN, limit: [7, 4, RESET] })
})
test('the service remembers a nonce exactly as long as its timestamp is accepted', async () => {
  let seconds = 1_800_000_000
  const clock = () => seconds * 1000
  const api = await serve({ clock, elapsed: clock })
  const wallet = newWallet()
  const early = await sign(wallet, { timestamp: String(seconds + 300) })
  const late = await sign(wallet, { timestamp: String(seconds - 301) })
  expect(await send(api, late)).toMatchObject(refused(sentence('X-Wallet-Timestamp')))
  expect(await send(api, early)).toMatchObject(LET_IN)
  const again = refused(sentence('X-Wallet-Nonce'))
  for (const after of [0, 300, 600]) {
    seconds = 1_800_000_000 + after
    expect(await send(api, early)).toMatchObject(again)
  }
  seconds++
  expect(await send(api, early)).toMatchObject(refused(sentence('X-Wallet-Timestamp')))
  // With a later timestamp it is a different request, and the nonce has expired.
  seconds += 60
  const nonce = early.headers['x-wallet-nonce']!
  expect(await signAndSend(api, wallet, { timestamp: String(seconds), nonce })).toMatchObject(LET_IN)
})
test('the service remembers a nonce even if the clock is set forward and back', async () => {
  let seconds = 1_800_000_000
  const api = await serve({ clock: () => seconds * 1000 })
  const wallet = newWallet()
  const sent = await sign(wallet, { timestamp: String(seconds) })
  expect(await send(api, sent)).toMatchObject(LET_IN)
  seconds += 3_600
  expect(await send(api, await sign(wallet, { timestamp: String(seconds) }))).toMatchObject(LET_IN)
  seconds -= 3_600
  expect(await send(api, sent)).toMatchObject(refused(sentence('X-Wallet-Nonce')))
})

for (const [where, redisUrl] of [
  ['in this process', undefined],
  ['through Redis', TEST_REDIS_URL],
] as const)
  (where === 'in this process' ? describe : withRedis.describe)(`rate limits of a wallet ${where}`, () => {
    const options = redisUrl === undefined ? {} : { redisUrl }
    const from = (sent: Sent, address: string) => withHeaders(sent, { 'x-forwarded-for': address })

    test('apply to a wallet at all its addresses, and return the usual 429', async () => {
      const api = await serve({ ...options, wallet: { perHour: 2, perHourByAddress: 100 } })
      const wallet = newWallet()
      expect((await send(api, from(await sign(wallet), client('a1')))).limit.slice(0, 2)).toEqual([2, 1])
      expect((await send(api, from(await sign(wallet), '198.51.100.77'))).limit.slice(0, 2)).toEqual([2, 0])
      const over = await send(api, from(await sign(wallet), client('a3')))
      expect(over).toMatchObject({
        ...{ status: 429, slug: 'rate-limited', type: PROBLEM, detail: sentence() },
        limit: [2, 0, expect.any(Number)],
      })
      expect(Number(over.retryAfter)).toBeGreaterThan(3_000)
      expect(await send(api, from(await sign(newWallet()), client('a1')))).toMatchObject(LET_IN)
    })
    test('apply to an address for all its wallets, with valid or invalid signatures', async () => {
      const wallet = { perHour: 100, perHourByAddress: 4 }
      const api = await serve({ ...options, wallet, rateLimitPerHour: 1 })
      const address = client('b1')
      expect(await send(api, from(await sign(newWallet()), address))).toMatchObject(LET_IN)
      for (const invalid of [
        await sign(newWallet(), { authority: 'no' }),
        await sign(newWallet(), {}, { headers: { 'x-signature': '0x' } }),
      ])
        expect(await send(api, from(invalid, address))).toMatchObject({ status: 401 })
      // Limits count IPv6 addresses by /64.
      expect(await send(api, from(await sign(newWallet()), client('b2')))).toMatchObject(LET_IN)
      expect(await send(api, from(await sign(newWallet()), address))).toMatchObject({
        ...{ status: 429, slug: 'rate-limited', limit: [4, 0, expect.any(Number)] },
        // After one second, the text still says 60 minutes.
        detail: sentence(),
      })
      // Unsigned requests have another limit.
      const plain = unsigned({ 'x-forwarded-for': address })
      expect([(await send(api, plain)).status, (await send(api, plain)).status]).toEqual([400, 429])
    })
    test('cannot be exhausted for a wallet without its key', async () => {
      const api = await serve({ ...options, wallet: { perHour: 3, perHourByAddress: 100 } })
      const [victim, thief] = [newWallet(), newWallet()]
      const wanted = await sign(victim)
      for (let i = 0; i < 5; i++)
        expect(
          await send(
            api,
            withHeaders(wanted, { 'x-signature': (await sign(thief)).headers['x-signature']! }),
          ),
        ).toMatchObject({ status: 401 })
      const nonce = wanted.headers['x-wallet-nonce']!
      // Nonces are per wallet.
      expect(await signAndSend(api, thief, { nonce })).toMatchObject(LET_IN)
      // A request with an invalid body uses up neither a nonce nor a request of the limit.
      const invalid = await signAndSend(api, victim, { nonce }, { body: '{"chainId":' })
      expect(invalid).toMatchObject({ status: 400, detail: sentence() })
      expect(await send(api, wanted)).toMatchObject({ ...LET_IN, limit: [3, 2, expect.any(Number)] })
    })
    test('admit a request once, and refuse its repetitions from any address', async () => {
      const copies = redisUrl === undefined ? [await serve()] : [await serve(options), await serve(options)]
      const wallet = newWallet()
      const sent = await sign(wallet)
      expect(await send(copies[0]!, from(sent, client('c1')))).toMatchObject(LET_IN)
      for (const copy of copies) {
        expect(await send(copy, from(sent, client('c1')))).toMatchObject(refused(sentence('X-Wallet-Nonce')))
        expect(await send(copy, from(sent, '203.0.113.9'))).toMatchObject({ status: 401 })
      }
      for (let round = 0; round < 2; round++) {
        const one = await sign(wallet)
        const statuses = await Promise.all(
          Array.from({ length: 20 }, async (_, i) => (await send(copies[i % copies.length]!, one)).status),
        )
        expect(statuses.filter((status) => status === 400)).toHaveLength(1)
        expect(statuses.filter((status) => status === 401)).toHaveLength(19)
      }
      // Refused requests do not count.
      expect((await signAndSend(copies[0]!, wallet)).limit[1]).toBe(1000 - 4)
    })
  })

withRedis.describe('nonces in Redis', () => {
  test(
    'are required for signed requests during a Redis failure, and used nonces stay used',
    { tags: ['slow'] },
    async () => {
      const proxy = await startRedisProxy(TEST_REDIS_URL!)
      closing.push(() => proxy.close())
      // The first request without a response from Redis waits for this timeout. The others do not wait.
      const redisTimeoutMs = 2_000
      const api = await serve({ redisUrl: proxy.url, redisTimeoutMs, rateLimitPerHour: 100 })
      const wallet = newWallet()
      const used = await sign(wallet)
      expect(await send(api, used)).toMatchObject(LET_IN)
      const check = async () => {
        const started = performance.now()
        for (const sent of [await sign(wallet), used])
          expect(await send(api, sent)).toMatchObject({
            ...{ status: 500, slug: 'computation-error', retryAfter: '5' },
            detail: sentence(),
          })
        expect(await send(api, unsigned({ 'x-forwarded-for': client('d1') }))).toMatchObject(LET_IN)
        expect(performance.now() - started).toBeLessThan(2 * redisTimeoutMs)
      }
      const isBack = async () => {
        while ((await api.redis!.count('test:ready', 1)) === undefined)
          await new Promise((resolve) => setTimeout(resolve, 20))
      }
      proxy.freeze()
      await check()
      proxy.thaw()
      await isBack()
      expect(await send(api, used)).toMatchObject({ status: 401 })
      await proxy.cut()
      await check()
      await proxy.restore()
      await isBack()
      expect(await send(api, used)).toMatchObject({ status: 401 })
      expect(await signAndSend(api, wallet)).toMatchObject(LET_IN)
    },
  )
  test('expire after the time for which their timestamps are accepted', async () => {
    const api = await serve({ redisUrl: TEST_REDIS_URL!, wallet: { maxSkewSeconds: 20 } })
    const wallet = newWallet()
    const sent = await sign(wallet)
    await send(api, sent)
    const admin = await createClient({ url: TEST_REDIS_URL! }).connect()
    const ttl = await admin.pTTL(`nonce:${wallet.address.toLowerCase()}:${sent.headers['x-wallet-nonce']}`)
    admin.destroy()
    expect(ttl).toBeGreaterThan(50_000)
    expect(ttl).toBeLessThanOrEqual(100_000)
  })
})

describe('the client of docs/reference/wallet.md', () => {
  let chain: LocalChain
  beforeAll(async () => {
    chain = await startTestChain({ port: await freePort() })
  })
  afterAll(() => chain?.stop())

  test('runs unchanged, and gets a signed answer', { tags: ['slow'] }, async () => {
    const port = await freePort()
    const publicBaseUrl = `http://127.0.0.1:${port}`
    const redis = TEST_REDIS_URL ? { redisUrl: TEST_REDIS_URL } : {}
    await serve({ port, publicBaseUrl, rpcUrl: chain.url, ...redis })
    const code = /```js\n([^]*?)```/.exec(readFileSync('docs/reference/wallet.md', 'utf8'))![1]!
    const run = async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-'], {
        env: { ...process.env, SERVICE_URL: publicBaseUrl, WALLET_KEY: key },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      child.stdin.end(code)
      let output = ''
      for await (const chunk of child.stdout) output += String(chunk)
      const [status, remaining, ...body] = output.trim().split(' ')
      return { status, remaining, body: JSON.parse(body.join(' ')) }
    }
    const key = Wallet.createRandom().privateKey
    expect(await run()).toMatchObject({
      status: '200',
      remaining: '999',
      body: {
        result: 881329.94,
        operation: 'distance',
        attestation: { signature: expect.stringMatching(/^0x[0-9a-f]{130}$/) },
      },
    })
    expect(await run()).toMatchObject({ status: '200', remaining: '998' })
  })
})

testSentences()
