import { signal } from '@preact/signals'
import { select } from '../explorer/state'
import { titleText } from '../explorer/words'
import { goTo, hrefOf, shownPage } from '../location'
import type { Change } from '../map/live'
import type { RecordKey } from '../map/record-layers'
import { reasonOf, say } from '../messages'
import { geo } from '../service'

/** Filters that streams, webhooks and `geo watch` support. */
export const WATCHED = ['chain', 'prover', 'subject', 'schema', 'location_type', 'bbox'] as const
export type WatchFilters = Partial<Record<(typeof WATCHED)[number], string>>

export interface Noticed {
  id: string
  kind: Change['kind']
  title: string
  record: RecordKey
}
/** Watch that runs in this page, while the page is open. */
export interface Watching {
  filters: WatchFilters
  text: string
  state: 'live' | 'lost' | { refused: string }
  /** true if the service could not resume the stream, so that changes may be missing */
  hasGap: boolean
}
export const watching = signal<Watching | undefined>(undefined)
/** Reported changes of the last watch, the newest first. */
export const noticed = signal<readonly Noticed[]>([])
/** Maximum number of changes that are shown. */
const MOST = 20
let leaving: AbortController | undefined

/** Starts a watch, and ends the one that is running. */
export function watch(filters: WatchFilters, text: string): void {
  stopWatching()
  leaving = new AbortController()
  const { signal: left } = leaving
  watching.value = { filters, text, state: 'lost', hasGap: false }
  noticed.value = []
  const change = (changes: Partial<Watching>) => {
    if (!left.aborted) watching.value = { ...watching.peek()!, ...changes }
  }
  const follow = async () => {
    const stream = geo.records.stream({
      ...filters,
      signal: left,
      onOpen: () => change({ state: 'live' }),
      onDrop: () => change({ state: 'lost' }),
    })
    for await (const event of stream)
      if (event.kind === 'reset') change({ hasGap: true })
      else notice(event)
  }
  follow().catch((error: Error) => change({ state: { refused: reasonOf(error) } }))
}

export function stopWatching(): void {
  leaving?.abort()
  watching.value = undefined
}

function notice(event: Change): void {
  const record = 'record' in event ? event.record : event.gone
  const title = 'record' in event ? titleText(event.record) : record.uid
  noticed.value = [{ id: event.id, kind: event.kind, title, record }, ...noticed.value].slice(0, MOST)
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return
  try {
    // A notification replaces the one of the same tag silently, as that of another page that watches.
    const about = { body: title, tag: event.id }
    new Notification(say.watch.kinds[event.kind], about).onclick = () => open(record)
  } catch {
    // Chromium on Android has no notifications of pages. The change is in the panel.
  }
}

function open(record: RecordKey): void {
  window.focus()
  select(record)
  if (shownPage.peek() !== 'explorer') goTo(hrefOf('explorer'))
}

const shellWord = (text: string) => (/^[\w.,:/+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Commands that watch the same filters: of the command-line tool, a stream and a webhook. */
export function linesOf(filters: WatchFilters, base: string) {
  const set = Object.entries(filters).filter(([, value]) => value)
  const options = set.map(([name, value]) => ` --${name.replaceAll('_', '-')} ${shellWord(value)}`).join('')
  const query = new URLSearchParams(set).toString()
  const body = JSON.stringify({ url: 'https://example.org/hook', filter: Object.fromEntries(set) })
  return {
    cli: `geo watch${options} --url ${shellWord(base)}`,
    stream: `curl -N ${shellWord(`${base}/api/v0/location-records/stream${query && `?${query}`}`)}`,
    webhook: `curl ${shellWord(`${base}/admin/v0/webhooks`)} -H "authorization: Bearer $ADMIN_KEY" -H 'content-type: application/json' -d ${shellWord(body)}`,
  }
}
