/** For so long a contradiction that nothing has settled speaks against a chain. */
const CONTRADICTION_HOLDS_MS = 15_000

/** Why a chain's copy is not to be relied on as of now, gathered by whatever reads the chain, in one process. */
export class Doubt {
  /** Blocks near the head whose logs nobody but the one endpoint vouches for. */
  unprovenAtHead = 0
  /** Ranges of blocks that the audit could not hold against the chain, as the answers contradicted each other. */
  repairsPending = 0
  private noted = 0
  private last = { at: -Infinity, reason: '' }

  /** `clock` in milliseconds. */
  constructor(private readonly clock: () => number = Date.now) {}

  /** The endpoints' answers cannot be true, and no other endpoint settled it. */
  contradicted(reason: string): void {
    this.noted++
    this.last = { at: this.clock(), reason: reason.slice(0, 200) }
  }

  /** In words, for GET /ready; undefined while there is no doubt. */
  reason(): string | undefined {
    const reasons = []
    if (this.clock() - this.last.at < CONTRADICTION_HOLDS_MS)
      reasons.push(`contradictions seen lately: ${this.last.reason}`)
    if (this.unprovenAtHead) reasons.push(`unproven blocks at the head: ${this.unprovenAtHead}`)
    if (this.repairsPending)
      reasons.push(`ranges of blocks waiting to be audited again: ${this.repairsPending}`)
    return reasons.length ? reasons.join('; ') : undefined
  }

  /** How many contradictions there were since this was last asked. */
  takeContradictions(): number {
    const count = this.noted
    this.noted = 0
    return count
  }
}
