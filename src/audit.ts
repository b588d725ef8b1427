import type { Logger } from '@subsquid/logger'
import { RpcError } from '@subsquid/rpc-client'
import type { BodyReader } from './bodies'
import type { Chain } from './chains'
import { NotFinalError, finalState, followsHead, noteAudited, noteUnproven, repairLog, storedEvents, unaudited, type Database, type StoredEvent } from './database'
import { ContradictionError, HistoryReader, headerCall, logQuery, ofBlock, uniqueLogs, type RpcLog } from './history'
import { locationSchemaUids } from './location'
import { announcedTimes, decodeBlock, eventFilter } from './processor'
import { eventId, type ChainEvent } from './project'
import { bloomTest, hashesToItself, logsOf, receiptsRoot, type FullHeader, type RpcReceipt } from './proof'
import type { Rpc } from './rpc'

export interface AuditOptions {
  chain: Chain
  rpc: Rpc
  bodies: BodyReader
  database: Database
  log: Logger
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
const IDLE_MS = 5_000
const AFTER_FAILURE_MS = 10_000
/** A block whose receipts cannot be had or have an unknown form is tried again after so long. */
const POSTPONED_MS = 600_000
const MOST_POSTPONED = 10_000

/**
 * Holds the log against the chain, as a node may leave logs out of an answer and nobody would know (TRUST.md 6). Twice:
 * all of history is read again, by wide filtered getLogs from the endpoint that is asked last otherwise; and blocks are
 * proven, newest first: the bloom filter of each header says that there is nothing of ours, or the receipts of the
 * block, which must hash to the header's receiptsRoot, say exactly what. What is missing is put into the log.
 */
export class Auditor {
  private readonly mayHold: (logsBloom: string | undefined) => boolean
  /** Whether the endpoint that is asked last otherwise is asked first: after a failure. */
  private second = false
  private rereadAgainAt = 0
  /** Blocks that could not be proven, and when (Unix milliseconds) to try again. */
  private postponed: { from: number; to: number; until: number }[] = []

  constructor(private readonly options: AuditOptions) {
    this.mayHold = bloomTest([eventFilter(options.chain)])
  }

