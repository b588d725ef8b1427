// SPDX-License-Identifier: MIT
import { describe, expect, test } from 'vitest'
import { ATTEST_TYPE_HASHES, encodeNumericResult } from '../../../../src/eas'
import { hunt } from '../../../../test/seed'
import { attestedSince, LANDING_SECONDS, OVERLAP_BLOCKS } from './attested'

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
    getLogs: ({ fromBlock, toBlock, address }: { fromBlock: bigint; toBlock: bigint; address: string }) => {
      const end = Math.min(this.head(), Number(toBlock))
      return Promise.resolve(
        this.blocks.flatMap((uids, block) =>
          block < Number(fromBlock) || block > end
            ? []
            : uids
                .filter((uid) => address === ROGUE || isOfQuorum(uid) === (address === QUORUM))
                .map((uid) => ({
                  args: address !== '0xea5' ? { uid, epoch: epochOf(uid), signers: signersOf(uid) } : { uid },
                  blockNumber: BigInt(block),
                })),
        ),
      )
    },
    readContract: (call: { args: [string | number]; functionName: string; blockNumber?: bigint }) => {
      const { functionName, blockNumber } = call
      if (functionName === 'epochOf') {
        // The second epoch no longer has the attester, and not all nodes have earlier states.
        if (blockNumber !== undefined && this.below(2) === 0) return Promise.reject(new Error('no state'))
        const isRemoved = call.args[0] === 2 && blockNumber === undefined
        const isKnown = this.longLag === 1 || this.below(9) > 0
        return Promise.resolve({ operators: isKnown ? [OTHER, isRemoved ? ZERO : ATTESTER] : [] })
      }
      if (functionName === 'getAttestTypeHash') return Promise.resolve(ZERO)
      const uid = String(call.args[0])
      const head = this.head(this.below(4) === 0 ? this.longLag : undefined)
      const block = this.blocks.findIndex((uids) => uids.includes(uid))
      const isKnown = block >= 0 && block <= head
      if (functionName === 'getAttester') return Promise.resolve(isKnown ? ATTESTER : ZERO)
      const attester = isOfQuorum(uid) ? QUORUM : Number(uid) % 2 === 0 ? ATTESTER : PROXY
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
const QUORUM = '0x00000000000000000000000000000000000000c3'
/** Contract whose events name all attestations, none of which it attested. */
const ROGUE = '0x00000000000000000000000000000000000000d4'
const OTHER = '0x0000000000000000000000000000000000000001'
const CHAIN = {
  ...{
    id: 1,
    slug: 'c',
    eas: '0xea5',
    attesters: [ATTESTER],
    proxies: [PROXY],
    quorums: [ROGUE, QUORUM],
  },
} as never
const isOfQuorum = (uid: string) => Number(uid) % 3 === 0
/** Signers of a quorum's attestation, as a bitmap: another operator, and often the attester (index 1). */
const signersOf = (uid: string) => (Number(uid) % 4 === 0 ? 1n : 3n)
const epochOf = (uid: string) => 1 + (Number(uid) % 5 === 0 ? 1 : 0)

describe('attestedSince', () => {
  test.each([
    ['v1', 1_800_000_000 - LANDING_SECONDS],
    ['v2', 1_800_000_000 - LANDING_SECONDS],
    ['legacy', 1_700_000_000 - 60],
  ] as const)(
    'limits the age of a signature by the layout %s of the contract itself',
    async (layout, earliest) => {
      const claims = { timestamp: 1_700_000_000, operation: 'length', inputRefs: [`0x${'ab'.repeat(32)}`] }
      const attestation = {
        ...{ attester: ATTESTER, time: 1_800_000_000n, schema: '0x1', recipient: ZERO, expirationTime: 0n },
        ...{ revocable: true, refUID: '0x2', data: encodeNumericResult(1n, 'centimeters', claims) },
      }
      const client = {
        getBlockNumber: () => Promise.resolve(5n),
        getLogs: () => Promise.resolve([{ args: { uid: '0x3' }, blockNumber: 5n }]),
        readContract: ({ functionName }: { functionName: string }) =>
          Promise.resolve(functionName === 'getAttestation' ? attestation : ATTEST_TYPE_HASHES[layout]),
      }
      // A service that names an older version must not be able to hide the attestation.
      const named = { ...(CHAIN as object), quorums: [], domain: { version: '0.26' } }
      const { found } = await attestedSince(client as never, named as never, 5)
      expect(found.map((each) => each.earliest)).toEqual([earliest])
    },
  )

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
      const isOwn = (uid: string) => !isOfQuorum(uid) || signersOf(uid) === 3n
      // Without earlier states, signatures of a removed operator cannot be recognized.
      const isCertain = (uid: string) => isOwn(uid) && !(isOfQuorum(uid) && epochOf(uid) === 2)
      expect(new Set(found).size).toBe(found.length)
      expect(found.filter((uid) => !isOwn(uid))).toEqual([])
      expect(final.filter((uid) => isCertain(uid) && !found.includes(uid))).toEqual([])
      expect(from).toBeGreaterThan(chain.blocks.length - 2 * OVERLAP_BLOCKS)
    }
  })
})
