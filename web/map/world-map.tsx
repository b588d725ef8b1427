import { useEffect, useRef, useState } from 'preact/hooks'
import 'maplibre-gl/dist/maplibre-gl.css'
import { basemapStyle, followDetail } from './basemap'
import { AttributionControl, GlobeControl, Map, NavigationControl, ScaleControl } from './library'

/**
 * Milliseconds between two checks that a busy map is idle. MapLibre checks when it draws, and draws nothing
 * for an unmodified tile: after one that comes last it would stay busy.
 */
const LOOK_MS = 100

export interface View {
  longitude: number
  latitude: number
  zoom: number
}

/**
 * Map of all pages: the basemap, controls, and everything that `onReady` adds. Scale and attribution are in a
 * separate strip below it. `fallback` replaces it if the browser has no WebGL. Its element has `data-state`
 * `idle` if everything is drawn.
 */
export function WorldMap({
  view,
  onReady,
  onView,
  fallback,
}: {
  view: View
  onReady: (map: Map) => void | (() => void)
  onView?: (view: View) => void
  fallback: () => preact.ComponentChildren
}) {
  const element = useRef<HTMLDivElement>(null)
  const foot = useRef<HTMLDivElement>(null)
  const [failed, setFailed] = useState(false)
  const [state, setState] = useState<'busy' | 'idle'>('busy')
  useEffect(() => {
    if (failed || !element.current) return
    if (!hasWebGL()) {
      setFailed(true)
      return
    }
    const map = new Map({
      container: element.current,
      style: basemapStyle(),
      center: [view.longitude, view.latitude],
      zoom: view.zoom,
      attributionControl: false,
      fadeDuration: 0,
      maxZoom: 22,
      // Tiles out of view may have changed when they return: the browser's own cache revalidates their ETag.
      maxTileCacheSize: 0,
    })
    performance.mark('map-made')
    let looking: ReturnType<typeof setInterval> | undefined
    const look = () => {
      setState('busy')
      looking ??= setInterval(() => map.triggerRepaint(), LOOK_MS)
    }
    const rest = () => {
      clearInterval(looking)
      looking = undefined
    }
    for (const event of ['dataloading', 'movestart'] as const) map.on(event, look)
    map.on('idle', () => {
      rest()
      setState('idle')
    })
    map.addControl(new NavigationControl({ visualizePitch: true }), 'bottom-right')
    map.addControl(new GlobeControl(), 'bottom-right')
    // Not added as controls, which would be stacked on the map, above its buttons and over places.
    const below = [new ScaleControl(), new AttributionControl({ compact: false })]
    foot.current?.append(...below.map((control) => control.onAdd(map)))
    map.on('moveend', () => {
      const { lng, lat } = map.getCenter().wrap()
      onView?.({ longitude: lng, latitude: lat, zoom: map.getZoom() })
    })
    let leave: void | (() => void)
    map.once('style.load', () => {
      void followDetail(map).then(() => map.once('render', () => performance.mark('map-land')))
      map.once('idle', () => performance.mark('map-idle'))
      leave = onReady(map)
    })
    return () => {
      leave?.()
      rest()
      for (const control of below) control.onRemove()
      map.remove()
    }
  }, [failed])
  return (
    <>
      <div class="map" role="region" aria-label="Map" data-state={failed ? 'idle' : state}>
        {failed ? fallback() : <div ref={element} />}
      </div>
      {!failed && <div ref={foot} class="map-foot" />}
    </>
  )
}

function hasWebGL(): boolean {
  const context = document.createElement('canvas').getContext('webgl2')
  context?.getExtension('WEBGL_lose_context')?.loseContext()
  return context !== null
}
