import { effect } from '@preact/signals'
import type { Geometry } from 'geojson'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { say } from '../messages'
import './explorer.css'
import { lazy } from '../lazy'
import { shownPage, visitOf, type Page } from '../location'
import { failureOf, useLoaded, type Failure } from '../loading'
import { dragArea, showArea, viewBox } from '../map/area'
import { featureOf, middleOf, type Box } from '../map/extent'
import { followFlights } from '../map/flight'
import type { Map } from '../map/library'
import { keyText, type RecordKey, type Shown } from '../map/record-layers'
import { addRecords, type RecordsOnMap } from '../map/records'
import { addLayers, FLAT_MAP_ENDS, frame } from '../map/layers'
import { WorldMap } from '../map/world-map'
import { useDroppedFile } from '../panel/handed'
import { pickers } from '../panel/picking'
import { placeWatch, type Watched } from '../watch/place-watch'
import { ChainStates } from './chain-states'
import { Chips, filtersText } from './chips'
import { Filters } from './filters'
import { Legend } from './legend'
import { RecordList, seenQuery, useList } from './list'
import { followChanges, type Change } from '../map/live'
import { FailureNotice } from './notice'
import { isOf, loadRecord } from '../sheet/record'
import {
  activeFilters,
  area,
  boxText,
  colouring,
  filterQuery,
  firstView,
  hidden,
  keepView,
  mapQuery,
  namedView,
  select,
  selected,
  setFilters,
} from './state'
import { TimeFilter } from './time-filter'

const loadSheet = async () => (await import('../sheet')).Sheet
const Sheet = lazy(loadSheet)
const Watch = lazy(async () => (await import('../watch')).Watch)
const Dropped = lazy(async () => (await import('./dropped')).Dropped)
const Fallback = lazy(async () => (await import('./fallback')).Fallback)
/** Forms of the actions other than exploring. A form that was shown keeps its contents while it is hidden. */
const FORMS = {
  playground: lazy(async () => (await import('../playground')).default),
  attest: lazy(async () => (await import('../attest')).default),
}

/** Minimum zoom at which a single place is shown. */
const NEAR_ZOOM = 9

