import { Piscina } from 'piscina'
import { UnavailableError } from '../http/problems'

/** Threads that take tasks from a queue; they start with the first one, and end when nobody asks. */

const IDLE_MS = 60_000

export interface WorkerLimits {
  threads: number
  /** Tasks that may wait; and what is said to one more. */
  waiting: number
  busy: string
  /** How long a task may take, waiting included, milliseconds; and what is said of one that takes longer. */
  taskMs: number
  slow: string
}

export class Workers {
  private pool?: Piscina

  /** @param file of the functions */
  constructor(
    private readonly file: string,
    private readonly limits: WorkerLimits,
  ) {}

  async close(): Promise<void> {
    await this.pool?.destroy()
  }

  /** Runs an exported function of the file. Throws its error, and an UnavailableError under too much load. */
  async run(name: string, input: unknown, transfer?: readonly ArrayBuffer[]): Promise<unknown> {
    const { threads, waiting, busy, taskMs, slow } = this.limits
    this.pool ??= new Piscina({
      filename: this.file,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_MS,
      maxQueue: waiting,
    })
    if (this.pool.queueSize >= waiting) throw new UnavailableError(busy)
    try {
      return (await this.pool.run(input, {
        name,
        signal: AbortSignal.timeout(taskMs),
        ...(transfer && { transferList: transfer }),
      })) as unknown
    } catch (error) {
      if ((error as Error).name === 'AbortError') throw new UnavailableError(slow)
      throw error
    }
  }
}
