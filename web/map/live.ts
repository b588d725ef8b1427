import type { RecordEvent, StreamOptions } from '@geospatial-attestation/client'
import { signal } from '@preact/signals'
import { geoOnce } from '../service'

/** State of the live connection. */
export const live = signal<'connecting' | 'live' | 'reconnecting' | 'refused'>('connecting')

/** Maximum milliseconds by which tiles may lag behind the stream. Events are delayed by this time. */
const TILES_LATE_MS = 300
/**
 * Minimum milliseconds between two updates of the page. Each one requests the list and the changed tiles in
 * view, so that permanent changes use about half of RECORDS_RATE_LIMIT_PER_HOUR.
 */
const PACE_MS = 5_000
/** Maximum number of changes in a batch. If there are more, everything is reloaded, which is faster. */
const MOST = 300

/** A change of one record. */
export type Change = Exclude<RecordEvent, { kind: 'reset' }>

/**
 * Follows the changes of records. They are delivered in batches, and only while the page is visible: a hidden
 * page closes this connection, because over HTTP/1.1 a browser opens at most six to a service, for all its
 * tabs. A watch (watch/watching.ts) has its own connection, also while the page is hidden.
 * @param onReset called if changes may have been missed, or instead of a large batch
 * @returns a function that stops following
 */
export function followChanges(
  filters: Pick<StreamOptions, 'chain' | 'prover' | 'subject' | 'schema' | 'location_type'>,
  onChanges: (changes: readonly Change[]) => void,
  onReset: () => void,
): () => void {
  const leaving = new AbortController()
  const { signal: left } = leaving
  let connection: AbortController | undefined
  /** position in the stream, at which the next connection resumes */
  let after: string | undefined
  /** true if changes before the next connection are unknown, or data may have failed to load */
  let hasGap = document.hidden
  let waiting: Change[] | 'reset' = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let last = -Infinity
  const hand = () => {
    timer = undefined
    if (document.hidden || (waiting !== 'reset' && waiting.length === 0)) return
    last = performance.now()
    const changes = waiting
    waiting = []
    if (changes === 'reset') onReset()
    else onChanges(changes)
  }
  const plan = () => {
    timer ??= setTimeout(hand, Math.max(TILES_LATE_MS, last + PACE_MS - performance.now()))
  }
  const follow = async () => {
    const { signal: hidden } = (connection = new AbortController())
    for await (const event of geoOnce.records.stream({
      ...filters,
      ...(after !== undefined && { after }),
      signal: hidden,
      onPosition: (id) => (after = id),
      onOpen: () => {
        live.value = 'live'
        // The server responds again, so data that failed to load can now be loaded.
        if (hasGap) onReset()
        hasGap = false
      },
      onDrop: () => {
        hasGap = true
        live.value = 'reconnecting'
      },
    })) {
      if (waiting === 'reset' || event.kind === 'reset' || waiting.length === MOST) waiting = 'reset'
      else waiting.push(event)
      plan()
    }
  }
  const turn = () => {
    connection?.abort()
    if (document.hidden) {
      hasGap ||= after === undefined
      return
    }
    plan()
    follow().catch(() => {
      if (!left.aborted) live.value = 'refused'
    })
  }
  live.value = 'connecting'
  document.addEventListener('visibilitychange', turn, { signal: left })
  turn()
  return () => {
    leaving.abort()
    connection?.abort()
    clearTimeout(timer)
  }
}
