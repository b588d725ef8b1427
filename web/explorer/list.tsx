import type { ListPage, LocationRecord } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { lacksGeometry } from '../../src/location/event-time'
import { chainName } from '../chains'
import { useLoaded, type Loaded } from '../loading'
import { hasArea } from '../location'
import type { Box } from '../map/extent'
import { keyText } from '../map/record-layers'
import { say } from '../messages'
import { addressOf, geoOnce } from '../service'
import { placeKey } from '../sheet/twins'
import { clearFilters } from './filters'
import { FailureNotice } from './notice'
import { boxText, entryOf, filterQuery, hidden, select, selected } from './state'
import { timeText, titleText } from './words'

const PAGE = 50
const EXPORTS = ['geojson', 'csv', 'ndjson', 'geoparquet', 'flatgeobuf'] as const

/** Query of the shown records: the filters, within the area filter or, without one, within the view. */
export function seenQuery(view: Box | undefined): string {
  const query = new URLSearchParams(filterQuery.value)
  if (view && !hasArea(query)) query.set('bbox', boxText(view))
  return query.toString()
}

/** Records of a query, newest first, on as many pages as the user has requested. */
export function useList(query: string | undefined, version: number) {
  const [pages, setPages] = useState({ query, count: 1 })
  const count = pages.query === query ? pages.count : 1
  const loaded = useLoaded(query, (signal) => loadFirst(PAGE * count, query!, signal), `${count} ${version}`)
  return { ...loaded, more: () => setPages({ query, count: count + 1 }) }
}

/**
 * Loads this many records. The service shortens pages of many or large records (to 1,000 and some 4 MB): only
 * then this takes several requests.
 */
async function loadFirst(most: number, query: string, signal: AbortSignal): Promise<ListPage> {
  const filters = Object.fromEntries(new URLSearchParams(query))
  const first = await geoOnce.records.page({ ...filters, limit: most, total: true, signal })
  let last = first
  const data = [...first.data]
  while (data.length < most && last.next_cursor) {
    const limit = most - data.length
    last = await geoOnce.records.page({ ...filters, limit, cursor: last.next_cursor, signal })
    data.push(...last.data)
  }
  return { ...last, data, total: first.total, total_exact: first.total_exact }
}

/** List of the records in view, so that every record is reachable without the map. */
export function RecordList({
  list: { data, isLoading, failure, retry, more },
  query,
}: {
  list: Loaded<ListPage> & { more: () => void }
  query: string
}) {
  const shown = data?.data.filter((record) => !hidden.value.includes(entryOf(record).name)) ?? []
  const left = (data?.data.length ?? 0) - shown.length
  return (
    <section class="list" aria-label={say.list.name} aria-busy={isLoading}>
      <h2>
        <span role="status">
          {data
            ? say.list.title(data.total ?? 0, data.total_exact !== false, isLimited())
            : isLoading
              ? say.list.loading
              : failure && failure.retryIn === undefined
                ? say.list.refused
                : say.list.noResponse}
        </span>
      </h2>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      {data?.data.length === 0 && <Nothing />}
      {left > 0 && <p class="soft">{say.list.hidden(left)}</p>}
      <ol class="places">
        {grouped(shown).map((records) => (
          <Item key={keyText(records[0])} records={records} />
        ))}
      </ol>
      {data?.next_cursor && (
        <button type="button" aria-disabled={isLoading} onClick={() => isLoading || more()}>
          {say.list.more}
        </button>
      )}
      <p class="exports">
        {say.list.download}{' '}
        {EXPORTS.map((format) => (
          <a
            key={format}
            href={addressOf(`api/v0/location-records?${query && `${query}&`}format=${format}`)}
            download
          >
            {say.list.formats[format]}
          </a>
        ))}
        <a href={addressOf(`api/v0/location-records${query && `?${query}`}`)}>{say.list.api}</a>
      </p>
    </section>
  )
}

/** True if a filter limits the area, instead of the view. */
const isLimited = () => hasArea(new URLSearchParams(filterQuery.value))

function Nothing() {
  return filterQuery.value ? (
    <p class="notice">
      {say.list.noMatch(isLimited())}{' '}
      <button type="button" onClick={clearFilters}>
        {say.list.clear}
      </button>
    </p>
  ) : (
    <p class="notice">
      {say.list.nothing} <a href={addressOf('attest')}>{say.list.attest}</a>.
    </p>
  )
}

/** Entries of the list: records of the same place by the same attester on several chains are one entry. */
function grouped(records: readonly LocationRecord[]): (readonly [LocationRecord, ...LocationRecord[]])[] {
  const entries = new Map<string, [LocationRecord, ...LocationRecord[]]>()
  for (const record of records) {
    const key = `${record.revoked} ${placeKey(record)}`
    const entry = entries.get(key)
    if (!entry) entries.set(key, [record])
    // Several attestations on one chain count as several places.
    else if (entry.some(({ chain }) => chain === record.chain))
      entries.set(`${record.chain} ${record.uid}`, [record])
    else entry.push(record)
  }
  return [...entries.values()]
}

/** One entry of the list. It opens the newest of its records. */
function Item({ records }: { records: readonly [LocationRecord, ...LocationRecord[]] }) {
  const [record] = records
  const { timestamp, revoked, problem } = record
  const selectedKey = selected.value && keyText(selected.value)
  const isSelected = records.some((each) => keyText(each) === selectedKey)
  return (
    <li>
      <button
        type="button"
        class={`place ${revoked ? 'faded' : ''}`}
        aria-current={isSelected ? 'true' : undefined}
        data-record={keyText(record)}
        onClick={() => select(record)}
      >
        <Dot colour={entryOf(record).colour} />
        <span class="place-name" dir="auto">
          {titleText(record)}
        </span>
        <span class="soft">
          {records.map((each) => chainName(each.chain)).join(', ')} · {timeText(timestamp)}
          {revoked && <b class="tag"> {say.list.revoked}</b>}
          {lacksGeometry(problem) && <b class="tag"> {say.list.notOnMap}</b>}
        </span>
      </button>
    </li>
  )
}

/** Coloured dot, as an SVG because the content security policy of these pages forbids inline styles. */
export function Dot({ colour }: { colour: string }) {
  return (
    <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={colour} />
    </svg>
  )
}
