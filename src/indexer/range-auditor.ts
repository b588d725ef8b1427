import type { Logger } from '@subsquid/logger'
import {
  BlockReader,
  chainBlock,
  ContradictionError,
  type Doubt,
  headerCall,
  type HeadReader,
  HistoryReader,
  type RpcHeader,
} from '../chain'
import type { Chain } from '../chains'
import type { Clock } from '../clock'
import { isLocationSchema } from '../location'
import type { Rpc } from '../rpc'
import { FalseBodyError, MissingBodyError, type BodyReader } from './bodies'
import {
  NotFinalError,
  finalBlock,
  noteAudited,
  repairLog,
  storedEvents,
  STORED_COLUMNS,
  type BlockRange,
  type Database,
  type StoredEvent,
  type Transactions,
} from './store'
import { announcedTimes, decodeEvents } from './processor'
import { eventId, eventRow, type ChainEvent } from './project'
import { watchedOf, type Registry } from './registry'

export interface AuditOptions {
  chain: Chain
  rpc: Rpc
  registry: Registry
  bodies: BodyReader
  database: Database
  /** The chain's lease if this process is its indexer, which repairs nothing once it has lost it. */
  lease?: Transactions
  log: Logger
  /** Head reader of this process. Blocks that it has proven need no further proof. */
  head?: HeadReader
  doubt?: Doubt
  /** Clock of pauses and of patience with endpoints. */
  clock?: Clock
}

/** Result of rereading a range. */
export interface Reread {
  /** Last block that was read. */
  to: number
  /** Number of events on the chain, in the range, of the watched schemas and attesters. */
  events: number
  /** Number of events that were inserted into the event log or deleted from it. */
  repaired: number
  /** Number of JSON-RPC calls made. */
  calls: number
}

/** Result of proving a range. */
interface RangeProof extends Omit<Reread, 'to'> {
  /** Blocks that were compared, but not proven: their header or receipts do not hash as expected. */
  unproven: number[]
  /** The unproven blocks whose receipts have a known form but another root: an endpoint lies. */
  contradicted: Set<number>
}

/** The event log has events of a final block that the chain does not have. The audit cannot repair this. */
export class OrphanedLogError extends Error {
  override readonly name = 'OrphanedLogError'
}

/** Compares the event log with the chain, one range of final blocks at a time, and repairs the event log. */
export class RangeAuditor {
  private readonly blocks: BlockReader

  constructor(private readonly options: AuditOptions) {
    this.blocks = new BlockReader(options.rpc, options.registry, options.doubt, options.clock)
  }

  /** Makes proofs query the next endpoint first. */
  turn(): void {
    this.blocks.turn()
  }

  /**
   * Reads the logs of these blocks again, from the least preferred endpoint first. A block of which the event
   * log lacks an event is proven, because the endpoint may have invented the event. Only the history of a new
   * schema, which may be long, is inserted without proof, like all history at its first reading. Stops early
   * if `progress`, called with the result so far after each response, returns false. Throws like `prove()`.
   */
  async reread(
    { from, to }: BlockRange,
    progress: (read: Readonly<Reread>) => boolean = () => true,
  ): Promise<Reread> {
    const { chain, database, registry, rpc, log, doubt, clock } = this.options
    const reader = new HistoryReader(rpc, {
      selection: registry,
      finality: chain.finality,
      log,
      start: 'last',
      ...(clock && { clock }),
      ...(doubt && { doubt }),
    })
    const result: Reread = { to: from - 1, events: 0, repaired: 0, calls: 0 }
    let proofCalls = 0
    let turns = rpc.size - 1
    while (result.to < to) {
      const { watched } = registry
      const answer = await reader.read(result.to + 1, to)
      const range = { from: result.to + 1, to: answer.to }
      const events = answer.blocks.flatMap((block) => decodeEvents(chain, chainBlock(block)))
      const stored = await this.stored(range)
      const disputed = new Set(
        this.missing(events, stored)
          .filter((event) => !isLocationSchema(event.schemaUid, chain.slug) || !registry.isHistory(event))
          .map(({ blockNumber }) => blockNumber),
      )
      for (const number of disputed) {
        const proof = await this.prove({ from: number, to: number }, undefined, true)
        result.repaired += proof.repaired
        proofCalls += proof.calls
        if (proof.repaired === 0)
          log.warn(
            { chain: chain.slug, block: number },
            'an RPC endpoint had returned other logs than the block has: the event log already equals the block',
          )
      }
      const others = events.filter(({ blockNumber }) => !disputed.has(blockNumber))
      try {
        result.repaired += await this.repair(others, [], stored, range)
      } catch (error) {
        // The endpoint may have announced attestations that do not exist. A later reread would ask it first.
        const isBody = error instanceof MissingBodyError || error instanceof FalseBodyError
        if (!isBody || turns-- <= 0) throw error
        reader.discard(error)
        continue
      }
      if (!(await noteAudited(database.query, chain, 'reread', range, watched))) {
        await registry.catchUp(watched)
        continue
      }
      result.events += events.length
      result.calls = reader.calls + proofCalls
      result.to = answer.to
      if (!progress(result)) break
    }
    return result
  }

