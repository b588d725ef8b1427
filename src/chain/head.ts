import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '@subsquid/logger'
import type { RpcCall } from '../rpc'
import type { BlockReader, CheckedHeader, CheckedLogs } from './blocks'
import type { Doubt } from './doubt'
import { headerByHash, headerCall, type RpcLog } from './logs'
import { RecentBlocks, type HeadBlock } from './recent'

/** An empty bloom filter: evm-processor rejects an empty list of logs unless the header has this. */
const NO_LOGS_BLOOM = `0x${'0'.repeat(512)}`
/** The tip is given up after the latest block was far below it, and no endpoint had the tip, this often. */
const LOOKS_BELOW_TIP = 5
/**
 * A head further ahead than this is taken without the blocks between, once two looks name it; those blocks
 * are read when they are requested.
 */
const LONGEST_STEP = 100
/** Far heads that are remembered: two of each of two endpoints, of which one may have stopped. */
const AHEAD_REMEMBERED = 4
/** Without a new block for this long the endpoint may have stopped: another one is asked by turns with it. */
const STALLED_MS = 15_000
/** The head is not read when evm-processor has not asked for it for this long, as during history. */
const FOLLOWED_FOR_MS = 60_000
/** A block that cannot be read correctly is tried again for this long before evm-processor is told so. */
const HELD_MS = 3_000
const AGAIN_AFTER_MS = 200
/**
 * evm-processor pauses up to 20 s, longer each time, when it gets no answer: before that it gets the head as
 * last known.
 */
const HEAD_PATIENCE_MS = 10_000

/** The head as a node says it: timestamp in Unix seconds, time of the question in Unix milliseconds. */
export interface Head {
  number: number
  timestamp: number
  askedAt: number
}

/**
 * The head of a chain as evm-processor reads it, verified. A look asks for the latest block. A block is taken
 * when its hashes link it to the blocks before it and its logs are known (blocks.ts); only then it becomes
 * the head. So all that evm-processor asks for is answered from memory, and it never sees a wrong block, a
 * false header or an incomplete list of logs. After a reorg the new blocks are read by their parents' hashes,
 * back to the block that both forks share.
 */
export class HeadReader {
  private readonly recent = new RecentBlocks()
  /** Far heads that looks have named since a block was last linked to the tip. */
  private ahead: number[] = []
  /** Unix milliseconds at which a block was last taken. */
  private takenAt = -Infinity
  private looksBelowTip = 0
  private seen: Head | undefined
  private looking: Promise<void> | undefined
  private askedForAt = -Infinity

  /**
   * @param blocks of this reader alone: it turns to other endpoints
   * @param pollMs the greatest age of the head that is answered, in milliseconds
   * @param onFalseTip called when what evm-processor has is not the chain's: it must start again
   * @param signal ends what waits for the first head
   */
  constructor(
    private readonly blocks: BlockReader,
    private readonly doubt: Doubt,
    private readonly log: Logger,
    private readonly pollMs: number,
    private readonly onFalseTip: (error: Error) => void,
    private readonly clock: () => number = Date.now,
    private readonly signal?: AbortSignal,
  ) {}

  /**
   * Answers JSON-RPC calls, in order: eth_blockNumber, eth_getBlockByNumber, eth_getBlockByHash, and
   * eth_getLogs by numbers.
   */
  async answer(calls: readonly RpcCall[]): Promise<unknown[]> {
    const blocks = await this.readHeld(
      calls.filter(({ method }) => method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash'),
    )
    return Promise.all(
      calls.map(async (call) => {
        const block = blocks.get(call)
        if (block) block.served = true
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

  /**
   * The latest block that a node has named, read again when it is older than `maxAgeMs`. Throws before the
   * first one.
   */
  async latest(maxAgeMs: number): Promise<Head> {
    if (!this.seen || this.clock() - this.seen.askedAt > maxAgeMs) await this.look()
    if (!this.seen) throw new Error('the node has no latest block')
    return this.seen
  }

  /** The block of this number on the followed chain, if it is in memory. */
  known(number: number): HeadBlock | undefined {
    return this.whole(this.recent.at(number))
  }

  /** The block, unless its logs were read before a part of the selection was known. */
  private whole(block: HeadBlock | undefined): HeadBlock | undefined {
    return block?.version === this.blocks.selection.version ? block : undefined
  }

  /** The audit has proven these blocks. */
  settled(from: number, to: number): void {
    for (let number = from; number <= to; number++) {
      const block = this.recent.at(number)
      if (block) block.evidence = 'proven'
    }
    this.countUnproven()
  }

  /** The tip of the followed chain. Waits without limit for the first one only. */
  private async height(): Promise<HeadBlock> {
    this.askedForAt = this.clock()
    const { height } = this.recent
    const isNew = this.seen && this.clock() - this.seen.askedAt < this.pollMs / 2
    const isTaken = height !== undefined && this.seen && height >= this.seen.number
    const look = () => this.look().catch((error: Error) => this.troubled(error))
    if (!isNew || !isTaken) await Promise.race([look(), pause(HEAD_PATIENCE_MS)])
    for (; !this.recent.tip; await pause(AGAIN_AFTER_MS, undefined, { signal: this.signal })) await look()
    return this.recent.tip
  }

  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => (this.looking = undefined))
    return this.looking
  }

  private async lookOnce(): Promise<void> {
    const askedAt = this.clock()
    const [latest] = await this.blocks.headers([
      { method: 'eth_getBlockByNumber', params: ['latest', false] },
    ])
    if (!latest) {
      this.blocks.turn()
      return
    }
    const number = Number(latest.header.number)
    const { tip, height } = this.recent
    // A node that lags, or is on a fork that is not longer, says nothing new.
    const isNews = height === undefined || number > height
    const highest = isNews ? latest.header : tip!.header
    this.seen = { number: Number(highest.number), timestamp: Number(highest.timestamp), askedAt }
    const isStalled = askedAt - this.takenAt > STALLED_MS
    if (!isNews && (isStalled || number <= height - LONGEST_STEP)) this.blocks.turn()
    await this.doubtTip(number)
    if (!isNews || this.clock() - this.askedForAt > FOLLOWED_FOR_MS) return
    const isFar = height === undefined || number - height > LONGEST_STEP
    const path = isFar ? await this.leap(latest) : await this.steps(height, latest)
    const read = await this.completeAll(path)
    const lacking = read.findIndex((block) => !block)
    const taken = (lacking < 0 ? read : read.slice(0, lacking)) as HeadBlock[]
    if (taken.length < path.length || path.length === 0) this.blocks.turn()
    for (const block of taken) this.take(block)
  }

  /** The latest block alone, if its parent exists and another look has named a block near it. */
  private async leap(latest: CheckedHeader): Promise<CheckedHeader[]> {
    const { number, parentHash } = latest.header
    const [parent] = await this.blocks.headers([headerByHash(parentHash)])
    if (!parent || Number(parent.header.number) !== Number(number) - 1) {
      this.doubt.contradicted(`the latest block ${Number(number)} has no parent ${parentHash}`)
      return []
    }
    // One answer may be of another network.
    if (!this.ahead.some((before) => Math.abs(Number(number) - before) <= LONGEST_STEP)) {
      this.ahead = [...this.ahead, Number(number)].slice(-AHEAD_REMEMBERED)
      return []
    }
    this.ahead = []
    this.recent.detach()
    return [latest]
  }

  /** Gives the tip up as false when the latest block stays far below it and no endpoint has the tip. */
  private async doubtTip(latest: number): Promise<void> {
    const { tip, height } = this.recent
    if (!tip || latest > height! - LONGEST_STEP) {
      this.looksBelowTip = 0
      return
    }
    if (++this.looksBelowTip < LOOKS_BELOW_TIP) return
    const { number, hash } = tip.header
    const [still] = await this.blocks.headers([headerByHash(hash)])
    if (still) return
    const reason = `block ${Number(number)}, which was named as the latest, is none: the latest is ${latest}`
    this.doubt.contradicted(reason)
    this.onFalseTip(new Error(reason))
  }

  /**
   * The blocks from `height` + 1 to the latest, as far as their hashes link them. If they are of another
   * fork, the blocks back to the common one come before them.
   */
  private async steps(height: number, latest: CheckedHeader): Promise<CheckedHeader[]> {
    this.ahead = []
    const numbers = Array.from(
      { length: Number(latest.header.number) - height - 1 },
      (_, i) => height + 1 + i,
    )
    const path: CheckedHeader[] = []
    for (const each of [...(await this.blocks.headers(numbers.map(headerCall))), latest]) {
      if (!each || (path.length && each.header.parentHash !== path[path.length - 1]!.header.hash)) break
      path.push(each)
    }
    while (path.length) {
      const { number, parentHash } = path[0]!.header
      const below = this.recent.at(Number(number) - 1)
      if (!below || below.header.hash === parentHash) break
      const [parent] = await this.blocks.headers([headerByHash(parentHash)])
      if (!parent) {
        this.doubt.contradicted(`block ${Number(number)} has no parent ${parentHash}`)
        return []
      }
      path.unshift(parent)
    }
    return path
  }

  /** The same of several blocks: all of them pass the selection as it is after the last one. */
  private async completeAll(checked: readonly (CheckedHeader | null)[]): Promise<(HeadBlock | null)[]> {
    for (;;) {
      const { version } = this.blocks.selection
      const read = await Promise.all(
        checked.map((each) => (each ? this.complete(each) : Promise.resolve(null))),
      )
      if (this.blocks.selection.version === version) return read
    }
  }

  /** The block with its logs; null while they cannot be had, or are known to be false. */
  private async complete(checked: CheckedHeader): Promise<HeadBlock | null> {
    const known = this.whole(this.recent.ofHash(checked.header.hash))
    if (known) return known
    const before = this.blocks.selection.version
    const found = await this.blocks.logs(checked)
    if (found?.learned) this.widened(Number(checked.header.number), before, found)
    if (!found || (found.contradicted && found.evidence === 'single')) {
      this.log.info(
        { block: Number(checked.header.number) },
        'the logs of a block are not certain yet and will be read again',
      )
      return null
    }
    const { number, hash, parentHash, timestamp, logsBloom } = checked.header
    // Only what evm-processor reads: a block has hundreds of transactions.
    const header = {
      number,
      hash,
      parentHash,
      timestamp,
      ...(logsBloom !== undefined && { logsBloom }),
      transactions: [],
    }
    const block: HeadBlock = { header, logs: found.logs, evidence: found.evidence, version: found.version }
    this.recent.keep(block)
    return block
  }

  /** A block has widened the selection: what it announces is in no block below it. */
  private widened(number: number, before: number, { version, learned }: CheckedLogs): void {
    for (const block of this.recent.all()) {
      const isBelow = Number(block.header.number) <= number
      if (isBelow && block.version === before && version === before + learned) block.version = version
      else if (!isBelow && block.served && block.version < version)
        this.onFalseTip(
          new Error(`block ${number} widens what is read of later blocks, which were given already`),
        )
    }
  }

  private take(block: HeadBlock): void {
    this.recent.append(block)
    this.takenAt = this.clock()
    this.countUnproven()
  }

  private countUnproven(): void {
    this.doubt.unprovenAtHead = this.recent.unproven
  }

  /**
   * Blocks by number or hash. A block that cannot be read correctly is tried again for a while; null says
   * that there is none.
   */
  private async readHeld(calls: readonly RpcCall[]): Promise<Map<RpcCall, HeadBlock | null>> {
    const found = new Map<RpcCall, HeadBlock | null>()
    if (calls.length === 0) return found
    const until = this.clock() + HELD_MS
    for (let lacking = calls; ; await pause(AGAIN_AFTER_MS, undefined, { signal: this.signal })) {
      const blocks = await Promise.race([
        this.readOnce(lacking).catch((error: Error) => this.troubled(error)),
        pause(HEAD_PATIENCE_MS, undefined),
      ])
      for (const call of lacking) found.set(call, blocks?.get(call) ?? null)
      const height = this.recent.height ?? Infinity
      lacking = lacking.filter(
        (call) =>
          !found.get(call) && (call.method === 'eth_getBlockByHash' || Number(call.params[0]) <= height),
      )
      if (lacking.length === 0 || this.clock() > until) return found
    }
  }

  private async readOnce(calls: readonly RpcCall[]): Promise<Map<RpcCall, HeadBlock | null>> {
    const lacking = calls.filter((call) => !this.whole(this.recent.find(call)))
    const read = await this.completeAll(await this.blocks.headers(lacking))
    if (read.includes(null)) this.blocks.turn()
    const fresh = new Map(lacking.map((call, i) => [call, read[i]!]))
    const found = new Map<RpcCall, HeadBlock | null>()
    // From the highest down, as each block names its parent.
    for (const call of [...calls].sort((a, b) => Number(b.params[0]) - Number(a.params[0]))) {
      const block = fresh.get(call) ?? this.whole(this.recent.find(call)) ?? null
      found.set(
        call,
        call.method === 'eth_getBlockByNumber' ? await this.linked(block, Number(call.params[0])) : block,
      )
    }
    return found
  }

  /**
   * The block of this number that the followed chain has: the parent of the one above it, if that is known.
   */
  private async linked(block: HeadBlock | null, number: number): Promise<HeadBlock | null> {
    const above = this.recent.at(number + 1)
    if (block && above && above.header.parentHash !== block.header.hash) {
      const [parent] = await this.blocks.headers([headerByHash(above.header.parentHash)])
      block = parent ? await this.complete(parent) : null
    }
    // There is nothing above the tip yet: only a look moves it.
    if (!block || number > (this.recent.height ?? Infinity)) return null
    this.recent.place(block)
    return block
  }

  private logsOf({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }): RpcLog[] {
    return this.recent.logsOf(Number(fromBlock), Number(toBlock))
  }

  private troubled(error: Error): undefined {
    this.blocks.turn()
    this.log.warn(
      { reason: error.message.slice(0, 300) },
      'the head could not be read and will be read again',
    )
  }
}
