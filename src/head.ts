import type { Logger } from '@subsquid/logger'
import { headerByHash, type BlockReader, type CheckedHeader, type Standing } from './blocks'
import type { Doubt } from './doubt'
import { headerCall, type RpcHeader, type RpcLog } from './history'
import type { RpcCall } from './rpc'

/** A bloom filter that holds nothing: evm-processor doubts an empty answer unless the header says so itself. */
const NO_LOGS_BLOOM = `0x${'0'.repeat(512)}`
/** More than any chain's finality: evm-processor asks for no block below that. */
const BLOCKS_REMEMBERED = 1_000
/** So often the chain's latest block must lie far below the tip, which nobody has, before the tip is given up. */
const LOOKS_BELOW_TIP = 5
/** A head further ahead than this is gone to at once, when two looks say so; what lies between is read when it is asked for. */
const LONGEST_STEP = 100
/** So many heads far ahead are remembered: two of each of two endpoints, of which one may have stopped. */
const AHEAD_REMEMBERED = 4
/** With no new block for so long, the endpoint may have stopped: the other one is asked in turn with it. */
const STALLED_MS = 15_000
/** While evm-processor asks for no head, as in history, the blocks of the head are not read. */
const FOLLOWED_FOR_MS = 60_000
/** How long a block that cannot be had right is asked for again before evm-processor hears of it. */
const HELD_MS = 3_000
const AGAIN_AFTER_MS = 200
/** evm-processor pauses longer each time that it gets no answer, up to 20 s: it gets the head as last known before. */
const HEAD_PATIENCE_MS = 10_000

/** A block near the head, with our logs of it. */
export interface HeadBlock {
  readonly header: RpcHeader
  readonly logs: RpcLog[]
  standing: Standing
}

/** The head as a node says it: timestamp in Unix seconds, and when it was asked, in Unix milliseconds. */
export interface Head {
  number: number
  timestamp: number
  askedAt: number
}

/**
 * The head of a chain as evm-processor reads it, made certain. One call, for the latest block, follows the chain: a block
 * is taken once it is linked to those before it by their hashes and its logs are known (blocks.ts), and only then is the
 * head said to be there. So what evm-processor asks for is answered from memory, and whatever a node answers meanwhile
 * (another block than asked for, a false header, logs left out) it never sees. After a reorg the new blocks are read back
 * by their parents' hashes to the one that both forks have.
 */
export class HeadReader {
  /** The chain as it is followed, without gaps, and below it what was asked for. */
  private readonly byNumber = new Map<number, HeadBlock>()
  /** The same and those of other forks, oldest first. */
  private readonly byHash = new Map<string, HeadBlock>()
  private tip: HeadBlock | undefined
  /** Heads far ahead that looks have named since the chain was last followed from its tip. */
  private ahead: number[] = []
  /** When a block was last taken, in Unix milliseconds. */
  private takenAt = -Infinity
  private looksBelowTip = 0
  private seen: Head | undefined
  private looking: Promise<void> | undefined
  private askedForAt = -Infinity
  /** Whether the endpoint that is asked last otherwise is asked first: after a failure. */
  private second = false

  constructor(
    private readonly blocks: BlockReader,
    private readonly doubt: Doubt,
    private readonly log: Logger,
    /** How old the head may be that is answered, in milliseconds. */
    private readonly pollMs: number,
    /** Told when the tip that was given away is no block of the chain: evm-processor must begin anew. */
    private readonly onFalseTip: (error: Error) => void,
    private readonly clock: () => number = Date.now,
  ) {}

