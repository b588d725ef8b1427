import { Agent, type buildConnector, type Dispatcher } from 'undici'
import { checkingConnector, INTERNET, MAX_HEADER_BYTES, urlProblem, type FetchWorld } from './fetcher'

const CONNECT_MS = 5_000
/** Number of bytes of a response that are read, to reuse its connection, and discarded. */
const MAX_ANSWER_BYTES = 4_096
const MAX_URL_LENGTH = 2_048
const KEEP_ALIVE_MS = 4_000

/**
 * Posts to addresses that others name, by docs/spec/trust.md 3: https on port 443 of hosts with public
 * addresses only, checked for each connection before a byte is sent, without redirects. Hosts that the
 * operator names are exempt, and may use http. Callers limit their requests: one that waited here for a
 * connection would count as failed.
 */
export class SafeSender {
  private readonly open: Agent
  private readonly own: Agent

  /** @param privateHosts host names or addresses as a URL writes them, each with a port or for any port */
  constructor(
    private readonly privateHosts: ReadonlySet<string>,
    world: Pick<FetchWorld, 'resolve' | 'dial' | 'ca'> = INTERNET,
  ) {
    const options: Agent.Options = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      allowH2: false,
    }
    this.open = new Agent({ ...options, connect: publicConnector(world) })
    this.own = new Agent({ ...options, connect: { timeout: CONNECT_MS } })
  }

  /** Returns the rule that a URL breaks; undefined if it breaks none. */
  problemOf(text: string): string | undefined {
    if (text.length > MAX_URL_LENGTH) return `at most ${MAX_URL_LENGTH} characters`
    if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text) || !URL.canParse(text)) return 'not a valid URL'
    const url = new URL(text)
    if (url.username || url.password) return 'expected no user name or password'
    if (this.isPrivate(url))
      return /^https?:$/.test(url.protocol) ? undefined : 'expected http:// or https://'
    const problem = urlProblem(url)
    return problem && `${problem}, or a host in WEBHOOK_PRIVATE_HOSTS`
  }

  /** Posts a body, and waits for the end of a short response. Throws if no response arrives in time. */
  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<{ status: number; retryAfter: string | undefined }> {
    const answer = await this.request(url, headers, body, signal)
    const retryAfter = answer.headers['retry-after']
    await answer.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => {})
    return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined }
  }

  /** Posts a body, and returns the response as text. Throws if it is late or too large. */
  async exchange(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
    maxBytes: number,
  ): Promise<{ status: number; body: string }> {
    const answer = await this.request(url, headers, body, signal)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      if ((bytes += chunk.length) > maxBytes) throw new Error(`its response has more than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    return { status: answer.statusCode, body: Buffer.concat(chunks).toString('utf8') }
  }

  private async request(
    text: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const problem = this.problemOf(text)
    if (problem) throw new Error(problem)
    const url = new URL(text)
    return (this.isPrivate(url) ? this.own : this.open).request({
      ...{ origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST' as const },
      ...{ headers, body, signal },
    })
  }

  async close(): Promise<void> {
    await Promise.all([this.open.destroy(), this.own.destroy()])
  }

  private isPrivate({ protocol, hostname, port }: URL): boolean {
    const usual = protocol === 'http:' ? '80' : '443'
    return this.privateHosts.has(hostname) || this.privateHosts.has(`${hostname}:${port || usual}`)
  }
}

function publicConnector(world: Pick<FetchWorld, 'resolve' | 'dial' | 'ca'>): buildConnector.connector {
  return (options, callback) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('the connection timed out')), CONNECT_MS)
    checkingConnector(world, late.signal)(options, (...result) => {
      clearTimeout(timer)
      callback(...result)
    })
  }
}
