import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { MONOTONIC } from '../../src/clock'
import type { SafeSender } from '../outgoing'
import { Semaphore } from '../http/semaphore'
import type { Store } from '../store'
import {
  changesAfter,
  currentPosition,
  eventsOf,
  filterOfTexts,
  locate,
  LostPositionError,
  parsePosition,
  positionText,
  unlocated,
  type ChangeFilter,
  type ChangePage,
  type Position,
  type RecordEvent,
} from '../stream'
import { bodyOf, headersOf, LONGEST_WISH_MS, messageId, pauseAfter, resetBody, type Message } from './message'
import type { DeadLetter, HeldRow, WebhookStore } from './store'

export interface DelivererOptions {
  /** Interval between looks for changes and for what is due, milliseconds. */
  pollMs: number
  /** How long a process that is silent keeps its subscriptions, and how often one is heard, milliseconds. */
  leaseMs: number
  renewMs: number
  /** How often what others changed of its subscriptions is taken in, milliseconds. */
  syncMs: number
  /** How long a receiver may take for an answer, milliseconds. */
  timeoutMs: number
  /** The pause after the first failure, milliseconds; it grows threefold up to six hours. */
  firstPauseMs: number
  /** For how long a message is tried, milliseconds. */
  giveUpMs: number
  /** Requests at once, of all and to one host: for receivers that work, and for those that have failed. */
  atOnce: { working: { all: number; each: number }; failing: { all: number; each: number } }
  /** Monotonic milliseconds, by which tries, failures and messages age; set in tests. */
  elapsed: () => number
}
const DELIVERY: DelivererOptions = {
  pollMs: 500,
  leaseMs: 5_000,
  renewMs: 1_000,
  syncMs: 5_000,
  timeoutMs: 10_000,
  firstPauseMs: 5_000,
  giveUpMs: 3 * 86_400_000,
  atOnce: { working: { all: 256, each: 32 }, failing: { all: 64, each: 8 } },
  elapsed: MONOTONIC.now,
}
/** Positions that are read from at a look: most subscriptions share one. */
const POSITIONS_AT_ONCE = 16
/** What went on is written this long after it did, so that one statement writes all of it. */
const KEEP_AFTER_MS = 20
const WANTED_AT_ONCE = 50
const FORGET_EVERY_MS = 3_600_000
/** As for listeners of the stream: a replica that lags catches up in this time. */
const AHEAD_MS = 10_000
const ERROR_CHARACTERS = 300
/** How long a stop waits for answers; what is sent without one is sent again by another process. */
const STOP_MS = 2_000

interface Item {
  message: Message
  /** Where the subscription is once it was handled. */
  after: Position
  /** Since when it waits to be sent, by `elapsed`. */
  since: number
  /** True if its change was logged since this process delivers for the subscription. */
  isNew: boolean
}

/** How a try ended. `error` says why the message was not taken; undefined: it was. */
interface Outcome {
  error?: string
  status?: number
  retryAfter?: string | undefined
}

/** A subscription that this process delivers for. */
interface Held {
  readonly row: HeldRow
  readonly filter: ChangeFilter
  /** Before the next change that is read. */
  position: Position | undefined
  /** What lies before the position and waits to be sent, in order. */
  queue: Item[]
  reset: { reason: string; at: Date } | undefined
  failures: number
  /** By `elapsed`, as `nextTry` is; 0: at once. */
  failingSince: number | undefined
  nextTry: number
  lastError: string | null
  disabled: string | null
  /** Whether a message is on its way. */
  busy: boolean
  /** Whether it was given up: nothing more is sent. */
  dropped: boolean
}

/**
 * Sends the changes of records to subscribers. A subscription is held by one process at a time, which has a
 * lease in the database, and no request goes on when that is over. It gets one message at a time, in the
 * order of the changes, each until it is taken or has failed for three days. What was taken is written right
 * after, so a crash repeats messages, with the same id and bytes, and loses none. All subscriptions at one
 * position share what is read from there.
 */
