import type { RecordEvent } from '@geospatial-attestation/client'
import type { AddLayerObject, ExpressionSpecification, FilterSpecification } from 'maplibre-gl'
import { lacksGeometry } from '../../src/location/event-time'
import { chainColour, KINDS, OTHER_KIND, SLUGS } from '../chains'
import { addressOf } from '../service'
import { Marker, Popup, type Map, type MapMouseEvent, type VectorTileSource } from './library'
import './records.css'

/** Records on a map, from the service's vector tiles (docs/reference/tiles.md). */

export interface RecordsLook {
  by: 'chain' | 'type'
  /** slugs of chains, or names of kinds, that are hidden */
  hidden: readonly string[]
}
export interface RecordKey {
  chain: string
  uid: string
}
/** Current content of the map. */
export interface Shown {
  /** number of places, including those that clusters count */
  places: number
  revoked: number
}

type PaintName = Parameters<Map['setPaintProperty']>[1]
/** A layer in plain types: with those of MapLibre, the linter compares thousands of kinds of expressions. */
interface RecordLayer {
  id: string
  type: 'fill' | 'line' | 'circle' | 'symbol'
  source: string
  'source-layer': string
  filter: FilterSpecification
  layout?: Readonly<Record<string, unknown>>
  paint: Readonly<Record<string, unknown>>
}

const SOURCE = 'records'
const LAYERS = ['areas', 'area-edges', 'lines', 'points', 'clusters'].map((name) => `records-${name}`)
const COUNTED_COLOUR = '#41505f'
const OPACITY = { plain: 0.9, faded: 0.3 }
const FADE_MS = 900
/** Maximum number of changes of a batch that are highlighted. */
const MOST_PULSES = 30
const PULSE_MS = 2_400
/** Pixels around the pointer in which a feature is hit. */
const REACH = 5
const MAX_ZOOM = 22

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

  const popup = new Popup({ closeButton: false, closeOnClick: false, className: 'hint', offset: 8 })
  const marker = new Marker({ element: element('selected-place') })
  let selectedUid: string | undefined
  const layerAt = ({ point: { x, y } }: MapMouseEvent) => {
    const box: [[number, number], [number, number]] = [
      [x - REACH, y - REACH],
      [x + REACH, y + REACH],
    ]
    return map.queryRenderedFeatures(box, { layers: LAYERS })
  }
  const move = (event: MapMouseEvent) => {
    const [top] = layerAt(event)
    map.getCanvas().style.cursor = top ? 'pointer' : ''
    if (!top) return void popup.remove()
    const {
      memo,
      location_type: type,
      point_count: count,
    } = top.properties as { memo?: string; location_type?: string; point_count?: number }
    popup
      .setLngLat(event.lngLat)
      .setText(count ? `${count.toLocaleString()} places: click to zoom in` : memo || type || '')
      .addTo(map)
  }
  const click = (event: MapMouseEvent) => {
    // While the user draws, a click selects nothing.
    if (map.getContainer().hasAttribute('data-drawing')) return
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
        .map(({ properties }) => [properties.uid as string, properties as unknown as RecordKey]),
    )
    // If there are several at one position, each click shows the next one.
    const uids = [...records.keys()]
    const next = records.get(uids[(uids.indexOf(selectedUid ?? '') + 1) % uids.length] ?? '')
    if (next) onSelect({ chain: next.chain, uid: next.uid })
  }
  /**
   * Reloads all tiles, or these. MapLibre 6.17 does not repeat a pending request, but uses its response, and
   * it sends none while a layer's change waits for a frame. So tiles are reloaded when the map is idle.
   */
  let again: 'all' | Tiles | undefined
  const loadAgain = (tiles?: Tiles) => {
    again = tiles && again !== 'all' ? [...(again ?? []), ...tiles] : 'all'
  }
  const load = (start: () => void, tiles?: Tiles) => {
    if (!map.loaded()) loadAgain(tiles)
    start()
    // A refresh does not report its begin, nor an unmodified tile its arrival (world-map.tsx).
    map.fire('dataloading', { dataType: 'source', sourceId: SOURCE })
  }
  const refresh = (tiles?: Tiles) => load(() => map.refreshTiles(SOURCE, tiles), tiles)
  const subscriptions = [
    map.on('mousemove', move),
    map.on('mouseout', () => void popup.remove()),
    map.on('click', click),
    map.on('idle', () => {
      onShown(shownOn(map))
      if (!again) return
      const tiles = again === 'all' ? undefined : again
      again = undefined
      refresh(tiles)
    }),
    map.on('error', (event) => {
      const { sourceId, error } = event as unknown as { sourceId?: string; error?: { status?: number } }
      if (sourceId === SOURCE) onFailure(error?.status)
    }),
  ]

  return {
    setQuery: (next: string) =>
      load(() => map.getSource<VectorTileSource>(SOURCE)?.setTiles([tilesOf(next)])),
    setLook: (next: RecordsLook) => {
      if (!map.isSourceLoaded(SOURCE)) loadAgain()
      for (const { id, filter, paint } of recordLayers(next)) {
        map.setFilter(id, filter)
        for (const name of Object.keys(paint) as PaintName[])
          map.setPaintProperty(id, name, paint[name] as ExpressionSpecification)
        if (id === 'records-counts') map.setLayoutProperty(id, 'text-field', countText(next))
      }
    },
    /** reloads all tiles; responses for unchanged ones have no content */
    refresh: () => refresh(),
    /** shows changes: tiles that they touch are reloaded */
    change: (events: readonly RecordEvent[]) => {
      pulse(map, events)
      fade(map, events)
      const touched = touchedTiles(events)
      if (touched?.length !== 0) refresh(touched)
    },
    /** marks a record; `at` is its position, if it has one */
    select: (uid: string | undefined, at: readonly [number, number] | undefined) => {
      if (selectedUid !== undefined) setState(map, selectedUid, { selected: false })
      selectedUid = uid
      if (uid !== undefined) setState(map, uid, { selected: true })
      if (at) marker.setLngLat([...at]).addTo(map)
      else marker.remove()
    },
    remove: () => {
      for (const subscription of subscriptions) subscription.unsubscribe()
      popup.remove()
      marker.remove()
    },
  }
}
export type RecordsOnMap = ReturnType<typeof addRecords>

