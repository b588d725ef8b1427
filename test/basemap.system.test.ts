import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { GeoJSONVT } from '@maplibre/geojson-vt'
import { fromGeojsonVt } from '@maplibre/vt-pbf'
import { PMTiles } from 'pmtiles'
import { beforeAll, describe, expect, test } from 'vitest'
import { pmtilesOf, tileId } from '../web/build/pmtiles.mjs'
import { CHROMIUM, follow, idle, openPage, type OpenPage } from './browser'
import { temporaryFolder } from './database'
import { box } from './shapes'
import { startTestWorld, type TestWorld } from './world'

/**
 * Tests the basemap, without streets and with a small archive of streets (setting BASEMAP), in a real
 * browser.
 */

/** Crossing of two streets in the archive, and the zooms of its tiles. */
const [CROSSING, ZOOMS] = [[2.3376, 48.8606] as const, 15]
const BOUNDS = [2.33, 48.855, 2.345, 48.866] as const

let plain: TestWorld
let streets: TestWorld
const folder = temporaryFolder()
const file = path.join(folder, 'streets.pmtiles')
beforeAll(async () => {
  writeFileSync(file, archive())
  plain = await startTestWorld()
  streets = await startTestWorld({ BASEMAP: file })
})

/** An archive in the schema of Protomaps: two streets that cross, on land. */
function archive(): Buffer {
  const [west, south, east, north] = BOUNDS
  const [x, y] = CROSSING
  const feature = (geometry: object, properties: object) => ({ type: 'Feature', geometry, properties })
  const line = (coordinates: number[][], name: string) =>
    feature(
      { type: 'LineString', coordinates },
      { kind: 'major_road', kind_detail: 'primary', min_zoom: 7, name },
    )
  const ring = box(...BOUNDS)
  const layers = {
    earth: [feature({ type: 'Polygon', coordinates: [ring] }, { kind: 'earth' })],
    roads: [
      line(
        [
          [west, y],
          [east, y],
        ],
        'Rue de Rivoli',
      ),
      line(
        [
          [x, south],
          [x, north],
        ],
        'Rue du Louvre',
      ),
    ],
  }
  const indexes = Object.entries(layers).map(
    ([name, features]) =>
      [name, new GeoJSONVT({ type: 'FeatureCollection', features }, { maxZoom: ZOOMS })] as const,
  )
  const tiles = []
  for (let z = 0; z <= ZOOMS; z++)
    for (const [column, row] of tilesOf(z)) {
      const found = indexes.flatMap(([name, index]) => {
        const tile = index.getTile(z, column, row)
        return tile ? [[name, tile] as const] : []
      })
      if (found.length > 0)
        tiles.push({ z, x: column, y: row, data: fromGeojsonVt(Object.fromEntries(found), { version: 2 }) })
    }
  return pmtilesOf(tiles, { name: 'Streets', bounds: BOUNDS })
}

/** Tiles of a zoom that may touch the bounds. */
function tilesOf(z: number): [number, number][] {
  const at = (longitude: number, latitude: number) => {
    const radians = (latitude * Math.PI) / 180
    const parts = [longitude / 360 + 0.5, 0.5 - Math.asinh(Math.tan(radians)) / (2 * Math.PI)]
    return parts.map((part) => Math.floor(part * 2 ** z)) as [number, number]
  }
  const [[x0, y1], [x1, y0]] = [at(BOUNDS[0], BOUNDS[1]), at(BOUNDS[2], BOUNDS[3])]
  const tiles: [number, number][] = []
  for (let x = x0; x <= x1; x++) for (let y = y0; y <= y1; y++) tiles.push([x, y])
  return tiles
}

const opened = async ({ page }: OpenPage, url: string) => {
  await page.goto(url)
  await page.locator('.map[data-state=idle]').waitFor()
}
/** Colour of a pixel of the map, at an offset from its middle. */
async function colourAt({ page }: OpenPage, right: number, down: number): Promise<string> {
  const { x, y, width, height } = (await page.locator('.maplibregl-canvas').boundingBox())!
  const clip = {
    x: Math.round(x + width / 2 + right),
    y: Math.round(y + height / 2 + down),
    width: 1,
    height: 1,
  }
  const png = await page.screenshot({ clip })
  return page.evaluate<string>(`(async () => {
    const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (each) => each.charCodeAt(0))
    const context = new OffscreenCanvas(1, 1).getContext('2d')
    context.drawImage(await createImageBitmap(new Blob([bytes])), 0, 0)
    return [...context.getImageData(0, 0, 1, 1).data].join()
  })()`)
}

