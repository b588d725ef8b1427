/** Work that waits its turn cannot be taken on. */
export class NoSlot extends Error {
  /** @param own whether the client's own work is what fills the queue */
  constructor(readonly own: boolean) {
    super('There is no place to wait.')
  }
}

export interface SlotLimits {
  /** Under way at once: of all clients, and of one. */
  readonly all: number
  readonly each: number
  /** Waiting: of all clients, and of one. */
  readonly waiting: number
  readonly waitingEach: number
}

/**
 * Places for work under way. Clients who wait take turns: a place goes to the one that was served longest ago, among those
 * who have not their share already; of one client's work what came first goes first.
 */
export class Slots {
  private running = 0
  private readonly runningOf = new Map<string, number>()
  private readonly queue: { client: string; go: () => void }[] = []
  /** When each client that waits or has work under way was served last, counted in starts. */
  private readonly servedAt = new Map<string, number>()
  private starts = 0

  constructor(private readonly limits: SlotLimits) {}

  /** Resolves when the work may start, with what is to be called when it has ended. Throws a NoSlot when too many wait, and the signal's reason once it is aborted. */
  async take(client: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (!this.free(client)) {
      const { waiting, waitingEach } = this.limits
      const own = this.queue.filter((each) => each.client === client).length >= waitingEach
      if (own || this.queue.length >= waiting) throw new NoSlot(own)
      await new Promise<void>((resolve, reject) => {
        const giveUp = () => {
          this.queue.splice(this.queue.indexOf(entry), 1)
          this.forget(client)
          reject(signal.reason as Error)
        }
        const go = () => {
          signal.removeEventListener('abort', giveUp)
          resolve()
        }
        const entry = { client, go }
        this.queue.push(entry)
        signal.addEventListener('abort', giveUp, { once: true })
      })
    } else this.start(client)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.end(client)
    }
  }

  private free(client: string): boolean {
    return this.running < this.limits.all && (this.runningOf.get(client) ?? 0) < this.limits.each
  }

  private start(client: string): void {
    this.running++
    this.servedAt.set(client, ++this.starts)
    this.runningOf.set(client, (this.runningOf.get(client) ?? 0) + 1)
  }

  private end(client: string): void {
    this.running--
    const left = this.runningOf.get(client)! - 1
    if (left) this.runningOf.set(client, left)
    else this.runningOf.delete(client)
    this.forget(client)
    const free = this.queue.filter((each) => this.free(each.client))
    if (free.length === 0) return
    const servedAt = (each: { client: string }) => this.servedAt.get(each.client) ?? 0
    const entry = free.reduce((first, each) => (servedAt(each) < servedAt(first) ? each : first))
    this.queue.splice(this.queue.indexOf(entry), 1)
    this.start(entry.client)
    entry.go()
  }

  /** Nothing is remembered of a client with nothing here. */
  private forget(client: string): void {
    if (!this.runningOf.has(client) && !this.queue.some((each) => each.client === client))
      this.servedAt.delete(client)
  }
}
