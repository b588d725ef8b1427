import type { Logger } from '@subsquid/logger'
import { RpcClient, RpcError } from '@subsquid/rpc-client'
import type { Chain } from './chains'
import { SettingsError } from './config'

export interface RpcOptions {
  /** The chain that every endpoint must be of. */
  chain: Chain
  /** JSON-RPC endpoints in order of preference. */
  urls: readonly string[]
  /** Requests per second and endpoint; undefined = as many as ten at a time make. */
  rateLimit?: number | undefined
  /** Calls in one HTTP request; 1 for providers that refuse batches. */
  batchSize: number
  /** An endpoint that has not answered after so long has failed. */
  timeoutMs: number
  log: Logger
}

export interface RpcCall {
  method: string
  params: unknown[]
}

export interface CallOptions {
  /** A JSON-RPC error that speaks of a limit is the answer, not a reason to ask another endpoint: the caller will ask for less. */
  refusable?: boolean
  /** Rounds over all endpoints after which it is given up; without an end by default. */
  rounds?: number
  /** Ask the least preferred endpoint first: for a second opinion. */
  second?: boolean
}

/** One endpoint's own answer, or that it refuses to say. */
export type Opinion<T> = Answered<T> | { refusal: RpcError }

/** An answer, and what to do when it cannot be true: whoever gave it is asked last for a while. */
export interface Answered<T> {
  answer: T
  distrust: (reason: string) => void
}

/** A node's answers cannot all be true: it lags, is between two forks, or lies. Asked again, or another, it may do better. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError'
}

interface Endpoint {
  readonly url: string
  /** What logs may say: without path or query, where providers put the key. */
  readonly host: string
  readonly client: RpcClient
  /** Its chain id was asked for and is right. */
  verified?: Promise<boolean>
  failures: number
  /** Not asked before this time, in Unix milliseconds, unless all others failed too. */
  restsUntil: number
  /** Asked after all others until this time, in Unix milliseconds: it answered what cannot be true. */
  distrustedUntil: number
}

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 15_000
const DISTRUST_MS = 30_000
const CHAIN_ID_ASKED = 3
/** So often EAS must be missing before it is believed: a node that has only begun to follow the chain has no code yet. */
const CODE_ASKED = 4

/**
 * The JSON-RPC endpoints of one chain as one that does not fail: a call goes to the first endpoint that is well, to the next
 * when that does not answer, answers HTTP errors or nonsense, and round again, resting longer each time, until there is an
 * answer. An endpoint of another chain is never believed: its chain id is asked for before its first answer is used.
 */
export class Rpc {
  private readonly endpoints: readonly Endpoint[]

  constructor(private readonly options: RpcOptions) {
    const { urls, rateLimit, batchSize, timeoutMs } = options
    this.endpoints = urls.map((url) => ({
      url,
      host: new URL(url).host,
      // Its own log and errors would hold the URL, and with it the key; retrying is done here.
      client: new RpcClient({
        url,
        rateLimit,
        maxBatchCallSize: batchSize,
        requestTimeout: timeoutMs,
        retryAttempts: 0,
        retrySchedule: [0],
        log: null,
      }),
      failures: 0,
      restsUntil: 0,
      distrustedUntil: 0,
    }))
  }

  /** How many endpoints there are. */
  get size(): number {
    return this.endpoints.length
  }

  /** The result of one call. Throws an RpcError when the node refuses it, other errors only after `options.rounds`. */
  async call<T>(method: string, params: unknown[] = [], options?: CallOptions): Promise<T> {
    return (await this.ask((client) => client.call<T>(method, params), method, options)).answer
  }

  /** The results of calls in their order, asked for in as few HTTP requests as the endpoint allows. Throws as `call`. */
  async batchCall<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<T[]> {
    return (await this.batch<T>(calls, options)).answer
  }

  /** The same, for whoever can tell whether the answers may be true. */
  batch<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<Answered<T[]>> {
    if (calls.length === 0) return Promise.resolve({ answer: [], distrust: () => {} })
    return this.ask((client) => client.batchCall<T>([...calls]), calls[0]!.method, options)
  }

