/** A value that is read at most every so often and shared by all who ask meanwhile; a failed read is not kept. */
export class SharedRead<T> {
  private last: { at: number; value: Promise<T> } | undefined

  /** @param clock milliseconds */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly milliseconds: number,
    private readonly clock: () => number,
  ) {}

  get(): Promise<T> {
    const { last } = this
    const age = last ? this.clock() - last.at : Infinity
    // Below 0 where the clock was set back.
    return last && age >= 0 && age < this.milliseconds ? last.value : this.again()
  }

  /** As get, but for a caller to whom this very value proved to be out of date: then read anew, once for all who say so. */
  async insteadOf(stale: T): Promise<T> {
    const { last } = this
    if (!last || (await last.value) !== stale) return this.get()
    // Whoever was first to say so has started another read.
    return this.last === last ? this.again() : this.get()
  }

  private again(): Promise<T> {
    const value = this.read()
    const read = (this.last = { at: this.clock(), value })
    value.catch(() => {
      if (this.last === read) this.last = undefined
    })
    return value
  }
}