const tilesOf = (query: string) =>
  `${addressOf('tiles/location-records/{z}/{x}/{y}.mvt')}${query && `?${query.replaceAll('{', '%7B')}`}`

/** Group of a record: its chain, or the kind of its location type. */
function groupOf({ by }: RecordsLook): ExpressionSpecification {
  if (by === 'chain') return ['get', 'chain']
  const type: ExpressionSpecification = ['downcase', ['get', 'location_type']]
  return [
    'case',
    ...KINDS.flatMap(({ name, prefix }) => [['==', ['slice', type, 0, prefix.length], prefix], name]),
    OTHER_KIND.name,
  ] as unknown as ExpressionSpecification
}

function colourOf(look: RecordsLook): ExpressionSpecification {
  const colours =
    look.by === 'chain'
      ? SLUGS.map((slug) => [slug, chainColour(slug)])
      : KINDS.map(({ name, colour }) => [name, colour])
  return ['match', groupOf(look), ...colours.flat(), OTHER_KIND.colour] as unknown as ExpressionSpecification
}

/** Number of a cluster's records that are shown: those of hidden chains do not count. */
function countOf({ by, hidden }: RecordsLook): ExpressionSpecification {
  if (by === 'type' || hidden.length === 0) return ['get', 'point_count']
  const shown = SLUGS.filter((slug) => !hidden.includes(slug)).map((slug) => ['coalesce', ['get', slug], 0])
  return ['+', 0, ...shown] as unknown as ExpressionSpecification
}
const countText = (look: RecordsLook): ExpressionSpecification =>
  [
    ...['step', countOf(look), ['to-string', countOf(look)]],
    ...[1_000, ['concat', ['to-string', ['floor', ['/', countOf(look), 1_000]]], 'k']],
    ...[1_000_000, ['concat', ['to-string', ['floor', ['/', countOf(look), 1_000_000]]], 'M']],
  ] as unknown as ExpressionSpecification

/** A cluster of one chain has its colour. */
function clusterColour(look: RecordsLook): ExpressionSpecification | string {
  if (look.by === 'type') return COUNTED_COLOUR
  const shown = SLUGS.filter((slug) => !look.hidden.includes(slug))
  return [
    'case',
    ...shown.flatMap((slug) => [['==', ['coalesce', ['get', slug], 0], countOf(look)], chainColour(slug)]),
    COUNTED_COLOUR,
  ] as unknown as ExpressionSpecification
}

/** 1 for a revoked record, between 0 and 1 during the transition. */
const FADED: ExpressionSpecification = [
  'coalesce',
  ['feature-state', 'faded'],
  ['case', ['==', ['get', 'revoked'], true], 1, 0],
]
const opacity = (plain: number, faded: number): ExpressionSpecification => [
  '-',
  plain,
  ['*', plain - faded, FADED],
]
const whenSelected = (yes: number, no: number): ExpressionSpecification => [
  'case',
  ['boolean', ['feature-state', 'selected'], false],
  yes,
  no,
]

