import { RecordsError, UnavailableError } from './problems'
import type { Work } from './work'

/** Thrown if the semaphore has no slot and its queue is full, or no slot became free in time. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'

  /** @param own true if the client's own limit is reached */
  constructor(readonly own: boolean) {
    super('The queue is full.')
  }
}

export interface SemaphoreLimits {
  /** Number of slots: for all clients, and for one. The latter may depend on the client, and change. */
  readonly all: number
  readonly each: number | ((client: string) => number)
  /** Number of places in the queue: for all clients, and for one. Default: no limit. */
  readonly waiting?: number
  readonly waitingEach?: number
  /** Maximum wait for a slot in milliseconds. Default: until the signal aborts. */
  readonly waitMs?: number
}

/**
 * A semaphore with a limit per client. A free slot goes to the waiting client that was served longest ago,
 * among those below their limit. The work of one client starts in the order of its arrival.
 */
export class Semaphore {
  private running = 0
  private waiting = 0
  private readonly runningOf = new Map<string, number>()
  private readonly queues = new Map<string, (() => void)[]>()
  /** Sequence number of the last start, for each client that waits or has a slot. */
  private readonly servedAt = new Map<string, number>()
  private starts = 0

  /** @param refusal error for work that gets no slot; `isOwn`: the client's own limit is reached */
  constructor(
    private readonly limits: SemaphoreLimits,
    private readonly refusal: (isOwn: boolean) => Error = (isOwn) => new NoSlotError(isOwn),
  ) {}

  /**
   * Resolves when the work may start, with the function that releases the slot. Throws the refusal if the
   * queue is full or the wait too long, and the signal's reason if it aborts before a slot is free.
   */
  async acquire(client: string, work: Pick<Work, 'signal'>): Promise<() => void> {
    if (this.isFree(client) && !this.queues.has(client)) return this.start(client)
    const { signal } = work
    signal.throwIfAborted()
    const { waiting = Infinity, waitingEach = Infinity, waitMs } = this.limits
    const queue = this.queues.get(client) ?? []
    const own = queue.length >= waitingEach
    if (own || this.waiting >= waiting) throw this.refusal(own)
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abandon)
        this.waiting--
        queue.splice(queue.indexOf(go), 1)
        if (queue.length === 0) this.queues.delete(client)
      }
      const giveUp = (reason: Error) => {
        settle()
        this.forget(client)
        reject(reason)
      }
      const abandon = () => giveUp(signal.reason as Error)
      const go = () => {
        settle()
        resolve(this.start(client))
      }
      const timer =
        waitMs === undefined
          ? undefined
          : setTimeout(() => giveUp(this.refusal(this.isAtLimit(client))), waitMs)
      this.waiting++
      queue.push(go)
      this.queues.set(client, queue)
      signal.addEventListener('abort', abandon, { once: true })
    })
  }

  /** Runs a task of a client in a slot. Throws like `acquire`. */
  async run<T>(work: Pick<Work, 'client' | 'signal'>, task: () => Promise<T>): Promise<T> {
    const release = await this.acquire(work.client, work)
    try {
      return await task()
    } finally {
      release()
    }
  }

  /** Acquires a slot without waiting. Returns the function that releases it; undefined if no slot is free. */
  tryAcquire(client: string): (() => void) | undefined {
    return this.isFree(client) ? this.start(client) : undefined
  }

  get load(): { running: number; waiting: number } {
    return { running: this.running, waiting: this.waiting }
  }

  isAtLimit(client: string): boolean {
    const { each } = this.limits
    return this.countOf(client) >= (typeof each === 'number' ? each : each(client))
  }

  private countOf(client: string): number {
    return this.runningOf.get(client) ?? 0
  }

  private isFree(client: string): boolean {
    return this.running < this.limits.all && !this.isAtLimit(client)
  }

  private start(client: string): () => void {
    this.running++
    this.servedAt.set(client, ++this.starts)
    this.runningOf.set(client, this.countOf(client) + 1)
    let released = false
    return () => {
      if (released) return
      released = true
      this.release(client)
    }
  }

  private release(client: string): void {
    this.running--
    const left = this.countOf(client) - 1
    if (left) this.runningOf.set(client, left)
    else this.runningOf.delete(client)
    this.forget(client)
    // Several tasks may start if the limit of a client has grown.
    for (let go = this.next(); go; go = this.next()) go()
  }

  private next(): (() => void) | undefined {
    if (this.running >= this.limits.all) return undefined
    let next: { go: () => void; servedAt: number } | undefined
    for (const [client, [go]] of this.queues) {
      const servedAt = this.servedAt.get(client) ?? 0
      if ((!next || servedAt < next.servedAt) && !this.isAtLimit(client)) next = { go: go!, servedAt }
    }
    return next?.go
  }

  /** Forgets a client that has no slot and no waiting work. */
  private forget(client: string): void {
    if (!this.runningOf.has(client) && !this.queues.has(client)) this.servedAt.delete(client)
  }
}

/** Returns a factory of refusals in the form of /api/v0: 429 for the client's own limit, otherwise 503. */
export function busyWith(own: string, all: string): (isOwn: boolean) => Error {
  return (isOwn) => (isOwn ? new RecordsError('rate-limited', own) : new UnavailableError(all))
}
