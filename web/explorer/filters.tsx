import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { chainName, SLUGS } from '../chains'
import { useLoaded } from '../loading'
import { geoOnce } from '../service'
import { clearFilters, FILTERS, filterQuery, filterValue, setFilters, type FilterName } from './state'
import { dayText } from './words'

/** Suggested location types; any other can be typed. */
const TYPES = [
  ...['geojson', 'geojson-point', 'geojson-linestring', 'geojson-polygon'],
  ...['coordinate-decimal+lon-lat', 'coordinate-decimal+lat-lon', 'scaledCoordinates'],
  ...['wkt', 'h3', 'geohash', 'address'],
]
const DAY_MS = 86_400_000
const ADDRESS = /^0x[0-9a-f]{40}$/i
/** Filters that only an address (a link) can have set: they are shown, and can be removed. */
const LINKED: readonly FilterName[] = ['subject', 'schema', 'near', 'radius', 'intersects']

/** Filters: chain, attester, type, memo, state, time, area. */
export function Filters({
  isDrawing,
  onDraw,
  onView,
}: {
  isDrawing: boolean
  /** undefined if there is no map to draw on */
  onDraw: (() => void) | undefined
  onView: (() => void) | undefined
}) {
  const linked = LINKED.filter(filterValue)
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <Choice
        name="chain"
        label="Chain"
        any="All chains"
        options={SLUGS.map((slug) => [slug, chainName(slug)])}
      />
      <Choice
        name="revoked"
        label="Status"
        any="Active and revoked"
        options={[
          ['false', 'Active'],
          ['true', 'Revoked'],
        ]}
      />
      <Text name="memo" label="Memo contains" placeholder="tower" />
      <Text name="location_type" label="Location format" placeholder="geojson-point" options={TYPES} />
      <Text
        name="prover"
        label="Attester"
        placeholder="0x..."
        refuse={(text) => (ADDRESS.test(text) ? undefined : 'Enter a full address: 0x and 40 hex digits.')}
      />
      <TimeRange />
      <fieldset class="area">
        <legend>Box</legend>
        {filterValue('bbox') ? (
          <button type="button" onClick={() => setFilters({ bbox: undefined })}>
            Clear box
          </button>
        ) : (
          <>
            <button type="button" disabled={!onDraw} aria-pressed={isDrawing} onClick={onDraw}>
              {isDrawing ? 'Drag a box on the map' : 'Draw a box'}
            </button>
            <button type="button" disabled={!onView} onClick={onView}>
              Use this view
            </button>
          </>
        )}
      </fieldset>
      {linked.map((name) => (
        <p key={name} class="linked">
          {name}: <bdi>{filterValue(name)!.slice(0, 80)}</bdi>{' '}
          <button type="button" onClick={() => setFilters({ [name]: undefined })}>
            Remove
          </button>
        </p>
      ))}
      <button type="button" class="clear" disabled={!filterQuery.value} onClick={clearFilters}>
        Clear all filters
      </button>
    </form>
  )
}

/** Number of filters that are set. */
export const filterCount = (): number => FILTERS.filter(filterValue).length

function Choice({
  name,
  label,
  any,
  options,
}: {
  name: FilterName
  label: string
  any: string
  options: readonly (readonly [string, string])[]
}) {
  return (
    <label>
      {label}
      <select
        value={filterValue(name) ?? ''}
        onChange={({ currentTarget }) => setFilters({ [name]: currentTarget.value })}
      >
        <option value="">{any}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A text that filters when it is complete: on Enter, or when the field loses focus. */
function Text({
  name,
  label,
  placeholder,
  options,
  refuse,
}: {
  name: FilterName
  label: string
  placeholder: string
  options?: readonly string[]
  /** returns the problem of a text */
  refuse?: (text: string) => string | undefined
}) {
  const id = useId()
  const [wrong, setWrong] = useState<string>()
  const value = filterValue(name) ?? ''
  const [draft, setDraft] = useState(value)
  useEffect(() => {
    setDraft(value)
    setWrong(undefined)
  }, [value])
  const enter = (typed: string) => {
    const text = typed.trim()
    const refusal = text === '' ? undefined : refuse?.(text)
    setWrong(refusal)
    if (refusal === undefined) setFilters({ [name]: text })
  }
  return (
    <label>
      {label}
      <input
        value={draft}
        placeholder={placeholder}
        list={options && `${id}-options`}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong && `${id}-wrong`}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        onBlur={({ currentTarget }) => enter(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && enter(currentTarget.value)}
      />
      {options && (
        <datalist id={`${id}-options`}>
          {options.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {wrong && (
        <span id={`${id}-wrong`} class="wrong" role="alert">
          {wrong}
        </span>
      )}
    </label>
  )
}

/** Two sliders over the days since the first record. The API's bounds are exclusive. */
function TimeRange() {
  const first = useLoaded('first', async (signal) => {
    const { data } = await geoOnce.records.page({ sort: 'timestamp', limit: 1, signal })
    return data[0] ? Date.parse(data[0].timestamp) : Date.now()
  })
  const start = Math.floor((first.data ?? Date.now()) / DAY_MS)
  const end = Math.max(Math.floor(Date.now() / DAY_MS), start) + 1
  const dayOf = (name: FilterName, otherwise: number) => {
    const time = Date.parse(filterValue(name) ?? '')
    return Number.isNaN(time) ? otherwise : Math.min(end, Math.max(start, Math.ceil(time / DAY_MS)))
  }
  const kept = { from: dayOf('fromTimestamp', start), to: dayOf('toTimestamp', end) }
  // A key may be released before its change is rendered.
  const moved = useRef<{ from: number; to: number }>(undefined)
  const [, setMoved] = useState(moved.current)
  const { from, to } = moved.current ?? kept
  const move = (range: { from: number; to: number } | undefined) => {
    moved.current = range
    setMoved(range)
  }
  const keep = () => {
    const range = moved.current
    if (!range) return
    move(undefined)
    setFilters({
      fromTimestamp: range.from > start ? new Date(range.from * DAY_MS - 1).toISOString() : undefined,
      toTimestamp: range.to < end ? new Date(range.to * DAY_MS).toISOString() : undefined,
    })
  }
  const slider = (label: string, value: number, range: (day: number) => { from: number; to: number }) => (
    <label>
      {label}
      <input
        type="range"
        min={start}
        max={end}
        value={value}
        aria-valuetext={dayText(value * DAY_MS)}
        onInput={({ currentTarget }) => move(range(Number(currentTarget.value)))}
        onPointerUp={keep}
        onKeyUp={keep}
        onBlur={keep}
      />
    </label>
  )
  return (
    <fieldset class="times" disabled={first.data === undefined}>
      <legend>
        Attested between {dayText(from * DAY_MS)} and {dayText((to - 1) * DAY_MS)}
      </legend>
      {slider('From', from, (day) => ({ from: Math.min(day, to - 1), to }))}
      {slider('To', to, (day) => ({ from, to: Math.max(day, from + 1) }))}
    </fieldset>
  )
}
