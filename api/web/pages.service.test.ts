import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { buildTestServer, type TestServer } from '../../test/api'
import { temporaryFolder } from '../../test/database'
import { Pages } from './pages'

/** Tests which documents, assets and policies the API sends for the pages of web/. */

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8'
const NODE = 'http://127.0.0.1:8545'
const FILE = Buffer.from(Array.from({ length: 500 }, (_, i) => i % 251))
let app: TestServer['app']
let withStreets: TestServer['app']
beforeAll(async () => {
  const file = path.join(temporaryFolder(), 'streets.pmtiles')
  writeFileSync(file, FILE)
  const start = async (basemap?: string) =>
    (await buildTestServer({ pages: Pages.in(path.resolve('dist/web'), { 84532: NODE }, basemap) })).app
  ;[app, withStreets] = [await start(), await start(file)]
})
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test('GET / returns a page to browsers and JSON to programs, and ?format=json always returns JSON', async () => {
  for (const [url, accept, type] of [
    ['/', BROWSER, 'text/html'],
    ['/playground', BROWSER, 'text/html'],
    ['/', '*/*', 'application/json'],
    ['/', 'application/json', 'application/json'],
    ['/?format=json', BROWSER, 'application/json'],
  ] as const)
    expect((await get(url, { accept })).headers['content-type'], `${url} ${accept}`).toBe(
      `${type}; charset=utf-8`,
    )
})

test('browsers cache compressed assets permanently, but not the page itself', async () => {
  const page = await get('/', { accept: BROWSER })
  expect(page.headers['cache-control']).toBe('public, max-age=0')
  const [, script] = /src="\.(\/assets\/first-[^"]+\.js)"/.exec(page.body)!
  for (const encoding of ['br', 'gzip']) {
    const { statusCode, headers } = await get(script!, { 'accept-encoding': encoding })
    expect([statusCode, headers['content-encoding'], headers['cache-control']]).toEqual([
      200,
      encoding,
      'public, max-age=31536000, immutable',
    ])
  }
  expect((await get('/assets/nothing.js')).statusCode).toBe(404)
})

test('an archive of streets is served by byte ranges, with an ETag', async () => {
  const part = await withStreets.inject({ url: '/basemap.pmtiles', headers: { range: 'bytes=100-299' } })
  expect([part.statusCode, part.headers['content-range']]).toEqual([206, `bytes 100-299/${FILE.length}`])
  expect(part.rawPayload).toEqual(FILE.subarray(100, 300))
  expect(part.headers.etag).toMatch(/./)
  expect((await get('/basemap.pmtiles')).statusCode).toBe(404)
})

test('the policy of a page allows only the local nodes, and the operators that its address names', async () => {
  const sources = async (url: string) =>
    /connect-src (.*)$/.exec(String((await get(url)).headers['content-security-policy']))![1]!.split(' ')
  const own = ["'self'", NODE]
  const listed = (urls: string) => `operators=${encodeURIComponent(urls)}`
  expect(await sources('/playground')).toEqual(own)
  expect(await sources(`/playground?${listed('https://one.example/geo,http://127.0.0.1:4001')}`)).toEqual([
    ...own,
    ...['https://one.example', 'http://127.0.0.1:4001'],
  ])
  for (const refused of [
    'https://*',
    'https://*.example',
    'data:,x',
    'file:///etc',
    "https://a;script-src *'",
    '*',
  ])
    expect(await sources(`/playground?${listed(refused)}`), refused).toEqual(own)
  expect(await sources(`/attest?${listed('https://one.example')}`)).toEqual(own)
})