function recordLayers(look: RecordsLook): RecordLayer[] {
  const isShown = ['!', ['in', groupOf(look), ['literal', look.hidden]]]
  const filter = (type: string) =>
    ['all', ['==', ['geometry-type'], type], isShown] as unknown as FilterSpecification
  const counted = ['>', countOf(look), 0] as unknown as FilterSpecification
  const colour = colourOf(look)
  const records = { source: SOURCE, 'source-layer': 'records' }
  const clusters = { source: SOURCE, 'source-layer': 'clusters' }
  const line = {
    'line-color': colour,
    'line-width': whenSelected(4, 2),
    'line-opacity': opacity(OPACITY.plain, OPACITY.faded),
  }
  return [
    {
      id: 'records-areas',
      type: 'fill',
      ...records,
      filter: filter('Polygon'),
      paint: { 'fill-color': colour, 'fill-opacity': opacity(0.28, 0.08) },
    },
    { id: 'records-area-edges', type: 'line', ...records, filter: filter('Polygon'), paint: line },
    { id: 'records-lines', type: 'line', ...records, filter: filter('LineString'), paint: line },
    {
      id: 'records-points',
      type: 'circle',
      ...records,
      filter: filter('Point'),
      paint: {
        'circle-color': colour,
        'circle-radius': whenSelected(8, 5.5),
        'circle-opacity': opacity(OPACITY.plain, OPACITY.faded),
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 1.5,
        'circle-stroke-opacity': opacity(OPACITY.plain, OPACITY.faded),
      },
    },
    {
      id: 'records-clusters',
      type: 'circle',
      ...clusters,
      filter: counted,
      paint: {
        'circle-color': clusterColour(look),
        'circle-radius': ['interpolate', ['linear'], ['log10', countOf(look)], 0, 8, 2, 14, 5, 26],
        'circle-opacity': ['case', ['==', ['get', 'revoked_count'], ['get', 'point_count']], 0.35, 0.85],
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 1,
      },
    },
    {
      id: 'records-counts',
      type: 'symbol',
      ...clusters,
      filter: counted,
      layout: {
        'text-field': countText(look),
        'text-font': ['system-ui', 'sans-serif'],
        'text-size': 11,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': '#ffffff' },
    },
  ]
}

function shownOn(map: Map): Shown {
  const seen = new Set<unknown>()
  const shown: Shown = { places: 0, revoked: 0 }
  for (const { properties } of map.queryRenderedFeatures({ layers: LAYERS })) {
    const { uid, revoked, point_count: count, revoked_count: revokedCount } = properties
    const key: unknown = uid ?? properties
    if (seen.has(key)) continue
    seen.add(key)
    shown.places += uid === undefined ? (count as number) : 1
    shown.revoked += uid === undefined ? (revokedCount as number) : revoked ? 1 : 0
  }
  return shown
}

function setState(map: Map, uid: string, state: object): void {
  map.setFeatureState({ source: SOURCE, sourceLayer: 'records', id: uid }, state)
}

/** Fades revoked records, and restores those whose revocation a reorg dropped. */
function fade(map: Map, events: readonly RecordEvent[]): void {
  const records = events.flatMap((event) => ('record' in event && event.kind !== 'new' ? [event.record] : []))
  if (records.length === 0) return
  const start = performance.now()
  const step = () => {
    if (!map.getSource(SOURCE)) return
    const done = isStill() ? 1 : Math.min(1, (performance.now() - start) / FADE_MS)
    for (const { uid, revoked } of records) setState(map, uid, { faded: revoked ? done : 1 - done })
    if (done < 1) requestAnimationFrame(step)
  }
  step()
}

/** Highlights changes. */
function pulse(map: Map, events: readonly RecordEvent[]): void {
  for (const event of events.slice(-MOST_PULSES)) {
    const { longitude, latitude } = 'record' in event ? event.record : {}
    if (typeof longitude !== 'number' || typeof latitude !== 'number') continue
    const marker = new Marker({ element: element(`pulse pulse-${event.kind}`) })
    marker.setLngLat([longitude, latitude]).addTo(map)
    setTimeout(() => marker.remove(), PULSE_MS)
  }
}

/** Tiles that contain changed points; undefined if a change may be in any tile. */
function touchedTiles(events: readonly RecordEvent[]): { x: number; y: number; z: number }[] | undefined {
  const touched = new globalThis.Map<string, { x: number; y: number; z: number }>()
  for (const event of events) {
    if (!('record' in event)) return undefined
    const { longitude, latitude, problem } = event.record
    if (lacksGeometry(problem)) continue
    if (longitude === null || latitude === null) return undefined
    const radians = (latitude * Math.PI) / 180
    const [x, y] = [longitude / 360 + 0.5, 0.5 - Math.asinh(Math.tan(radians)) / (2 * Math.PI)]
    for (let z = 0; z <= MAX_ZOOM; z++) {
      const tiles = 2 ** z
      // Both tiles of a point on their border.
      for (const dx of [-1e-9, 1e-9])
        for (const dy of [-1e-9, 1e-9]) {
          const [column, row] = [Math.floor((x + dx) * tiles), Math.floor((y + dy) * tiles)]
          const tile = { x: ((column % tiles) + tiles) % tiles, y: row, z }
          touched.set(`${z}/${tile.x}/${tile.y}`, tile)
        }
    }
  }
  return [...touched.values()]
}

function element(className: string): HTMLElement {
  const made = document.createElement('div')
  made.className = className
  return made
}

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches
