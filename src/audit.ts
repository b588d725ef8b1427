import type { Logger } from '@subsquid/logger'
import { BlockReader } from './blocks'
import type { BodyReader } from './bodies'
import type { Chain } from './chains'
import {
  NotFinalError,
  finalState,
  followsHead,
  noteAudited,
  noteUnproven,
  repairLog,
  spendAuditCalls,
  storedEvents,
  unaudited,
  type Database,
  type StoredEvent,
} from './database'
import type { Doubt } from './doubt'
import type { HeadReader } from './head'
import { HistoryReader, headerCall, type RpcHeader } from './history'
import { locationSchemaUids } from './location'
import { announcedTimes, decodeBlock, eventFilter } from './processor'
import { eventId, type ChainEvent } from './project'
import { ContradictionError, type Rpc } from './rpc'

export interface AuditOptions {
  chain: Chain
  rpc: Rpc
  bodies: BodyReader
  database: Database
  log: Logger
  /** Of the indexer that it runs in: what it has proven at the head needs no proof. */
  head?: HeadReader
  doubt?: Doubt
}

/** What an audit of a range found. */
export interface Findings {
  /** The last block audited. */
  to: number
  /** Events of ours that the chain has there. */
  events: number
  /** Events that were missing in the log, or in it though the chain never had them: now put right. */
  repaired: number
  /** Blocks whose header or receipts do not hash to what they should in any form known here: compared, not proven. */
  unproven: number
  /** Those of them whose receipts are false in a form that is known: some endpoint lies. */
  contradicted: number
  /** Calls that were made to prove them. */
  calls: number
}

/** The log holds events of a block that is not the chain's, below finality. Nothing here can put that right. */
export class OrphanedLogError extends Error {
  override readonly name = 'OrphanedLogError'
}

/** Headers proven at a time. */
const BLOCKS_AT_ONCE = 100
/** What has become final since is read again once it is so much: proof, which comes first at the head, makes it needless. */
const REREAD_AT_LEAST = 2_000
/** Calls of a second reading, between two looks at the budget. */
const READS_AT_ONCE = 100
const IDLE_MS = 5_000
/** So many calls a second while any are left: what has been saved up is spent at this rate. */
const HIGHEST_RATE = 20
const DAY_SECONDS = 86_400
/** The share of a day's calls that is kept for what is new or failed; the rest goes to old history. */
const KEPT_SHARE = 0.5
/** Calls beyond the budget that may be made for blocks that are in doubt: these cannot wait. */
const RESERVE = 2_000
/** What is no further below the last final block than this is new. */
const NEW_BLOCKS = 5_000
/** What could not be held against the chain is tried again after so long, twice as long each time. */
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 600_000
/** But the newest of it often: it tells when the endpoint is honest again. */
const LONGEST_NEWEST_RETRY_MS = 10_000
/** For so many tries, some ten minutes. */
const OFTEN_TRIES = 60
/** Of what failed, so many blocks are tried again first. */
const PROBED_BLOCKS = 10
/** After so many failures in a row only what failed is tried. */
const MOST_FAILED_IN_ROW = 3
/** A block whose receipts cannot be had or have an unknown form, the first and the longest time. */
const UNPROVEN_RETRY_MS = 600_000
const LONGEST_UNPROVEN_RETRY_MS = DAY_SECONDS * 1000
const MOST_POSTPONED = 10_000

interface Postponed {
  from: number
  to: number
  /** Unix milliseconds */
  until: number
  tries: number
  /** Whether it could not be compared, for contradictions; else it was compared, but not proven. */
  failed: boolean
}

/**
 * Holds the log against the chain, as a node may leave logs out of an answer and nobody would know (TRUST.md 6). Twice:
 * all of history is read again, by wide filtered getLogs from the endpoint that is asked last otherwise; and blocks are
 * proven, newest first: the bloom filter of each header says that there is nothing of ours, or the receipts of the
 * block, which must hash to the header's receiptsRoot, say exactly what. What is missing is put into the log. Blocks that
 * were proven at the head cost no call; all others a share of a day's budget, of which a part is kept for new blocks.
 */
