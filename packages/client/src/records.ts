import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ConnectionError, InvalidInputError, ServiceVersionError } from './errors'
import { requireJson, type Send } from './http'
import type { ListPage, LocationRecord, RecordFilters, Statistics } from './types'
import { pause } from './waiting'

/**
 * Formats of an export; each is streamed to its end. GeoParquet and FlatGeobuf are in space order: they begin
 * when the service has read all records.
 */
export type ExportFormat = 'geojson' | 'csv' | 'ndjson' | 'geoparquet' | 'flatgeobuf'

export interface ListOptions extends RecordFilters {
  /** stops after so many records; all by default */
  limit?: number
  signal?: AbortSignal
}
export interface PageOptions extends RecordFilters {
  /** records on the page, at most 1000; 100 by default */
  limit?: number
  /** `next_cursor` of the page before */
  cursor?: string
  /** Whether to count all that match. */
  total?: boolean
  signal?: AbortSignal
}
export interface StreamOptions extends Pick<
  RecordFilters,
  'chain' | 'prover' | 'subject' | 'schema' | 'location_type' | 'bbox'
> {
  /** final: only what no reorg takes back, once that is certain; default: latest, everything at once */
  finality?: 'latest' | 'final'
  /** the id of the last event that was handled: every later change follows */
  after?: string
  signal?: AbortSignal
  /**
   * Called with the position of the stream as it advances, also while no event comes: store it, to resume.
   */
  onPosition?: (id: string) => void
  /** Called when the connection is open, and again after each drop. */
  onOpen?: () => void
  /** Called when the connection is lost, before it is tried again. */
  onDrop?: (error: unknown) => void
}
/** A change of a record (docs/reference/streams.md). */
export type RecordEvent = { id: string } & (
  | { kind: 'new' | 'revoked'; record: LocationRecord }
  /**
   * the chain took back the record (then it is `gone`) or its revocation; corrected, of final changes: a node
   * had made it up
   */
  | { kind: 'reorged' | 'corrected'; record: LocationRecord }
  | { kind: 'reorged' | 'corrected'; gone: { uid: string; chain: string } }
  /** the position is lost: load the list again */
  | { kind: 'reset'; reason: string }
)

/** Attested places: lists, single ones, statistics, exports and live changes. */
export interface Records {
  /**
   * All records that match, newest first unless `sort` says otherwise; pages are loaded as they are needed.
   */
  list(options?: ListOptions): AsyncIterable<LocationRecord>
  /** One page, with `next_cursor` where more follow. */
  page(options?: PageOptions): Promise<ListPage>
  /** One record. Throws an AttestationNotFoundError. */
  get(uid: string, options?: { chain?: string; signal?: AbortSignal }): Promise<LocationRecord>
  stats(options?: { signal?: AbortSignal }): Promise<Statistics>
  /** The bytes of an export, as they come; an answer that breaks off is an error of the stream. */
  export(
    options: RecordFilters & { format: ExportFormat; limit?: number; signal?: AbortSignal },
  ): Promise<ReadableStream<Uint8Array>>
  /**
   * Changes as they come, each once and in order within a chain, over drops of the connection and restarts of
   * the service. It ends when the signal aborts or the loop is left.
   */
  stream(options?: StreamOptions): AsyncIterable<RecordEvent>
}

const PATH = '/api/v0/location-records'
/** The most that one page holds. */
const PAGE = 1000
/** The service sends a comment every 15 seconds: after so long without one the connection is dead. */
const SILENCE_MS = 40_000
/** How long a dropped stream waits before it connects again, milliseconds. */
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
/** A list of the service that comes in pages, and its single rows. */
interface Lists<Page extends Paged, Asked extends Options> {
  request: (path: string, query?: object, headers?: Record<string, string>) => Request
  json: <T>(path: string, query: object, signal?: AbortSignal) => Promise<T>
  page: (options?: Asked) => Promise<Page>
  list: (options?: Omit<Asked, 'cursor'>) => AsyncGenerator<Page['data'][number]>
  get: (uid: string, options?: { chain?: string; signal?: AbortSignal }) => Promise<Page['data'][number]>
}

/** The list at this path of the service. */
export function listOf<Page extends Paged, Asked extends Options>(
  base: string,
  at: string,
  send: Send,
): Lists<Page, Asked> {
  const request: Lists<Page, Asked>['request'] = (path, query = {}, headers) => {
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    return new Request(url, { headers: { accept: 'application/json', ...headers } })
  }
  const json = async <T>(path: string, query: object, signal?: AbortSignal) =>
    (await requireJson(await send(request(path, query), { signal }), base).json()) as T
  const page: Lists<Page, Asked>['page'] = (options) => {
    const { signal, ...query } = options ?? {}
    return json(at, query, signal)
  }
  return {
    request,
    json,
    page,
    list: async function* (options) {
      let cursor: string | undefined
      for (let left = options?.limit ?? Infinity; left > 0;) {
        const { data, next_cursor } = await page({
          ...(options as Asked),
          limit: Math.min(left, PAGE),
          cursor,
        })
        yield* data
        left -= data.length
        cursor = next_cursor ?? undefined
        if (cursor === undefined) return
      }
    },
    get: async (uid, { chain, signal } = {}) => {
      // As part of an address `.` and `..` would be other pages.
      if (!/^0x[0-9a-f]{64}$/i.test(uid))
        throw new InvalidInputError({
          ...{ status: 400, title: 'Invalid UID format' },
          detail: 'UID must be a 66-character hex string starting with 0x',
        })
      return json(`${at}/${uid}`, { chain }, signal)
    },
  }
}

export function recordsOf(base: string, send: Send): Records {
  const { request, json, page, list, get } = listOf<ListPage, PageOptions>(base, PATH, send)
  return {
    page,
    list,
    get,
    stats: ({ signal } = {}) => json(`${PATH}/stats`, {}, signal),
    export: async ({ signal, ...query }) => {
      // A million records are an answer without an end that could be told beforehand.
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
  let position = after
  for (let drops = 0; !signal?.aborted;) {
    const connection = new AbortController()
    const stop = () => connection.abort(signal!.reason)
    signal?.addEventListener('abort', stop, { once: true })
    let silence: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(
        () => connection.abort(new ConnectionError(`Nothing was heard for ${SILENCE_MS / 1000} s.`)),
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
      onOpen?.()
      const messages: EventSourceMessage[] = []
      const parser = createParser({ onEvent: (message) => messages.push(message) })
      const decoder = new TextDecoder()
      const reader = body!.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        heard()
        drops = 0
        const text = decoder.decode(value, { stream: true })
        parser.feed(text)
        for (const message of messages.splice(0)) {
          const event = eventOf(message)
          if (event) yield event
          // After the event was handled: who leaves the loop before receives it again.
          if (message.id) position = message.id
          if (message.id) onPosition?.(message.id)
        }
      }
      if (!signal?.aborted) onDrop?.(new ConnectionError('The service ended the stream.'))
    } catch (error) {
      if (signal?.aborted) return
      // A request that is wrong stays wrong.
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

function eventOf({ event, data, id = '' }: EventSourceMessage): RecordEvent | undefined {
  const body = data ? (JSON.parse(data) as LocationRecord & { reason: string }) : undefined
  switch (event) {
    case 'new':
    case 'revoked':
      return { id, kind: event, record: body! }
    case 'reorged':
    case 'corrected':
      return 'revoked' in body! ? { id, kind: event, record: body } : { id, kind: event, gone: body! }
    case 'reset':
      return { id, kind: event, reason: body!.reason }
    default:
      return undefined
  }
}
