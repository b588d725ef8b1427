import type { Evidence } from './blocks'
import type { RpcHeader, RpcLog } from './logs'

/** Blocks below the last final one that stay known, for the audit: it proves what has just become final. */
const BLOCKS_KEPT = 1_000

/** Number and hash of a block, as evm-processor writes them. */
export interface BlockRef {
  readonly height: number
  readonly hash: string
}

/** A block near the head, with those of its logs that pass the filters. */
export interface HeadBlock {
  readonly header: RpcHeader
  readonly logs: RpcLog[]
  evidence: Evidence
  /** The version of the selection that the logs pass. */
  version: number
}

/** A block of the followed chain. One that was in the database at the start has not been read here. */
export interface Followed extends BlockRef {
  readonly block?: HeadBlock
}

/**
 * The chain that the head reader follows: each block is the parent of the next one. It begins at the last
 * final block of the database, or below it, and ends at the tip.
 */
export class FollowedChain {
  private blocks: Followed[]

  /** @param stored the last final block in the database and those above it, in order, without gaps */
  constructor(stored: readonly [BlockRef, ...BlockRef[]]) {
    this.blocks = [...stored]
  }

  get tip(): Followed {
    return this.blocks[this.blocks.length - 1]!
  }

  /** The block of this number. */
  at(height: number): Followed | undefined {
    return this.blocks[height - this.blocks[0]!.height]
  }

  has({ height, hash }: BlockRef): boolean {
    return this.at(height)?.hash === hash
  }

  /** The blocks above this number, in order. */
  above(height: number): readonly Followed[] {
    return this.blocks.slice(Math.max(0, height + 1 - this.blocks[0]!.height))
  }

  /** Replaces all blocks above `base` by these. Forgets blocks far below `final`. */
  replaceAbove(base: number, blocks: readonly HeadBlock[], final: number): void {
    const [{ height: first }] = this.blocks as [Followed]
    const forgotten = Math.max(0, final - BLOCKS_KEPT - first)
    this.blocks = this.blocks.slice(forgotten, base + 1 - first).concat(blocks.map(followed))
  }

  /** Blocks that pass the selection of version `before` pass this one, too. */
  passes(version: number, before: number): void {
    for (const { block } of this.blocks) if (block?.version === before) block.version = version
  }

  /** The number of blocks whose logs only one endpoint vouches for. */
  get unproven(): number {
    return this.blocks.filter(({ block }) => block?.evidence === 'single').length
  }
}

function followed(block: HeadBlock): Followed {
  return { height: Number(block.header.number), hash: block.header.hash, block }
}