  /**
   * Proves the logs of these blocks, inserts events that the event log lacks, and deletes those that the
   * chain does not have. `head` vouches for the blocks that it has proven. `isDisputed`: an endpoint has
   * returned other logs. Throws a ContradictionError if the blocks are uncertain, and an OrphanedLogError.
   */
  async prove(range: BlockRange, head?: HeadReader, isDisputed = false): Promise<RangeProof> {
    const { chain, database, registry } = this.options
    for (let repaired = 0; ;) {
      const { version, watched } = registry
      const { proof, events, surplus, stored } = await this.compare(range, head, isDisputed)
      // A block of the range registered a schema.
      if (registry.version !== version) continue
      for (const event of surplus) stored.delete(event.id)
      proof.events = events.length
      proof.repaired = repaired += await this.repair(events, surplus, stored, range)
      if (await noteAudited(database.query, chain, 'proven', range, watched, proof.unproven)) return proof
      // The range was read with fewer schemas or attesters than the indexer watches now.
      await registry.catchUp(watched)
    }
  }

  /** Compares the range on the chain with the event log. */
  private async compare(range: BlockRange, head: HeadReader | undefined, isDisputed: boolean) {
    const { chain } = this.options
    const numbers = Array.from({ length: range.to - range.from + 1 }, (_, i) => range.from + i)
    const blocks = await this.headers(numbers, head)
    const stored = await this.stored(range)
    const storedOf = new Map<number, StoredEvent[]>()
    for (const event of stored.values())
      storedOf.set(event.block_number, [...(storedOf.get(event.block_number) ?? []), event])
    const proof: RangeProof = {
      events: 0,
      repaired: 0,
      unproven: [],
      contradicted: new Set(),
      calls: blocks.calls,
    }
    const events: ChainEvent[] = []
    const surplus: StoredEvent[] = []
    for (const [i, { header, read }] of blocks.list.entries()) {
      const number = numbers[i]!
      if (i > 0 && header.parentHash !== blocks.list[i - 1]!.header.hash)
        throw this.contradiction(`blocks ${number - 1} and ${number} are from different forks`)
      const own = storedOf.get(number) ?? []
      this.checkForOrphans(own, header)
      const found = await read()
      if (!found) throw this.contradiction(`the logs of block ${number} are uncertain`)
      proof.calls += found.calls
      const onChain = decodeEvents(chain, chainBlock({ header, logs: found.logs }))
      const wrong = notOnChain(own, chain, onChain)
      // The endpoint returns false receipts. Its logs may confirm the event log, but must not change it.
      if (found.contradicted && (isDisputed || wrong.length || own.length !== onChain.length))
        throw this.contradiction(`the receipts of block ${number} do not hash to its receiptsRoot`)
      const lacks = this.missing(onChain, stored).length > 0
      // One of several endpoints must not change the event log alone.
      if (found.evidence === 'single' && this.blocks.endpoints > 1 && (isDisputed || lacks))
        throw this.contradiction(`only one RPC endpoint returns the logs of block ${number}`)
      // A provider that numbers logs differently would insert stored events a second time.
      if (found.evidence !== 'proven' && wrong.length && lacks)
        throw this.contradiction(`the event log of block ${number} differs from logs without proof`)
      if (found.contradicted) proof.contradicted.add(number)
      events.push(...onChain)
      if (found.evidence === 'proven') surplus.push(...wrong)
      else proof.unproven.push(number)
    }
    return { proof, events, surplus, stored }
  }

  private checkForOrphans(stored: readonly StoredEvent[], header: RpcHeader): void {
    const { chain } = this.options
    const orphan = stored.find((event) => event.block_hash !== header.hash)
    if (orphan)
      throw new OrphanedLogError(
        `event ${orphan.id} is in block ${orphan.block_hash}, but block ${Number(header.number)} of ` +
          `the RPC endpoint is ${header.hash}: a reorg went deeper than ${chain.finality} blocks, or ` +
          'the RPC endpoint is on another network. If other endpoints agree with it, index the chain ' +
          'into an empty database.',
      )
  }

