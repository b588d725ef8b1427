import type { BlockRef, HeadReader } from '../chain'
import { repeat } from '../retry'
import { NotFinalError, finalBlock, followsHead, noteUnproven, spendAuditCalls, unaudited } from './store'
import { PostponedRanges, pauseAfter } from './postponed'
import {
  OrphanedLogError,
  RangeAuditor,
  type AuditOptions,
  type BlockRange,
  type Reread,
} from './range-auditor'

/** The result of proving some blocks. */
export interface Findings {
  /** The last block that was audited. */
  to: number
  /** Events of the watched schemas that the chain has there. */
  events: number
  /** Events that were added to the log or removed from it. */
  repaired: number
  /** Blocks that were compared, but whose header or receipts have no form known here. */
  unproven: number
  /** Those of them whose receipts are false in a known form: an endpoint lies. */
  contradicted: number
  /** JSON-RPC calls made. */
  calls: number
}

/** Blocks proven at a time. */
const BLOCKS_AT_ONCE = 100
/** New final blocks are read again only in ranges this long: proofs come first and make it needless. */
const REREAD_AT_LEAST = 2_000
/** JSON-RPC calls of rereading between two looks at the budget. */
const READS_AT_ONCE = 100
const IDLE_MS = 5_000
/** How often it looks for new attesters of answers. */
const LOOK_MS = 1_000
/** Saved calls are spent at this rate per second. */
const HIGHEST_RATE = 20
const DAY_SECONDS = 86_400
/** The share of a day's calls that is kept for new and failed blocks; the rest goes to old history. */
const KEPT_SHARE = 0.5
/** Calls beyond the budget for blocks in doubt, which cannot wait. */
const RESERVE = 2_000
/** A block is new when it is at most this far below the last final block. */
const NEW_BLOCKS = 5_000
/** Blocks of a failed range that are tried first. */
const PROBED_BLOCKS = 10
/** After this many failed proofs in a row only failed ranges are tried. */
const MOST_FAILED_IN_ROW = 3

/**
 * Compares the event log with the chain, continuously: a node may leave logs out of an answer unnoticed
 * (docs/spec/trust.md 6). It does so twice. All of history is read again by wide filtered eth_getLogs, from
 * the least preferred endpoint. And blocks are proven, the newest first: the bloom filter of a header shows
 * that the block has nothing of ours, or its receipts, which must hash to the header's receiptsRoot, show
 * exactly what it has. Blocks that were proven at the head cost no call. Other proofs have a budget of calls
 * per day, of which a part is kept for new blocks.
 */
export class Auditor {
  private readonly ranges: RangeAuditor
  private failures = 0
  /** Failed proofs that asked a node, since the last one that succeeded. */
  private failedInRow = 0
  private readonly postponed: PostponedRanges
  /** The rest of a range whose rereading the budget has interrupted. */
  private rereading: BlockRange | undefined

  constructor(private readonly options: AuditOptions) {
    this.ranges = new RangeAuditor(options)
    this.postponed = new PostponedRanges((failed) => {
      if (options.doubt) options.doubt.repairsPending = failed
    })
  }

  /**
   * Audits what becomes final, until the signal aborts. `callsPerSecond` is an average; 0 means no proofs.
   * Never throws.
   */
  follow(callsPerSecond: number, signal?: AbortSignal): Promise<void> {
    let next = 0
    return repeat(
      signal,
      async () => {
        // Between two steps: what is under way reads without them.
        await this.options.registry.takeNoted()
        if (performance.now() < next) return LOOK_MS
        const pauseMs = await this.step(callsPerSecond)
        this.failures = 0
        next = performance.now() + pauseMs
        return Math.min(pauseMs, LOOK_MS)
      },
      (error) => this.failed(error),
    )
  }

  /** Proves at most 100 blocks; as RangeAuditor.prove. */
  async prove(from: number, end: number, head?: HeadReader): Promise<Findings> {
    const { chain, database, log } = this.options
    const range = { from, to: Math.min(end, from + BLOCKS_AT_ONCE - 1) }
    const { unproven, contradicted, ...proof } = await this.ranges.prove(range, head)
    this.postponed.replace(range, unproven, contradicted)
    if (unproven.length === 0) this.options.head?.settled(range.from, range.to)
    else
      log.warn(
        { chain: chain.slug, blocks: unproven.slice(0, 20), count: unproven.length },
        'blocks were compared with the log but not proven: their headers or receipts have no form known here',
      )
    await noteUnproven(database.query, chain, this.postponed.blocks)
    return { ...proof, to: range.to, unproven: unproven.length, contradicted: contradicted.size }
  }

  /** Reads the logs of these blocks again; as RangeAuditor.reread. */
  reread(range: BlockRange, progress: (blocksDone: number) => void): Promise<Reread> {
    return this.ranges.reread(range, progress)
  }

  /** Does the next piece of work. Returns the pause after it, in milliseconds. */
  private async step(callsPerSecond: number): Promise<number> {
    const { chain, database } = this.options
    const final = await finalBlock(database.query, chain)
    // History comes first: to read it twice at a time would slow both.
    if (!final || !(await followsHead(database.query, chain))) return IDLE_MS
    const proofs = callsPerSecond > 0 ? await this.proveNext(final, callsPerSecond) : undefined
    return proofs ?? (await this.rereadNext(final.height, callsPerSecond)) ?? IDLE_MS
  }

