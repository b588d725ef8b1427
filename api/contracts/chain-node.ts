import type { Interface } from 'ethers/abi'
import { toQuantity } from 'ethers/utils'
import { isLoopback, type ConnectedChain } from '../../src/config'
import { isBatchRefused, isRevert, Rpc, type Route, type RpcCall } from '../../src/rpc'
import { UnavailableError, ownShareUsed } from '../http/problems'
import { Semaphore } from '../http/semaphore'
import { SharedRead } from '../http/shared'
import { OWN_WORK, type Work } from '../http/work'

/** A block more than this many seconds in the future means that the clock of this service is slow. */
const SKEW_SECONDS = 60
export interface Block {
  number: number
  /** Unix seconds */
  time: number
}

/** The RPC endpoint is on another chain. */
export class OtherChainError extends UnavailableError {
  constructor(
    slug: string,
    /** id of the chain that the endpoint is on */
    readonly chainId: number,
  ) {
    super(`The RPC endpoint of ${slug} is on chain ${chainId}.`)
  }
}

/** The RPC endpoint answers, but there is no contract at the address. */
export class NoContractError extends UnavailableError {}

/** The contract has no such function: it reverts, or returns something else. */
export class NoAnswerError extends UnavailableError {}

/** Time limit of a call to an RPC endpoint, in milliseconds. */
const CALL_TIMEOUT_MS = 5_000
/** Maximum numbers of concurrent and waiting calls, in all and per client. Own calls may use all slots. */
const CALLS = {
  all: 64,
  each: (client: string) => (client === OWN_WORK.client ? 64 : 16),
  waiting: 1_000,
  waitingEach: 200,
  waitMs: CALL_TIMEOUT_MS,
}
/** Maximum age in milliseconds of a shared number of a final block. */
const FINAL_SHARED_MS = 2_000
/** Maximum age in milliseconds of a shared chain ID and kind of node. */
const KIND_SHARED_MS = 60_000
export interface Reading {
  /** True for a call that every answer of the API needs. Such a call does not wait for a slot. */
  essential?: boolean
  /** True if the response must not be older than the call, and is not shared. */
  unshared?: boolean
  /** Block whose state is read; default: the latest. */
  block?: string
}
export const ESSENTIAL: Reading = { essential: true }
/** Maximum number of calls of EAS per request to an RPC endpoint: those of two full batches. */
export const CALLS_AT_ONCE = 80

/**
 * RPC endpoints of one chain. Equal calls are shared, and limited in time and number. All methods throw an
 * UnavailableError if no endpoint answers.
 */
export class ChainNode {
  private readonly inFlight = new Map<string, Promise<unknown>>()
  readonly rpc: Rpc
  protected readonly route: Route
  private readonly finalNumbers = new SharedRead(async () => {
    const [finalized, last] = await Promise.all([
      this.block('finalized').catch(() => undefined),
      this.block('latest'),
    ])
    const counted = Math.max(0, last.number - this.connected.chain.finality)
    // The node may lack the state of the first one if it stores only the newest states.
    return finalized ? [finalized.number, counted] : [counted]
  }, FINAL_SHARED_MS)
  private readonly developmentNode = new SharedRead(async () => {
    const version = (await this.request('web3_clientVersion', [], ESSENTIAL)) as string
    return /^(anvil|hardhat)/i.test(version)
  }, KIND_SHARED_MS)
  private lastLocal = false
  private readonly slots: Semaphore
  /** Work that the calls belong to. */
  readonly work: Work = OWN_WORK
  protected readonly isOnThisMachine: boolean
  /** The node from which this one was derived by `of`, or itself. Shared reads and results belong to it. */
  protected readonly shared: this = this

  /** @param batchSize calls in one HTTP request */
  constructor(
    readonly connected: ConnectedChain,
    protected readonly clock: () => number,
    protected readonly batchSize = CALLS_AT_ONCE + 1,
  ) {
    this.rpc = new Rpc({
      chain: connected.chain,
      urls: connected.rpcUrls,
      batchSize,
      concurrency: 1_000, // calls are limited by CALLS instead
      timeoutMs: CALL_TIMEOUT_MS,
      chainIdValidMs: KIND_SHARED_MS,
    })
    this.route = this.rpc.route()
    this.isOnThisMachine = connected.rpcUrls.every(isLoopback)
    this.slots = new Semaphore(CALLS, tooManyCalls(`the RPC endpoint of ${connected.chain.slug}`))
  }

