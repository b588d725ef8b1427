import { setMaxListeners } from 'node:events'
import type { RpcClient, RpcError } from '@subsquid/rpc-client'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { Endpoint, wrongChain, type CallCounts, type EndpointOptions } from './endpoint'
import { isHttpTooMuch, isTooMuch } from './refusals'

interface RpcOptions extends EndpointOptions {
  /** JSON-RPC endpoints in order of preference, at least one */
  urls: readonly string[]
  /** aborting it ends all retries: calls that wait for an endpoint reject */
  signal?: AbortSignal
}

export interface RpcCall {
  method: string
  params: unknown[]
}

interface CallOptions {
  /** true if the caller can split the request: a refusal of its size is thrown at once */
  splittable?: boolean
  /** maximum number of failures per endpoint; unlimited by default */
  rounds?: number
  /**
   * True to query each endpoint at most once, in order of preference, and to wait for none. An endpoint that
   * failed one call stays the first for the next one, because others may be some blocks behind.
   */
  once?: boolean
  /** true if null is not a result, so that the next endpoint is queried */
  required?: boolean
  /** true to send the calls of a batch one by one, nevertheless all to one endpoint */
  singly?: boolean
}

/** A result, and a function by which the caller reports that it cannot be true. */
export interface Answered<T> {
  answer: T
  distrust: (reason: string) => void
}

/** Result of one endpoint, or the error with which it refused. */
type Opinion<T> = Answered<T> | { refusal: RpcError }

/** Number of times that the EAS contract must be missing: an endpoint that is syncing has no code yet. */
const CODE_ATTEMPTS = 4
const CODE_PAUSE_MS = 500

/**
 * JSON-RPC endpoints of one chain. A call goes to the first healthy one. If that one times out, or returns an
 * HTTP error or an invalid response, the call goes to the next one. After the last endpoint, the first one is
 * tried again, with growing pauses, until there is a result. No result is used before its endpoint has proved
 * that it is on the expected chain.
 */
export class Rpc {
  private readonly endpoints: readonly Endpoint[]
  private readonly clock: Clock

  constructor(private readonly options: RpcOptions) {
    this.clock = options.clock ?? MONOTONIC
    if (options.signal) setMaxListeners(0, options.signal) // many calls may wait for an endpoint at once
    this.endpoints = options.urls.map((url) => new Endpoint(url, options))
  }

  /** Number of calls by endpoint, method and outcome, since the start. */
  *counts(): Generator<{ chain: string; endpoint: string; method: string; counts: CallCounts }> {
    for (const { host, calls } of this.endpoints)
      for (const [method, counts] of calls)
        yield { chain: this.options.chain.slug, endpoint: host, method, counts }
  }

  /** Closes the connections. Pending calls reject. */
  close(): void {
    for (const endpoint of this.endpoints) endpoint.close()
  }

  /** Number of endpoints. */
  get size(): number {
    return this.endpoints.length
  }

  /** Route through the endpoints in their order of preference, turned `start` times, or in reverse order. */
  route(start: number | 'last' = 0): Route {
    const route = new Route(this, [...this.endpoints.keys()])
    if (start === 'last') return route.opposite
    for (let i = 0; i < start; i++) route.turn()
    return route
  }

  /** True if an endpoint has the EAS contract. Throws a SettingsError if no endpoint is on this chain. */
  async hasContract(): Promise<boolean> {
    for (const [attempt, route] of this.route().turning(CODE_ATTEMPTS)) {
      if (attempt > 0) await this.clock.pause(CODE_PAUSE_MS)
      if ((await route.call<string>('eth_getCode', [this.options.chain.eas, 'latest'])) !== '0x') return true
    }
    return false
  }

  /** Throws a SettingsError if no endpoint is on this chain, or none has the EAS contract. */
  async check(): Promise<void> {
    const { chain } = this.options
    if (await this.hasContract()) return
    throw new SettingsError(
      `EAS contract not found at ${chain.eas} through the RPC endpoint of ${chain.slug}.`,
    )
  }

