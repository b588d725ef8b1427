import { setMaxListeners } from 'node:events'
import { filterOfTexts, parsePosition, positionText, type ChangeFilter, type Position } from '../stream'
import type { Delivery, Item } from './delivery'
import { LONGEST_WISH_MS, messageId } from './message'
import type { HeldRow, Progress } from './store'

export interface Held {
  readonly row: HeldRow
  readonly filter: ChangeFilter
  state: Delivery
  /** Aborted when this process stops sending for the subscription. Ends the waits of its messages. */
  readonly left: AbortController
}

/**
 * @param now `elapsed`. A failure in the future counts as a failure now, and a wait longer than the longest
 * pause counts as over: both mean that the clock of the database was set back
 */
export function heldOf(row: HeldRow, now: number, momentOf: (time: Date) => number): Held {
  const { failures, failingMs, waitMs, lastError, resetReason, resetAt } = row
  const since = now - Math.max(0, failingMs ?? 0)
  const position = row.position === null ? undefined : parsePosition(row.position)
  const reset =
    resetReason !== null && position && resetItem(row.id, position, resetReason, resetAt!, momentOf)
  const left = new AbortController()
  setMaxListeners(0, left.signal) // many redeliveries may wait at once
  return {
    ...{ row, left, filter: filterOfTexts(row.filter) },
    state: {
      phase: reset ? 'waiting' : 'reading',
      position,
      items: reset ? [reset] : [],
      trouble:
        failures === 0
          ? undefined
          : {
              failures,
              since,
              triedAt: since,
              nextTry: waitMs === null || waitMs > LONGEST_WISH_MS ? 0 : now + waitMs,
              error: lastError,
            },
    },
  }
}

/** Returns the progress to write to the row of a subscription. @param now `elapsed` */
export function progressOf({ row, state }: Held, now: number): Progress {
  const { phase, position, items, trouble } = state
  const { reset } = items[0] ?? {}
  return {
    id: row.id,
    version: row.version,
    position: position ? positionText(position) : null,
    resetReason: reset?.reason ?? null,
    resetAt: reset?.at ?? null,
    failures: trouble?.failures ?? 0,
    failingMs: trouble ? now - trouble.since : null,
    waitMs: trouble?.nextTry ? trouble.nextTry - now : null,
    lastError: trouble?.error ?? null,
    disabled: phase === 'disabled' ? 'the receiver returned 410 Gone' : null,
  }
}

/** Creates the message that reports lost changes, to send at the position after them. */
export function resetItem(
  subscription: string,
  position: Position,
  reason: string,
  at: Date,
  momentOf: (time: Date) => number,
): Item {
  const message = {
    id: messageId(subscription, 'reset', positionText(position)),
    body: JSON.stringify({ type: 'reset', timestamp: at.toISOString(), data: { reason } }),
  }
  return { message, after: position, since: momentOf(at), isNew: false, reset: { reason, at } }
}
