import { Interface } from 'ethers/abi'
import { QUORUM_ABI } from '../../src/eas'

/** Operator sets of a GeoQuorum contract (packages/contracts). */

export const QUORUM = new Interface(QUORUM_ABI)

/** Number of epochs before the current one that may still be valid, or were replaced. */
const EARLIER_EPOCHS = 8

/** Operator set of a GeoQuorum contract. */
export interface QuorumEpoch {
  epoch: number
  /** Unix seconds, included */
  validFrom: number
  /** Unix seconds, excluded; 0 if the epoch was replaced before it started */
  validUntil: number
  threshold: number
  /** Lower-case addresses in the order of the bitmap; zero for one that was removed. */
  operators: string[]
}

/** Calls a view function of the contract. */
export type QuorumView = (name: string, parameters: unknown[]) => Promise<unknown>

/** Reads the epochs valid at this time (Unix seconds) or later; undefined for another EAS. */
export async function readEpochs(
  view: QuorumView,
  expectedEas: string,
  time: number,
): Promise<QuorumEpoch[] | undefined> {
  const [eas, current, latest] = await Promise.all(
    ['eas', 'currentEpoch', 'latestEpoch'].map((name) => view(name, [])),
  )
  if ((eas as string).toLowerCase() !== expectedEas) return undefined
  const first = Math.max(1, Number(current) - EARLIER_EPOCHS)
  const numbers = Array.from({ length: Number(latest) - first + 1 }, (_, i) => first + i)
  const epochs = numbers.map(async (epoch) => epochOf(epoch, await view('epochOf', [epoch])))
  return (await Promise.all(epochs)).filter(({ validUntil }) => validUntil > time)
}

function epochOf(epoch: number, stored: unknown): QuorumEpoch {
  const { validFrom, validUntil, threshold, operators } = stored as Record<
    'validFrom' | 'validUntil' | 'threshold',
    bigint
  > & { operators: readonly string[] }
  return {
    epoch,
    validFrom: Number(validFrom),
    validUntil: Number(validUntil),
    threshold: Number(threshold),
    operators: operators.map((operator) => operator.toLowerCase()),
  }
}
