import type { AddLayerObject, ExpressionSpecification } from 'maplibre-gl'
import { lineText } from '../explorer/words'
import { say } from '../messages'
import { chainName } from '../chains'
import { addressOf } from '../service'
import type { Change } from './live'
import { Marker, Popup, type Map, type MapMouseEvent, type VectorTileSource } from './library'
import { positionsOf } from './extent'
import {
  countText,
  fadedOn,
  keyText,
  recordLayers,
  shownCount,
  shownIn,
  SOURCE,
  type RecordKey,
  type RecordsLook,
  type Shown,
} from './record-layers'
import { MAX_ZOOM, touchedTiles } from './touched-tiles'
import './records.css'

/** Records on a map, from the service's vector tiles (docs/reference/tiles.md). */

type PaintName = Parameters<Map['setPaintProperty']>[1]
const LAYERS = ['areas', 'area-edges', 'lines', 'points', 'clusters'].map((name) => `records-${name}`)
const FADE_MS = 900
/** Maximum number of highlighted changes per batch. */
const MOST_PULSES = 30
const PULSE_MS = 2_400
/** Pixels around the pointer within which a feature is hit. */
const REACH = 5

type Tiles = NonNullable<Parameters<Map['refreshTiles']>[1]>

/** Adds the records to a map, and updates them until `remove`. */
export function addRecords(
  map: Map,
  { query, look }: { query: string; look: RecordsLook },
  {
    onSelect,
    onFailure,
    onShown,
  }: {
    onSelect: (record: RecordKey) => void
    /** called with an HTTP status, or undefined if there was no response */
    onFailure: (status: number | undefined) => void
    onShown: (shown: Shown) => void
  },
) {
  map.addSource(SOURCE, {
    type: 'vector',
    tiles: [tilesOf(query)],
    maxzoom: MAX_ZOOM,
    promoteId: { records: 'uid' },
  })
  const layers = recordLayers(look)
  for (const layer of layers) map.addLayer(layer as unknown as AddLayerObject)

  const selection = selectionOn(map)
  const removePointer = followPointer(map, () => look, selection.record, onSelect)
  const { load, refresh, later, idle } = reloads(map)
  const fades = fading(map)
  let looking: ReturnType<typeof setTimeout> | undefined
  const subscriptions = [
    map.on('idle', () => {
      if (!idle()) fades.end()
      // The map is queried after the frame of this event is painted.
      clearTimeout(looking)
      looking = setTimeout(() => {
        const features = map.queryRenderedFeatures({ layers: LAYERS })
        onShown(shownIn(features, look))
        outline(map, features)
      })
    }),
    map.on('error', (event) => {
      const { sourceId, error, tile } = event as unknown as {
        sourceId?: string
        error?: { status?: number }
        tile?: { actor?: unknown }
      }
      if (sourceId !== SOURCE) return
      // MapLibre 6.17 sends no request for a failed tile that has a worker, but waits for the failed one.
      if (tile) delete tile.actor
      onFailure(error?.status)
    }),
  ]

  return {
    setQuery: (next: string) =>
      load(() => map.getSource<VectorTileSource>(SOURCE)?.setTiles([tilesOf(next)])),
    setLook: (next: RecordsLook) => {
      look = next
      if (!map.isSourceLoaded(SOURCE)) later()
      for (const { id, filter, paint } of recordLayers(next)) {
        map.setFilter(id, filter)
        for (const name of Object.keys(paint) as PaintName[])
          map.setPaintProperty(id, name, paint[name] as ExpressionSpecification)
        if (id === 'records-counts') map.setLayoutProperty(id, 'text-field', countText(next))
      }
    },
    /** reloads all tiles; responses for unchanged ones have no content */
    refresh: () => refresh(),
    /** shows changes, and reloads the tiles that contain them */
    change: (events: readonly Change[]) => {
      pulse(map, events)
      fades.start(events)
      const touched = touchedTiles(events)
      if (touched?.length !== 0) refresh(touched)
    },
    select: selection.select,
    remove: () => {
      for (const subscription of subscriptions) subscription.unsubscribe()
      clearTimeout(looking)
      removePointer()
      selection.remove()
    },
  }
}
export type RecordsOnMap = ReturnType<typeof addRecords>

