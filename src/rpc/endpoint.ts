import { RpcError, type RpcClient, type RpcClientOptions } from '@subsquid/rpc-client'
import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { MONOTONIC, type Clock } from '../clock'
import { rpcClient } from './http'
import { isTemporary, statusOf } from './refusals'

export interface EndpointOptions {
  /** chain that the endpoint must be on */
  chain: Chain
  /** requests per second; undefined means no limit */
  rateLimit?: number | undefined
  /** concurrent HTTP requests; 10 by default */
  concurrency?: number
  /** calls per HTTP request; 1 for providers that refuse batches */
  batchSize: number
  /** milliseconds after which a call without a response has failed */
  timeoutMs: number
  /**
   * milliseconds until the chain id is read again. With Infinity, the default, another id than that of
   * `chain` excludes the endpoint permanently, otherwise for OTHER_CHAIN_MS
   */
  chainIdValidMs?: number
  log?: Logger
  clock?: Clock
  /** creates the client of a URL; HTTP or WebSocket by default */
  connect?: (options: RpcClientOptions & { url: string }) => RpcClient
}

/**
 * Outcome of a call: a refusal is a JSON-RPC error of a healthy endpoint, anything else is a failure. With
 * `chainId`, the endpoint is on this other chain, and the call was not sent.
 */
export type Outcome<T> = { answer: T } | { refusal: RpcError } | { failure: Error } | { chainId: number }

/** Number of calls of a method by outcome, since the start. */
export type CallCounts = Record<'answered' | 'refused' | 'failed', number>

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 15_000
const DISTRUST_MS = 30_000
/** Number of times that an endpoint must report another chain id before it is excluded permanently. */
const CHAIN_ID_ATTEMPTS = 3
const CHAIN_ID_PAUSE_MS = 500
/** Milliseconds after which an endpoint that reported another chain id is queried again. */
const OTHER_CHAIN_MS = 1_000
/** Minimum number of characters of a part of a URL that may be a key. Errors need shorter words. */
const SHORTEST_KEY = 8

/** Error codes of a closed connection. A server that closes a kept-alive connection has not read the call. */
export const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** A JSON-RPC endpoint: its health, and the check that it is on the expected chain. */
export class Endpoint {
  /** Host for logs, without path and query, in which providers put the key. */
  readonly host: string
  /** Number of calls by method. */
  readonly calls = new Map<string, CallCounts>()
  private readonly client: RpcClient
  private readonly secrets: readonly string[]
  private failures = 0
  /** Time of the clock until which the endpoint is queried only if all others have failed too. */
  restsUntil = -Infinity
  /** Time until which the endpoint is queried last, because a response of it cannot be true. */
  private distrustedUntil = -Infinity
  private chainId: { askedAt: number; answer: Promise<number> } | undefined
  /** Other chain id that the endpoint reported, and the time until which it is excluded. */
  private otherChain: { id: number; until: number } | undefined
  private readonly clock: Clock

  constructor(
    url: string,
    private readonly options: EndpointOptions,
  ) {
    const { rateLimit, concurrency, batchSize, timeoutMs, connect = rpcClient } = options
    this.clock = options.clock ?? MONOTONIC
    this.host = new URL(url).host
    this.secrets = secretsOf(url)
    // The client's own log would contain the URL, and with it the key. rpc.ts decides about retries.
    this.client = connect({
      url,
      rateLimit,
      capacity: concurrency ?? 10,
      maxBatchCallSize: batchSize,
      requestTimeout: timeoutMs,
      retryAttempts: 0,
      log: null,
    })
  }

  close(): void {
    this.client.close()
  }

  get isTrusted(): boolean {
    return this.distrustedUntil <= this.clock.now()
  }

  /** Chain id of the endpoint, if it is known to be on another chain; otherwise undefined. */
  get wrongChainId(): number | undefined {
    return this.otherChain && this.otherChain.until > this.clock.now() ? this.otherChain.id : undefined
  }

  /** Sends calls of these methods once the endpoint is known to be on `chain`. Never throws. */
  async ask<T>(send: (client: RpcClient) => Promise<T>, methods: readonly string[]): Promise<Outcome<T>> {
    let asked: readonly string[] = []
    try {
      const chainId = await this.checkedChainId()
      if (chainId !== this.options.chain.id) return { chainId }
      asked = methods
      const answer = await send(this.client).catch((error: { code?: unknown }) => {
        // The server had closed a kept-alive connection, so it has not read the call.
        if (CLOSED.has(error.code)) return send(this.client)
        throw error
      })
      this.failures = 0
      this.restsUntil = -Infinity
      this.count(asked, 'answered')
      return { answer }
    } catch (thrown) {
      const error = this.withoutUrl(thrown as Error)
      // An endpoint that refuses eth_chainId refuses every call, for example because its key has expired.
      // After a refusal with an HTTP status, the id is read again.
      const isRefusal = asked.length > 0 && error instanceof RpcError && !isTemporary(error)
      if (isRefusal && statusOf(error) !== undefined) this.chainId = undefined
      this.count(asked, isRefusal ? 'refused' : 'failed')
      return isRefusal ? { refusal: error } : { failure: error }
    }
  }

  private count(methods: readonly string[], outcome: keyof CallCounts): void {
    for (const method of methods) {
      let counts = this.calls.get(method)
      if (!counts) this.calls.set(method, (counts = { answered: 0, refused: 0, failed: 0 }))
      counts[outcome]++
    }
  }

