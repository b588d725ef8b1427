import type { Logger } from '@subsquid/logger'
import { RpcError } from '@subsquid/rpc-client'
import type { BodyReader } from './bodies'
import type { Chain } from './chains'
import { NotFinalError, finalState, followsHead, noteAudited, repairLog, storedEvents, unaudited, type Database, type StoredEvent } from './database'
import { HistoryReader, headerCall, ofBlock, type BlockLogs, type RpcHeader } from './history'
import { announcedTimes, decodeBlock, eventFilter } from './processor'
import { eventId, project, type ChainEvent } from './project'
import { bloomTest, receiptsRoot, type RpcReceipt } from './proof'
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
  /** Blocks whose receipts do not hash to their header's root in any form known here: compared, not proven. */
  unproven: number
  /** Calls that were made. */
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

  constructor(private readonly options: AuditOptions) {
    this.mayHold = bloomTest([eventFilter(options.chain)])
  }

  /** Audits whatever has become final, for ever, at this many calls a second for proofs. Never throws. */
  async follow(callsPerSecond: number): Promise<never> {
    for (;;) {
      const wait = await this.step(callsPerSecond).catch((error: Error) => {
        this.second = !this.second
        // What is repaired once later events are final is no failure.
        const level = error instanceof NotFinalError ? 'info' : error instanceof OrphanedLogError ? 'fatal' : 'warn'
        this.options.log[level]({ chain: this.options.chain.slug, reason: error.message.slice(0, 500) }, 'the audit could not go on, will try again')
        return AFTER_FAILURE_MS
      })
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  /** The next bit of work; answers how long to pause after it, in milliseconds. */
  private async step(callsPerSecond: number): Promise<number> {
    const { chain, database } = this.options
    const state = await finalState(database.query, chain)
    // History first: reading it twice at once would slow both.
    if (!state || !(await followsHead(database.query, chain))) return IDLE_MS
    const once = (await unaudited(database.query, chain, 'reread', state.finalHeight)).find(({ from, to }) => to - from + 1 >= REREAD_AT_LEAST)
    if (once) {
      await this.reread(once.from, once.to)
      return 0
    }
    const unproven = (await unaudited(database.query, chain, 'proven', state.finalHeight)).pop()
    if (!unproven || callsPerSecond === 0) return IDLE_MS
    const { calls } = await this.prove(Math.max(unproven.from, unproven.to - BLOCKS_AT_ONCE + 1), unproven.to)
    return (calls / callsPerSecond) * 1000
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
      found.repaired += await this.compare(events, [], next, answer.to)
      await noteAudited(database.query, chain, 'reread', next, answer.to, 0)
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
    const headers = await rpc.batchCall<(RpcHeader & { receiptsRoot: string; transactions: string[] }) | null>(numbers.map(headerCall), { second: this.second })
    const stored = await this.stored(from, to)
    const holding = new Set([...stored.values()].map((event) => event.block_number))
    let calls = numbers.length
    let unproven = 0
    const events: ChainEvent[] = []
    const certain = new Set<number>()
    for (const [i, number] of numbers.entries()) {
      const header = headers[i]
      if (!header || Number(header.number) !== number) throw new Error(`the node has no block ${number}, which is final`)
      if (i > 0 && header.parentHash !== headers[i - 1]!.hash) throw new Error(`blocks ${number - 1} and ${number} are of different forks`)
      const orphan = [...stored.values()].find((event) => event.block_number === number && event.block_hash !== header.hash)
      if (orphan) throw new OrphanedLogError(`event ${orphan.id} is of block ${orphan.block_hash}, the chain's block ${number} is ${header.hash}: a reorg went deeper than ${chain.finality} blocks, or the RPC endpoint is of another network. Index the chain anew into an empty database`)
      if (!this.mayHold(header.logsBloom) && !holding.has(number)) continue
      const receipts = await this.receipts(header)
      calls += 1 + receipts.calls
      if ((await receiptsRoot(receipts.list)) === header.receiptsRoot) certain.add(number)
      else unproven++
      events.push(...decodeBlock(chain, { header, logs: ofBlock(receipts.list.flatMap((receipt) => receipt.logs), header) } satisfies BlockLogs))
    }
    const chainIds = new Set(events.map((event) => eventId(chain.slug, event.blockNumber, event.logIndex)))
    const surplus = [...stored.values()].filter((event) => certain.has(event.block_number) && !chainIds.has(event.id))
    const repaired = await this.compare(events, surplus, from, to, stored)
    await noteAudited(database.query, chain, 'proven', from, to, unproven)
    if (unproven) log.warn({ chain: chain.slug, from, to, blocks: unproven }, 'receipts of a form that is not known here: compared, but not proven')
    return { to, events: events.length, repaired, unproven, calls }
  }

  /** Holds events of the chain against the log and puts it right; answers how many events that were. */
  private async compare(events: readonly ChainEvent[], surplus: readonly StoredEvent[], from: number, to: number, known?: ReadonlyMap<string, StoredEvent>): Promise<number> {
    const { chain, database, bodies, log } = this.options
    const stored = known ?? (await this.stored(from, to))
    const missing = events.filter((event) => !stored.has(eventId(chain.slug, event.blockNumber, event.logIndex)))
    if (missing.length === 0 && surplus.length === 0) return 0
    const state = await finalState(database.query, chain)
    if (!state || state.finalHeight < to) throw new NotFinalError(`block ${to} is not final in the database yet`)
    const rows = project(chain.slug, missing, await bodies.read(announcedTimes(missing)), new Date()).events
    const repaired = await repairLog(database, chain, { events: rows, surplus, finalHeight: state.finalHeight })
    log.error(
      { chain: chain.slug, from, to, missing: missing.map(({ uid, kind }) => `${kind} ${uid}`).slice(0, 20), surplus: surplus.map(({ id }) => id).slice(0, 20), repaired },
      'the node had given other logs than the chain has: the log is repaired',
    )
    return repaired
  }

  /** Of the schemas that are watched: what was indexed under a setting that is gone is not held against the chain. */
  private stored(from: number, to: number): Promise<Map<string, StoredEvent>> {
    return storedEvents(this.options.database.query, this.options.chain, from, to, eventFilter(this.options.chain).topic3)
  }

  /** All receipts of a block, in order: in one call where the node has it, else one by one. */
  private async receipts(header: RpcHeader & { transactions: string[] }): Promise<{ list: RpcReceipt[]; calls: number }> {
    const { rpc } = this.options
    const whole = await rpc.call<RpcReceipt[] | null>('eth_getBlockReceipts', [header.number], { second: this.second }).catch((error: Error) => {
      if (error instanceof RpcError) return null
      throw error
    })
    const list = whole ?? (await rpc.batchCall<RpcReceipt | null>(header.transactions.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))))
    if (list.some((receipt) => receipt?.blockHash !== header.hash)) throw new Error(`receipts of block ${Number(header.number)} are missing, or of another fork`)
    return { list: list as RpcReceipt[], calls: whole ? 0 : list.length }
  }
}
