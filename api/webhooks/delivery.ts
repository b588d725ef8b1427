import type { Position } from '../stream'
import type { Message } from './message'

/**
 * The deliveries of one subscription by the process that holds it, as a state machine without I/O.
 *
 *     reading --read, lost--> waiting --begun--> sending --taken---------> waiting or reading
 *                                ^  |               | \----refused (410)-> disabled
 *                                |  +--expired      |
 *                                |  (dead letter)   |
 *                                +---failed, interrupted
 *
 * A subscription that somebody changed, or whose lease is over, is `dropped` in any phase. A `sending` one is
 * `leaving` until its request ends, so that nobody sends its next message meanwhile.
 */
export type Phase = 'reading' | 'waiting' | 'sending' | 'leaving' | 'disabled' | 'dropped'

export interface Item {
  readonly message: Message
  /** Where the subscription is once it was handled. */
  readonly after: Position
  /** Since when it waits to be sent, by `elapsed`. */
  readonly since: number
  /** True if its change was logged since this process delivers for the subscription. */
  readonly isNew: boolean
  /** Set in the message that changes were lost. */
  readonly reset?: { readonly reason: string; readonly at: Date }
}

/** Failures since the last message that was taken; times by `elapsed`. */
export interface Trouble {
  readonly failures: number
  readonly since: number
  /** 0: at once. */
  readonly nextTry: number
  readonly error: string | null
}

export interface Delivery {
  readonly phase: Phase
  /** Before the next change that is read; undefined: where the changes are now. */
  readonly position: Position | undefined
  /** What lies before the position and waits to be sent, in order; a reset is alone. */
  readonly items: readonly Item[]
  readonly trouble: Trouble | undefined
}

export type DeliveryEvent =
  /** Where the changes are now; there is nothing to send yet. */
  | { readonly type: 'located'; readonly position: Position }
  | { readonly type: 'read'; readonly items: readonly Item[]; readonly end: Position }
  /** The position cannot be read from: what follows is the message that says so. */
  | { readonly type: 'lost'; readonly item: Item }
  | { readonly type: 'begun' | 'taken' | 'interrupted' | 'expired' | 'dropped' }
  | {
      readonly type: 'failed' | 'refused'
      readonly error: string
      readonly at: number
      readonly pauseMs: number
    }

/** `rest`: waiting if there is something to send, else reading. */
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

/** The state after an event. Throws an Error for an event that the phase does not have. */
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
      return { trouble: { failures: failures + 1, since, nextTry: at + pauseMs, error } }
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

/** True if the first message has failed for so long that it becomes a dead letter. */
export function isOverdue({ items, trouble }: Delivery, now: number, giveUpMs: number): boolean {
  return trouble !== undefined && now - Math.max(items[0]!.since, trouble.since) >= giveUpMs
}

/** True if this process has nothing more to do with the subscription, but what is on its way. */
export function isOver({ phase }: Delivery): boolean {
  return phase === 'dropped' || phase === 'leaving'
}
