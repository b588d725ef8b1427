import { EvmBatchProcessor } from '@subsquid/evm-processor'
import { createLogger } from '@subsquid/logger'
import {
  Runner,
  type Batch,
  type DataSource,
  type HotDatabaseState,
  type HotDataSource,
  type HotUpdate,
} from '@subsquid/util-internal-processor-tools'
import * as eas from '../abi/EAS'
import {
  BrokenLinkError,
  chainBlock,
  contradiction,
  ContradictionError,
  HistoryReader,
  NotFinalYetError,
  otherChain,
  type BlockLogs,
  type BlockRef,
  type ChainBlock,
  type ComparisonOptions,
  type Contradiction,
  type HeadReader,
  type LogSelection,
} from '../chain'
import type { Chain } from '../chains'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { parseUid } from '../eas'
import { EventKind } from '../model/generated/_eventKind'
import { retry } from '../retry'
import type { Rpc } from '../rpc'
import { FalseBodyError, MissingBodyError, type BodyReader } from './bodies'
import { confirmedGateway, partsOf } from './gateway'
import type { IndexerMetrics } from './metrics'
import { isWatched, type ChainEvent } from './project'
import { attestationFilter, registrationFilter } from './registrations'
import type { Registry } from './registry'
import { BatchWriter, ChainDatabase, type Database, type Lease } from './store'

const EVENT_KINDS = new Map<string, EventKind>([
  [eas.events.Attested.topic, EventKind.ATTESTED],
  [eas.events.Revoked.topic, EventKind.REVOKED],
])

/** A block whose logs are decoded. */
interface EventBlock extends Pick<ChainBlock, 'header'> {
  readonly events: readonly ChainEvent[]
  /** Returns the milliseconds since the last poll that found the block on the chain. Missing in history. */
  readonly agreementAgeMs?: (() => number) | undefined
}

/**
 * Decodes the events of one block, in order, without duplicates. Skips other logs. Throws a
 * ContradictionError for a malformed log.
 */
export function decodeEvents(chain: Chain, { header, logs }: ChainBlock): ChainEvent[] {
  const events = new Map<number, ChainEvent>()
  for (const entry of logs) {
    const kind = entry.address === chain.eas ? EVENT_KINDS.get(entry.topics[0]!) : undefined
    if (!kind) continue
    const refusal = (reason: string) =>
      new ContradictionError(`a log of block ${header.height} is not an event of EAS: ${reason}`)
    if (entry.topics.length !== 4) throw refusal(`it has ${entry.topics.length} topics instead of 4`)
    // Attested and Revoked have the same parameters, one word each: recipient, attester, UID, schema.
    const [, recipient, attester, schemaUid] = entry.topics as [string, string, string, string]
    if (!isWatched(chain.slug, schemaUid, addressIn(attester))) continue
    const uid = parseUid(entry.data)
    if (uid === undefined) throw refusal(`its data is ${entry.data.slice(0, 80)}`)
    events.set(entry.logIndex, {
      ...{ kind, uid, schemaUid },
      attester: addressIn(attester),
      recipient: addressIn(recipient),
      blockNumber: header.height,
      blockHash: header.hash,
      blockTimestamp: header.timestamp,
      transactionHash: entry.transactionHash,
      logIndex: entry.logIndex,
    })
  }
  return [...events.values()].sort((a, b) => a.logIndex - b.logIndex)
}

function addressIn(topic: string): string {
  return `0x${topic.slice(-40)}`
}

/** Maps the UIDs that these events attest to the Unix seconds of their blocks. */
export function announcedTimes(events: readonly ChainEvent[]): Map<string, bigint> {
  return new Map(
    events
      .filter(({ kind }) => kind === EventKind.ATTESTED)
      .map(({ uid, blockTimestamp }) => [uid, BigInt(blockTimestamp / 1000)]),
  )
}

/** Parts of an indexer that process its blocks. */
interface Processing extends Omit<
  SourceOptions<EventBlock>,
  'selection' | 'finality' | 'decode' | 'onHistory'
