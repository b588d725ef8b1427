import { setTimeout } from 'node:timers/promises'
import { MONOTONIC } from '../../src/clock'

/** Time in milliseconds that a new read waits for the one under way. */
const PATIENCE_MS = 250

/** A value that all callers share and that is read again after some time. A failed read is not cached. */
export class SharedRead<T> {
  private last: { at: number; value: Promise<T>; ended: boolean } | undefined
  private next: Promise<T> | undefined

  /**
   * @param milliseconds maximum age of a read, from its start; 0: a call only gets a read that starts after
   * it
   * @param elapsed monotonic milliseconds; set in tests
   */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly milliseconds: number,
    private readonly elapsed: () => number = MONOTONIC.now,
  ) {}

  get(): Promise<T> {
    return this.last && this.age() < this.milliseconds ? this.last.value : this.fresh()
  }

  /** Like `get`, but by a read that starts after this call. Calls during a read share the following read. */
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
    const read: typeof this.last = { at: this.elapsed(), value, ended: false }
    this.last = read
    value.then(
      () => (read.ended = true),
      () => {
        if (this.last === read) this.last = undefined
      },
    )
    return value
  }

  /** Milliseconds since the last read started. */
  private age(): number {
    return this.elapsed() - this.last!.at
  }
}