  /** Returns this node for the work of a request: its calls use the share of the client. */
  of(work: Work): this {
    return Object.assign(Object.create(this) as this, { work })
  }

  close(): void {
    this.rpc.close()
  }

  /**
   * True for a development node on this machine, which makes blocks on demand; false if it does not answer.
   */
  async isLocal(): Promise<boolean> {
    if (!this.isOnThisMachine) return false
    return (this.shared.lastLocal = await this.developmentNode.get().catch(() => false))
  }

  /** Result of the last `isLocal`, without waiting for the node. */
  get wasLocal(): boolean {
    void this.isLocal()
    return this.lastLocal
  }

  /** Reads the block with this number, the present head, or the last block that is final by consensus. */
  async block(which: number | 'latest' | 'finalized'): Promise<Block> {
    const latest = which === 'latest'
    const name = typeof which === 'number' ? toQuantity(which) : which
    const block = await this.request('eth_getBlockByNumber', [name, false], {
      essential: latest,
      unshared: latest,
    })
    const { number, timestamp } = block as { number: string; timestamp: string }
    return { number: Number(number), time: Number(timestamp) }
  }

  /** Returns the chain id of the endpoints: that of this chain if any of them reports it. */
  async chainId(): Promise<number> {
    const { chain } = this.connected
    const ids = await this.rpc.chainIds()
    if (ids.length === 0) throw this.noAnswer()
    return ids.find((id) => id === chain.id) ?? ids[0]!
  }

  /** Returns the result of an eth_call at the latest block of one endpoint. */
  async callAtHead(call: object, maxAgeSeconds: number): Promise<unknown> {
    const [block, answer] = await this.limited(() => this.sendAtHead([call]))
    await this.requireFresh(timeOf(block), maxAgeSeconds)
    return answer
  }

  /**
   * Returns the latest block of an endpoint, in the form of JSON-RPC, and the results of these calls of
   * eth_call, all from one endpoint: another one may lag. The block is read first, so that the state is at
   * least as new. Calls that cannot be one batch are sent at that block, because an endpoint may consist of
   * several nodes.
   */
  protected async sendAtHead(calls: readonly object[]): Promise<[block: unknown, ...results: unknown[]]> {
    const latest = ['latest', false]
    const answers = await this.sendTogether([
      { method: 'eth_getBlockByNumber', params: latest },
      ...calls.map((call) => ({ method: 'eth_call', params: [call, 'latest'] })),
    ])
    if (answers) return answers as [unknown, ...unknown[]]
    const block = (await this.send('eth_getBlockByNumber', latest)) as { number: string }
    return [block, ...(await Promise.all(calls.map((call) => this.send('eth_call', [call, block.number]))))]
  }

  /** Sends calls to one endpoint, one by one if it does not accept them as one batch. */
  protected async sendToOne(calls: readonly RpcCall[]): Promise<unknown[]> {
    const answers = await this.sendTogether(calls)
    if (answers) return answers
    return this.route.batchCall(calls, { once: true, singly: true }).catch((cause: unknown) => {
      throw this.noAnswer(cause)
    })
  }

  /** Sends calls as one batch to one endpoint; undefined if it must be split or is refused as a batch. */
  private async sendTogether(calls: readonly RpcCall[]): Promise<unknown[] | undefined> {
    if (calls.length > this.batchSize) return undefined
    try {
      return await this.route.batchCall(calls, { once: true })
    } catch (cause) {
      // A call that reverts would revert by itself as well.
      if (isRevert(cause) || !isBatchRefused(cause as Error)) throw this.noAnswer(cause)
      return undefined
    }
  }

  /** Throws if the head (Unix seconds) is older than this or in the future. Local chains are exempt. */
  protected async requireFresh(headTime: number, maxAgeSeconds: number): Promise<void> {
    if (maxAgeSeconds === Infinity || (await this.isLocal())) return
    const age = Math.round(this.clock() / 1000 - headTime)
    const { slug } = this.connected.chain
    if (Number.isNaN(age)) throw this.noAnswerOf('eth_getBlockByNumber', 'no latest block')
    if (age > maxAgeSeconds)
      throw new UnavailableError(`The newest block at the RPC endpoint of ${slug} is ${age} seconds old.`)
    if (age < -SKEW_SECONDS)
      throw new UnavailableError(
        `The newest block of ${slug} is ${-age} seconds in the future: the clock of this service is slow.`,
      )
  }

