import { createHash } from 'node:crypto'
import {
  isOneOf,
  type ChainChanges,
  type ChangedRecord,
  type ChangeIds,
  type Finality,
  type RecordFilter,
  type Store,
} from '../store'
import type { EventName } from '../../src/events'
import { eventOf } from './events'
import { onOneLine } from '../../src/strict-json'
import { recordText } from '../formats'

/** Maximum number of changes of a chain per read. */
const CHANGES_AT_ONCE = 100
/** Maximum numbers of records and boxes per statement, for its timeout with any geometry. */
const RECORDS_AT_ONCE = 100
const BOXES_AT_ONCE = 200

/**
 * A position in the changes of all chains, for one finality. It holds the last id of each chain, because ids
 * are ordered within a chain only. The epoch identifies the database and the finality. In another database,
 * or in a database that was rebuilt, the same ids mean other changes.
 */
export interface Position {
  epoch: string
  ids: ChangeIds
}

export interface RecordEvent {
  name: EventName
  chain: string
  id: string
  /** Id of the change on its chain, and Unix milliseconds that distinguish its database from others. */
  change: number
  since: number
  loggedAt: Date
  /** Position after this change, from which a listener resumes. */
  position: Position
  /** The record at the time of the read; undefined if it no longer exists, or for a filter that it fails. */
  record: ChangedRecord | undefined
  /** JSON of the record; if `record` is undefined, JSON of its UID and chain. */
  data: string
  /** The event in the format of Server-Sent Events. */
  bytes: Buffer
  /** Event for filters that the record fails, or failed before it was gone, if it may have passed them. */
  outside?: RecordEvent
  /** True if the event is the `outside` of another one. */
  isOutside?: true
}

/**
 * Filter of a listener. All conditions must hold, as in the list of records. A `reorged` or `corrected` event
 * is checked against `chain` only: the record may have passed the filter before it was read again.
 */
export type ChangeFilter = Pick<
  RecordFilter,
  'chain' | 'prover' | 'subject' | 'schema' | 'locationType' | 'bbox'
>

export interface ChangePage {
  events: RecordEvent[]
  /** Position after these changes. */
  end: Position
  /** True if more changes follow directly. */
  more: boolean
  /** True if the position is ahead of the database: a replica lags, or the database was restored. */
  ahead: boolean
  /** Ids of the records in each box that was searched so far. */
  inBox: Map<string, Set<string>>
}

/** Changes cannot be read from a position. The message states the reason and is sent to clients. */
export class LostPositionError extends Error {}

/** Encodes a position as the `id` of an event, opaque to clients. */
export function positionText({ epoch, ids }: Position): string {
  return [epoch, ...Object.entries(ids).map(([chain, id]) => `${chain}.${id}`)].join()
}

/** Maximum length of a position. That of 105 chains, with slugs of 40 characters, has 6,000. */
const MAX_POSITION_LENGTH = 10_000

/** Decodes the `id` of an event; undefined if it is not a position. */
export function parsePosition(text: string): Position | undefined {
  if (text.length > MAX_POSITION_LENGTH || !/^[\w-]{8}(,[a-z0-9-]+\.\d{1,15})*$/.test(text)) return undefined
  const [epoch, ...parts] = text.split(',')
  const ids = parts.map(
    (part) => [part.slice(0, part.indexOf('.')), Number(part.slice(part.indexOf('.') + 1))] as const,
  )
  return { epoch: epoch!, ids: Object.fromEntries(ids) }
}

/** True if no change lies between the two positions. */
export function isSamePosition(one: Position, other: Position): boolean {
  return (
    one.epoch === other.epoch && Object.keys(one.ids).every((chain) => one.ids[chain] === other.ids[chain])
  )
}

/** Returns the position after the latest change. */
export async function currentPosition(store: Store, finality: Finality): Promise<Position> {
  return positionAt(finality, await store.changesAfter(finality, {}, {}, 0))
}

/** Returns the position after the change `last` of each chain. All chains are from one snapshot, in order. */
export function positionAt(
  finality: Finality,
  states: readonly Pick<ChainChanges, 'chain' | 'since' | 'last'>[],
): Position {
  return {
    epoch: epochOf(finality, states),
    ids: Object.fromEntries(states.map(({ chain, last }) => [chain, last])),
  }
}

