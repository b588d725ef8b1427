import path from 'node:path'
import {
  featureFilter,
  validateStyleMin,
  type FilterSpecification,
  type StyleSpecification,
} from '@maplibre/maplibre-gl-style-spec'
import { expect, test, vi } from 'vitest'
import { ACTIVE_SLUGS } from '../src/chains'

/** The modules, and their types without those of browsers, which this project does not have. */
const LAYERS = path.resolve('web/map/record-layers.ts')
const TOUCHED = path.resolve('web/map/touched-tiles.ts')
interface Layers {
  SOURCE: string
  recordLayers: (look: object) => object[]
  shownIn: (features: { properties: object }[], look: object) => object
}
/** Imports the layers with the address of a page, from which its modules derive that of the service. */
async function layers(): Promise<Layers> {
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  const imported = (await import(LAYERS)) as Layers
  vi.unstubAllGlobals()
  return imported
}

// The pages' build of MapLibre does not validate styles (web/build/map-library.mjs).
test.each([
  { by: 'chain', hidden: [] },
  { by: 'chain', hidden: ['celo', 'sepolia'] },
  { by: 'chain', hidden: ACTIVE_SLUGS },
  { by: 'type', hidden: [] },
  { by: 'type', hidden: ['H3'] },
] as const)('layers of records by $by without $hidden are valid in the style specification', async (look) => {
  const { recordLayers, SOURCE } = await layers()
  const tiles = ['http://127.0.0.1/{z}/{x}/{y}.mvt']
  const style = {
    version: 8,
    glyphs: 'http://127.0.0.1/{fontstack}/{range}.pbf',
    sources: { [SOURCE]: { type: 'vector', tiles, promoteId: { records: 'uid' } } },
    layers: recordLayers(look),
  }
  expect(validateStyleMin(style as unknown as StyleSpecification)).toEqual([])
})

test('an area that continues beyond the end of the map has a fill, and no border but its lines', async () => {
  const { recordLayers } = await layers()
  const shown = (type: 2 | 3, more: object) =>
    (recordLayers({ by: 'chain', hidden: [] }) as { id: string; filter: FilterSpecification }[])
      .filter(({ id, filter }) => {
        const properties = { chain: 'celo', location_type: 'geojson', ...more }
        return featureFilter(filter, id).filter({ zoom: 3 }, { type, properties })
      })
      .map(({ id }) => id)
  expect(shown(3, {})).toEqual(['records-areas', 'records-area-edges'])
  expect(shown(3, { open: true })).toEqual(['records-areas'])
  expect(shown(2, {})).toEqual(['records-lines'])
})

test.each([
  [
    { by: 'chain', hidden: [] },
    { places: 13, revoked: 3 },
  ],
  [
    { by: 'chain', hidden: ['celo'] },
    { places: 6, revoked: undefined },
  ],
  [
    { by: 'chain', hidden: ['sepolia'] },
    { places: 13, revoked: 3 },
  ],
  [
    { by: 'type', hidden: ['H3'] },
    { places: 13, revoked: 3 },
  ],
])('counts the places on the map without hidden chains: %j', async (look, expected) => {
  const { shownIn } = await layers()
  const cluster = { point_count: 12, revoked_count: 2, celo: 7, 'base-sepolia': 5 }
  const place = { properties: { uid: '0x1', chain: 'base-sepolia', revoked: true } }
  expect(shownIn([{ properties: cluster }, place, place], look)).toEqual(expected)
})

test('counts the places of chains that the legend does not list while another chain is hidden', async () => {
  const { shownIn } = await layers()
  const properties = { point_count: 12, revoked_count: 0, 'far-chain': 12 }
  const shown = shownIn([{ properties }], { by: 'chain', hidden: ['celo'] })
  expect(shown).toEqual({ places: 12, revoked: 0 })
})

test('counts records with the same UID on two chains as two places', async () => {
  const { shownIn } = await layers()
  const features = ['celo', 'sepolia', 'celo'].map((chain) => ({ properties: { uid: '0x1', chain } }))
  expect(shownIn(features, { by: 'chain', hidden: [] })).toEqual({ places: 2, revoked: 0 })
})

test.each([90, 86, 85.0511287798066, 0, -85.0511287798066, -86, -90])(
  'a change at latitude %d reloads only tiles that exist',
  async (latitude) => {
    interface Touched {
      touchedTiles: (events: object[]) => { x: number; y: number; z: number }[]
    }
    const { touchedTiles } = (await import(TOUCHED)) as Touched
    const record = { longitude: 180, latitude, problem: null }
    const touched = touchedTiles([{ kind: 'new', record }])
    const isTile = ({ x, y, z }: (typeof touched)[number]) => [x, y].every((at) => at >= 0 && at < 2 ** z)
    expect(touched.filter((tile) => !isTile(tile))).toEqual([])
    expect(touched.length > 0).toBe(Math.abs(latitude) < 86)
  },
)
