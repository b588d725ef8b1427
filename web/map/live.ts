import type { RecordEvent, StreamOptions } from '@geospatial-attestation/client'
import { signal } from '@preact/signals'
import { geoOnce } from '../service'

/** State of the live connection. */
export const live = signal<'connecting' | 'live' | 'reconnecting' | 'refused'>('connecting')

/** Maximum milliseconds by which tiles may lag behind the stream. Events are delayed by this time. */
const TILES_LATE_MS = 300
/** Minimum milliseconds between two updates of the page. */
const PACE_MS = 2_000

/**
 * Follows the changes of records. They are delivered in batches, and only while the page is visible.
 * @param onReset called if changes may have been missed
 * @returns a function that stops following
 */
export function followChanges(
  filters: Pick<StreamOptions, 'chain' | 'prover' | 'subject' | 'schema' | 'location_type'>,
  onChanges: (events: readonly RecordEvent[]) => void,
  onReset: () => void,
): () => void {
  const leaving = new AbortController()
  const { signal: left } = leaving
  let waiting: RecordEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let last = -Infinity
  const hand = () => {
    timer = undefined
    if (document.hidden || waiting.length === 0) return
    last = performance.now()
    const events = waiting
    waiting = []
    if (events.some(({ kind }) => kind === 'reset')) onReset()
    else onChanges(events)
  }
  const plan = () => {
    timer ??= setTimeout(hand, Math.max(TILES_LATE_MS, last + PACE_MS - performance.now()))
  }
  document.addEventListener('visibilitychange', plan, { signal: left })
  const follow = async () => {
    live.value = 'connecting'
    let drops = 0
    for await (const event of geoOnce.records.stream({
      ...filters,
      signal: left,
      onOpen: () => {
        live.value = 'live'
        // The server responds again, so data that failed to load can now be loaded.
        if (drops > 0) onReset()
        drops = 0
      },
      onDrop: () => {
        drops++
        live.value = 'reconnecting'
      },
    })) {
      waiting.push(event)
      plan()
    }
  }
  follow().catch(() => {
    if (!left.aborted) live.value = 'refused'
  })
  return () => {
    leaving.abort()
    clearTimeout(timer)
  }
}
