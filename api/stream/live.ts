import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
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
import { UnavailableError } from '../http/problems'
import { Cache } from '../http/cache'
import { Turns } from '../http/turns'
import type { Work } from '../http/work'
import { FINALITIES, type Finality, type Store } from '../store'

const LIVE = {
  /** Interval between reads of the changes while there are listeners, in milliseconds. */
  pollMs: 500,
  /** Interval between heartbeats, which keep proxies from closing quiet connections, in milliseconds. */
  heartbeatMs: 15_000,
  maxListeners: 10_000,
  /** Number of buffered bytes above which a listener is sent no further data. */
  maxPendingBytes: 1_048_576,
  /** Milliseconds after which a listener whose buffer stays above `maxPendingBytes` is disconnected. */
  patienceMs: 10_000,
  /**
   * Milliseconds that a position may be ahead of the database. A replica that lags catches up; a database
   * that was restored from a backup does not.
   */
  aheadMs: 10_000,
}
export type LiveOptions = typeof LIVE
/** Delay in milliseconds after which a disconnected client reconnects, unless it chooses another one. */
const RETRY_MS = 3_000
/**
 * Concurrent reads for listeners that catch up: of all clients, and of one. Thousands that reconnect at once
 * must leave database connections for other reads, and many streams of one client must not delay others.
 */
const CATCHING_UP = { all: 2, each: { quick: 1, slow: 1 } }
/** Number of listeners that are written to before the event loop does other work: a few milliseconds. */
const WRITES_AT_ONCE = 200

interface Listener {
  readonly filter: ChangeFilter
  readonly work: Work
  readonly out: ServerResponse
  /** True if the listener gets each page as it is read; false while it catches up to the reader. */
  live: boolean
}

export class LiveRecords {
  private readonly audiences: Readonly<Record<Finality, Audience>>
  private readonly maxListeners: number
  private stopping = false

  constructor(store: Store, log: FastifyBaseLogger, given: Partial<LiveOptions> = {}) {
    const options = { ...LIVE, ...given }
    const turns = new Turns(CATCHING_UP)
    const audience = (finality: Finality) =>
      new Audience(store, finality, log.child({ finality }), options, turns)
    this.audiences = { latest: audience('latest'), final: audience('final') }
    this.maxListeners = options.maxListeners
  }

  get size(): number {
    return FINALITIES.reduce((sum, finality) => sum + this.audiences[finality].size, 0)
  }

  /**
   * Adds a listener for the changes that pass the filter. Throws an UnavailableError.
   * @param from position to resume from; null: unknown position; undefined: the current position
   * @param open returns the response to write to; called after all steps that can fail
   */
  async add(
    finality: Finality,
    filter: ChangeFilter,
    from: Position | null | undefined,
    work: Work,
    open: () => ServerResponse,
  ): Promise<void> {
    if (this.stopping) throw new UnavailableError('The service is stopping.')
    if (this.size >= this.maxListeners)
      throw new UnavailableError('The service has its maximum number of streams.')
    await this.audiences[finality].add(filter, from, work, open)
  }

  /** Ends all connections. Clients reconnect to another API instance and miss nothing. */
  stop(): void {
    this.stopping = true
    for (const finality of FINALITIES) this.audiences[finality].stop()
  }
}

/**
 * The listeners of one finality. While there are any, one reader for all of them polls the database for
 * changes, and each event is read and serialised once. A listener that reconnects first gets what it missed,
 * up to the reader's position.
 */
class Audience {
  private readonly listeners = new Set<Listener>()
  /** Live listeners, grouped by filter. */
  private readonly groups = new Map<string, { filter: ChangeFilter; members: Set<Listener> }>()
  private joining = 0
  /** Position of the reader and of every live listener. */
  private position: Position = { epoch: '', ids: {} }
  private telling = false
  /** Resolves once the reader has a position; undefined while there is none. */
  private reader: Promise<void> | undefined
  private stopping = false
  private outage = false
  /** Pages, each read once: many listeners reconnect at once, most from the same position. */
  private readonly pages = new Cache<Promise<ChangePage>>('change pages')

  constructor(
    private readonly store: Store,
    private readonly finality: Finality,
    private readonly log: FastifyBaseLogger,
    private readonly options: LiveOptions,
    private readonly turns: Turns,
  ) {}

  get size(): number {
    return this.listeners.size + this.joining
  }

  async add(
    filter: ChangeFilter,
    from: Position | null | undefined,
    work: Work,
    open: () => ServerResponse,
  ): Promise<void> {
    this.joining++
    try {
      await (this.reader ??= this.startReader())
      if (this.stopping) throw new UnavailableError('The service is stopping.')
      const listener: Listener = { filter, work, out: open(), live: false }
      const { out } = listener
      this.listeners.add(listener)
      const remove = () => {
        this.listeners.delete(listener)
        this.leaveGroup(listener)
      }
      out.on('error', () => {})
      out.once('close', remove)
      if (out.destroyed) return remove()
      out.write(`retry: ${RETRY_MS}\n\n`)
      if (from === null) this.reset([listener], 'This is not a position of this stream.')
      void this.catchUp(listener, from ?? this.position)
    } finally {
      this.joining--
    }
  }

  stop(): void {
    this.stopping = true
    for (const { out } of this.listeners)
      if (out.writableLength) out.destroy()
      else out.end()
  }

  private startReader(): Promise<void> {
    const started = currentPosition(this.store, this.finality).then((position) => {
      this.position = position
      void this.read()
    })
    started.catch(() => (this.reader = undefined))
    return started
  }

