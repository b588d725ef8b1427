import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exchange, startApi, type TestApi } from '../../test/api'
import { faults, startRpcProxy, type Fault } from '../../test/rpc-proxy'
import { sentence, testSentences } from '../../test/sentences'
import { boundResponses } from './guard'
import { recordsErrorHandler } from './problems'

/**
 * Tests HTTP over raw sockets: every error of /compute has the form of problem details, whatever the request,
 * and scripts of any origin may read every response.
 */
let api: TestApi
beforeAll(async () => {
  api = await startApi({ timeouts: { request: 60_000, answer: 60_000 } })
})

const HEAD = 'POST /compute/v0/distance HTTP/1.1\r\nhost: x\r\n'
const JSON_HEAD = `${HEAD}content-type: application/json\r\n`
const withBody = (body: string | Buffer, head = JSON_HEAD) =>
  Buffer.concat([Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`), Buffer.from(body)])
const problem = (detail: unknown, status = 400) => ({
  ...{ type: 'https://x.example/errors/invalid-input', title: 'Invalid Input', status, detail },
})
const PROBLEM = 'application/problem+json; charset=utf-8'
const recordsError = (message: string, detail: unknown = sentence()) => ({
  ...{ status: 'error', message, detail },
})

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}
/** Parses the responses in a text, in order. */
function answers(text: string): Answer[] {
  const found: Answer[] = []
  for (let rest = text; rest !== '';) {
    const [head, after] = [rest.slice(0, rest.indexOf('\r\n\r\n')), rest.slice(rest.indexOf('\r\n\r\n') + 4)]
    const [line, ...lines] = head.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line!)![1])
    const pairs = lines.map((each) => /^([^:]*):\s*(.*?)\s*$/.exec(each)!)
    const headers = Object.fromEntries(pairs.map(([, name, value]) => [name!.toLowerCase(), value!]))
    const length = Number(headers['content-length'] ?? 0)
    found.push({ status, headers, body: Buffer.from(after).subarray(0, length).toString() })
    rest = Buffer.from(after).subarray(length).toString()
  }
  return found
}
const detailOf = ({ body }: Answer) => (JSON.parse(body) as { detail: string }).detail
/** URL of an RPC endpoint that answers only the calls of the API's start. */
const silentEndpoint = async () => {
  const known: Record<string, object> = {
    eth_chainId: { result: '0x14a34' },
    web3_clientVersion: { result: 'Geth' },
  }
  const start = (({ method }) => known[method]) as Fault
  return (await startRpcProxy('', start, faults.hanging)).url
}
/** Starts an API whose signed answers take as long as it waits. */
const startSlow = async (answer: number) =>
  startApi({ rpcUrl: await silentEndpoint(), timeouts: { request: 60_000, answer } })
/** Milliseconds of silence that no test reaches: the service closes the connection earlier. */
const NEVER_MS = 60_000
const ask = async (bytes: string | Buffer, { url } = api, quietMs?: number) => {
  const found = answers(await exchange(url, bytes, quietMs))
  for (const { headers } of found) expect(headers['access-control-allow-origin']).toBe('*')
  return found
}
async function expectProblem(bytes: string | Buffer, detail: unknown, status = 400, of = api) {
  const [answer, ...more] = await ask(bytes, of)
  expect(more).toEqual([])
  expect([answer!.status, answer!.headers['content-type']]).toEqual([status, PROBLEM])
  expect(JSON.parse(answer!.body)).toMatchObject(problem(detail, status))
  return answer!
}
const UNDERSTOOD = sentence('chainId')

describe('a malformed HTTP request', () => {
  test.each<[string, string]>([
    ['words', 'GARBAGE\r\n\r\n'],
    ['an unknown method', 'FOO /compute/v0/distance HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/2 without its preface', 'GET /compute/v0/distance HTTP/2.0\r\nhost: x\r\n\r\n'],
    ['HTTP/0.9 by its name', String(withBody('{}')).replace('HTTP/1.1', 'HTTP/0.9')],
    ['HTTP/0.9', 'GET /compute/v0/distance\r\n\r\n'],
    ['HTTP/1.2', 'GET /compute/v0/distance HTTP/1.2\r\nhost: x\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00'],
    ['line feeds alone', 'POST /compute/v0/distance HTTP/1.1\nhost: x\n\n'],
    ['a space in the name of a header', `${HEAD}x y: z\r\n\r\n`],
    ['NUL in a header', `${HEAD}x: \0\r\n\r\n`],
    ['two lengths', `${JSON_HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ['a length and chunks', `${JSON_HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk of no length', `${JSON_HEAD}transfer-encoding: chunked\r\n\r\nZZ\r\n`],
  ])('is refused: %s', async (_, bytes) => {
    expect((await expectProblem(bytes, sentence())).headers.connection).toBe('close')
  })
  test('gets an error in the form of the Records API for HTTP/0.9 outside the Compute API', async () => {
    for (const target of ['/api/v0/config', '/', '/health', '/ogc', '/nowhere']) {
      const [answer] = await ask(`GET ${target}\r\n\r\n`)
      expect([target, answer!.status, answer!.headers.connection]).toEqual([target, 400, 'close'])
      expect(JSON.parse(answer!.body)).toEqual(recordsError('Invalid request'))
    }
  })
  test('gets an error for HTTP/0.9 from a client that ends after its only line', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.end('GET /\r\n'))
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    expect(JSON.parse(answers(text)[0]!.body)).toEqual(problem(sentence()))
  })
  test('gets an error for a missing Host', async () => {
    await expectProblem('POST /compute/v0/distance HTTP/1.1\r\ncontent-length: 0\r\n\r\n', sentence())
  })
  test.each(['memo=%ff', 'memo=50%'])(
    'gets an error for a query that is not encoded UTF-8: %s',
    async (query) => {
      const [answer, ...more] = await ask(`GET /api/v0/location?${query} HTTP/1.1\r\nhost: x\r\n\r\n`)
      expect(more).toEqual([])
      expect(answer!.status).toBe(400)
      expect(JSON.parse(answer!.body)).toEqual(recordsError('Invalid query parameter'))
    },
  )
  test('gets an error in the form of the Records API on its known paths', async () => {
    const head = JSON_HEAD.replace('/compute/v0/distance', '/api/v0/config')
    const [answer] = await ask(`${head}transfer-encoding: chunked\r\n\r\nZZ\r\n`)
    expect([answer!.status, JSON.parse(answer!.body)]).toEqual([400, recordsError('Invalid request')])
  })
  test('does not affect other connections if its connection is reset', async () => {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () =>
        socket.write(`${JSON_HEAD}content-length: 9\r\n\r\n{`, () => socket.resetAndDestroy()),
      )
      socket.on('close', () => resolve())
    })
    await expectProblem(withBody('{}'), UNDERSTOOD)
  })
})

describe('a request head that is too large', () => {
  const DETAIL = sentence()
  const headers = (count: number) => 'x:\r\n'.repeat(count)
  test('is refused above 16 KiB, by a header or by its URL', async () => {
    await expectProblem(`${HEAD}x: ${'a'.repeat(17_000)}\r\n\r\n`, DETAIL, 431)
    await expectProblem(`POST /compute/${'a'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, DETAIL, 431)
  })
  // Node keeps 1,000 to 1,023 headers and drops the rest; the parser delivers them in groups of 32.
  test.each([101, 128, 129, 999, 1_000, 1_001, 1_023, 1_024, 2_000, 5_000])(
    'is refused with %i headers',
    async (count) => {
      const request = withBody('{}', `${JSON_HEAD}${headers(count - 3)}`)
      expect((await expectProblem(request, DETAIL, 431)).headers.connection).toBe('close')
    },
  )
  test("is refused with 5,000 headers before the Host and the body's length", async () => {
    const head = HEAD.replace('host', `${headers(5_000)}host`)
    await expectProblem(withBody('{}', head), DETAIL, 431)
  })
  test('is refused with 5,000 headers of 160 kB, before most of them are read', async () => {
    const long = Array.from({ length: 5_000 }, (_, i) => `x-header-${i}: a value of some length\r\n`).join('')
    await expectProblem(`${HEAD}${long}\r\n`, DETAIL, 431)
  })
  test('is accepted if it has only 100 headers', async () => {
    await expectProblem(withBody('{}', `${JSON_HEAD}${headers(97)}`), UNDERSTOOD)
  })
  test('gets an error in the form of the Records API outside the Compute API', async () => {
    for (const target of ['/api/v0/config', '/', '/health', '/ogc', '/nowhere']) {
      const [answer, ...more] = await ask(`GET ${target} HTTP/1.1\r\nhost: x\r\n${headers(5_000)}\r\n`)
      expect([target, answer!.status, answer!.headers.connection, more]).toEqual([target, 431, 'close', []])
      expect(JSON.parse(answer!.body)).toEqual(recordsError('Invalid request', DETAIL))
    }
  })
})

describe('incomplete requests', () => {
  const REASON = sentence()
  const ANSWER_MS = 30_000
  let hasty: TestApi
  beforeAll(async () => {
    hasty = await startApi({ timeouts: { request: 500, answer: ANSWER_MS } })
  })
  afterAll(() => hasty?.close())
  test('are refused in the form of their API if a body arrives too slowly', async () => {
    const drip = async (path: string) => {
      const started = performance.now()
      const head = JSON_HEAD.replace('/compute/v0/distance', path)
      const [answer] = await ask(`${head}content-length: 100\r\n\r\n{`, hasty)
      expect(performance.now() - started).toBeLessThan(ANSWER_MS - 5_000)
      expect(answer!.headers.connection).toBe('close')
      return [answer!.status, JSON.parse(answer!.body)] as const
    }
    const paths = ['/compute/v0/distance', '/compute/v0/unknown', '/api/v0/config']
    expect(await Promise.all(paths.map(drip))).toMatchObject([
      [408, problem(REASON, 408)],
      [408, problem(REASON, 408)],
      [408, recordsError('Invalid request', REASON)],
    ])
  })
  test('are refused for a head that arrives too slowly', { tags: ['slow'] }, async () => {
    await expectProblem('POST /compute/v0/distance HTTP/1.1\r\nhost: x', REASON, 408, hasty)
  })
  // A browser would take an error for the response to a request that it sends at that moment.
  test('get no response if nothing of them arrived: the connection is closed', async () => {
    expect(await ask('', hasty)).toEqual([])
  })
  test('get no second response on their connection, which the server closes', async () => {
    const started = performance.now()
    const request = `${JSON_HEAD}content-encoding: gzip\r\ncontent-length: 100\r\n\r\n{`
    const got = await ask(request, hasty, NEVER_MS)
    expect(got.map(detailOf)).toEqual([sentence('Content-Encoding')])
    expect(performance.now() - started).toBeLessThan(ANSWER_MS - 5_000)
  })
  test('get no second response after one for a URL that cannot be decoded', async () => {
    const request = 'POST /%zz HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{'
    const got = await ask(request, hasty, NEVER_MS)
    expect(got.map(({ status }) => status)).toEqual([400])
  })
  test('are refused with a body shorter than its length', async () => {
    await expectProblem(`${JSON_HEAD}content-length: 10\r\n\r\n{}`, REASON, 408, hasty)
  })
})

describe('pipelined requests', () => {
  test('are answered in order, and invalid HTTP after them last', async () => {
    const last = Buffer.from('GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\nGARBAGE\r\n\r\n')
    const got = await ask(Buffer.concat([withBody('{}'), withBody('[]'), last]), api, NEVER_MS)
    expect(got.map(({ status, body }) => [status, JSON.parse(body)])).toMatchObject([
      [400, problem(UNDERSTOOD)],
      [400, problem(sentence('body'))],
      [404, recordsError('Not found')],
      [400, problem(sentence())],
    ])
  })
  test(
    'get the error for invalid HTTP only after a slow response to an earlier request',
    { tags: ['slow'] },
    async () => {
      const slow = await startSlow(800)
      const sent = withBody(JSON.stringify({ chainId: 84532 }))
      const got = await ask(Buffer.concat([sent, Buffer.from('GARBAGE\r\n\r\n')]), slow, NEVER_MS)
      expect(got.map(({ status }) => status)).toEqual([500, 400])
      // A request that takes too long gets status 500 with Retry-After.
      expect(got[0]!.headers).toMatchObject({ 'content-type': PROBLEM, 'retry-after': '5' })
      expect(JSON.parse(got[0]!.body)).toMatchObject({
        ...{ type: 'https://x.example/errors/computation-error', title: 'Computation Error' },
        ...{ status: 500, detail: sentence() },
      })
      await slow.close()
    },
  )
})

test('a stop closes connections on which nothing was sent', { timeout: 8_000 }, async () => {
  const stopped = await startApi()
  const spare = connect(Number(new URL(stopped.url).port), '127.0.0.1')
  await expect.poll(() => stopped.connections()).toBe(1)
  const closed = once(spare, 'close')
  await stopped.close()
  await closed
})

test('a stop answers a request that has arrived on a new connection, but is not read yet', async () => {
  const stopped = await startApi()
  const socket = connect(Number(new URL(stopped.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  await expect.poll(() => stopped.connections()).toBe(1)
  const [closed, ended] = [once(socket, 'close'), stopped.close()]
  socket.write('GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n')
  await Promise.all([closed, ended])
  expect(answers(text)).toMatchObject([{ status: 404, headers: { connection: 'close' } }])
})

test('a stop ends with the response under way, and closes its connection', { timeout: 20_000 }, async () => {
  const slow = await startSlow(500)
  const agent = new Agent({ keepAlive: true })
  const sent = request(`${slow.url}/compute/v0/distance`, {
    ...{ agent, method: 'POST', headers: { 'content-type': 'application/json' } },
  })
  const underWay = slow.requested()
  sent.end(JSON.stringify({ chainId: 84532 }))
  await underWay
  const stopped = slow.close()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  expect([response.statusCode, response.headers.connection]).toEqual([500, 'close'])
  await stopped
  agent.destroy()
})

test('are answered during a stop in the form of their API', { tags: ['slow'] }, async () => {
  const slow = await startSlow(1_500)
  const port = Number(new URL(slow.url).port)
  let text = ''
  const underWay = slow.requested()
  const socket = connect(port, '127.0.0.1', () => socket.write(withBody(JSON.stringify({ chainId: 84532 }))))
  socket.on('data', (chunk) => (text += chunk.toString()))
  const closed = new Promise((resolve) => socket.on('close', resolve))
  await underWay
  const stopped = slow.close()
  const listens = () =>
    new Promise<boolean>((resolve) => {
      const probe = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      probe.on('connect', () => probe.destroy())
    })
  while (await listens());
  socket.write(withBody('[]'))
  await Promise.all([closed, stopped])
  const got = answers(text)
  expect(got.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
    [500, PROBLEM],
    [400, PROBLEM],
  ])
  expect(got.map(detailOf)).toEqual([sentence(), sentence('body')])
})

describe('request methods and targets', () => {
  const KNOWN = sentence()
  const expectUnknown = async (target: string) => {
    const [answer] = await ask(`POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`)
    const unknown = { type: 'about:blank', title: 'Not Found', status: 404, detail: KNOWN }
    expect([answer!.status, JSON.parse(answer!.body)]).toMatchObject([404, unknown])
  }
  test.each(['GET', 'TRACE', 'PUT', 'DELETE', 'PATCH', 'PROPFIND'])(
    'return 405 with Allow for %s',
    async (method) => {
      const [answer] = await ask(`${method} /compute/v0/distance HTTP/1.1\r\nhost: x\r\n\r\n`)
      expect(answer!.headers.allow).toBe('POST')
      expect(JSON.parse(answer!.body)).toEqual({
        ...{ type: 'about:blank', title: 'Method Not Allowed', status: 405 },
        ...{ detail: sentence('', method), instance: '/compute/v0/distance' },
      })
    },
  )
  test('include OPTIONS, which is answered as a preflight, without a body', async () => {
    const bytes = `${HEAD.replace('POST', 'OPTIONS')}connection: close\r\n\r\n`
    const [answer, ...more] = answers(await exchange(api.url, bytes))
    expect([answer!.status, answer!.body, more]).toEqual([204, '', []])
    expect(answer!.headers['access-control-allow-methods']).toBe('GET, HEAD, POST')
  })
  test('include HEAD, which is answered without a body, and CONNECT, which is closed', async () => {
    const text = await exchange(api.url, `${HEAD.replace('POST', 'HEAD')}connection: close\r\n\r\n`)
    const [answer] = answers(text.replace(/content-length: \d+\r\n/, ''))
    expect([answer!.status, answer!.headers['content-type'], answer!.body]).toEqual([405, PROBLEM, ''])
    expect(await exchange(api.url, 'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n')).toBe('')
  })
  test.each([
    ...['/compute', '/compute/', '/compute?x', '/compute/v0', '/compute/v0//distance'],
    ...['/compute/../api/v0/config', '/compute/v0/distance;x'],
  ])('return 404 for POST %s', async (target) => {
    await expectUnknown(target)
  })
  test('return an error for POST of a path of 9,000 letters', async () => {
    await expectUnknown(`/compute/${'a'.repeat(9_000)}`)
  })
  test.each([['/compute/v0/%zz'], ['http://x/compute/v0/%zz'], ['/%63ompute/%zz']])(
    'return an error for POST %s, which cannot be decoded',
    async (target) => {
      await expectProblem(`POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`, sentence())
    },
  )
  test.each([['/computer/%zz'], ['/%zz/compute'], ['/api/%zz']])(
    'return an error of the Records API for POST %s',
    async (target) => {
      const [answer] = await ask(`POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`)
      expect(JSON.parse(answer!.body)).toMatchObject({ status: 'error', message: 'Invalid request' })
    },
  )
  test('lead to the same endpoint in absolute form, or with a trailing slash or a query', async () => {
    const path = '/compute/v0/distance'
    for (const target of [`http://elsewhere${path}`, `${path}/`, `${path}?x=1`])
      await expectProblem(withBody('{}', JSON_HEAD.replace(path, target)), UNDERSTOOD)
  })
})

test('the server limits large responses only for the client that does not read', async () => {
  const app = Fastify({ trustProxy: true }).setErrorHandler(recordsErrorHandler('https://x.example'))
  boundResponses(app)
  app.get('/', () => 'x'.repeat(30_000_000))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const askAs = async (client: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${client}\r\n\r\n`)
    const [first] = await once(socket, 'data')
    socket.pause()
    return { socket, status: Number(String(first).slice(9, 12)) }
  }
  const asked: Awaited<ReturnType<typeof askAs>>[] = []
  for (const client of [...Array<string>(4).fill('192.0.2.1'), '192.0.2.2']) asked.push(await askAs(client))
  expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 429, 200])
  for (const { socket } of asked) socket.destroy()
  await expect
    .poll(async () => (await app.inject({ url: '/', remoteAddress: '192.0.2.1' })).statusCode)
    .toBe(200)
  await app.close()
})

describe('request bodies', () => {
  test('follow 100-continue, while other expectations and upgrades are ignored', async () => {
    expect(await exchange(api.url, withBody('{}', `${JSON_HEAD}expect: 100-continue\r\n`))).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 Bad Request\r\n/,
    )
    await expectProblem(withBody('{}', `${JSON_HEAD}expect: a miracle\r\n`), UNDERSTOOD)
    const upgrade = `${JSON_HEAD}connection: upgrade\r\nupgrade: websocket\r\n`
    await expectProblem(withBody('{}', upgrade), UNDERSTOOD)
  })
  test('are refused only to the client whose bodies occupy 100 MiB', { tags: ['slow'] }, async () => {
    const timeouts = { request: 60_000, answer: 60_000 }
    const { url, close } = await startApi({ trustProxy: ['127.0.0.1'], timeouts })
    const size = 5 * 1_048_576
    const headOf = (client: string) => `${JSON_HEAD}x-forwarded-for: ${client}\r\n`
    const unfinished = withBody(Buffer.alloc(size, ' '), headOf('192.0.2.1')).subarray(0, -1)
    const statusOf = async (client: string) => {
      const [answer] = await ask(withBody('{}', headOf(client)), { ...api, url })
      return answer!.status
    }
    const sockets = Array.from({ length: 21 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
    const refused = Promise.race(
      sockets.map((socket) => {
        socket.on('error', () => {}).write(unfinished)
        return once(socket, 'data')
      }),
    )
    expect(String(await refused)).toMatch(/^HTTP\/1.1 429 [^]*retry-after: 5\r\n/)
    expect(await statusOf('192.0.2.2')).toBe(400)
    for (const socket of sockets) socket.destroy()
    const whole = withBody('{}'.padEnd(size), headOf('192.0.2.1'))
    const statuses = await Promise.all(Array.from({ length: 5 }, () => ask(whole, { ...api, url })))
    expect(statuses.map(([answer]) => answer!.status)).toEqual(Array(5).fill(400))
    await close()
  })
  test('are refused above 5 MiB in one piece, in chunks, or by their Content-Length', async () => {
    const detail = sentence()
    const spaces = Buffer.alloc(5 * 1_048_576 + 1, ' ')
    await expectProblem(withBody(spaces), detail)
    const chunk = `${spaces.length.toString(16)}\r\n${spaces.toString()}\r\n0\r\n\r\n`
    await expectProblem(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\n${chunk}`, detail)
    await expectProblem(`${JSON_HEAD}content-length: 99999999999999\r\n\r\n`, detail)
    await expectProblem(withBody('{}'.padEnd(spaces.length - 1)), UNDERSTOOD)
  })
  const JSON_TYPE = 'content-type: application/json'
  test.each<[name: string, body: string | Buffer, head?: string]>([
    ['gzip', gzipSync('{}'), `${JSON_TYPE}\r\ncontent-encoding: gzip`],
    ['no JSON by its type', '{}', 'content-type: application/jsonp'],
    ['a form', 'chainId=1', 'content-type: application/x-www-form-urlencoded'],
    ['two types', '{}', 'content-type: application/json, text/plain'],
    ['no type at all', '{}', 'x: y'],
    ['UTF-16', Buffer.from('{}', 'utf16le'), 'content-type: application/json; charset=utf-16'],
    ['Latin-1 bytes', Buffer.from('{"from":"\xe9"}', 'latin1')],
    ['nothing', ''],
    ['half of it', '{"chainId":'],
    ['NaN', '{"chainId":NaN}'],
    ['a text that looks like a place', '{" at position 7 ":x}'],
    ['a comma', '{"chainId":1,}'],
    ['__proto__', '{"__proto__":{"chainId":84532}}'],
    ['__proto__, escaped, further down', '{"from":{"type":"Point","properties":{"\\u005f_proto__":1}}}'],
    ['constructor.prototype', '{"from":{"constructor":{"prototype":{}}}}'],
    ['constructor as a field', '{"constructor":1}'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['a million levels', `{"from":${'['.repeat(1e6)}${']'.repeat(1e6)}}`],
    ['half a million objects', `${'{"a":'.repeat(5e5)}1${'}'.repeat(5e5)}`],
  ])('are refused: %s', async (_, body, head = JSON_TYPE) => {
    await expectProblem(withBody(body, `${HEAD}${head}\r\n`), sentence())
  })
  test.each<[name: string, body: string | Buffer, head?: string]>([
    ['charset=utf-8, in any form', '{}', 'content-type: Application/JSON ; Charset="UTF-8"'],
    ['identity', '{}', `${JSON_TYPE}\r\ncontent-encoding: identity`],
    ['64 levels', `{"from":${'['.repeat(63)}${']'.repeat(63)}}`],
    ['brackets in text', `{"from":"${'['.repeat(100)}\\"${'{'.repeat(100)}\\\\"}`],
    ['brackets one after another', `{"from":[${'[],'.repeat(100)}[]]}`],
  ])('are read: %s', async (_, body, head = JSON_TYPE) => {
    await expectProblem(withBody(body, `${HEAD}${head}\r\n`), UNDERSTOOD)
  })
  test('keep the last value of a duplicate key', async () => {
    await expectProblem(withBody('{"chainId":"1","chainId":5}'), sentence('chainId'))
  })
})

testSentences()
