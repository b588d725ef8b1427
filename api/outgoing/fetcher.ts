import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { Resolver } from 'node:dns/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { Client, type buildConnector } from 'undici'
import { MAX_CAR_BYTES, documentOfCar, readIpfsUri, type IpfsPath } from './ipfs'
import { MONOTONIC, type Clock } from '../../src/clock'
import { ComputeError, UnavailableError, invalidInput } from '../http/problems'
import { Semaphore } from '../http/semaphore'

/** Maximum size of a document in bytes, both on the wire and decompressed. */
const MAX_BYTES = 262_144
export const MAX_HEADER_BYTES = 16_384
const MAX_URI_LENGTH = 2_048
const MAX_REDIRECTS = 3
/** Time limit in milliseconds from the first DNS query to the last byte, over all redirects and gateways. */
const FETCH_MS = 5_000
/** Milliseconds to every refusal: above FETCH_MS, so that a timeout looks like any other reason. */
const REFUSAL_MS = 5_250
const IN_FLIGHT_PER_CLIENT = 2
const IN_FLIGHT = 64
/** Timeout of one DNS query in milliseconds; there are two tries. */
const DNS_TIMEOUT_MS = 1_000
/** Time in milliseconds without a connection after which the next address of a host is tried as well. */
const NEXT_ADDRESS_MS = 1_000

/** One text for all reasons: details would reveal which hosts and ports exist (docs/spec/trust.md 3). */
const UNFETCHABLE =
  'uri: the document could not be fetched. The URL must be https on port 443, of a host with ' +
  'public addresses only and a valid certificate, with at most 3 redirects to such URLs. It ' +
  'must return 200 within 5 seconds, with JSON (Content-Type application/json, UTF-8) of at ' +
  'most 256 KiB. An ipfs:// URI must name a file of at most that size.'

/** Network access below the fetcher's checks. Tests replace the access but not the checks. */
export interface FetchWorld {
  /** Returns all addresses of a host name; an empty list if it has none. */
  resolve(host: string, signal: AbortSignal): Promise<string[]>
  dial(addresses: readonly string[], port: number): Socket
  /** Trusted certificate authorities in PEM; undefined: those of Node. */
  ca?: string
  fetchMs: number
  refusalMs: number
  /** measures the pause before a refusal */
  clock: Pick<Clock, 'pause'>
}

export const INTERNET: FetchWorld = {
  ...{ resolve: resolveHost, dial, fetchMs: FETCH_MS, refusalMs: REFUSAL_MS, clock: MONOTONIC },
}

export interface FetcherOptions {
  /** Trustless gateways, the preferred first. The operator chose them: their addresses are not checked. */
  ipfsGateways: readonly string[]
  /** Receives the reason of a refusal, which the client does not see. `where`: a host name or a CID. */
  onRefusal?: (where: string, reason: string) => void
}

/** Fetches documents from URIs of clients, by docs/spec/trust.md 3. No state remains between two fetches. */
export class SafeFetcher {
  private readonly world: FetchWorld
  private readonly semaphore = new Semaphore({ all: IN_FLIGHT, each: IN_FLIGHT_PER_CLIENT })

  constructor(
    private readonly options: FetcherOptions,
    world: Partial<FetchWorld> = {},
  ) {
    this.world = { ...INTERNET, ...world }
  }

  /**
   * Returns the text of a document, without a byte order mark. Throws rate-limited, and invalid-input for a
   * malformed URI, immediately, and invalid-input with one text after one fixed time for everything else;
   * an UnavailableError if too many other fetches are under way.
   * @param client identity for rate limits: two documents at a time
   */
  async fetch(uri: string, client: string): Promise<string> {
    const target = await this.readUri(uri)
    const release = this.acquire(client)
    const ended = new AbortController()
    const { clock, refusalMs } = this.world
    const refusal = clock.pause(refusalMs, ended.signal).then(
      () => undefined,
      () => undefined,
    )
    try {
      const fetched = target instanceof URL ? this.fetchHttps(target) : this.fetchIpfs(target)
      const text = await Promise.race([
        refusal,
        fetched
          .then((bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes))
          .catch((error: Error) => {
            this.options.onRefusal?.(target instanceof URL ? target.hostname : target.cid, error.message)
            return refusal
          }),
      ])
      if (text === undefined) throw invalidInput(UNFETCHABLE)
      return text
    } finally {
      ended.abort()
      release()
    }
  }