> {
  chain: Chain
  /** URL of an external gateway that serves history with the events of all schemas. */
  gatewayUrl: string | undefined
  registry: Registry
  bodies: BodyReader
  lease: Lease
  /** Connection on which only batches are written. */
  batches: Database
  metrics: IndexerMetrics
  /** Throws if the chain was replaced by another one since the last final block. */
  requireSameChain: () => Promise<void>
}

/**
 * Reads the chain and writes its blocks, again from the last final block if a body of history is missing or
 * false on all endpoints: each endpoint is then the first once. The head reader itself retries batches of the
 * head. Resolves when there is nothing left to read.
 */
export async function runProcessor(parts: Processing): Promise<void> {
  const { chain, rpc, registry, bodies, lease, batches, log } = parts
  const source = new ChainSource<EventBlock>({
    ...{ ...parts, selection: registry, finality: chain.finality },
    decode: (block, agreementAgeMs) => ({
      ...{ header: block.header, events: decodeEvents(chain, block), agreementAgeMs },
    }),
    onHistory: (blocks) => bodies.prefetch(announcedTimes(blocks.flatMap(({ events }) => events))),
  })
  const database = new ChainDatabase(
    (work) => lease.transaction(work, batches),
    chain,
    (target) => new BatchWriter(target, chain, log),
  )
  for (let left = rpc.size; ; left--)
    try {
      return await runOnce(parts, source, database)
    } catch (error) {
      if (!(error instanceof MissingBodyError || error instanceof FalseBodyError)) throw error
      await parts.requireSameChain()
      if (left <= 1) throw error
      // Bloom filters do not cover UIDs, so an endpoint may announce attestations that no other one has.
      source.distrustHistory(error)
      log.warn(
        { chain: chain.slug, reason: error.message },
        'could not read an announced attestation; rereading history from the next RPC endpoint',
      )
    }
}

/**
 * Runs evm-processor's runner with a source and a database of ours. EvmBatchProcessor.run of 1.27.3 ends the
 * process and has its own source for the head.
 */
function runOnce(
  parts: Processing,
  source: ChainSource<EventBlock>,
  database: ChainDatabase<BatchWriter>,
): Promise<void> {
  const { chain, gatewayUrl, metrics } = parts
  const processor = new EvmBatchProcessor()
    .setBlockRange({ from: chain.firstBlock })
    .setFields({ log: { transactionHash: true } })
    .addLog(attestationFilter(chain))
    .addLog(registrationFilter(chain))
  const log = createLogger('sqd:processor')
  const { requests, gateway } = partsOf(processor, log)
  if (gatewayUrl !== undefined) processor.setGateway(gatewayUrl)
  return new Runner<unknown, BatchWriter>({
    database,
    requests,
    ...(gatewayUrl !== undefined && { archive: confirmedGateway(source, gateway()) }),
    hotDataSource: source,
    allBlocksAreFinal: false,
    prometheus: metrics,
    log,
    process: (writer, { blocks, isHead }) => processBatch(parts, writer, blocks as EventBlock[], isHead),
  }).run()
}

/** Projects and writes the blocks of one transaction, which is written completely or not at all. */
async function processBatch(
  { chain, bodies, doubt, log }: Processing,
  writer: BatchWriter,
  blocks: readonly EventBlock[],
  isHead: boolean,
): Promise<void> {
  const started = performance.now()
  const events = blocks.flatMap((block) => block.events)
  const announced = announcedTimes(events)
  const found = await bodies.read(announced, writer.isFinal)
  const fetched = performance.now()
  await writer.write(events, found)
  const { header: last, agreementAgeMs } = blocks[blocks.length - 1]!
  const { height, hash, timestamp } = last
  await writer.finish({
    ...{ height, hash, timestamp },
    agreementAgeMs: agreementAgeMs?.() ?? Infinity,
    unproven: doubt.unprovenAtHead.filter((each) => each <= height),
  })
  if (events.length === 0) return
  log.info(
    {
      chain: chain.slug,
      from: blocks[0]!.header.height,
      to: last.height,
      head: isHead,
      attested: announced.size,
      revoked: events.length - announced.size,
      records: writer.total.records,
      answers: writer.total.answers,
      problems: writer.total.problems,
      withheld: writer.total.withheld,
      bodiesMs: Math.round(fetched - started),
      projectMs: Math.round(writer.total.projectMs),
      writeMs: Math.round(performance.now() - fetched - writer.total.projectMs),
    },
    'batch written',
  )
}

type Requests = Parameters<DataSource<unknown, unknown>['getFinalizedBlocks']>[0]

/** First and longest pause, in milliseconds, after history could not be read. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 20_000
const WAIT_FOR_BLOCK_MS = 2_000
/** Milliseconds until history ends with an error because the chain is shorter than it was. */
const SHORTER_PATIENCE_MS = 60_000

export interface SourceOptions<Block> extends ComparisonOptions {
  rpc: Rpc
  head: HeadReader
  /** Selection of the logs that are read. */
  selection: LogSelection
  finality: number
  /** Last final block in the database, already confirmed by the endpoints; undefined before the first one. */
  stored: BlockRef | undefined
  /**
   * Decodes the logs of a block. Malformed ones throw a ContradictionError and, except a gateway's, are
   * reread. For a block near the head, `agreementAgeMs` returns the milliseconds since the last poll that
   * found it on the chain.
   */
  decode: (block: ChainBlock, agreementAgeMs?: () => number) => Block
  /** Called with blocks of history before they are written. */
  onHistory?: (blocks: readonly Block[]) => void
  signal: AbortSignal
}

/**
 * The last final block has stayed below the reported one: another chain was read before, or the endpoints
 * have lost blocks. The runner cannot follow a shorter chain, but a new run can.
 */
export class ShorterChainError extends Error {
  override readonly name: string = 'ShorterChainError'
}

/**
 * The data source of evm-processor's runner: history in wide ranges of filtered logs (chain/history.ts), then
 * the head (chain/head.ts).
 *
 * evm-processor's own source is not used. It reads every block with every log (270 blocks/s at 100 ms
 * latency, which takes days for Arbitrum), supports only one endpoint, ignores a fork that is not longer, and
 * ends on responses for which this source retries.
 */
export class ChainSource<Block extends Pick<ChainBlock, 'header'>> implements HotDataSource<Block, unknown> {
  private history: HistoryReader
  /** Number of times that history was distrusted. */
  private distrusted = 0
  /** Ends the retries of reads whose history was distrusted. */
  private reading = new AbortController()
  private readonly clock: Clock
  /** Last block that was returned, or that the database holds. */
  private last: BlockRef | undefined
  /** Highest final block that was reported to the runner, which ends if history ends below it. */
  private announced = -1

  constructor(readonly options: SourceOptions<Block>) {
    this.clock = options.clock ?? MONOTONIC
    this.history = new HistoryReader(options.rpc, options)
    this.last = options.stored
  }

  /** Returns the last block of history that can be read at present. */
  async getFinalizedHeight(): Promise<number> {
    const height = await this.persist(() => this.history.height())
    this.announced = Math.max(this.announced, height)
    return height
  }

  /**
   * Discards what was read ahead of the database. The next request queries the next endpoint first, if there
   * is one. Pending reads belong to the former reader: their failures must not turn the route of the new one.
   */
  distrustHistory(error: Error): void {
    this.reading.abort(error)
    this.reading = new AbortController()
    this.last = undefined
    this.history = new HistoryReader(this.options.rpc, { ...this.options, start: ++this.distrusted })
  }

  async getBlockHash(height: number): Promise<string> {
    if (this.last?.height === height) return this.last.hash
    const { header } = await this.persist(() => this.history.blockWithoutLogs(height))
    this.last = { height, hash: header.hash }
    return header.hash
  }

  /**
   * Waits until an endpoint has a block, which is then the last one. Throws a SettingsError if the endpoints
   * have another block instead.
   */
  async confirm({ height, hash }: BlockRef, refusal: (other: Contradiction) => SettingsError): Promise<void> {
    await this.persist(() => this.checkStored({ height, hash }, refusal))
    this.last = { height, hash }
  }