  /** Audits whatever has become final, for ever, at this many calls a second for proofs. Never throws. */
  async follow(callsPerSecond: number): Promise<never> {
    for (;;) {
      const wait = await this.step(callsPerSecond).catch((error: Error) => this.failed(error))
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  /** The next bit of work; answers how long to pause after it, in milliseconds. */
  private async step(callsPerSecond: number): Promise<number> {
    const { chain, database } = this.options
    const state = await finalState(database.query, chain)
    // History first: reading it twice at once would slow both.
    if (!state || !(await followsHead(database.query, chain))) return IDLE_MS
    if (Date.now() >= this.rereadAgainAt) {
      const once = (await unaudited(database.query, chain, 'reread', state.finalHeight)).find(({ from, to }) => to - from + 1 >= REREAD_AT_LEAST)
      if (once) {
        this.rereadAgainAt = Date.now() + AFTER_FAILURE_MS
        await this.reread(once.from, once.to)
        this.rereadAgainAt = 0
        return 0
      }
    }
    const now = Date.now()
    this.postponed = this.postponed.filter(({ until }) => until > now)
    const unproven = (await unaudited(database.query, chain, 'proven', state.finalHeight, this.postponed)).pop()
    if (!unproven || callsPerSecond === 0) return IDLE_MS
    const range = { from: Math.max(unproven.from, unproven.to - BLOCKS_AT_ONCE + 1), to: unproven.to }
    try {
      const { calls } = await this.prove(range.from, range.to)
      return (calls / callsPerSecond) * 1000
    } catch (error) {
      // What cannot be proven now must not keep what is older from being proven.
      this.postpone(range)
      throw error
    }
  }

  private postpone(range: { from: number; to: number }): void {
    this.postponed.push({ ...range, until: Date.now() + POSTPONED_MS })
    if (this.postponed.length > MOST_POSTPONED) this.postponed.shift()
  }

  private failed(error: Error): number {
    this.second = !this.second
    // What is repaired once later events are final is no failure.
    const level = error instanceof NotFinalError ? 'info' : error instanceof OrphanedLogError ? 'fatal' : 'warn'
    this.options.log[level]({ chain: this.options.chain.slug, reason: error.message.slice(0, 500) }, 'the audit could not go on, will try again')
    return AFTER_FAILURE_MS
  }

  /** Reads the logs of these final blocks once more and compares; adds what was missing. */
  async reread(from: number, to: number, progress: (done: number) => void = () => {}): Promise<Findings> {
    const { chain, database, rpc, log } = this.options
    const reader = new HistoryReader(rpc, { filters: [eventFilter(chain)], finality: chain.finality, log, second: true })
    const found: Findings = { to, events: 0, repaired: 0, unproven: 0, calls: 0 }
    for (let next = from; next <= to; ) {
      const answer = await reader.read(next, to)
      const events = answer.blocks.flatMap((block) => decodeBlock(chain, block))
      found.events += events.length
      found.repaired += await this.compare(events, [], await this.stored(next, answer.to), { from: next, to: answer.to })
      await noteAudited(database.query, chain, 'reread', { from: next, to: answer.to })
      next = answer.to + 1
      progress(next - from)
    }
    return found
  }

  /** Proves the logs of at most 100 final blocks; adds what was missing, takes out what never was. */
  async prove(from: number, end: number): Promise<Findings> {
    const { chain, database, rpc, log } = this.options
    const to = Math.min(end, from + BLOCKS_AT_ONCE - 1)
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
    const headers = await rpc.batchCall<FullHeader | null>(numbers.map(headerCall), { second: this.second })
    const stored = await this.stored(from, to)
    const byBlock = new Map<number, StoredEvent[]>()
    for (const event of stored.values()) byBlock.set(event.block_number, [...(byBlock.get(event.block_number) ?? []), event])
    let calls = numbers.length
    const unproven: number[] = []
    const events: ChainEvent[] = []
    const surplus: StoredEvent[] = []
    for (const [i, number] of numbers.entries()) {
      const header = headers[i]
      if (!header || Number(header.number) !== number) throw new ContradictionError(`the node has no block ${number}, which is final`)
      if (i > 0 && header.parentHash !== headers[i - 1]!.hash) throw new ContradictionError(`blocks ${number - 1} and ${number} are of different forks`)
      const own = byBlock.get(number) ?? []
      const orphan = own.find((event) => event.block_hash !== header.hash)
      if (orphan) throw new OrphanedLogError(`event ${orphan.id} is of block ${orphan.block_hash}, the node's block ${number} is ${header.hash}: a reorg went deeper than ${chain.finality} blocks, or the RPC endpoint is of another network. If other endpoints say so too, index the chain anew into an empty database`)
      const headerStands = hashesToItself(header)
      if (headerStands && !this.mayHold(header.logsBloom) && own.length === 0) continue
      const found = await this.logs(header)
      calls += found.calls
      const ours = decodeBlock(chain, { header, logs: found.logs })
      events.push(...ours)
      if (!found.proven || !headerStands) unproven.push(number)
      else {
        const onChain = new Map(ours.map((event) => [eventId(chain.slug, event.blockNumber, event.logIndex), event]))
        for (const event of own) if (!isSame(event, onChain.get(event.id))) surplus.push(event)
      }
    }
    for (const event of surplus) stored.delete(event.id)
    const repaired = await this.compare(events, surplus, stored, { from, to })
    await noteAudited(database.query, chain, 'proven', { from, to }, unproven)
    for (const block of unproven) this.postpone({ from: block, to: block })
    if (unproven.length) log.warn({ chain: chain.slug, blocks: unproven.slice(0, 20), count: unproven.length }, 'headers or receipts that do not hash to what they should, in no form known here: compared, but not proven')
    await noteUnproven(database.query, chain, this.postponed.reduce((sum, range) => sum + range.to - range.from + 1, 0))
    return { to, events: events.length, repaired, unproven: unproven.length, calls }
  }

  /** Holds events of the chain against the log and puts it right; answers how many events that were. */
  private async compare(events: readonly ChainEvent[], surplus: readonly StoredEvent[], stored: ReadonlyMap<string, StoredEvent>, { from, to }: { from: number; to: number }): Promise<number> {
    const { chain, database, bodies, log } = this.options
    const missing = events.filter((event) => !stored.has(eventId(chain.slug, event.blockNumber, event.logIndex)))
    if (missing.length === 0 && surplus.length === 0) return 0
    const state = await finalState(database.query, chain)
    if (!state || state.finalHeight < to) throw new NotFinalError(`block ${to} is not final in the database yet`)
    const repaired = await repairLog(database, chain, { events: missing, bodies: await bodies.read(announcedTimes(missing)), surplus, finalHeight: state.finalHeight })
    log.error(
      { chain: chain.slug, from, to, missing: missing.map(({ uid, kind }) => `${kind} ${uid}`).slice(0, 20), surplus: surplus.map(({ id }) => id).slice(0, 20), repaired },
      'the node had given other logs than the chain has: the log is repaired',
    )
    return repaired
  }

  /** Of the schemas that are watched: what was indexed under a setting that is gone is not held against the chain. */
  private stored(from: number, to: number): Promise<Map<string, StoredEvent>> {
    return storedEvents(this.options.database.query, this.options.chain, from, to, locationSchemaUids())
  }

  /**
   * All logs of a block by its receipts, from whichever endpoint gives receipts that hash to the header's root; else those
   * of its receipts and of eth_getLogs together, unproven.
   */
  private async logs(header: FullHeader): Promise<{ logs: RpcLog[]; proven: boolean; calls: number }> {
    const { rpc, chain } = this.options
    const seen: RpcLog[] = []
    let calls = 0
    for (const second of [this.second, !this.second]) {
      const receipts = await this.receipts(header, second)
      calls += receipts.calls
      if (!receipts.list) continue
      const logs = logsOf(header, receipts.list)
      if ((await receiptsRoot(receipts.list)) === header.receiptsRoot) return { logs, proven: true, calls }
      seen.push(...logs)
    }
    const asked = await rpc.call<RpcLog[]>('eth_getLogs', [{ blockHash: header.hash, ...logQuery(eventFilter(chain)) }], { second: this.second })
    // Where receipts are in doubt the numbers that eth_getLogs gives to its logs come first.
    const told = ofBlock(uniqueLogs(asked), header)
    return { logs: told.length ? told : seen.filter((log, i) => seen.findIndex((other) => other.logIndex === log.logIndex) === i), proven: false, calls: calls + 1 }
  }

  /** The receipts of a block, in order: in one call where the node has it, else one by one; no list where it has not got them all. */
  private async receipts(header: FullHeader, second: boolean): Promise<{ list?: RpcReceipt[]; calls: number }> {
    const { rpc } = this.options
    const orNull = (error: Error) => {
      if (error instanceof RpcError) return null
      throw error
    }
    const whole = await rpc.call<RpcReceipt[] | null>('eth_getBlockReceipts', [header.number], { second }).catch(orNull)
    const list = whole ?? (await rpc.batchCall<RpcReceipt | null>(header.transactions.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })), { second }).catch(orNull))
    const calls = 1 + (whole ? 0 : header.transactions.length)
    return list?.every((receipt) => receipt?.blockHash === header.hash) ? { list: list as RpcReceipt[], calls } : { calls }
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
