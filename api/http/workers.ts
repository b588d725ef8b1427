import { Piscina } from 'piscina'
import { isStarved, processorTime } from './load'
import { UnavailableError } from './problems'
import { Semaphore, busyWith, type SemaphoreLimits } from './semaphore'
import type { Work } from './work'

/** Threads that take tasks from a queue; they start with the first one, and end when nobody asks. */

const IDLE_MS = 60_000
const MACHINE_BUSY = 'The machine of this service has too much other work to do this in time.'

export interface WorkerLimits {
  /** Threads: of all clients, and of one; tasks that may wait, and for how long. */
  slots: Required<SemaphoreLimits>
  /** Says that too many tasks wait, or for too long. */
  busy: string
  /** How long a task may take, in milliseconds, and what is said of one that takes longer. */
  taskMs: number
  slow: string
}

export class Workers {
  private pool?: Piscina
  private readonly slots: Semaphore

  /** @param file of the functions */
  constructor(
    private readonly file: string,
    private readonly limits: WorkerLimits,
  ) {
    this.slots = new Semaphore(limits.slots, busyWith(`${limits.busy} They are yours.`, limits.busy))
  }

  async close(): Promise<void> {
    await this.pool?.destroy()
  }

  /**
   * Runs an exported function of the file in the client's turn; ends it when the work ends. Throws its error,
   * an UnavailableError under too much load, and a RecordsError (429) where it is the client's own.
   */
  async run(
    name: string,
    input: unknown,
    { client, signal, spend }: Work,
    transfer?: readonly ArrayBuffer[],
  ): Promise<unknown> {
    const { slots, taskMs, slow } = this.limits
    const release = await this.slots.acquire(client, signal)
    // A worker may fail to start, as while its files are replaced: its task then ends by its time limit.
    this.pool ??= new Piscina({
      filename: this.file,
      minThreads: 0,
      maxThreads: slots.all,
      idleTimeout: IDLE_MS,
    }).on('error', () => {})
    const [began, spentBefore] = [performance.now(), processorTime()]
    const abort = new AbortController()
    const end = () => abort.abort()
    const timer = setTimeout(end, taskMs)
    signal.addEventListener('abort', end)
    try {
      signal.throwIfAborted()
      return (await this.pool.run(input, {
        name,
        signal: abort.signal,
        ...(transfer && { transferList: transfer }),
      })) as unknown
    } catch (error) {
      signal.throwIfAborted()
      if ((error as Error).name !== 'AbortError') throw error
      const starved = isStarved(processorTime() - spentBefore, taskMs, this.slots.load.running)
      throw new UnavailableError(starved ? MACHINE_BUSY : slow)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      spend(performance.now() - began)
      release()
    }
  }
}
