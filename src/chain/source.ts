import type { Logger } from '@subsquid/logger'
import type {
  Batch,
  DataSource,
  HotDatabaseState,
  HotDataSource,
  HotUpdate,
} from '@subsquid/util-internal-processor-tools'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import { retry } from '../retry'
import type { Rpc } from '../rpc'
import type { BlockReader } from './blocks'
import type { Doubt } from './doubt'
import type { BlockRef } from './followed'
import type { HeadReader } from './head'
import { BrokenLinkError, HistoryReader } from './history'
import { chainBlock, type ChainBlock, type LogSelection } from './logs'
import { contradiction, otherChain, otherGateway, type Contradiction } from './replaced'

type Requests = Parameters<DataSource<unknown, unknown>['getFinalizedBlocks']>[0]

/** The pause after history could not be read, in milliseconds. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 20_000
const WAIT_FOR_BLOCK_MS = 2_000

export interface SourceOptions<Block> {
  rpc: Rpc
  head: HeadReader
  /** Reads single blocks, apart from the head reader. */
  blocks: BlockReader
  doubt: Doubt
  /** The logs that are read. */
  selection: LogSelection
  finality: number
  log: Logger
  /**
   * The last final block in the database, which is known to be the chain's; undefined before the first one.
   */
  stored: BlockRef | undefined
  /** The newest block at or below this number whose hash the database holds, for blocks that are final. */
  storedAtOrBelow: (height: number) => Promise<BlockRef | undefined>
  /** Decodes the logs of a block, once. */
  decode: (block: ChainBlock) => Block
  /** Called with blocks of history before they are written. */
  onHistory?: (blocks: readonly Block[]) => void
  signal: AbortSignal
  clock?: Clock
}

/**
 * The data source from which evm-processor's runner reads a chain: history in wide ranges of filtered logs
 * (history.ts), then the head (head.ts). Its own source reads every block with every log (270 blocks/s at 100
 * ms latency, which is days for Arbitrum), knows one endpoint only, ignores a fork that is not longer, and
 * ends on answers that this one requests again. Each block that is written follows the stored one by its
 * parent's hash. If the chain was replaced, the run ends with a SettingsError.
 */
export class ChainSource<Block extends Pick<ChainBlock, 'header'>> implements HotDataSource<Block, unknown> {
  private readonly history: HistoryReader
  private readonly clock: Clock
  /** The last block that was given, or that the database holds. */
  private last: BlockRef | undefined
  /** The last final block as the runner knows it. */
  private announced = -1

  constructor(private readonly options: SourceOptions<Block>) {
    this.clock = options.clock ?? MONOTONIC
    this.history = new HistoryReader(options.rpc, options)
    this.last = options.stored
  }

  /** The last block of history that can be read now. */
  async getFinalizedHeight(): Promise<number> {
    return (this.announced = await this.persist(() => this.history.height()))
  }

  async getBlockHash(height: number): Promise<string> {
    if (this.last?.height === height) return this.last.hash
    const { header } = await this.persist(() => this.history.blockWithoutLogs(height))
    this.last = { height, hash: header.hash }
    return header.hash
  }

  /**
   * Blocks with logs, and the last block of each range, up to the last final block; then more, if not
   * `stopOnHead`.
   */
  async *getFinalizedBlocks(requests: Requests, stopOnHead = false): AsyncIterable<Batch<Block>> {
    let { from } = requests[0]!.range
    for (;;) {
      const end = await this.persist(() => this.history.height())
      let reading = this.read(from, end)
      while (reading) {
        const { blocks, to } = await reading
        from = to + 1
        this.last = { height: to, hash: blocks[blocks.length - 1]!.header.hash }
        // The next range is read while this one is written.
        reading = this.read(from, end)
        yield { blocks, isHead: to === end }
      }
      // An endpoint that lags does not end history before the block that another one has announced.
      if (from > end && from > this.announced && stopOnHead) return
      if (from > end) await this.clock.pause(WAIT_FOR_BLOCK_MS, this.options.signal)
    }
  }

  /** Never ends but by an error. */
  async processHotBlocks(
    _requests: Requests,
    { height, hash, top }: HotDatabaseState,
    write: (update: HotUpdate<Block>) => Promise<void>,
  ): Promise<void> {
    await this.options.head.follow(
      [{ height, hash }, ...top],
      ({ base, blocks, final }) =>
        write({
          ...{ baseHead: { ...base }, finalizedHead: { ...final } },
          blocks: blocks.map((block) => this.options.decode(chainBlock(block))),
        }),
      this.options.signal,
    )
  }

  /**
   * Returns a source that gives the blocks of an external gateway, each batch once an endpoint has its last
   * block. It ends when the signal aborts, even if the gateway never responds.
   */
  confirmed<Request>(other: DataSource<ChainBlock, Request>): DataSource<Block, Request> {
    const { signal, selection, decode } = this.options
    const orEnd = <T>(answer: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const end = () => reject(signal.reason as Error)
        if (signal.aborted) end()
        signal.addEventListener('abort', end)
        void answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
      })
    const confirm = async ({ blocks, isHead }: Batch<ChainBlock>): Promise<Batch<Block>> => {
      const last = blocks[blocks.length - 1]
      if (last) await this.persist(() => this.checkStored(last.header, otherGateway))
      await selection.learn(
        blocks.flatMap(({ header, logs }) => logs.map((log) => ({ ...log, blockNumber: header.height }))),
      )
      return { blocks: blocks.map(decode), isHead }
    }
    return {
      getFinalizedHeight: () => orEnd(other.getFinalizedHeight()),
      getBlockHash: (height) => orEnd(other.getBlockHash(height)),
      async *getFinalizedBlocks(...range) {
        const batches = other.getFinalizedBlocks(...range)[Symbol.asyncIterator]()
        try {
          for (;;) {
            const next = await orEnd(batches.next())
            if (next.done) return
            yield await confirm(next.value)
          }
        } finally {
          // Not awaited: it may wait for its server.
          void batches.return?.().catch(() => {})
        }
      },
    }
  }

  private read(from: number, end: number): Promise<{ blocks: Block[]; to: number }> | undefined {
    if (from > end) return undefined
    const parent = this.last?.height === from - 1 ? this.last : undefined
    const reading = this.persist(async () => {
      try {
        const { blocks: read, to } = await this.history.read(from, end, parent?.hash)
        const blocks = read.map((block) => this.options.decode(chainBlock(block)))
        this.options.onHistory?.(blocks)
        return { blocks, to }
      } catch (error) {
        if (error instanceof BrokenLinkError) await this.checkStored(parent!)
        throw error
      }
    })
    reading.catch(() => {}) // thrown when it is awaited
    return reading
  }

  /** Throws a SettingsError if the endpoints have another block instead of this one. */
  private async checkStored(
    stored: BlockRef,
    refusal = (other: Contradiction) => otherChain(this.options.finality, other),
  ): Promise<void> {
    const other = await contradiction(stored, this.options)
    if (other) throw refusal(other)
  }

  /** Repeats what fails because of an endpoint, with longer and longer pauses. */
  private persist<T>(work: () => Promise<T>): Promise<T> {
    const { log, signal } = this.options
    return retry(work, {
      attempts: Infinity,
      pauseMs: (attempt) => Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS),
      signal,
      clock: this.clock,
      onFailure: (error) => {
        if (error instanceof SettingsError) throw error
        log.warn({ reason: error.message.slice(0, 300) }, 'Could not read the chain. It is read again.')
      },
    })
  }
}
