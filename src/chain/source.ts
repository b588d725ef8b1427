import type {
  Batch,
  DataSource,
  HotDatabaseState,
  HotDataSource,
  HotUpdate,
} from '@subsquid/util-internal-processor-tools'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { withoutUrls } from '../log'
import { retry } from '../retry'
import type { Rpc } from '../rpc'
import { BrokenLinkError } from './doubt'
import type { BlockRef } from './followed'
import type { HeadReader } from './head'
import { HistoryReader, NotFinalYetError } from './history'
import { chainBlock, inLowerCase, type BlockLogs, type ChainBlock, type LogSelection } from './logs'
import {
  contradiction,
  otherChain,
  otherGateway,
  type ComparisonOptions,
  type Contradiction,
} from './replaced'

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
 * The data source of evm-processor's runner: history in wide ranges of filtered logs (history.ts), then the
 * head (head.ts).
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

  constructor(private readonly options: SourceOptions<Block>) {
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

  /**
   * Returns a source of the blocks of an external gateway, each batch once an endpoint has its last block. It
   * ends when the signal aborts, even if the gateway never responds.
   */
  confirmed<Request>(other: DataSource<ChainBlock, Request>): DataSource<Block, Request> {
    const { signal, selection, decode } = this.options
    const orEnd = <T>(answer: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const end = () => reject(signal.reason as Error)
        if (signal.aborted) end()
        signal.addEventListener('abort', end)
        const fail = ({ message }: Error) =>
          reject(new Error(`The gateway in GATEWAY_URL_* failed: ${withoutUrls(message)}.`))
        void answer.then(resolve, fail).finally(() => signal.removeEventListener('abort', end))
      })
    const confirm = async ({ blocks: read, isHead }: Batch<ChainBlock>): Promise<Batch<Block>> => {
      const blocks = read.map(({ header, logs }) => ({ header, logs: logs.map(inLowerCase) }))
      const last = blocks[blocks.length - 1]
      if (last) {
        await this.persist(() => this.checkStored(last.header, otherGateway))
        this.last = { height: last.header.height, hash: last.header.hash }
      }
      await selection.learn(
        blocks.flatMap(({ header, logs }) => logs.map((log) => ({ ...log, blockNumber: header.height }))),
      )
      return { blocks: blocks.map((block) => decode(block)), isHead }
    }
    return {
      getFinalizedHeight: () => orEnd(other.getFinalizedHeight()),
      // The endpoints have confirmed the last block, which the gateway may not have yet.
      getBlockHash: (height) => this.getBlockHash(height),
      async *getFinalizedBlocks(...range) {
        const batches = other.getFinalizedBlocks(...range)[Symbol.asyncIterator]()
        try {
          for (;;) {
            const next = await orEnd(batches.next())
            if (next.done) return
            yield await confirm(next.value)
          }
        } finally {
          // Does not await the end of the gateway's source, which may wait for its server.
          void batches.return?.().catch(() => {})
        }
      },
    }
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