/** Reads the changes after a position, up to `upTo`. Throws a LostPositionError or an UnavailableError. */
export async function changesAfter(
  store: Store,
  finality: Finality,
  from: Position,
  upTo?: Position,
): Promise<ChangePage> {
  const states = await store.changesAfter(finality, from.ids, upTo?.ids, CHANGES_AT_ONCE)
  const known = states.filter(({ chain }) => from.ids[chain] !== undefined)
  if (epochOf(finality, known) !== from.epoch || known.length !== Object.keys(from.ids).length)
    throw new LostPositionError(
      'The records have been rebuilt since then, or this is not a position of this stream.',
    )
  const forgotten = states.find(({ chain, forgotten }) => (from.ids[chain] ?? 0) < forgotten)
  if (forgotten) throw new LostPositionError(`Changes on ${forgotten.chain} since then have been deleted.`)

  const wanted = new Set(
    states.flatMap(({ chain, changes }) => changes.map(([, , uid]) => `${chain}-${uid}`)),
  )
  // If a record has changed again since, this event and that of its later change show its present state.
  const records = new Map(
    wanted.size
      ? (await store.changedRecords(finality, [...wanted])).map((record) => [
          `${record.chain}-${record.uid}`,
          record,
        ])
      : [],
  )
  const epoch = epochOf(finality, states)
  const ids: Record<string, number> = Object.fromEntries(
    states.map(({ chain }) => [chain, from.ids[chain] ?? 0]),
  )
  const events: RecordEvent[] = []
  for (const { chain, since, changes } of states)
    for (const [change, kind, uid, loggedAt] of changes) {
      ids[chain] = change
      const id = `${chain}-${uid}`
      const record = records.get(id)
      // A record that no longer exists is left out: its `reorged` event follows.
      if (record || kind === 'reorged') {
        const name = eventOf(kind, finality)
        const position = { epoch, ids: { ...ids } }
        const eventWith = (shown: ChangedRecord | undefined): RecordEvent => {
          const data = shown ? recordText(shown) : JSON.stringify({ uid, chain })
          return {
            ...{ name, chain, id, change, record: shown, data, position },
            since: since.getTime(),
            loggedAt: new Date(loggedAt),
            bytes: eventBytes(name, position, data),
          }
        }
        const event = eventWith(record)
        if (kind === 'reorged')
          event.outside = { ...(record ? eventWith(undefined) : event), isOutside: true }
        events.push(event)
      }
    }
  // Changes after the last one that was read have another finality, so the position may pass them.
  for (const { chain, changes, last } of states)
    if (changes.length < CHANGES_AT_ONCE)
      ids[chain] = Math.max(ids[chain]!, Math.min(last, upTo ? (upTo.ids[chain] ?? 0) : last))
  return {
    events,
    end: { epoch, ids },
    more: states.some(({ changes }) => changes.length === CHANGES_AT_ONCE),
    ahead: states.some(({ chain, last }) => (from.ids[chain] ?? 0) > last),
    inBox: new Map(),
  }
}

/** Encodes a Server-Sent Event. */
export function eventBytes(name: EventName | 'reset', position: Position, data: string): Buffer {
  return Buffer.from(`event: ${name}\nid: ${positionText(position)}\ndata: ${onOneLine(data)}\n\n`)
}

/** Returns the filters whose box is not yet compared with the page's records. */
export function unlocated({ inBox }: ChangePage, filters: readonly ChangeFilter[]): ChangeFilter[] {
  return filters.filter(({ bbox }) => bbox && !inBox.has(bbox.join()))
}

/** Finds which records of the page lie in the boxes of these filters. Throws an UnavailableError. */
export async function locate(
  store: Store,
  page: ChangePage,
  filters: readonly ChangeFilter[],
): Promise<void> {
  const boxes = [...new Map(unlocated(page, filters).map(({ bbox }) => [bbox!.join(), bbox!]))]
  const ids = [...new Set(page.events.filter(({ record }) => record).map(({ id }) => id))]
  const found = new Map(boxes.map(([key]) => [key, new Set<string>()]))
  for (let i = 0; i < ids.length; i += RECORDS_AT_ONCE)
    for (let j = 0; j < boxes.length; j += BOXES_AT_ONCE) {
      const some = boxes.slice(j, j + BOXES_AT_ONCE)
      for (const { place, id } of await store.recordsInBoxes(
        ids.slice(i, i + RECORDS_AT_ONCE),
        some.map(([, bbox]) => bbox),
      ))
        found.get(some[place]![0])!.add(id)
    }
  for (const [key, inside] of found) page.inBox.set(key, inside)
}

/** Returns the events of a page that pass a filter. `locate` must have run if the filter has a box. */
export function eventsOf({ events, inBox }: ChangePage, filter: ChangeFilter): RecordEvent[] {
  const { chain, prover, subject, schema, locationType, bbox } = filter
  const box = bbox && inBox.get(bbox.join())
  const passes = ({ id, record }: RecordEvent) =>
    (prover === undefined || (record && isOneOf(prover, record.prover))) &&
    (subject === undefined || (record && isOneOf(subject, record.subject))) &&
    (schema === undefined || (record && isOneOf(schema, record.schema))) &&
    (locationType === undefined || (record && isOneOf(locationType, record.locationType.toLowerCase()))) &&
    (box === undefined || box.has(id))
  return events
    .filter((event) => chain === undefined || isOneOf(chain, event.chain))
    .flatMap((event) => (passes(event) ? event : (event.outside ?? [])))
}

function epochOf(finality: Finality, states: readonly Pick<ChainChanges, 'chain' | 'since'>[]): string {
  const hash = createHash('sha256')
  if (finality === 'final') hash.update('final;')
  for (const { chain, since } of states) hash.update(`${chain} ${since.getTime()};`)
  return hash.digest('base64url').slice(0, 8)
}