function selectionOn(map: Map) {
  const marker = new Marker({ element: element('selected-place') })
  let selected: RecordKey | undefined
  return {
    record: () => selected,
    /** marks a record; `at` is its position; undefined removes the mark */
    select: (record: RecordKey | undefined, at: readonly [number, number] | undefined) => {
      if (selected) setState(map, selected.uid, { selected: false })
      selected = record
      if (record) setState(map, record.uid, { selected: true })
      if (at) marker.setLngLat([...at]).addTo(map)
      else marker.remove()
    },
    remove: () => void marker.remove(),
  }
}

/** Shows a popup for the record under the pointer, and selects one that is clicked. The result ends this. */
function followPointer(
  map: Map,
  look: () => RecordsLook,
  selected: () => RecordKey | undefined,
  onSelect: (record: RecordKey) => void,
): () => void {
  const popup = new Popup({ closeButton: false, closeOnClick: false, className: 'hint', offset: 8 })
  const layerAt = ({ point: { x, y } }: MapMouseEvent) => {
    const box: [[number, number], [number, number]] = [
      [x - REACH, y - REACH],
      [x + REACH, y + REACH],
    ]
    return map.queryRenderedFeatures(box, { layers: LAYERS })
  }
  const move = (event: MapMouseEvent) => {
    // The map moves below the pointer while it is dragged.
    if (event.originalEvent.buttons > 0) return
    const found = layerAt(event)
    const [top] = found
    map.getCanvas().style.cursor = top ? 'pointer' : ''
    if (!top) return void popup.remove()
    const { memo = '', location_type: type = '' } = top.properties as {
      memo?: string
      location_type?: string
    }
    const title = lineText(memo) || lineText(type)
    const count = top.properties.point_count === undefined ? 0 : shownCount(top.properties, look())
    popup
      .setLngLat(event.lngLat)
      .setText(count ? say.map.cluster(count) : say.map.onChains(title, twinChains(found)))
      .addTo(map)
  }
  // A click that began during a drawing belongs to that drawing: the click that ends a drawing is reported
  // after the drawing's end.
  let isOfDrawing = false
  const isDrawing = () => map.getContainer().hasAttribute('data-drawing')
  const press = () => (isOfDrawing = isDrawing())
  const canvas = map.getCanvasContainer()
  canvas.addEventListener('pointerdown', press, { capture: true })
  const click = (event: MapMouseEvent) => {
    if (isOfDrawing || isDrawing()) return
    const found = layerAt(event)
    if (found[0]?.layer.id === 'records-clusters') {
      const { geometry } = found[0]
      if (geometry.type === 'Point')
        map.easeTo({ center: geometry.coordinates as [number, number], zoom: map.getZoom() + 2 })
      return
    }
    const records = new globalThis.Map(
      found
        .filter(({ properties }) => properties.uid !== undefined)
        .map(({ properties }) => properties as unknown as RecordKey)
        .map((record) => [keyText(record), record]),
    )
    // If there are several records at one position, each click shows the next one.
    const keys = [...records.keys()]
    const last = selected()
    const next = records.get(keys[(keys.indexOf(last ? keyText(last) : '') + 1) % keys.length] ?? '')
    if (next) onSelect({ chain: next.chain, uid: next.uid })
  }
  const subscriptions = [
    map.on('mousemove', move),
    map.on('mouseout', () => void popup.remove()),
    map.on('click', click),
  ]
  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe()
    canvas.removeEventListener('pointerdown', press, { capture: true })
    popup.remove()
  }
}

/** Chains on which the attester of the first feature attested the same place; empty if there is only one. */
function twinChains(found: readonly { properties: Record<string, unknown> }[]): string[] {
  const keyOf = ({ prover, location_type: type, memo }: Record<string, unknown>) =>
    JSON.stringify([prover, type, memo])
  const twins = found.filter(({ properties }) => keyOf(properties) === keyOf(found[0]!.properties))
  const chains = new Set(twins.map(({ properties }) => chainName(String(properties.chain))))
  return chains.size > 1 ? [...chains] : []
}

/**
 * Loads all tiles, or only the given ones. MapLibre 6.17 does not repeat a pending request, whose response
 * may be outdated, and sends no request while a layer's change waits for a frame. Such tiles are therefore
 * requested again when the map is idle.
 */
function reloads(map: Map) {
  let again: 'all' | Tiles | undefined
  const later = (tiles: 'all' | Tiles = 'all') => {
    again = tiles === 'all' || again === 'all' ? 'all' : [...(again ?? []), ...tiles]
  }
  const load = (start: () => void, tiles?: Tiles) => {
    if (!map.loaded()) later(tiles)
    start()
    // MapLibre reports neither the start of a refresh nor the arrival of an unmodified tile (world-map.tsx).
    map.fire('dataloading', { dataType: 'source', sourceId: SOURCE })
  }
  const refresh = (tiles?: Tiles) => load(() => map.refreshTiles(SOURCE, tiles), tiles)
  return {
    load,
    refresh,
    /** adds tiles to be requested again when the map is idle */
    later,
    /** requests the tiles that `later` has collected; returns false if there are none */
    idle: () => {
      if (!again) return false
      const tiles = again === 'all' ? undefined : again
      again = undefined
      refresh(tiles)
      return true
    },
  }
}

const tilesOf = (query: string) =>
  `${addressOf('tiles/location-records/{z}/{x}/{y}.mvt')}${query && `?${query.replaceAll('{', '%7B')}`}`

type Features = ReturnType<Map['queryRenderedFeatures']>

/** Minimum number of points within an area on the screen for which the area is only outlined. */
const MANY_POINTS = 3

/** Outlines, without a fill, the areas whose fill would hide many points. */
function outline(map: Map, features: Features): void {
  const areas = features.filter(({ layer }) => layer.id === 'records-areas')
  if (areas.length === 0) return
  const points = features
    .filter(({ layer }) => layer.id === 'records-points' || layer.id === 'records-clusters')
    .flatMap(({ geometry }) =>
      geometry.type === 'Point' ? [map.project(geometry.coordinates as [number, number])] : [],
    )
  const boxes = new globalThis.Map<string, [number, number, number, number]>()
  for (const { properties, geometry } of areas) {
    const uid = properties.uid as string
    const box = boxes.get(uid) ?? [Infinity, Infinity, -Infinity, -Infinity]
    for (const position of positionsOf(geometry)) {
      const { x, y } = map.project(position as [number, number])
      box[0] = Math.min(box[0], x)
      box[1] = Math.min(box[1], y)
      box[2] = Math.max(box[2], x)
      box[3] = Math.max(box[3], y)
    }
    boxes.set(uid, box)
  }
  for (const [uid, [left, top, right, bottom]] of boxes) {
    const inside = points.filter(({ x, y }) => x >= left && x <= right && y >= top && y <= bottom).length
    const outlined = inside >= MANY_POINTS
    const before = map.getFeatureState(featureOf(uid)) as {
      outlined?: boolean
    }
    if ((before.outlined ?? false) !== outlined) setState(map, uid, { outlined })
  }
}

const featureOf = (uid: string) => ({ source: SOURCE, sourceLayer: 'records', id: uid })
function setState(map: Map, uid: string, state: object): void {
  map.setFeatureState(featureOf(uid), state)
}

/** Fades revoked records, and restores those whose revocation a reorg dropped, until their tiles arrive. */
function fading(map: Map) {
  let faded: RecordKey[] = []
  return {
    start: (events: readonly Change[]) => {
      const records = events.flatMap((event) =>
        'record' in event && event.kind !== 'new' ? [event.record] : [],
      )
      if (records.length === 0) return
      const start = performance.now()
      const step = () => {
        if (!map.getSource(SOURCE)) return
        const done = isStill() ? 1 : Math.min(1, (performance.now() - start) / FADE_MS)
        for (const { chain, uid, revoked } of records)
          setState(map, uid, { [fadedOn(chain)]: revoked ? done : 1 - done })
        if (done < 1) requestAnimationFrame(step)
        else faded.push(...records)
      }
      step()
    },
    /** removes the states of completed transitions: the loaded tiles have the current ones */
    end: () => {
      for (const { chain, uid } of faded) map.removeFeatureState(featureOf(uid), fadedOn(chain))
      faded = []
    },
  }
}

/** Highlights the positions of the newest changes for a moment. */
function pulse(map: Map, events: readonly Change[]): void {
  for (const event of events.slice(-MOST_PULSES)) {
    const { longitude, latitude } = 'record' in event ? event.record : {}
    if (typeof longitude !== 'number' || typeof latitude !== 'number') continue
    const marker = new Marker({ element: element(`pulse pulse-${event.kind}`) })
    marker.setLngLat([longitude, latitude]).addTo(map)
    setTimeout(() => marker.remove(), PULSE_MS)
  }
}

function element(className: string): HTMLElement {
  const made = document.createElement('div')
  made.className = className
  return made
}

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches
