import { MONOTONIC, type Clock } from '../clock'

/** Milliseconds for which an unresolved contradiction counts against a chain. */
const CONTRADICTION_HOLDS_MS = 15_000

/**
 * The responses of nodes contradict each other or themselves: a node lags, switches forks, or lies. A later
 * request, or one to another node, may get a correct response.
 */
export class ContradictionError extends Error {
  override readonly name: string = 'ContradictionError'
}

/** Error for a range that does not follow the block before: the chain was replaced, or endpoints differ. */
export class BrokenLinkError extends ContradictionError {}

const NOTHING = { at: -Infinity, reason: '' }

/** Reasons of all readers in this process why the database may not agree with a chain now. */
export class Doubt {
  /** Blocks near the head whose logs only one endpoint confirms, at first those of an earlier process. */
  unprovenAtHead: readonly number[] = []
  /** Number of ranges of blocks that the audit could not compare because of contradictions. */
  repairsPending = 0
  /** True while endpoints have no contract at the address of EAS. */
  lacksContract = false
  private noted = 0
  private last = NOTHING
  private fork = NOTHING

  constructor(private readonly clock: Clock = MONOTONIC) {}

  /** Records a contradiction between responses that no other endpoint resolved. */
  contradicted(reason: string): void {
    this.noted++
    this.last = { at: this.clock.now(), reason: reason.slice(0, 200) }
  }

  /** Records a fork that endpoints report. The doubt ends once the fork is followed. */
  forked(reason: string): void {
    this.noted++
    this.fork = { at: this.clock.now(), reason: reason.slice(0, 200) }
  }

  followed(): void {
    this.fork = NOTHING
  }

  /** Records that the audit has proven the logs of blocks `from` to `to`, inclusive. */
  proven(from: number, to: number): void {
    this.unprovenAtHead = this.unprovenAtHead.filter((height) => height < from || height > to)
  }

  /** Returns the reasons as text, for GET /ready; undefined while there is no doubt. */
  reason(): string | undefined {
    const reasons = []
    const lately = [this.last, this.fork].filter(({ at }) => this.clock.now() - at < CONTRADICTION_HOLDS_MS)
    if (lately.length) reasons.push(`recent contradictions: ${lately.map(({ reason }) => reason).join('; ')}`)
    if (this.lacksContract) reasons.push('the RPC endpoint finds no contract at the address of EAS')
    const unproven = this.unprovenAtHead.length
    if (unproven) reasons.push(`unproven blocks at the head: ${unproven}`)
    if (this.repairsPending) reasons.push(`block ranges to be audited again: ${this.repairsPending}`)
    return reasons.length ? reasons.join('; ') : undefined
  }

  /** Returns the number of contradictions since the last call. */
  takeContradictions(): number {
    const count = this.noted
    this.noted = 0
    return count
  }
}
