import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { GeoJSONVT } from '@maplibre/geojson-vt'
import { fromGeojsonVt } from '@maplibre/vt-pbf'
import { beforeAll, expect, test } from 'vitest'
import { Pages } from '../api/web'
import { pmtilesOf } from '../web/build/pmtiles.mjs'
import { startApi } from './api'
import { follow, idle, openPage, type OpenPage } from './browser'
import { createMigratedDatabase, temporaryFolder } from './database'
import { box } from './shapes'
import { withChromium } from './needs'

/**
 * Tests the basemap, without streets and with a small archive of streets (setting BASEMAP), in a real
 * browser.
 */

/** Crossing of two streets in the archive, and the zooms of its tiles. */
const [CROSSING, ZOOMS] = [[2.3376, 48.8606] as const, 15]
const BOUNDS = [2.33, 48.855, 2.345, 48.866] as const

let plain: string
let streets: string
beforeAll(async () => {
  const file = path.join(temporaryFolder(), 'streets.pmtiles')
  writeFileSync(file, archive())
  const { url: databaseUrl } = await createMigratedDatabase()
  const start = async (basemap?: string) =>
    (await startApi({ databaseUrl, pages: Pages.in(path.resolve('dist/web'), {}, basemap) })).url
  ;[plain, streets] = [await start(), await start(file)]
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

const linkOf = ({ page }: OpenPage) => page.getByRole('link', { name: 'See this view on OpenStreetMap' })

withChromium.describe('the map', () => {
  test('shows the streets of the archive, and outside of it a link to the same view on OpenStreetMap', async () => {
    await using browser = await openPage({ isSharp: true })
    const { page } = browser
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${streets}/?at=${CROSSING.join(',')},16`)
      await page.getByText('© OpenStreetMap').waitFor()
      await idle(page)
      await browser.picture(`basemap-streets-${colorScheme}`)
      const [middle, along, across, beside] = [
        await colourAt(browser, 0, 0),
        await colourAt(browser, 200, 0),
        await colourAt(browser, 0, 150),
        await colourAt(browser, 200, 150),
      ]
      expect([along, across]).toEqual([middle, middle])
      expect(beside).not.toBe(middle)
    }
    expect(await page.locator('.street-note').count()).toBe(0)
    await follow(page, `${streets}/?at=13.4,52.5,11`)
    expect(await linkOf(browser).getAttribute('href')).toBe(
      'https://www.openstreetmap.org/#map=12/52.50000/13.40000',
    )
    expect(new Set(browser.requested.map((each) => new URL(each).origin))).toEqual(new Set([streets]))
    expect(browser.complaints).toEqual([])
  })
  test('shows land, water and borders at every zoom without streets, and a link to OpenStreetMap', async () => {
    await using browser = await openPage({ isSharp: true, viewport: { width: 900, height: 700 } })
    const { page } = browser
    await page.goto(`${plain}/?at=${CROSSING.join(',')},11`)
    expect(await linkOf(browser).getAttribute('href')).toBe(
      'https://www.openstreetmap.org/#map=12/48.86060/2.33760',
    )
    for (const zoom of [1, 2.4, 4.6, 5.5, 7.9, 12])
      for (const [at, colour] of [
        ['5,24', '246,244,238,255'],
        ['-30,45', '207,227,238,255'],
      ] as const) {
        await follow(page, `${plain}/?at=${at},${zoom}`)
        const message = `${at}, zoom ${zoom}`
        await expect.poll(() => colourAt(browser, 3, 3), { message }).toBe(colour)
        // Tiles of a lower zoom are shown until those of this zoom are loaded.
        await idle(page)
        expect(await colourAt(browser, 3, 3), message).toBe(colour)
        expect(await linkOf(browser).count(), message).toBe(zoom > 8 ? 1 : 0)
      }
    expect(browser.complaints).toEqual([])
  })
})
