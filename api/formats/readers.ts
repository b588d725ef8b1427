/** Concurrent exports. Each holds a page of records in memory, and no connection while its client reads. */
const EXPORTS_AT_ONCE = 16
/**
 * Minimum pace while others wait, in characters or bytes per millisecond: 6 MB a minute for text. A reader
 * that lags behind the pace for longer than GRACE_MS, or whose export is older than MAX_AGE_MS, is ended.
 * Files in spatial order have only a quarter of the slots (columnar/file.ts). If another client waits for
 * one, they must be read at 1 MB a second, and their grace is shorter than that client's wait.
 */
const LEAST_PACE = { text: 100, columnar: 1_000 }
const GRACE_MS = { text: 60_000, columnar: 5_000 }
const MAX_AGE_MS = 3_600_000

/** A client that reads an export. Times are monotonic milliseconds. */
export class Reader {
  /** True if its export holds one of the slots of files in spatial order. */
  hasFile = false
  private readonly began: number
  /** Time at which it falls, or fell, behind the minimum pace. */
  private behindAt: number

  /** @param breakOff resets its connection */
  constructor(
    private readonly kind: keyof typeof GRACE_MS,
    private readonly elapsed: () => number,
    readonly breakOff: () => void,
  ) {
    this.began = elapsed()
    this.behindAt = this.began + GRACE_MS[kind]
  }

  /** Time after which it must make room for others. */
  get endsAt(): number {
    return Math.min(this.behindAt, this.began + MAX_AGE_MS)
  }

  /** Notes the characters or bytes that it has read, except for the part that is in buffers. */
  hasRead(length: number): void {
    this.credit(length / LEAST_PACE[this.kind])
  }

  /** Awaits work of the service, whose time does not count as slow reading. */
  async served<Result>(work: () => Promise<Result>): Promise<Result> {
    const asked = this.elapsed()
    try {
      return await work()
    } finally {
      this.credit(this.elapsed() - asked)
    }
  }

  /** Yields chunks; the time that the service needs for each does not count. */
  async *servedEach<Chunk>(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
    let asked = this.elapsed()
    for await (const chunk of chunks) {
      this.credit(this.elapsed() - asked)
      yield chunk
      asked = this.elapsed()
    }
  }

  /** Awaits a slot, which may take longer than the grace: meanwhile, it is not behind. */
  async queued<Result>(turn: () => Promise<Result>): Promise<Result> {
    this.behindAt = Infinity
    try {
      return await turn()
    } finally {
      this.credit(0)
    }
  }

  /** Moves the time at which it falls behind, at most one grace period into the past or the future. */
  private credit(milliseconds: number): void {
    const now = this.elapsed()
    const grace = GRACE_MS[this.kind]
    this.behindAt = Math.min(Math.max(this.behindAt, now - grace) + milliseconds, now + grace)
  }
}

/** The clients that read an export. If too many do, those that read too slowly make room. */
export class Readers {
  private readonly open = new Set<Reader>()

  /** @param elapsed monotonic milliseconds */
  constructor(private readonly elapsed: () => number) {}

  /** Adds a reader; undefined if there are too many, and each keeps the pace. */
  enter(kind: keyof typeof GRACE_MS, breakOff: () => void): Reader | undefined {
    if (this.open.size >= EXPORTS_AT_ONCE && !this.makeRoom()) return undefined
    const reader = new Reader(kind, this.elapsed, breakOff)
    this.open.add(reader)
    return reader
  }

  leave(reader: Reader): void {
    this.open.delete(reader)
  }

  /** Ends the most overdue of the readers, or of those with a file. Returns false if none is overdue. */
  makeRoom(ofFiles = false): boolean {
    const [last] = [...this.open]
      .filter(({ hasFile }) => hasFile || !ofFiles)
      .sort((a, b) => a.endsAt - b.endsAt)
    if (!last || last.endsAt >= this.elapsed()) return false
    this.leave(last)
    last.breakOff()
    return true
  }

  /** Ends all readers. */
  end(): void {
    for (const { breakOff } of this.open) breakOff()
  }
}
