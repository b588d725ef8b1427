import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLoaded } from '../loading'
import type { FilterName } from '../location'
import { say } from '../messages'
import { geoOnce } from '../service'
import { filterQuery, filterValue, setFilters } from './state'
import { dayText } from './words'
import './time-filter.css'

const DAY_MS = 86_400_000
/** Maximum number of days that are counted by day, and by week. Longer spans are counted by month. */
const [BY_DAY, BY_WEEK] = [92, 740]
const PRESETS = [
  ['day', 1],
  ['week', 7],
  ['month', 30],
] as const
/** Height of the histogram in units of its SVG. */
const HEIGHT = 40

/** Range of days since 1970-01-01. `to` is exclusive. */
interface Range {
  from: number
  to: number
}
const dayOf = (milliseconds: number) => Math.floor(milliseconds / DAY_MS)

/** Milliseconds from a change of the records to its count: changes within this time are counted together. */
const COUNTED_AFTER_MS = 60_000

/**
 * `isReady` is true once the map shows the records, which must not wait for the histogram. `version` is the
 * number of changes of the records.
 */
export function TimeFilter({ isReady, version }: { isReady: boolean; version: number }) {
  const wasReady = useRef(false)
  wasReady.current ||= isReady
  const first = useLoaded(wasReady.current ? 'first' : undefined, async (signal) => {
    const { data } = await geoOnce.records.page({ sort: 'timestamp', limit: 1, signal })
    return data[0] ? Date.parse(data[0].timestamp) : Date.now()
  })
  // Before the first record is known, the range of the filter counts.
  const bounds = (['fromTimestamp', 'toTimestamp'] as const).flatMap((name) => filterValue(name) ?? [])
  const times = bounds.map((bound) => Date.parse(bound)).filter((time) => !Number.isNaN(time))
  const start = dayOf(first.data ?? Math.min(Date.now(), ...times))
  const whole = { from: start, to: Math.max(dayOf(Date.now()), start) + 1 }
  const range = useRange(whole)
  const counted = useCounted(version)
  const { from, to } = range.shown
  const isSet = bounds.length > 0
  const title = isSet ? say.time.between(dayText(from * DAY_MS), dayText((to - 1) * DAY_MS)) : say.time.all
  return (
    <details class="time" open={innerWidth > 700 && innerHeight > 600}>
      <summary>
        {say.time.title}: <span data-time>{title}</span>
      </summary>
      <fieldset class="times" disabled={first.data === undefined} aria-label={say.time.title}>
        {first.data === undefined ? (
          // Has the size of the histogram, so that the map keeps its view when the histogram appears.
          <div class="histogram" />
        ) : (
          <Histogram whole={whole} range={range} version={counted} />
        )}
        <Slider label={say.time.from} value={from} whole={whole} range={range} at="from" />
        <Slider label={say.time.to} value={to} whole={whole} range={range} at="to" />
        <div class="days">
          <Day
            label={say.time.firstDay}
            day={from}
            onDay={(day) => range.set({ from: day, to: Math.max(to, day + 1) })}
          />
          <Day
            label={say.time.lastDay}
            day={to - 1}
            onDay={(day) => range.set({ from: Math.min(from, day), to: day + 1 })}
          />
          {PRESETS.map(([name, days]) => (
            <button
              key={name}
              type="button"
              onClick={() =>
                setFilters({
                  fromTimestamp: new Date(Date.now() - days * DAY_MS).toISOString(),
                  toTimestamp: undefined,
                })
              }
            >
              {say.time.presets[name]}
            </button>
          ))}
          <button
            type="button"
            disabled={!isSet}
            onClick={({ currentTarget }) => {
              setFilters({ fromTimestamp: undefined, toTimestamp: undefined })
              // The button is disabled now.
              currentTarget.closest('details')?.querySelector('summary')?.focus()
            }}
          >
            {say.time.all}
          </button>
        </div>
      </fieldset>
    </details>
  )
}

