import { useId, useLayoutEffect, useState } from 'preact/hooks'
import { chainName, SLUGS } from '../chains'
import { FILTERS, type FilterName } from '../location'
import type { Box } from '../map/extent'
import { say } from '../messages'
import { Options } from '../options'
import { valueText } from './chips'
import { activeFilters, boxText, filterQuery, filterValue, setFilters } from './state'

/** Removes all filters. The focus moves to their heading, because this removes or disables the button. */
export function clearFilters(): void {
  setFilters(Object.fromEntries(FILTERS.map((name) => [name, undefined])))
  document.querySelector<HTMLElement>('.filter-box > summary')?.focus()
}

/** Suggested location types; any other can be typed. */
const TYPES = [
  ...['geojson', 'geojson-point', 'geojson-linestring', 'geojson-polygon'],
  ...['coordinate-decimal+lon-lat', 'coordinate-decimal+lat-lon', 'scaledCoordinates'],
  ...['wkt', 'h3', 'geohash', 'address'],
]
/** One or several addresses, as the API accepts them. */
const ADDRESSES = /^0x[0-9a-f]{40}(,0x[0-9a-f]{40})*$/i

/** Filters: chain, attester, type, memo, state, area. They are folded on a narrow page. */
export function Filters(given: AreaActions) {
  return (
    <details class="filter-box" open={innerWidth > 700}>
      <summary>{say.filters.titleOf(activeFilters().length)}</summary>
      <form class="filters" aria-label={say.filters.title} onSubmit={(event) => event.preventDefault()}>
        <Choice
          name="chain"
          label={say.filters.chain}
          any={say.filters.allChains}
          options={SLUGS.map((slug) => [slug, chainName(slug)])}
        />
        <Choice
          name="revoked"
          label={say.filters.status}
          any={say.filters.anyStatus}
          options={[
            ['false', say.filters.active],
            ['true', say.filters.revoked],
          ]}
        />
        <Text name="memo" label={say.filters.memo} placeholder={say.filters.memoExample} />
        <Text
          name="location_type"
          label={say.filters.type}
          placeholder={say.filters.typeExample}
          options={TYPES}
        />
        <Text
          name="prover"
          label={say.filters.attester}
          placeholder={say.filters.attesterExample}
          refuse={(text) => (ADDRESSES.test(text) ? undefined : say.filters.fullAddress)}
        />
        <AreaFilter {...given} />
        <button type="button" disabled={!filterQuery.value} onClick={clearFilters}>
          {say.filters.clear}
        </button>
      </form>
    </details>
  )
}

interface AreaActions {
  /** area that the map shows; undefined without a map */
  box: Box | undefined
  isDrawing: boolean
  /** undefined if there is no map to draw on */
  onDraw: (() => void) | undefined
}

function AreaFilter({ box, isDrawing, onDraw }: AreaActions) {
  const isSet = Boolean(filterValue('bbox'))
  const { clearBox, dragBox, drawBox } = say.filters
  return (
    <fieldset class="area">
      <legend>{say.filters.box}</legend>
      {/* One button, so that the focus stays on it. */}
      <button
        type="button"
        disabled={!isSet && !onDraw}
        aria-pressed={isSet ? undefined : isDrawing}
        onClick={isSet ? () => setFilters({ bbox: undefined }) : onDraw}
      >
        {isSet ? clearBox : isDrawing ? dragBox : drawBox}
      </button>
      {!isSet && (
        <button
          type="button"
          disabled={!box}
          onClick={({ currentTarget }) => {
            setFilters({ bbox: boxText(box!) })
            ;(currentTarget.previousElementSibling as HTMLElement).focus()
          }}
        >
          {say.filters.useView}
        </button>
      )}
    </fieldset>
  )
}

interface ChoiceProps {
  name: FilterName
  label: string
  any: string
  options: readonly (readonly [string, string])[]
}
function Choice({ name, label, any, options }: ChoiceProps) {
  const value = filterValue(name) ?? ''
  // An address may also name several chains, or one by its id.
  const isOther = value !== '' && !options.some(([each]) => each === value)
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => setFilters({ [name]: currentTarget.value })}>
        <option value="">{any}</option>
        <Options of={isOther ? [...options, [value, valueText(name, value)]] : options} />
      </select>
    </label>
  )
}

interface TextProps {
  name: FilterName
  label: string
  placeholder: string
  options?: readonly string[]
  /** returns the problem of a text; undefined if it is accepted */
  refuse?: (text: string) => string | undefined
}
/** Text field whose filter applies when the user has finished: on Enter, or when the field loses focus. */
function Text({ name, label, placeholder, options, refuse }: TextProps) {
  const id = useId()
  const [wrong, setWrong] = useState<string>()
  const value = filterValue(name) ?? ''
  const [draft, setDraft] = useState(value)
  // An effect after the paint would erase what a user types before it runs.
  useLayoutEffect(() => {
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
          <Options of={options} />
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