describe('archives of map tiles', () => {
  test('number tiles along the Hilbert curve, and are read by the library of PMTiles', async () => {
    // Values from the specification and from the reference implementation.
    expect([tileId(0, 0, 0), tileId(1, 0, 0), tileId(1, 0, 1), tileId(1, 1, 1), tileId(1, 1, 0)]).toEqual([
      0, 1, 2, 3, 4,
    ])
    expect([tileId(2, 0, 0), tileId(12, 3423, 1763)]).toEqual([5, 19078479])
    const bytes = archive()
    const read = new PMTiles({
      getKey: () => 'streets',
      getBytes: async (offset, length) => ({
        data: Uint8Array.from(bytes.subarray(offset, offset + length)).buffer,
      }),
    })
    expect(await read.getHeader()).toMatchObject({ minZoom: 0, maxZoom: ZOOMS, minLon: 2.33, maxLat: 48.866 })
    for (let z = 0; z <= ZOOMS; z++)
      for (const [x, y] of tilesOf(z))
        expect((await read.getZxy(z, x, y))?.data.byteLength).toBeGreaterThan(20)
    expect(await read.getZxy(3, 0, 0)).toBeUndefined()
  })
  test('are served by byte ranges, with an ETag', async () => {
    const bytes = archive()
    const part = await fetch(`${streets.url}/basemap.pmtiles`, { headers: { range: 'bytes=100-299' } })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 100-299/${bytes.length}`])
    expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(100, 300))
    expect(part.headers.get('etag')).toMatch(/./)
    expect((await fetch(`${plain.url}/basemap.pmtiles`)).status).toBe(404)
  })
})

describe.skipIf(!CHROMIUM)('the map', () => {
  test.each(['light', 'dark'] as const)(
    'shows the streets of the archive on a %s page',
    async (colorScheme) => {
      await using browser = await openPage({ colorScheme, isSharp: true })
      await opened(browser, `${streets.url}/?at=${CROSSING.join(',')},16`)
      await browser.page.getByText('© OpenStreetMap').waitFor()
      await browser.page.locator('.map[data-state=idle]').waitFor()
      await browser.picture(`basemap-streets-${colorScheme}`)
      const [middle, along, across, beside] = [
        await colourAt(browser, 0, 0),
        await colourAt(browser, 200, 0),
        await colourAt(browser, 0, 150),
        await colourAt(browser, 200, 150),
      ]
      expect([along, across]).toEqual([middle, middle])
      expect(beside).not.toBe(middle)
      expect(await browser.page.locator('.street-note').count()).toBe(0)
      expect(new Set(browser.requested.map((each) => new URL(each).origin))).toEqual(new Set([streets.url]))
      expect(browser.complaints).toEqual([])
    },
  )
  test('links to the same view on OpenStreetMap if the archive has no streets', async () => {
    await using browser = await openPage()
    const { page } = browser
    const link = page.getByRole('link', { name: 'See this view on OpenStreetMap' })
    for (const [url, at] of [
      [plain.url, CROSSING],
      // Positions outside the archive.
      [streets.url, [13.4, 52.5]],
    ] as const) {
      await opened(browser, `${url}/?at=${at.join(',')},11`)
      expect(await link.getAttribute('href')).toBe(
        `https://www.openstreetmap.org/#map=12/${at[1].toFixed(5)}/${at[0].toFixed(5)}`,
      )
    }
    await opened(browser, `${plain.url}/?at=${CROSSING.join(',')},7`)
    expect(await link.count()).toBe(0)
    expect(browser.complaints).toEqual([])
  })
  test('shows land, water and borders at every zoom without streets', async () => {
    await using browser = await openPage({ isSharp: true })
    await opened(browser, plain.url)
    for (const zoom of [1, 2.4, 4.6, 5.5, 7.9, 12])
      for (const [at, colour] of [
        ['5,24', '246,244,238,255'],
        ['-30,45', '207,227,238,255'],
      ] as const) {
        await follow(browser.page, `${plain.url}/?at=${at},${zoom}`)
        const message = `${at}, zoom ${zoom}`
        await expect.poll(() => colourAt(browser, 3, 3), { message }).toBe(colour)
        // Tiles of a lower zoom are shown until those of this zoom are loaded.
        await idle(browser.page)
        expect(await colourAt(browser, 3, 3), message).toBe(colour)
      }
    expect(browser.complaints).toEqual([])
  })
})
