import type { RecordEvent, StreamOptions } from '@geospatial-attestation/client'
import { signal } from '@preact/signals'
import { geoOnce } from '../service'

/** State of the live connection. */
export const live = signal<'connecting' | 'live' | 'reconnecting' | 'refused'>('connecting')

/** Milliseconds that tiles may be older than the stream: events wait for them. */
const TILES_LATE_MS = 300
/** Milliseconds between updates of the page during many changes. */
const PACE_MS = 2_000

/**
 * Follows the changes of records. They arrive in batches, and wait while the page is not visible.
 * @param onReset called if changes may have been missed
 * @returns a function that ends it
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
        // Data that failed in the meantime is available again.
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