  /** Answers to JSON-RPC calls, in order: eth_blockNumber, eth_getBlockByNumber, eth_getBlockByHash, eth_getLogs by numbers. */
  async answer(calls: readonly RpcCall[]): Promise<unknown[]> {
    const blocks = await this.readHeld(
      calls.filter(({ method }) => method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash'),
    )
    return Promise.all(
      calls.map(async (call) => {
        const block = blocks.get(call)
        if (block !== undefined)
          return (
            block && {
              ...block.header,
              logsBloom: block.logs.length ? block.header.logsBloom : NO_LOGS_BLOOM,
            }
          )
        if (call.method === 'eth_blockNumber') return (await this.height()).header.number
        if (call.method === 'eth_getLogs')
          return this.logsOf(call.params[0] as { fromBlock: string; toBlock: string })
        throw new TypeError(`${call.method} is not answered here`)
      }),
    )
  }

  /** The latest block that a node has named, asked for again when the answer is older than `maxAgeMs`. Throws when none has been. */
  async latest(maxAgeMs: number): Promise<Head> {
    if (!this.seen || this.clock() - this.seen.askedAt > maxAgeMs) await this.look()
    if (!this.seen) throw new Error('the node has no latest block')
    return this.seen
  }

  /** The block of this number, if the chain as it is followed has it in memory. */
  known(number: number): HeadBlock | undefined {
    return this.byNumber.get(number)
  }

  /** The audit has proven these blocks. */
  settled(from: number, to: number): void {
    for (let number = from; number <= to; number++) {
      const block = this.byNumber.get(number)
      if (block) block.standing = 'proven'
    }
    this.countUnproven()
  }

  /** The last block of the chain as it is followed. Waits for long for the first one only. */
  private async height(): Promise<HeadBlock> {
    this.askedForAt = this.clock()
    const isNew = this.seen && this.clock() - this.seen.askedAt < this.pollMs / 2
    const isTaken = this.tip && this.seen && Number(this.tip.header.number) >= this.seen.number
    const look = () => this.look().catch((error: Error) => this.troubled(error))
    if (!isNew || !isTaken) await Promise.race([look(), pause(HEAD_PATIENCE_MS)])
    for (; !this.tip; await pause(AGAIN_AFTER_MS)) await look()
    return this.tip
  }

  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => (this.looking = undefined))
    return this.looking
  }

  private async lookOnce(): Promise<void> {
    const askedAt = this.clock()
    const [latest] = await this.blocks.headers(
      [{ method: 'eth_getBlockByNumber', params: ['latest', false] }],
      { second: this.second },
    )
    if (!latest) {
      this.second = !this.second
      return
    }
    const number = Number(latest.header.number)
    const height = this.tip && Number(this.tip.header.number)
    // A node that lags, or another fork that is no longer yet, says nothing new.
    const isNews = height === undefined || number > height
    const highest = isNews ? latest.header : this.tip!.header
    this.seen = { number: Number(highest.number), timestamp: Number(highest.timestamp), askedAt }
    const isStalled = askedAt - this.takenAt > STALLED_MS
    if (!isNews && (isStalled || number <= height - LONGEST_STEP)) this.second = !this.second
    await this.doubtTip(number)
    if (!isNews || this.clock() - this.askedForAt > FOLLOWED_FOR_MS) return
    const isFar = height === undefined || number - height > LONGEST_STEP
    const path = isFar ? await this.leap(latest) : await this.steps(height, latest)
    const read = await Promise.all(path.map((each) => this.complete(each)))
    const lacking = read.findIndex((block) => !block)
    const taken = (lacking < 0 ? read : read.slice(0, lacking)) as HeadBlock[]
    // What one could not give, or bear out, is asked of the other.
    if (taken.length < path.length || path.length === 0) this.second = !this.second
    for (const block of taken) this.take(block)
  }

  /** The head alone, where its parent bears it out. */
  private async leap(latest: CheckedHeader): Promise<CheckedHeader[]> {
    const { number, parentHash } = latest.header
    const [parent] = await this.blocks.headers([headerByHash(parentHash)], { second: this.second })
    if (!parent || Number(parent.header.number) !== Number(number) - 1) {
      this.doubt.contradicted(`the latest block ${Number(number)} has no parent ${parentHash}`)
      return []
    }
    // One answer may be of another network: a second look, at the other endpoint first, must name a block close to it.
    if (!this.ahead.some((before) => Math.abs(Number(number) - before) <= LONGEST_STEP)) {
      this.ahead = [...this.ahead, Number(number)].slice(-AHEAD_REMEMBERED)
      return []
    }
    this.ahead = []
    this.byNumber.clear()
    return [latest]
  }

  /** A tip that the chain stays far below, and that no endpoint has, was false: what followed from it is given up. */
  private async doubtTip(latest: number): Promise<void> {
    if (!this.tip || latest > Number(this.tip.header.number) - LONGEST_STEP) {
      this.looksBelowTip = 0
      return
    }
    if (++this.looksBelowTip < LOOKS_BELOW_TIP) return
    const { number, hash } = this.tip.header
    const [still] = await this.blocks.headers([headerByHash(hash)], { second: this.second })
    if (still) return
    const reason = `block ${Number(number)}, which was named as the latest, is none: the latest is ${latest}`
    this.doubt.contradicted(reason)
    this.onFalseTip(new Error(reason))
  }

  /** The blocks from the one after `height` to the latest, as far as they are linked; before them, where they are of another fork, those back to the common one. */
  private async steps(height: number, latest: CheckedHeader): Promise<CheckedHeader[]> {
    this.ahead = []
    const numbers = Array.from(
      { length: Number(latest.header.number) - height - 1 },
      (_, i) => height + 1 + i,
    )
    const path: CheckedHeader[] = []
    for (const each of [
      ...(await this.blocks.headers(numbers.map(headerCall), { second: this.second })),
      latest,
    ]) {
      if (!each || (path.length && each.header.parentHash !== path[path.length - 1]!.header.hash)) break
      path.push(each)
    }
    while (path.length) {
      const { number, parentHash } = path[0]!.header
      const below = this.byNumber.get(Number(number) - 1)
      if (!below || below.header.hash === parentHash) break
      const [parent] = await this.blocks.headers([headerByHash(parentHash)], { second: this.second })
      if (!parent) {
        this.doubt.contradicted(`block ${Number(number)} has no parent ${parentHash}`)
        return []
      }
      path.unshift(parent)
    }
    return path
  }

  /** The block with its logs; null while they cannot be had, or are known to be false. */
  private async complete(checked: CheckedHeader): Promise<HeadBlock | null> {
    const known = this.byHash.get(checked.header.hash)
    if (known) return known
    const found = await this.blocks.logs(checked, { second: this.second })
    if (!found || (found.contradicted && found.standing === 'told')) {
      this.log.info(
        { block: Number(checked.header.number) },
        'the logs of a block could not be read for certain, it will be asked for again',
      )
      return null
    }
    const { number, hash, parentHash, timestamp, logsBloom } = checked.header
    // What evm-processor looks at, and no more: a block has hundreds of transactions.
    const header = {
      number,
      hash,
      parentHash,
      timestamp,
      ...(logsBloom !== undefined && { logsBloom }),
      transactions: [],
    }
    const block: HeadBlock = { header, logs: found.logs, standing: found.standing }
    this.byHash.set(hash, block)
    if (this.byHash.size > BLOCKS_REMEMBERED) this.forgetOldest()
    return block
  }

  /** The block is the last of the chain now. */
  private take(block: HeadBlock): void {
    const number = Number(block.header.number)
    for (let above = number + 1; this.byNumber.delete(above); above++);
    this.byNumber.set(number, block)
    this.tip = block
    this.takenAt = this.clock()
    this.countUnproven()
  }

  private forgetOldest(): void {
    const [hash, { header }] = this.byHash.entries().next().value!
    this.byHash.delete(hash)
    const number = Number(header.number)
    if (this.byNumber.get(number)?.header.hash === hash) this.byNumber.delete(number)
  }

  private countUnproven(): void {
    this.doubt.unprovenAtHead = [...this.byNumber.values()].filter(
      ({ standing }) => standing === 'told',
    ).length
  }

  /** Blocks by their numbers and hashes; those that cannot be had right are asked for again for a while. Null: there is none. */
  private async readHeld(calls: readonly RpcCall[]): Promise<Map<RpcCall, HeadBlock | null>> {
    const found = new Map<RpcCall, HeadBlock | null>()
    if (calls.length === 0) return found
    const until = this.clock() + HELD_MS
    for (let lacking = calls; ; await pause(AGAIN_AFTER_MS)) {
      const blocks = await Promise.race([
        this.readOnce(lacking).catch((error: Error) => this.troubled(error)),
        pause(HEAD_PATIENCE_MS),
      ])
      for (const call of lacking) found.set(call, blocks?.get(call) ?? null)
      const height = Number(this.tip?.header.number ?? Infinity)
      lacking = lacking.filter(
        (call) =>
          !found.get(call) && (call.method === 'eth_getBlockByHash' || Number(call.params[0]) <= height),
      )
      if (lacking.length === 0 || this.clock() > until) return found
    }
  }

  private async readOnce(calls: readonly RpcCall[]): Promise<Map<RpcCall, HeadBlock | null>> {
    const lacking = calls.filter((call) => !this.remembered(call))
    const headers = await this.blocks.headers(lacking, { second: this.second })
    const read = await Promise.all(
      headers.map((each) => (each ? this.complete(each) : Promise.resolve(null))),
    )
    if (read.includes(null)) this.second = !this.second
    const fresh = new Map(lacking.map((call, i) => [call, read[i]!]))
    const found = new Map<RpcCall, HeadBlock | null>()
    // From the last one down, as what is above says what is below.
    for (const call of [...calls].sort((a, b) => Number(b.params[0]) - Number(a.params[0]))) {
      let block = fresh.get(call) ?? this.remembered(call) ?? null
      if (call.method === 'eth_getBlockByNumber') {
        const number = Number(call.params[0])
        const above = this.byNumber.get(number + 1)
        if (block && above && above.header.parentHash !== block.header.hash) {
          const [parent] = await this.blocks.headers([headerByHash(above.header.parentHash)], {
            second: this.second,
          })
          block = parent ? await this.complete(parent) : null
        }
        // Above the tip there is nothing yet: what follows it is taken by a look only.
        if (block && number > Number(this.tip?.header.number ?? Infinity)) block = null
        if (block) this.byNumber.set(number, block)
      }
      found.set(call, block)
    }
    return found
  }

  private remembered({ method, params }: RpcCall): HeadBlock | undefined {
    return method === 'eth_getBlockByHash'
      ? this.byHash.get(params[0] as string)
      : this.byNumber.get(Number(params[0]))
  }

  /** Logs of blocks that were given, of whatever fork: evm-processor takes them by their blocks' hashes. */
  private logsOf({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }): RpcLog[] {
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    return [...this.byHash.values()].flatMap(({ header, logs }) =>
      Number(header.number) >= from && Number(header.number) <= to ? logs : [],
    )
  }

  private troubled(error: Error): undefined {
    this.second = !this.second
    this.log.warn({ reason: error.message.slice(0, 300) }, 'the head could not be read, will be asked again')
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined))
}