  /** Proves the newest unproven blocks; undefined when there are none, or no calls for them. */
  private async proveNext(final: BlockRef, callsPerSecond: number): Promise<number | undefined> {
    const { chain, database, head } = this.options
    const gaps = await unaudited(database.query, chain, 'proven', final.height, this.postponed.waiting())
    // The chain that the head reader follows must be the one in the database.
    const trusted = head?.known(final.height)?.header.hash === final.hash ? head : undefined
    for (const gap of gaps.reverse()) {
      const next = this.nextRange(gap, trusted)
      if (!next.isFree && !next.failed && this.failedInRow >= MOST_FAILED_IN_ROW) continue
      const needed = this.callsNeeded(next, final.height, callsPerSecond, trusted)
      if (needed > -Infinity && (await spendAuditCalls(database.query, chain, 0, callsPerSecond)) < needed)
        return undefined
      return await this.proveRange(next, callsPerSecond, trusted)
    }
    return undefined
  }

  /** The part of a gap that is proven next, from its end on. */
  private nextRange(gap: BlockRange, trusted: HeadReader | undefined) {
    const from = Math.max(gap.from, gap.to - BLOCKS_AT_ONCE + 1)
    let known = gap.to
    while (known >= from && trusted?.known(known)?.evidence === 'proven') known--
    // First the blocks that cost no call.
    const isFree = known < gap.to
    const range = { from: isFree ? known + 1 : from, to: gap.to }
    const before = this.postponed.overlapping(range)
    const failed = before?.failed ? before : undefined
    // A node that has lied is asked for a few blocks only until they are proven.
    if (failed) range.from = Math.max(range.from, range.to - PROBED_BLOCKS + 1)
    return { range, isFree, failed }
  }

  /** How many calls must be left for a proof to begin; -Infinity: it begins in any case. */
  private callsNeeded(
    { range, isFree, failed }: ReturnType<Auditor['nextRange']>,
    finalHeight: number,
    callsPerSecond: number,
    trusted: HeadReader | undefined,
  ): number {
    if (isFree || failed) return -Infinity
    const day = callsPerSecond * DAY_SECONDS
    // Blocks that the head reader has read but could not prove cannot wait until calls are saved. Old history
    // is proven only from what is saved beyond the kept part.
    const isInDoubt = trusted?.known(range.to) !== undefined
    const isNew = range.to > finalHeight - NEW_BLOCKS
    const kept = isInDoubt ? -RESERVE : isNew ? 0 : KEPT_SHARE * day
    return Math.min(kept + range.to - range.from + 1, day)
  }

  private async proveRange(
    { range, failed }: ReturnType<Auditor['nextRange']>,
    callsPerSecond: number,
    trusted: HeadReader | undefined,
  ): Promise<number> {
    const { chain, database, log } = this.options
    try {
      const { calls, contradicted } = await this.prove(range.from, range.to, trusted)
      if (calls) {
        this.failedInRow = contradicted ? this.failedInRow + 1 : 0
        await spendAuditCalls(database.query, chain, calls, callsPerSecond)
      }
      if (failed && !contradicted) {
        this.postponed.retryFailed()
        log.info({ chain: chain.slug, ...range }, 'blocks that could not be audited are proven now')
      }
      return (calls / Math.max(callsPerSecond, HIGHEST_RATE)) * 1000
    } catch (error) {
      this.failedInRow++
      await spendAuditCalls(database.query, chain, range.to - range.from + 1, callsPerSecond)
      // Blocks that cannot be proven now must not keep older ones from being proven.
      this.postponed.addFailed(failed ?? range)
      throw error
    }
  }

  /** Reads the next blocks again; undefined when there are none, or no calls for them. */
  private async rereadNext(finalHeight: number, callsPerSecond: number): Promise<number | undefined> {
    const { chain, database } = this.options
    const isEnough = ({ from, to }: BlockRange) => to - from + 1 >= REREAD_AT_LEAST
    this.rereading ??= (await unaudited(database.query, chain, 'reread', finalHeight)).find(isEnough)
    if (!this.rereading) return undefined
    const kept = KEPT_SHARE * callsPerSecond * DAY_SECONDS
    if (callsPerSecond > 0 && (await spendAuditCalls(database.query, chain, 0, callsPerSecond)) < kept)
      return undefined
    const { to } = this.rereading
    let spent = 0
    const read = await this.ranges.reread(
      this.rereading,
      undefined,
      (calls) => (spent += calls) < READS_AT_ONCE,
    )
    if (callsPerSecond > 0) await spendAuditCalls(database.query, chain, read.calls, callsPerSecond)
    this.rereading = read.to < to ? { from: read.to + 1, to } : undefined
    return 0
  }

  private failed(error: Error): number {
    this.ranges.turn()
    // A NotFinalError is no failure: the repair follows once later events are final.
    const level =
      error instanceof NotFinalError ? 'info' : error instanceof OrphanedLogError ? 'fatal' : 'warn'
    this.options.log[level](
      { chain: this.options.chain.slug, reason: error.message.slice(0, 500) },
      'the audit failed and will try again',
    )
    return pauseAfter(this.failures++)
  }
}
