import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Histogram, Registry } from 'prom-client'
import { MONOTONIC } from '../../src/clock'
import type { SafeSender } from '../outgoing'
import type { Store } from '../store'
import { isDue, isOver, isOverdue, step, type DeliveryEvent, type Item } from './delivery'
import { registerDeliveries } from './figures'
import { heldOf, type Held } from './held'
import { Keeper } from './keeper'
import { Lease } from './lease'
import { pauseAfter } from './message'
import { Posts, type Outcome } from './posts'
import { ChangeReader } from './reader'
import type { DeadLetter, HeldRow, WebhookStore } from './store'
import { reasonOf } from './subscriptions'

const DELIVERY = {
  /** Interval between reads of changes and checks for due messages, in milliseconds. */
  pollMs: 500,
  /** Time of a lease without renewal, and interval of renewals, in milliseconds. */
  leaseMs: 5_000,
  renewMs: 1_000,
  /** Interval in milliseconds at which this process reads changes that others made to its subscriptions. */
  syncMs: 5_000,
  timeoutMs: 10_000,
  /** Pause after the first failure, in milliseconds. It triples after each further one, up to six hours. */
  firstPauseMs: 5_000,
  /** Time for which a message is retried, in milliseconds. */
  giveUpMs: 3 * 86_400_000,
  atOnce: { working: { all: 256, each: 32 }, failing: { all: 64, each: 8 } },
  /** Monotonic clock in milliseconds, by which attempts, failures and messages age; set in tests. */
  elapsed: MONOTONIC.now,
}
export type DelivererOptions = typeof DELIVERY
/** Maximum number of dead letters of a subscription that are read for a retry. */
const WANTED_AT_ONCE = 50
const FORGET_EVERY_MS = 3_600_000
/** Milliseconds that a stop waits for responses. Another process repeats a message without a response. */
const STOP_MS = 2_000

/**
 * Sends the changes of records to subscribers. One process at a time holds a subscription. It has a lease in
 * the database, and no request outlasts the lease. The subscription receives one message at a time, in the
 * order of the changes. Each message is sent until the receiver accepts it or has failed for three days
 * (delivery.ts has the states). Acceptance is written immediately, so that a crash repeats messages, with the
 * same id and bytes, and loses none.
 */
export class Deliverer {
  private readonly held = new Map<string, Held>()
  /** Versions of rows that this process cannot read, by id. */
  private readonly unreadable = new Map<string, string>()
  private syncAt = -Infinity
  /** Time of the last completed read of changes for all subscriptions, by performance.now(). */
  private lookedAt = 0
  private readonly redelivering = new Set<string>()
  private readonly stopping = new AbortController()
  private running: Promise<unknown> | undefined
  private outage = false
  private isRenewing = false
  private died = 0
  private counts: Readonly<Record<string, number>> = {}
  private delay: Histogram | undefined
  private readonly options: DelivererOptions
  private readonly lease: Lease
  private readonly posts: Posts
  private readonly reader: ChangeReader
  private readonly keeper: Keeper

  constructor(
    store: Store,
    private readonly webhooks: WebhookStore,
    private readonly sender: SafeSender,
    private readonly log: FastifyBaseLogger,
    options: Partial<DelivererOptions> = {},
  ) {
    this.options = { ...DELIVERY, ...options }
    const { leaseMs, elapsed } = this.options
    const { signal } = this.stopping
    this.lease = new Lease(webhooks, leaseMs, elapsed, () => this.posts.cutOff())
    this.posts = new Posts(sender, this.options, this.lease)
    this.reader = new ChangeReader(store, webhooks, this.lease, signal, (held, event) =>
      this.apply(held, event),
    )
    this.keeper = new Keeper(
      webhooks,
      () => this.lease.holder,
      elapsed,
      (held) => this.drop(held),
      (error) => this.note(error),
    )
  }

  start(): void {
    this.running ??= Promise.all([this.keepLease(), this.run()])
  }

