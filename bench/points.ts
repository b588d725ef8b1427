import { locationRequest, mined, type LocalChain } from '../dev/chain'
import { seededRandom } from '../dev/random'
import type { Bench } from './bench'

/** Seeded random points, and their attestations. */

/** Number of attestations. BENCH_ATTESTATIONS changes it; 100000 take ten minutes to attest. */
export const ATTESTATIONS = Number(process.env.BENCH_ATTESTATIONS) || 10_000
/**
 * Attestations per transaction; each transaction has a block of its own. The local node's time per block
 * grows with the size of the chain. Therefore, many attestations go into few blocks.
 */
export const PER_BLOCK = ATTESTATIONS > 20_000 ? 1_000 : 100
/** Seed of the points. Its value does not matter. */
export const SEED = 20_260_101
/**
 * Fixed gas limit, so that no gas estimate is needed: 100 attestations cost about 70 million, and a block has
 * room for 1,000 million.
 */
export const GAS_LIMIT = 990_000_000

/** Attests this many seeded random points, PER_BLOCK at once. Returns their UIDs. */
export async function attestPoints(
  chain: LocalChain,
  count: number,
  progress: Bench['progress'],
): Promise<string[]> {
  const multiAttest = (await chain.eas()).getFunction('multiAttest')
  const random = seededRandom(SEED)
  const uids: string[] = []
  while (uids.length < count) {
    const requests = Array.from({ length: Math.min(PER_BLOCK, count - uids.length) }, () =>
      locationRequest(randomPoint(random)),
    )
    const sent = await multiAttest.send(
      [{ schema: requests[0]!.schema, data: requests.map((request) => request.data) }],
      { gasLimit: GAS_LIMIT },
    )
    const { logs } = await mined(chain, sent.hash)
    // The data of an Attested log is the UID.
    uids.push(...logs.map((log) => log.data))
    progress('attested', uids.length, count)
  }
  return uids
}

/** A random point with six decimals (0.1 m), like most coordinates. */
export function randomPoint(random: () => number) {
  const within = (limit: number) => Number(((random() * 2 - 1) * limit).toFixed(6))
  return { type: 'Point' as const, coordinates: [within(180), within(90)] }
}
