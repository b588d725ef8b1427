import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { expect, test } from 'vitest'
import { CHAINS } from '../../src/chains'
import { attestationUid } from '../../src/eas'
import type { ServedChain } from './attester'
import { findLanded } from './landed'

/** Tests searches through an endpoint that the test simulates. landed.service.test.ts uses a real chain. */
const chain = CHAINS[0]!
const BLOCKS = 50_000
const timeOf = (block: number) => 1_700_000_000 + 2 * (block - chain.firstBlock)
const CONTENT = { schema: ZeroHash, recipient: ZeroAddress, revocable: true, data: '0x' }

test.each([
  ['all blocks', Infinity, 1, 20],
  ['2,000 blocks', 2_000, 1_999, 30],
  ['2,000 blocks', 2_000, 7, 40],
])(
  'an answer is found through an endpoint that returns the logs of %s, after few were returned before',
  async (_, limit, span, most) => {
    const landed = chain.firstBlock + BLOCKS - 1
    const time = BigInt(timeOf(landed))
    const uid = attestationUid({
      ...{ ...CONTENT, attester: ZeroAddress, expirationTime: 0n, refUID: ZeroHash, time },
    })
    let calls = 0
    const reader = {
      ...{ logs: { span }, isLocal: async () => false, attestation: async () => ({ revocationTime: 0n }) },
      block: async (which: number | 'latest') => {
        const number = which === 'latest' ? landed : which
        return { number, time: timeOf(number) }
      },
      attested: async (_filter: object, from: number, to: number) => {
        calls++
        if (to - from >= limit) throw new Error('too many blocks', { cause: 'the endpoint' })
        const log = { uid, time: Number(time), blockNumber: landed, transactionHash: ZeroHash }
        return to === landed ? [log] : []
      },
    }
    const served = { attester: { chain }, reader } as unknown as ServedChain
    const statement = { ...CONTENT, expirationTime: 0 }
    const found = await findLanded(served, statement, ZeroAddress, timeOf(chain.firstBlock), () => true)
    expect(found).toMatchObject({ status: 'landed', uid, blockNumber: landed })
    expect(calls).toBeLessThan(most)
  },
)
