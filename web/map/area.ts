import { effect, type ReadonlySignal } from '@preact/signals'
import { boxBetween, featureOf, nearest, ringOf, wrapped, type Box } from './extent'
import type { GeoJSONSource, Map } from './library'

const SOURCE = 'area'
const COLOUR = '#d9480f'

/** Shows the box and its changes, until the returned function is called. */
export function showArea(map: Map, area: ReadonlySignal<Box | undefined>): () => void {
  map.addSource(SOURCE, { type: 'geojson', data: shapeOf(undefined) })
  map.addLayer({
    id: 'area',
    type: 'line',
    source: SOURCE,
    paint: { 'line-color': COLOUR, 'line-width': 2, 'line-dasharray': [3, 2] },
  })
  return effect(() => void map.getSource<GeoJSONSource>(SOURCE)?.setData(shapeOf(area.value)))
}

/** Lets the user drag a box; `onDone` receives undefined after Escape. The result ends the drag. */
export function dragArea(map: Map, onDone: (box: Box | undefined) => void): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  const container = map.getCanvasContainer()
  const canvas = map.getCanvas()
  const gestures = [map.dragPan, map.touchZoomRotate, map.boxZoom, map.doubleClickZoom]
  for (const gesture of gestures) gesture.disable()
  canvas.classList.add('drawing')
  let from: { lng: number; lat: number } | undefined
  let last: number | undefined
  const at = (event: PointerEvent) => {
    const { left, top } = container.getBoundingClientRect()
    const { lng, lat } = map.unproject([event.clientX - left, event.clientY - top])
    // On the globe, longitudes jump at the antimeridian.
    if (last === undefined || map.getProjection()?.type !== 'globe') last = lng
    else last = nearest(lng, last)
    return { lng: last, lat }
  }
  const show = (box: Box | undefined) => void map.getSource<GeoJSONSource>(SOURCE)?.setData(shapeOf(box))
  const end = (box: Box | undefined) => {
    stop()
    onDone(box)
  }
  const stop = () => {
    leaving.abort()
    for (const gesture of gestures) gesture.enable()
    canvas.classList.remove('drawing')
  }
  container.addEventListener(
    'pointerdown',
    (event) => {
      last = undefined
      from = at(event)
      container.setPointerCapture(event.pointerId)
    },
    { signal },
  )
  container.addEventListener('pointermove', (event) => from && show(boxBetween(from, at(event))), { signal })
  container.addEventListener('pointercancel', () => end(undefined), { signal })
  container.addEventListener(
    'pointerup',
    (event) => {
      const box = from && boxBetween(from, at(event))
      // A click alone does not select an area.
      if (box && box[0] !== box[2] && box[1] !== box[3]) end(box)
      else from = undefined
    },
    { signal },
  )
  addEventListener('keydown', (event) => event.key === 'Escape' && end(undefined), { signal })
  return stop
}

/** Box of the view; undefined if it is the whole world. */
export function viewBox(map: Map): Box | undefined {
  const bounds = map.getBounds()
  // The map ends at 85 degrees. A view that reaches its edge includes everything beyond.
  const south = bounds.getSouth() <= -85 ? -90 : bounds.getSouth()
  const north = bounds.getNorth() >= 85 ? 90 : bounds.getNorth()
  const [west, east] = [bounds.getWest(), bounds.getEast()]
  if (east - west < 360) return [wrapped(west), south, wrapped(east), north]
  return south === -90 && north === 90 ? undefined : [-180, south, 180, north]
}

function shapeOf(box: Box | undefined): GeoJSON.Feature | GeoJSON.FeatureCollection {
  if (!box) return { type: 'FeatureCollection', features: [] }
  const [west, south, east, north] = box
  const coordinates = ringOf([west, south, east < west ? east + 360 : east, north])
  return featureOf({ type: 'LineString', coordinates })
}