export class Deliverer {
  /** Under which name its lease is; another one after each that it lost. */
  private holder = ''
  private readonly held = new Map<string, Held>()
  /** Until when the lease is certain, by performance.now(). */
  private leasedUntil = -Infinity
  private lapse: NodeJS.Timeout | undefined
  /** Unix milliseconds of the database when `elapsed` was 0, as of the last renewal. */
  private epoch = NaN
  /** Of the requests that are on their way. */
  private readonly requests = new Set<AbortController>()
  private syncAt = -Infinity
  /** When all that it has was last looked through for changes, by performance.now(). */
  private lookedAt = 0
  private readonly dirty = new Set<Held>()
  private dead: DeadLetter[] = []
  private keeping: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | undefined
  private readonly working: Semaphore
  private readonly failing: Semaphore
  private readonly redelivering = new Set<string>()
  private readonly aheadSince = new Map<string, number>()
  private readonly stopping = new AbortController()
  private running: Promise<unknown> | undefined
  private outage = false
  private isRenewing = false
  private readonly figures = { delivered: 0, failed: 0, dead: 0 }
  private counts: Readonly<Record<string, number>> = {}
  private delay: Histogram | undefined
  private readonly options: DelivererOptions

  constructor(
    private readonly store: Store,
    private readonly webhooks: WebhookStore,
    private readonly sender: SafeSender,
    private readonly log: FastifyBaseLogger,
    options: Partial<DelivererOptions> = {},
  ) {
    this.options = { ...DELIVERY, ...options }
    // Each that waits for a slot listens to it.
    setMaxListeners(0, this.stopping.signal)
    const unbounded = { waiting: Infinity, waitingEach: Infinity }
    this.working = new Semaphore({ ...this.options.atOnce.working, ...unbounded })
    this.failing = new Semaphore({ ...this.options.atOnce.failing, ...unbounded })
  }

  start(): void {
    this.running ??= Promise.all([this.keepLease(), this.run()])
  }

  /** Waits for what is on its way, writes how far it got, and gives the subscriptions to others. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
    const until = performance.now() + STOP_MS
    const isBusy = () => this.redelivering.size > 0 || [...this.held.values()].some(({ busy }) => busy)
    while (performance.now() < until && isBusy()) await pause(20)
    this.cutOff()
    await this.keep().catch(() => {})
    await this.webhooks.release(this.holder).catch(() => {})
    clearTimeout(this.lapse)
    await this.sender.close()
  }

  /** Registers what this process did. */
  register(registry: Registry): void {
    const registers = [registry]
    const { figures } = this
    const count = () => this.mine().length
    const counts = () => Object.entries(this.counts)
    const waiting = () => Object.entries(this.waitingSeconds())
    this.delay = new Histogram({
      name: 'geospatial_webhook_delay_seconds',
      help: 'From the log of changes to the answer of a receiver, of messages that were taken at the first try and logged since this process delivers for their subscription',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    })
    new Counter({
      name: 'geospatial_webhook_messages_total',
      help: 'Tries that a receiver took or did not take, and messages that were given up',
      labelNames: ['outcome'],
      registers,
      collect() {
        this.reset()
        for (const [outcome, value] of Object.entries(figures)) this.inc({ outcome }, value)
      },
    })
    new Gauge({
      name: 'geospatial_webhook_held',
      help: 'Subscriptions that this process delivers for',
      registers,
      collect() {
        this.set(count())
      },
    })
    new Gauge({
      name: 'geospatial_webhook_subscriptions',
      help: 'Subscriptions by state, whoever delivers for them',
      labelNames: ['state'],
      aggregator: 'max',
      registers,
      collect() {
        for (const [state, value] of counts()) this.set({ state }, value)
      },
    })
    new Gauge({
      name: 'geospatial_webhook_waiting_seconds',
      help: 'How long a message waits at most, for receivers that take messages and for those that do not',
      labelNames: ['receivers'],
      aggregator: 'max',
      registers,
      collect() {
        for (const [receivers, value] of waiting()) this.set({ receivers }, value)
      },
    })
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted
  }

  /** What it delivers for. */
  private mine(): Held[] {
    return this.isLeased ? [...this.held.values()].filter(({ dropped }) => !dropped) : []
  }