  /** Parses a URI. Throws a ComputeError that names the rule that it breaks. */
  private async readUri(uri: string): Promise<URL | IpfsPath> {
    if (uri.length > MAX_URI_LENGTH) throw malformed(`expected at most ${MAX_URI_LENGTH} characters`)
    // The URL class drops line breaks and tabs, and turns backslashes into slashes and circled digits into
    // digits.
    if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(uri))
      throw malformed('expected printable ASCII without spaces and backslashes; percent-encode the rest')
    if (/^ipfs:\/\//i.test(uri)) {
      if (this.options.ipfsGateways.length === 0)
        throw malformed('this deployment does not fetch ipfs:// URIs. Expected https://.')
      const path = await readIpfsUri(uri)
      if ('problem' in path) throw malformed(path.problem)
      return path
    }
    if (!/^https:\/\//i.test(uri)) throw malformed('expected https:// or ipfs://')
    if (!URL.canParse(uri)) throw malformed('not a valid URL')
    const url = new URL(uri)
    const problem = urlProblem(url)
    if (problem) throw malformed(problem)
    return url
  }

  private acquire(client: string): () => void {
    const release = this.semaphore.tryAcquire(client)
    if (release) return release
    if (!this.semaphore.isAtLimit(client)) throw new UnavailableError('Too many documents are being fetched.')
    throw new ComputeError(
      'rate-limited',
      `uri: ${IN_FLIGHT_PER_CLIENT} documents are being fetched for your IP address. Retry after ` +
        'one of them has finished.',
      Math.ceil(this.world.refusalMs / 1000),
    )
  }

  private async fetchHttps(first: URL): Promise<Uint8Array> {
    const signal = AbortSignal.timeout(this.world.fetchMs)
    const connect = checkingConnector(this.world, signal)
    let url = first
    for (let redirects = 0; ; redirects++) {
      const answer = await get(url, { accept: 'application/json', maxBytes: MAX_BYTES, signal, connect })
      if (![301, 302, 303, 307, 308].includes(answer.statusCode)) return jsonBody(answer)
      if (redirects === MAX_REDIRECTS) throw new Error('too many redirects')
      const location = single(answer, 'location')
      if (location === undefined) throw new Error('a redirect without a location')
      url = new URL(location, url)
      const problem = urlProblem(url)
      if (problem) throw new Error(`redirected: ${problem}`)
    }
  }

  /** Queries the gateways in sequence, each with its share of the remaining time. */
  private async fetchIpfs(target: IpfsPath): Promise<Uint8Array> {
    const deadline = performance.now() + this.world.fetchMs
    const gateways = this.options.ipfsGateways
    const reasons: string[] = []
    for (const [index, gateway] of gateways.entries())
      try {
        const signal = AbortSignal.timeout(
          Math.max(0, Math.floor((deadline - performance.now()) / (gateways.length - index))),
        )
        const path = [target.cid, ...target.path].map(encodeURIComponent).join('/')
        const url = new URL(`${gateway.replace(/\/+$/, '')}/ipfs/${path}?format=car&dag-scope=entity`)
        const answer = await get(url, {
          accept: 'application/vnd.ipld.car; version=1; order=dfs; dups=n',
          maxBytes: MAX_CAR_BYTES,
          signal,
        })
        if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
        if (!/^application\/vnd\.ipld\.car *(;|$)/i.test(single(answer, 'content-type') ?? ''))
          throw new Error('the response is not a CAR')
        if (answer.headers['content-encoding'] !== undefined)
          throw new Error('the CAR has a content encoding')
        return await documentOfCar(answer.body, target, MAX_BYTES)
      } catch (error) {
        reasons.push(`${new URL(gateway).host}: ${(error as Error).message}`)
      }
    throw new Error(reasons.join('; '))
  }
}

function malformed(rule: string): ComputeError {
  return invalidInput(`uri: ${rule}`)
}

/** Returns the rule that a URL breaks, which the URL class made canonical (127.1 became 127.0.0.1). */
export function urlProblem(url: URL): string | undefined {
  if (url.protocol !== 'https:') return 'expected https://'
  if (url.username || url.password) return 'expected no user name or password'
  if (url.port) return 'expected port 443'
  return hostProblem(url.hostname)
}

