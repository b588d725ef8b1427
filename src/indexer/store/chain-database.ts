import assert from 'node:assert'
import type { Logger } from '@subsquid/logger'
import type {
  FinalTxInfo,
  HashAndHeight,
  HotDatabase,
  HotDatabaseState,
  HotTxInfo,
} from '@subsquid/util-internal-processor-tools'
import type { Chain } from '../../chains'
import { BatchWriter } from './batch'
import type { Copy, Query } from './connection'
import { chainState, insertHotBlock, noteFinal, rollBack, settleHotBlocks } from './hot'

/**
 * The database to which evm-processor writes the blocks of a chain and the position of the last final block.
 * Each update is one transaction. Its handlers write through a BatchWriter.
 */
export class ChainDatabase implements HotDatabase<BatchWriter> {
  readonly supportsHotBlocks = true

  /** @param holding runs work in a transaction that commits only if this process holds the chain's lease */
  constructor(
    private readonly holding: <T>(work: (query: Query, copy: Copy) => Promise<T>) => Promise<T>,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  connect(): Promise<HotDatabaseState> {
    return this.holding((query) => chainState(query, this.chain))
  }

  /** Rolls back the hot blocks and writes final blocks instead. */
  transact(
    { prevHead, nextHead }: FinalTxInfo,
    write: (writer: BatchWriter) => Promise<void>,
  ): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      assertSame(final, prevHead)
      assert(prevHead.height < nextHead.height)
      if (top.length > 0) await rollBack(query, this.chain, final.height)
      await this.write(query, copy, undefined, write)
      await noteFinal(query, this.chain, nextHead)
    })
  }

  /** Replaces the blocks above `baseHead`. One BatchWriter writes all final blocks, others each hot one. */
  transactHot2(
    { baseHead, newBlocks, finalizedHead }: HotTxInfo,
    write: (writer: BatchWriter, from: number, to: number) => Promise<void>,
  ): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      const before = [final, ...top]
      const base = before.findIndex(({ height }) => height === baseHead.height)
      assertSame(before[base], baseHead)
      const after = [...before.slice(0, base + 1), ...newBlocks]
      after.forEach(({ height }, i) =>
        assert.equal(height, final.height + i, 'blocks must follow each other'),
      )
      assertSame(after[finalizedHead.height - final.height], finalizedHead)

      if (base < top.length) await rollBack(query, this.chain, baseHead.height)
      const firstHot = newBlocks.filter(({ height }) => height <= finalizedHead.height).length
      if (firstHot > 0) await this.write(query, copy, undefined, (writer) => write(writer, 0, firstHot))
      for (let i = firstHot; i < newBlocks.length; i++) {
        await insertHotBlock(query, this.chain, newBlocks[i]!)
        await this.write(query, copy, newBlocks[i]!.height, (writer) => write(writer, i, i + 1))
      }
      await settleHotBlocks(query, this.chain, finalizedHead.height)
      await noteFinal(query, this.chain, finalizedHead)
    })
  }

  transactHot(): Promise<never> {
    return Promise.reject(new Error('the runner calls transactHot2'))
  }

  private async write(
    query: Query,
    copy: Copy,
    hotHeight: number | undefined,
    write: (writer: BatchWriter) => Promise<void>,
  ): Promise<void> {
    const writer = new BatchWriter({ query, copy, hotHeight }, this.chain, this.log)
    await write(writer)
    await writer.written()
  }
}

/** Throws an AssertionError unless the database holds this block where evm-processor expects it. */
function assertSame(stored: HashAndHeight | undefined, expected: HashAndHeight): void {
  assert(
    stored?.height === expected.height && stored.hash === expected.hash,
    `expected block ${expected.height} (${expected.hash}) in the database, found ${stored ? `${stored.height} (${stored.hash})` : 'none'}`,
  )
}