  /** Waits for the requests under way, writes the progress, and releases the subscriptions. */
  async stop(): Promise<void> {
    this.stopping.abort()
    for (const { left } of this.held.values()) left.abort()
    await this.running
    const until = performance.now() + STOP_MS
    const isBusy = () =>
      this.redelivering.size > 0 ||
      [...this.held.values()].some(({ state }) => state.phase === 'sending' || state.phase === 'leaving')
    while (performance.now() < until && isBusy()) await pause(20)
    this.posts.cutOff()
    await this.keeper.keep().catch(() => {})
    await this.lease.release()
    await this.sender.close()
  }

  register(registry: Registry): void {
    this.delay = registerDeliveries(registry, {
      messages: () => ({ ...this.posts.figures, dead: this.died }),
      held: () => this.mine().length,
      subscriptions: () => this.counts,
      waitingSeconds: () => this.waitingSeconds(),
    })
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted
  }

  private mine(): Held[] {
    return this.lease.isHeld ? [...this.held.values()].filter(({ state }) => !isOver(state)) : []
  }

  private waitingSeconds(): { working: number; failing: number } {
    const mine = this.mine()
    const now = this.options.elapsed()
    // A read of changes that never ends is as bad as a message that is never accepted.
    let working = mine.length ? performance.now() - this.lookedAt : 0
    let failing = 0
    for (const { trouble, items } of mine.map(({ state }) => state))
      if (trouble) failing = Math.max(failing, now - trouble.since)
      else working = Math.max(working, now - (items[0]?.since ?? now))
    return { working: working / 1000, failing: failing / 1000 }
  }

  private async run(): Promise<void> {
    this.lookedAt = performance.now()
    let forgetAt = this.lookedAt + FORGET_EVERY_MS
    while (!this.isStopping) {
      let more = false
      try {
        if (performance.now() >= forgetAt) {
          const hasMore = await this.webhooks.forget()
          forgetAt = performance.now() + (hasMore ? 0 : FORGET_EVERY_MS)
        }
        more = this.lease.isHeld && (await this.reader.read(this.held.values()))
        for (const held of this.held.values()) void this.deliver(held)
        if (!this.keeper.isEmpty) await this.keeper.keep()
        this.lookedAt = performance.now()
        if (this.isRenewing) this.note(undefined)
      } catch (error) {
        this.note(error as Error)
      }
      if (!more) await pause(this.options.pollMs, undefined, { signal: this.stopping.signal }).catch(() => {})
    }
  }

  /** Runs separately from the other loops, because a read of changes may take longer than a lease. */
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

  /** Renews the lease, and acquires free subscriptions. */
  private async renew(): Promise<void> {
    const renewed = await this.lease.renew(async () => {
      // Progress written under a new name would not apply to any subscription.
      await this.keeper.keep()
      for (const held of this.held.values()) this.drop(held)
    })
    // Not at the first renewal, so that API instances that start together share the subscriptions.
    const taken = renewed ? await this.webhooks.take(this.lease.holder) : 0
    if (taken === 0 && performance.now() < this.syncAt) return
    await this.sync()
    this.syncAt = performance.now() + this.options.syncMs
  }

  /** Reads the subscriptions that were acquired, and the changes that others made to them. */
  private async sync(): Promise<void> {
    const { holder } = this.lease
    await this.keeper.keep()
    const versions = await this.webhooks.versions(holder)
    for (const held of this.held.values()) if (versions.get(held.row.id) !== held.row.version) this.drop(held)
    for (const [id, version] of this.unreadable) if (versions.get(id) !== version) this.unreadable.delete(id)
    const unknown = [...versions.keys()].filter((id) => !this.held.has(id) && !this.unreadable.has(id))
    if (unknown.length) for (const row of await this.webhooks.held(holder, unknown)) await this.begin(row)
    this.counts = await this.webhooks.counts()
    const readable = [...this.held.keys()]
    for (const letter of await this.webhooks.wanted(holder, readable, WANTED_AT_ONCE))
      void this.redeliver(letter)
  }

