import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { LRUCache } from 'lru-cache'
import {
  LostPositionError,
  changesAfter,
  currentPosition,
  eventBytes,
  eventsOf,
  isSamePosition,
  locate,
  positionText,
  unlocated,
  type ChangeFilter,
  type ChangePage,
  type Position,
} from './changes'
import { UnavailableError } from './problems'
import type { Store } from './store'

export interface LiveOptions {
  /** How often the database is asked what changed, while somebody listens, in milliseconds. */
  pollMs: number
  /** How often listeners, and what lies between, get a sign of life. */
  heartbeatMs: number
  /** Of this process. */
  maxListeners: number
  /** Bytes that may wait for a listener before it is sent no more. */
  maxPendingBytes: number
  /** A listener that does not get below that in this time is cut off. */
  patienceMs: number
  /** How long a position may be ahead of what the database has: a copy that is behind gets there, one that was set back does not. */
  aheadMs: number
}

export const LIVE: LiveOptions = {
  pollMs: 500,
  heartbeatMs: 15_000,
  maxListeners: 10_000,
  maxPendingBytes: 1_048_576,
  patienceMs: 10_000,
  aheadMs: 10_000,
}
/** When a listener that was cut off shall come back, unless it knows better. */
const RETRY_MS = 3_000
/** Listeners that are read up for at once: the others wait, so that thousands who come back leave connections for everyone else. */
const READS_AT_ONCE = 2
/** Listeners that are written to before other work gets its turn: some milliseconds. */
const WRITES_AT_ONCE = 200

interface Listener {
  readonly filter: ChangeFilter
  readonly out: ServerResponse
  /** Whether it is told each page as it is read, its place being that of all; else it is being read up for. */
  live: boolean
}

/**
 * Those who follow the records. While there is anybody, one reader for all of them asks the database what changed, and each event is
 * read and written as text once. Who comes back is first told what it missed, up to where that reader is.
 */
export class LiveRecords {
  private readonly listeners = new Set<Listener>()
  /** The live ones, by filter. */
  private readonly groups = new Map<string, { filter: ChangeFilter; members: Set<Listener> }>()
  private joining = 0
  /** Where the reader is, and so every live listener once it was told. */
  private position: Position = { epoch: '', ids: {} }
  private telling = false
  /** Resolves once the reader has a position; undefined while there is none. */
  private reader: Promise<void> | undefined
  private stopping = false
  private outage = false
  private reads = 0
  private readonly waiting: (() => void)[] = []
  /** Many come back at once, most of them from one position: what follows it is read once. */
  private readonly pages = new LRUCache<string, Promise<ChangePage>>({ max: 16, ttl: 2_000 })

  constructor(
    private readonly store: Store,
    private readonly log: FastifyBaseLogger,
    private readonly options: LiveOptions = LIVE,
  ) {}

  /** How many listen. */
  get size(): number {
    return this.listeners.size + this.joining
  }

  /**
   * Adds a listener for what passes the filter, after a position (null: one that nobody knows) or from now on. `open` gives the
   * response to write to, once it is certain that there will be one. Throws an UnavailableError.
   */
  async add(
    filter: ChangeFilter,
    from: Position | null | undefined,
    open: () => ServerResponse,
  ): Promise<void> {
    if (this.stopping) throw new UnavailableError('The service is stopping.')
    if (this.size >= this.options.maxListeners) throw new UnavailableError('Too many listen already.')
    this.joining++
    try {
      await (this.reader ??= this.startReader())
      if (this.stopping) throw new UnavailableError('The service is stopping.')
      const listener: Listener = { filter, out: open(), live: false }
      const { out } = listener
      this.listeners.add(listener)
      const remove = () => {
        this.listeners.delete(listener)
        this.rest(listener)
      }
      out.on('error', () => {})
      out.once('close', remove)
      if (out.destroyed) return remove()
      out.write(`retry: ${RETRY_MS}\n\n`)
      if (from === null) this.reset([listener], 'This is no position in the changes of these records.')
      void this.readUp(listener, from ?? this.position)
    } finally {
      this.joining--
    }
  }

  /** Ends all at once. What they were not told yet, another copy tells them. */
  stop(): void {
    this.stopping = true
    for (const { out } of this.listeners)
      if (out.writableLength) out.destroy()
      else out.end()
  }

  private startReader(): Promise<void> {
    const started = currentPosition(this.store).then((position) => {
      this.position = position
      void this.read()
    })
    started.catch(() => (this.reader = undefined))
    return started
  }

  /** The reader: tells all live listeners what changes, until there are none. */
  private async read(): Promise<void> {
    const heartbeat = setInterval(() => void this.beat(), this.options.heartbeatMs)
    let ahead = 0
    while (this.size > 0 && !this.stopping) {
      let more = false
      try {
        const page = await changesAfter(this.store, this.position)
        this.note(undefined)
        ahead = page.ahead ? ahead || Date.now() : 0
        if (ahead && Date.now() - ahead > this.options.aheadMs)
          throw new LostPositionError('The database was set back.')
        // Others may have gone live meanwhile.
        for (let missing; (missing = unlocated(page, this.filters())).length;)
          await locate(this.store, page, missing)
        await this.tell(page)
        more = page.more
      } catch (error) {
        if (error instanceof LostPositionError) await this.loseAll(error)
        else this.note(error as Error)
      }
      if (!more) await pause(this.options.pollMs, undefined, { ref: false })
    }
    clearInterval(heartbeat)
    this.reader = undefined
  }

  private filters(): ChangeFilter[] {
    return [...this.groups.values()].map(({ filter }) => filter)
  }

