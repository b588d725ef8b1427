import { effect, type ReadonlySignal } from '@preact/signals'
import type { Geometry, Position } from 'geojson'
import type { GeoJSONSource, Map } from './library'

/** A box on the map, the drag that creates one, and the box of geometries. */

/** West, south, east, north in degrees; west > east crosses the antimeridian. */
export type Box = readonly [number, number, number, number]

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

/**
 * Lets the user drag a box, by mouse or finger. `onDone` receives undefined if the user cancels (Escape).
 * Returns a function that ends the drag.
 */
export function dragArea(map: Map, onDone: (box: Box | undefined) => void): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  const container = map.getCanvasContainer()
  const canvas = map.getCanvas()
  const gestures = [map.dragPan, map.touchZoomRotate, map.boxZoom, map.doubleClickZoom]
  for (const gesture of gestures) gesture.disable()
  canvas.classList.add('drawing')
  let from: { lng: number; lat: number } | undefined
  const at = (event: PointerEvent) => {
    const { left, top } = container.getBoundingClientRect()
    return map.unproject([event.clientX - left, event.clientY - top])
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
      from = at(event)
      container.setPointerCapture(event.pointerId)
    },
    { signal },
  )
  container.addEventListener('pointermove', (event) => from && show(between(from, at(event))), { signal })
  container.addEventListener('pointercancel', () => end(undefined), { signal })
  container.addEventListener(
    'pointerup',
    (event) => {
      const box = from && between(from, at(event))
      // A click alone does not select an area.
      if (box && box[0] !== box[2] && box[1] !== box[3]) end(box)
      else from = undefined
    },
    { signal },
  )
  addEventListener('keydown', (event) => event.key === 'Escape' && end(undefined), { signal })
  return stop
}

function between(a: { lng: number; lat: number }, b: { lng: number; lat: number }): Box {
  const [south, north] = [Math.min(a.lat, b.lat), Math.max(a.lat, b.lat)]
  const [west, east] = [Math.min(a.lng, b.lng), Math.max(a.lng, b.lng)]
  return east - west >= 360 ? [-180, south, 180, north] : [wrapped(west), south, wrapped(east), north]
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

/**
 * Box of geometries on the copies of the world that are nearest to the first position, so its longitudes may
 * be beyond 180 degrees, and east is not less than west. A ring around a pole contains the pole. Undefined if
 * there is no position.
 */
export function extentOf(geometries: readonly Geometry[]): Box | undefined {
  const parts = geometries.flatMap(partsOf).filter(({ length }) => length > 0)
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  const add = (longitude: number, latitude: number) => {
    ;[west, east] = [Math.min(west, longitude), Math.max(east, longitude)]
    ;[south, north] = [Math.min(south, latitude), Math.max(north, latitude)]
  }
  for (const part of parts) {
    // Edges are the shortest paths, so each position is within 180 degrees of the one before it.
    let before = parts[0]![0]![0]!
    const start = nearest(part[0]![0]!, before)
    for (const [longitude = 0, latitude = 0] of part) {
      before = nearest(longitude, before)
      add(before, latitude)
    }
    const [first, last] = [part[0]!, part.at(-1)!]
    const isRing = part.length > 3 && first[0] === last[0] && first[1] === last[1]
    if (isRing && Math.abs(before - start) > 180) add(before, first[1]! < 0 ? -90 : 90)
  }
  return parts.length === 0 ? undefined : [west, south, east, north]
}

/** All positions of a geometry. */
export const positionsOf = (geometry: Geometry): Position[] => partsOf(geometry).flat()

const nearest = (longitude: number, to: number) => longitude + 360 * Math.round((to - longitude) / 360)

/** Positions of each point, line and ring of a geometry. */
function partsOf(geometry: Geometry): Position[][] {
  switch (geometry.type) {
    case 'Point':
      return [[geometry.coordinates]]
    case 'MultiPoint':
      return geometry.coordinates.map((position) => [position])
    case 'LineString':
      return [geometry.coordinates]
    case 'MultiLineString':
    case 'Polygon':
      return geometry.coordinates
    case 'MultiPolygon':
      return geometry.coordinates.flat()
    case 'GeometryCollection':
      return geometry.geometries.flatMap(partsOf)
  }
}

export const wrapped = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180

function shapeOf(box: Box | undefined): GeoJSON.Feature | GeoJSON.FeatureCollection {
  if (!box) return { type: 'FeatureCollection', features: [] }
  const [west, south, , north] = box
  const east = box[2] < west ? box[2] + 360 : box[2]
  const corners = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: corners } }
}