  /**
   * Returns the numbers of blocks that no reorg undoes, the safest first; at most FINAL_SHARED_MS old. They
   * are the block that is final by consensus, if the node names it, and the indexer's final block.
   */
  finalBlocks(): Promise<readonly number[]> {
    return this.finalNumbers.get()
  }

  protected async call(
    to: string,
    abi: Interface,
    name: string,
    parameters: unknown[],
    how?: Reading,
  ): Promise<unknown> {
    return this.decode(abi, name, await this.ask(to, name, abi.encodeFunctionData(name, parameters), how))
  }

  protected decode(abi: Interface, name: string, answer: string): unknown {
    try {
      return abi.decodeFunctionResult(name, answer)[0] as unknown
    } catch (error) {
      throw this.noAnswerOf(name, error)
    }
  }

  protected async ask(to: string, name: string, data: string, how?: Reading): Promise<string> {
    const answer = await this.request('eth_call', [{ to, data }, how?.block ?? 'latest'], how).catch(
      (error: UnavailableError) => {
        throw isRevert(error.cause) ? this.noAnswerOf(name, error.cause) : error
      },
    )
    if (answer === '0x')
      throw new NoContractError(
        `The RPC endpoint of ${this.connected.chain.slug} finds no contract at ${to}.`,
      )
    if (typeof answer !== 'string') throw this.noAnswerOf(name, 'the returned value is not a string')
    return answer
  }

  /** Sends a call. Equal calls under way are shared, unless `unshared`. */
  request(method: string, parameters: unknown[], { essential, unshared }: Reading = {}): Promise<unknown> {
    const send = () => this.send(method, parameters)
    if (unshared) return essential ? send() : this.limited(send)
    const key = JSON.stringify({ method, params: parameters })
    const underWay = () => this.inFlight.get(key)
    const shared = () => {
      const call = send().finally(() => this.inFlight.delete(key))
      this.inFlight.set(key, call)
      return call
    }
    return underWay() ?? (essential ? shared() : this.limited(shared, underWay))
  }

  /** Sends in the client's turn. @param underWay equal call that was sent in the meantime */
  protected async limited<T>(
    send: () => Promise<T>,
    underWay: () => Promise<T> | undefined = () => undefined,
  ): Promise<T> {
    const { client, signal } = this.work
    signal.throwIfAborted()
    const free = this.slots.tryAcquire(client)
    const release = free ?? (await this.slots.acquire(client, this.work))
    try {
      return await ((free ? undefined : underWay()) ?? send())
    } finally {
      release()
    }
  }

  /** Calls each endpoint at most once, because a client waits for the answer. */
  protected async send(method: string, parameters: unknown[]): Promise<unknown> {
    try {
      return await this.route.call(method, parameters, { once: true, required: true })
    } catch (cause) {
      throw this.noAnswer(cause)
    }
  }

  protected noAnswerOf(name: string, cause: unknown): NoAnswerError {
    return new NoAnswerError(`The RPC endpoint of ${this.connected.chain.slug} could not call ${name}().`, {
      cause,
    })
  }

  protected noAnswer(cause?: unknown): UnavailableError {
    return new UnavailableError(`The RPC endpoint of ${this.connected.chain.slug} does not respond.`, {
      cause,
    })
  }
}

/** Returns the Unix seconds of a block in the form of JSON-RPC; NaN for anything else. */
export function timeOf(block: unknown): number {
  return Number((block as { timestamp?: string } | null)?.timestamp)
}

/** Returns a factory of refusals: 429 for the client's own limit, otherwise an UnavailableError. */
export function tooManyCalls(what: string): (isOwn: boolean) => Error {
  return (isOwn) =>
    isOwn
      ? ownShareUsed(`Too many of your calls to ${what} are queued. Retry after they have finished.`)
      : new UnavailableError(`Too many calls to ${what} are queued.`)
}
