import { Piscina } from 'piscina'
import { TooExpensiveError, UnavailableError } from './problems'
import { Semaphore, busyWith, type SemaphoreLimits } from './semaphore'
import type { Work } from './work'

const IDLE_MS = 60_000
/** Share of a processor below which a task counts as slowed by other load of its machine. */
const LEAST_SHARE = 0.5

export interface WorkerLimits {
  /** Number of threads for all clients and for one; number of queued tasks, and their maximum wait. */
  slots: SemaphoreLimits
  /** Time limit of a task in milliseconds. It includes the wait unless `slots` limits the wait. */
  taskMs: number
  /** Niceness of the threads above that of the process. The file applies it (niceness.ts). */
  niceness?: number
  /** Error of a task that gets no thread; `isOwn`: the client's own limit is reached. */
  busy: (isOwn: boolean) => Error
  /** Error of a task that exceeded its limit; `isStarved`: other load slowed the machine. */
  slow: (isStarved: boolean, limitMs: number) => Error
}

/** Builds errors of the Records API, from sentences for too many tasks and for one that took too long. */
export function workerErrors(busy: string, slow: string): Pick<WorkerLimits, 'busy' | 'slow'> {
  return {
    busy: busyWith(`${busy} They are all from your IP address.`, busy),
    slow: (isStarved) =>
      isStarved
        ? new UnavailableError('The service is overloaded and could not finish in time.')
        : new TooExpensiveError(slow),
  }
}

/** Threads that run tasks from a queue. They start with the first task, and end when they are idle. */
export class Workers {
  private pool?: Piscina
  private readonly slots: Semaphore

  /** @param file of the functions @param spent processor microseconds of this process; set in tests */
  constructor(
    private readonly file: string,
    private readonly limits: WorkerLimits,
    private readonly spent = processorTime,
  ) {
    this.slots = new Semaphore(limits.slots, limits.busy)
  }

  get load(): { running: number; waiting: number } {
    return this.slots.load
  }

  async close(): Promise<void> {
    await this.pool?.destroy()
  }

  /** Runs an exported function of the file in the client's turn. Throws its error and those of the limits. */
  async run<Answer>(
    name: string,
    input: unknown,
    { client, signal: left, spend }: Work,
    transferList: readonly ArrayBuffer[] = [],
    limitMs = this.limits.taskMs,
  ): Promise<Answer> {
    left.throwIfAborted()
    const { slots, busy, slow } = this.limits
    const waitCounts = slots.waitMs === undefined
    // Not AbortSignal.any: a timeout's signal in it may be garbage-collected, and then never aborts.
    const ending = new AbortController()
    const { signal } = ending
    const end = () => ending.abort()
    let timer = waitCounts ? setTimeout(end, limitMs) : undefined
    left.addEventListener('abort', end)
    const settle = () => {
      clearTimeout(timer)
      left.removeEventListener('abort', end)
    }
    const asked = performance.now()
    const release = await this.slots.acquire(client, ending).catch((error: Error) => {
      settle()
      left.throwIfAborted()
      throw error === signal.reason ? busy(false) : error
    })
    const began = performance.now()
    const waitedMs = waitCounts ? began - asked : 0
    if (!waitCounts) timer = setTimeout(end, limitMs)
    const spentBefore = this.spent()
    // A worker may fail to start, for example while its files are replaced. Its task ends by its time limit.
    this.pool ??= new Piscina({
      filename: this.file,
      minThreads: 0,
      maxThreads: slots.all,
      idleTimeout: IDLE_MS,
      workerData: { niceness: this.limits.niceness },
    }).on('error', () => {})
    try {
      return (await this.pool.run(input, { name, transferList, signal })) as Answer
    } catch (error) {
      left.throwIfAborted()
      if ((error as Error).name !== 'AbortError') throw error
      if (waitedMs > limitMs / 2) throw busy(false)
      const share = (this.spent() - spentBefore) / 1000 / (limitMs - waitedMs)
      throw slow(share / Math.max(1, this.load.running) < LEAST_SHARE, limitMs)
    } finally {
      settle()
      spend(performance.now() - began)
      release()
    }
  }
}

/** Returns the processor time of this process in microseconds. */
function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
