import { createHash, type BinaryLike } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, Socket, type Server } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate, setTimeout as pause } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { Readable, type Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SafeFetcher, dial, isPublicAddress, resolveHost, type FetchWorld } from './fetcher'
import { MONOTONIC } from '../../src/clock'
import { ComputeError, UnavailableError } from '../http/problems'
import { sentence, testSentences } from '../../test/sentences'

/**
 * Tests of docs/spec/trust.md 3: a hostile server behind real TLS on loopback. To the checks of addresses it
 * appears to be 93.184.216.34.
 */
const PUBLIC = '93.184.216.34'
const certificate = readFileSync('test/vectors/fetcher-certificate.pem', 'utf8')
const DOCUMENT = '{"place":"Quito","λ":-78.5}'
const KIB_256 = 262_144
/** Time after which a document is refused. */
const REFUSAL_MS = 5_250
/** Maximum stall of the event loop that the tests accept; an idle machine measures a tenth of it. */
const STALL_MS = 1_500
/**
 * Measures the longest stall of the event loop until the returned function is called. The unit is
 * milliseconds of this process's processor time, because on a busy machine it runs only for a share of the
 * time.
 */
function watchStalls(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const [loop, cpu] = [performance.eventLoopUtilization(), process.cpuUsage()]
  return () => {
    delay.disable()
    const { user, system } = process.cpuUsage(cpu)
    const share = (user + system) / 1_000 / performance.eventLoopUtilization(loop).active
    return (delay.max / 1e6) * Math.min(1, share)
  }
}

