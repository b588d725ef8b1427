// SPDX-License-Identifier: MIT
import type { EventName, EVENTS } from '../../../src/events'
import { cut } from '../../../src/cut'
import { ConnectionError, InvalidInputError, invalidInput, ServiceVersionError } from './errors'
import { jsonOf, type Send } from './http'
import type {
  ListPage,
  LocationRecord,
  RecordFilters,
  RecordGroupFilters,
  RecordGroups,
  Statistics,
} from './types'
import { pause } from './waiting'

/**
 * Formats of an export. Each is streamed completely. GeoParquet and FlatGeobuf are in spatial order, so they
 * start only after the service has read all records.
 */
export type ExportFormat = 'geojson' | 'csv' | 'ndjson' | 'geoparquet' | 'flatgeobuf'

export interface ListOptions extends RecordFilters {
  /** maximum number of records; all by default */
  limit?: number
  signal?: AbortSignal
}
export interface PageOptions extends RecordFilters {
  /** number of records on the page, at most 1000; default 100 */
  limit?: number
  /** `next_cursor` of the previous page */
  cursor?: string
  /** true: also count all records that match */
  total?: boolean
  signal?: AbortSignal
}
export interface StreamOptions extends Pick<
  RecordFilters,
  'chain' | 'prover' | 'subject' | 'schema' | 'location_type' | 'bbox'
> {
  /**
   * final: only changes that no reorg can undo, once they are final; default: latest, every change
   * immediately
   */
  finality?: 'latest' | 'final'
  /** id of the last event that was handled; the stream sends every later change */
  after?: string
  signal?: AbortSignal
  /** Called with the stream's position as it advances, even without events. Store it to resume later. */
  onPosition?: (id: string) => void
  /** Called when the connection is open, also after each reconnect. */
  onOpen?: () => void
  /** Called when the connection is lost, before the client reconnects. */
  onDrop?: (error: unknown) => void
}
/** Kinds of changes after which the record may be gone. */
type PerhapsGone = {
  [Name in EventName]: (typeof EVENTS)[Name]['data'] extends 'the record' ? never : Name
}[EventName]
/** For each kind of change, true if the record may be gone after it. */
const KINDS: { [Name in EventName]: Name extends PerhapsGone ? true : false } = {
  ...{ new: false, revoked: false, reorged: true, corrected: true },
}
/** A change of a record, of a kind in docs/reference/streams.md. */
export type RecordEvent = { id: string } & (
  | { kind: EventName; record: LocationRecord }
  | { kind: PerhapsGone; gone: { uid: string; chain: string } }
  /** the position is no longer available: reload the list */
  | { kind: 'reset'; reason: string }
)

/** Attested places: lists, single records, statistics, exports and live changes. */
export interface Records {
  /**
   * Iterates over all records that match, newest first unless `sort` sets another order. Pages are loaded as
   * needed.
   */
  list(options?: ListOptions): AsyncIterable<LocationRecord>
  /** Returns one page, with `next_cursor` if more records follow. */
  page(options?: PageOptions): Promise<ListPage>
  /** Returns one record. Throws an AttestationNotFoundError if the service has no such record. */
  get(uid: string, options?: { chain?: string; signal?: AbortSignal }): Promise<LocationRecord>
  stats(options?: { signal?: AbortSignal }): Promise<Statistics>
  /** Counts the matching records by one or two dimensions, such as `day` or `geohash:5`. */
  groupBy(
    by: string | readonly string[],
    options?: RecordGroupFilters & { signal?: AbortSignal },
  ): Promise<RecordGroups>
  /** Streams the bytes of an export. The stream fails if the response is cut off. */
  export(
    options: RecordFilters & { format: ExportFormat; limit?: number; signal?: AbortSignal },
  ): Promise<ReadableStream<Uint8Array>>
  /**
   * Streams changes as they happen, each once and in order within a chain. It reconnects after lost
   * connections and restarts of the service. It ends when the signal aborts or the loop exits.
   */
  stream(options?: StreamOptions): AsyncIterable<RecordEvent>
}

