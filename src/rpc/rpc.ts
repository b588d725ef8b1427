import type { RpcClient, RpcError } from '@subsquid/rpc-client'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { Endpoint, wrongChain, type CallCounts, type EndpointOptions } from './endpoint'
import { isHttpTooMuch, isTooMuch } from './refusals'

export interface RpcOptions extends EndpointOptions {
  /** JSON-RPC endpoints in order of preference, at least one. */
  urls: readonly string[]
  /** When it aborts, no call is tried again: those that wait for an endpoint reject. */
  signal?: AbortSignal
}

export interface RpcCall {
  method: string
  params: unknown[]
}

export interface CallOptions {
  /** The caller can ask for less: a refusal of the call's size is thrown at once, without asking others. */
  splittable?: boolean
  /** Gives up after this many failures times the number of endpoints; never by default. */
  rounds?: number
  /**
   * Ask each endpoint once at most, in the order of preference whatever other calls met, and wait for none.
   * An endpoint that failed one call stays the first for the next: a less preferred one may be some blocks
   * behind.
   */
  once?: boolean
  /** Null is no answer: the next endpoint is asked. */
  required?: boolean
}

/** An answer, and how to report that it cannot be true: its endpoint is then asked last for a while. */
export interface Answered<T> {
  answer: T
  distrust: (reason: string) => void
}

/** The answer of one endpoint, or its refusal. */
export type Opinion<T> = Answered<T> | { refusal: RpcError }

/** An EAS contract must be missing this often before it is believed: a node that syncs has no code yet. */
const CODE_ATTEMPTS = 4
const CODE_PAUSE_MS = 500

/**
 * The JSON-RPC endpoints of one chain, used as one that does not fail. A call goes to the first endpoint that
 * is well; when that one does not answer, answers an HTTP error or nonsense, to the next; and round again,
 * with longer and longer rests, until there is an answer. No answer of an endpoint is used before it has
 * shown that it is of the right chain.
 */
export class Rpc {
  private readonly endpoints: readonly Endpoint[]
  private readonly clock: Clock

  constructor(private readonly options: RpcOptions) {
    this.clock = options.clock ?? MONOTONIC
    this.endpoints = options.urls.map((url) => new Endpoint(url, options))
  }

  /** How many calls of each method ended how at each endpoint, since the start. */
  *counts(): Generator<{ chain: string; endpoint: string; method: string; counts: CallCounts }> {
    for (const { host, calls } of this.endpoints)
      for (const [method, counts] of calls)
        yield { chain: this.options.chain.slug, endpoint: host, method, counts }
  }

  /** Closes the connections: calls under way reject. */
  close(): void {
    for (const endpoint of this.endpoints) endpoint.close()
  }

  /** How many endpoints there are. */
  get size(): number {
    return this.endpoints.length
  }

  /** A way of asking the endpoints: in their order of preference, or the least preferred one first. */
  route(start: 'preferred' | 'last' = 'preferred'): Route {
    return new Route(this, start === 'last')
  }

  /** True if an endpoint has the EAS contract. Throws a SettingsError if no endpoint is of this chain. */
  async hasContract(): Promise<boolean> {
    for (const [attempt, route] of this.route().alternating(CODE_ATTEMPTS)) {
      if (attempt > 0) await this.clock.pause(CODE_PAUSE_MS)
      if ((await route.call<string>('eth_getCode', [this.options.chain.eas, 'latest'])) !== '0x') return true
    }
    return false
  }

  /** Throws a SettingsError if no endpoint is of this chain, or none has EAS. Waits for an answer. */
  async check(): Promise<void> {
    const { chain } = this.options
    if (await this.hasContract()) return
    throw new SettingsError(`There is no EAS contract at ${chain.eas} on the RPC endpoint of ${chain.slug}`)
  }

