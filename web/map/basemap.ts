import type { MultiPolygon, Position } from 'geojson'
import type { StyleSpecification } from 'maplibre-gl'
import { feature, mesh } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import cities from 'virtual:basemap/cities'
import coarse from 'virtual:basemap/countries-110m'
import fine from 'virtual:basemap/countries-10m'
import medium from 'virtual:basemap/countries-50m'
import lakes from 'virtual:basemap/lakes'
import type { GeoJSONSource, Map } from './library'

/** Colours of the basemap, for a light and a dark page. */
const PALETTES = {
  light: { water: '#cfe3ee', land: '#f6f4ee', border: '#b9b4a6', label: '#4b4a45', halo: '#f6f4ee' },
  dark: { water: '#131c26', land: '#26303a', border: '#4d5965', label: '#b9c2cb', halo: '#1b242d' },
}

/** Borders and land, by the zoom at which they are detailed enough. */
const DETAILS = [
  { zoom: 0, url: coarse },
  { zoom: 3, url: medium },
  { zoom: 6, url: fine },
]
/** Layers that are loaded and drawn at a minimum zoom. */
const ADDED = [
  { source: 'lakes', zoom: 2, url: lakes },
  { source: 'cities', zoom: 2.5, url: cities },
] as const
const EMPTY = { type: 'FeatureCollection' as const, features: [] }
type World = Topology<{ countries: GeometryCollection; land: GeometryCollection }>

/**
 * Style of the basemap: land, borders, lakes and cities, all from the service itself. Without `glyphs`, the
 * fonts of the system draw the text.
 */
export function basemapStyle(): StyleSpecification {
  const palette = matchMedia('(prefers-color-scheme: dark)').matches ? PALETTES.dark : PALETTES.light
  const { water, land, border, label, halo } = palette
  return {
    version: 8,
    sources: {
      land: { type: 'geojson', data: EMPTY, attribution: 'Natural Earth' },
      borders: { type: 'geojson', data: EMPTY },
      lakes: { type: 'geojson', data: EMPTY },
      cities: { type: 'geojson', data: EMPTY, attribution: 'GeoNames (CC BY 4.0)' },
    },
    layers: [
      { id: 'water', type: 'background', paint: { 'background-color': water } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': land, 'fill-antialias': false } },
      { id: 'lakes', type: 'fill', source: 'lakes', paint: { 'fill-color': water } },
      {
        id: 'borders',
        type: 'line',
        source: 'borders',
        paint: { 'line-color': border, 'line-width': ['interpolate', ['linear'], ['zoom'], 1, 0.4, 6, 1.2] },
      },
      {
        id: 'cities',
        type: 'symbol',
        source: 'cities',
        // Larger cities first: a city has a name at the zoom at which its population is distinguishable.
        filter: [
          '>=',
          ['get', 'population'],
          ['interpolate', ['exponential', 0.5], ['zoom'], 2.5, 6e6, 4, 2e6, 6, 5e5, 8, 1e5],
        ],
        layout: {
          'text-field': ['get', 'name'],
          'text-font': ['system-ui', 'sans-serif'],
          'text-size': ['interpolate', ['linear'], ['zoom'], 3, 10, 8, 13],
          'symbol-sort-key': ['-', ['get', 'population']],
        },
        paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.2 },
      },
    ],
  }
}

/** Land as GeoJSON at the coarsest detail, for a map without WebGL. */
export async function coarseLand() {
  return landOf(await loaded(coarse))
}

/** Updates the detail of the basemap to the map's zoom. Resolves when the first land is loaded. */
export async function followDetail(map: Map): Promise<void> {
  let shown = -1
  const waiting = new Set(ADDED)
  const follow = async () => {
    for (const added of waiting)
      if (map.getZoom() >= added.zoom) {
        waiting.delete(added)
        void map.getSource<GeoJSONSource>(added.source)?.setData(added.url)
      }
    const wanted = DETAILS.findLastIndex(({ zoom }) => map.getZoom() >= zoom)
    if (wanted <= shown) return
    const before = shown
    shown = wanted
    try {
      const world = await loaded(DETAILS[wanted]!.url)
      const borders = mesh(world, world.objects.countries, (a, b) => a !== b)
      await Promise.all([
        map.getSource<GeoJSONSource>('land')?.setData(landOf(world)),
        map.getSource<GeoJSONSource>('borders')?.setData(borders),
      ])
    } catch {
      // The coarser land stays. The next move retries.
      shown = before
    }
  }
  map.on('moveend', () => void follow())
  await follow()
}

/** Land for a flat map: rings of the topology cross the antimeridian and run around the south pole. */
function landOf(world: World): MultiPolygon {
  const { features } = feature(world, world.objects.land)
  const polygons = features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon'
      ? geometry.coordinates
      : geometry.type === 'Polygon'
        ? [geometry.coordinates]
        : [],
  )
  return { type: 'MultiPolygon', coordinates: polygons.map((rings) => rings.map(unrolled)) }
}

/**
 * The ring without jumps of its longitudes, which may pass 180. A ring around a pole is closed over the pole.
 */
function unrolled(ring: Position[]): Position[] {
  let turns = 0
  const positions = ring.map(([longitude = 0, latitude = 0], i) => {
    const step = longitude - (ring[i - 1]?.[0] ?? longitude)
    if (Math.abs(step) > 180) turns -= Math.sign(step)
    return [longitude + 360 * turns, latitude]
  })
  const [first, last] = [positions[0]!, positions.at(-1)!]
  if (turns !== 0) {
    const pole = 90 * Math.sign(first[1]!)
    return [...positions, [last[0]!, pole], [first[0]!, pole], first]
  }
  const longitudes = positions.map(([longitude]) => longitude!)
  const shift = 360 * Math.round((Math.min(...longitudes) + Math.max(...longitudes)) / 720)
  return positions.map(([longitude, latitude]) => [longitude! - shift, latitude!])
}

async function loaded(url: string): Promise<World> {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`)
  return (await answer.json()) as World
}