  /** From here on all of them are at the page's end: who joins now must not be told of it. */
  private async tell(page: ChangePage): Promise<void> {
    const before = this.position
    this.position = page.end
    if (page.events.length === 0) return
    const whole = [Buffer.concat(page.events.map(({ bytes }) => bytes))]
    const tasks = [...this.groups.values()].flatMap(({ filter, members }) => {
      const events = eventsOf(page, filter)
      // Not joined together for each filter: that would be a copy for each.
      const bytes = events.length === page.events.length ? whole : events.map((event) => event.bytes)
      return bytes.length ? [...members].map((listener) => ({ listener, bytes })) : []
    })
    this.telling = true
    for (const [i, { listener, bytes }] of tasks.entries()) {
      if (listener.live && this.isBehind(listener)) {
        this.rest(listener)
        void this.readUp(listener, before)
      } else if (listener.live) write(listener, bytes)
      if (i % WRITES_AT_ONCE === WRITES_AT_ONCE - 1) await setImmediate()
    }
    this.telling = false
  }

  private async beat(): Promise<void> {
    for (const [i, { out, live }] of [...this.listeners].entries()) {
      // The position, so that who hears of nothing that it asked for does not come back with an old one; not while some were told and some not.
      if (live && !this.telling) out.write(`:\nid: ${positionText(this.position)}\n\n`)
      else if (out.writableLength === 0) out.write(':\n\n')
      if (i % WRITES_AT_ONCE === WRITES_AT_ONCE - 1) await setImmediate()
    }
  }

  /** Tells a listener what lies between a position and the reader's, at its own pace; then it is live. */
  private async readUp(listener: Listener, from: Position): Promise<void> {
    const { filter, out } = listener
    let position = from
    let standing = 0
    while (!out.destroyed && !this.stopping) {
      if (this.isBehind(listener) && !(await this.drained(listener))) return void out.destroy()
      const target = this.position
      if (isSamePosition(position, target)) {
        out.write(`:\nid: ${positionText(target)}\n\n`)
        return this.goLive(listener)
      }
      try {
        const page = await this.nextPage(position, target)
        if (unlocated(page, [filter]).length) await this.inTurn(() => locate(this.store, page, [filter]))
        write(
          listener,
          eventsOf(page, filter).map(({ bytes }) => bytes),
        )
        // It came from a copy that knew more: this one gets there, unless the database was set back.
        standing = isSamePosition(page.end, position) ? standing || Date.now() : 0
        position = page.end
        if (standing && Date.now() - standing > this.options.aheadMs)
          throw new LostPositionError('The database has not got that far: it was set back.')
      } catch (error) {
        standing = 0
        if (error instanceof LostPositionError) {
          position = this.position
          this.reset([listener], error.message)
        } else {
          this.note(error as Error)
          await pause(this.options.pollMs, undefined, { ref: false })
        }
      }
      if (standing) await pause(this.options.pollMs / 2, undefined, { ref: false })
    }
  }

  private nextPage(from: Position, upTo: Position): Promise<ChangePage> {
    const key = `${positionText(from)} ${positionText(upTo)}`
    let page = this.pages.get(key)
    if (!page) {
      page = this.inTurn(() => changesAfter(this.store, from, upTo))
      page.catch(() => this.pages.delete(key))
      this.pages.set(key, page)
    }
    return page
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.reads >= READS_AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.reads++
    try {
      return await work()
    } finally {
      // Its turn goes to the next one.
      const next = this.waiting.shift()
      if (next) next()
      else this.reads--
    }
  }

  private isBehind({ out }: Listener): boolean {
    return out.writableLength > this.options.maxPendingBytes
  }

  /** Whether the listener read what waits for it in time. */
  private async drained(listener: Listener): Promise<boolean> {
    for (const until = Date.now() + this.options.patienceMs; Date.now() < until && !listener.out.destroyed;) {
      await pause(100, undefined, { ref: false })
      if (!this.isBehind(listener)) return true
    }
    return false
  }

  private goLive(listener: Listener): void {
    const key = JSON.stringify(listener.filter)
    const group = this.groups.get(key) ?? { filter: listener.filter, members: new Set() }
    this.groups.set(key, group)
    group.members.add(listener)
    listener.live = true
  }

  private rest(listener: Listener): void {
    listener.live = false
    const key = JSON.stringify(listener.filter)
    const group = this.groups.get(key)
    if (group?.members.delete(listener) && group.members.size === 0) this.groups.delete(key)
  }

  private async loseAll({ message }: Error): Promise<void> {
    try {
      this.position = await currentPosition(this.store)
      this.reset(
        [...this.listeners].filter(({ live }) => live),
        message,
      )
    } catch (error) {
      this.note(error as Error)
    }
  }

  /** Tells them to load what they have anew, and to go on from the reader's position. */
  private reset(listeners: readonly Listener[], reason: string): void {
    const bytes = eventBytes('reset', this.position, JSON.stringify({ reason }))
    for (const listener of listeners) write(listener, [bytes])
  }

  /** Tells the log of changes only. */
  private note(error: Error | undefined): void {
    if (this.stopping || this.outage === (error !== undefined)) return
    this.outage = error !== undefined
    if (!error) this.log.info('what changes is read again')
    else if (error instanceof UnavailableError)
      this.log.warn({ reason: error.message }, 'what changes cannot be read: listeners wait')
    else this.log.error(error, 'what changes cannot be read: listeners wait')
  }
}

/** The buffers are everybody's: what waits in a connection is a reference to them. */
function write({ out }: Listener, chunks: readonly Buffer[]): void {
  if (chunks.length === 0 || out.destroyed) return
  out.cork()
  for (const chunk of chunks) out.write(chunk)
  out.uncork()
}
