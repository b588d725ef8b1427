import { connect } from 'node:net'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { buildTestServer, exchange, postJson, startApi, type TestApi } from '../../test/api'
import { startRpcProxy } from '../../test/rpc-proxy'
import { createMigratedDatabase, type TestDatabase } from '../../test/database'
import { sentence, testSentences } from '../../test/sentences'

/**
 * Tests the HTTP behaviour of /mcp: rejected requests, and the client that requests count for. packages/mcp
 * tests the tools.
 */
let chain: LocalChain
let database: TestDatabase
let api: TestApi
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  api = await startApi({ databaseUrl: database.url, rpcUrl: chain.url })
})
afterAll(async () => {
  for (const close of closing) await close()
})

const message = (method: string, params?: object) => ({
  ...{ jsonrpc: '2.0', id: 1 },
  method,
  ...(params && { params }),
})
const LIST = message('tools/list')
const META = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}
const MODERN = { 'mcp-protocol-version': '2026-07-28' }
const SQUARE = { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] } // oxfmt-ignore
const AREA = message('tools/call', { name: 'area', arguments: { geometry: SQUARE, chain: 'base-sepolia' } })

async function post(body: unknown, headers: Record<string, string> = {}, url = api.url) {
  const response = await postJson(`${url}/mcp`, body, headers)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : (JSON.parse(text) as { result?: any; error?: any; id?: unknown }),
  }
}

describe('the MCP endpoint', () => {
  test('returns JSON to clients of any revision, and stores no session', async () => {
    const clients: Record<string, string>[] = [
      {},
      { accept: 'application/json' },
      { accept: '*/*' },
      { 'mcp-protocol-version': '2025-06-18' },
    ]
    for (const headers of clients) {
      const { status, headers: got, body } = await post(LIST, headers)
      expect([status, got.get('content-type'), body!.result.tools.length]).toEqual([
        ...[200, 'application/json; charset=utf-8', 13],
      ])
      expect([got.get('cache-control'), got.get('mcp-session-id')]).toEqual(['no-store', null])
    }
    const current = await post(message('tools/list', META), { ...MODERN, 'mcp-method': 'tools/list' })
    expect([current.status, current.body!.result.tools.length]).toEqual([200, 13])
    expect(await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      status: 202,
      body: undefined,
    })
    expect((await post(AREA)).body!.result.structuredContent.result).toBe(6154854786.7214)
  })
  test('serves pages of its own origin, such as /docs', async () => {
    expect((await post(LIST, { origin: 'https://x.example' })).status).toBe(200)
  })
  test('opens no event stream', async () => {
    const { status, headers, body } = await post(
      message('subscriptions/listen', { ...META, notifications: { toolsListChanged: true } }),
      { ...MODERN, 'mcp-method': 'subscriptions/listen', accept: 'text/event-stream' },
    )
    expect([status, headers.get('content-type'), body!.error.message]).toEqual([
      ...[200, 'application/json; charset=utf-8', expect.stringMatching(/limit reached/)],
    ])
  })
  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])('does not support %s', async (method) => {
    const response = await fetch(`${api.url}/mcp`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await response.json()).toMatchObject({
      ...{ jsonrpc: '2.0', id: null },
      error: {
        message: sentence(),
      },
    })
    expect((await fetch(`${api.url}/mcp/nothing`, { method })).status).toBe(404)
  })
})

