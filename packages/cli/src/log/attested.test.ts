// SPDX-License-Identifier: MIT
import { describe, expect } from 'vitest'
import { hunt } from '../../../../test/seed'
import { attestedSince, OVERLAP_BLOCKS } from './attested'

/** A chain whose provider has nodes that lag behind each other, and whose newest blocks are replaced. */
class LaggingChain {
  blocks: string[][] = [[]]
  /** Number of blocks by which a node that returns attestations may lag behind. */
  longLag = 3 * OVERLAP_BLOCKS
  private made = 0

  constructor(private readonly below: (limit: number) => number) {}

  mine(count: number): void {
    for (let more = 0; more < count; more++) {
      const uids = Array.from({ length: this.below(4) === 0 ? 1 + this.below(2) : 0 }, () => {
        return `0x${(++this.made).toString(16).padStart(64, '0')}`
      })
      this.blocks.push(uids)
    }
  }

  /** Replaces up to `depth` blocks. */
  reorganise(depth: number): void {
    const gone = Math.min(this.below(depth), this.blocks.length - 1)
    this.blocks.length -= gone
    this.mine(gone + this.below(2))
  }

  /** Number of the newest block of a node that lags behind by fewer blocks than this. */
  private head(lag = 20): number {
    return Math.max(0, this.blocks.length - 1 - this.below(lag))
  }

  readonly client = {
    getBlockNumber: () => Promise.resolve(BigInt(this.head())),
    getLogs: ({ fromBlock, toBlock }: { fromBlock: bigint; toBlock: bigint }) => {
      const end = Math.min(this.head(), Number(toBlock))
      return Promise.resolve(
        this.blocks.flatMap((uids, block) =>
          block < Number(fromBlock) || block > end
            ? []
            : uids.map((uid) => ({ args: { uid }, blockNumber: BigInt(block) })),
        ),
      )
    },
    readContract: ({ args: [uid], functionName }: { args: [string]; functionName: string }) => {
      const head = this.head(this.below(4) === 0 ? this.longLag : undefined)
      const block = this.blocks.findIndex((uids) => uids.includes(uid))
      const isKnown = block >= 0 && block <= head
      if (functionName === 'getAttester') return Promise.resolve(isKnown ? ATTESTER : ZERO)
      const attester = Number(uid) % 2 === 0 ? ATTESTER : PROXY
      return Promise.resolve({
        ...{ attester: isKnown ? attester : ZERO, time: isKnown ? BigInt(1 + block) : 0n, schema: '0x1' },
        ...{ recipient: ZERO, expirationTime: 0n, revocable: true, refUID: '0x2', data: uid },
      })
    },
  }
}
const ZERO = `0x${'0'.repeat(40)}`
const ATTESTER = '0x00000000000000000000000000000000000000a1'
const PROXY = '0x00000000000000000000000000000000000000b2'
const CHAIN = { id: 1, slug: 'c', eas: '0xea5', attester: ATTESTER, proxy: { address: PROXY } } as never

describe('attestedSince', () => {
  hunt('finds each attestation once, on nodes that lag and chains that reorganise', 10, async (context) => {
    const { random, cases } = context
    const below = (limit: number) => Math.floor(random() * limit)
    for (let round = 0; round < cases; round++) {
      const chain = new LaggingChain(below)
      chain.mine(30)
      let [from, known]: [number, Record<string, number>] = [0, {}]
      const found: string[] = []
      for (let read = 0; read < 60; read++) {
        // The last read shows whether earlier ones skipped an attestation permanently.
        if (read === 59) chain.longLag = 1
        chain.mine(below(10) === 0 ? below(700) : below(8))
        chain.reorganise(12)
        const result = await attestedSince(chain.client as never, CHAIN, from, known)
        ;({ next: from, known } = result)
        found.push(...result.found.map(({ uid }) => uid))
      }
      const final = chain.blocks.slice(0, -OVERLAP_BLOCKS - 1).flat()
      expect(new Set(found).size).toBe(found.length)
      expect(final.filter((uid) => !found.includes(uid))).toEqual([])
      expect(from).toBeGreaterThan(chain.blocks.length - 2 * OVERLAP_BLOCKS)
    }
  })
})
