import { setTimeout } from 'node:timers/promises'

/** A read that has no answer by then is no longer waited for before the next one begins. */
const PATIENCE_MS = 250

/** A value that is read at most every so often and shared by all who ask meanwhile; a failed read is not kept. */
export class SharedRead<T> {
  private last: { at: number; value: Promise<T>; ended: boolean } | undefined
  private next: Promise<T> | undefined

  /**
   * @param milliseconds how long before a request the read may have begun that answers it; 0: each read answers only requests that came before it
   * @param clock milliseconds
   */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly milliseconds: number,
    private readonly clock: () => number,
  ) {}

  get(): Promise<T> {
    return this.last && this.age() < this.milliseconds ? this.last.value : this.fresh()
  }

  /** As get, but of a read that begins after this call. Callers that come while a read is under way share the next one. */
  fresh(): Promise<T> {
    if (this.next) return this.next
    const { last } = this
    const wait = last && !last.ended ? PATIENCE_MS - this.age() : 0
    if (!last || wait <= 0) return this.start()
    const ended = last.value.catch(() => {})
    return (this.next = Promise.race([ended, setTimeout(wait, undefined, { ref: false })]).then(() => {
      this.next = undefined
      return this.start()
    }))
  }

  private start(): Promise<T> {
    const value = this.read()
    const read: typeof this.last = { at: this.clock(), value, ended: false }
    this.last = read
    value.then(
      () => (read.ended = true),
      () => {
        if (this.last === read) this.last = undefined
      },
    )
    return value
  }

  /** Milliseconds since the last read began; Infinity where the clock was set back. */
  private age(): number {
    const age = this.clock() - this.last!.at
    return age < 0 ? Infinity : age
  }
}