  /**
   * What each endpoint says to these calls, each asked once, in order of preference: for answers that must agree. An
   * endpoint that rests, fails or is of another chain is left out, so there may be none.
   */
  async *each<T>(
    calls: readonly RpcCall[],
    { second = false }: CallOptions = {},
  ): AsyncGenerator<Opinion<T[]>> {
    const method = calls[0]!.method
    for (const endpoint of this.inOrder(second)) {
      const asked = Date.now()
      if (endpoint.restsUntil > asked) continue
      let opinion: Opinion<T[]>
      try {
        const [isRight, answer] = await Promise.all([
          this.isOfThisChain(endpoint),
          endpoint.client.batchCall<T>([...calls]),
        ])
        if (!isRight) continue
        endpoint.failures = endpoint.restsUntil = 0
        opinion = this.answered(endpoint, method, answer)
      } catch (thrown) {
        if (thrown instanceof SettingsError) throw thrown
        const error = this.withoutKeys(thrown as Error)
        if (!(error instanceof RpcError) || isPassing(error)) {
          this.rest(endpoint, asked, method, error)
          continue
        }
        opinion = { refusal: error }
      }
      yield opinion
    }
  }

  /** Throws a SettingsError when no endpoint is of this chain, or EAS is not there. Waits until one of them answers. */
  async check(): Promise<void> {
    const { chain } = this.options
    for (let asked = 0; asked < CODE_ASKED; asked++) {
      if (asked > 0) await new Promise((resolve) => setTimeout(resolve, 500))
      if (
        (await this.call<string>('eth_getCode', [chain.eas, 'latest'], { second: asked % 2 === 1 })) !== '0x'
      )
        return
    }
    throw new SettingsError(`There is no EAS contract at ${chain.eas} on the RPC endpoint of ${chain.slug}`)
  }

  private async ask<T>(
    send: (client: RpcClient) => Promise<T>,
    what: string,
    options: CallOptions = {},
  ): Promise<Answered<T>> {
    const refusals = new Set<Endpoint>()
    let refusal: Error | undefined
    for (let attempt = 1; ; attempt++) {
      const endpoint = await this.next(refusals, options.second ?? false)
      if (!endpoint)
        throw (
          refusal ??
          new SettingsError(
            `No RPC endpoint of ${this.options.chain.slug} is on chain ${this.options.chain.id}`,
          )
        )
      const asked = Date.now()
      try {
        const [isRight, answer] = await Promise.all([this.isOfThisChain(endpoint), send(endpoint.client)])
        if (!isRight) continue
        endpoint.failures = endpoint.restsUntil = 0
        return this.answered(endpoint, what, answer)
      } catch (thrown) {
        if (thrown instanceof SettingsError) throw thrown
        const error = this.withoutKeys(thrown as Error)
        if (error instanceof RpcError && !isPassing(error)) {
          // The node is well but will not say this. Another one may: a node that prunes, a lower limit.
          if (options.refusable && isLimit(error)) throw error
          refusals.add(endpoint)
          refusal = error
          continue
        }
        if (options.refusable && isHttpRefusal(error)) throw error
        this.rest(endpoint, asked, what, error)
        if (options.rounds !== undefined && attempt >= options.rounds * this.endpoints.length) throw error
      }
    }
  }

  /** It failed: it rests, longer each time. */
  private rest(endpoint: Endpoint, asked: number, method: string, error: Error): void {
    // Calls that were under way together fail together: that is one failure.
    if (endpoint.restsUntil <= asked) endpoint.failures++
    const restMs = Math.min(FIRST_REST_MS * 2 ** (endpoint.failures - 1), LONGEST_REST_MS)
    endpoint.restsUntil = Date.now() + restMs
    const about = { chain: this.options.chain.slug, endpoint: endpoint.host, method }
    this.options.log.warn({ ...about, reason: error.message.slice(0, 300), restMs }, 'an RPC endpoint failed')
  }

  private answered<T>(endpoint: Endpoint, method: string, answer: T): Answered<T> {
    return { answer, distrust: (reason) => this.distrust(endpoint, method, reason) }
  }

