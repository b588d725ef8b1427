import { Cache } from './cache'
import { Semaphore, type SemaphoreLimits } from './semaphore'
import type { Work } from './work'

/** From this mean time of a client's last turns they are slow, in milliseconds. */
const SLOW_MS = 100
/** The weight of the last turn in the mean: one of a second is made up for by some ten quick ones. */
const NEWEST = 0.2

/**
 * Turns for work that has few places, such as the statements of clients. One client may have most places
 * while its turns are quick, as they are free again at once, and few once they take long, or are not known.
 */
export class Turns {
  private readonly slots: Semaphore
  /** Mean time of the last turns, by client. */
  private readonly means = new Cache<number>('turn times')

  constructor(
    limits: Omit<SemaphoreLimits, 'each'> & { each: { quick: number; slow: number } },
    ...others: DropFirst<ConstructorParameters<typeof Semaphore>>
  ) {
    const { quick, slow } = limits.each
    const each = (client: string) => ((this.means.get(client) ?? SLOW_MS) < SLOW_MS ? quick : slow)
    this.slots = new Semaphore({ ...limits, each }, ...others)
  }

  get waiting(): number {
    return this.slots.load.waiting
  }

  /** Runs something when it is the client's turn, and counts its time as the cost of the work. */
  async take<T>({ client, signal, spend }: Work, run: () => Promise<T>): Promise<T> {
    const release = await this.slots.acquire(client, signal)
    const began = performance.now()
    try {
      return await run()
    } finally {
      const ms = performance.now() - began
      const mean = this.means.get(client) ?? ms
      this.means.set(client, mean + NEWEST * (ms - mean))
      spend(ms)
      release()
    }
  }
}

type DropFirst<List extends readonly unknown[]> = List extends [unknown, ...infer Others] ? Others : never
