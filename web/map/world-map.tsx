import { useEffect, useRef, useState } from 'preact/hooks'
import 'maplibre-gl/dist/maplibre-gl.css'
import { basemapStyle, followDetail } from './basemap'
import { AttributionControl, GlobeControl, Map, NavigationControl, ScaleControl } from './library'

export interface View {
  longitude: number
  latitude: number
  zoom: number
}

/**
 * The map that all pages show: the basemap, controls, and what `onReady` adds to it. `fallback` stands in
 * where the browser has no WebGL.
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
  const [failed, setFailed] = useState(false)
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
    })
    map.addControl(new NavigationControl({ visualizePitch: true }), 'bottom-right')
    map.addControl(new GlobeControl(), 'bottom-right')
    map.addControl(new ScaleControl(), 'bottom-right')
    map.addControl(new AttributionControl({ compact: true }), 'bottom-right')
    map.on('moveend', () => {
      const { lng, lat } = map.getCenter().wrap()
      onView?.({ longitude: lng, latitude: lat, zoom: map.getZoom() })
    })
    let leave: void | (() => void)
    map.once('style.load', () => {
      void followDetail(map)
      leave = onReady(map)
    })
    return () => {
      leave?.()
      map.remove()
    }
  }, [failed])
  return (
    <div class="map" role="region" aria-label="Map">
      {failed ? fallback() : <div ref={element} />}
    </div>
  )
}

function hasWebGL(): boolean {
  const context = document.createElement('canvas').getContext('webgl2')
  context?.getExtension('WEBGL_lose_context')?.loseContext()
  return context !== null
}
