import type { RecordEvent } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { say } from '../messages'
import './explorer.css'
import { lazy } from '../lazy'
import { here } from '../location'
import { failureOf, useLoaded, type Failure } from '../loading'
import { dragArea, showArea, viewBox, type Box } from '../map/area'
import type { Map } from '../map/library'
import { addRecords, type RecordsOnMap, type Shown } from '../map/records'
import { frame } from '../map/layers'
import { WorldMap } from '../map/world-map'
import { placeWatch, type Watched } from '../watch/place-watch'
import { ChainStates } from './chain-states'
import { Chips, filtersText } from './chips'
import { filterCount, Filters } from './filters'
import { Legend } from './legend'
import { RecordList, seenQuery, useList } from './list'
import { followChanges } from '../map/live'
import { FailureNotice } from './notice'
import { loadRecord, middleOf } from '../sheet/record'
import {
  area,
  boxText,
  colouring,
  filterQuery,
  filterValue,
  firstView,
  hidden,
  keepView,
  select,
  selected,
  setFilters,
} from './state'
import { TimeFilter } from './time-filter'

const Sheet = lazy(async () => (await import('../sheet')).Sheet)
const Watch = lazy(async () => (await import('../watch')).Watch)
const Fallback = lazy(async () => (await import('./fallback')).Fallback)

/** Minimum zoom at which a single place is shown. */
const NEAR_ZOOM = 9
/** Page width in pixels below which the sheet is at the bottom of the page (sheet.css). */
const NARROW = 704

/** Map of attested places, with a list, filters, and a sheet for each record. */
export default function Explorer() {
  const [isPlain, setPlain] = useState(false)
  const [version, setVersion] = useState(0)
  const [watched, setWatched] = useState<Watched>()
  const map = useRef<Made | undefined>(undefined)
  const { isDrawing, draw, stop } = useAreaDrawing(map)
  const { view, shown, failure: mapFailure, retry: retryMap, onReady } = useRecordsMap(map, stop)

  const query = view || isPlain ? seenQuery(view?.box) : undefined
  const list = useList(query, version)
  const { chosen, record } = useChosen(map, version)
  const next = () => setVersion((before) => before + 1)
  useChanges(
    (events) => {
      map.current?.records.change(events)
      next()
    },
    () => {
      retryMap()
      next()
    },
  )

  return (
    <div class="explorer">
      <div class="stage">
        <div class="map-stage">
          <WorldMap
            view={useMemo(firstView, [])}
            onReady={onReady}
            onView={keepView}
            fallback={() => <Fallback version={version} onUsed={() => setPlain(true)} />}
          />
          <ChainStates />
          <Legend />
          {mapFailure && (
            <div class="map-failure">
              <FailureNotice failure={mapFailure} retry={retryMap} />
            </div>
          )}
          {shown && (
            <p class="unseen" role="status" data-places={shown.places} data-revoked={shown.revoked}>
              {say.map.shows(shown.places, shown.revoked)}
            </p>
          )}
          {chosen && (
            <Sheet
              chosen={chosen}
              loaded={record}
              onShow={isPlain ? undefined : (center) => map.current && zoomTo(map.current.map, center)}
              onClose={() => {
                select(undefined)
                document.querySelector<HTMLElement>(`[data-record="${chosen.chain}-${chosen.uid}"]`)?.focus()
              }}
              onSelect={select}
              onAttester={(prover) => setFilters({ prover })}
              onWatch={(place) => setWatched(placeWatch(place, record.data?.details?.geometry))}
              onChanged={next}
            />
          )}
          {watched && <Watch {...watched} onClose={() => setWatched(undefined)} onSelect={select} />}
        </div>
        <TimeFilter />
      </div>
      <div class="side">
        <details class="filter-box" open={innerWidth > 700}>
          <summary>{say.filters.titleOf(filterCount())}</summary>
          <Filters
            isDrawing={isDrawing}
            onDraw={isPlain ? undefined : draw}
            onView={view?.box && (() => setFilters({ bbox: boxText(view.box!) }))}
          />
        </details>
        <Chips onWatch={() => setWatched(filtersWatch())} />
        <RecordList list={list} query={query ?? ''} />
      </div>
    </div>
  )
}

/** Watch of the active filters. */
const filtersWatch = (): Watched => ({
  filters: Object.fromEntries(new URLSearchParams(filterQuery.value)),
  text: filtersText(),
})

/**
 * Selected record, whose sheet is open. The map marks it, and moves to it if the address contains no view.
 */
function useChosen(map: { readonly current: Made | undefined }, version: number) {
  const chosen = selected.value
  const record = useLoaded(chosen && `${chosen.chain} ${chosen.uid} ${version}`, (signal) =>
    loadRecord(chosen!, signal),
  )
  const geometry = record.data?.details?.geometry
  const middle = chosen && middleOf(geometry)
  useEffect(
    () => map.current?.records.select(chosen?.uid, middle),
    [chosen?.uid, middle?.[0], middle?.[1], map.current],
  )
  useFirstPlace(map, geometry, middle)
  return { chosen, record }
}