  /** Chain ids of all endpoints that respond now. */
  async chainIds(): Promise<number[]> {
    const answers = await Promise.allSettled(this.endpoints.map((endpoint) => endpoint.currentChainId()))
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** Returns the first result. Only routes call this method; the methods of Route document its errors. */
  async ask<T>(
    order: readonly number[],
    send: (client: RpcClient) => Promise<T>,
    methods: readonly string[],
    { splittable, rounds = Infinity, once, required }: CallOptions = {},
  ): Promise<Answered<T>> {
    const method = methods[0]!
    const asked = new Set<Endpoint>()
    const excluded = new Set<Endpoint>()
    let refusal: Error | undefined
    for (let attempt = 1; ; attempt++) {
      this.options.signal?.throwIfAborted()
      // The caller decides about a retry: the endpoint that refused may accept the call a moment later.
      if (refusal && this.inOrder(order).every((endpoint) => asked.has(endpoint))) throw refusal
      const endpoint = once
        ? this.inOrder(order).find((candidate) => !excluded.has(candidate))
        : await this.next(order, excluded)
      if (!endpoint) throw refusal ?? this.noEndpoint()
      asked.add(endpoint)
      const askedAt = this.clock.now()
      const outcome = await endpoint.ask(send, methods)
      if ('answer' in outcome) {
        if (!required || (outcome.answer !== null && outcome.answer !== undefined))
          return answered(endpoint, method, outcome.answer)
        excluded.add(endpoint)
        refusal = new Error(`${method} has no result`)
      } else if ('refusal' in outcome) {
        // This endpoint is healthy but refuses. Another one may prune less or have a higher limit.
        if (splittable && isTooMuch(outcome.refusal)) throw outcome.refusal
        excluded.add(endpoint)
        refusal = outcome.refusal
      } else if ('failure' in outcome) {
        if (splittable && isHttpTooMuch(outcome.failure)) throw outcome.failure
        if (once) {
          excluded.add(endpoint)
          // A refusal says more about the call than the failure of another endpoint.
          refusal ??= outcome.failure
          continue
        }
        this.rest(endpoint, askedAt, method, outcome.failure)
        if (attempt >= rounds * this.endpoints.length) throw outcome.failure
      }
    }
  }

  /**
   * Results or refusals of each healthy endpoint on this chain. If there are none, those of the paused ones:
   * a call that always times out pauses an endpoint that answers all others. Throws a SettingsError if the
   * only endpoint is on another chain.
   */
  async *each<T>(order: readonly number[], calls: readonly RpcCall[]): AsyncGenerator<Opinion<T[]>> {
    const methods = calls.map(({ method }) => method)
    const method = methods[0]!
    const all = this.inOrder(order)
    const now = this.clock.now()
    const healthy = all.filter(({ restsUntil }) => restsUntil <= now)
    let hasOpinion = false
    for (const group of [healthy, all.filter((each) => !healthy.includes(each))]) {
      for (const endpoint of group) {
        const askedAt = this.clock.now()
        const outcome = await endpoint.ask((client) => client.batchCall<T>([...calls]), methods)
        hasOpinion ||= 'answer' in outcome || 'refusal' in outcome
        if ('answer' in outcome) yield answered(endpoint, method, outcome.answer)
        else if ('refusal' in outcome) yield outcome
        else if ('failure' in outcome) this.rest(endpoint, askedAt, method, outcome.failure)
        else if (this.endpoints.length === 1) throw this.noEndpoint()
      }
      if (hasOpinion) return
    }
  }

  private rest(endpoint: Endpoint, askedAt: number, method: string, failure: Error): void {
    const now = this.clock.now()
    const others = this.endpoints.filter((each) => each !== endpoint && each.wrongChainId === undefined)
    endpoint.rest(
      askedAt,
      method,
      failure,
      others.some(({ restsUntil }) => restsUntil <= now),
    )
  }

  /** Endpoints that are not known to be on another chain, the trusted ones first. */
  private inOrder(order: readonly number[]): Endpoint[] {
    const all = order.map((i) => this.endpoints[i]!).filter(({ wrongChainId }) => wrongChainId === undefined)
    return [...all.filter(({ isTrusted }) => isTrusted), ...all.filter(({ isTrusted }) => !isTrusted)]
  }

  /** Index of the endpoint that the next call queries first. */
  firstOf(order: readonly number[]): number {
    const now = this.clock.now()
    const all = this.inOrder(order)
    const first = all.find(({ restsUntil }) => restsUntil <= now) ?? all[0]
    return first ? this.endpoints.indexOf(first) : order[0]!
  }

  /** First healthy endpoint; if all are paused, the first whose pause ends. Undefined if all are excluded. */
  private async next(
    order: readonly number[],
    excluded: ReadonlySet<Endpoint>,
  ): Promise<Endpoint | undefined> {
    const candidates = this.inOrder(order).filter((endpoint) => !excluded.has(endpoint))
    if (candidates.length === 0) return undefined
    const now = this.clock.now()
    const well = candidates.find((endpoint) => endpoint.restsUntil <= now)
    if (well) return well
    const soonest = candidates.reduce((a, b) => (b.restsUntil < a.restsUntil ? b : a))
    await this.clock.pause(soonest.restsUntil - now, this.options.signal)
    return soonest
  }

  private noEndpoint(): SettingsError {
    const { chain } = this.options
    const [{ host, wrongChainId }] = this.endpoints as [Endpoint]
    return new SettingsError(
      this.endpoints.length === 1 && wrongChainId !== undefined
        ? wrongChain(host, chain, wrongChainId)
        : `No RPC endpoint of ${chain.slug} is on chain ${chain.id}. Correct its RPC_URL_*.`,
    )
  }
}

/** Order in which one reader queries the endpoints. A reader that cannot use a result calls `turn`. */
export class Route {
  /** @param order indices of the endpoints, in the order in which they are queried */
  constructor(
    private readonly rpc: Rpc,
    private order: readonly number[],
  ) {}