  private waitingSeconds(): { working: number; failing: number } {
    const mine = this.mine()
    const now = this.options.elapsed()
    // A look that does not end is as bad as a message that does not go.
    let working = mine.length ? performance.now() - this.lookedAt : 0
    let failing = 0
    for (const { failures, failingSince = now, queue } of mine)
      if (failures) failing = Math.max(failing, now - failingSince)
      else working = Math.max(working, now - (queue[0]?.since ?? now))
    return { working: working / 1000, failing: failing / 1000 }
  }

  private async run(): Promise<void> {
    this.lookedAt = performance.now()
    let forgetAt = this.lookedAt + FORGET_EVERY_MS
    while (!this.isStopping) {
      let more = false
      try {
        if (performance.now() >= forgetAt) {
          await this.webhooks.forget()
          forgetAt = performance.now() + FORGET_EVERY_MS
        }
        more = this.isLeased && (await this.readAll())
        for (const held of this.held.values()) this.drain(held)
        if (this.dirty.size) await this.keep()
        this.lookedAt = performance.now()
        if (this.isRenewing) this.note(undefined)
      } catch (error) {
        this.note(error as Error)
      }
      if (!more) await pause(this.options.pollMs, undefined, { signal: this.stopping.signal }).catch(() => {})
    }
  }

  /** Beside all else, as a look for changes may take longer than a lease. */
  private async keepLease(): Promise<void> {
    while (!this.isStopping) {
      try {
        await this.renew()
        this.isRenewing = true
      } catch (error) {
        this.isRenewing = false
        this.note(error as Error)
      }
      await pause(this.options.renewMs, undefined, { signal: this.stopping.signal }).catch(() => {})
    }
  }

