import { distanceOf, plainOf } from './similar'

/** Worker that finds towns of the world by name. It loads a list of towns for each initial letter. */

export interface Town {
  name: string
  /** ISO 3166 code */
  country: string
  population: number
  longitude: number
  latitude: number
}
export interface TownsQuery {
  id: string
  /** URL of a list (web/build/towns.mjs) */
  url: string
  /** name in lower case without accents */
  wanted: string
}
/** Towns; none if the list could not be loaded. */
export interface TownsReply {
  id: string
  towns: readonly Town[]
}

/** Maximum number of towns that a search returns. */
const MOST = 5
const loaded = new Map<string, Promise<readonly (Town & { plain: string })[]>>()

addEventListener('message', ({ data: { id, url, wanted } }: MessageEvent<TownsQuery>) => {
  const reply = (towns: readonly Town[]) => postMessage({ id, towns } satisfies TownsReply)
  void (loaded.get(url) ?? load(url)).then(
    (towns) => reply(found(towns, wanted)),
    () => reply([]),
  )
})

function found(towns: readonly (Town & { plain: string })[], wanted: string): Town[] {
  const rankOf = (name: string) => (name === wanted ? 0 : ` ${name}`.includes(` ${wanted}`) ? 1 : Infinity)
  const hits = towns.map((town) => ({ town, rank: rankOf(town.plain) })).filter(({ rank }) => rank < Infinity)
  if (hits.length === 0 && wanted.length > 3) {
    const most = wanted.length > 6 ? 2 : 1
    for (const town of towns) {
      const errors = distanceOf(town.plain, wanted, most)
      if (errors <= most) hits.push({ town, rank: 1 + errors })
    }
  }
  return hits
    .sort((a, b) => a.rank - b.rank || b.town.population - a.town.population)
    .slice(0, MOST)
    .map(({ town }) => town)
}

function load(url: string) {
  const towns = fetch(url)
    .then((response) =>
      response.ok ? response.text() : Promise.reject(new Error(`${url}: ${response.status}`)),
    )
    .then((text) =>
      text.split('\n').map((line) => {
        const [name = '', country = '', population, longitude, latitude] = line.split('\t')
        return {
          ...{ name, country, plain: plainOf(name), population: Number(population) },
          ...{ longitude: Number(longitude), latitude: Number(latitude) },
        }
      }),
    )
  loaded.set(url, towns)
  // A list that failed to load is requested again by the next search.
  towns.catch(() => loaded.delete(url))
  return towns
}