/**
 * Moves the map so that a position is in the centre of the part that the sheet does not cover: on a phone,
 * the sheet is at the bottom of the screen.
 */
function zoomTo(map: Map, center: [number, number], isAnimated = true): void {
  const offset: [number, number] = [0, innerWidth > NARROW ? 0 : -map.getContainer().clientHeight / 4]
  map.easeTo({ center, zoom: Math.max(NEAR_ZOOM, map.getZoom()), offset, animate: isAnimated })
}

/** Moves the map to the place in the address, if the address contains no view of the map. */
function useFirstPlace(
  map: { readonly current: Made | undefined },
  geometry: Geometry | null | undefined,
  middle: [number, number] | undefined,
): void {
  const isShown = useRef(!selected.value || here.value.parameters.has('at'))
  useEffect(() => {
    if (isShown.current || !middle || !map.current) return
    isShown.current = true
    if (geometry?.type === 'Point') zoomTo(map.current.map, middle, false)
    else frame(map.current.map, [{ type: 'Feature', properties: {}, geometry: geometry! }])
  }, [middle?.[0], middle?.[1], map.current])
}

interface Made {
  map: Map
  records: RecordsOnMap
}

/** Map of the records that match the filters: its view, its content, and the failure of its last tiles. */
function useRecordsMap(map: { current: Made | undefined }, onRemove: () => void) {
  const [view, setView] = useState<{ box: Box | undefined }>()
  const [failure, setFailure] = useState<Failure>()
  const [shown, setShown] = useState<Shown>()
  /** Number of consecutive failures of the map's tiles. Tiles that fail together count as one failure. */
  const failedTries = useRef(0)
  const retry = () => {
    setFailure(undefined)
    map.current?.records.refresh()
  }
  useRetry(failure, retry)

  const onReady = (made: Map) => {
    let isFailing = false
    const records = addRecords(
      made,
      { query: filterQuery.value, look: { by: colouring.value, hidden: hidden.value } },
      {
        onSelect: select,
        onFailure: (status) => {
          isFailing = true
          setFailure((before) => before ?? mapFailureOf(status, failedTries.current++))
        },
        onShown: (next) => {
          if (!isFailing) failedTries.current = 0
          isFailing = false
          setShown(next)
        },
      },
    )
    map.current = { map: made, records }
    const look = () => setView({ box: viewBox(made) })
    look()
    made.on('moveend', look)
    const leaveArea = showArea(made, area)
    let [isFirstQuery, isFirstLook] = [true, true]
    const leaveQuery = effect(() => {
      const next = filterQuery.value
      if (!isFirstQuery) records.setQuery(next)
      isFirstQuery = false
    })
    const leaveLook = effect(() => {
      const next = { by: colouring.value, hidden: hidden.value }
      if (!isFirstLook) records.setLook(next)
      isFirstLook = false
    })
    return () => {
      onRemove()
      leaveArea()
      leaveQuery()
      leaveLook()
      records.remove()
      map.current = undefined
    }
  }
  return { view, shown, failure, retry, onReady }
}

/** Lets the user draw the area of the filter on the map, by dragging. */
function useAreaDrawing(map: { readonly current: Made | undefined }) {
  const [isDrawing, setDrawing] = useState(false)
  const stopDrag = useRef<(() => void) | undefined>(undefined)
  const stop = () => stopDrag.current?.()
  const draw = () => {
    if (isDrawing || !map.current) {
      stop()
      return setDrawing(false)
    }
    setDrawing(true)
    stopDrag.current = dragArea(map.current.map, (box) => {
      setDrawing(false)
      if (box) setFilters({ bbox: boxText(box) })
    })
  }
  return { isDrawing, draw, stop }
}

/** Subscribes to changes of records that match those filters that the stream supports. */
function useChanges(onChanges: (events: readonly RecordEvent[]) => void, onReset: () => void): void {
  const handlers = useRef({ onChanges, onReset })
  handlers.current = { onChanges, onReset }
  const chain = filterValue('chain')
  const prover = filterValue('prover')
  const schema = filterValue('schema')
  useEffect(
    () =>
      followChanges(
        { chain, prover, schema },
        (events) => handlers.current.onChanges(events),
        () => handlers.current.onReset(),
      ),
    [chain, prover, schema],
  )
}

/** Calls `retry` after the time that the failure states. */
function useRetry(failure: Failure | undefined, retry: () => void): void {
  useEffect(() => {
    if (failure?.retryIn === undefined) return
    const timer = setTimeout(retry, failure.retryIn * 1000)
    return () => clearTimeout(timer)
  }, [failure])
}

/** Failure of a tile. The message in the list shows its reason. */
function mapFailureOf(status: number | undefined, tries: number): Failure {
  const { retryIn } = failureOf(undefined, tries)
  if (status === 429)
    return {
      text: say.failures.mapLimit,
      retryIn,
    }
  if (status !== undefined && status >= 400 && status < 500)
    return { text: say.failures.mapRefused, retryIn: undefined }
  return { text: say.failures.mapUnavailable, retryIn }
}
