/** The semaphore has no slot, and no place in its queue. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'

  /** @param own whether it is the client's own limit that is reached */
  constructor(readonly own: boolean) {
    super('There is no place to wait.')
  }
}

export interface SemaphoreLimits {
  /** Slots: of all clients, and of one. */
  readonly all: number
  readonly each: number
  /** Places in the queue: of all clients, and of one. */
  readonly waiting?: number
  readonly waitingEach?: number
}

/**
 * A semaphore with a limit per client. A free slot goes to the waiting client that was served longest ago,
 * among those below their limit; the work of one client starts in the order in which it came.
 */
export class Semaphore {
  private running = 0
  private readonly runningOf = new Map<string, number>()
  private readonly queue: { client: string; go: () => void }[] = []
  /** When each client that waits or has a slot was served last, counted in starts. */
  private readonly servedAt = new Map<string, number>()
  private starts = 0

  constructor(private readonly limits: SemaphoreLimits) {}

  /**
   * Resolves when the work may start, with the function that releases the slot. Throws a NoSlotError when the
   * queue is full, and the signal's reason once it is aborted.
   */
  async acquire(client: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.isFree(client)) return this.start(client)
    const { waiting = 0, waitingEach = 0 } = this.limits
    const own = this.queue.filter((each) => each.client === client).length >= waitingEach
    if (own || this.queue.length >= waiting) throw new NoSlotError(own)
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.queue.splice(this.queue.indexOf(entry), 1)
        this.forget(client)
        reject(signal.reason as Error)
      }
      const go = () => {
        signal.removeEventListener('abort', giveUp)
        resolve(this.start(client))
      }
      const entry = { client, go }
      this.queue.push(entry)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Takes a slot without waiting; the function returned releases it. Undefined when none is free. */
  tryAcquire(client: string): (() => void) | undefined {
    return this.isFree(client) ? this.start(client) : undefined
  }

  /** How many have a slot, and how many wait for one. */
  get load(): { running: number; waiting: number } {
    return { running: this.running, waiting: this.queue.length }
  }

  /** Whether a client has as many slots as one client may have. */
  isAtLimit(client: string): boolean {
    return this.countOf(client) >= this.limits.each
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
    const free = this.queue.filter((each) => this.isFree(each.client))
    if (free.length === 0) return
    const servedAt = (each: { client: string }) => this.servedAt.get(each.client) ?? 0
    const next = free.reduce((first, each) => (servedAt(each) < servedAt(first) ? each : first))
    this.queue.splice(this.queue.indexOf(next), 1)
    next.go()
  }

  /** A client without work and without a place in the queue is forgotten. */
  private forget(client: string): void {
    if (!this.runningOf.has(client) && !this.queue.some((each) => each.client === client))
      this.servedAt.delete(client)
  }
}
