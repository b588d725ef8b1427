import type { Logger } from '@subsquid/logger'
import { isDataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import type { BlockReader, CheckedHeader } from './blocks'
import { ContradictionError, type Doubt } from './doubt'
import { FirstTimes } from './first-times'
import { FollowedChain, refOf, type BlockRef, type HeadBlock } from './followed'
import { headersAbove, LONGEST_STEP, readLogs } from './head-blocks'
import { LATEST, headerByHash } from './logs'
import { StoredBlockCheck, otherChain } from './replaced'

/** Milliseconds without a new block after which other endpoints are queried alternately. */
const STALLED_MS = 15_000
/** Milliseconds until a batch is retried because no endpoint has the state of its blocks yet. */
const AGAIN_AFTER_MS = 200
/**
 * Milliseconds after which a block that cannot be read or written counts as a doubt. It may revoke, and the
 * next block, which would show the age of the database, may come much later.
 */
const UNWRITTEN_PATIENCE_MS = 5_000
/** Milliseconds after which a shorter fork that only one of several endpoints confirms is followed. */
const FORK_PATIENCE_MS = 15_000

/** Result of the last poll of the head, and how it compares with a block of the database. */
export interface HeadReport {
  /** Newest block that an endpoint reported. The timestamp is in Unix seconds. */
  readonly number: number
  readonly timestamp: number
  /** Milliseconds since the start of the poll that reported this block. */
  readonly ageMs: number
  /** Hash of the database's block, and age of the last poll that found it on the chain (or Infinity). */
  readonly tipHash: string | undefined
  readonly agreementAgeMs: number
  /** Reason why the database may not agree with the chain; undefined if there is none. */
  readonly doubt: string | undefined
  /** Number of contradictions between responses since the last report. */
  readonly contradictions: number
}

/** A change of the followed chain: `blocks` replace all blocks above `base`. */
export interface HeadUpdate {
  readonly base: BlockRef
  /** At least one block, in ascending order. */
  readonly blocks: readonly HeadBlock[]
  /** Last final block after the change. */
  readonly final: BlockRef
}

interface HeadOptions {
  /** Block reader for the head reader alone, which changes the order of its endpoints. */
  blocks: BlockReader
  doubt: Doubt
  log: Logger
  /** Number of blocks above a block that make it final. */
  finality: number
  /** Milliseconds between two polls. */
  pollMs: number
  /** Returns the newest final block at or below this number whose hash the database holds. */
  storedAtOrBelow?: (height: number) => Promise<BlockRef | undefined>
  clock?: Clock
}

/**
 * Follows and verifies the head of a chain. A poll reads the latest block that an endpoint reports and
 * compares it with the followed chain at that height:
 *
 * - The same block at the head: the database agrees with the chain.
 * - The same block below the head: the endpoint lags, or the chain was rolled back. Unless an endpoint has
 *   the followed head, the report then names the lower block as the head.
 * - A block above the head: the blocks between are read and linked by their parents' hashes, back to the
 *   block that both chains share. Each is followed once its logs are known (blocks.ts).
 * - Another block at or below the head: a fork. It is followed, whatever its length, as soon as a second poll
 *   confirms it and no endpoint has the followed head.
 * - Another block instead of a final one: the chain was replaced, or the endpoint belongs to another network.
 *   If all endpoints repeat that, the indexer ends.
 */
export class HeadReader {
  private chain: FollowedChain | undefined
  /** Last final block in the database. */
  private final: BlockRef = { height: -1, hash: '0x' }
  /** Newest block that an endpoint reported: Unix seconds, and the clock's time of the request. */
  private seen: { number: number; timestamp: number; askedAt: number } | undefined
  /** Start of the last poll that found the followed head to be the chain's head or an ancestor of it. */
  private agreedAt = -Infinity
  /** Time at which a block was last added to the followed chain. */
  private movedAt = -Infinity
  /** Time at which polls began to report a fork that is not confirmed yet; undefined without such a fork. */
  private forkedAt: number | undefined
  /** Failures to read or write the next block, which a fork may replace; empty after a success. */
  private readonly unwrittenBlocks = new FirstTimes()
  /** Start of the first of the last polls that found a lower head while no endpoint had the followed one. */
  private shorterSince: number | undefined
  /** Block of the followed chain that an unconfirmed fork replaces. */
  private disputed: BlockRef | undefined
  private readonly finalCheck: StoredBlockCheck
  private looking: Promise<void> | undefined
  private readonly clock: Clock

  constructor(private readonly options: HeadOptions) {
    this.clock = options.clock ?? MONOTONIC
    this.finalCheck = new StoredBlockCheck(options.blocks, this.clock)
  }

  /**
   * Follows the chain from the blocks of the database, the last final one and those above it. Passes each
   * change to `write`, one at a time, and reads the blocks again if that throws a ContradictionError. Ends
   * with any other error of `write`, a SettingsError if the chain was replaced, or the reason of the signal.
   */
  async follow(
    stored: readonly [BlockRef, ...BlockRef[]],
    write: (update: HeadUpdate) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<never> {
    const { log, pollMs, finality, doubt } = this.options
    const chain = (this.chain = new FollowedChain(stored, doubt.unprovenAtHead))
    this.options.doubt.unprovenAtHead = chain.unproven
    this.final = stored[0]
    let written: readonly BlockRef[] = stored
    for (;;) {
      await this.look().catch((error: Error) => {
        if (error instanceof SettingsError) throw error
        this.options.blocks.turn()
        log.warn({ reason: error.message.slice(0, 300) }, 'could not read the head; retrying')
      })
      signal?.throwIfAborted()
      const { tip } = chain
      const shared = written.findLastIndex((block) => chain.has(block))
      const base = written[shared]!
      const blocks = chain.above(base.height)
      // Empty if two forks during one write both end below the last written block, which the next one
      // replaces.
      if (blocks.length === 0) {
        await this.clock.pause(pollMs, signal)
        continue
      }
      const finalHeight = Math.max(this.final.height, tip.height - finality)
      const final = chain.at(finalHeight)!
      // A poll that runs during the write must not abandon a block that the write makes final.
      const before = this.final
      this.final = { height: final.height, hash: final.hash }
      try {
        await write({ base, blocks: blocks.map(({ block }) => block!), final })
      } catch (error) {
        if (!(error instanceof ContradictionError || isDataConsistencyError(error))) throw error
        const { message } = error
        // Nothing was written: its state is not available yet, a fork has replaced it, or a log is malformed.
        log.info({ reason: message.slice(0, 300) }, 'a batch is incomplete; retrying')
        this.final = before
        // Without proof, the logs may announce attestations that do not exist.
        const isReread =
          error instanceof ContradictionError ||
          (this.unwritten(blocks[0]!, `cannot be written: ${message}`) > UNWRITTEN_PATIENCE_MS &&
            blocks.some(({ block }) => block!.evidence !== 'proven'))
        if (isReread) await this.discardAbove(chain, base.height, message)
        this.options.blocks.turn()
        // Reading the blocks again costs as many calls as a poll, so the pause is as long as between polls.
        await this.clock.pause(isReread ? pollMs : AGAIN_AFTER_MS, signal)
        continue
      }
      this.unwrittenBlocks.clear()
      written = [...written.slice(0, shared + 1), ...blocks].filter(({ height }) => height >= finalHeight)
      // A poll that reached its limit of blocks is continued immediately.
      if (this.seen && this.seen.number > tip.height) continue
      await this.clock.pause(pollMs, signal)
    }
  }

  /**
   * Reports on the last poll, or on a new one if it is older than 1.5 poll intervals. `readTip` reads the
   * last block of the database. Throws until an endpoint has reported a block.
   */
  async report(readTip: () => Promise<BlockRef | undefined>): Promise<HeadReport> {
    const { doubt, pollMs } = this.options
    if (!this.seen || this.clock.now() - this.seen.askedAt > 1.5 * pollMs) await this.look()
    const tip = await readTip()
    if (!this.seen) throw new Error('no endpoint has a latest block')
    const { number, timestamp, askedAt } = this.seen
    // A followed block that is not written yet is the head, even if a lagging endpoint reports an older one.
    const counts = number >= this.final.height && this.shorterSince === undefined
    const known = counts ? this.chain?.tip.block?.header : undefined
    const isKnown = known !== undefined && Number(known.number) > number
    return {
      number: isKnown ? Number(known.number) : number,
      timestamp: isKnown ? Number(known.timestamp) : timestamp,
      ageMs: this.clock.now() - askedAt,
      // Undefined until the chain is followed: the agreement stored in the database then stays and ages.
      tipHash: this.chain && tip?.hash,
      agreementAgeMs: tip ? this.agreedAge(tip) : Infinity,
      doubt: doubt.reason(),
      contradictions: doubt.takeContradictions(),
    }
  }

  /**
   * Returns the milliseconds since the start of the last poll that agreed with this block, which is about to
   * be written; Infinity without one, or if the newest poll found a lower head, as after a rollback.
   */
  agreementAge(block: BlockRef): number {
    const isGone = this.shorterSince !== undefined && block.height > (this.seen?.number ?? 0)
    return isGone ? Infinity : this.agreedAge(block)
  }

  private agreedAge(block: BlockRef): number {
    return this.chain?.has(block) ? this.clock.now() - this.agreedAt : Infinity
  }

  /** Discards the times of earlier polls, because the clock stood still, as in a suspended machine. */
  forgetLooks(): void {
    this.agreedAt = -Infinity
    this.seen = undefined
    this.shorterSince = undefined
  }

  /** Returns the block of this number on the followed chain if it was read with the current filters. */
  known(height: number): HeadBlock | undefined {
    const block = this.chain?.at(height)?.block
    return block?.version === this.options.blocks.selection.version ? block : undefined
  }

  /** True if this or an earlier process has read this block without proof. */
  mayBeUnproven(height: number): boolean {
    return this.options.doubt.unprovenAtHead.includes(height)
  }

  /** Records that the audit has proven these blocks. */
  settled(from: number, to: number): void {
    this.chain?.prove(from, to)
    this.options.doubt.proven(from, to)
  }

  /** Discards the followed blocks above this number, so that the next poll reads them again. */
  private async discardAbove(chain: FollowedChain, height: number, reason: string): Promise<void> {
    this.options.doubt.contradicted(reason)
    // A poll in progress may be about to append blocks to the discarded ones.
    while (this.looking) await this.looking.catch(() => {})
    chain.replaceAbove(height, [], this.final.height)
    this.options.doubt.unprovenAtHead = chain.unproven
  }

  private look(): Promise<void> {
    return (this.looking ??= this.lookOnce().finally(() => (this.looking = undefined)))
  }

  private async lookOnce(): Promise<void> {
    const { blocks } = this.options
    const { chain } = this
    const askedAt = this.clock.now()
    const [latest] = await blocks.headers([LATEST])
    if (!latest) return blocks.turn()
    const ref = refOf(latest)
    this.seen = { number: ref.height, timestamp: Number(latest.header.timestamp), askedAt }
    if (!chain) return
    const { tip } = chain
    if (ref.height > tip.height) return this.extend(chain, latest, askedAt)
    const isStalled = askedAt - this.movedAt > STALLED_MS
    if (isStalled || ref.height <= tip.height - LONGEST_STEP) blocks.turn()
    if (ref.height < this.final.height) return this.checkFarBelow(chain, ref)
    if (ref.hash === tip.hash) this.agreed(askedAt)
    if (chain.has(ref)) {
      const isShorter = ref.hash !== tip.hash && !(await blocks.hashesAt(tip.height)).includes(tip.hash)
      this.shorterSince = isShorter ? (this.shorterSince ?? askedAt) : undefined
      // Another endpoint may be on a fork that this endpoint has not reached.
      if (isShorter) blocks.turn()
      return this.finalCheck.forget()
    }
    if (await this.isConfirmed(chain, ref)) await this.extend(chain, latest, askedAt)
  }

  /** Follows the blocks up to the latest one, as many as a poll reads, and abandons others. */
  private async extend(chain: FollowedChain, latest: CheckedHeader, askedAt: number): Promise<void> {
    const { blocks } = this.options
    const { tip } = chain
    const { linked, isBroken } = await headersAbove(blocks, tip.height, latest)
    const path = await this.linkedToChain(chain, linked)
    const complete = path.length > 0 ? await readLogs(path, chain, this.options) : []
    if (complete.length < path.length || isBroken || path.length === 0) blocks.turn()
    if (complete.length > 0) {
      this.shorterSince = undefined
      const base = Number(complete[0]!.header.number) - 1
      chain.replaceAbove(base, complete, this.final.height)
      this.movedAt = this.clock.now()
      this.options.doubt.unprovenAtHead = chain.unproven
    }
    if (path.length > complete.length)
      this.unwritten(refOf(path[complete.length]!), 'has missing or uncertain logs')
    // Blocks whose logs are not known yet are nevertheless ancestors of the latest one.
    const isLinked = path.length > 0 && path[path.length - 1] === latest
    if (isLinked && (complete.length > 0 || path[0]!.header.parentHash === tip.hash)) this.agreed(askedAt)
  }

  /**
   * Returns these headers, preceded by their ancestors back to a block of the followed chain; none if an
   * ancestor is missing, or the endpoint has another final block.
   */
  private async linkedToChain(
    chain: FollowedChain,
    headers: readonly CheckedHeader[],
  ): Promise<CheckedHeader[]> {
    const path = [...headers]
    while (path.length > 0) {
      const [first] = path as [CheckedHeader]
      const parent = { height: refOf(first).height - 1, hash: first.header.parentHash }
      const { height } = this.final
      if (parent.height >= height && chain.has(parent)) return path
      if (parent.height <= height) {
        await this.checkFinal(this.final, `an RPC endpoint is on a branch without the final block ${height}`)
        return []
      }
      const [header] = await this.options.blocks.headers([headerByHash(parent.hash)])
      if (!header || refOf(header).height !== parent.height) {
        this.options.doubt.contradicted(`block ${parent.height + 1} has no parent ${parent.hash}`)
        return []
      }
      path.unshift(header)
    }
    return path
  }

  /**
   * True if the chain has abandoned the followed head for a fork that is not longer: no endpoint has that
   * head, and a second poll reports another unknown block, or a lower followed block while an endpoint still
   * has the fork. False if a node only lags.
   */
  private async isConfirmed(chain: FollowedChain, named: BlockRef): Promise<boolean> {
    const { blocks, doubt } = this.options
    const { tip } = chain
    const { height } = named
    this.disputed = { height, hash: chain.at(height)!.hash }
    doubt.forked(
      `block ${height} is ${named.hash} at an RPC endpoint, but ${this.disputed.hash} in the database`,
    )
    const now = this.clock.now()
    this.forkedAt ??= now
    const hashes = await blocks.hashesAt(tip.height)
    blocks.turn()
    if (hashes.includes(tip.hash)) return false
    if (hashes.length < blocks.endpoints && now - this.forkedAt < FORK_PATIENCE_MS) return false
    const [again] = await blocks.headers([LATEST])
    if (!again || refOf(again).height > tip.height) return false
    if (!chain.has(refOf(again))) return true
    const others = refOf(again).height < height ? await blocks.hashesAt(height) : []
    return others.includes(named.hash) && !others.includes(this.disputed.hash)
  }

  /** Compares a block below the last final one with the database's block at or below that height. */
  private async checkFarBelow(chain: FollowedChain, named: BlockRef): Promise<void> {
    const { storedAtOrBelow, doubt } = this.options
    const reason = `the latest block of an RPC endpoint is ${named.height}, below the final block ${this.final.height}`
    doubt.contradicted(reason)
    const stored = chain.at(named.height) ?? (await storedAtOrBelow?.(named.height))
    if (stored) await this.checkFinal(stored, reason)
  }

  /** Throws a SettingsError once several polls in a row found another block at every endpoint. */
  private async checkFinal(final: BlockRef, reason: string): Promise<void> {
    const { blocks, doubt, finality } = this.options
    doubt.contradicted(reason)
    const found = await this.finalCheck.look(final)
    blocks.turn()
    if (typeof found === 'object') throw otherChain(finality, found)
  }

  /**
   * Records that the next block could not be read or written. Returns for how many milliseconds, or 0 while a
   * shorter chain may have removed the block.
   */
  private unwritten({ height, hash }: BlockRef, problem: string): number {
    const now = this.clock.now()
    const { seen, shorterSince } = this
    const isAbove = shorterSince !== undefined && seen !== undefined && height > seen.number
    // The chain no longer has this block, or one node behind the URL does not have it yet.
    if (isAbove && now - shorterSince > FORK_PATIENCE_MS) {
      this.unwrittenBlocks.forget(hash)
      return 0
    }
    const failedMs = this.unwrittenBlocks.failed(hash, now)
    if (isAbove) return 0
    if (failedMs > UNWRITTEN_PATIENCE_MS) this.options.doubt.contradicted(`block ${height} ${problem}`)
    return failedMs
  }

  private agreed(askedAt: number): void {
    this.agreedAt = askedAt
    this.shorterSince = undefined
    this.forkedAt = undefined
    this.finalCheck.forget()
    // The doubt ends when the followed chain no longer has the disputed block.
    if (!this.disputed || this.chain!.has(this.disputed)) return
    this.disputed = undefined
    this.options.doubt.followed()
  }
}
