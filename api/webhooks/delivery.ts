import type { Position } from '../stream'
import type { Message } from './message'

/**
 * The deliveries of one subscription by the process that holds it, as a state machine without I/O (PHASES).
 *
 * A subscription that was changed, or whose lease has ended, is `dropped` in any phase. A `sending` one is
 * `leaving` until its request ends, so that no process sends its next message in the meantime.
 */
export type Phase = 'reading' | 'waiting' | 'sending' | 'leaving' | 'disabled' | 'dropped'

export interface Item {
  readonly message: Message
  /** Position of the subscription after this message is handled. */
  readonly after: Position
  /** Time from which the message waits to be sent, by `elapsed`. */
  readonly since: number
  /** True if its change was logged after this process began to deliver for the subscription. */
  readonly isNew: boolean
  /** Set in the message that reports lost changes. */
  readonly reset?: { readonly reason: string; readonly at: Date }
}

/** Failures since the last accepted message, with times by `elapsed`. */
export interface Trouble {
  readonly failures: number
  readonly since: number
  /** Time of this process's last failed attempt; `since` if it has made none. */
  readonly triedAt: number
  /** Time of the next attempt; 0: immediately. */
  readonly nextTry: number
  readonly error: string | null
}

export interface Delivery {
  readonly phase: Phase
  /** Position before the next change to read; undefined: the current end of the changes. */
  readonly position: Position | undefined
  /** Messages before the position that wait to be sent, in order. A reset is always the only one. */
  readonly items: readonly Item[]
  readonly trouble: Trouble | undefined
}

export type DeliveryEvent =
  /** The current end of the changes was found; there is nothing to send yet. */
  | { readonly type: 'located'; readonly position: Position }
  | { readonly type: 'read'; readonly items: readonly Item[]; readonly end: Position }
  /** Changes cannot be read from the position. The item is the message that reports this. */
  | { readonly type: 'lost'; readonly item: Item }
  | { readonly type: 'begun' | 'taken' | 'interrupted' | 'expired' | 'dropped' }
  | {
      readonly type: 'failed' | 'refused'
      readonly error: string
      readonly at: number
      readonly pauseMs: number
    }

/** Phases after an event. `rest` means waiting if there is something to send, else reading. */
const PHASES: Record<Phase, Partial<Record<DeliveryEvent['type'], Phase | 'rest'>>> = {
  reading: { located: 'reading', read: 'rest', lost: 'waiting', dropped: 'dropped' },
  waiting: { begun: 'sending', expired: 'rest', dropped: 'dropped' },
  sending: {
    ...{ taken: 'rest', failed: 'waiting', refused: 'disabled', interrupted: 'waiting' },
    dropped: 'leaving',
  },
  leaving: {
    ...{ taken: 'dropped', failed: 'dropped', refused: 'dropped', interrupted: 'dropped' },
    dropped: 'leaving',
  },
  disabled: { dropped: 'dropped' },
  dropped: { dropped: 'dropped' },
}

/** Returns the state after an event. Throws an Error if the phase does not allow the event. */
export function step(state: Delivery, event: DeliveryEvent): Delivery {
  const phase = PHASES[state.phase][event.type]
  if (phase === undefined) throw new Error(`a ${state.phase} subscription cannot be ${event.type}`)
  const { position, items, trouble } = { ...state, ...changes(state, event) }
  const rest = items.length > 0 ? 'waiting' : 'reading'
  return { phase: phase === 'rest' ? rest : phase, position, items, trouble }
}

function changes({ items, trouble }: Delivery, event: DeliveryEvent): Partial<Delivery> {
  switch (event.type) {
    case 'located':
      return { position: event.position }
    case 'read':
      return event.items.length > 0 ? { items: event.items } : { position: event.end }
    case 'lost':
      return { position: event.item.after, items: [event.item] }
    case 'taken':
      return { ...passed(items), trouble: undefined }
    case 'expired':
      return passed(items)
    case 'failed':
    case 'refused': {
      const { failures = 0, since = event.at } = trouble ?? {}
      const { error, at, pauseMs } = event
      return { trouble: { failures: failures + 1, since, triedAt: at, nextTry: at + pauseMs, error } }
    }
  }
  return {}
}

function passed([first, ...items]: readonly Item[]): Partial<Delivery> {
  return { position: first!.after, items }
}

/** True if the first message may be sent now. */
export function isDue({ phase, trouble }: Delivery, now: number): boolean {
  return phase === 'waiting' && (trouble?.nextTry ?? 0) <= now
}

/**
 * True if the first message was old enough at the last failed attempt to become a dead letter. The current
 * time does not count: after a stop of the process, the receiver may work again.
 */
export function isOverdue({ phase, items, trouble }: Delivery, giveUpMs: number): boolean {
  if (phase !== 'waiting' || !trouble) return false
  return trouble.triedAt - Math.max(items[0]!.since, trouble.since) >= giveUpMs
}

/** True if this process has nothing more to do for the subscription, apart from a request under way. */
export function isOver({ phase }: Delivery): boolean {
  return phase === 'dropped' || phase === 'leaving'
}
