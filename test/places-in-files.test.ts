import path from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'

/** The modules, and their types without those of browsers, which this project does not have. */
const [FILES, INPUT] = [path.resolve('web/panel/files.ts'), path.resolve('web/panel/input.ts')]
let placesIn: (file: File) => Promise<{ text: string }[]>
let parseInput: (text: string) => object

beforeAll(async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  placesIn = ((await import(FILES)) as { placesIn: typeof placesIn }).placesIn
  parseInput = ((await import(INPUT)) as { parseInput: typeof parseInput }).parseInput
  vi.unstubAllGlobals()
})

const fileOf = (json: unknown, name = 'a.geojson') => new File([JSON.stringify(json)], name)
const collection = (coordinates: number[], crs?: unknown) => ({
  ...{ type: 'FeatureCollection', crs },
  features: [{ type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates } }],
})
const crsOf = (name: string) => ({ type: 'name', properties: { name } })

describe('a place of a file', () => {
  test.each([
    [[1e-7, 51.5]],
    [[5.551115123125783e-17, -51.5]],
    [[-0.0000012, -1e-300]],
    [[180, -90]],
    [[0.1, 0.30000000000000004]],
  ])('at %j is the point that its field reads', async (coordinates) => {
    const [place] = await placesIn(fileOf(collection(coordinates)))
    expect(parseInput(place!.text)).toMatchObject({ geometry: { type: 'Point', coordinates } })
  })

  test.each(['EPSG:4326', 'urn:ogc:def:crs:OGC:1.3:CRS84', 'urn:ogc:def:crs:EPSG::4326'])(
    'is read from a file with the reference system %s',
    async (name) => {
      expect(await placesIn(fileOf(collection([2, 48], crsOf(name))))).toHaveLength(1)
    },
  )

  // Degrees of another datum, which may be 100 m away.
  const nad27 = crsOf('urn:ogc:def:crs:EPSG::4267')
  const point = { type: 'Point', coordinates: [-100, 40] }
  test.each([
    ['a collection', collection([-100, 40], nad27)],
    ['a feature', { type: 'Feature', properties: {}, geometry: point, crs: nad27 }],
    [
      'a feature of a collection',
      {
        type: 'FeatureCollection',
        features: [{ type: 'Feature', properties: {}, geometry: point, crs: nad27 }],
      },
    ],
    ['a geometry', { ...point, crs: nad27 }],
    ['a collection without its name', collection([-100, 40], { type: 'EPSG', properties: { code: 4267 } })],
  ])('is refused if %s has another reference system', async (_, json) => {
    await expect(placesIn(fileOf(json))).rejects.toThrow()
  })
})
