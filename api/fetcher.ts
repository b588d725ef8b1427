import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { Resolver } from 'node:dns/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { Client, type buildConnector } from 'undici'
import { MAX_CAR_BYTES, documentOfCar, readIpfsUri, type IpfsPath } from './ipfs'
import { ComputeProblem, UnavailableError } from './problems'

/** Of a document, as it comes over the wire and again when decompressed. */
const MAX_BYTES = 262_144
const MAX_HEADER_BYTES = 16_384
const MAX_URI_LENGTH = 2_048
const MAX_REDIRECTS = 3
/** From the first look-up to the last byte, over all redirects and gateways. */
const FETCH_MS = 5_000
/** Every refusal is answered so long after the start, whatever it was: later than FETCH_MS, so that silence does not stand out. */
const REFUSAL_MS = 5_250
const IN_FLIGHT_PER_CLIENT = 2
const IN_FLIGHT = 64
/** Of one question to a name server, which is asked twice. */
const DNS_TIMEOUT_MS = 1_000
/** Before the next address of a host is tried beside the one that does not answer. */
const NEXT_ADDRESS_MS = 1_000

/** One text for all, as a fetcher that says more tells strangers which hosts and ports there are (TRUST.md 3). */
const UNFETCHABLE =
  'uri: the document could not be fetched. It must answer 200 within 5 seconds, with JSON (Content-Type application/json, UTF-8) of at most 256 KiB, at an https URL on port 443 of a host all of whose addresses are public, ' +
  'with a valid certificate and at most 3 redirects to such URLs; or be a file of that size behind an ipfs:// URI'

/** What lies between the fetcher's checks and the network. Tests put in their own; the checks are the same. */
export interface FetchWorld {
  /** All addresses of a host name; none when there are none. */
  resolve(host: string, signal: AbortSignal): Promise<string[]>
  /** A connection under way to one of these addresses. */
  dial(addresses: readonly string[], port: number): Socket
  /** Certificate authorities to believe, PEM; undefined: those of Node. */
  ca?: string
  fetchMs: number
  refusalMs: number
}

const INTERNET: FetchWorld = { resolve: resolveHost, dial, fetchMs: FETCH_MS, refusalMs: REFUSAL_MS }

export interface FetcherOptions {
  /** Trustless gateways, http(s), in order of preference; none: no ipfs:// URIs. They are the operator's: their addresses are not checked, what they send is. */
  ipfsGateways: readonly string[]
  /** Told why a document was refused, which its sender is not. `where`: a host name or a CID. */
  onRefusal?: (where: string, reason: string) => void
}

/**
 * Fetches documents from where strangers say they are, by TRUST.md 3.
 * No state is kept between two fetches: no cookies, no connections, no TLS sessions, no answers.
 */
export class SafeFetcher {
  private readonly world: FetchWorld
  private readonly inFlight = new Map<string, number>()
  private total = 0

  constructor(
    private readonly options: FetcherOptions,
    world: Partial<FetchWorld> = {},
  ) {
    this.world = { ...INTERNET, ...world }
  }

  /**
   * The text of the document at an https or ipfs URI, a byte order mark dropped. It need not be JSON yet.
   * @param client who asks, as rate limits count: two documents at a time
   * Throws a ComputeProblem: invalid-input at once for the form of the URI, and after one fixed time, in one text, for
   * everything else; rate-limited at once. Throws an UnavailableError when too many others fetch.
   */
  async fetch(uri: string, client: string): Promise<string> {
    const target = await this.readUri(uri)
    const leave = this.enter(client)
    let timer: NodeJS.Timeout | undefined
    const refusal = new Promise<undefined>(
      (resolve) => (timer = setTimeout(() => resolve(undefined), this.world.refusalMs)),
    )
    try {
      const fetched = target instanceof URL ? this.fetchHttps(target) : this.fetchIpfs(target)
      const text = await Promise.race([
        refusal,
        fetched.then(decodeUtf8).catch((error: Error) => {
          this.options.onRefusal?.(target instanceof URL ? target.hostname : target.cid, error.message)
          return refusal
        }),
      ])
      if (text === undefined) throw new ComputeProblem('invalid-input', UNFETCHABLE)
      return text
    } finally {
      clearTimeout(timer)
      leave()
    }
  }

  /** What a URI leads to. Throws a ComputeProblem that names the rule its form breaks. */
  private async readUri(uri: string): Promise<URL | IpfsPath> {
    if (uri.length > MAX_URI_LENGTH) throw malformed(`at most ${MAX_URI_LENGTH} characters`)
    // URL would drop line breaks and tabs, turn backslashes into slashes, and circled digits into digits.
    if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(uri))
      throw malformed('expected printable ASCII without spaces and backslashes; percent-encode the rest')
    if (/^ipfs:\/\//i.test(uri)) {
      if (this.options.ipfsGateways.length === 0)
        throw malformed('this service fetches no ipfs:// URIs; expected https://')
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

  /** Takes a place among those in flight; the function returned gives it back. */
  private enter(client: string): () => void {
    const own = this.inFlight.get(client) ?? 0
    if (own >= IN_FLIGHT_PER_CLIENT)
      throw new ComputeProblem(
        'rate-limited',
        `uri: ${IN_FLIGHT_PER_CLIENT} documents are being fetched for you already; wait for one of them`,
        Math.ceil(this.world.refusalMs / 1000),
      )
    if (this.total >= IN_FLIGHT) throw new UnavailableError('Too many documents are being fetched.')
    this.inFlight.set(client, own + 1)
    this.total++
    return () => {
      const left = this.inFlight.get(client)! - 1
      if (left === 0) this.inFlight.delete(client)
      else this.inFlight.set(client, left)
      this.total--
    }
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
      if (location === undefined) throw new Error('redirected nowhere')
      url = new URL(location, url)
      const problem = urlProblem(url)
      if (problem) throw new Error(`redirected: ${problem}`)
    }
  }

