import type { Feature } from 'geojson'
import { extentOf, type Box } from './extent'
import type { GeoJSONSource, Map } from './library'

/** Geometries on the map that are not records: those of a form, and their measurements. */

const COLOURS = {
  a: '#2f6fde',
  b: '#d9480f',
  measured: '#c2255c',
  end: '#c2255c',
  buffer: '#8a4fd3',
  overlap: '#c2255c',
}
/** Latitude in degrees at which a flat map ends. */
export const FLAT_MAP_ENDS = 85
/** Pixels around the Earth at zoom 0. */
const TILE_PIXELS = 512
/** Minimum angle in radians between the middle and the edge of a view of a pole: about 50 km. */
const NEAREST = 0.008
const EMPTY = { type: 'FeatureCollection' as const, features: [] }

export function addLayers(map: Map): void {
  const colour = ['match', ['get', 'role'], ...Object.entries(COLOURS).flat(), '#000000'] as never
  const of = (...types: string[]) => ['in', ['geometry-type'], ['literal', types]] as never
  for (const source of ['given', 'measured']) {
    map.addSource(source, { type: 'geojson', data: EMPTY, tolerance: 0 })
    map.addLayer({
      id: `${source}-fill`,
      type: 'fill',
      source,
      filter: of('Polygon', 'MultiPolygon'),
      paint: {
        'fill-color': colour,
        'fill-antialias': false,
        'fill-opacity': ['match', ['get', 'role'], 'overlap', 0.45, 0.18] as never,
      },
    })
    map.addLayer({
      id: `${source}-line`,
      type: 'line',
      source,
      filter: of('LineString', 'MultiLineString'),
      layout: { 'line-join': 'round', 'line-cap': 'round' },
      paint: { 'line-color': colour, 'line-width': source === 'measured' ? 4 : 2.5 },
    })
    map.addLayer({
      id: `${source}-point`,
      type: 'circle',
      source,
      filter: of('Point', 'MultiPoint'),
      paint: {
        'circle-radius': source === 'measured' ? 4 : 8,
        'circle-color': colour,
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 2,
      },
    })
  }
}

export function show(map: Map, source: 'given' | 'measured', features: Feature[]): void {
  // The style of a removed map is undefined.
  if (map.style) void map.getSource<GeoJSONSource>(source)?.setData({ type: 'FeatureCollection', features })
}

/** Brings the features into view, each on the copy of the world that is nearest to the first feature. */
export function frame(map: Map, features: readonly Feature[]): void {
  const extent = extentOf(features.map(({ geometry }) => geometry))
  if (!extent) return
  const [west, south, east, north] = extent
  if (north > FLAT_MAP_ENDS || south < -FLAT_MAP_ENDS) return framePole(map, extent)
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  const { width, height, left, right } = map.getContainer().getBoundingClientRect()
  // A map that is low, as in an enlarged page, has no room for the usual margin.
  const margin = Math.min(60, width / 6, height / 6)
  const padding = { top: margin, bottom: margin, left: margin, right: margin }
  const card = document.querySelector('.card')?.getBoundingClientRect()
  // Frames next to the open card, unless the card leaves no room there, as on a phone.
  if (card && Math.max(card.left - left, right - card.right) > 3 * margin) {
    if (card.left - left > right - card.right) padding.right += Math.max(0, right - card.left)
    else padding.left += Math.max(0, card.right - left)
  }
  map.fitBounds([west, south, east, north], { padding, maxZoom: 14, animate: !still, duration: 500 })
}

/** Switches to the globe, seen from next to the nearer pole, because a flat map ends before the poles. */
function framePole(map: Map, [west, south, east, north]: Box): void {
  map.setProjection({ type: 'globe' })
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const end = radians(FLAT_MAP_ENDS)
  /** cosine of the angle from the centre of the map, on the sphere, to a corner of the box */
  const cosine = (latitude: number) =>
    Math.sin(end) * Math.sin(latitude) +
    Math.cos(end) * Math.cos(latitude) * Math.cos(radians(Math.min(180, (east - west) / 2)))
  const isNorth = north > -south
  const corners = [south, north].map((latitude) => cosine(radians(isNorth ? latitude : -latitude)))
  const farthest = Math.min(
    Math.PI / 2,
    Math.max(NEAREST, ...corners.map((each) => Math.acos(Math.min(1, each)))),
  )
  const { width, height } = map.getContainer().getBoundingClientRect()
  const radius = (0.4 * Math.min(width, height)) / Math.sin(farthest)
  // The zoom applies at the centre's latitude, at which the flat map is larger by the inverse of its cosine.
  const zoom = Math.log2((2 * Math.PI * radius * Math.cos(end)) / TILE_PIXELS)
  map.jumpTo({ center: [(west + east) / 2, isNorth ? FLAT_MAP_ENDS : -FLAT_MAP_ENDS], zoom })
}
