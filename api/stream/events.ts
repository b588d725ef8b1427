import type { ChangeKind, Finality } from '../store'

interface EventRow {
  /** Finality of the streams and subscriptions that receive the event. */
  readonly finality: Finality | 'any'
  /** Meaning, in Markdown. */
  readonly meaning: string
  readonly data: 'the record' | 'a record, or what is gone' | 'a reason'
}

/** Events of the stream. Webhooks receive the events about records as `record.<name>`. */
export const EVENTS = {
  new: { finality: 'any', meaning: 'a record was added', data: 'the record' },
  revoked: { finality: 'any', meaning: 'it was revoked', data: 'the record' },
  reorged: {
    finality: 'latest',
    meaning: 'a reorg removed the record, or its revocation',
    data: 'a record, or what is gone',
  },
  corrected: {
    finality: 'final',
    meaning: 'the record, or its revocation, was never on the chain: an RPC endpoint had invented it',
    data: 'a record, or what is gone',
  },
  reset: {
    finality: 'any',
    meaning:
      'changes are missing, after more than 7 days or because the database was restored: load the list again',
    data: 'a reason',
  },
} as const satisfies Readonly<Record<string, EventRow>>
type Name = keyof typeof EVENTS
export type EventName = Exclude<Name, 'reset'>

const EVENT_DATA: Readonly<Record<EventRow['data'], string>> = {
  'the record': 'the record',
  'a record, or what is gone': '`{"uid", "chain"}` if the record is gone, else the record',
  'a reason': '`{"reason"}`',
}

/** Returns the event for a change, for listeners of this finality. */
export function eventOf(kind: ChangeKind, finality: Finality): EventName {
  return kind === 'reorged' && finality === EVENTS.corrected.finality ? 'corrected' : kind
}

/** Returns the `type` of a webhook message. */
export function messageType(name: Name): string {
  return name === 'reset' ? name : `record.${name}`
}

/** Returns the table of all events as cells. */
export function eventTable(): string[][] {
  return (Object.entries(EVENTS) as [Name, EventRow][]).map(([name, { finality, meaning, data }]) => [
    `\`${name}\``,
    finality === 'any' ? meaning : `with \`finality=${finality}\`: ${meaning}`,
    EVENT_DATA[data],
  ])
}
