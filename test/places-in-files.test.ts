import path from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { pointShapefile } from './shapes'

/** The modules, and their types without those of browsers, which this project does not have. */
const [FILES, INPUT] = [path.resolve('web/panel/files.ts'), path.resolve('web/panel/input.ts')]
let placesIn: (file: File) => Promise<{ text: string }[]>
let parseInput: (text: string) => object
let textOf: (geometry: object) => string

beforeAll(async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  placesIn = ((await import(FILES)) as { placesIn: typeof placesIn }).placesIn
  ;({ parseInput, textOf } = (await import(INPUT)) as {
    parseInput: typeof parseInput
    textOf: typeof textOf
  })
  vi.unstubAllGlobals()
})

const fileOf = (json: unknown, name = 'a.geojson') => new File([JSON.stringify(json)], name)
const collection = (coordinates: number[], crs?: unknown) => ({
  ...{ type: 'FeatureCollection', crs },
  features: [{ type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates } }],
})
/** JSON without a geometry. */
const EMPTY = [
  'null',
  '5',
  '[2, 48]',
  '{}',
  '{"type":"Feature","geometry":null}',
  '{"type":"Circle"}',
].concat('{"type":"FeatureCollection","features":[null,{},5]}')
const crsOf = (name: string) => ({ type: 'name', properties: { name } })

test.each([
  { type: 'Point', coordinates: [2.5, 48] },
  { type: 'Point', coordinates: [2.5, 48, 30] },
  { type: 'LineString', coordinates: [[2, 48, 30], [3, 49, 0]] }, // oxfmt-ignore
])('the text of %j is read as the same geometry', (geometry) => {
  expect(parseInput(textOf(geometry))).toMatchObject({ geometry })
})

test.each([
  [`48°51'30"N 2°17'40.2"E`, [2.2945, 48.858333333]],
  ['2,2945; 48,8584', [2.2945, 48.8584]],
  ['[2.2945, 48.8584]', [2.2945, 48.8584]],
  ['POINT (2.2945 48.8584)', [2.2945, 48.8584]],
  ['−2.5, −48', [-2.5, -48]],
  ['8FW4V75V+8Q', [2.2944375, 48.8583125]],
  ['{"lat":48.8584,"lng":2.2945}', [2.2945, 48.8584]],
])('the text %s is read as a position', (text, coordinates) => {
  expect(parseInput(text)).toMatchObject({
    geometry: { type: 'Point', coordinates: coordinates.map((each) => expect.closeTo(each, 6)) },
  })
})

test.each([
  '{"type":"Feature","properties":{"lat":48,"lon":2},"geometry":null}',
  '{"type":"FeatureCollection","properties":{"lat":48,"lon":2}',
  `{"lat":48,"lon":2,"salt":"0x${'5a'.repeat(32)}"}`,
])('the text %s is not read as a position', (text) => {
  expect(parseInput(text)).toMatchObject({ kind: 'wrong' })
})

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

  test('has no altitudes', async () => {
    const [point] = await placesIn(fileOf(collection([2, 48, 30])))
    const line = { type: 'LineString', coordinates: [[2, 48, 30], [3, 49, 0]] } // oxfmt-ignore
    const [track] = await placesIn(fileOf(line))
    expect([point!.text, JSON.parse(track!.text).coordinates]).toEqual(['2, 48', [[2, 48], [3, 49]]]) // oxfmt-ignore
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

  const prj = (datum: string, spheroid: string, more = '') =>
    `GEOGCS["${datum}",DATUM["D_${datum}",SPHEROID[${spheroid}]${more}],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`
  const shapefile = (text: string) =>
    new File([zipOf({ 'a.shp': pointShapefile(-100, 40), 'a.prj': Buffer.from(text) })], 'a.zip')
  test.each([
    prj('WGS_1984', '"WGS_1984",6378137.0,298.257223563'),
    prj('ETRS_1989', '"GRS_1980",6378137.0,298.257222101'),
    prj('Amersfoort', '"Bessel_1841",6377397.155,299.1528128', ',TOWGS84[0,0,0,0,0,0,0]'),
  ])('is read from a shapefile with %s', async (text) => {
    expect(await placesIn(shapefile(text))).toMatchObject([
      { text: expect.stringMatching(/^-(?:100|99\.9)/) },
    ])
  })
  // A wrong position by 40 m in North America, and by 110 m in the Netherlands.
  test.each([
    prj('North_American_1927', '"Clarke_1866",6378206.4,294.9786982'),
    prj('Amersfoort', '"Bessel_1841",6377397.155,299.1528128'),
  ])('is refused from a shapefile with %s', async (text) => {
    await expect(placesIn(shapefile(text))).rejects.toThrow()
  })
})

test.each([
  ...EMPTY.map((json) => ['a.json', json, /has no geometry/] as const),
  ['a.shp', 'no shapefile', /is not a shapefile/],
  ['a.zip', 'no archive', /is not a shapefile/],
] as const)('a file %s with the content %s is refused', async (name, content, reason) => {
  await expect(placesIn(new File([content], name))).rejects.toThrow(reason)
})

test('an archive may have other JSON, and GeoJSON of another reference system is refused', async () => {
  const archive = (json: unknown) =>
    new File(
      [zipOf({ 'a.shp': pointShapefile(7, 51), 'b.json': Buffer.from(JSON.stringify(json)) })],
      'a.zip',
    )
  expect(await placesIn(archive({ licence: 'CC0' }))).toMatchObject([{ text: '7, 51' }])
  await expect(placesIn(archive({ type: 'FeatureCollection', features: [], crs: {} }))).rejects.toThrow()
})

/** A ZIP archive of deflated files. Readers that ignore the checksums accept it. */
function zipOf(files: Record<string, Buffer>): Buffer<ArrayBuffer> {
  const members: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(files)) {
    const data = deflateRawSync(content)
    const local = Buffer.alloc(30)
    const central = Buffer.alloc(46)
    local.writeUInt32LE(0x04034b50, 0)
    central.writeUInt32LE(0x02014b50, 0)
    for (const [head, shift] of [
      [local, 0],
      [central, 2],
    ] as const) {
      head.writeUInt16LE(8, 8 + shift)
      head.writeUInt32LE(data.length, 18 + shift)
      head.writeUInt32LE(content.length, 22 + shift)
      head.writeUInt16LE(name.length, 26 + shift)
    }
    central.writeUInt32LE(offset, 42)
    members.push(local, Buffer.from(name), data)
    entries.push(central, Buffer.from(name))
    offset += local.length + name.length + data.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  for (const at of [8, 10]) end.writeUInt16LE(entries.length / 2, at)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...members, directory, end])
}
