import type { Chain } from '../../src/chains'
import { checksumAddress } from '../../src/eas'
import type { ComputeParts, ServedChain } from '../compute'
import type { QuorumEpoch } from '../contracts'
import { ComputeError } from '../http/problems'
import { SharedRead } from '../http/shared'

/** Time for which the epochs of a contract are cached, in milliseconds. */
const SHARED_MS = 5_000

/** GeoQuorum contract of a chain, and this operator's index in its epochs. */
export class Quorum {
  /** Checksummed address of the contract. */
  readonly address: string
  private readonly read: SharedRead<QuorumEpoch[] | undefined>

  constructor(
    readonly chain: ServedChain,
    address: string,
  ) {
    this.address = checksumAddress(address)
    this.read = new SharedRead(() => chain.reader.quorumEpochs(address), SHARED_MS)
  }

  /** Returns epochs that are or will be valid. Throws a ComputeError if the contract is not a GeoQuorum. */
  async epochs(): Promise<QuorumEpoch[]> {
    const epochs = await this.read.get()
    if (!epochs)
      throw new ComputeError(
        'computation-error',
        `${this.address} on ${this.slug} is not a GeoQuorum of EAS ${this.chain.attester.direct.address}. The operator must correct \`quorum\` in CHAINS_FILE.`,
      )
    return epochs
  }

  /**
   * Returns this operator's index in an epoch. Throws a ComputeError unless the epoch is valid from `time`
   * until `deadline` (Unix seconds) and includes this operator.
   */
  async indexIn(epoch: number, time: number, deadline: number): Promise<number> {
    const valid = (await this.epochs()).filter((each) => each.validFrom <= time && time < each.validUntil)
    const found = valid.find((each) => each.epoch === epoch)
    const numbers = valid.map((each) => each.epoch).join(', ') || 'none'
    if (!found) throw wrongEpoch(`epoch: ${epoch} is not valid on ${this.slug}. Valid now: ${numbers}.`)
    const { address } = this.chain.attester
    if (deadline >= found.validUntil)
      throw wrongEpoch(
        `deadline: expected a time before ${found.validUntil}, the end of epoch ${epoch}, got ${deadline}.`,
      )
    const index = found.operators.indexOf(address.toLowerCase())
    if (index < 0)
      throw wrongEpoch(`epoch: ${address}, this operator, is not one of the operators of epoch ${epoch}.`)
    return index
  }

  private get slug(): Chain['slug'] {
    return this.chain.attester.chain.slug
  }
}

function wrongEpoch(detail: string): ComputeError {
  return new ComputeError('invalid-input', detail, undefined, 'wrong-epoch')
}

/** True if the operator belongs to a quorum on any of its chains. */
export function hasQuorum({ attesters }: Pick<ComputeParts, 'attesters'>): boolean {
  return [...attesters.values()].some(({ attester }) => attester.chain.quorum !== undefined)
}

/** Returns the quorums of the chains that have one, by chain id. */
export function quorumsOf(chains: ReadonlyMap<number, ServedChain>): ReadonlyMap<number, Quorum> {
  return new Map(
    [...chains].flatMap(([id, chain]) => {
      const { quorum } = chain.attester.chain
      return quorum === undefined ? [] : [[id, new Quorum(chain, quorum)] as const]
    }),
  )
}
