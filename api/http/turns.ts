import { Cache } from './cache'
import { Semaphore, type SemaphoreLimits } from './semaphore'
import type { Work } from './work'

/** Mean time in milliseconds of a client's last turns above which it counts as slow. */
const SLOW_MS = 100
/** Weight of the last turn in the mean: about ten quick turns offset one of a second. */
const NEWEST = 0.2

/**
 * Turns for work with few slots, such as database statements of clients. One client may have most slots while
 * its turns are quick, because they are soon free again, and few once its turns are slow or their time is
 * unknown.
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

  /** Runs a function when it is the client's turn, and charges its time to the work. */
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
