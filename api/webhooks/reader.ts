import type { Store } from '../store'
import {
  changesAfter,
  currentPosition,
  eventsOf,
  locate,
  LostPositionError,
  positionText,
  unlocated,
  type ChangePage,
  type Position,
  type RecordEvent,
} from '../stream'
import type { DeliveryEvent } from './delivery'
import { resetItem, type Held } from './held'
import type { Lease } from './lease'
import { bodyOf, messageId } from './message'
import type { HeldRow, WebhookStore } from './store'

/** Maximum number of positions per read. Most subscriptions share one position. */
const POSITIONS_AT_ONCE = 16
/** Milliseconds that a position may be ahead of the database, in which a replica that lags catches up. */
const AHEAD_MS = 10_000

/** Reads changes for the subscriptions with nothing to send. Those at one position share a read. */
export class ChangeReader {
  /** Time since which the database is behind a position, by position, by performance.now(). */
  private readonly aheadSince = new Map<string, number>()

  /** @param on called with the event found for a subscription */
  constructor(
    private readonly store: Store,
    private readonly webhooks: WebhookStore,
    private readonly lease: Lease,
    private readonly stopping: AbortSignal,
    private readonly on: (held: Held, event: DeliveryEvent) => void,
  ) {}

  /** Returns true if more changes follow directly. Throws if the database does not answer. */
  async read(all: Iterable<Held>): Promise<boolean> {
    const groups = await this.groups(all)
    for (const key of this.aheadSince.keys()) if (!groups.has(key)) this.aheadSince.delete(key)
    let more = groups.size > POSITIONS_AT_ONCE
    // The largest groups go first; the others alternate.
    const largest = [...groups].sort(([, one], [, other]) => other.length - one.length)
    const turn = [
      ...largest.slice(0, POSITIONS_AT_ONCE / 2),
      ...shuffled(largest.slice(POSITIONS_AT_ONCE / 2)),
    ]
    for (const [key, group] of turn.slice(0, POSITIONS_AT_ONCE)) {
      if (this.stopping.aborted) return false
      if (await this.readFor(key, group)) more = true
    }
    return more
  }

  /** Groups the subscriptions to read for, by finality and position. */
  private async groups(all: Iterable<Held>): Promise<Map<string, Held[]>> {
    const groups = new Map<string, Held[]>()
    const now = new Map<string, Position>()
    for (const held of all) {
      const { finality } = held.row
      if (held.state.phase === 'reading' && !held.state.position) {
        if (!now.has(finality)) now.set(finality, await currentPosition(this.store, finality))
        // The subscription may have been dropped in the meantime.
        if (held.state.phase === 'reading') this.on(held, { type: 'located', position: now.get(finality)! })
      }
      if (held.state.phase !== 'reading') continue
      const key = `${finality} ${positionText(held.state.position!)}`
      const group = groups.get(key)
      if (group) group.push(held)
      else groups.set(key, [held])
    }
    return groups
  }

  private async readFor(key: string, group: readonly Held[]): Promise<boolean> {
    const [{ row, state }] = group as [Held]
    const { finality } = row
    let page: ChangePage
    try {
      page = await changesAfter(this.store, finality, state.position!)
      if (page.ahead) {
        const since = this.aheadSince.get(key) ?? performance.now()
        this.aheadSince.set(key, since)
        if (performance.now() - since > AHEAD_MS)
          throw new LostPositionError('The database was restored to an earlier state.')
        return false
      }
    } catch (error) {
      if (!(error instanceof LostPositionError)) throw error
      const now = await currentPosition(this.store, finality)
      const { time } = this.lease
      for (const held of group.filter(isReading))
        this.on(held, {
          type: 'lost',
          item: resetItem(held.row.id, now, error.message, time, (at) => this.lease.momentOf(at)),
        })
      return true
    }
    const filters = group.map(({ filter }) => filter)
    if (page.events.length && unlocated(page, filters).length) await locate(this.store, page, filters)
    const chosen = group.map((held) => [held, eventsOf(page, held.filter)] as const)
    const bodies = await this.bodiesFor(finality, new Set(chosen.flatMap(([, events]) => events)))
    for (const [held, events] of chosen) {
      if (!isReading(held)) continue
      const items = events.map((event, i) => ({
        message: {
          // A later read may show the record, which passes the filter again. Other bytes need another id.
          id: messageId(
            held.row.id,
            ...[finality, event.chain, event.since, event.change],
            ...(event.isOutside ? ['outside'] : []),
          ),
          body: bodies.get(event)!,
        },
        after: i === events.length - 1 ? page.end : event.position,
        since: this.lease.momentOf(event.loggedAt),
        isNew: event.loggedAt >= held.row.readAt,
      }))
      if (items.length > 0 || positionText(held.state.position!) !== positionText(page.end))
        this.on(held, { type: 'read', items, end: page.end })
    }
    return page.more
  }

  /**
   * Returns the bodies of messages about these events, as the process stored them that sent each first. Those
   * for filters that the record fails are not stored: other filters share the stored ones.
   */
  private async bodiesFor(
    finality: HeldRow['finality'],
    events: ReadonlySet<RecordEvent>,
  ): Promise<Map<RecordEvent, string>> {
    const bodies = new Map([...events].map((event) => [event, bodyOf(event)]))
    const shared = [...events].filter(({ isOutside }) => !isOutside)
    if (shared.length === 0) return bodies
    const keyOf = ({ chain, since, change }: Pick<RecordEvent, 'chain' | 'since' | 'change'>) =>
      `${chain} ${since} ${change}`
    const given = shared.map((event) => {
      const { chain, since, change } = event
      return { chain, since, change, body: bodies.get(event)! }
    })
    const stored = await this.webhooks.storeBodies(finality, given)
    const byKey = new Map(stored.map((each) => [keyOf(each), each.body]))
    for (const event of shared) bodies.set(event, byKey.get(keyOf(event))!)
    return bodies
  }
}

function isReading({ state }: Held): boolean {
  return state.phase === 'reading'
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([one], [other]) => one - other)
    .map(([, each]) => each)
}
