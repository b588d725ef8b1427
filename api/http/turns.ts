import { Cache } from './cache'
import { Semaphore, type SemaphoreLimits } from './semaphore'
import type { Work } from './work'

/** Mean milliseconds of a client's last turns above which it counts as slow, by default. */
const SLOW_MS = 100
/** Weight of the last turn in the mean: about ten quick turns offset one of a second. */
const NEWEST = 0.2

/**
 * Turns for work with few slots, such as database statements of clients. While a client's turns are quick, it
 * may have most slots, because they are soon free again. Otherwise it gets few.
 */
export class Turns {
  private readonly slots: Semaphore
  private readonly means = new Cache<number>('turn times')

  constructor(
    limits: Omit<SemaphoreLimits, 'each'> & { each: { quick: number; slow: number }; slowMs?: number },
    refusal?: ConstructorParameters<typeof Semaphore>[1],
  ) {
    const { slowMs = SLOW_MS } = limits
    const { quick, slow } = limits.each
    const each = (client: string) => ((this.means.get(client) ?? slowMs) < slowMs ? quick : slow)
    this.slots = new Semaphore({ ...limits, each }, refusal)
  }

  get waiting(): number {
    return this.slots.load.waiting
  }

  /** Runs a function when it is the client's turn, and charges its time to the work. */
  take<T>(work: Work, run: () => Promise<T>): Promise<T> {
    return this.slots.run(work, async () => {
      const began = performance.now()
      try {
        return await run()
      } finally {
        const ms = performance.now() - began
        this.note(work.client, ms)
        work.spend(ms)
      }
    })
  }

  /** Resolves in the client's turn, with the function that ends it. The caller notes the time of the turn. */
  acquire(client: string, work: Pick<Work, 'signal'>): Promise<() => void> {
    return this.slots.acquire(client, work)
  }

  /** Adds the time of a turn in milliseconds to the client's mean. */
  note(client: string, ms: number): void {
    const mean = this.means.get(client) ?? ms
    this.means.set(client, mean + NEWEST * (ms - mean))
  }
}
