import { EVENTS, type EventName, type EventRow } from '../../src/events'
import type { ChangeKind, Finality } from '../store'

type Name = keyof typeof EVENTS

const EVENT_DATA: Readonly<Record<EventRow['data'], string>> = {
  'the record': 'the record',
  'a record, or what is gone':
    '`{"uid", "chain"}` if the record is gone or fails the filters, else the record',
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