  /**
   * Yields blocks with logs, and the last block of each range, up to the last final block. Unless
   * `stopOnHead` is true, waits for further blocks. Throws a ShorterChainError if the last final block stays
   * below the one that was reported to the runner.
   */
  async *getFinalizedBlocks(requests: Requests, stopOnHead = false): AsyncIterable<Batch<Block>> {
    let { from } = requests[0]!.range
    let shorterSince: number | undefined
    for (;;) {
      const end = await this.persist(() => this.history.height())
      // Checked at once: the runner queries the height of a growing chain again while ranges are read.
      const isShorter = stopOnHead && end < this.announced
      shorterSince = isShorter ? (shorterSince ?? this.clock.now()) : undefined
      let reading = this.read(from, end)
      while (reading) {
        const range = await reading
        if (!range) break
        const { blocks, to } = range
        from = to + 1
        this.last = { height: to, hash: blocks[blocks.length - 1]!.header.hash }
        // The next range is read while this one is written.
        reading = this.read(from, end)
        yield { blocks, isHead: to === end }
      }
      // A lagging endpoint must not end history below the final block that another endpoint has reported.
      if (from > end && from > this.announced && stopOnHead) return
      if (from <= end) continue
      if (isShorter && this.clock.now() - shorterSince! > SHORTER_PATIENCE_MS)
        throw new ShorterChainError(
          `The last final block at the RPC endpoints is ${end}, but was ${this.announced}: they have lost blocks, or another chain was read before. Restart the indexer; it resumes at block ${from}.`,
        )
      // The chain may have been replaced by a shorter one.
      const { last } = this
      if (last) await this.persist(() => this.checkStored(last))
      await this.clock.pause(WAIT_FOR_BLOCK_MS, this.options.signal)
    }
  }

  /** Follows the head. Ends only by an error. */
  async processHotBlocks(
    _requests: Requests,
    { height, hash, top }: HotDatabaseState,
    write: (update: HotUpdate<Block>) => Promise<void>,
  ): Promise<void> {
    const { decode, head, signal } = this.options
    await head.follow(
      [{ height, hash }, ...top],
      ({ base, blocks, final }) =>
        write({
          ...{ baseHead: { ...base }, finalizedHead: { ...final } },
          blocks: blocks.map(chainBlock).map((block) => decode(block, () => head.agreementAge(block.header))),
        }),
      signal,
    )
  }

  /** Reads the next range. The result, or its promise, is undefined if there is none or it is not final. */
  private read(from: number, end: number): Promise<{ blocks: Block[]; to: number } | undefined> | undefined {
    if (from > end) return undefined
    const parent = this.last?.height === from - 1 ? this.last : undefined
    const { history } = this
    const signal = AbortSignal.any([this.options.signal, this.reading.signal])
    const reading = this.persist(async () => {
      try {
        const { blocks: read, to } = await history.read(from, end, parent?.hash)
        const blocks = this.decoded(read, history)
        this.options.onHistory?.(blocks)
        return { blocks, to }
      } catch (error) {
        if (error instanceof NotFinalYetError) return undefined
        if (error instanceof BrokenLinkError) await this.checkStored(parent!)
        throw error
      }
    }, signal)
    reading.catch(() => {}) // the await throws the error
    return reading
  }

  private decoded(read: readonly BlockLogs[], history: HistoryReader): Block[] {
    try {
      return read.map((block) => this.options.decode(chainBlock(block)))
    } catch (error) {
      history.discard(error as Error)
      throw error
    }
  }

  /** Throws a SettingsError if the endpoints have another block instead of this one. */
  private async checkStored(
    stored: BlockRef,
    refusal = (other: Contradiction) => otherChain(this.options.finality, other),
  ): Promise<void> {
    const other = await contradiction(stored, this.options)
    if (other) throw refusal(other)
  }

  /** Retries work that fails because of an endpoint, with growing pauses. */
  private persist<T>(work: () => Promise<T>, signal = this.options.signal): Promise<T> {
    const { log } = this.options
    return retry(work, {
      attempts: Infinity,
      pauseMs: (attempt) => Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS),
      signal,
      clock: this.clock,
      onFailure: (error) => {
        if (error instanceof SettingsError) throw error
        log.warn({ reason: error.message.slice(0, 300) }, 'could not read the chain; retrying')
      },
    })
  }
}