/** Version of the records that is counted: the last one, COUNTED_AFTER_MS after the first change since. */
function useCounted(version: number): number {
  const [counted, setCounted] = useState(version)
  const last = useRef(version)
  last.current = version
  const isOld = version !== counted
  useEffect(() => {
    if (!isOld) return
    const timer = setTimeout(() => setCounted(last.current), COUNTED_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isOld])
  return counted
}

/** Range of the filter, and the one that the user is choosing. The API's bounds are exclusive. */
function useRange(whole: Range) {
  const boundOf = (name: FilterName, otherwise: number, day: (milliseconds: number) => number) => {
    const time = Date.parse(filterValue(name) ?? '')
    return Number.isNaN(time) ? otherwise : Math.min(whole.to, Math.max(whole.from, day(time)))
  }
  // Days that are only partly in the range, as those of the last 24 hours, are shown as days of the range.
  const from = boundOf('fromTimestamp', whole.from, (time) => dayOf(time + 1))
  const to = boundOf('toTimestamp', whole.to, (time) => Math.ceil(time / DAY_MS))
  const kept = { from, to: Math.max(to, Math.min(from + 1, whole.to)) }
  // This value is in a ref, because a key may be released before its change is rendered.
  const moved = useRef<Range>(undefined)
  const [, setMoved] = useState(moved.current)
  const move = (range: Range | undefined) => {
    moved.current = range
    setMoved(range)
  }
  const set = ({ from, to }: Range) =>
    setFilters({
      fromTimestamp: from > whole.from ? new Date(from * DAY_MS - 1).toISOString() : undefined,
      toTimestamp: to < whole.to ? new Date(to * DAY_MS).toISOString() : undefined,
    })
  return {
    shown: moved.current ?? kept,
    move,
    set,
    /** writes the chosen range into the filter */
    keep: () => {
      const range = moved.current
      if (!range) return
      move(undefined)
      set(range)
    },
  }
}
type UsedRange = ReturnType<typeof useRange>

interface SliderProps {
  label: string
  value: number
  whole: Range
  range: UsedRange
  at: 'from' | 'to'
}
function Slider({ label, value, whole, range, at }: SliderProps) {
  const { from, to } = range.shown
  const moved = (day: number) =>
    at === 'from' ? { from: Math.min(day, to - 1), to } : { from, to: Math.max(day, from + 1) }
  return (
    <input
      type="range"
      aria-label={label}
      min={whole.from}
      max={whole.to}
      value={value}
      aria-valuetext={dayText((at === 'from' ? value : value - 1) * DAY_MS)}
      onInput={({ currentTarget }) => range.move(moved(Number(currentTarget.value)))}
      onPointerUp={range.keep}
      // A finger that scrolls the page.
      onPointerCancel={() => range.move(undefined)}
      onKeyUp={range.keep}
      onBlur={range.keep}
    />
  )
}

/** A date that is typed applies on Enter, or when the field loses focus: each key makes another date. */
function Day({ label, day, onDay }: { label: string; day: number; onDay: (day: number) => void }) {
  const value = new Date(day * DAY_MS).toISOString().slice(0, 10)
  const [draft, setDraft] = useState(value)
  useLayoutEffect(() => setDraft(value), [value])
  const isTyping = useRef(false)
  const enter = (text: string) => {
    isTyping.current = false
    const time = Date.parse(text)
    if (!Number.isNaN(time) && text !== value) onDay(dayOf(time))
    setDraft(value)
  }
  return (
    <label>
      {label}{' '}
      <input
        type="date"
        value={draft}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        onChange={({ currentTarget }) => isTyping.current || enter(currentTarget.value)}
        onBlur={({ currentTarget }) => enter(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') enter(currentTarget.value)
          else isTyping.current = true
        }}
      />
    </label>
  )
}

type Unit = 'day' | 'week' | 'month'
interface Bar {
  /** days since 1970-01-01 */
  day: number
  days: number
  records: number
}

/** Places that match the other filters, by day, week or month. A drag over the histogram chooses a range. */
function Histogram({ whole, range, version }: { whole: Range; range: UsedRange; version: number }) {
  const span = whole.to - whole.from
  const unit: Unit = span <= BY_DAY ? 'day' : span <= BY_WEEK ? 'week' : 'month'
  const filters = Object.fromEntries(new URLSearchParams(filterQuery.value))
  const { fromTimestamp: _from, toTimestamp: _to, ...others } = filters
  const { data: bars = [] } = useLoaded(
    `histogram ${unit} ${JSON.stringify(others)}`,
    (signal) => barsOf(unit, others, signal),
    `${version}`,
  )
  const most = Math.max(1, ...bars.map(({ records }) => records))
  const element = useRef<SVGSVGElement>(null)
  const anchor = useRef<number>(undefined)
  const dayAt = ({ clientX }: PointerEvent) => {
    const { left, width } = element.current!.getBoundingClientRect()
    return Math.min(
      whole.to - 1,
      Math.max(whole.from, whole.from + Math.floor(((clientX - left) / width) * span)),
    )
  }
  const brush = (event: PointerEvent) => {
    if (anchor.current === undefined) return
    const day = dayAt(event)
    range.move({ from: Math.min(day, anchor.current), to: Math.max(day, anchor.current) + 1 })
  }
  const { from, to } = range.shown
  return (
    <svg
      ref={element}
      class="histogram"
      viewBox={`0 0 ${span} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={say.time.histogram}
      data-bars={bars.length}
      data-records={bars.reduce((sum, { records }) => sum + records, 0)}
      onPointerDown={(event) => {
        anchor.current = dayAt(event)
        event.currentTarget.setPointerCapture(event.pointerId)
        brush(event)
      }}
      onPointerMove={brush}
      onPointerUp={() => {
        anchor.current = undefined
        range.keep()
      }}
      onPointerCancel={() => {
        anchor.current = undefined
        range.move(undefined)
      }}
    >
      <rect class="chosen" x={from - whole.from} y="0" width={to - from} height={HEIGHT} />
      {bars.map(({ day, days, records }) => {
        // Square roots as heights, so that bars of few records remain visible next to bars of many.
        const height = Math.max(2, (HEIGHT - 2) * Math.sqrt(records / most))
        return (
          <rect
            key={day}
            class={day < to && day + days > from ? 'bar' : 'bar out'}
            x={day - whole.from}
            y={HEIGHT - height}
            width={days * 0.9}
            height={height}
          >
            <title>{say.time.bar(dayText(day * DAY_MS), records)}</title>
          </rect>
        )
      })}
    </svg>
  )
}

const DAYS: Readonly<Record<Unit, number>> = { day: 1, week: 7, month: 30 }

async function barsOf(unit: Unit, filters: Record<string, string>, signal: AbortSignal): Promise<Bar[]> {
  const { data } = await geoOnce.records.groupBy(unit, { ...filters, signal })
  return data.map((group) => {
    const { [unit]: start, records } = group as unknown as Record<Unit, string> & { records: number }
    return { day: dayOf(Date.parse(unit === 'month' ? `${start}-01` : start)), days: DAYS[unit], records }
  })
}
