import type { RecordEvent } from '@geospatial-attestation/client'
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import './explorer.css'
import { lazy } from '../lazy'
import { failureOf, useLoaded, type Failure } from '../loading'
import { dragArea, showArea, viewBox, type Box } from '../map/area'
import type { Map } from '../map/library'
import { addRecords, type RecordsOnMap, type Shown } from '../map/records'
import { WorldMap } from '../map/world-map'
import { ChainStates } from './chain-states'
import { filterCount, Filters } from './filters'
import { Legend } from './legend'
import { RecordList, seenQuery, useList } from './list'
import { followChanges } from '../map/live'
import { FailureNotice } from './notice'
import { loadRecord, middleOf } from './record'
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
import { countText } from './words'

const Card = lazy(async () => (await import('./card')).Card)
const Fallback = lazy(async () => (await import('./fallback')).Fallback)

/** Zoom at which one place is shown. */
const NEAR_ZOOM = 9

/** Map of attested places, with a list, filters, and a card for each record. */
export default function Explorer() {
  const [isPlain, setPlain] = useState(false)
  const [version, setVersion] = useState(0)
  const map = useRef<Made | undefined>(undefined)
  const { isDrawing, draw, stop } = useAreaDrawing(map)
  const { view, shown, failure: mapFailure, retry: retryMap, onReady } = useRecordsMap(map, stop)

  const query = view || isPlain ? seenQuery(view?.box) : undefined
  const list = useList(query, version)
  const chosen = selected.value
  const record = useLoaded(chosen && `${chosen.chain} ${chosen.uid} ${version}`, (signal) =>
    loadRecord(chosen!, signal),
  )
  const middle = chosen && middleOf(record.data?.details?.geometry)
  useEffect(
    () => map.current?.records.select(chosen?.uid, middle),
    [chosen?.uid, middle?.[0], middle?.[1], map.current],
  )
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
  const zoomTo = (center: [number, number]) =>
    map.current?.map.easeTo({ center, zoom: Math.max(NEAR_ZOOM, map.current.map.getZoom()) })

  return (
    <div class="explorer">
      <div class="stage">
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
            The map shows {countText(shown.places, 'place')}, {shown.revoked} of them revoked.
          </p>
        )}
        {chosen && <Card chosen={chosen} loaded={record} onShow={isPlain ? undefined : zoomTo} />}
      </div>
      <div class="side">
        <details class="filter-box" open={innerWidth > 700}>
          <summary>Filters{filterCount() > 0 && ` (${filterCount()})`}</summary>
          <Filters
            isDrawing={isDrawing}
            onDraw={isPlain ? undefined : draw}
            onView={view?.box && (() => setFilters({ bbox: boxText(view.box!) }))}
          />
        </details>
        <RecordList list={list} query={query ?? ''} />
      </div>
    </div>
  )
}

interface Made {
  map: Map
  records: RecordsOnMap
}

/** Map of the records that pass the filters: its view, its content, and the failure of its last tiles. */
function useRecordsMap(map: { current: Made | undefined }, onRemove: () => void) {
  const [view, setView] = useState<{ box: Box | undefined }>()
  const [failure, setFailure] = useState<Failure>()
  const [shown, setShown] = useState<Shown>()
  /** Number of failures of the map in a row; its tiles fail together. */
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

/** Lets the user drag the area of the filter on the map. */
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

/** Follows changes of records that pass the filters that the stream supports. */
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

/** Retries at the time that the failure states. */
function useRetry(failure: Failure | undefined, retry: () => void): void {
  useEffect(() => {
    if (failure?.retryIn === undefined) return
    const timer = setTimeout(retry, failure.retryIn * 1000)
    return () => clearTimeout(timer)
  }, [failure])
}

/** Failure of a tile. The notice of the list shows the reason. */
function mapFailureOf(status: number | undefined, tries: number): Failure {
  const { retryIn } = failureOf(undefined, tries)
  if (status === 429)
    return {
      text: 'Part of the map is missing: you have reached the request limit.',
      retryIn,
    }
  if (status !== undefined && status >= 400 && status < 500)
    return { text: 'The map shows no places: the service refuses these filters.', retryIn: undefined }
  return { text: 'Part of the map is missing: the service does not respond.', retryIn }
}
