import type { BlockRef, HeadReader } from '../chain'
import { MONOTONIC } from '../clock'
import { repeat } from '../retry'
import {
  NotFinalError,
  finalBlock,
  followsHead,
  noteHistoryRead,
  noteUnproven,
  spendAuditCalls,
  unaudited,
  unreadHistoryEnd,
  type BlockRange,
} from './store'
import { PostponedRanges, pauseAfter } from './postponed'
import { OrphanedLogError, RangeAuditor, type AuditOptions, type Reread } from './range-auditor'

/** Result of proving some blocks. */
interface Findings extends Reread {
  /** Number of blocks that were compared, but not proven: their header or receipts have an unknown form. */
  unproven: number
  /** Number of the unproven blocks whose receipts have a known form but another root: an endpoint lies. */
  contradicted: number
}

/** Returns the findings as text, and true if log and receipts were correct. */
export function auditOutcome(findings: Pick<Findings, 'events' | 'repaired' | 'unproven' | 'contradicted'>) {
  const { events, repaired, contradicted } = findings
  const unknown = findings.unproven - contradicted
  const parts = [
    `the chain has ${events} indexed events`,
    repaired ? `${repaired} differed in the log and were repaired` : 'the log matches',
    ...(unknown
      ? [`the receipts of ${unknown} blocks have an unknown format: they were compared, but not proven`]
      : []),
    ...(contradicted
      ? [
          `an RPC endpoint returned false receipts of ${contradicted} blocks, which do not hash to their ` +
            'receiptsRoot: they were compared, but not proven. Replace the endpoint that the log names, and ' +
            'repeat the audit',
        ]
      : []),
  ]
  return { text: parts.join('; '), isCorrect: !repaired && !contradicted }
}

/** Maximum number of blocks proven in one step. */
const BLOCKS_AT_ONCE = 100
/**
 * Minimum number of blocks in a range that is reread: blocks that are proven first need no rereading. The
 * history of a schema is also reread in shorter ranges, because answers depend on it.
 */
const REREAD_AT_LEAST = 2_000
/** Number of JSON-RPC calls for rereading after which the audit checks its budget again. */
const READS_AT_ONCE = 100
const IDLE_MS = 5_000
/** Milliseconds between two checks for new attesters of answers. */
const LOOK_MS = 1_000
/** Maximum number of calls per second at which the audit spends the calls that its budget has saved. */
const HIGHEST_RATE = 20
const DAY_SECONDS = 86_400
/** Share of a day's calls for new blocks, blocks that could not be proven, and the history of schemas. */
const KEPT_SHARE = 0.5
/** Number of calls by which blocks in doubt and the history of schemas may exceed the budget. */
const RESERVE = 2_000
/** Maximum distance of a new block from the last final block, in blocks. */
const NEW_BLOCKS = 5_000
/** Number of blocks of a failed range that are retried first. */
const PROBED_BLOCKS = 10
/** Number of consecutive failed proofs after which only failed ranges are retried. */
const MOST_FAILED_IN_ROW = 3

/**
 * Continuously compares the event log with the chain, because a node can omit logs from a response unnoticed
 * (docs/spec/trust.md 6). Two methods complement each other:
 *
 * - Rereading: all history is read again by eth_getLogs with wide ranges and filters, from the least
 *   preferred endpoint.
 * - Proofs, newest blocks first: the bloom filter of a header shows that the block has no log of a watched
 *   schema or attester. Otherwise the receipts, which must hash to the header's receiptsRoot, show exactly
 *   which logs it has.
 *
 * Blocks that were proven at the head cost no call. Other proofs have a daily budget of calls, part of which
 * is reserved for new blocks and the history of schemas.
 */
export class Auditor {
  private readonly ranges: RangeAuditor
  private failures = 0
  /** Number of consecutive failed proofs that made calls. */
  private failedInRow = 0
  private readonly postponed: PostponedRanges
  /** Remaining part of a range whose rereading stopped because the budget was spent. */
  private rereading: BlockRange | undefined

  constructor(private readonly options: AuditOptions) {
    this.ranges = new RangeAuditor(options)
    this.postponed = new PostponedRanges((failed) => {
      if (options.doubt) options.doubt.repairsPending = failed
    }, options.clock)
  }

  /** Audits final blocks until the signal aborts. Never throws. `callsPerSecond`: average; 0: no proofs. */
  follow(callsPerSecond: number, signal?: AbortSignal): Promise<void> {
    const { clock = MONOTONIC } = this.options
    let next = -Infinity
    return repeat(
      signal,
      async () => {
        // Attesters are added between two steps, because a running step has read blocks without them.
        await this.options.registry.takeNoted()
        if (clock.now() < next) return LOOK_MS
        const pauseMs = await this.step(callsPerSecond)
        this.failures = 0
        next = clock.now() + pauseMs
        return Math.min(pauseMs, LOOK_MS)
      },
      (error) => this.failed(error),
      clock,
    )
  }

  /** Proves at most 100 blocks, and postpones those that it cannot prove. */
  async prove(from: number, end: number, head?: HeadReader): Promise<Findings> {
    const { chain, database, log } = this.options
    const range = { from, to: Math.min(end, from + BLOCKS_AT_ONCE - 1) }
    const { unproven, contradicted, ...proof } = await this.ranges.prove(range, head)
    this.postponed.replace(range, unproven, contradicted)
    let first = range.from
    for (const number of [...unproven, range.to + 1]) {
      if (first < number) this.options.head?.settled(first, number - 1)
      first = number + 1
    }
    const note = (blocks: readonly number[], reason: string) => {
      if (blocks.length === 0) return
      const named = { chain: chain.slug, blocks: blocks.slice(0, 20), count: blocks.length }
      log.warn(named, `blocks were compared with the log but not proven: ${reason}`)
    }
    note(
      unproven.filter((block) => !contradicted.has(block)),
      'the format of their headers or receipts is unknown',
    )
    note(
      [...contradicted],
      'an RPC endpoint returned false receipts, which do not hash to their receiptsRoot',
    )
    await noteUnproven(database.query, chain, this.postponed.blocks)
    return { ...proof, to: range.to, unproven: unproven.length, contradicted: contradicted.size }
  }