describe('an invalid MCP message', () => {
  const nested = (levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"x","params":${'{"a":'.repeat(levels)}1${'}'.repeat(levels + 1)}`
  test.each<[string, unknown, Record<string, string>, number, unknown]>([
    ['a batch', [LIST, LIST], {}, 400, sentence()],
    ['an empty batch', [], {}, 400, sentence()],
    ['nothing', '', {}, 400, sentence()],
    ['no JSON', '{', {}, 400, sentence()],
    ['deep nesting', nested(70), {}, 400, sentence()],
    ['nesting a million deep', nested(9_000), {}, 400, sentence()],
    ['__proto__', '{"__proto__":{}}', {}, 400, sentence()],
    ['null', 'null', {}, 400, sentence()],
    ['a number', '5', {}, 400, sentence()],
    ['a text', '"tools/list"', {}, 400, sentence()],
    ['no JSON-RPC', { hello: 'world' }, {}, 400, sentence()],
    ['another version of JSON-RPC', { ...LIST, jsonrpc: '1.0' }, {}, 400, sentence()],
    ['an unknown revision', LIST, { 'mcp-protocol-version': '1999-01-01' }, 400, sentence()],
    [
      'an unknown revision in the message',
      message('tools/list', {
        _meta: { ...META._meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
      }),
      { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' },
      400,
      sentence(),
    ],
    ['plain text', LIST, { 'content-type': 'text/plain' }, 415, sentence()],
    ['70 kB', message('tools/list', { x: 'x'.repeat(70_000) }), {}, 413, sentence()],
    ['a page of another origin', LIST, { origin: 'https://evil.example' }, 403, sentence()],
    ['a page without an origin', LIST, { origin: 'null' }, 403, sentence()],
  ])('is refused with a reason: %s', async (_, body, headers, status, text) => {
    const answer = await post(body, headers)
    expect([answer.status, answer.body!.error.message]).toEqual([status, text])
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } })
  })
  test.each([
    ['initialize', undefined, sentence()],
    ['initialize', { protocolVersion: '2025-06-18' }, sentence()],
    ['tools/call', {}, sentence()],
  ])('is refused if %s lacks its params', async (method, params, words) => {
    expect((await post(message(method, params))).body).toEqual({
      ...{ jsonrpc: '2.0', id: 1 },
      error: { code: -32602, message: words },
    })
  })
  test('is refused for an unknown argument of a tool, and the error lists the known arguments', async () => {
    const search = message('tools/call', { name: 'search_records', arguments: { country: 'FR' } })
    expect((await post(search)).body!.result).toMatchObject({
      isError: true,
      content: [{ text: sentence() }],
    })
  })
  test('is refused at 10 MB before it is read', async () => {
    const head = `POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${10 * 1024 ** 2}\r\n\r\n`
    expect(await exchange(api.url, `${head}{"jsonrpc"`)).toMatch(/^HTTP\/1\.1 413 [^]*The maximum is 64 KiB/)
  })
  test(
    'does not disturb other clients if it is cut off, even if many are cut off at once',
    { tags: ['slow'] },
    async () => {
      const logged: string[] = []
      const logger = pino({ level: 'warn' }, { write: (line) => void logged.push(line) })
      const { url, close } = await startApi({ databaseUrl: database.url, rpcUrl: chain.url, logger })
      closing.push(close)
      const { hostname, port } = new URL(url)
      const text = JSON.stringify(AREA)
      const whole = `POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
      await Promise.all(
        Array.from({ length: 30 }, (_, i) => {
          const socket = connect(Number(port), hostname)
          return new Promise<void>((resolve) => {
            socket.on('error', () => {}).on('close', () => resolve())
            // Some clients disconnect while their message is under way, others while it is processed.
            socket.on('connect', () =>
              socket.write(i % 2 ? whole.slice(0, -20) : whole, () => setTimeout(() => socket.destroy(), i)),
            )
          })
        }),
      )
      const all = await Promise.all(
        Array.from({ length: 100 }, (_, i) => post({ ...(i % 2 ? AREA : LIST), id: i }, {}, url)),
      )
      expect(all.map(({ status, body }) => [status, body!.id, body!.error])).toEqual(
        all.map((_, i) => [200, i, undefined]),
      )
      expect(logged).toEqual([])
    },
  )
})

test(
  'the MCP endpoint ends pending requests of a disconnected client silently',
  { tags: ['slow'] },
  async () => {
    const logged: string[] = []
    const logger = pino({ level: 'info' }, { write: (line) => void logged.push(line) })
    const proxy = await startRpcProxy(chain.url, () => undefined)
    const { url, close } = await startApi({ databaseUrl: database.url, rpcUrl: proxy.url, logger })
    closing.push(close, () => proxy.close())
    expect((await post(AREA, {}, url)).status).toBe(200)
    const calls = proxy.calls.length
    proxy.misbehave(() => ({ ask: () => new Promise(() => {}) }))
    const leaving = new AbortController()
    const asked = fetch(`${url}/mcp`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      ...{ body: JSON.stringify(AREA), signal: leaving.signal },
    })
    await expect.poll(() => proxy.calls.length).toBeGreaterThan(calls)
    leaving.abort()
    await expect(asked).rejects.toThrow()
    const lines = () => logged.map((line) => JSON.parse(line))
    const ended = () =>
      lines().flatMap(({ route, status }) => (route === undefined ? [] : [`${route} ${status}`]))
    // The endpoint's call of its node times out.
    await expect.poll(ended).toContainEqual('/compute/v0/area 500')
    expect(lines().filter(({ level }) => level > 40)).toEqual([])
  },
)

describe('rate limits of MCP', () => {
  test('count messages, and requests of tools, for the client that sends them', async () => {
    const { app } = await buildTestServer({
      ...{ databaseUrl: database.url, rpcUrl: chain.url, trustProxy: ['127.0.0.1'] },
      ...{ rateLimitPerHour: 2, recordsRateLimitPerHour: 5 },
    })
    const send = (url: string, payload: object, client: string) =>
      app.inject({ method: 'POST', url, payload, headers: { 'x-forwarded-for': client } })
    const first = '203.0.113.7'
    const left = async () => {
      const { headers } = await send('/mcp', LIST, first)
      return headers['ratelimit-remaining']
    }
    expect(await left()).toBe('4')
    expect((await send('/mcp', AREA, first)).json().result.isError).toBeUndefined()
    const direct = await send('/compute/v0/area', { chainId: 84532, geometry: SQUARE }, first)
    expect([direct.statusCode, direct.headers['ratelimit-remaining']]).toEqual([200, '0'])
    expect((await send('/mcp', AREA, first)).json().result).toMatchObject({
      ...{
        isError: true,
        content: [{ text: sentence() }],
      },
    })
    expect((await send('/mcp', AREA, '203.0.113.8')).json().result.isError).toBeUndefined()
    expect(await left()).toBe('1')
    expect(await left()).toBe('0')
    const over = await send('/mcp', LIST, first)
    expect([over.statusCode, over.headers['retry-after'], over.json()]).toEqual([
      429,
      expect.stringMatching(/^3[56]\d\d$/),
      {
        ...{ jsonrpc: '2.0', id: null },
        error: {
          code: -32000,
          message: sentence(),
        },
      },
    ])
  })
})

describe('MCP', () => {
  test('is mentioned by the landing page, llms.txt and the OpenAPI document', async () => {
    for (const path of ['/', '/llms.txt', '/openapi.json'])
      expect(await (await fetch(api.url + path)).text(), path).toContain('/mcp')
  })
})

testSentences()