  /** It said what cannot be true: others come first for a while. Logged once a while. */
  private distrust(endpoint: Endpoint, method: string, reason: string): void {
    const now = Date.now()
    const about = {
      chain: this.options.chain.slug,
      endpoint: endpoint.host,
      method,
      reason: reason.slice(0, 300),
    }
    if (endpoint.distrustedUntil <= now)
      this.options.log.warn(about, 'an RPC endpoint answered what cannot be true')
    endpoint.distrustedUntil = now + DISTRUST_MS
  }

  /** Those that are of this chain, as far as known: the trusted ones first, each group in order of preference. */
  private inOrder(second: boolean): Endpoint[] {
    const now = Date.now()
    const all = this.endpoints.filter((endpoint) => endpoint.restsUntil !== Infinity)
    if (second) all.reverse()
    return [
      ...all.filter((each) => each.distrustedUntil <= now),
      ...all.filter((each) => each.distrustedUntil > now),
    ]
  }

  /** The first endpoint that is well and did not refuse; when all rest, the one that has rested longest, at its time; undefined when none is left. */
  private async next(refusals: ReadonlySet<Endpoint>, second: boolean): Promise<Endpoint | undefined> {
    const candidates = this.inOrder(second).filter((endpoint) => !refusals.has(endpoint))
    if (candidates.length === 0) return undefined
    const now = Date.now()
    const well = candidates.find((endpoint) => endpoint.restsUntil <= now)
    if (well) return well
    const soonest = candidates.reduce((a, b) => (b.restsUntil < a.restsUntil ? b : a))
    await new Promise((resolve) => setTimeout(resolve, soonest.restsUntil - now))
    return soonest
  }

  private async isOfThisChain(endpoint: Endpoint): Promise<boolean> {
    endpoint.verified ??= this.verify(endpoint)
    try {
      return await endpoint.verified
    } catch (error) {
      if (!(error instanceof SettingsError)) delete endpoint.verified
      throw error
    }
  }

  /** A wrong chain id is asked for again before it is believed: the refusal is for good. */
  private async verify(endpoint: Endpoint): Promise<boolean> {
    const { chain, log } = this.options
    let id = 0
    for (let asked = 0; asked < CHAIN_ID_ASKED; asked++) {
      if (asked > 0) await new Promise((resolve) => setTimeout(resolve, 500))
      id = Number(await endpoint.client.call<string>('eth_chainId', []))
      if (id === chain.id) return true
    }
    const message = `The RPC endpoint ${endpoint.host} of ${chain.slug} is on chain ${id}, not ${chain.id}: correct its RPC_URL_*`
    if (this.endpoints.length === 1) throw new SettingsError(message)
    log.error(message)
    // Never asked again; when all are wrong there is nobody left to ask.
    endpoint.restsUntil = Infinity
    return false
  }

  /** The error, saying the endpoint's host where it said its URL, in whatever form. */
  private withoutKeys(error: Error): Error {
    delete (error as { rpcUrl?: string }).rpcUrl
    for (const { url, host } of this.endpoints) {
      const { href, pathname, search } = new URL(url)
      for (const text of [url, href, `${pathname}${search}`, pathname, search])
        if (text.length > 1)
          error.message = error.message.replaceAll(text, text.startsWith('http') ? host : '...')
    }
    return error
  }
}

/** A number as JSON-RPC writes it. */
export function hexNumber(value: number): string {
  return `0x${value.toString(16)}`
}

/** JSON-RPC errors that say "not now" rather than "never". */
function isPassing(error: RpcError): boolean {
  return (
    error.code === 429 ||
    /rate limit|too many requests|timed? ?out|try again|temporar|capacity|overloaded/i.test(error.message)
  )
}

/** Words of a node that would answer if it were asked for less. */
function isLimit(error: Error): boolean {
  return /range|limit|exceed|more than|too (many|large|big|wide)|results|size|gas|memory/i.test(error.message)
}

/** HTTP's way of saying "not this": a request too large, a range too wide. */
function isHttpRefusal(error: Error): boolean {
  const status = (error as { response?: { status?: number } }).response?.status
  return status === 400 || status === 413 || status === 422
}