function hostProblem(host: string): string | undefined {
  if (host.startsWith('[') || isIP(host)) return 'expected a host name, not an IP address'
  // Neither single labels nor a trailing dot: search lists and hosts files can map them to any address.
  if (
    host.length > 253 ||
    !/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(host)
  )
    return 'expected a full host name such as example.org'
  return undefined
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Address in a public range that is reachable inside Azure only, by its virtual machines. */
const AZURE_HOST = '168.63.129.16'

/**
 * True for public addresses. For IPv6 only global unicast counts (RFC 4291, 2.5.4): not addresses that
 * contain an IPv4 address, nor ranges such as ::/96 that ipaddr.js calls unicast for lack of a name.
 */
export function isPublicAddress(address: string): boolean {
  if (!isIP(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_UNICAST) : address !== AZURE_HOST
}

/** Checks a host's name, all its addresses and that of the connected socket before a byte is sent. */
export function checkingConnector(
  world: Pick<FetchWorld, 'resolve' | 'dial' | 'ca'>,
  signal: AbortSignal,
): buildConnector.connector {
  const open = async (host: string): Promise<TLSSocket> => {
    const problem = hostProblem(host)
    if (problem) throw new Error(problem)
    const addresses = await world.resolve(host, signal)
    signal.throwIfAborted()
    if (addresses.length === 0) throw new Error('the host name has no address')
    const hidden = addresses.find((address) => !isPublicAddress(address))
    if (hidden !== undefined) throw new Error(`the host has the address ${hidden}, which is not public`)

    const tcp = quiet(world.dial(addresses, 443), signal)
    await once(tcp, 'connect', { signal })
    if (!isPublicAddress(tcp.remoteAddress ?? '')) {
      tcp.destroy()
      throw new Error(`the connection has the address ${tcp.remoteAddress}, which is not public`)
    }
    const tls = quiet(
      connectTls({
        socket: tcp,
        servername: host,
        ca: world.ca,
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ALPNProtocols: ['http/1.1'],
      }),
      signal,
    )
    await once(tls, 'secureConnect', { signal })
    return tls
  }
  return ({ hostname }, callback) => {
    open(hostname).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    )
  }
}

/** Destroys a socket with the signal. Its errors never become uncaught exceptions of the process. */
function quiet<S extends Socket>(socket: S, signal: AbortSignal): S {
  const end = () => socket.destroy()
  signal.addEventListener('abort', end)
  return socket.on('error', () => {}).on('close', () => signal.removeEventListener('abort', end))
}

/** Resolves all addresses by DNS alone. Unlike getaddrinfo it can be cancelled and occupies no thread. */
export async function resolveHost(host: string, signal: AbortSignal, servers?: string[]): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  if (servers) resolver.setServers(servers)
  const end = () => resolver.cancel()
  signal.addEventListener('abort', end)
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  signal.removeEventListener('abort', end)
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

export function dial(addresses: readonly string[], port: number): Socket {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return connectTcp({
    host: 'resolved.invalid',
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    lookup: (_host, _options, done) => done(null, found),
  })
}

interface Answer {
  statusCode: number
  headers: Record<string, string | string[] | undefined>
  /** Empty for any status other than 200. */
  body: Uint8Array
}

async function get(
  url: URL,
  options: { accept: string; maxBytes: number; signal: AbortSignal; connect?: buildConnector.connector },
): Promise<Answer> {
  const { accept, maxBytes, signal, connect } = options
  const client = new Client(url.origin, {
    connect,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: maxBytes,
    allowH2: false,
  })
  // The signal of client.request has no effect until there is a connection.
  const end = () => void client.destroy(signal.reason as Error).catch(() => {})
  signal.addEventListener('abort', end)
  try {
    signal.throwIfAborted()
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'geospatial-attestation-service' }
    const answer = await client.request({ method: 'GET', path: `${url.pathname}${url.search}`, headers })
    answer.body.on('error', () => {})
    return {
      statusCode: answer.statusCode,
      headers: answer.headers,
      body: answer.statusCode === 200 ? new Uint8Array(await answer.body.arrayBuffer()) : new Uint8Array(),
    }
  } finally {
    signal.removeEventListener('abort', end)
    client.destroy().catch(() => {})
  }
}

/** Returns a header that must not be sent twice. */
function single(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name]
  if (Array.isArray(value)) throw new Error(`${name} twice`)
  return value
}

async function jsonBody(answer: Answer): Promise<Uint8Array> {
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
  const type = single(answer, 'content-type') ?? ''
  if (!/^application\/([a-z0-9.-]+\+)?json *(; *charset="?utf-8"? *)?$/i.test(type))
    throw new Error('the response is not JSON in UTF-8')
  return decompress(answer.body, single(answer, 'content-encoding')?.toLowerCase() ?? 'identity')
}

/** Decompresses a body with one encoding: some servers compress despite the request not to. */
async function decompress(body: Uint8Array, encoding: string): Promise<Uint8Array> {
  const limit = { maxOutputLength: MAX_BYTES }
  switch (encoding) {
    case 'identity':
      return body
    case 'gzip':
    case 'x-gzip':
      return promisify(gunzip)(body, limit)
    case 'deflate':
      // The format should be zlib's (RFC 9110, 8.4.1.2). Some servers send the raw stream, whose first byte
      // differs.
      return (body[0]! & 0x0f) === 8 ? promisify(inflate)(body, limit) : promisify(inflateRaw)(body, limit)
    case 'br':
      return promisify(brotliDecompress)(body, limit)
  }
  throw new Error('unknown content encoding')
}