  /** Returns these headers, and functions that read the logs. Blocks proven at the head cost no call. */
  private async headers(numbers: readonly number[], head?: HeadReader) {
    const proven = (number: number) => {
      const block = head?.known(number)
      return block?.evidence === 'proven' ? block : undefined
    }
    const lacking = numbers.filter((number) => !proven(number))
    const fetched = await this.blocks.headers(lacking.map(headerCall), { anyForm: true })
    const byNumber = new Map(lacking.map((number, i) => [number, fetched[i]!]))
    // If some headers hash to their own hash, the form of headers is known, and the other headers are false.
    // If none does, the form is unknown.
    const formIsKnown = fetched.some((each) => each?.isValid)
    const list = numbers.map((number): { header: RpcHeader; read: () => ReturnType<BlockReader['logs']> } => {
      const block = proven(number)
      if (block)
        return {
          header: block.header,
          read: () => Promise.resolve({ ...block, contradicted: false, calls: 0, learned: 0 }),
        }
      const each = byNumber.get(number)
      if (!each) throw this.contradiction(`the RPC endpoint does not have the final block ${number}`)
      if (formIsKnown && !each.isValid)
        throw this.contradiction(`the header of block ${number} does not hash to its hash`)
      return { header: each.header, read: () => this.blocks.logs(each, { receiptByReceipt: true }) }
    })
    return { list, calls: lacking.length }
  }

  private contradiction(reason: string): ContradictionError {
    this.options.doubt?.contradicted(reason)
    return new ContradictionError(reason)
  }

  /** Inserts events that are not stored, and deletes `surplus`. Returns the number of changed events. */
  private async repair(
    events: readonly ChainEvent[],
    surplus: readonly StoredEvent[],
    stored: ReadonlyMap<string, StoredEvent>,
    { from, to }: BlockRange,
  ): Promise<number> {
    const { chain, database, lease = database, bodies, registry, log, doubt } = this.options
    const missing = this.missing(events, stored)
    if (missing.length === 0 && surplus.length === 0) return 0
    const isHistory = surplus.length === 0 && missing.every((event) => registry.isHistory(event))
    if (!isHistory)
      doubt?.contradicted(`the logs of blocks ${from} to ${to} differ from those of an RPC endpoint`)
    const final = await finalBlock(database.query, chain)
    if (!final || final.height < to) throw new NotFinalError(`block ${to} is not final in the database yet`)
    const repaired = await repairLog(lease, chain, {
      events: missing,
      bodies: await bodies.read(announcedTimes(missing)),
      surplus,
      finalHeight: final.height,
    })
    if (isHistory) {
      log.info(
        { chain: chain.slug, from, to, added: repaired },
        'reading the history of a new schema or attester',
      )
      return repaired
    }
    log.error(
      {
        chain: chain.slug,
        from,
        to,
        missing: missing.map(({ uid, kind }) => `${kind} ${uid}`).slice(0, 20),
        surplus: surplus.map(({ id }) => id).slice(0, 20),
        repaired,
      },
      'an RPC endpoint had returned incorrect logs: the event log is repaired',
    )
    return repaired
  }

  /** Returns the events whose id is not stored. */
  private missing(events: readonly ChainEvent[], stored: ReadonlyMap<string, StoredEvent>): ChainEvent[] {
    const { slug } = this.options.chain
    return events.filter(({ blockNumber, logIndex }) => !stored.has(eventId(slug, blockNumber, logIndex)))
  }

  /** Returns the stored events of schemas and attesters that are still watched. Others are not compared. */
  private stored({ from, to }: BlockRange): Promise<Map<string, StoredEvent>> {
    const { chain, database } = this.options
    return storedEvents(database.query, chain, from, to, watchedOf(chain))
  }
}

/** Returns the stored events that the chain does not have, or has with other content. */
function notOnChain(
  stored: readonly StoredEvent[],
  chain: Chain,
  onChain: readonly ChainEvent[],
): StoredEvent[] {
  const rows = new Map(onChain.map((event) => eventRow(chain.slug, event)).map((row) => [row.id, row]))
  return stored.filter((each) => {
    const row = rows.get(each.id)
    // As text, because two dates of one time are different objects.
    return !row || STORED_COLUMNS.some((column) => String(row[column]) !== String(each[column]))
  })
}