  /** Moves the first endpoint to the end. */
  turn(): void {
    const [first, ...others] = this.order
    this.order = [...others, first!]
  }

  /** Index of the endpoint that the next call queries first, for what a caller learns about endpoints. */
  get first(): number {
    return this.rpc.firstOf(this.order)
  }

  /** Route in the opposite order, for a second opinion from another endpoint. */
  get opposite(): Route {
    return new Route(this.rpc, this.order.toReversed())
  }

  /** Routes for repeated queries, each turned once more than the previous one, and their numbers from 0. */
  *turning(times: number): Generator<[attempt: number, route: Route]> {
    const route = new Route(this.rpc, this.order)
    for (let i = 0; i < times; i++, route.turn()) yield [i, route]
  }

  /**
   * Result of one call. If no endpoint has one, throws the RpcError of one that refuses the call, or a
   * SettingsError if none is on the chain; other errors only after `rounds`, or with `once`.
   */
  async call<T>(method: string, params: unknown[] = [], options?: CallOptions): Promise<T> {
    const send = (client: RpcClient) => client.call<T>(method, params)
    return (await this.rpc.ask(this.order, send, [method], options)).answer
  }

  /** Results of calls, in order, from one endpoint in few HTTP requests. Throws like `call`. */
  async batchCall<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<T[]> {
    return (await this.batch<T>(calls, options)).answer
  }

  /** Like `batchCall`, for callers that can detect results that cannot be true. */
  batch<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<Answered<T[]>> {
    if (calls.length === 0) return Promise.resolve({ answer: [], distrust: () => {} })
    const methods = calls.map(({ method }) => method)
    const send = (client: RpcClient) =>
      options?.singly
        ? Promise.all(calls.map(({ method, params }) => client.call<T>(method, params)))
        : client.batchCall<T>([...calls])
    return this.rpc.ask(this.order, send, methods, options)
  }

  /** Results of each endpoint, to compare them. Those that fail or are on another chain are left out. */
  each<T>(calls: readonly RpcCall[]): AsyncGenerator<Opinion<T[]>> {
    return this.rpc.each<T>(this.order, calls)
  }
}

/** A number in JSON-RPC's form. */
export function hexNumber(value: number): string {
  return `0x${value.toString(16)}`
}

function answered<T>(endpoint: Endpoint, method: string, answer: T): Answered<T> {
  return { answer, distrust: (reason) => endpoint.distrust(method, reason) }
}