const PATH = '/api/v0/location-records'
/** Maximum number of items on one page. */
const PAGE = 1000
/** Milliseconds without data after which a connection is dead. The service sends a comment every 15 s. */
const SILENCE_MS = 40_000
/** First and longest delay before a stream reconnects, in milliseconds. */
const RECONNECT_MS = 1_000
const RECONNECT_MOST_MS = 30_000

interface Options {
  limit?: number
  cursor?: string
  signal?: AbortSignal
}
interface Paged {
  data: unknown[]
  next_cursor: string | null
}
/** Creates the methods of a paginated list of the service, and of its single items. */
export function listOf<Page extends Paged, Asked extends Options>(base: string, at: string, send: Send) {
  type Item = Page['data'][number]
  const request = (path: string, query: object = {}, headers?: Record<string, string>) => {
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query)) {
      // In a URL, half a surrogate pair would become U+FFFD, which is another filter.
      if (/\p{Surrogate}/u.test(String(value)))
        throw new InvalidInputError({
          ...{ status: 400, title: `Invalid ${name} parameter` },
          detail: 'Expected text without unpaired surrogates',
        })
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    return new Request(url, { headers: { accept: 'application/json', ...headers } })
  }
  const json = async <T>(path: string, query: object, signal?: AbortSignal) =>
    jsonOf<T>(await send(request(path, query), { signal }), base)
  const page = (options?: Asked): Promise<Page> => {
    const { signal, ...query } = options ?? {}
    return json(at, query, signal)
  }
  async function* list(options?: Omit<Asked, 'cursor'>): AsyncGenerator<Item> {
    let cursor: string | undefined
    for (let left = options?.limit ?? Infinity; left > 0;) {
      const found: Page | null = await page({
        ...(options as Asked),
        limit: Math.min(left, PAGE),
        cursor,
      })
      const { data, next_cursor } = found ?? {}
      // Such pages would never end.
      const isEndless = next_cursor != null && (next_cursor === cursor || data?.length === 0)
      if (!Array.isArray(data) || isEndless)
        throw new ServiceVersionError(
          `The service at ${base} returned ${isEndless ? 'an endless list' : 'no page'} of ${at}. Report it to its operator.`,
        )
      yield* data as Item[]
      left -= data.length
      cursor = next_cursor ?? undefined
      if (cursor === undefined) return
    }
  }
  return {
    request,
    json,
    page,
    list,
    get: async (
      uid: string,
      { chain, signal }: { chain?: string; signal?: AbortSignal } = {},
    ): Promise<Item> => {
      // In a URL path, `.` and `..` would address other resources.
      if (!/^0x[0-9a-f]{64}$/i.test(uid))
        throw new InvalidInputError({
          ...{ status: 400, title: 'Invalid UID format' },
          detail: 'UID must be a 66-character hex string starting with 0x',
        })
      return json<Item>(`${at}/${uid}`, { chain }, signal)
    },
  }
}

export function groupsAt<Groups, Filters extends object>(
  json: <T>(path: string, query: object, signal?: AbortSignal) => Promise<T>,
  path: string,
) {
  return (by: string | readonly string[], options?: Filters & { signal?: AbortSignal }): Promise<Groups> => {
    const { signal, ...filters } = options ?? {}
    return json(path, { ...filters, by: String(by) }, signal)
  }
}

export function recordsOf(base: string, send: Send): Records {
  const { request, json, page, list, get } = listOf<ListPage, PageOptions>(base, PATH, send)
  return {
    page,
    list,
    get,
    stats: ({ signal } = {}) => json(`${PATH}/stats`, {}, signal),
    groupBy: groupsAt(json, `${PATH}/stats`),
    export: async ({ signal, ...query }) => {
      // The duration of an export of a million records cannot be predicted, so it has no timeout.
      const { body } = await send(request(PATH, { limit: 1_000_000_000, ...query }), { signal, timed: false })
      return body!
    },
    stream: (options = {}) =>
      changes(options, send, (headers, query) => request(`${PATH}/stream`, query, headers)),
  }
}

