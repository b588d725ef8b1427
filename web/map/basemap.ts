import type { LayerSpecification, StyleSpecification } from 'maplibre-gl'
import { FetchSource, Protocol, PMTiles, type RangeResponse, type Source } from 'pmtiles'
import world from 'virtual:basemap/world'
import { BASE } from '../service'
import { ringOf, type Box } from './extent'
import { addProtocol, type Map } from './library'

/** The basemap: the world of Natural Earth, and streets if the deployment has them (setting BASEMAP). */

/** Colours of the world, for a light and a dark page. */
const PALETTES = {
  light: { water: '#cfe3ee', land: '#f6f4ee', border: '#b9b4a6', label: '#4b4a45', halo: '#f6f4ee' },
  dark: { water: '#131c26', land: '#26303a', border: '#4d5965', label: '#b9c2cb', halo: '#1b242d' },
}
/** System fonts, so that labels in any script need no glyphs from a server. */
const FONTS = ['system-ui', 'sans-serif']
const STREETS = 'streets'
/** Minimum zoom at which a map without streets shows a note. */
export const STREET_ZOOM = 8

/** Bytes of the world's file that one request reads: its directory and first view (web/build/basemap.mjs). */
const START_BYTES = 32_768

const protocol = new Protocol()
addProtocol('pmtiles', protocol.tile)
const worldUrl = new URL(world, location.href).href
protocol.add(new PMTiles(startAtOnce(worldUrl)))

/** URL of the deployment's PMTiles file, with the version in the HTML document; undefined without one. */
const { basemap } = document.documentElement.dataset
const streetsUrl = basemap === undefined ? undefined : `${BASE}/basemap.pmtiles?${basemap}`
const scheme = matchMedia('(prefers-color-scheme: dark)')
const isDark = () => scheme.matches
/** Layers of the streets in the colours of the page; none before `addStreets` has loaded them. */
let streetLayers = (): readonly LayerSpecification[] => []

/** Style of the world map. All of its resources come from this service. */
export function basemapStyle(): StyleSpecification {
  const { water, land, border, label, halo } = isDark() ? PALETTES.dark : PALETTES.light
  const line = (id: string, width: [number, number], dashes?: number[]): LayerSpecification => ({
    ...{ id, type: 'line', source: 'world', 'source-layer': id },
    paint: {
      'line-color': id === 'rivers' ? water : border,
      'line-width': ['interpolate', ['linear'], ['zoom'], 1, width[0], 8, width[1]],
      ...(dashes && { 'line-dasharray': dashes }),
    },
  })
  const fill = (id: string, colour: string): LayerSpecification => ({
    ...{ id, type: 'fill', source: 'world', 'source-layer': id },
    paint: { 'fill-color': colour, 'fill-antialias': false },
  })
  return {
    version: 8,
    sources: {
      world: {
        ...{ type: 'vector', url: `pmtiles://${worldUrl}` },
        attribution: 'Natural Earth | GeoNames (CC BY 4.0)',
      },
    },
    layers: [
      { id: 'sea', type: 'background', paint: { 'background-color': water } },
      fill('land', land),
      line('rivers', [0.4, 1.6]),
      fill('lakes', water),
      line('states', [0.3, 0.8], [3, 2]),
      line('borders', [0.4, 1.4]),
      {
        ...{ id: 'towns', type: 'symbol', source: 'world', 'source-layer': 'towns', minzoom: 2.5 },
        layout: {
          'text-field': ['get', 'name'],
          'text-font': FONTS,
          'text-size': ['interpolate', ['linear'], ['zoom'], 3, 10, 8, 13],
          // Larger towns come first, so that their names are placed before those of smaller towns.
          'symbol-sort-key': ['-', ['get', 'population']],
        },
        paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.2 },
      },
    ],
  }
}

/** Source of a PMTiles file, whose first START_BYTES are read by one request. */
function startAtOnce(url: string): Source {
  const file = new FetchSource(url)
  let start: Promise<RangeResponse> | undefined
  return {
    getKey: () => url,
    getBytes: async (offset, length, signal, etag) => {
      if (offset + length > START_BYTES) return file.getBytes(offset, length, signal, etag)
      // A failed request is repeated at the next read.
      start ??= file.getBytes(0, START_BYTES).catch((error: unknown) => {
        start = undefined
        throw error
      })
      const { data, ...rest } = await start
      return { ...rest, data: data.slice(offset, offset + length) }
    },
  }
}

/** Adds the streets below the records. Returns their box; undefined without readable streets. */
export async function addStreets(map: Map, before: string | undefined): Promise<Box | undefined> {
  if (streetsUrl === undefined) return undefined
  const archive = new PMTiles(streetsUrl)
  protocol.add(archive)
  try {
    const [{ layers, namedFlavor }, { minLon, minLat, maxLon, maxLat }] = await Promise.all([
      import('@protomaps/basemaps'),
      archive.getHeader(),
    ])
    if (!map.style) return undefined
    map.addSource(STREETS, {
      ...{ type: 'vector', url: `pmtiles://${streetsUrl}` },
      attribution: '© OpenStreetMap',
    })
    streetLayers = () =>
      layers(STREETS, namedFlavor(isDark() ? 'dark' : 'light'), { lang: 'en' })
        .filter(({ type }) => type !== 'background')
        .map(plain)
    for (const layer of streetLayers()) map.addLayer(layer, before)
    // Within their box, the labels of the street map replace those of the world.
    const box: Box = [minLon, minLat, maxLon, maxLat]
    map.setFilter('towns', ['!', ['within', { type: 'Polygon', coordinates: [ringOf(box)] }]])
    return box
  } catch {
    return undefined
  }
}

type PaintName = Parameters<Map['setPaintProperty']>[1]

/** Gives the map the colours of the page whenever these change. Returns a function that ends this. */
export function followScheme(map: Map): () => void {
  const paint = () => {
    for (const { id, paint: colours = {} } of [...basemapStyle().layers, ...streetLayers()])
      if (map.getLayer(id))
        for (const [name, value] of Object.entries(colours) as [PaintName, never][])
          map.setPaintProperty(id, name, value)
  }
  scheme.addEventListener('change', paint)
  return () => scheme.removeEventListener('change', paint)
}

/** Layer with system fonts and without icons, because labels show the same information. */
function plain(layer: LayerSpecification): LayerSpecification {
  if (layer.type !== 'symbol') return layer
  const { 'icon-image': image, 'icon-size': size, ...layout } = layer.layout ?? {}
  return { ...layer, layout: { ...layout, ...(layout['text-field'] && { 'text-font': FONTS }) } }
}

/** True if a position lies in the box of the streets. */
export const hasStreets = (streets: Box | undefined, { lng, lat }: { lng: number; lat: number }): boolean =>
  streets !== undefined && lng >= streets[0] && lat >= streets[1] && lng <= streets[2] && lat <= streets[3]