export class Auditor {
  private readonly blocks: BlockReader
  /** Whether the endpoint that is asked last otherwise is asked first: after a failure. */
  private second = false
  private failures = 0
  /** Proofs that asked a node and failed since the last one that did not. */
  private failedInRow = 0
  private postponed: Postponed[] = []
  /** What is left of a second reading that the budget has interrupted. */
  private rereading: { from: number; to: number } | undefined

  constructor(private readonly options: AuditOptions) {
    this.blocks = new BlockReader(options.rpc, [eventFilter(options.chain)], options.doubt)
  }

  /** Audits whatever has become final, for ever, at this many calls a second on average; 0: no proofs. Never throws. */
  async follow(callsPerSecond: number): Promise<never> {
    for (;;) {
      const wait = await this.step(callsPerSecond).then(
        (ms) => ((this.failures = 0), ms),
        (error: Error) => this.failed(error),
      )
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  /** The next bit of work; answers how long to pause after it, in milliseconds. */
  private async step(callsPerSecond: number): Promise<number> {
    const { chain, database } = this.options
    const state = await finalState(database.query, chain)
    // History first: reading it twice at once would slow both.
    if (!state || !(await followsHead(database.query, chain))) return IDLE_MS
    const proofs =
      callsPerSecond > 0
        ? await this.proveNext(state.finalHeight, state.finalHash, callsPerSecond)
        : undefined
    return proofs ?? (await this.rereadNext(state.finalHeight, callsPerSecond)) ?? IDLE_MS
  }

  /** Proves the newest blocks that are not; undefined when none are left, or no calls for them. */
  private async proveNext(
    finalHeight: number,
    finalHash: string,
    callsPerSecond: number,
  ): Promise<number | undefined> {
    const { chain, database, head } = this.options
    const waiting = this.postponed.filter(({ until }) => until > Date.now())
    const gaps = await unaudited(database.query, chain, 'proven', finalHeight, waiting)
    // What is followed at the head must be what the database holds.
    const trusted = head?.known(finalHeight)?.header.hash === finalHash ? head : undefined
    for (const gap of gaps.reverse()) {
      let range = { from: Math.max(gap.from, gap.to - BLOCKS_AT_ONCE + 1), to: gap.to }
      let known = range.to
      while (known >= range.from && trusted?.known(known)?.standing === 'proven') known--
      // First what costs nothing.
      const isFree = known < range.to
      if (isFree) range = { ...range, from: known + 1 }
      const before = this.postponed.find(({ from, to }) => from <= range.to && to >= range.from)
      // Whoever has lied lately is asked for little, and for nothing else, until that is proven.
      if (before?.failed) range = { ...range, from: Math.max(range.from, range.to - PROBED_BLOCKS + 1) }
      else if (!isFree && this.failedInRow >= MOST_FAILED_IN_ROW) continue
      // Old history is proven only from what is saved up beyond the part that is kept.
      const isNew = range.to > finalHeight - NEW_BLOCKS
      const day = callsPerSecond * DAY_SECONDS
      // What the head has read, but could not prove, cannot wait until calls are saved up.
      const isInDoubt = trusted?.known(range.to) !== undefined
      const kept = isInDoubt ? -RESERVE : isNew ? 0 : KEPT_SHARE * day
      const needed = isFree || before?.failed ? -Infinity : Math.min(kept + range.to - range.from + 1, day)
      if (needed > -Infinity && (await spendAuditCalls(database.query, chain, 0, callsPerSecond)) < needed)
        return undefined
      try {
        const { calls, contradicted } = await this.prove(range.from, range.to, trusted)
        if (calls) {
          this.failedInRow = contradicted ? this.failedInRow + 1 : 0
          await spendAuditCalls(database.query, chain, calls, callsPerSecond)
        }
        if (before?.failed && !contradicted) this.honestAgain(range)
        return (calls / Math.max(callsPerSecond, HIGHEST_RATE)) * 1000
      } catch (error) {
        this.failedInRow++
        await spendAuditCalls(database.query, chain, range.to - range.from + 1, callsPerSecond)
        // What cannot be proven now must not keep what is older from being proven.
        this.postpone(before?.failed ? before : range, true)
        throw error
      }
    }
    return undefined
  }

  /** The second reading of the next blocks; undefined when none are left, or no calls for them. */
  private async rereadNext(finalHeight: number, callsPerSecond: number): Promise<number | undefined> {
    const { chain, database } = this.options
    const enough = ({ from, to }: { from: number; to: number }) => to - from + 1 >= REREAD_AT_LEAST
    this.rereading ??= (await unaudited(database.query, chain, 'reread', finalHeight)).find(enough)
    if (!this.rereading) return undefined
    const kept = KEPT_SHARE * callsPerSecond * DAY_SECONDS
    if (callsPerSecond > 0 && (await spendAuditCalls(database.query, chain, 0, callsPerSecond)) < kept)
      return undefined
    const { from, to } = this.rereading
    let spent = 0
    const found = await this.reread(
      from,
      to,
      () => {},
      (calls) => (spent += calls) < READS_AT_ONCE,
    )
    if (callsPerSecond > 0) await spendAuditCalls(database.query, chain, found.calls, callsPerSecond)
    this.rereading = found.to < to ? { from: found.to + 1, to } : undefined
    return 0
  }

  /** Tries the range again later; `earlier` says how often it has been tried. */
  private postpone(range: { from: number; to: number }, failed: boolean, earlier = this.postponed): void {
    const before = earlier.find(({ from, to }) => from <= range.to && to >= range.from)
    const tries = before ? before.tries + 1 : 0
    const [first, longest] = failed
      ? [FIRST_RETRY_MS, LONGEST_RETRY_MS]
      : [UNPROVEN_RETRY_MS, LONGEST_UNPROVEN_RETRY_MS]
    this.forget(range)
    this.postponed.push({
      from: range.from,
      to: range.to,
      failed,
      tries,
      until: Date.now() + Math.min(first * 2 ** tries, longest),
    })
    if (this.postponed.length > MOST_POSTPONED) this.postponed.shift()
    const newest = this.failedOnes().reduce<Postponed | undefined>(
      (a, b) => (a && a.to > b.to ? a : b),
      undefined,
    )
    if (newest && newest.tries < OFTEN_TRIES)
      newest.until = Math.min(newest.until, Date.now() + LONGEST_NEWEST_RETRY_MS)
    this.noteDoubt()
  }

  private forget(range: { from: number; to: number }): void {
    this.postponed = this.postponed.filter(({ from, to }) => from > range.to || to < range.from)
    this.noteDoubt()
  }

  /** What failed was proven: whatever else failed is due now. */
  private honestAgain(range: { from: number; to: number }): void {
    for (const each of this.failedOnes()) each.until = 0
    this.options.log.info(
      { chain: this.options.chain.slug, ...range },
      'blocks that could not be audited are proven now',
    )
  }

  private failedOnes(): Postponed[] {
    return this.postponed.filter(({ failed }) => failed)
  }

  private noteDoubt(): void {
    if (this.options.doubt) this.options.doubt.repairsPending = this.failedOnes().length
  }

  private failed(error: Error): number {
    this.second = !this.second
    // What is repaired once later events are final is no failure.
    const level =
      error instanceof NotFinalError ? 'info' : error instanceof OrphanedLogError ? 'fatal' : 'warn'
    this.options.log[level](
      { chain: this.options.chain.slug, reason: error.message.slice(0, 500) },
      'the audit could not go on, will try again',
    )
    return Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LONGEST_NEWEST_RETRY_MS)
  }

  /**
   * Reads the logs of these final blocks once more and compares; adds what was missing. Stops early once `goesOn`, which
   * is told how many calls an answer took, says so.
   */
  async reread(
    from: number,
    to: number,
    progress: (done: number) => void = () => {},
    goesOn: (calls: number) => boolean = () => true,
  ): Promise<Findings> {
    const { chain, database, rpc, log, doubt } = this.options
    const reader = new HistoryReader(rpc, {
      filters: [eventFilter(chain)],
      finality: chain.finality,
      log,
      second: true,
      ...(doubt && { doubt }),
    })
    const found: Findings = { to: from - 1, events: 0, repaired: 0, unproven: 0, contradicted: 0, calls: 0 }
    while (found.to < to) {
      const next = found.to + 1
      const answer = await reader.read(next, to)
      const events = answer.blocks.flatMap((block) => decodeBlock(chain, block))
      found.events += events.length
      found.repaired += await this.compare(events, [], await this.stored(next, answer.to), {
        from: next,
        to: answer.to,
      })
      await noteAudited(database.query, chain, 'reread', { from: next, to: answer.to })
      const calls = reader.calls - found.calls
      found.calls = reader.calls
      found.to = answer.to
      progress(found.to - from + 1)
      if (!goesOn(calls)) break
    }
    return found
  }

  /** Proves the logs of at most 100 final blocks; adds what was missing, takes out what never was. */
  async prove(from: number, end: number, head?: HeadReader): Promise<Findings> {
    const { chain, database, log } = this.options
    const to = Math.min(end, from + BLOCKS_AT_ONCE - 1)
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
    const blocks = await this.headers(numbers, head)
    const stored = await this.stored(from, to)
    const byBlock = new Map<number, StoredEvent[]>()
    for (const event of stored.values())
      byBlock.set(event.block_number, [...(byBlock.get(event.block_number) ?? []), event])
    let { calls } = blocks
    const unproven: number[] = []
    const contradicted = new Set<number>()
    const events: ChainEvent[] = []
    const surplus: StoredEvent[] = []
    for (const [i, { header, read }] of blocks.list.entries()) {
      const number = numbers[i]!
      if (i > 0 && header.parentHash !== blocks.list[i - 1]!.header.hash)
        throw this.contradiction(`blocks ${number - 1} and ${number} are of different forks`)
      const own = byBlock.get(number) ?? []
      const orphan = own.find((event) => event.block_hash !== header.hash)
      if (orphan)
        throw new OrphanedLogError(
          `event ${orphan.id} is of block ${orphan.block_hash}, the node's block ${number} is ${header.hash}: a reorg went deeper than ${chain.finality} blocks, or the RPC endpoint is of another network. If other endpoints say so too, index the chain anew into an empty database`,
        )
      const found = await read()
      if (!found) throw this.contradiction(`the logs of block ${number} cannot be had for certain`)
      calls += found.calls
      const ours = decodeBlock(chain, { header, logs: found.logs })
      const onChain = new Map(
        ours.map((event) => [eventId(chain.slug, event.blockNumber, event.logIndex), event]),
      )
      const strange = own.filter((event) => !isSame(event, onChain.get(event.id)))
      // Told by an endpoint whose receipts are false: it may agree, but changes nothing.
      if (found.contradicted && found.standing === 'told' && (strange.length || own.length !== ours.length))
        throw this.contradiction(`the receipts of block ${number} do not hash to its receiptsRoot`)
      if (found.contradicted && found.standing !== 'proven') contradicted.add(number)
      events.push(...ours)
      if (found.standing === 'proven') surplus.push(...strange)
      else unproven.push(number)
    }
    for (const event of surplus) stored.delete(event.id)
    const repaired = await this.compare(events, surplus, stored, { from, to })
    await noteAudited(database.query, chain, 'proven', { from, to }, unproven)
    const earlier = this.postponed
    this.forget({ from, to })
    for (const block of unproven) this.postpone({ from: block, to: block }, contradicted.has(block), earlier)
    if (unproven.length === 0) this.options.head?.settled(from, to)
    if (unproven.length)
      log.warn(
        { chain: chain.slug, blocks: unproven.slice(0, 20), count: unproven.length },
        'headers or receipts that do not hash to what they should, in no form known here: compared, but not proven',
      )
    await noteUnproven(
      database.query,
      chain,
      this.postponed.reduce((sum, range) => sum + range.to - range.from + 1, 0),
    )
    return {
      to,
      events: events.length,
      repaired,
      unproven: unproven.length,
      contradicted: contradicted.size,
      calls,
    }
  }

  /** The headers of these blocks, in order, and how to read the logs of each: what is proven at the head already needs no call. */
  private async headers(numbers: readonly number[], head?: HeadReader) {
    const known = (number: number) =>
      ((block) => (block?.standing === 'proven' ? block : undefined))(head?.known(number))
    const lacking = numbers.filter((number) => !known(number))
    const fetched = await this.blocks.headers(lacking.map(headerCall), { second: this.second, anyForm: true })
    const byNumber = new Map(lacking.map((number, i) => [number, fetched[i]!]))
    // Where some hash to themselves, those that do not are false; where none does, their form is not known.
    const formIsKnown = fetched.some((each) => each?.stands)
    const list = numbers.map((number): { header: RpcHeader; read: () => ReturnType<BlockReader['logs']> } => {
      const block = known(number)
      if (block)
        return {
          header: block.header,
          read: () =>
            Promise.resolve({ logs: block.logs, standing: 'proven', contradicted: false, calls: 0 }),
        }
      const each = byNumber.get(number)
      if (!each) throw this.contradiction(`the node has no block ${number}, which is final`)
      if (formIsKnown && !each.stands)
        throw this.contradiction(`the header of block ${number} does not hash to its hash`)
      return {
        header: each.header,
        read: () => this.blocks.logs(each, { second: this.second, receiptByReceipt: true }),
      }
    })
    return { list, calls: lacking.length }
  }

  private contradiction(reason: string): ContradictionError {
    this.options.doubt?.contradicted(reason)
    return new ContradictionError(reason)
  }

  /** Holds events of the chain against the log and puts it right; answers how many events that were. */
  private async compare(
    events: readonly ChainEvent[],
    surplus: readonly StoredEvent[],
    stored: ReadonlyMap<string, StoredEvent>,
    { from, to }: { from: number; to: number },
  ): Promise<number> {
    const { chain, database, bodies, log, doubt } = this.options
    const missing = events.filter(
      (event) => !stored.has(eventId(chain.slug, event.blockNumber, event.logIndex)),
    )
    if (missing.length === 0 && surplus.length === 0) return 0
    doubt?.contradicted(`blocks ${from} to ${to} have other logs than a node has given`)
    const state = await finalState(database.query, chain)
    if (!state || state.finalHeight < to)
      throw new NotFinalError(`block ${to} is not final in the database yet`)
    const repaired = await repairLog(database, chain, {
      events: missing,
      bodies: await bodies.read(announcedTimes(missing)),
      surplus,
      finalHeight: state.finalHeight,
    })
    log.error(
      {
        chain: chain.slug,
        from,
        to,
        missing: missing.map(({ uid, kind }) => `${kind} ${uid}`).slice(0, 20),
        surplus: surplus.map(({ id }) => id).slice(0, 20),
        repaired,
      },
      'the node had given other logs than the chain has: the log is repaired',
    )
    return repaired
  }

  /** Of the schemas that are watched: what was indexed under a setting that is gone is not held against the chain. */
  private stored(from: number, to: number): Promise<Map<string, StoredEvent>> {
    return storedEvents(this.options.database.query, this.options.chain, from, to, locationSchemaUids())
  }
}

/** Whether a stored event says of the chain's event what the chain does. */
function isSame(stored: StoredEvent, event: ChainEvent | undefined): boolean {
  return (
    event !== undefined &&
    stored.kind === event.kind &&
    stored.uid === event.uid &&
    stored.schema_uid === event.schemaUid &&
    stored.attester === event.attester &&
    stored.recipient === event.recipient &&
    stored.transaction_hash === event.transactionHash
  )
}
