import { MONOTONIC, type Clock } from '../clock'

/** A contradiction that nothing has settled counts against a chain for this long. */
const CONTRADICTION_HOLDS_MS = 15_000

/**
 * A node's answers cannot all be true: it lags, is between two forks, or lies. The same question may get a
 * better answer later, or from another node.
 */
export class ContradictionError extends Error {
  override readonly name: string = 'ContradictionError'
}

const NOTHING = { at: -Infinity, reason: '' }

/** Why the copy of a chain is not reliable now, as noticed by all readers of that chain in this process. */
export class Doubt {
  /** Blocks near the head whose logs only one endpoint vouches for. */
  unprovenAtHead = 0
  /** Ranges of blocks that the audit could not compare with the chain because of contradictions. */
  repairsPending = 0
  /** True while endpoints have no contract at the address of EAS. */
  lacksContract = false
  private noted = 0
  private last = NOTHING
  private fork = NOTHING

  constructor(private readonly clock: Clock = MONOTONIC) {}

  /** Notes that the endpoints' answers cannot be true and that no other endpoint settled it. */
  contradicted(reason: string): void {
    this.noted++
    this.last = { at: this.clock.now(), reason: reason.slice(0, 200) }
  }

  /** Notes a fork that endpoints name. It is no doubt any more once it is followed. */
  forked(reason: string): void {
    this.noted++
    this.fork = { at: this.clock.now(), reason: reason.slice(0, 200) }
  }

  followed(): void {
    this.fork = NOTHING
  }

  /** The reasons in words, for GET /ready; undefined while there is no doubt. */
  reason(): string | undefined {
    const reasons = []
    const lately = [this.last, this.fork].filter(({ at }) => this.clock.now() - at < CONTRADICTION_HOLDS_MS)
    if (lately.length)
      reasons.push(`contradictions seen lately: ${lately.map(({ reason }) => reason).join('; ')}`)
    if (this.lacksContract) reasons.push('the RPC endpoint has no contract at the address of EAS')
    if (this.unprovenAtHead) reasons.push(`unproven blocks at the head: ${this.unprovenAtHead}`)
    if (this.repairsPending)
      reasons.push(`ranges of blocks waiting to be audited again: ${this.repairsPending}`)
    return reasons.length ? reasons.join('; ') : undefined
  }

  /** The number of contradictions since the last call. */
  takeContradictions(): number {
    const count = this.noted
    this.noted = 0
    return count
  }
}