const closing: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  for (const event of ['connection', 'secureConnection'])
    server.on(event, (socket: Socket) => sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

type Route = (socket: Socket, head: string) => void
/** Behaviour of the hostile server by path: called with the connection after a request has arrived. */
const routes = new Map<string, Route>()
const requests: string[] = []
const answer =
  (body: string | Buffer, headers: Record<string, string> = {}, status = '200 OK'): Route =>
  (socket) => {
    const all = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    }
    socket.write(
      `HTTP/1.1 ${status}\r\n${Object.entries(all)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    )
    socket.write(body)
  }
const raw =
  (text: string, end = false): Route =>
  (socket) =>
    void (end ? socket.end(text, 'latin1') : socket.write(text, 'latin1'))
const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const redirect = (location: string, status = '302 Found'): Route =>
  raw(`HTTP/1.1 ${status}\r\nlocation: ${location}\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n`)
const drip = (socket: Socket, piece: string) => {
  const timer = setInterval(() => socket.write(piece), 100)
  socket.on('close', () => clearInterval(timer))
}
const flood = (socket: Socket, piece: Buffer) => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

let tlsPort: number
let silentPort: number
/** `silentPort` completes the TCP handshake, but never the TLS handshake. */
beforeAll(async () => {
  const server = createTlsServer({ key: certificate, cert: certificate }, (socket) => {
    socket.once('data', (data) => {
      const head = data.toString('latin1')
      requests.push(head)
      routes.get(head.split(' ')[1])?.(socket, head)
    })
  })
  server.on('tlsClientError', () => {})
  tlsPort = await listen(server)
  silentPort = await listen(createTcpServer())
})

interface Outcome {
  text?: string
  error?: Error
  reason?: string
  /** Milliseconds from the request to a refusal; undefined if the fetcher did not start a pause. */
  pausedMs?: number
  /** True if the client got its response before the end of that pause. */
  isEarly?: boolean
  /** Addresses of each connection attempt. */
  dialled: string[][]
  looked: string[]
}
/** Addresses by host name; other names have one public address. */
type Names = Record<string, string[]>
interface Setup extends Partial<FetchWorld> {
  names?: Names
  ipfsGateways?: string[]
  /** Called when the fetcher decides to refuse the document, long before the client gets the response. */
  onKnown?: () => void
}
/** A fetcher whose pause before a refusal ends as soon as it has decided to refuse. */
function makeFetcher({ names = {}, ipfsGateways = [], onKnown, ...world }: Setup = {}) {
  const seen: Outcome & { isAnswered?: boolean } = { dialled: [], looked: [] }
  let decide = () => {}
  const decided = new Promise<void>((resolve) => (decide = resolve))
  const clock = {
    pause: async (milliseconds: number) => {
      seen.pausedMs = milliseconds
      await decided
      await setImmediate()
      seen.isEarly = seen.isAnswered === true
    },
  }
  const fetcher = new SafeFetcher(
    { ipfsGateways, onRefusal: (_where, reason) => ((seen.reason = reason), decide(), onKnown?.()) },
    {
      clock,
      ca: certificate,
      resolve: async (host) => {
        seen.looked.push(host)
        return names[host] ?? [PUBLIC]
      },
      dial: (addresses, port) => {
        expect(port).toBe(443)
        seen.dialled.push([...addresses])
        return passFor(addresses[0]!, dial(['127.0.0.1'], tlsPort))
      },
      ...world,
    },
  )
  return { fetcher, seen }
}
/** Makes the socket report that address as its remote address. */
const passFor = (address: string, socket: Socket) =>
  Object.defineProperty(socket, 'remoteAddress', { get: () => address })

async function run(uri: string, setup: Setup = {}): Promise<Outcome> {
  const { fetcher, seen } = makeFetcher(setup)
  const fetched = await fetcher.fetch(uri, 'client').then(
    (text) => ({ text }),
    (error: Error) => ({ error }),
  )
  seen.isAnswered = true
  return { ...seen, ...fetched }
}
const url = (path: string, host = 'good.example') => `https://${host}${path}`
let paths = 0
function serve(route: Route): string {
  const path = `/${++paths}`
  routes.set(path, route)
  return path
}

describe('accepted documents of the fetcher', () => {
  const chain = (count: number): Route =>
    count === 0 ? answer(DOCUMENT) : (socket, head) => redirect(serve(chain(count - 1)))(socket, head)
  test.each<[string, Route]>([
    ['plain', answer(DOCUMENT)],
    [
      'sent with a vendor media type and a charset',
      answer(DOCUMENT, { 'content-type': 'application/vnd.eas+json; charset="UTF-8"' }),
    ],
    ['compressed by gzip', answer(gzipSync(DOCUMENT), { 'content-encoding': 'gzip' })],
    ['compressed by deflate', answer(deflateSync(DOCUMENT), { 'content-encoding': 'deflate' })],
    ['compressed by bare deflate', answer(deflateRawSync(DOCUMENT), { 'content-encoding': 'deflate' })],
    ['compressed by br', answer(brotliCompressSync(DOCUMENT), { 'content-encoding': 'BR' })],
    ['sent with a byte order mark, which is dropped', answer(`\uFEFF${DOCUMENT}`)],
    [
      'sent without a length, until the connection ends',
      raw(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${Buffer.from(DOCUMENT).toString('latin1')}`,
        true,
      ),
    ],
    ['behind three redirects', chain(3)],
    [
      'behind an absolute redirect',
      redirect(url(serve(answer(DOCUMENT)), 'other.example'), '308 Permanent Redirect'),
    ],
  ])('include a document that is %s', async (_name, route) => {
    expect(await run(url(serve(route)))).toMatchObject({ text: DOCUMENT })
  })
  test('include a document of exactly 256 KiB', async () => {
    expect((await run(url(serve(answer('x'.repeat(KIB_256)))))).text).toHaveLength(KIB_256)
    expect(
      (await run(url(serve(answer(gzipSync('x'.repeat(KIB_256)), { 'content-encoding': 'gzip' }))))).text,
    ).toHaveLength(KIB_256)
  })
  test('are fetched with a separate look-up, connection and bare request for each redirect', async () => {
    const end = serve(answer(DOCUMENT))
    const start = serve(redirect(url(`${end}?`, 'other.example')))
    routes.set(`${end}?`, answer(DOCUMENT))
    routes.set(`${start}?q=%C3%A9`, routes.get(start)!)
    const outcome = await run(`HTTPS://Good.Example:443${start}?q=%C3%A9#part`, {
      names: { 'other.example': ['2606:2800:21f:cb07::1', '198.41.0.4'] },
    })
    expect(outcome).toMatchObject({
      text: DOCUMENT,
      looked: ['good.example', 'other.example'],
      dialled: [[PUBLIC], ['2606:2800:21f:cb07::1', '198.41.0.4']],
    })
    const [first, second] = requests.filter((head) => head.includes(start) || head.includes(end))
    expect(first!.toLowerCase().split('\r\n')).toEqual([
      ...[`get ${start}?q=%c3%a9 http/1.1`, 'host: good.example', 'connection: keep-alive'],
      ...['accept: application/json', 'accept-encoding: identity'],
      ...['user-agent: geospatial-attestation-service', '', ''],
    ])
    expect(second!.toLowerCase()).toContain('host: other.example')
    expect(second!.toLowerCase()).not.toMatch(/cookie|referer|authorization/)
  })
})

describe('a malformed URI', () => {
  const hosts = [
    ...['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1', '127.0.0.1.', '0x7f.1'],
    ...['%31%32%37.0.0.1', '0', '8.8.8.8', '[::1]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '[::]'],
    ...['[fd00:ec2::254]', '[2606:2800:21f:cb07::1]', '169.254.169.254/latest/meta-data'],
    ...['%E2%91%A0%E2%91%A1%E2%91%A6.%E2%93%AA.%E2%93%AA.%E2%91%A0', '①②⑦.⓪.⓪.①', '127。0。0。1'],
    ...['localhost', 'localhost.', 'good.example.', 'kubernetes', '-', 'a..example', '_.1a'],
    ...[`${'a'.repeat(64)}.example`, `${'a.'.repeat(124)}example`, 'good@evil.example'],
    ...['good.example:pass@evil.example', 'good.example\\@evil.example', 'exa mple.org'],
    ...[22, 80, 8443, 6379, 99999].map((port) => `good.example:${port}`),
    ...['%0d%0agood.example', 'go\tod.example'],
  ]
  test.each([
    ...hosts.map((host) => `https://${host}/`),
    ...['http://good.example/', 'file:///etc/passwd', 'data:application/json,{}', 'ftp://good.example/'],
    ...['gopher://good.example/', 'https:good.example', '//good.example/', 'good.example', 'javascript:1'],
    ...['https://good.example/\r\nHost: evil', 'https://good.example/\r\n\r\nGET / HTTP/1.1'],
    ...['https://good.example/\0', '', `https://good.example/${'a'.repeat(2_028)}`, 'ipfs://bafkqaaa/'],
  ])('is refused at once, without a look-up: %j', async (uri) => {
    const { error, looked, dialled, pausedMs } = await run(uri)
    expect(error).toBeInstanceOf(ComputeError)
    expect(error).toMatchObject({ slug: 'invalid-input', message: sentence() })
    expect([looked, dialled]).toEqual([[], []])
    expect(pausedMs).toBeUndefined()
  })
  test('keeps a percent-encoded CRLF encoded', async () => {
    const path = `${serve(answer(DOCUMENT))}%0d%0aX:y`
    routes.set(path, answer(DOCUMENT))
    expect((await run(url(path))).text).toBe(DOCUMENT)
  })
})

describe('the address', () => {
  test.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.100.100.200', '127.0.0.1'],
    ...['127.255.255.254', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['192.0.0.192', '192.0.2.1', '192.88.99.1'],
    ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
    ...['255.255.255.255', '168.63.129.16', '127.1', '2130706433', '', 'x'],
    ...['::', '::1', '::7f00:1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    ...['::ffff:93.184.216.34', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::5db8:d822'],
    ...['64:ff9b:1::1', '2002:7f00:1::', '2002:5db8:d822::1'],
    ...['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:db8::1', '2001:10::1', '3fff::1'],
    ...['100::1', 'fc00::1', 'fd00:ec2::254', 'fdff::1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
    ...['fec0::1', 'ff02::1', 'ff0e::1', '5f00::1', '4000::1', '1::1'],
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
  test.each([
    ...[PUBLIC, '1.1.1.1', '100.63.255.255', '100.128.0.0', '172.32.0.1', '2606:4700:4700::1111'],
    ...['2001:4860:4860::8888', '2a00:1450:4001:830::200e'],
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

interface Attack {
  /** Default: the URI of `route`, or of the root. */
  uri?: string
  route?: Route
  setup?: Setup
  /** Regular expression for error texts of Node and its packages. Default: a sentence. */
  reason?: unknown
  /** Number of connections that were made. */
  dialled?: number
}
const known = (reason: unknown = sentence()) =>
  reason instanceof RegExp ? expect.stringMatching(reason) : reason
/** Begins a response of JSON with further headers and its body. */
const begin = (socket: Socket, rest = '\r\n') => void socket.write(`${JSON_HEAD}${rest}`)
const attacks: Record<string, Attack> = {
  'a name with one private address of several': {
    route: answer(DOCUMENT),
    setup: { names: { 'good.example': [PUBLIC, '2606:4700::1', '10.0.0.1', '1.1.1.1'] } },
    dialled: 0,
  },
  'a name without addresses': {
    route: answer(DOCUMENT),
    setup: { names: { 'good.example': [] } },
    dialled: 0,
  },
  'a name that cannot be looked up': {
    route: answer(DOCUMENT),
    setup: { resolve: () => Promise.reject(new Error('SERVFAIL')) },
    reason: /^SERVFAIL$/,
    dialled: 0,
  },
  'a look-up that never ends': {
    route: answer(DOCUMENT),
    setup: { resolve: () => new Promise(() => {}) },
    reason: /timeout|aborted/i,
    dialled: 0,
  },
  ...Object.fromEntries(
    [
      ['http', 'http://good.example/'],
      ['file', 'file:///etc/passwd'],
      ['data', 'data:application/json,{}'],
      ['ipfs', 'ipfs://bafkqaaa'],
      ['another port', 'https://good.example:8443/'],
      ['a user', '//user@good.example/'],
      ['127.0.0.1', 'https://127.0.0.1/'],
      ['127.1', '//127.1/'],
      ['[::1]', 'https://[::1]/'],
      ['circled digits', 'https://%E2%91%A0%E2%91%A1%E2%91%A6.%E2%93%AA.%E2%93%AA.%E2%91%A0/'],
      ['circled digits in UTF-8', Buffer.from('https://①②⑦.⓪.⓪.①/').toString('latin1')],
      ['localhost', 'https://localhost/'],
    ].map(([name, location]): [string, Attack] => [
      `a redirect to ${name}`,
      { route: redirect(location!), dialled: 1 },
    ]),
  ),
  'a redirect to no URL': { route: redirect('https://:::/'), reason: /Invalid URL/, dialled: 1 },
  'a redirect to a name with a private address': {
    route: redirect(url('/', 'other.example')),
    setup: { names: { 'other.example': ['192.168.0.1'] } },
    dialled: 1,
  },
  'a redirect nowhere': { route: raw('HTTP/1.1 301 Moved\r\ncontent-length: 0\r\n\r\n'), dialled: 1 },
  'two redirects at once': {
    route: raw('HTTP/1.1 301 Moved\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n'),
    reason: /location twice/,
    dialled: 1,
  },
  'redirects in a loop': { route: (socket, head) => redirect(head.split(' ')[1]!)(socket, head), dialled: 4 },
  'status 404': { route: answer(DOCUMENT, {}, '404 Not Found'), reason: /status 404/ },
  'status 206': { route: answer(DOCUMENT, {}, '206 Partial Content'), reason: /status 206/ },
  'status 304': { route: raw('HTTP/1.1 304 Not Modified\r\n\r\n'), reason: /status 304/ },
  'an upgrade': {
    route: raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    reason: /upgrade/,
  },
  HTML: { route: answer(DOCUMENT, { 'content-type': 'text/html' }) },
  'plain text': { route: answer(DOCUMENT, { 'content-type': 'text/plain' }) },
  'no content type': { route: raw('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}') },
  'JSON in another charset': {
    route: answer(DOCUMENT, { 'content-type': 'application/json; charset=utf-16' }),
  },
  'a type that only begins like JSON': { route: answer(DOCUMENT, { 'content-type': 'application/jsonp' }) },
  ...Object.fromEntries(
    Object.entries({
      'invalid UTF-8': answer(Buffer.from([0x22, 0xc3, 0x28, 0x22])),
      'a lone surrogate in UTF-8': answer(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])),
      'UTF-16 with its byte order mark': answer(Buffer.from(`\uFEFF${DOCUMENT}`, 'utf16le')),
      'nested gzip, declared once': answer(gzipSync(gzipSync(DOCUMENT)), { 'content-encoding': 'gzip' }),
    }).map(([name, route]) => [name, { route, reason: /not valid for encoding utf-8/i }]),
  ),
  'one byte more than 256 KiB': { route: answer('x'.repeat(KIB_256 + 1)), reason: /max size/i },
  'one byte more than 256 KiB, gzip': {
    route: answer(gzipSync('x'.repeat(KIB_256 + 1)), { 'content-encoding': 'gzip' }),
    reason: /larger than 262144/,
  },
  'a length of a terabyte': {
    route: (socket) => begin(socket, 'content-length: 1099511627776\r\n\r\n{}'),
    reason: /max size|timeout/i,
  },
  'a negative length': {
    route: (socket) => begin(socket, 'content-length: -1\r\n\r\n{}'),
    reason: /content-length|parse/i,
  },
  'two lengths': {
    route: (socket) =>
      begin(socket, 'content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'),
    reason: /content-length|transfer-encoding/i,
  },
  'nested gzip': { route: answer(gzipSync(gzipSync(DOCUMENT)), { 'content-encoding': 'gzip, gzip' }) },
  'nested gzip in two headers': {
    route: (socket) =>
      begin(socket, 'content-encoding: gzip\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}'),
    reason: /content-encoding twice/,
  },
  'unknown content encoding': { route: answer(DOCUMENT, { 'content-encoding': 'zstd' }) },
  'a body that is not in its declared encoding': {
    route: answer(DOCUMENT, { 'content-encoding': 'gzip' }),
    reason: /incorrect header/,
  },
  'a truncated gzip': {
    route: answer(gzipSync(DOCUMENT).subarray(0, -10), { 'content-encoding': 'gzip' }),
    reason: /unexpected end/,
  },
  'an endless body': {
    route: (socket) => (begin(socket), flood(socket, Buffer.alloc(65_536, 0x20))),
    reason: /max size/i,
  },
  'an endless body in chunks': {
    route: (socket) => (
      begin(socket, 'transfer-encoding: chunked\r\n\r\n'),
      flood(socket, Buffer.from('1\r\n \r\n'.repeat(1_000)))
    ),
    reason: /max size/i,
  },
  'a dripped body': { route: (socket) => (begin(socket), drip(socket, ' ')), reason: /timeout/i },
  'dripped headers': {
    route: (socket) => (socket.write('HTTP/1.1 200 OK\r\nx: '), drip(socket, 'x')),
    reason: /timeout/i,
  },
  'endless interim answers': {
    route: (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'),
    reason: /timeout/i,
  },
  'a truncated body': {
    route: raw(`${JSON_HEAD}content-length: 100\r\n\r\n{}`, true),
    reason: /other side closed|terminated|aborted/,
  },
  'a truncated body in chunks': {
    route: raw(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`, true),
    reason: /other side closed|terminated|aborted/,
  },
  'headers of 100 kB': {
    route: (socket) => begin(socket, `x: ${'x'.repeat(100_000)}\r\ncontent-length: 2\r\n\r\n{}`),
    reason: /headers overflow/i,
  },
  'many headers': {
    route: (socket) => begin(socket, `${'x: y\r\n'.repeat(20_000)}content-length: 2\r\n\r\n{}`),
    reason: /headers overflow/i,
  },
  'no answer': { route: () => {}, reason: /timeout/i },
  'a closed connection': { route: (socket) => void socket.destroy(), reason: /other side closed|ECONNRESET/ },
  'no HTTP': { route: raw('SSH-2.0-OpenSSH_9.6\r\n') },
  'a connection that is never established': {
    setup: { dial: () => new Socket() },
    reason: /timeout|aborted/i,
  },
  'a refused connection': { setup: { dial: () => dial(['127.0.0.1'], 1) }, reason: /ECONNREFUSED/ },
  'a TLS handshake without an answer': {
    setup: { dial: () => passFor(PUBLIC, dial(['127.0.0.1'], silentPort)) },
    reason: /timeout|aborted/i,
  },
  'a certificate for another name': { uri: url('/', 'evil.example'), reason: /altnames/ },
  'a certificate that no trusted authority signed': { setup: { ca: undefined }, reason: /self-signed/ },
}
const outcomes = new Map<string, Promise<Outcome>>()
let stall = 0
describe('all other refusals of the fetcher', () => {
  beforeAll(async () => {
    const longestStall = watchStalls()
    // Each attack begins when the previous one is decided, before its response. On a busy machine, the last
    // of many concurrent attacks would not be decided in time. Attacks that time out run concurrently with
    // the others.
    for (const [name, { uri, route, setup, reason }] of Object.entries(attacks)) {
      let known = () => {}
      const decided = new Promise<void>((resolve) => (known = resolve))
      const timesOut = String(reason).includes('timeout')
      const all = { ...setup, ...(timesOut && { fetchMs: 1_000 }), onKnown: () => known() }
      outcomes.set(name, run(uri ?? url(route ? serve(route) : '/'), all))
      if (!timesOut) await Promise.race([decided, outcomes.get(name)])
    }
    await Promise.all(outcomes.values())
    stall = longestStall()
  })
  test.each(Object.keys(attacks))('refuse %s', async (name) => {
    const { error, reason, pausedMs, isEarly, dialled } = (await outcomes.get(name))!
    expect(error).toBeInstanceOf(ComputeError)
    expect((error as ComputeError).slug).toBe('invalid-input')
    expect(reason).toEqual(known(attacks[name]!.reason))
    if (attacks[name]!.dialled !== undefined) expect(dialled).toHaveLength(attacks[name]!.dialled)
    expect([pausedMs, isEarly]).toEqual([REFUSAL_MS, false])
  })
  test('have the same text, which names the rules', async () => {
    const texts = new Set((await Promise.all(outcomes.values())).map(({ error }) => error!.message))
    expect([...texts]).toEqual([sentence('uri')])
  })
  test('do not block the event loop', () => {
    expect(stall).toBeLessThan(STALL_MS)
  })
})

describe('a connection of the fetcher after the check of its address', () => {
  test('is closed before a byte is sent if its address is private', async () => {
    let connections = 0
    let bytes = 0
    const port = await listen(
      createTcpServer((socket) => (connections++, socket.on('data', (data) => (bytes += data.length)))),
    )
    // The socket reports its real remote address, 127.0.0.1, not the checked one.
    const outcome = await run(url('/'), { dial: () => dial(['127.0.0.1'], port) })
    expect(outcome).toMatchObject({ reason: sentence(), looked: ['good.example'] })
    await pause(100)
    expect([connections, bytes]).toEqual([1, 0])
  })
  test('goes to the checked address of a name that is resolved once, which prevents DNS rebinding', async () => {
    const answers = [[PUBLIC], ['127.0.0.1']]
    let asked = 0
    const outcome = await run(url(serve(answer(DOCUMENT))), { resolve: async () => answers[asked++]! })
    expect(outcome).toMatchObject({ text: DOCUMENT, dialled: [[PUBLIC]] })
    expect(asked).toBe(1)
    const again = await run(url(serve(redirect(serve(answer(DOCUMENT))))), {
      resolve: async () => answers[asked++ - 1]!,
    })
    expect(again).toMatchObject({ reason: sentence(), dialled: [[PUBLIC]] })
  })
})

describe('concurrency limits of the fetcher', () => {
  /** A clock whose pauses end together. */
  const heldClock = () => {
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    return { clock: { pause: () => ended }, end }
  }
  test('allow two fetches per client, and count a refused fetch until its response', async () => {
    let known = 0
    const { clock, end } = heldClock()
    const { fetcher } = makeFetcher({ clock, onKnown: () => known++ })
    const refused = serve(answer('', {}, '404 Not Found'))
    const two = [fetcher.fetch(url(refused), 'a'), fetcher.fetch(url(refused), 'a')].map((fetched) =>
      fetched.catch((error: Error) => error.message),
    )
    while (known < 2) await pause(5)
    await expect(fetcher.fetch(url(refused), 'a')).rejects.toMatchObject({
      slug: 'rate-limited',
      retryAfter: expect.any(Number),
      message: sentence('uri'),
    })
    expect(await fetcher.fetch(url(serve(answer(DOCUMENT))), 'b')).toBe(DOCUMENT)
    end()
    await Promise.all(two)
    clock.pause = () => new Promise(() => {})
    expect(await fetcher.fetch(url(serve(answer(DOCUMENT))), 'a')).toBe(DOCUMENT)
    expect(await fetcher.fetch(url(serve(answer(DOCUMENT))), 'a')).toBe(DOCUMENT)
  })
  test('allow 64 fetches in total', async () => {
    const { clock, end } = heldClock()
    const { fetcher } = makeFetcher({ resolve: async () => [], clock })
    const all = Array.from({ length: 64 }, (_, index) =>
      fetcher.fetch(url('/'), String(index)).catch(() => {}),
    )
    await expect(fetcher.fetch(url('/'), 'late')).rejects.toBeInstanceOf(UnavailableError)
    end()
    await Promise.all(all)
    await expect(fetcher.fetch(url('/'), 'late')).rejects.toMatchObject({ slug: 'invalid-input' })
  })
})

describe('the pause of the fetcher before a refusal', () => {
  test('lasts at least its time by the clock of this process', async () => {
    const began = performance.now()
    await run(url(serve(answer('', {}, '404 Not Found'))), { clock: MONOTONIC, refusalMs: 300 })
    // Timers may fire a little early.
    expect(performance.now() - began).toBeGreaterThan(295)
  })
})

describe('decompression bombs', () => {
  // Compresses zeros piece by piece, because a large free heap would hide the memory that a decompressed bomb
  // uses.
  const squeeze = async (through: Transform, megabytes: number) =>
    buffer(Readable.from(Array.from({ length: megabytes }, () => piece)).pipe(through))
  const piece = Buffer.alloc(1_048_576)
  // The document is small when it is sent, and has 96 MiB when it is decompressed.
  const bombs: Record<string, () => Promise<Buffer>> = {
    gzip: () => squeeze(createGzip(), 96),
    'gzip, many members': async () => Buffer.concat(Array<Buffer>(20).fill(await squeeze(createGzip(), 5))),
    deflate: () => squeeze(createDeflate(), 96),
    br: () => squeeze(createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }), 96),
  }
  test.each(Object.entries(bombs))(
    'need little memory and event-loop time: %s',
    { tags: ['slow'] },
    async (name, make) => {
      const bomb = await make()
      expect(bomb.length).toBeLessThan(KIB_256)
      const path = serve(answer(bomb, { 'content-encoding': name.split(',')[0]! }))
      const before = process.memoryUsage()
      let peak = 0
      const longestStall = watchStalls()
      const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
      const { reason } = await run(url(path))
      clearInterval(watch)
      expect(reason).toMatch(/larger than 262144/)
      expect((peak - before.rss) / 1_048_576).toBeLessThan(48)
      expect(longestStall()).toBeLessThan(STALL_MS)
    },
  )
})

describe('DNS look-ups of the fetcher', () => {
  /** Addresses as bytes, by name and type (1 = A, 28 = AAAA); undefined: the server does not respond. */
  const zone = new Map<string, number[][] | undefined>([
    [
      'both.example 1',
      [
        [93, 184, 216, 34],
        [10, 0, 0, 1],
      ],
    ],
    ['both.example 28', [[0x20, 1, 0x48, 0x60, 0x48, 0x60, ...Array<number>(9).fill(0), 0x88]]],
    ['four.example 1', [[1, 1, 1, 1]]],
    ['silent.example 1', undefined],
    ['silent.example 28', undefined],
  ])
  let server: string
  let asked = 0
  beforeAll(async () => {
    const socket = createSocket('udp4')
    socket.on('message', (query, from) => {
      asked++
      const labels: string[] = []
      let at = 12
      for (let length = query[at]!; length > 0; length = query[at]!) {
        labels.push(query.toString('latin1', at + 1, at + 1 + length))
        at += length + 1
      }
      const key = `${labels.join('.')} ${query.readUInt16BE(at + 1)}`
      const records = zone.get(key)
      if (records === undefined && zone.has(key)) return
      const head = Buffer.from(query.subarray(0, at + 5))
      head.writeUInt16BE(0x8180, 2)
      head.writeUInt16BE(records?.length ?? 0, 6)
      head.writeUInt32BE(0, 8)
      const answers = (records ?? []).map((bytes) =>
        Buffer.from([0xc0, 12, ...query.subarray(at + 1, at + 5), 0, 0, 0, 0, 0, bytes.length, ...bytes]),
      )
      socket.send(Buffer.concat([head, ...answers]), from.port, from.address)
    })
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    closing.push(() => socket.close())
    server = `127.0.0.1:${socket.address().port}`
  })
  const resolve = (host: string, signal = AbortSignal.timeout(5_000)) => resolveHost(host, signal, [server])

  test('return all A and AAAA addresses, including private addresses', async () => {
    expect(await resolve('both.example')).toEqual([PUBLIC, '10.0.0.1', '2001:4860:4860::88'])
  })
  test('succeed with only A or only AAAA records, and return an empty list without records', async () => {
    expect(await resolve('four.example')).toEqual(['1.1.1.1'])
    expect(await resolve('none.example')).toEqual([])
  })
  test('do not use hosts files and search lists', async () => {
    const before = asked
    expect(await resolve('localhost.localdomain')).toEqual([])
    expect(asked - before).toBe(2)
  })
  test('end when their fetch is aborted', async () => {
    const signal = AbortSignal.timeout(300)
    let aborted = Infinity
    signal.addEventListener('abort', () => (aborted = performance.now()))
    expect(await resolve('silent.example', signal)).toEqual([])
    // Lookups time out by themselves after three seconds.
    expect(performance.now() - aborted).toBeLessThan(1_500)
  })
  test('never lead to a connection to a private address, end to end', async () => {
    const outcome = await run(url('/', 'both.example'), { resolve })
    expect(outcome).toMatchObject({ reason: sentence(), dialled: [] })
  })
})

describe('the IPFS fetcher', () => {
  const bytes = (text: BinaryLike & string) => new TextEncoder().encode(text)
  let ipld: Awaited<ReturnType<typeof loadIpld>>
  async function loadIpld() {
    const [{ CID }, digest, dagPb, { CarBufferWriter }, { base58btc }] = await Promise.all([
      import('multiformats/cid'),
      import('multiformats/hashes/digest'),
      import('@ipld/dag-pb'),
      import('@ipld/car'),
      import('multiformats/bases/base58'),
    ])
    return { CID, digest, dagPb, CarBufferWriter, base58btc }
  }
  type Cid = ReturnType<(typeof ipld)['CID']['parse']>
  interface Block {
    cid: Cid
    bytes: Uint8Array
  }
  const hash = (code: number, content: Uint8Array, algorithm = 'sha256', length = 64) =>
    ipld.digest.create(code, createHash(algorithm).update(content).digest().subarray(0, length))
  const block = (codec: number, content: Uint8Array): Block => ({
    cid: ipld.CID.createV1(codec, hash(0x12, content)),
    bytes: content,
  })
  const rawBlock = (content: Uint8Array) => block(0x55, content)
  const varint = (value: bigint | number): number[] =>
    BigInt(value) < 128n
      ? [Number(value)]
      : [Number(BigInt(value) & 127n) | 128, ...varint(BigInt(value) >> 7n)]
  /** A UnixFS node, by its protobuf (https://specs.ipfs.tech/unixfs/). */
  const node = (
    type: number,
    links: { to: Block; name?: string; size?: number | bigint }[],
    data: Uint8Array = new Uint8Array(),
    fields: { fanout?: number | bigint; fileSize?: number | bigint } = {},
  ): Block => {
    const isFile = type === 2 || type === 0
    const fileSize =
      fields.fileSize ?? links.reduce((sum, { size = 0n }) => sum + BigInt(size), BigInt(data.length))
    const unixfs = [
      ...[0x08, type, ...(data.length ? [0x12, ...varint(data.length), ...data] : [])],
      ...(isFile
        ? [0x18, ...varint(fileSize), ...links.flatMap(({ size = 0 }) => [0x20, ...varint(size)])]
        : []),
      ...(fields.fanout === undefined ? [] : [0x28, 0x22, 0x30, ...varint(fields.fanout)]),
    ]
    return block(
      0x70,
      ipld.dagPb.encode({
        Data: new Uint8Array(unixfs),
        Links: links.map(({ to, name = '' }) => ({ Hash: to.cid, Name: name, Tsize: 1 })),
      }),
    )
  }
  const file = (
    links: { to: Block; size: number | bigint }[],
    data?: Uint8Array,
    fileSize?: number | bigint,
  ) => node(2, links, data, fileSize === undefined ? {} : { fileSize })
  const directory = (entries: Record<string, Block>) =>
    node(
      1,
      Object.entries(entries).map(([name, to]) => ({ to, name })),
    )
  const shard = (links: { to: Block; name: string }[], fanout: number | bigint = 256) =>
    node(5, links, new Uint8Array([1]), { fanout })
  const carOf = (root: Block, blocks: Block[]) => {
    const writer = ipld.CarBufferWriter.createWriter(
      new ArrayBuffer(blocks.reduce((sum, one) => sum + one.bytes.length + 200, 1_000)),
      { roots: [root.cid] },
    )
    for (const one of blocks) writer.write(one)
    return Buffer.from(writer.close({ resize: true }))
  }

  /** Responses of gateways, by path without the query. */
  const cars = new Map<string, Buffer>()
  const asked: string[] = []
  let gateway: string
  const startGateway = async (listener: RequestListener) =>
    `http://127.0.0.1:${await listen(createHttpServer(listener))}`
  beforeAll(async () => {
    ipld = await loadIpld()
    gateway = await startGateway((request, response) => {
      asked.push(`${request.url} ${request.headers.accept}`)
      const car = cars.get(request.url!.split('?')[0]!)
      if (car)
        response
          .writeHead(200, { 'content-type': 'application/vnd.ipld.car; version=1; order=dfs; dups=n' })
          .end(car)
      else response.writeHead(404).end()
    })
  })
  /** Serves these blocks as the CAR of that URI. */
  const store = (root: Block | string, blocks: Block[] | Buffer, path = '') => {
    const name = typeof root === 'string' ? root : root.cid.toString()
    cars.set(`/ipfs/${name}${path}`, Buffer.isBuffer(blocks) ? blocks : carOf(blocks[0]!, blocks))
    return `ipfs://${name}${path}`
  }
  const storeAll = (root: Block, ...others: Block[]) => store(root, [root, ...others])
  const get = (uri: string, setup: Setup = {}) => run(uri, { ipfsGateways: [gateway], ...setup })

  test('is tested with blocks that have the known CIDs of IPFS', () => {
    const hello = file([], bytes('hello world\n'))
    expect(ipld.CID.createV0(hello.cid.multihash as never).toString()).toBe(
      'QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o',
    )
  })

  describe('accepted files', () => {
    test('include one raw block, one UnixFS node, CID version 0, and other multibases', async () => {
      const one = rawBlock(bytes(DOCUMENT))
      expect((await get(store(one, [one]))).text).toBe(DOCUMENT)
      const unixfs = file([], bytes(DOCUMENT))
      expect((await get(store(unixfs, [unixfs]))).text).toBe(DOCUMENT)
      const versionZero = ipld.CID.createV0(unixfs.cid.multihash as never).toString()
      expect((await get(store(versionZero, [unixfs]))).text).toBe(DOCUMENT)
      cars.set(`/ipfs/${one.cid.toString()}`, carOf(one, [one]))
      expect((await get(`ipfs://${one.cid.toString(ipld.base58btc)}/`)).text).toBe(DOCUMENT)
    })
    test('include a tree of many blocks, one of them linked twice', async () => {
      const [a, b] = [rawBlock(bytes('ab')), file([], bytes('cd'))]
      const layer = file([
        { to: a, size: 2 },
        { to: b, size: 2 },
      ])
      const root = file([
        { to: layer, size: 4 },
        { to: a, size: 2 },
        { to: layer, size: 4 },
      ])
      expect((await get(store(root, [root, layer, a, b]))).text).toBe('abcdababcd')
    })
    test('are found by a path with names that need encoding, from a gateway below a path', async () => {
      const document = rawBlock(bytes(DOCUMENT))
      const inner = directory({ 'a b%é.json': document })
      const root = directory({ docs: inner, other: rawBlock(bytes('x')) })
      const uri = store(root, [root, inner, document], '/docs/a%20b%25%C3%A9.json')
      expect((await get(uri)).text).toBe(DOCUMENT)
      expect(asked.at(-1)).toBe(
        `/ipfs/${root.cid.toString()}/docs/a%20b%25%C3%A9.json?format=car&dag-scope=entity application/vnd.ipld.car; version=1; order=dfs; dups=n`,
      )
      cars.set(`/base/ipfs/${document.cid.toString()}`, carOf(document, [document]))
      cars.delete(`/ipfs/${document.cid.toString()}`)
      expect(
        (await get(`ipfs://${document.cid.toString()}`, { ipfsGateways: [`${gateway}/base/`] })).text,
      ).toBe(DOCUMENT)
    })
    test('are found in a sharded directory', async () => {
      const document = rawBlock(bytes(DOCUMENT))
      const inner = shard([
        { to: document, name: '3Fplace.json' },
        { to: rawBlock(bytes('y')), name: 'A0other.json' },
      ])
      const absent = shard([{ to: document, name: '00absent.json' }])
      const root = node(
        5,
        [
          { to: absent, name: '07' },
          { to: inner, name: 'B2' },
          { to: rawBlock(bytes('x')), name: 'C1more.json' },
        ],
        new Uint8Array([7]),
        { fanout: 256 },
      )
      expect((await get(store(root, [root, inner, document], '/place.json'))).text).toBe(DOCUMENT)
      const refused = await Promise.all(
        ['/B2', '/absent.json'].map((path) => get(store(root, [root, inner, document], path))),
      )
      expect(refused.map(({ reason }) => reason)).toEqual([sentence(), sentence()])
    })
    test('include a file of exactly 256 KiB', async () => {
      const halves = [rawBlock(Buffer.alloc(KIB_256 / 2, 0x61)), rawBlock(Buffer.alloc(KIB_256 / 2, 0x62))]
      const root = file(halves.map((to) => ({ to, size: KIB_256 / 2 })))
      expect((await get(store(root, [root, ...halves]))).text).toHaveLength(KIB_256)
    })
    test(
      'come from the next gateway if a gateway fails, misbehaves, redirects, or hangs',
      { tags: ['slow'] },
      async () => {
        const document = rawBlock(bytes(DOCUMENT))
        const uri = store(document, [document])
        const car = carOf(document, [document])
        let followed = 0
        const failing = await startGateway((_request, response) => response.writeHead(500).end())
        const lying = await startGateway((_request, response) =>
          response
            .writeHead(200, { 'content-type': 'application/vnd.ipld.car' })
            .end(carOf(document, [{ ...document, bytes: bytes('{}') }])),
        )
        const redirecting = await startGateway((request, response) =>
          request.url!.startsWith('/ipfs')
            ? response.writeHead(302, { location: '/elsewhere' }).end()
            : (followed++, response.writeHead(200, { 'content-type': 'application/vnd.ipld.car' }).end(car)),
        )
        const hanging = await startGateway(() => {})
        const ipfsGateways = [
          failing,
          lying,
          'http://127.0.0.1:1',
          redirecting,
          hanging,
          `https://127.0.0.1:${silentPort}`,
          gateway,
        ]
        expect((await get(uri, { ipfsGateways, fetchMs: 2_800 })).text).toBe(DOCUMENT)
        expect(followed).toBe(0)
        const { reason, error } = await get(uri, {
          ipfsGateways: ipfsGateways.slice(0, -1),
          fetchMs: 2_400,
        })
        expect(reason).toMatch(
          /^127\.0\.0\.1:\d+: status 500; .*ECONNREFUSED.*; .*status 302; .*timeout; .*timeout/,
        )
        expect(error!.message).toEqual(sentence('uri'))
      },
    )
  })

  describe('malformed URIs', () => {
    const good = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    test.each<[string]>([
      ['ipfs://'],
      ['ipfs://ipfs/x'],
      [`ipfs://${good}.evil.example/`],
      [`ipfs://${good}?format=raw`],
      [`ipfs://${good}/a?format=raw`],
      [`ipfs://${good}/a#b`],
      [`ipfs://user@${good}/`],
      ['ipfs://bafkreigh2akiscaildc/'],
      [`ipfs://${good.toUpperCase()}x`],
      ...[
        ...['..', '../..', 'a/../../b', '%2e%2e', '%2E%2e/x', '.%2e', '.', 'a//b', '/', 'a/'],
        ...['a%2fb', 'a%5cb', 'a%00', 'a%0d%0ab', '%', '%zz', '%ff'],
      ].map((path) => [`ipfs://${good}/${path}`] as [string]),
      [`ipfs://${good}/${'a/'.repeat(16)}a`],
      ['ipns://example.org/'],
    ])('include %s', async (uri) => {
      const before = asked.length
      const { error } = await get(uri)
      expect(error).toMatchObject({ slug: 'invalid-input', message: sentence() })
      expect(asked).toHaveLength(before)
    })
    test('include CIDs without a hash, with an unknown or truncated hash, and of other codecs', async () => {
      const content = bytes(DOCUMENT)
      const { CID, digest } = ipld
      for (const cid of [
        CID.createV1(0x55, digest.create(0x00, content.slice(0, 20))),
        CID.createV1(0x55, hash(0xb220, content)),
        CID.createV1(0x55, hash(0x11, content, 'sha1')),
        CID.createV1(0x55, hash(0x13, content, 'sha512')),
        CID.createV1(0x55, hash(0x12, content, 'sha256', 4)),
        CID.createV1(0x71, hash(0x12, content)),
        CID.createV1(0x0129, hash(0x12, content)),
      ])
        expect((await get(`ipfs://${cid.toString()}`)).error).toMatchObject({
          slug: 'invalid-input',
          message: sentence(),
        })
    })
  })

  describe('refused gateway answers', () => {
    const document = () => rawBlock(bytes(DOCUMENT))
    const other = () => rawBlock(bytes('{"place":"Rome"}'))
    /** Serves a file whose leaf has this size, as the file says. */
    const linked = (leaf: Block, size: number | bigint = leaf.bytes.length) =>
      storeAll(file([{ to: leaf, size }]), leaf)
    /** Serves a document in a shard, at a path that the shard does not have. */
    const sharded = (fanout: number | bigint) => {
      const root = shard([{ to: document(), name: '00x' }], fanout)
      return store(root, [root, document()], '/x')
    }
    /** Serves these blocks as the CAR of the document. */
    const sent = (...blocks: Block[]) => store(document(), carOf(document(), blocks))
    const repeated = (to: Block, count: number, size = 0) =>
      file(Array.from({ length: count }, () => ({ to, size })))
    /** Serves that many nodes, each of which leads to the next one. */
    const chained = (last: Block, count: number, wrap: (next: Block) => Block, path = '') => {
      const blocks = [last]
      for (let depth = 0; depth < count; depth++) blocks.unshift(wrap(blocks[0]!))
      return store(blocks[0]!, blocks, path)
    }
    const identity = (text: string) => ({
      cid: ipld.CID.createV1(0x55, ipld.digest.create(0, bytes(text))),
      bytes: bytes(text),
    })
    const cases: Record<string, () => string> = {
      'other bytes under the right CID': () => sent({ ...document(), bytes: bytes('{}') }),
      'another document': () => store(document(), [other()]),
      'another document, given out as the root': () => sent(other()),
      'no blocks': () => sent(),
      'an extra block does not match its hash': () => sent(document(), { ...other(), bytes: bytes('x') }),
      'an extra block by the identity': () => sent(document(), identity('x')),
      'a truncated CAR': () => store(document(), carOf(document(), [document()]).subarray(0, -1)),
      'a CAR truncated between blocks': () =>
        storeAll(file([{ to: document(), size: document().bytes.length }])),
      'half a header': () => store(document(), carOf(document(), []).subarray(0, 10)),
      nothing: () => store(document(), Buffer.alloc(0)),
      'no CAR': () => store(document(), Buffer.from(DOCUMENT)),
      'CAR version 2 that points past its end': () =>
        store(
          document(),
          Buffer.from([0x0a, 0xa1, 0x67, ...bytes('version'), 0x02, ...Array<number>(40).fill(0xff)]),
        ),
      'sections of no length': () =>
        store(document(), Buffer.concat([carOf(document(), []), Buffer.alloc(1_000)])),
      'sections shorter than their CIDs': () => {
        const section = Buffer.from([36, ...rawBlock(new Uint8Array()).cid.bytes])
        return store(
          document(),
          Buffer.concat([carOf(document(), []), ...Array<Buffer>(2_000).fill(section)]),
        )
      },
      'too many blocks': () =>
        storeAll(document(), ...Array.from({ length: 1_001 }, (_, index) => rawBlock(bytes(String(index))))),
      'more than 1 MiB': () => storeAll(document(), rawBlock(Buffer.alloc(1_048_576))),
      'a file of 256 KiB and a byte': () => storeAll(rawBlock(Buffer.alloc(KIB_256 + 1))),
      'a file that says it is huge': () => linked(document(), 2n ** 62n),
      'a file that says it is smaller than it is': () => linked(document(), 1),
      'a file that grows by a block linked over and over': () => {
        const leaf = rawBlock(Buffer.alloc(65_536))
        return storeAll(repeated(leaf, 5), leaf)
      },
      'a tree of 2^30 empty leaves': () =>
        chained(rawBlock(new Uint8Array()), 30, (next) => repeated(next, 2)),
      'a chain of 500 nodes': () =>
        chained(document(), 500, (to) => file([{ to, size: document().bytes.length }])),
      'a chain of 500 shards': () => chained(document(), 500, (to) => shard([{ to, name: '00' }]), '/x'),
      'a wide block read over and over': () => {
        const wide = repeated(file([]), 3_000)
        return storeAll(repeated(wide, 100), wide, file([]))
      },
      'a large block read over and over': () => {
        // 100 kB of a field that UnixFS does not have.
        const Data = new Uint8Array([0x08, 2, 0x18, 0, 0x7a, ...varint(100_000), ...new Uint8Array(100_000)])
        const large = block(0x70, ipld.dagPb.encode({ Data, Links: [] }))
        return storeAll(repeated(large, 20), large)
      },
      'a link by the identity': () => storeAll(file([{ to: identity('{}'), size: 2 }])),
      'a link to other data': () => linked(block(0x71, bytes(DOCUMENT))),
      'a directory': () => storeAll(directory({ a: document() }), document()),
      'a symbolic link': () => storeAll(node(4, [], bytes('/etc/passwd'))),
      'a name that is not there': () => {
        const root = directory({ a: document() })
        return store(root, [root, document()], '/b')
      },
      'a name below a file': () => store(document(), [document()], '/b'),
      'a shard of 2^60 places': () => sharded(2n ** 60n),
      'a shard of no places': () => sharded(0),
      'dag-pb that is none': () => storeAll(block(0x70, bytes('not protobuf'))),
      'a document in invalid UTF-8': () => storeAll(rawBlock(new Uint8Array([0x22, 0xff, 0x22]))),
    }
    /** Reasons in the words of packages; the others are sentences. */
    const reasons: Record<string, RegExp> = {
      'a truncated CAR': /unexpected end/i,
      'half a header': /unexpected end/i,
      nothing: /./,
      'no CAR': /./,
      'CAR version 2 that points past its end': /./,
      'sections of no length': /zero length/,
      'more than 1 MiB': /max size/i,
      'dag-pb that is none': /./,
      'a document in invalid UTF-8': /not valid for encoding utf-8/i,
    }
    const answers = new Map<string, Promise<Outcome>>()
    let stalled = 0
    // The fetches start in sequence, because several serve the same CID. Their results are awaited together.
    beforeAll(async () => {
      const longestStall = watchStalls()
      for (const [name, make] of Object.entries(cases)) {
        const uri = make()
        let known = () => {}
        const decided = new Promise<void>((resolve) => (known = resolve))
        answers.set(name, get(uri, { onKnown: () => known() }))
        await Promise.race([decided, answers.get(name)])
      }
      await Promise.all(answers.values())
      stalled = longestStall()
    })
    test.each(Object.keys(cases))('include %s', async (name) => {
      const { reason, error } = (await answers.get(name))!
      expect(reason).toEqual(known(reasons[name]))
      expect(error!.message).toEqual(sentence('uri'))
    })
    test('do not block the event loop', () => {
      expect(stalled).toBeLessThan(STALL_MS)
    })
    test('include a response that is not a CAR, or has a content encoding', async () => {
      const one = document()
      const headers = [
        { 'content-type': 'application/json' },
        {},
        { 'content-type': 'application/vnd.ipld.car', 'content-encoding': 'gzip' },
      ]
      const refused = await Promise.all(
        headers.map(async (sent) => {
          const odd = await startGateway((_request, response) =>
            response.writeHead(200, sent as Record<string, string>).end(carOf(one, [one])),
          )
          return get(`ipfs://${one.cid.toString()}`, { ipfsGateways: [odd] })
        }),
      )
      expect(refused.map(({ reason }) => reason)).toEqual(headers.map(() => sentence()))
    })
    test('do not include an answer with extra blocks that have correct hashes', async () => {
      expect((await get(store(document(), carOf(other(), [other(), document(), document()])))).text).toBe(
        DOCUMENT,
      )
    })
  })
})

testSentences()