  private async step(callsPerSecond: number): Promise<number> {
    const { chain, database } = this.options
    const final = await finalBlock(database.query, chain)
    // History is indexed first, because indexing and rereading it at the same time would slow both.
    if (!final || !(await followsHead(database.query, chain))) return IDLE_MS
    const proofs = callsPerSecond > 0 ? await this.proveNext(final, callsPerSecond) : undefined
    return proofs ?? (await this.rereadNext(final.height, callsPerSecond)) ?? IDLE_MS
  }

  /** Proves the newest unproven blocks. Returns the pause in milliseconds; undefined if it proved none. */
  private async proveNext(final: BlockRef, callsPerSecond: number): Promise<number | undefined> {
    const { chain, database, head } = this.options
    const waiting = this.postponed.waiting()
    const gaps = await unaudited(database.query, chain, 'proven', final.height, waiting)
    this.settle(final.height, [...waiting, ...gaps])
    // The head reader must follow the same chain as the database.
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

  /**
   * Ends the doubt about final blocks outside the unproven ranges. A statement that fails after a proof was
   * stored, or whose response is lost, leaves that doubt, and without a gap no retry would end it.
   */
  private settle(finalHeight: number, unproven: readonly BlockRange[]): void {
    const { doubt, head } = this.options
    this.postponed.keep(unproven)
    for (const height of doubt?.unprovenAtHead ?? [])
      if (height <= finalHeight && !unproven.some(({ from, to }) => from <= height && height <= to))
        head?.settled(height, height)
  }

  /** Returns the last part of a gap, which is proven next. */
  private nextRange(gap: BlockRange, trusted: HeadReader | undefined) {
    const from = Math.max(gap.from, gap.to - BLOCKS_AT_ONCE + 1)
    let known = gap.to
    while (known >= from && trusted?.known(known)?.evidence === 'proven') known--
    // Blocks that cost no call come first.
    const isFree = known < gap.to
    const range = { from: isFree ? known + 1 : from, to: gap.to }
    const before = this.postponed.overlapping(range)
    const failed = before?.failed ? before : undefined
    // After a node has lied, only a few blocks are requested until they are proven.
    if (failed) range.from = Math.max(range.from, range.to - PROBED_BLOCKS + 1)
    return { range, isFree, failed }
  }

  /** Returns the number of calls that must be left for a proof; -Infinity if it needs none. */
  private callsNeeded(
    { range, isFree, failed }: ReturnType<Auditor['nextRange']>,
    finalHeight: number,
    callsPerSecond: number,
    trusted: HeadReader | undefined,
  ): number {
    if (isFree || failed) return -Infinity
    const day = callsPerSecond * DAY_SECONDS
    // Blocks that the head reader of this or an earlier process has read but not proven cannot wait until
    // calls are saved. Old history is proven only with calls saved beyond the reserved share.
    const isInDoubt = trusted?.known(range.to) !== undefined || this.options.head?.mayBeUnproven(range.to)
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
      // Postponed blocks do not prevent older blocks from being proven.
      this.postponed.addFailed(failed ?? range)
      throw error
    }
  }

  /** Rereads the next blocks. Returns the pause in milliseconds; undefined if it read none. */
  private async rereadNext(finalHeight: number, callsPerSecond: number): Promise<number | undefined> {
    const { chain, database } = this.options
    const late = await unreadHistoryEnd(database.query, chain, finalHeight)
    this.rereading ??= (await unaudited(database.query, chain, 'reread', finalHeight)).find(
      ({ from, to }) => from < late || to - from + 1 >= REREAD_AT_LEAST,
    )
    if (!this.rereading) {
      // A statement that failed after the last range was stored has left the history noted as unread.
      if (late) await noteHistoryRead(database.query, chain)
      return undefined
    }
    const kept = this.rereading.from < late ? -RESERVE : KEPT_SHARE * callsPerSecond * DAY_SECONDS
    if (callsPerSecond > 0 && (await spendAuditCalls(database.query, chain, 0, callsPerSecond)) < kept)
      return undefined
    const { to } = this.rereading
    let spent = 0
    const read = await this.ranges
      .reread(this.rereading, ({ calls }) => (spent = calls) < READS_AT_ONCE)
      .catch(async (error: unknown) => {
        if (callsPerSecond > 0) await spendAuditCalls(database.query, chain, spent + 1, callsPerSecond)
        // The next attempt may find another range first, such as the history of a new schema.
        this.rereading = undefined
        throw error
      })
    if (callsPerSecond > 0) await spendAuditCalls(database.query, chain, read.calls, callsPerSecond)
    this.rereading = read.to < to ? { from: read.to + 1, to } : undefined
    return 0
  }

  private failed(error: Error): number {
    this.ranges.turn()
    // A NotFinalError is not a failure: the repair follows once later events are final.
    const level =
      error instanceof NotFinalError ? 'info' : error instanceof OrphanedLogError ? 'fatal' : 'warn'
    this.options.log[level](
      { chain: this.options.chain.slug, reason: error.message.slice(0, 500) },
      'the audit failed and will try again',
    )
    return pauseAfter(this.failures++)
  }
}