  /** Renews the lease, and takes free subscriptions. */
  private async renew(): Promise<void> {
    const { leaseMs, syncMs } = this.options
    const began = performance.now()
    const renewed = await this.webhooks.renew(this.holder, leaseMs)
    let time = renewed
    if (!time) {
      // It is no more, or never was. Nobody has what is written now under a new name.
      await this.keep()
      for (const held of this.held.values()) this.drop(held)
      this.holder = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`
      time = await this.webhooks.enter(this.holder, leaseMs)
    }
    this.epoch = time.getTime() - this.options.elapsed()
    this.leasedUntil = began + leaseMs
    clearTimeout(this.lapse)
    this.lapse = setTimeout(() => {
      // Timers run up to two milliseconds early. A request that begins then would not be cut off.
      this.leasedUntil = -Infinity
      this.cutOff()
    }, this.leasedUntil - performance.now())
    // From the next time on: copies that start together share what there is.
    const taken = renewed ? await this.webhooks.take(this.holder) : 0
    if (taken === 0 && performance.now() < this.syncAt) return
    await this.sync()
    this.syncAt = performance.now() + syncMs
  }

  /** Takes in what was taken, and what others changed of what it has. */
  private async sync(): Promise<void> {
    await this.keep()
    const versions = await this.webhooks.versions(this.holder)
    for (const held of this.held.values())
      if (held.dropped || versions.get(held.row.id) !== held.row.version) this.drop(held)
    const unknown = [...versions.keys()].filter((id) => !this.held.has(id))
    if (unknown.length)
      for (const row of await this.webhooks.held(this.holder, unknown))
        this.held.set(row.id, heldOf(row, this.options.elapsed()))
    this.counts = await this.webhooks.counts()
    for (const letter of await this.webhooks.wanted(this.holder, WANTED_AT_ONCE)) void this.redeliver(letter)
  }

  /** Sends nothing more. What is on its way comes first; what follows it is read then. */
  private drop(held: Held): void {
    held.dropped = true
    this.dirty.delete(held)
    if (!held.busy && this.held.get(held.row.id) === held) this.held.delete(held.row.id)
  }

  private get isLeased(): boolean {
    return performance.now() < this.leasedUntil
  }

  /** Ends all requests that are on their way, whatever their receivers would answer. */
  private cutOff(): void {
    for (const request of this.requests) request.abort()
  }

  /** Reads on for the subscriptions that have nothing to send. Answers whether there is more right after. */
  private async readAll(): Promise<boolean> {
    const groups = new Map<string, Held[]>()
    const now = new Map<string, Position>()
    for (const held of this.held.values()) {
      if (held.dropped || held.queue.length || held.reset || held.busy) continue
      if (!held.position) {
        const { finality } = held.row
        if (!now.has(finality)) now.set(finality, await currentPosition(this.store, finality))
        held.position = now.get(finality)!
        this.dirty.add(held)
      }
      const key = `${held.row.finality} ${positionText(held.position)}`
      const group = groups.get(key)
      if (group) group.push(held)
      else groups.set(key, [held])
    }
    for (const key of this.aheadSince.keys()) if (!groups.has(key)) this.aheadSince.delete(key)
    let more = groups.size > POSITIONS_AT_ONCE
    // Those far behind take turns; the largest groups go first.
    const largest = [...groups].sort(([, one], [, other]) => other.length - one.length)
    const turn = [
      ...largest.slice(0, POSITIONS_AT_ONCE / 2),
      ...shuffled(largest.slice(POSITIONS_AT_ONCE / 2)),
    ]
    for (const [key, group] of turn.slice(0, POSITIONS_AT_ONCE)) {
      if (this.isStopping) return false
      if (await this.readFor(key, group)) more = true
    }
    return more
  }

  private async readFor(key: string, group: readonly Held[]): Promise<boolean> {
    const { finality } = group[0]!.row
    let page: ChangePage
    try {
      page = await changesAfter(this.store, finality, group[0]!.position!)
      if (page.ahead) {
        const since = this.aheadSince.get(key) ?? performance.now()
        this.aheadSince.set(key, since)
        if (performance.now() - since > AHEAD_MS) throw new LostPositionError('The database was set back.')
        return false
      }
    } catch (error) {
      if (!(error instanceof LostPositionError)) throw error
      const now = await currentPosition(this.store, finality)
      for (const held of group) {
        held.position = now
        held.reset = { reason: error.message, at: this.time }
        this.dirty.add(held)
      }
      return true
    }
    const filters = group.map(({ filter }) => filter)
    if (page.events.length && unlocated(page, filters).length) await locate(this.store, page, filters)
    const chosen = group.map((held) => [held, eventsOf(page, held.filter)] as const)
    const bodies = await this.bodiesFor(finality, new Set(chosen.flatMap(([, events]) => events)))
    for (const [held, events] of chosen) {
      held.queue = events.map((event, i) => ({
        message: {
          id: messageId(held.row.id, finality, event.chain, event.since, event.change),
          body: bodies.get(event)!,
        },
        after: i === events.length - 1 ? page.end : event.position,
        since: this.momentOf(event.loggedAt),
        isNew: event.loggedAt >= held.row.readAt,
      }))
      if (events.length === 0 && positionText(held.position!) !== positionText(page.end)) {
        held.position = page.end
        this.dirty.add(held)
      }
      this.drain(held)
    }
    return page.more
  }

  /** What is sent of these events: as whoever sent it first has stored it. */
  private async bodiesFor(
    finality: HeldRow['finality'],
    events: ReadonlySet<RecordEvent>,
  ): Promise<Map<RecordEvent, string>> {
    if (events.size === 0) return new Map()
    const keyOf = ({ chain, since, change }: { chain: string; since: number; change: number }) =>
      `${chain} ${since} ${change}`
    const stored = await this.webhooks.storeBodies(
      finality,
      [...events].map((event) => ({
        chain: event.chain,
        since: event.since,
        change: event.change,
        body: bodyOf(event),
      })),
    )
    const bodies = new Map(stored.map((each) => [keyOf(each), each.body]))
    return new Map([...events].map((event) => [event, bodies.get(keyOf(event))!]))
  }

  /** Sends what a subscription has, one message after another, as far as it is taken. */
  private drain(held: Held): void {
    if (held.busy || held.dropped || held.nextTry > this.options.elapsed()) return
    if (held.queue.length === 0 && !held.reset) return
    held.busy = true
    void this.sendAll(held).finally(() => {
      held.busy = false
    })
  }

  private async sendAll(held: Held): Promise<void> {
    while (!held.dropped && !held.disabled && held.nextTry <= this.options.elapsed()) {
      const item = this.nextItem(held)
      if (!item) return
      if (held.failures && this.isOverdue(held, item)) {
        this.giveUp(held, item)
        continue
      }
      const slots = held.failures ? this.failing : this.working
      const outcome = await this.try(held, item.message, slots)
      // Another process sends it, or this one once more.
      if (!outcome) return
      this.settle(held, item, outcome)
    }
  }

  private nextItem({ reset, position, queue, row }: Held): Item | undefined {
    if (!reset) return queue[0]
    const id = messageId(row.id, 'reset', positionText(position!))
    const message = { id, body: resetBody(reset.reason, reset.at) }
    return { message, after: position!, since: this.momentOf(reset.at), isNew: false }
  }

  private isOverdue({ failingSince }: Held, { since }: Item): boolean {
    const waitsSince = Math.max(since, failingSince ?? -Infinity)
    return this.options.elapsed() - waitsSince >= this.options.giveUpMs
  }

  /** Time of the database, also after a step of this machine's clock. */
  private get time(): Date {
    return new Date(this.epoch + this.options.elapsed())
  }

  /** Converts a time of the database to `elapsed`: now, if it is in the future, as its clock was set back. */
  private momentOf(time: Date): number {
    return Math.min(time.getTime() - this.epoch, this.options.elapsed())
  }

  /** Takes in how a try went. */
  private settle(held: Held, item: Item, { error, status, retryAfter }: Outcome): void {
    const now = this.options.elapsed()
    this.dirty.add(held)
    if (error === undefined) {
      // Not of a replay, nor of what waited for a process to be started.
      if (held.failures === 0 && item.isNew) this.delay?.observe((now - item.since) / 1000)
      Object.assign(held, { failures: 0, failingSince: undefined, nextTry: 0, lastError: null })
      this.pass(held, item)
    } else {
      held.failures++
      held.failingSince ??= now
      held.lastError = error
      held.nextTry = now + pauseAfter(held.failures, this.options.firstPauseMs, retryAfter, this.time)
      if (status === 410) held.disabled = 'the receiver answered 410 Gone'
      else if (this.isOverdue(held, item)) this.giveUp(held, item)
    }
    this.keepSoon()
  }

  private pass(held: Held, { after }: Item): void {
    if (held.reset) held.reset = undefined
    else held.queue.shift()
    held.position = after
    this.dirty.add(held)
  }

  private giveUp(held: Held, item: Item): void {
    this.figures.dead++
    this.dead.push({
      subscription: held.row.id,
      message: item.message.id,
      body: item.message.body,
      attempts: held.failures,
      error: held.lastError ?? '',
    })
    this.pass(held, item)
    this.keepSoon()
  }

  /** One try, once there is a slot. Undefined: none began, or it was cut off. */
  private async try(held: Held, message: Message, slots: Semaphore): Promise<Outcome | undefined> {
    let release: () => void
    try {
      release = await slots.acquire(new URL(held.row.url).host, this.stopping.signal)
    } catch {
      return undefined
    }
    try {
      if (held.dropped || this.isStopping || !this.isLeased) return undefined
      const outcome = await this.post(held.row, message)
      if (outcome) this.figures[outcome.error === undefined ? 'delivered' : 'failed']++
      return outcome
    } finally {
      release()
    }
  }

  /** One request; undefined: it was cut off. */
  private async post(row: HeldRow, message: Message): Promise<Outcome | undefined> {
    const { timeoutMs } = this.options
    const request = new AbortController()
    const late = new Error(`no answer within ${timeoutMs / 1000} seconds`)
    // Not AbortSignal.any() with a timeout: that timeout may be collected as garbage, and never ends it.
    const timer = setTimeout(() => request.abort(late), timeoutMs)
    this.requests.add(request)
    try {
      const { status, retryAfter } = await this.sender.post(
        row.url,
        headersOf(message, row.secrets, this.time),
        message.body,
        request.signal,
      )
      if (status >= 200 && status < 300) return { status }
      return { error: `the receiver answered ${status}`, status, retryAfter }
    } catch (error) {
      // By the end of the lease or by a stop, which says nothing of the receiver.
      if (request.signal.aborted && request.signal.reason !== late) return undefined
      return { error: failureOf(error as NodeJS.ErrnoException) }
    } finally {
      clearTimeout(timer)
      this.requests.delete(request)
    }
  }

  /** Tries a dead letter once more, beside the messages of its subscription. */
  private async redeliver(letter: DeadLetter): Promise<void> {
    const key = `${letter.subscription} ${letter.message}`
    const held = this.held.get(letter.subscription)
    if (!held || this.redelivering.has(key)) return
    this.redelivering.add(key)
    try {
      const message = { id: letter.message, body: letter.body }
      const outcome = await this.try(held, message, this.failing)
      if (outcome) await this.webhooks.tried(letter, outcome.error)
    } catch {
      // It is still wanted: the next look finds it.
    } finally {
      this.redelivering.delete(key)
    }
  }

  private keepSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      this.keep().catch((error: Error) => this.note(error))
    }, KEEP_AFTER_MS)
  }

  /** One after another: an older state must not be written over a newer one. */
  private keep(): Promise<void> {
    const kept = this.keeping.then(() => this.keepNow())
    this.keeping = kept.catch(() => {})
    return kept
  }

  /** Writes what went on since. What cannot be written is written later. */
  private async keepNow(): Promise<void> {
    const [given, dead] = [[...this.dirty], this.dead]
    const now = this.options.elapsed()
    if (given.length === 0) return
    this.dirty.clear()
    this.dead = []
    let kept: Set<string>
    try {
      kept = await this.webhooks.keep(
        this.holder,
        given.map((held) => ({
          id: held.row.id,
          version: held.row.version,
          position: held.position ? positionText(held.position) : null,
          resetReason: held.reset?.reason ?? null,
          resetAt: held.reset?.at ?? null,
          failures: held.failures,
          failingMs: held.failingSince === undefined ? null : now - held.failingSince,
          waitMs: held.nextTry ? held.nextTry - now : null,
          lastError: held.lastError,
          disabled: held.disabled,
        })),
        dead,
      )
    } catch (error) {
      for (const held of given) this.dirty.add(held)
      this.dead.unshift(...dead)
      throw error
    }
    for (const held of given) {
      // Somebody else changed or deleted it, or has it now.
      if (kept.has(held.row.id) && !held.disabled) continue
      this.drop(held)
    }
  }

  /** Logs the begin and the end of an outage, and nothing between. */
  private note(error: Error | undefined): void {
    if (this.isStopping || this.outage === (error !== undefined)) return
    this.outage = error !== undefined
    if (error) this.log.warn({ reason: error.message }, 'webhooks cannot be delivered: they wait')
    else this.log.info('webhooks are delivered again')
  }
}

/**
 * @param now `elapsed`. A failure in the future counts as one of now, and a wait that is longer than any is
 *   over: the clock of the database was set back
 */
function heldOf(row: HeldRow, now: number): Held {
  const { failingMs, waitMs } = row
  return {
    row,
    filter: filterOfTexts(row.filter),
    position: row.position === null ? undefined : parsePosition(row.position),
    queue: [],
    reset: row.resetReason === null ? undefined : { reason: row.resetReason, at: row.resetAt! },
    failures: row.failures,
    failingSince: failingMs === null ? undefined : now - Math.max(0, failingMs),
    nextTry: waitMs === null || waitMs > LONGEST_WISH_MS ? 0 : now + waitMs,
    lastError: null,
    disabled: null,
    busy: false,
    dropped: false,
  }
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([one], [other]) => one - other)
    .map(([, each]) => each)
}

/** Why there was no answer, for who runs the receiver. */
function failureOf({ code, message }: NodeJS.ErrnoException): string {
  // OpenSSL's message: an address, "error", a number, "SSL routines", a function, the reason, a file.
  const [, reason] = /:error:[^:]*:SSL routines:[^:]*:([^:]+)/.exec(message) ?? []
  if (reason === 'wrong version number') return 'no TLS at this port: is it one of http?'
  if (reason) return `the TLS handshake failed: ${reason}`
  if (message === 'no address') return 'its host name has no address'
  return message.slice(0, ERROR_CHARACTERS) || code || 'no answer'
}