  /** Asks one gateway after another, each with its share of the time that is left. */
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
          throw new Error('not sent as a CAR')
        if (answer.headers['content-encoding'] !== undefined) throw new Error('an encoding of the CAR')
        return await documentOfCar(answer.body, target, MAX_BYTES)
      } catch (error) {
        reasons.push(`${new URL(gateway).host}: ${(error as Error).message}`)
      }
    throw new Error(reasons.join('; '))
  }
}

function malformed(rule: string): ComputeProblem {
  return new ComputeProblem('invalid-input', `uri: ${rule}`)
}

/** Which rule an https URL breaks; undefined: none. A URL has canonical form here: 127.1, 0x7f000001 and the like have become 127.0.0.1. */
function urlProblem(url: URL): string | undefined {
  if (url.protocol !== 'https:') return 'expected https://'
  if (url.username || url.password) return 'expected no user name or password'
  if (url.port) return 'expected port 443'
  return hostProblem(url.hostname)
}

function hostProblem(host: string): string | undefined {
  if (host.startsWith('[') || isIP(host)) return 'expected a host name, not an IP address'
  // Single labels and trailing dots too: search lists and hosts files make anything of them.
  if (
    host.length > 253 ||
    !/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(host)
  )
    return 'expected a full host name such as example.org'
  return undefined
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public by its number; answers inside Azure only, to its virtual machines. */
const AZURE_HOST = '168.63.129.16'

/**
 * Whether an address lies in the public internet. Of IPv6 only what is assigned for that (RFC 4291, 2.5.4): neither
 * addresses that hold an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo), nor those that ipaddr.js takes for
 * public for want of a name, such as ::/96.
 */
export function isPublicAddress(address: string): boolean {
  if (!isIP(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_UNICAST) : address !== AZURE_HOST
}

/** Connects to a host name of public addresses only: name, all its addresses, and the one connected to are checked before a byte is sent. */
function checkingConnector(world: FetchWorld, signal: AbortSignal): buildConnector.connector {
  const open = async (host: string): Promise<TLSSocket> => {
    const problem = hostProblem(host)
    if (problem) throw new Error(problem)
    const addresses = await world.resolve(host, signal)
    signal.throwIfAborted()
    if (addresses.length === 0) throw new Error('no address')
    const hidden = addresses.find((address) => !isPublicAddress(address))
    if (hidden !== undefined) throw new Error(`has the address ${hidden}`)

    const tcp = quiet(world.dial(addresses, 443), signal)
    await once(tcp, 'connect', { signal })
    if (!isPublicAddress(tcp.remoteAddress ?? '')) {
      tcp.destroy()
      throw new Error(`led to the address ${tcp.remoteAddress}`)
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

/** A socket that ends with the signal, and whose errors reach those who listen but never the process. */
function quiet<S extends Socket>(socket: S, signal: AbortSignal): S {
  const end = () => socket.destroy()
  signal.addEventListener('abort', end)
  return socket.on('error', () => {}).on('close', () => signal.removeEventListener('abort', end))
}

/** All addresses by DNS: neither hosts files nor search lists, and unlike getaddrinfo it can be cancelled and takes no thread. */
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
  /** Empty unless the status is 200. */
  body: Uint8Array
}

/** One GET over a connection of its own. */
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
  // Not by the request's own signal, which does nothing until there is a connection.
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

/** A header that may be sent once at most. */
function single(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name]
  if (Array.isArray(value)) throw new Error(`${name} twice`)
  return value
}

async function jsonBody(answer: Answer): Promise<Uint8Array> {
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
  const type = single(answer, 'content-type') ?? ''
  if (!/^application\/([a-z0-9.-]+\+)?json *(; *charset="?utf-8"? *)?$/i.test(type))
    throw new Error('not sent as JSON in UTF-8')
  return decompress(answer.body, single(answer, 'content-encoding')?.toLowerCase() ?? 'identity')
}

/** Some servers compress though asked not to. One encoding, not several in turn. */
async function decompress(body: Uint8Array, encoding: string): Promise<Uint8Array> {
  const limit = { maxOutputLength: MAX_BYTES }
  switch (encoding) {
    case 'identity':
      return body
    case 'gzip':
    case 'x-gzip':
      return promisify(gunzip)(body, limit)
    case 'deflate':
      // Should be zlib's format (RFC 9110, 8.4.1.2); some send the bare stream, whose first byte never looks like that.
      return (body[0]! & 0x0f) === 8 ? promisify(inflate)(body, limit) : promisify(inflateRaw)(body, limit)
    case 'br':
      return promisify(brotliDecompress)(body, limit)
  }
  throw new Error('an unknown encoding')
}

function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