/** One map of attested places with three actions: explore the records, ask about places, and attest one. */
export default function Places() {
  const [isPlain, setPlain] = useState(false)
  const [version, setVersion] = useState(0)
  const map = useRef<Made | undefined>(undefined)
  const page = shownPage.value
  const isExplorer = page === 'explorer'
  const { isDrawing, draw, stop } = useAreaDrawing(map, isExplorer)
  const { view, shown, failure: mapFailure, retry: retryMap, onReady } = useRecordsMap(map, stop)
  const [watched, setWatched] = useState<Watched>()
  const [file, setFile] = useState<File>()
  // A form takes the file itself.
  useDroppedFile((dropped) => isExplorer && setFile(dropped))

  const query = isExplorer && (view || isPlain) ? seenQuery(view?.box) : undefined
  const list = useList(query, version)
  const { chosen, record, opener } = useChosen(map)
  const next = () => setVersion((before) => before + 1)
  const reload = () => {
    next()
    record.retry()
  }
  useChanges(
    (changes) => {
      if (changes.some((change) => concerns(change, chosen))) reload()
      else next()
      map.current?.records.change(changes)
    },
    () => {
      retryMap()
      reload()
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
            fallback={() => <Fallback version={version} onUsed={() => setPlain(true)} onSelect={pick} />}
          />
          <ChainStates />
          {isExplorer && <Legend />}
          {mapFailure && <FailureNotice failure={mapFailure} retry={retryMap} />}
          {shown && <ShownCounts {...shown} />}
          {chosen && (
            <Sheet
              chosen={chosen}
              loaded={record}
              opener={opener}
              onShow={isPlain ? undefined : (geometry) => map.current && zoomTo(map.current.map, geometry)}
              onClose={() => closeSheet(chosen)}
              onSelect={select}
              onAttester={(prover) => setFilters({ prover })}
              onWatch={(place) => setWatched(placeWatch(place, record.data?.details?.geometry))}
              onChanged={reload}
            />
          )}
          {isExplorer && watched && (
            <Watch {...watched} onClose={() => setWatched(undefined)} onSelect={select} />
          )}
          {isExplorer && file && (
            <Dropped file={file} map={map.current?.map} onClose={() => setFile(undefined)} />
          )}
        </div>
        {isExplorer && <TimeFilter isReady={Boolean(shown ?? mapFailure) || isPlain} version={version} />}
      </div>
      {isExplorer && (
        <div class="side">
          <Filters box={view?.box} isDrawing={isDrawing} onDraw={isPlain ? undefined : draw} />
          <Chips onWatch={() => setWatched(filtersWatch())} />
          <RecordList list={list} query={query ?? ''} />
        </div>
      )}
      <Forms page={page} map={map.current?.map} refresh={() => map.current?.records.refresh()} />
    </div>
  )
}

/** Numbers of places on the map, for those who do not see it. */
const ShownCounts = ({ places, revoked }: Pick<Shown, 'places' | 'revoked'>) => (
  <p class="unseen" role="status" data-places={places} data-revoked={revoked}>
    {say.map.shows(places, revoked)}
  </p>
)

function closeSheet(chosen: RecordKey): void {
  select(undefined)
  // The list, which the sheet may cover, is hidden until the sheet is removed in a microtask.
  queueMicrotask(() => placeInList(chosen)?.focus())
}

/** Forms that have been shown, with the map's filters. An address with other parameters resets a form. */
function Forms({ page, map, refresh }: { page: Page; map: Map | undefined; refresh: () => void }) {
  const opened = useRef(new Set<Page>()).current
  opened.add(page)
  return (Object.keys(FORMS) as (keyof typeof FORMS)[])
    .filter((name) => opened.has(name))
    .map((name) => {
      const Form = FORMS[name]
      return (
        <div key={name} class="side panel" hidden={page !== name}>
          {page === name && activeFilters().length > 0 && <Chips />}
          <Form key={visitOf(name)} map={page === name ? map : undefined} refresh={refresh} />
        </div>
      )
    })
}

/** True if a change concerns the record. Compares only UIDs: the address may name the chain by an alias. */
const concerns = (change: Change, record: RecordKey | undefined): boolean =>
  ('record' in change ? change.record : change.gone).uid === record?.uid

/** Opens a record that is clicked on the map, or hands it to the shown form. */
const pick = (record: RecordKey): void => {
  const page = shownPage.peek()
  if (page === 'explorer') select(record)
  else pickers[page]?.(record)
}

const placeInList = (record: RecordKey) =>
  document.querySelector<HTMLElement>(`[data-record="${keyText(record)}"]`)

const filtersWatch = (): Watched => ({
  filters: Object.fromEntries(new URLSearchParams(filterQuery.value)),
  text: filtersText(),
  opener: document.activeElement,
})

/** Record whose sheet is open, and the element that had the focus when it was selected. The map marks it. */
function useChosen(map: { readonly current: Made | undefined }) {
  const chosen = shownPage.value === 'explorer' ? selected.value : undefined
  const opener = useMemo(() => document.activeElement, [selected.value?.uid, selected.value?.chain])
  const record = useLoaded(chosen && `${chosen.chain} ${chosen.uid}`, (signal) => loadRecord(chosen!, signal))
  const full = record.data
  const geometry = chosen && full && isOf(full, chosen) ? full.details?.geometry : undefined
  const middle = middleOf(geometry)
  useEffect(() => {
    map.current?.records.select(chosen, middle)
  }, [chosen && keyText(chosen), middle?.[0], middle?.[1], map.current])
  useOpenedView(map, geometry, middle)
  return { chosen, record, opener }
}

/** Brings a geometry into view. The map keeps a larger zoom for a position, but ends before a pole. */
function zoomTo(map: Map, geometry: Geometry, isAnimated = true): void {
  const [longitude = 0, latitude = 0] = geometry.type === 'Point' ? geometry.coordinates : []
  if (geometry.type !== 'Point' || Math.abs(latitude) > FLAT_MAP_ENDS)
    return frame(map, [featureOf(geometry)])
  const zoom = Math.max(NEAR_ZOOM, map.getZoom())
  map.easeTo({ center: [longitude, latitude], zoom, animate: isAnimated })
}

/** Moves the map to the view of each address that opens the explorer, or to its place if it has no view. */
function useOpenedView(
  map: { readonly current: Made | undefined },
  geometry: Geometry | null | undefined,
  middle: [number, number] | undefined,
): void {
  const visit = visitOf('explorer')
  const named = useMemo(namedView, [visit])
  const moved = useRef(named || !selected.value ? visit : undefined)
  useEffect(() => {
    if (moved.current === visit || !map.current || (!named && selected.value && !middle)) return
    moved.current = visit
    if (named) map.current.map.jumpTo({ center: [named.longitude, named.latitude], zoom: named.zoom })
    else if (geometry) {
      const show = () =>
        map.current && visitOf('explorer') === visit && zoomTo(map.current.map, geometry, false)
      // The sheet, which must not cover the place, is rendered in a microtask after its code has loaded.
      void loadSheet().then(
        () => setTimeout(show),
        () => show(),
      )
    }
  }, [visit, middle?.[0], middle?.[1], map.current])
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
      { query: mapQuery.value, look: { by: colouring.value, hidden: hidden.value } },
      {
        onSelect: pick,
        onFailure: (status) => {
          isFailing = true
          setFailure((before) => {
            if (before?.retryIn !== undefined) return before
            const next = mapFailureOf(status, failedTries.current)
            if (next.retryIn !== undefined) failedTries.current++
            return next
          })
        },
        onShown: (next) => {
          if (!isFailing) failedTries.current = 0
          isFailing = false
          setShown(next)
        },
      },
    )
    addLayers(made)
    map.current = { map: made, records }
    const look = () => setView({ box: viewBox(made) })
    look()
    made.on('moveend', look)
    const leaveArea = showArea(made, area)
    const leaveFlights = followFlights((features) => frame(made, features))
    let [isFirstQuery, isFirstLook] = [true, true]
    const leaveQuery = effect(() => {
      const next = mapQuery.value
      if (!isFirstQuery) {
        setFailure(undefined)
        failedTries.current = 0
        records.setQuery(next)
      }
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
      leaveFlights()
      leaveQuery()
      leaveLook()
      records.remove()
      map.current = undefined
    }
  }
  return { view, shown, failure, retry, onReady }
}