  /** Returns the chain id now. Another one excludes the endpoint for OTHER_CHAIN_MS. */
  async currentChainId(): Promise<number> {
    const id = await this.readChainId()
    if (this.options.chainIdValidMs !== undefined) this.noteChainId(id, OTHER_CHAIN_MS)
    return id
  }

  private async readChainId(): Promise<number> {
    const answer = await this.client.call<unknown>('eth_chainId', []).catch((error: Error) => {
      this.count(['eth_chainId'], 'failed')
      throw error
    })
    this.count(['eth_chainId'], 'answered')
    if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,13}$/i.test(answer))
      throw new Error('eth_chainId has no result')
    return Number(answer)
  }

  /**
   * Pauses the endpoint after a failure of a call that began at `askedAt`, longer each time. If another one
   * stands in for it, the pause after the second failure is at least as long as that call, up to
   * LONGEST_REST_MS, so that few calls wait for a timeout. A single lost call does not prove an outage.
   */
  rest(askedAt: number, method: string, reason: Error, hasStandIn: boolean): void {
    // Concurrent calls that fail together count as one failure.
    if (this.restsUntil <= askedAt) this.failures++
    const now = this.clock.now()
    const leastMs = hasStandIn && this.failures > 1 ? now - askedAt : 0
    const restMs = Math.min(Math.max(leastMs, FIRST_REST_MS * 2 ** (this.failures - 1)), LONGEST_REST_MS)
    this.restsUntil = now + restMs
    this.options.log?.warn({ ...this.about(method, reason.message), restMs }, 'an RPC endpoint failed')
  }

  /** Records that a response cannot be true: for DISTRUST_MS, all other endpoints are queried first. */
  distrust(method: string, reason: string): void {
    if (this.isTrusted)
      this.options.log?.warn(
        this.about(method, reason),
        'an RPC endpoint returned a response that cannot be correct',
      )
    this.distrustedUntil = this.clock.now() + DISTRUST_MS
  }

  private checkedChainId(): Promise<number> {
    const { chainIdValidMs = Infinity } = this.options
    if (this.chainId && this.clock.now() - this.chainId.askedAt < chainIdValidMs) return this.chainId.answer
    const asked = { askedAt: this.clock.now(), answer: this.askChainId(chainIdValidMs === Infinity) }
    this.chainId = asked
    asked.answer.catch(() => {
      if (this.chainId === asked) this.chainId = undefined
    })
    return asked.answer
  }

  private async askChainId(isPermanent: boolean): Promise<number> {
    const { chain } = this.options
    let id = await this.readChainId()
    for (let attempt = 1; id !== chain.id && isPermanent && attempt < CHAIN_ID_ATTEMPTS; attempt++) {
      await this.clock.pause(CHAIN_ID_PAUSE_MS)
      id = await this.readChainId()
    }
    this.noteChainId(id, isPermanent ? Infinity : OTHER_CHAIN_MS)
    return id
  }

  /** Excludes the endpoint for some time if this is the id of another chain. Logs only a new id. */
  private noteChainId(id: number, excludedMs: number): void {
    const { chain, log } = this.options
    const before = this.otherChain?.id
    this.otherChain = id === chain.id ? undefined : { id, until: this.clock.now() + excludedMs }
    if (!this.otherChain) return
    this.chainId = undefined
    if (id !== before) log?.error(wrongChain(this.host, chain, id))
  }

  private about(method: string, reason: string): object {
    return { chain: this.options.chain.slug, endpoint: this.host, method, reason: reason.slice(0, 300) }
  }

  /** Returns the error without the URL and its parts that may be secrets, which an endpoint may quote. */
  private withoutUrl(error: Error): Error {
    // Subsquid's client adds these members.
    delete (error as { rpcUrl?: unknown }).rpcUrl
    delete (error as { rpcResponse?: unknown }).rpcResponse
    const clean = (text: string) => this.secrets.reduce((left, each) => left.replaceAll(each, '...'), text)
    for (const each of [error, error.cause]) {
      if (!(each instanceof Error)) continue
      each.message = clean(each.message)
      if (each.stack !== undefined) each.stack = clean(each.stack)
    }
    // A logger prints all members of an error. The data may be of any JSON type.
    if (error instanceof RpcError && error.data !== undefined) {
      const cleaned = (_: string, value: unknown) => (typeof value === 'string' ? clean(value) : value)
      Object.assign(error, { data: JSON.parse(JSON.stringify(error.data), cleaned) as unknown })
    }
    return error
  }
}

/** Returns the URL and its parts that may be secrets, the longest first. */
function secretsOf(url: string): string[] {
  const { href, pathname, search, username, password } = new URL(url)
  const parts = `${pathname}${search}`.split(/[/?&=]/).concat(username, password)
  const keys = parts.flatMap((each) => [each, decoded(each)]).filter(({ length }) => length >= SHORTEST_KEY)
  return [url, href, `${pathname}${search}`, pathname, search, ...keys]
    .filter(({ length }) => length > 1)
    .sort((a, b) => b.length - a.length)
}

/** Decodes a part of a URL. Returns a part unchanged that is not encoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function wrongChain(host: string, chain: Chain, id: number): string {
  return `The RPC endpoint ${host} of ${chain.slug} is on chain ${id} instead of ${chain.id}. Correct its RPC_URL_*.`
}
