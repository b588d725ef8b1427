import { createHash } from 'node:crypto'
import {
  type Bbox,
  isOneOf,
  type OneOrMore,
  type ChainChanges,
  type ChangedRecord,
  type ChangeIds,
  type Finality,
  type Store,
} from '../store'
import { eventOf, type EventName } from './events'
import { recordText } from '../formats'

/** Changes of a chain that are read at once. */
const CHANGES_AT_ONCE = 100
/** Records and boxes that one statement compares: well within its timeout, whatever the shapes. */
const RECORDS_AT_ONCE = 100
const BOXES_AT_ONCE = 200

/**
 * A position in the changes of all chains, of one finality: the last id of each, as ids are in order within a
 * chain only. The epoch names the database and the finality: in another one, or in this one filled anew, the
 * same ids mean other changes.
 */
export interface Position {
  epoch: string
  ids: ChangeIds
}

/** What happened to a record, as listeners get it. */
export interface RecordEvent {
  name: EventName
  chain: string
  id: string
  /** Which change of its chain it is; `since`, in Unix milliseconds, tells the database from another one. */
  change: number
  since: number
  /** When it was logged. */
  loggedAt: Date
  /** Where changes go on after it. */
  position: Position
  /** The record as it was when this was read; undefined where it is gone. */
  record: ChangedRecord | undefined
  /** JSON of the record; of one that is gone its UID and chain. */
  data: string
  /** The event in the form of Server-Sent Events. */
  bytes: Buffer
}

/**
 * What a listener asks for: all conditions must hold, as in the list. `reorged` of a record that is gone
 * passes all of them but `chain`.
 */
export interface ChangeFilter {
  chain?: OneOrMore
  /** lower-case, as the next two */
  prover?: OneOrMore
  subject?: OneOrMore
  schema?: OneOrMore
  /** lower-case */
  locationType?: OneOrMore
  bbox?: Bbox
}

/** Some changes in order. */
export interface ChangePage {
  events: RecordEvent[]
  /** Position after them. */
  end: Position
  /** Whether there are more right after them. */
  more: boolean
  /** Whether the position is ahead of the database: a replica that lags, or one that was set back. */
  ahead: boolean
  /** Ids of the records in each box that was asked for so far. */
  inBox: Map<string, Set<string>>
}

/** A position that reading cannot go on from. The message says why, and is sent to the client. */
export class LostPositionError extends Error {}

/** The position before the first change, in a database without records. */
export function beginning(finality: Finality): Position {
  return { epoch: epochOf(finality, []), ids: {} }
}

/** The position as the `id` of an event, opaque to clients. */
export function positionText({ epoch, ids }: Position): string {
  return [epoch, ...Object.entries(ids).map(([chain, id]) => `${chain}.${id}`)].join()
}

/** Reads the `id` of an event; undefined where it is none. */
export function parsePosition(text: string): Position | undefined {
  if (text.length > 1_000 || !/^[\w-]{8}(,[a-z0-9-]+\.\d{1,15})*$/.test(text)) return undefined
  const [epoch, ...parts] = text.split(',')
  const ids = parts.map(
    (part) => [part.slice(0, part.indexOf('.')), Number(part.slice(part.indexOf('.') + 1))] as const,
  )
  return { epoch: epoch!, ids: Object.fromEntries(ids) }
}

/** Whether no change lies between the two. */
export function isSamePosition(one: Position, other: Position): boolean {
  return (
    one.epoch === other.epoch && Object.keys(one.ids).every((chain) => one.ids[chain] === other.ids[chain])
  )
}

/** Where the changes are now. */
export async function currentPosition(store: Store, finality: Finality): Promise<Position> {
  const states = await store.changesAfter(finality, {}, {}, 0)
  return {
    epoch: epochOf(finality, states),
    ids: Object.fromEntries(states.map(({ chain, last }) => [chain, last])),
  }
}

/**
 * The next changes after a position, none beyond `upTo`. Throws a LostPositionError, and an UnavailableError
 * where the database does not answer.
 */
export async function changesAfter(
  store: Store,
  finality: Finality,
  from: Position,
  upTo?: Position,
): Promise<ChangePage> {
  const states = await store.changesAfter(finality, from.ids, upTo?.ids, CHANGES_AT_ONCE)
  const known = states.filter(({ chain }) => from.ids[chain] !== undefined)
  if (epochOf(finality, known) !== from.epoch || known.length !== Object.keys(from.ids).length)
    throw new LostPositionError('The records were read anew since, or this is no position of theirs.')
  const forgotten = states.find(({ chain, forgotten }) => (from.ids[chain] ?? 0) < forgotten)
  if (forgotten)
    throw new LostPositionError(`Changes on ${forgotten.chain} since then are not kept any more.`)

  const wanted = new Set(
    states.flatMap(({ chain, changes }) => changes.map(([, , uid]) => `${chain}-${uid}`)),
  )
  // A record that changed again since is shown as it is now, and once more by the later change.
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
      // A record that is gone already is left out: its `reorged` follows.
      if (record || kind === 'reorged') {
        const name = eventOf(kind, finality)
        const position = { epoch, ids: { ...ids } }
        const data = record ? recordText(record) : JSON.stringify({ uid, chain })
        events.push({
          ...{ name, chain, id, change, record, data, position },
          since: since.getTime(),
          loggedAt: new Date(loggedAt),
          bytes: eventBytes(name, position, data),
        })
      }
    }
  // What lies after the last one is for readers of the other finality.
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

/**
 * An event of Server-Sent Events. Its data has no line break: neither Postgres nor we write one in JSON. What
 * else some readers take for one is escaped: a memo must not stop them.
 */
export function eventBytes(name: EventName | 'reset', position: Position, data: string): Buffer {
  const escaped = data.replace(
    OTHER_LINE_BREAKS,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Buffer.from(`event: ${name}\nid: ${positionText(position)}\ndata: ${escaped}\n\n`)
}
/** Of Unicode; those of ASCII are always escaped in JSON. */
const OTHER_LINE_BREAKS = /[\u0085\u2028\u2029]/g

/** The filters whose box is not yet compared with the page's records. */
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

/** The events of a page that pass a filter; its box, if it has one, was located. */
export function eventsOf({ events, inBox }: ChangePage, filter: ChangeFilter): RecordEvent[] {
  const { chain, prover, subject, schema, locationType, bbox } = filter
  const box = bbox && inBox.get(bbox.join())
  return events.filter(
    ({ chain: of, id, record }) =>
      (chain === undefined || isOneOf(chain, of)) &&
      (record === undefined ||
        ((prover === undefined || isOneOf(prover, record.prover)) &&
          (subject === undefined || isOneOf(subject, record.subject)) &&
          (schema === undefined || isOneOf(schema, record.schema)) &&
          (locationType === undefined || isOneOf(locationType, record.locationType.toLowerCase())) &&
          (box === undefined || box.has(id)))),
  )
}

function epochOf(finality: Finality, states: readonly Pick<ChainChanges, 'chain' | 'since'>[]): string {
  const hash = createHash('sha256')
  if (finality === 'final') hash.update('final;')
  for (const { chain, since } of states) hash.update(`${chain} ${since.getTime()};`)
  return hash.digest('base64url').slice(0, 8)
}