  /** The chain ids of all endpoints that answer now. */
  async chainIds(): Promise<number[]> {
    const answers = await Promise.allSettled(this.endpoints.map((endpoint) => endpoint.readChainId()))
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** The first answer. For routes only; their methods say what it throws. */
  async ask<T>(
    reversed: boolean,
    send: (client: RpcClient) => Promise<T>,
    methods: readonly string[],
    { splittable, rounds = Infinity, once, required }: CallOptions = {},
  ): Promise<Answered<T>> {
    const method = methods[0]!
    const excluded = new Set<Endpoint>()
    let refusal: Error | undefined
    for (let attempt = 1; ; attempt++) {
      this.options.signal?.throwIfAborted()
      const endpoint = once
        ? this.inOrder(reversed).find((candidate) => !excluded.has(candidate))
        : await this.next(reversed, excluded)
      if (!endpoint) throw refusal ?? this.noEndpoint()
      const askedAt = this.clock.now()
      const outcome = await endpoint.ask(send, methods)
      if ('answer' in outcome) {
        if (!required || (outcome.answer !== null && outcome.answer !== undefined))
          return answered(endpoint, method, outcome.answer)
        excluded.add(endpoint)
        refusal = new Error(`${method} has no result`)
      } else if ('refusal' in outcome) {
        // This node is well but will not answer. Another one may: it prunes less, or has a higher limit.
        if (splittable && isTooMuch(outcome.refusal)) throw outcome.refusal
        excluded.add(endpoint)
        refusal = outcome.refusal
      } else if ('failure' in outcome) {
        if (splittable && isHttpTooMuch(outcome.failure)) throw outcome.failure
        if (once) {
          excluded.add(endpoint)
          refusal = outcome.failure
          continue
        }
        endpoint.rest(askedAt, method, outcome.failure)
        if (attempt >= rounds * this.endpoints.length) throw outcome.failure
      }
    }
  }

  /**
   * The answer or refusal of each endpoint that is well and of this chain. For routes only. Throws a
   * SettingsError when the only endpoint is of another chain.
   */
  async *each<T>(reversed: boolean, calls: readonly RpcCall[]): AsyncGenerator<Opinion<T[]>> {
    const methods = calls.map(({ method }) => method)
    const method = methods[0]!
    for (const endpoint of this.inOrder(reversed)) {
      const askedAt = this.clock.now()
      if (endpoint.restsUntil > askedAt) continue
      const outcome = await endpoint.ask((client) => client.batchCall<T>([...calls]), methods)
      if ('answer' in outcome) yield answered(endpoint, method, outcome.answer)
      else if ('refusal' in outcome) yield outcome
      else if ('failure' in outcome) endpoint.rest(askedAt, method, outcome.failure)
      else if (this.endpoints.length === 1) throw this.noEndpoint()
    }
  }

  /** The endpoints that are not known to be of another chain, the trusted ones first. */
  private inOrder(reversed: boolean): Endpoint[] {
    const all = this.endpoints.filter((endpoint) => endpoint.wrongChainId === undefined)
    if (reversed) all.reverse()
    return [...all.filter(({ isTrusted }) => isTrusted), ...all.filter(({ isTrusted }) => !isTrusted)]
  }

  /**
   * The first endpoint that is well; when all rest, the one whose rest ends first, at its end; undefined when
   * none is left.
   */
  private async next(reversed: boolean, excluded: ReadonlySet<Endpoint>): Promise<Endpoint | undefined> {
    const candidates = this.inOrder(reversed).filter((endpoint) => !excluded.has(endpoint))
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
        : `No RPC endpoint of ${chain.slug} is on chain ${chain.id}`,
    )
  }
}

/**
 * One reader's way of asking the endpoints. It starts at one end of the list and goes on to the others when
 * endpoints fail; a reader that cannot use an answer turns it round, so that another endpoint comes first.
 */
export class Route {
  constructor(
    private readonly rpc: Rpc,
    private reversed: boolean,
  ) {}

  /** From now on the endpoints are asked in the opposite order. */
  turn(): void {
    this.reversed = !this.reversed
  }

  /** A route in the opposite order, for a second opinion. */
  get opposite(): Route {
    return new Route(this.rpc, !this.reversed)
  }

  /**
   * Routes in this order and the opposite one by turns, for questions that are asked again; each with its
   * number, from 0.
   */
  *alternating(times: number): Generator<[attempt: number, route: Route]> {
    const { reversed } = this
    for (let i = 0; i < times; i++) yield [i, new Route(this.rpc, reversed !== (i % 2 === 1))]
  }

  /**
   * The result of one call. Throws an RpcError when every endpoint refuses it; a SettingsError when none is
   * of the chain; other errors only after `rounds`, or with `once`.
   */
  async call<T>(method: string, params: unknown[] = [], options?: CallOptions): Promise<T> {
    const send = (client: RpcClient) => client.call<T>(method, params)
    return (await this.rpc.ask(this.reversed, send, [method], options)).answer
  }

  /**
   * The results of calls, in order, from one endpoint in as few HTTP requests as it allows. Throws as `call`.
   */
  async batchCall<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<T[]> {
    return (await this.batch<T>(calls, options)).answer
  }

  /** As batchCall, for callers that can tell whether the answers may be true. */
  batch<T>(calls: readonly RpcCall[], options?: CallOptions): Promise<Answered<T[]>> {
    if (calls.length === 0) return Promise.resolve({ answer: [], distrust: () => {} })
    const methods = calls.map(({ method }) => method)
    return this.rpc.ask(this.reversed, (client) => client.batchCall<T>([...calls]), methods, options)
  }

  /**
   * What each endpoint answers to these calls, each asked once: for answers that must agree. Endpoints that
   * rest, fail or are of another chain are left out, so there may be none.
   */
  each<T>(calls: readonly RpcCall[]): AsyncGenerator<Opinion<T[]>> {
    return this.rpc.each<T>(this.reversed, calls)
  }
}

/** A number as JSON-RPC writes it. */
export function hexNumber(value: number): string {
  return `0x${value.toString(16)}`
}

function answered<T>(endpoint: Endpoint, method: string, answer: T): Answered<T> {
  return { answer, distrust: (reason) => endpoint.distrust(method, reason) }
}