  /** Runs the reader: sends changes to all live listeners until there are none. */
  private async read(): Promise<void> {
    const heartbeat = setInterval(() => void this.beat(), this.options.heartbeatMs)
    let ahead = 0
    while (this.size > 0 && !this.stopping) {
      let more = false
      try {
        const page = await changesAfter(this.store, this.finality, this.position)
        this.note(undefined)
        ahead = page.ahead ? ahead || performance.now() : 0
        if (ahead && performance.now() - ahead > this.options.aheadMs)
          throw new LostPositionError('The database was restored to an earlier state.')
        // Listeners with other boxes may have become live in the meantime.
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

  /** Sends a page to the live listeners. One that joins during the send is already at the page's end. */
  private async tell(page: ChangePage): Promise<void> {
    const before = this.position
    this.position = page.end
    if (page.events.length === 0) return
    const whole = [Buffer.concat(page.events.map(({ bytes }) => bytes))]
    const tasks = [...this.groups.values()].flatMap(({ filter, members }) => {
      const events = eventsOf(page, filter)
      // Listeners share the buffers of events. Concatenation would copy them for each filter.
      const isWhole = page.events.every((event, i) => event === events[i])
      const bytes = isWhole ? whole : events.map((event) => event.bytes)
      return bytes.length ? [...members].map((listener) => ({ listener, bytes })) : []
    })
    this.telling = true
    for (const [i, { listener, bytes }] of tasks.entries()) {
      if (listener.live && this.isBehind(listener)) {
        this.leaveGroup(listener)
        void this.catchUp(listener, before)
      } else if (listener.live) write(listener, bytes)
      if (i % WRITES_AT_ONCE === WRITES_AT_ONCE - 1) await setImmediate()
    }
    this.telling = false
  }

  private async beat(): Promise<void> {
    for (const [i, { out, live }] of [...this.listeners].entries()) {
      // Sends the position, so that a listener without matching events does not reconnect from an old one.
      // During a page's send the position is left out, because only some listeners have the page.
      if (live && !this.telling) out.write(`:\nid: ${positionText(this.position)}\n\n`)
      else if (out.writableLength === 0) out.write(':\n\n')
      if (i % WRITES_AT_ONCE === WRITES_AT_ONCE - 1) await setImmediate()
    }
  }

  /** Sends a listener the changes up to the reader's position, at its own pace; then the listener is live. */
  private async catchUp(listener: Listener, from: Position): Promise<void> {
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
        const page = await this.nextPage(position, target, listener.work)
        if (unlocated(page, [filter]).length)
          await this.turns.take(listener.work, () => locate(this.store, page, [filter]))
        write(
          listener,
          eventsOf(page, filter).map(({ bytes }) => bytes),
        )
        // An API instance whose database is ahead sent this position. Wait, unless this one was restored.
        standing = isSamePosition(page.end, position) ? standing || performance.now() : 0
        position = page.end
        if (standing && performance.now() - standing > this.options.aheadMs)
          throw new LostPositionError(
            'The position is after the newest change: the database was restored to an earlier state.',
          )
      } catch (error) {
        standing = 0
        if (error instanceof LostPositionError) {
          position = this.position
          this.reset([listener], error.message)
        } else if (!out.destroyed) {
          this.note(error as Error)
          await pause(this.options.pollMs, undefined, { ref: false })
        }
      }
      if (standing) await pause(this.options.pollMs / 2, undefined, { ref: false })
    }
  }

  private nextPage(from: Position, upTo: Position, work: Work): Promise<ChangePage> {
    const key = `${positionText(from)} ${positionText(upTo)}`
    const read = () => this.pages.of(key, () => changesAfter(this.store, this.finality, from, upTo))
    // Checks the cache again after the wait: a listener of another client may have read the page.
    return this.pages.get(key) ?? this.turns.take(work, read)
  }

  private isBehind({ out }: Listener): boolean {
    return out.writableLength > this.options.maxPendingBytes
  }

  /** Resolves to true if the listener's buffer drained in time. */
  private async drained(listener: Listener): Promise<boolean> {
    for (
      const until = performance.now() + this.options.patienceMs;
      performance.now() < until && !listener.out.destroyed;
    ) {
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

  private leaveGroup(listener: Listener): void {
    listener.live = false
    const key = JSON.stringify(listener.filter)
    const group = this.groups.get(key)
    if (group?.members.delete(listener) && group.members.size === 0) this.groups.delete(key)
  }

  private async loseAll({ message }: Error): Promise<void> {
    try {
      this.position = await currentPosition(this.store, this.finality)
      this.reset(
        [...this.listeners].filter(({ live }) => live),
        message,
      )
    } catch (error) {
      this.note(error as Error)
    }
  }

  /** Requests listeners to reload the list and to resume from the reader's position. */
  private reset(listeners: readonly Listener[], reason: string): void {
    const bytes = eventBytes('reset', this.position, JSON.stringify({ reason }))
    for (const listener of listeners) write(listener, [bytes])
  }

  /** Logs the start and the end of an outage only. */
  private note(error: Error | undefined): void {
    if (this.stopping || this.outage === (error !== undefined)) return
    this.outage = error !== undefined
    if (!error) this.log.info('changes can be read again')
    else if (error instanceof UnavailableError)
      this.log.warn({ reason: error.message }, 'changes cannot be read: streams are paused')
    else this.log.error(error, 'changes cannot be read: streams are paused')
  }
}

/** Listeners share the buffers: a connection queues references to them. */
function write({ out }: Listener, chunks: readonly Buffer[]): void {
  if (chunks.length === 0 || out.destroyed) return
  out.cork()
  for (const chunk of chunks) out.write(chunk)
  out.uncork()
}
