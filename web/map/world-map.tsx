import { useEffect, useRef, useState } from 'preact/hooks'
import 'maplibre-gl/dist/maplibre-gl.css'
import { say } from '../messages'
import { units } from '../units'
import { addStreets, basemapStyle, followScheme, hasStreets, STREET_ZOOM } from './basemap'
import type { Box } from './extent'
import { StreetNote } from './street-note'
import { AttributionControl, GlobeControl, Map, NavigationControl, ScaleControl } from './library'

/**
 * Milliseconds between two checks whether a busy map is idle. MapLibre checks only when it draws, and does
 * not draw for an unmodified tile: if such a tile comes last, the map would stay busy.
 */
const LOOK_MS = 100

export interface View {
  longitude: number
  latitude: number
  zoom: number
}

type State = 'busy' | 'idle'

/** Last view of the map, with which it starts again after a page without a map. */
let lastView: View | undefined
export const viewOr = (first: View): View => lastView ?? first

interface WorldMapProps {
  view: View
  onReady: (map: Map) => void | (() => void)
  onView?: (view: View) => void
  fallback: () => preact.ComponentChildren
}
/** Map of the pages; `fallback` replaces it without WebGL. `data-state="idle"`: everything is drawn. */
export function WorldMap({ view, onReady, onView, fallback }: WorldMapProps) {
  const element = useRef<HTMLDivElement>(null)
  const foot = useRef<HTMLDivElement>(null)
  const [failed, setFailed] = useState(false)
  const [state, setState] = useState<State>('busy')
  const [streetless, setStreetless] = useState<View>()
  useEffect(() => {
    if (failed || !element.current) return
    if (!hasWebGL()) {
      setFailed(true)
      return
    }
    const map = new Map({
      container: element.current,
      style: basemapStyle(),
      locale: say.map.parts,
      center: [view.longitude, view.latitude],
      zoom: view.zoom,
      attributionControl: false,
      fadeDuration: 0,
      maxZoom: 22,
      // No cache in memory, because tiles may have changed: the browser's own cache revalidates their ETag.
      maxTileCacheSize: 0,
    })
    const rest = followState(map, setState)
    const removeControls = addControls(map, foot.current)
    const leaveScheme = followScheme(map)
    let streets: Box | undefined
    const moved = () => {
      const center = map.getCenter().wrap()
      const next = { longitude: center.lng, latitude: center.lat, zoom: map.getZoom() }
      setStreetless(next.zoom >= STREET_ZOOM && !hasStreets(streets, center) ? next : undefined)
      return next
    }
    map.on('moveend', () => {
      lastView = moved()
      onView?.(lastView)
    })
    let leave: void | (() => void)
    map.once('style.load', () => {
      leave = onReady(map)
      const first = map.getStyle().layers.find((layer) => 'source' in layer && layer.source !== 'world')
      void addStreets(map, first?.id).then((added) => {
        streets = added
        moved()
      })
    })
    return () => {
      leave?.()
      rest()
      removeControls()
      leaveScheme()
      map.remove()
    }
  }, [failed])
  return (
    <>
      <div class="map" data-state={failed ? 'idle' : state}>
        {failed ? fallback() : <div ref={element} />}
        {streetless && <StreetNote {...streetless} />}
      </div>
      {!failed && <div ref={foot} class="map-foot" />}
    </>
  )
}

/** Reports each state of the map. Returns a function that ends the checks. */
function followState(map: Map, onState: (state: State) => void): () => void {
  let looking: ReturnType<typeof setInterval> | undefined
  const look = () => {
    onState('busy')
    looking ??= setInterval(() => map.triggerRepaint(), LOOK_MS)
  }
  const rest = () => {
    clearInterval(looking)
    looking = undefined
  }
  for (const event of ['dataloading', 'movestart'] as const) map.on(event, look)
  map.on('idle', () => {
    rest()
    onState('idle')
  })
  return rest
}

/** Adds the controls, those of `foot` outside the map. Returns a function that removes the latter. */
function addControls(map: Map, foot: HTMLElement | null): () => void {
  const corner = document.dir === 'rtl' ? 'bottom-left' : 'bottom-right'
  map.addControl(new NavigationControl({ visualizePitch: true }), corner)
  map.addControl(new GlobeControl(), corner)
  // Added to the map as controls, they would cover its buttons and places.
  const scale = new ScaleControl()
  const below = [scale, new AttributionControl({ compact: false })]
  foot?.append(...below.map((control) => control.onAdd(map)))
  const unsubscribe = units.subscribe((unit) => scale.setUnit(unit))
  return () => {
    unsubscribe()
    for (const control of below) control.onRemove()
  }
}

function hasWebGL(): boolean {
  const context = document.createElement('canvas').getContext('webgl2')
  context?.getExtension('WEBGL_lose_context')?.loseContext()
  return context !== null
}