async function* changes(
  { after, signal, onPosition, onOpen, onDrop, ...filters }: StreamOptions,
  send: Send,
  request: (headers: Record<string, string>, query: object) => Request,
): AsyncGenerator<RecordEvent> {
  // Event ids are ASCII. A header refuses some other characters, such as a text processor's quotation marks.
  if (after !== undefined && !/^[\x20-\x7e]*$/.test(after))
    throw invalidInput(`after: expected the id of an event, got '${cut(after, 80)}'`)
  let position = after
  for (let drops = 0; !signal?.aborted;) {
    const connection = new AbortController()
    const stop = () => connection.abort(signal!.reason)
    signal?.addEventListener('abort', stop, { once: true })
    let isCalling = false
    /** Calls a callback of the user, whose error ends the stream: a new connection cannot fix it. */
    const call = (callback: () => void) => {
      isCalling = true
      callback()
      isCalling = false
    }
    let silence: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(
        () => connection.abort(new ConnectionError(`Nothing was received for ${SILENCE_MS / 1000} s.`)),
        SILENCE_MS,
      )
    }
    try {
      heard()
      const { body, headers } = await send(
        request({ accept: 'text/event-stream', ...(position && { 'last-event-id': position }) }, filters),
        { signal: connection.signal, timed: false },
      )
      if (!headers.get('content-type')?.startsWith('text/event-stream'))
        throw new ServiceVersionError('The service has no stream of records: it may be an older version.')
      call(() => onOpen?.())
      const messagesIn = splitter()
      const decoder = new TextDecoder()
      const reader = body!.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        heard()
        drops = 0
        for (const message of messagesIn(decoder.decode(value, { stream: true }))) {
          const event = eventOf(message)
          if (event) yield event
          // The position advances only after the event was handled: a loop that exits earlier receives the
          // event again.
          if (message.id) position = message.id
          if (message.id) call(() => onPosition?.(message.id!))
        }
      }
      if (!signal?.aborted) call(() => onDrop?.(new ConnectionError('The service ended the stream.')))
    } catch (error) {
      if (signal?.aborted) return
      if (isCalling) throw error
      // A retry cannot fix an invalid request.
      if (error instanceof ServiceVersionError || clientFault(error)) throw error
      onDrop?.(error)
    } finally {
      clearTimeout(silence)
      signal?.removeEventListener('abort', stop)
      connection.abort()
    }
    const wait = Math.min(RECONNECT_MOST_MS, RECONNECT_MS * 2 ** drops++)
    await pause(wait * (0.5 + Math.random() / 2), signal).catch(() => {})
  }
}

function clientFault(error: unknown): boolean {
  const { status } = error as { status?: number }
  return status !== undefined && status >= 400 && status < 500 && status !== 429
}

/** Fields of one message of a stream. A message without data has the stream's position as its id. */
type Message = Partial<Record<string, string>>

/** Creates the function that splits the text of a stream, which may be cut anywhere, into messages. */
function splitter(): (text: string) => Message[] {
  let rest = ''
  let message: Message = {}
  return (text) => {
    // A carriage return at the end may be the first half of a line break.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    return lines.flatMap((line) => {
      const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(line)!
      const ended = message
      if (line === '') message = {}
      else message[name!] = name === 'data' && message.data ? `${message.data}\n${value}` : value
      return line === '' ? [ended] : []
    })
  }
}

function eventOf({ event, data, id = '' }: Message): RecordEvent | undefined {
  const body = data ? (JSON.parse(data) as LocationRecord & { reason: string }) : undefined
  if (event === 'reset') return { id, kind: event, reason: body!.reason }
  if (event === undefined || !Object.hasOwn(KINDS, event)) return undefined
  const kind = event as EventName
  return KINDS[kind] && !('revoked' in body!)
    ? { id, kind: kind as PerhapsGone, gone: body! }
    : { id, kind, record: body! }
}
