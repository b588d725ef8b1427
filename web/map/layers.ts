import type { Feature, Geometry, Position } from 'geojson'
import { LngLatBounds, type GeoJSONSource, type Map } from './library'

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
const FLAT_MAP_ENDS = 85
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
  const positions = features.flatMap(({ geometry }) => positionsOf(geometry))
  if (positions.length === 0) return
  const near = positions[0]![0]!
  const bounds = new LngLatBounds()
  for (const [longitude = 0, latitude = 0] of positions) {
    const moved = features.length > 1 ? longitude + 360 * Math.round((near - longitude) / 360) : longitude
    bounds.extend([moved, Math.max(-FLAT_MAP_ENDS, Math.min(FLAT_MAP_ENDS, latitude))])
  }
  if (positions.some(([, latitude]) => Math.abs(latitude!) > FLAT_MAP_ENDS)) {
    framePole(map, positions)
    return
  }
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  map.fitBounds(bounds, { padding: 60, maxZoom: 14, animate: !still, duration: 500 })
}

/** Switches to the globe, seen from above the nearer pole, because a flat map ends before the poles. */
function framePole(map: Map, positions: readonly Position[]): void {
  map.setProjection({ type: 'globe' })
  const latitudes = positions.map(([, latitude]) => latitude!)
  const [least, most] = [Math.min(...latitudes), Math.max(...latitudes)]
  const north = most > -least
  const span = 2 * (north ? 90 - least : 90 + most)
  // The zoom applies at the centre's latitude, at which the flat map is larger by the inverse of its cosine.
  const zoom = Math.log2(300 / span) + Math.log2(Math.cos((FLAT_MAP_ENDS * Math.PI) / 180))
  map.jumpTo({ center: [positions[0]![0]!, north ? FLAT_MAP_ENDS : -FLAT_MAP_ENDS], zoom })
}

export function positionsOf(geometry: Geometry): Position[] {
  if (geometry.type === 'GeometryCollection') return geometry.geometries.flatMap(positionsOf)
  const depth = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 }
  return [geometry.coordinates].flat(depth[geometry.type]) as never as Position[]
}
