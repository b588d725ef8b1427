import type { Logger } from '@subsquid/logger'
import { isDataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import type { BlockReader, CheckedHeader } from './blocks'
import type { Doubt } from './doubt'
import { FollowedChain, type BlockRef, type HeadBlock } from './followed'
import { LATEST, headerByHash, headerCall } from './logs'
import { StoredBlockCheck, otherChain } from './replaced'

/**
 * Maximum number of blocks that one look reads, and of headers in one request: some endpoints fail long
 * batches.
 */
const LONGEST_STEP = 100
const HEADERS_AT_ONCE = 10
/**
 * Without a new block for this long the endpoint may have stopped: another one is queried alternately with
 * it.
 */
const STALLED_MS = 15_000
/** The pause before a batch is written again whose attestations no endpoint has yet. */
const AGAIN_AFTER_MS = 200
/** A shorter fork that only one of several endpoints can confirm is followed after this time. */
const FORK_PATIENCE_MS = 15_000

/** Result of the last look at the head, and how it compares with a block of the database. */
export interface HeadReport {
  /** The newest block that an endpoint has named; timestamp in Unix seconds. */
  readonly number: number
  readonly timestamp: number
  /** Milliseconds since that request. */
  readonly ageMs: number
  /**
   * The block of the database, and milliseconds since a look began that found it on the chain; Infinity if
   * none has.
   */
  readonly tipHash: string | undefined
  readonly agreementAgeMs: number
  /** Why the database may not agree with the chain. */
  readonly doubt: string | undefined
  /** Contradictions between responses since the last report. */
  readonly contradictions: number
}

/** A change of the followed chain: the blocks above `base` are replaced by these. */
export interface HeadUpdate {
  readonly base: BlockRef
  /** In order, at least one. */
  readonly blocks: readonly HeadBlock[]
  /** The last final block after the change. */
  readonly final: BlockRef
}

export interface HeadOptions {
  /** For this reader alone: it turns to other endpoints. */
  blocks: BlockReader
  doubt: Doubt
  log: Logger
  /** A block with this many blocks above it is final. */
  finality: number
  /** The pause between two looks, in milliseconds. */
  pollMs: number
  /** The newest block at or below this number whose hash the database holds, for blocks that are final. */
  storedAtOrBelow?: (height: number) => Promise<BlockRef | undefined>
  clock?: Clock
}

/**
 * The head of a chain, verified. A look reads the latest block that an endpoint names and compares it with
 * the followed chain at that height:
 * - The same block at the tip: the database agrees with the chain.
 * - The same block below the tip: the endpoint lags. This proves nothing about the tip.
 * - A block above the tip: the blocks between are read and linked by their parents' hashes, back to the block
 *   that both chains share. Each is followed once its logs are known (blocks.ts).
 * - Another block at or below the tip: a fork. It is followed as soon as a second look confirms it and no
 *   endpoint has the tip, however long it is.
 * - Another block instead of a final one: the chain was replaced, or the endpoint is of another network. If
 *   all endpoints repeat that, the indexer ends.
 */
export class HeadReader {
  private chain: FollowedChain | undefined
  /** The last final block in the database. */
  private final: BlockRef = { height: -1, hash: '0x' }
  /**
   * The newest block that an endpoint has named: timestamp in Unix seconds, time of the request by the clock.
   */
  private seen: { number: number; timestamp: number; askedAt: number } | undefined
  /** When a look began that found the tip to be the head or an ancestor of it. */
  private agreedAt = -Infinity
  /** When a block was last followed. */
  private movedAt = -Infinity
  /** Since when looks have named a fork that is not confirmed. */
  private forkedAt: number | undefined
  /** The block of the followed chain instead of which a fork has another one. */
  private disputed: BlockRef | undefined
  private readonly finalCheck: StoredBlockCheck
  private looking: Promise<void> | undefined
  private readonly clock: Clock

  constructor(private readonly options: HeadOptions) {
    this.clock = options.clock ?? MONOTONIC
    this.finalCheck = new StoredBlockCheck(options.blocks, this.clock)
  }

  /**
   * Follows the chain from the blocks that the database holds: the last final one, and those above it. Passes
   * each change to `write`, one at a time. Throws a SettingsError if the chain was replaced, and what `write`
   * throws. Ends only when the signal aborts, by its reason.
   */
  async follow(
    stored: readonly [BlockRef, ...BlockRef[]],
    write: (update: HeadUpdate) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<never> {
    const { log, pollMs, finality } = this.options
    const chain = (this.chain = new FollowedChain(stored))
    this.final = stored[0]
    let written: readonly BlockRef[] = stored
    for (;;) {
      await this.look().catch((error: Error) => {
        if (error instanceof SettingsError) throw error
        this.options.blocks.turn()
        log.warn({ reason: error.message.slice(0, 300) }, 'Could not read the head. It is read again.')
      })
      signal?.throwIfAborted()
      const { tip } = chain
      if (tip.hash === written[written.length - 1]!.hash) {
        await this.clock.pause(pollMs, signal)
        continue
      }
      const shared = written.findLastIndex((block) => chain.has(block))
      const base = written[shared]!
      const blocks = chain.above(base.height)
      const finalHeight = Math.max(this.final.height, tip.height - finality)
      const final = chain.at(finalHeight)!
      // A look during the write must not leave a block that is final after it.
      const before = this.final
      this.final = { height: final.height, hash: final.hash }
      try {
        await write({ base, blocks: blocks.map(({ block }) => block!), final })
      } catch (error) {
        if (!isDataConsistencyError(error)) throw error
        // Nothing was written: no endpoint has the state of a block yet, or a fork has taken it back.
        log.info({ reason: error.message.slice(0, 300) }, 'A batch is not complete yet. It is read again.')
        this.final = before
        this.options.blocks.turn()
        await this.clock.pause(AGAIN_AFTER_MS, signal)
        continue
      }
      written = [...written.slice(0, shared + 1), ...blocks].filter(({ height }) => height >= finalHeight)
      // A look that was cut short is continued at once.
      if (this.seen && this.seen.number > tip.height) continue
      await this.clock.pause(pollMs, signal)
    }
  }

  /**
   * Reports on the last look, or on a new one if that was long ago. `readTip` reads the last block that the
   * database holds. Throws before an endpoint has named a block.
   */
  async report(readTip: () => Promise<BlockRef | undefined>): Promise<HeadReport> {
    const { doubt, pollMs } = this.options
    if (!this.seen || this.clock.now() - this.seen.askedAt > 1.5 * pollMs) await this.look()
    const tip = await readTip()
    if (!this.seen) throw new Error('no endpoint has a latest block')
    const { number, timestamp, askedAt } = this.seen
    // Blocks that are known but not written yet count, though an endpoint that lags names an older one.
    const known = this.chain && number >= this.final.height ? this.chain.tip.block?.header : undefined
    const isKnown = known !== undefined && Number(known.number) > number
    return {
      number: isKnown ? Number(known.number) : number,
      timestamp: isKnown ? Number(known.timestamp) : timestamp,
      ageMs: this.clock.now() - askedAt,
      // Before the chain is followed, what was noted stays: it ages.
      tipHash: this.chain && tip?.hash,
      agreementAgeMs: tip ? this.agreementAge(tip) : Infinity,
      doubt: doubt.reason(),
      contradictions: doubt.takeContradictions(),
    }
  }

  /**
   * Milliseconds since a look began that found this block to be the head, or an ancestor of it; Infinity if
   * none has.
   */
  agreementAge(block: BlockRef): number {
    return this.chain?.has(block) ? this.clock.now() - this.agreedAt : Infinity
  }

  /** Forgets when looks took place: more time has passed than the clock shows. */
  forgetLooks(): void {
    this.agreedAt = -Infinity
    this.seen = undefined
  }

  /** The block of this number on the followed chain, if it was read with the filters that apply now. */
  known(height: number): HeadBlock | undefined {
    const block = this.chain?.at(height)?.block
    return block?.version === this.options.blocks.selection.version ? block : undefined
  }

  /** The audit has proven these blocks. */
  settled(from: number, to: number): void {
    for (let height = from; height <= to; height++) {
      const block = this.chain?.at(height)?.block
      if (block) block.evidence = 'proven'
    }
    this.countUnproven()
  }

  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => (this.looking = undefined))
    return this.looking
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
    if (chain.has(ref)) return this.finalCheck.forget()
    if (await this.isConfirmed(chain, ref)) await this.extend(chain, latest, askedAt)
  }

  /**
   * Follows the blocks up to the latest one, as many as a look reads, and leaves those that are not their
   * ancestors.
   */
  private async extend(chain: FollowedChain, latest: CheckedHeader, askedAt: number): Promise<void> {
    const { blocks } = this.options
    const { tip } = chain
    const { height } = refOf(latest)
    const missing = Array.from(
      { length: Math.max(0, Math.min(height - 1 - tip.height, LONGEST_STEP)) },
      (_, i) => tip.height + 1 + i,
    )
    const requests: Promise<(CheckedHeader | null)[]>[] = []
    for (let i = 0; i < missing.length; i += HEADERS_AT_ONCE)
      requests.push(blocks.headers(missing.slice(i, i + HEADERS_AT_ONCE).map(headerCall)))
    const read = (await Promise.all(requests)).flat()
    if (height <= tip.height + missing.length + 1) read.push(latest)
    const broken = read.findIndex(
      (each, i) => !each || (i > 0 && parentOf(each) !== read[i - 1]!.header.hash),
    )
    const linked = (broken < 0 ? read : read.slice(0, broken)) as CheckedHeader[]
    const path = await this.linkedToChain(chain, linked)
    const complete = path.length > 0 ? await this.completeAll(path) : []
    if (complete.length < path.length || broken >= 0 || path.length === 0) blocks.turn()
    if (complete.length > 0) {
      const base = Number(complete[0]!.header.number) - 1
      chain.replaceAbove(base, complete, this.final.height)
      this.movedAt = this.clock.now()
      this.countUnproven()
    }
    // Blocks whose logs are not known yet are ancestors of the latest one all the same.
    const isLinked = path.length > 0 && path[path.length - 1] === latest
    if (isLinked && (complete.length > 0 || parentOf(path[0]!) === tip.hash)) this.agreed(askedAt)
  }

  /**
   * These headers, preceded by their ancestors back to a block of the followed chain. None if an ancestor is
   * missing, or if the endpoint has another final block.
   */
  private async linkedToChain(
    chain: FollowedChain,
    headers: readonly CheckedHeader[],
  ): Promise<CheckedHeader[]> {
    const path = [...headers]
    while (path.length > 0) {
      const [first] = path as [CheckedHeader]
      const parent = { height: refOf(first).height - 1, hash: parentOf(first) }
      const { height } = this.final
      if (parent.height >= height && chain.has(parent)) return path
      if (parent.height <= height) {
        await this.checkFinal(this.final, `a branch without the final block ${height} was named`)
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
   * True if the chain has left the tip for a fork that is not longer: no endpoint has the tip, and a second
   * look names no block of the followed chain either. A node that only lags, or one of several nodes behind
   * one URL, does not pass.
   */
  private async isConfirmed(chain: FollowedChain, named: BlockRef): Promise<boolean> {
    const { blocks, doubt } = this.options
    const { tip } = chain
    const { height } = named
    this.disputed = { height, hash: chain.at(height)!.hash }
    doubt.forked(`block ${height} is ${named.hash} by an endpoint, ${this.disputed.hash} in the database`)
    const now = this.clock.now()
    this.forkedAt ??= now
    const hashes = await blocks.hashesAt(tip.height)
    blocks.turn()
    if (hashes.includes(tip.hash)) return false
    if (hashes.length < blocks.endpoints && now - this.forkedAt < FORK_PATIENCE_MS) return false
    const [again] = await blocks.headers([LATEST])
    return again != null && refOf(again).height <= tip.height && !chain.has(refOf(again))
  }

  /** Compares a block below the last final one with the one that the database holds there or below it. */
  private async checkFarBelow(chain: FollowedChain, named: BlockRef): Promise<void> {
    const { storedAtOrBelow, doubt } = this.options
    const reason = `the latest block that an endpoint names is ${named.height}, below the final block ${this.final.height}`
    doubt.contradicted(reason)
    const stored = chain.at(named.height) ?? (await storedAtOrBelow?.(named.height))
    if (stored) await this.checkFinal(stored, reason)
  }

  /**
   * Throws a SettingsError once several looks in a row found that every endpoint has another block in its
   * place.
   */
  private async checkFinal(final: BlockRef, reason: string): Promise<void> {
    const { blocks, doubt, finality } = this.options
    doubt.contradicted(reason)
    const found = await this.finalCheck.look(final)
    blocks.turn()
    if (typeof found === 'object') throw otherChain(finality, found)
  }

  /**
   * The first of these blocks, up to one whose logs are not certain; all pass the selection as it is at the
   * end.
   */
  private async completeAll(path: readonly CheckedHeader[]): Promise<HeadBlock[]> {
    const { selection } = this.options.blocks
    const before = selection.version
    for (let learned = 0; ;) {
      const { version } = selection
      const read = await Promise.all(path.map((each) => this.complete(each)))
      for (const each of read) learned += each?.learned ?? 0
      if (selection.version !== version) continue
      // No block below these has logs of the schemas that they announce.
      if (version === before + learned) this.chain!.passes(version, before)
      const lacking = read.indexOf(null)
      return (lacking < 0 ? read : read.slice(0, lacking)).map((each) => each!.block)
    }
  }

  /** The block with its logs; null while they are missing or not certain. */
  private async complete(checked: CheckedHeader): Promise<{ block: HeadBlock; learned: number } | null> {
    const found = await this.options.blocks.logs(checked)
    if (!found || found.contradicted) {
      this.options.log.info(
        { block: Number(checked.header.number) },
        'the logs of a block are not certain yet and will be read again',
      )
      return null
    }
    const { number, hash, parentHash, timestamp, logsBloom } = checked.header
    // Only what is used: a block has hundreds of transactions.
    const header = { number, hash, parentHash, timestamp, ...(logsBloom !== undefined && { logsBloom }) }
    const { logs, evidence, version, learned } = found
    return { block: { header, logs, evidence, version }, learned }
  }

  private agreed(askedAt: number): void {
    this.agreedAt = askedAt
    this.forkedAt = undefined
    this.finalCheck.forget()
    // The fork is followed, at once or after it has grown longer.
    if (!this.disputed || this.chain!.has(this.disputed)) return
    this.disputed = undefined
    this.options.doubt.followed()
  }

  private countUnproven(): void {
    this.options.doubt.unprovenAtHead = this.chain?.unproven ?? 0
  }
}

function refOf({ header }: CheckedHeader): BlockRef {
  return { height: Number(header.number), hash: header.hash }
}

function parentOf({ header }: CheckedHeader): string {
  return header.parentHash
}
