/** Maximum number of forks for which the time of an unwritten block is tracked. */
const FORKS_AWAITED = 100

/** Times at which reading or writing the next block first failed, in milliseconds, by its hash. */
export class UnwrittenBlocks {
  private readonly since = new Map<string, number>()

  /** Records a failure at this time. Returns the milliseconds since the first failure of this block. */
  failed(hash: string, now: number): number {
    const since = this.since.get(hash) ?? now
    // The block becomes the newest, so that the oldest one is dropped.
    this.forget(hash)
    this.since.set(hash, since)
    if (this.since.size > FORKS_AWAITED) this.forget(this.since.keys().next().value!)
    return now - since
  }

  forget(hash: string): void {
    this.since.delete(hash)
  }

  clear(): void {
    this.since.clear()
  }
}