  /** Begins to deliver for a subscription, or stores the reason why this process cannot read its row. */
  private async begin(row: HeldRow): Promise<void> {
    try {
      const held = heldOf(row, this.options.elapsed(), (time) => this.lease.momentOf(time))
      this.held.set(row.id, held)
      // An earlier process could not read the row.
      if (row.failures === 0 && row.lastError !== null) this.keeper.note(held)
    } catch (error) {
      const reason = reasonOf(error as Error)
      await this.webhooks.noteUnreadable(this.lease.holder, row, reason)
      this.unreadable.set(row.id, row.version)
      this.log.error({ subscription: row.id, reason }, 'a webhook cannot be delivered')
    }
  }

  /** Stops sending for a subscription. It is read again only after a request under way has ended. */
  private drop(held: Held): void {
    this.apply(held, { type: 'dropped' })
    this.keeper.forget(held)
  }

  /** Applies an event, and performs its consequences. */
  private apply(held: Held, event: DeliveryEvent): void {
    const { position, trouble, items } = held.state
    held.state = step(held.state, event)
    if (isOver(held.state)) held.left.abort()
    if (held.state.phase === 'dropped') {
      if (this.held.get(held.row.id) === held) this.held.delete(held.row.id)
    } else if (
      held.state.position !== position ||
      held.state.trouble !== trouble ||
      // A reset does not change the position.
      held.state.items.length < items.length
    )
      this.keeper.note(held)
    if (event.type === 'read') void this.deliver(held)
  }

  /** Sends the messages of a subscription in sequence, as long as the receiver accepts them. */
  private async deliver(held: Held): Promise<void> {
    const { elapsed, giveUpMs } = this.options
    while (!this.isStopping && (isOverdue(held.state, giveUpMs) || isDue(held.state, elapsed()))) {
      const item = held.state.items[0]!
      if (isOverdue(held.state, giveUpMs)) {
        this.giveUp(held, item)
        continue
      }
      const slots = held.state.trouble ? 'failing' : 'working'
      this.apply(held, { type: 'begun' })
      const outcome = await this.posts.try(held.row, item.message, slots, held.left.signal)
      if (outcome) this.settle(held, item, outcome)
      else return this.apply(held, { type: 'interrupted' })
    }
  }

  private settle(held: Held, item: Item, { error, status, retryAfter }: Outcome): void {
    const { elapsed, firstPauseMs } = this.options
    const now = elapsed()
    const { trouble } = held.state
    if (error === undefined) {
      // Excludes replays, and messages logged before this process started.
      if (!trouble && item.isNew) this.delay?.observe((now - item.since) / 1000)
      this.apply(held, { type: 'taken' })
    } else {
      const pauseMs = pauseAfter((trouble?.failures ?? 0) + 1, firstPauseMs, retryAfter, this.lease.time)
      this.apply(held, { type: status === 410 ? 'refused' : 'failed', error, at: now, pauseMs })
    }
    this.keeper.soon()
  }

  private giveUp(held: Held, { message }: Item): void {
    const { failures, error } = held.state.trouble!
    this.died++
    this.keeper.note(held, {
      subscription: held.row.id,
      message: message.id,
      body: message.body,
      attempts: failures,
      error: error ?? '',
    })
    this.apply(held, { type: 'expired' })
    this.keeper.soon()
  }

  /** Retries a dead letter, in addition to the messages of its subscription. */
  private async redeliver(letter: DeadLetter): Promise<void> {
    const key = `${letter.subscription} ${letter.message}`
    const held = this.held.get(letter.subscription)
    if (!held || this.isStopping || this.redelivering.has(key)) return
    this.redelivering.add(key)
    try {
      const message = { id: letter.message, body: letter.body }
      const outcome = await this.posts.try(held.row, message, 'failing', held.left.signal)
      if (outcome) await this.webhooks.tried(letter, outcome.error)
    } catch {
      // The request for this retry stays stored, so that the next check finds it.
    } finally {
      this.redelivering.delete(key)
    }
  }

  /** Logs the start and the end of an outage only. */
  private note(error: Error | undefined): void {
    if (this.isStopping || this.outage === (error !== undefined)) return
    this.outage = error !== undefined
    if (error) this.log.warn({ reason: error.message }, 'webhooks cannot be delivered: deliveries are paused')
    else this.log.info('webhooks are delivered again')
  }
}
