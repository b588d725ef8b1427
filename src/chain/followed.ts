import type { CheckedHeader, Evidence } from './blocks'
import type { RpcHeader, RpcLog } from './logs'

/** Number of final blocks that are kept for the audit, which proves those that have just become final. */
const BLOCKS_KEPT = 1_000

/** Number and hash of a block, in the notation of evm-processor. */
export interface BlockRef {
  readonly height: number
  readonly hash: string
}

/** A block near the head, with those of its logs that pass the filters. */
export interface HeadBlock {
  readonly header: RpcHeader
  readonly logs: RpcLog[]
  evidence: Evidence
  /** Version of the selection that the logs pass. */
  version: number
}

/** A block of the followed chain. `block` is missing if it was in the database at the start. */
export interface Followed extends BlockRef {
  readonly block?: HeadBlock
  /** True if only one endpoint may have confirmed the logs, because an earlier process read the block. */
  readonly isUnproven?: boolean
}

/** The chain that the head reader follows, from the last final block of the database or below to the head. */
export class FollowedChain {
  private blocks: Followed[]
  /** Blocks below the first one that became final without proof before an earlier process ended. */
  private below: readonly number[]

  /**
   * @param stored the last final block in the database and the blocks above it, in order, without gaps
   * @param unproven numbers of the blocks whose logs only one endpoint confirmed to an earlier process
   */
  constructor(stored: readonly [BlockRef, ...BlockRef[]], unproven: readonly number[]) {
    const known = new Set(unproven)
    this.blocks = stored.map(({ height, hash }) => ({ height, hash, isUnproven: known.has(height) }))
    this.below = unproven.filter((height) => height < stored[0].height)
  }

  get tip(): Followed {
    return this.blocks[this.blocks.length - 1]!
  }

  /** Returns the block of this number; undefined outside the followed chain. */
  at(height: number): Followed | undefined {
    return this.blocks[height - this.blocks[0]!.height]
  }

  has({ height, hash }: BlockRef): boolean {
    return this.at(height)?.hash === hash
  }

  /** Returns the blocks above this number, in order. */
  above(height: number): readonly Followed[] {
    return this.blocks.slice(Math.max(0, height + 1 - this.blocks[0]!.height))
  }

  /** Replaces all blocks above `base`. Discards blocks far below `final`. */
  replaceAbove(base: number, blocks: readonly HeadBlock[], final: number): void {
    const [{ height: first }] = this.blocks as [Followed]
    const forgotten = Math.max(0, final - BLOCKS_KEPT - first)
    this.blocks = this.blocks.slice(forgotten, base + 1 - first).concat(blocks.map(followed))
    this.below = this.below.filter((height) => height >= final - BLOCKS_KEPT)
  }

  /** Records that blocks whose logs pass version `before` of the selection also pass this version. */
  passes(version: number, before: number): void {
    for (const { block } of this.blocks) if (block?.version === before) block.version = version
  }

  /** Numbers of the blocks whose logs only one endpoint confirms. */
  get unproven(): readonly number[] {
    const own = this.blocks.filter(({ block, isUnproven }) => isUnproven || block?.evidence === 'single')
    return [...this.below, ...own.map(({ height }) => height)]
  }

  /** Records that the logs of these blocks are proven. */
  prove(from: number, to: number): void {
    this.below = this.below.filter((height) => height < from || height > to)
    this.blocks = this.blocks.map((each) => {
      if (each.height < from || each.height > to) return each
      if (each.block) each.block.evidence = 'proven'
      return { ...each, isUnproven: false }
    })
  }
}

function followed(block: HeadBlock): Followed {
  return { height: Number(block.header.number), hash: block.header.hash, block }
}

/** Number and hash of a block that was read. */
export function refOf({ header }: CheckedHeader): BlockRef {
  return { height: Number(header.number), hash: header.hash }
}
