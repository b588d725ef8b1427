import { UnavailableError } from './problems'
import type { SharedMarks } from './redis'

/** Maximum number of nonces in this process: 150 MB. Beyond it, requests are refused until one expires. */
const NONCES_REMEMBERED = 1_000_000

/** Used nonces, shared by API instances if Redis is configured, otherwise of this process. */
export class Nonces {
  /** Expiry of each key, by `elapsed`; oldest first. */
  private readonly local = new Map<string, number>()

  /** @param elapsed monotonic milliseconds: a step of the system's clock does not shorten a nonce's life */
  constructor(
    private readonly elapsed: () => number,
    private readonly shared?: SharedMarks,
  ) {}

  /**
   * Returns true for the key's first use within `ms`, which must be the same in all calls. Throws an
   * UnavailableError if this cannot be decided: a used nonce must not pass again.
   */
  async claim(key: string, ms: number): Promise<boolean> {
    if (!this.shared) return this.claimLocally(key, ms)
    const first = await this.shared.claim(`nonce:${key}`, ms)
    if (first === undefined)
      throw new UnavailableError(
        'The service cannot check the nonce at the moment. Sign the request with a new one and retry.',
      )
    return first
  }

  private claimLocally(key: string, ms: number): boolean {
    const now = this.elapsed()
    for (const [old, until] of this.local) {
      if (until > now) break
      this.local.delete(old)
    }
    if (this.local.has(key)) return false
    if (this.local.size >= NONCES_REMEMBERED)
      throw new UnavailableError('Too many signed requests in the last minutes.')
    this.local.set(key, now + ms)
    return true
  }
}
