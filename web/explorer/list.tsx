import type { ListPage, LocationRecord } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { lacksGeometry } from '../../src/location/event-time'
import { chainColour, chainName, kindOf } from '../chains'
import { useLoaded, type Loaded } from '../loading'
import type { Box } from '../map/area'
import { addressOf, geoOnce } from '../service'
import { FailureNotice } from './notice'
import { area, boxText, clearFilters, colouring, filterQuery, hidden, select, selected } from './state'
import { countText, timeText, titleText } from './words'

/** Number of records on a page of the list. */
const PAGE = 50
/** Formats of files with the shown records. */
const EXPORTS = [
  { format: 'geojson', name: 'GeoJSON' },
  { format: 'csv', name: 'CSV' },
  { format: 'ndjson', name: 'NDJSON' },
  { format: 'geoparquet', name: 'GeoParquet' },
  { format: 'flatgeobuf', name: 'FlatGeobuf' },
]

/** Query of the shown records: the filters, within the drawn area or, without one, within the view. */
export function seenQuery(view: Box | undefined): string {
  const query = new URLSearchParams(filterQuery.value)
  if (view && !area.value && !query.has('near') && !query.has('intersects')) query.set('bbox', boxText(view))
  return query.toString()
}

/** Records of a query, newest first, in the number of requested pages. */
export function useList(query: string | undefined, version: number) {
  const [pages, setPages] = useState({ query, count: 1 })
  const count = pages.query === query ? pages.count : 1
  const loaded = useLoaded(query === undefined ? undefined : `${query} ${count} ${version}`, (signal) =>
    loadPages(query!, count, signal),
  )
  return { ...loaded, more: () => setPages({ query, count: count + 1 }) }
}

async function loadPages(query: string, count: number, signal: AbortSignal): Promise<ListPage> {
  const filters = Object.fromEntries(new URLSearchParams(query))
  const first = await geoOnce.records.page({ ...filters, limit: PAGE, total: true, signal })
  let last = first
  const data = [...first.data]
  for (let page = 1; page < count && last.next_cursor; page++) {
    last = await geoOnce.records.page({ ...filters, limit: PAGE, cursor: last.next_cursor, signal })
    data.push(...last.data)
  }
  return { ...last, data, total: first.total, total_exact: first.total_exact }
}

/** Records in view, so that every record is reachable without the map. */
export function RecordList({
  list: { data, isLoading, failure, retry, more },
  query,
}: {
  list: Loaded<ListPage> & { more: () => void }
  query: string
}) {
  const isHidden = (record: LocationRecord) =>
    hidden.value.includes(colouring.value === 'chain' ? record.chain : kindOf(record.location_type).name)
  const shown = data?.data.filter((record) => !isHidden(record)) ?? []
  const left = (data?.data.length ?? 0) - shown.length
  return (
    <section class="list" aria-label="Places in view" aria-busy={isLoading}>
      <h2>
        <span role="status">{data ? titleOf(data) : isLoading ? 'Loading places ...' : 'No response'}</span>
      </h2>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      {data?.data.length === 0 && <Nothing />}
      {left > 0 && <p class="soft">{countText(left, 'place')} hidden by the legend.</p>}
      <ol class="places">
        {shown.map((record) => (
          <Item key={`${record.chain}-${record.uid}`} record={record} />
        ))}
      </ol>
      {data?.next_cursor && (
        <button type="button" disabled={isLoading} onClick={more}>
          Show more
        </button>
      )}
      <p class="exports">
        Download these results:{' '}
        {EXPORTS.map(({ format, name }) => (
          <a
            key={format}
            href={addressOf(`api/v0/location-records?${new URLSearchParams({ ...parsed(query), format })}`)}
            download
          >
            {name}
          </a>
        ))}
        <a href={addressOf(`api/v0/location-records${query && `?${query}`}`)}>API</a>
      </p>
    </section>
  )
}

const parsed = (query: string) => Object.fromEntries(new URLSearchParams(query))

function titleOf({ total = 0, total_exact: isExact }: ListPage): string {
  const where = area.value ? 'in the box' : 'in view'
  return `${isExact === false ? 'More than ' : ''}${countText(total, 'place')} ${where}`
}

function Nothing() {
  return filterQuery.value ? (
    <p class="notice">
      No places match these filters in this view. Move the map, or{' '}
      <button type="button" onClick={clearFilters}>
        clear the filters
      </button>
    </p>
  ) : (
    <p class="notice">
      No places are attested here yet. Zoom out to find places, or{' '}
      <a href={addressOf('attest')}>attest one</a>.
    </p>
  )
}

function Item({ record }: { record: LocationRecord }) {
  const { chain, uid, timestamp, revoked, problem, location_type: type } = record
  const colour = colouring.value === 'chain' ? chainColour(chain) : kindOf(type).colour
  const isSelected = selected.value?.uid === uid && selected.value.chain === chain
  return (
    <li>
      <button
        type="button"
        class={`place ${revoked ? 'faded' : ''}`}
        aria-current={isSelected ? 'true' : undefined}
        data-record={`${chain}-${uid}`}
        onClick={() => select(record)}
      >
        <Dot colour={colour} />
        <span class="place-name">
          <bdi>{titleText(record)}</bdi>
        </span>
        <span class="soft">
          {chainName(chain)} · {timeText(timestamp)}
          {revoked && <b class="tag"> Revoked</b>}
          {lacksGeometry(problem) && <b class="tag"> Not on the map</b>}
        </span>
      </button>
    </li>
  )
}

/** A dot of this colour. The policy of these pages allows no inline styles, and an SVG needs none. */
export function Dot({ colour }: { colour: string }) {
  return (
    <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={colour} />
    </svg>
  )
}
