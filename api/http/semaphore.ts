import { RecordsError, UnavailableError } from './problems'

/** The semaphore has no slot, and no place in its queue, or none became free in time. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'

  /** @param own whether it is the client's own limit that is reached */
  constructor(readonly own: boolean) {
    super('There is no place to wait.')
  }
}

export interface SemaphoreLimits {
  /** Slots: of all clients, and of one; the latter may depend on the client, and change. */
  readonly all: number
  readonly each: number | ((client: string) => number)
  /** Places in the queue: of all clients, and of one. */
  readonly waiting?: number
  readonly waitingEach?: number
  /** How long work waits for a slot at most, in milliseconds. Default: until its signal aborts. */
  readonly waitMs?: number
}

/**
 * A semaphore with a limit per client. A free slot goes to the waiting client that was served longest ago,
 * among those below their limit; the work of one client starts in the order in which it came.
 */
export class Semaphore {
  private running = 0
  private waiting = 0
  private readonly runningOf = new Map<string, number>()
  /** Work that waits, by client. */
  private readonly queues = new Map<string, (() => void)[]>()
  /** When each client that waits or has a slot was served last, counted in starts. */
  private readonly servedAt = new Map<string, number>()
  private starts = 0

  /** @param refusal what work that gets no slot throws; `isOwn`: it is the client's own limit */
  constructor(
    private readonly limits: SemaphoreLimits,
    private readonly refusal: (isOwn: boolean) => Error = (isOwn) => new NoSlotError(isOwn),
  ) {}

  /**
   * Resolves when the work may start, with the function that releases the slot. Throws the refusal when the
   * queue is full or the wait too long, and the signal's reason once it is aborted.
   */
  async acquire(client: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.isFree(client) && !this.queues.has(client)) return this.start(client)
    const { waiting = 0, waitingEach = 0, waitMs } = this.limits
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

  /** Takes a slot without waiting; the function returned releases it. Undefined when none is free. */
  tryAcquire(client: string): (() => void) | undefined {
    return this.isFree(client) ? this.start(client) : undefined
  }

  /** How many have a slot, and how many wait for one. */
  get load(): { running: number; waiting: number } {
    return { running: this.running, waiting: this.waiting }
  }

  /** Whether a client has as many slots as one client may have. */
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
    // More than one if the limit of a client has grown.
    for (let go = this.next(); go; go = this.next()) go()
  }

  /** Starts the waiting work whose turn it is. */
  private next(): (() => void) | undefined {
    if (this.running >= this.limits.all) return undefined
    let next: { go: () => void; servedAt: number } | undefined
    for (const [client, [go]] of this.queues) {
      const servedAt = this.servedAt.get(client) ?? 0
      if ((!next || servedAt < next.servedAt) && !this.isAtLimit(client)) next = { go: go!, servedAt }
    }
    return next?.go
  }

  /** A client without work and without a place in the queue is forgotten. */
  private forget(client: string): void {
    if (!this.runningOf.has(client) && !this.queues.has(client)) this.servedAt.delete(client)
  }
}

/** A refusal in the form of /api/v0: 429 where the limit is the client's own, else 503. */
export function busyWith(own: string, all: string): (isOwn: boolean) => Error {
  return (isOwn) => (isOwn ? new RecordsError('rate-limited', own) : new UnavailableError(all))
}
