import type { RpcCall } from '../rpc'
import type { Evidence } from './blocks'
import type { RpcHeader, RpcLog } from './logs'

/** More than any chain's finality: evm-processor asks for no block below that. */
const BLOCKS_KEPT = 1_000

/** A block near the head, with those of its logs that pass the filters. */
export interface HeadBlock {
  readonly header: RpcHeader
  readonly logs: RpcLog[]
  evidence: Evidence
  /** The version of the selection that the logs pass. */
  version: number
  /** Whether evm-processor has had its logs. */
  served?: true
}

/** The blocks near the head that have been read: the followed chain, and blocks of other forks. */
export class RecentBlocks {
  /** The followed chain up to its tip without gaps; below it blocks that were requested. */
  private readonly byNumber = new Map<number, HeadBlock>()
  /** All of them, oldest first. */
  private readonly byHash = new Map<string, HeadBlock>()
  /** The last block of the followed chain. */
  tip: HeadBlock | undefined

  /** The number of the tip; undefined before the first block. */
  get height(): number | undefined {
    return this.tip && Number(this.tip.header.number)
  }

  /** The block of this number on the followed chain. */
  at(number: number): HeadBlock | undefined {
    return this.byNumber.get(number)
  }

  ofHash(hash: string): HeadBlock | undefined {
    return this.byHash.get(hash)
  }

  /** The block that a call of eth_getBlockByNumber or eth_getBlockByHash asks for. */
  find({ method, params }: RpcCall): HeadBlock | undefined {
    return method === 'eth_getBlockByHash' ? this.ofHash(params[0] as string) : this.at(Number(params[0]))
  }

  /** Logs of blocks of any fork, both numbers included: evm-processor sorts them by their block hashes. */
  logsOf(from: number, to: number): RpcLog[] {
    return [...this.byHash.values()].flatMap(({ header, logs }) =>
      Number(header.number) >= from && Number(header.number) <= to ? logs : [],
    )
  }

  /** Keeps a block, of whatever fork. */
  keep(block: HeadBlock): void {
    this.byHash.set(block.header.hash, block)
    if (this.byHash.size > BLOCKS_KEPT) this.forgetOldest()
  }

  /** The block is of the followed chain. */
  place(block: HeadBlock): void {
    this.byNumber.set(Number(block.header.number), block)
  }

  /** The block is the tip of the followed chain: what was above it is of another fork. */
  append(block: HeadBlock): void {
    for (let above = Number(block.header.number) + 1; this.byNumber.delete(above); above++);
    this.place(block)
    this.tip = block
  }

  /** Forgets the followed chain, not the blocks. */
  detach(): void {
    this.byNumber.clear()
  }

  /** All blocks, of any fork. */
  all(): Iterable<HeadBlock> {
    return this.byHash.values()
  }

  /** The number of blocks of the followed chain whose logs only one endpoint vouches for. */
  get unproven(): number {
    return [...this.byNumber.values()].filter(({ evidence }) => evidence === 'single').length
  }

  private forgetOldest(): void {
    const [hash, { header }] = this.byHash.entries().next().value!
    this.byHash.delete(hash)
    const number = Number(header.number)
    if (this.byNumber.get(number)?.header.hash === hash) this.byNumber.delete(number)
  }
}
