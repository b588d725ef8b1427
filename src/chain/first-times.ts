/** Maximum number of names whose times are kept. */
const MOST = 1_000

/** Times at which something first failed, in milliseconds, by the hash of its block. */
export class FirstTimes {
  private readonly since = new Map<string, number>()

  /** Records a failure at this time. Returns the milliseconds since the first failure of this name. */
  failed(name: string, now: number): number {
    const since = this.since.get(name) ?? now
    // The name becomes the newest, so that the oldest one is dropped.
    this.forget(name)
    this.since.set(name, since)
    if (this.since.size > MOST) this.forget(this.since.keys().next().value!)
    return now - since
  }

  forget(name: string): void {
    this.since.delete(name)
  }

  clear(): void {
    this.since.clear()
  }
}