/** Lets the user draw the area of the filter on the map, by dragging, until another action is shown. */
function useAreaDrawing(map: { readonly current: Made | undefined }, isShown: boolean) {
  const [isDrawing, setDrawing] = useState(false)
  const stopDrag = useRef<(() => void) | undefined>(undefined)
  const stop = () => stopDrag.current?.()
  useEffect(() => {
    if (isShown) return
    stop()
    setDrawing(false)
  }, [isShown])
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

/** Subscribes to changes of the records on the map, by those filters that the stream supports. */
function useChanges(onChanges: (changes: readonly Change[]) => void, onReset: () => void): void {
  const handlers = useRef({ onChanges, onReset })
  handlers.current = { onChanges, onReset }
  const query = new URLSearchParams(mapQuery.value)
  const [chain, prover, schema] = ['chain', 'prover', 'schema'].map((name) => query.get(name) ?? undefined)
  useEffect(
    () =>
      followChanges(
        { chain, prover, schema },
        (changes) => handlers.current.onChanges(changes),
        () => handlers.current.onReset(),
      ),
    [chain, prover, schema],
  )
}

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
  if (status === 429) return { text: say.failures.mapLimit, retryIn }
  return status !== undefined && status >= 400 && status < 500
    ? { text: say.failures.mapRefused, retryIn: undefined }
    : { text: say.failures.mapUnavailable, retryIn }
}
