import { beforeAll, describe, expect, test } from 'vitest'
import { Resvg } from '@resvg/resvg-js'
import Fastify from 'fastify'
import { startApi, type TestApi } from '../../test/api'
import { createMigratedDatabase, type TestDatabase } from '../../test/database'
import { insertRecords, type Geometry, type StoredRecord } from '../../test/records'
import { limitRequests, RequestCounter } from '../http/limits'
import { ownShareUsed } from '../http/problems'
import type { Work } from '../http/work'
import { placesRoutes } from '.'
import { PREVIEW_SIZE, previewOf } from './preview'

/** Tests shareable pages of places, under a public address with a path, as behind a reverse proxy. */
const BASE = 'https://geo.example/attest'
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const HOSTILE = `"><script>alert(1)</script>\u202Etxet </title></noscript> & 'x'`
const line = (...coordinates: number[][]): Geometry => ({ type: 'LineString', coordinates })
const ring = (...corners: number[][]): Geometry => ({ type: 'Polygon', coordinates: [corners] })
const GEOMETRIES: (Geometry | null)[] = [
  { type: 'Point', coordinates: [2.2945, 48.8584] },
  { type: 'Point', coordinates: [-74.0445, 40.6892] },
  { type: 'Point', coordinates: [180, 90] },
  { type: 'MultiPoint', coordinates: [[10, 10], [12, 12]] }, // oxfmt-ignore
  line([177, -18], [-178, -14]),
  ring([-74, 40.7], [-73.9, 40.7], [-73.9, 40.8], [-74, 40.7]),
  { type: 'GeometryCollection', geometries: [line([0, 0], [1, 1]), { type: 'Point', coordinates: [5, 5] }] },
  line(...Array.from({ length: 50_001 }, (_, i) => [i / 1_000, 50 * Math.sin(i)])),
  null,
]

let database: TestDatabase
let api: TestApi
let stored: StoredRecord[]

beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url, publicBaseUrl: BASE })
  stored = await insertRecords(database.url, [
    ...GEOMETRIES.map((geometry, i) => ({ chain: 'celo', memo: `Place ${i}`, geometry })),
    { chain: 'celo', memo: HOSTILE, geometry: GEOMETRIES[0]! },
    { chain: 'celo', memo: 'Withdrawn', geometry: GEOMETRIES[0]!, revoked: true },
  ])
})

const get = (path: string, options: RequestInit = {}) =>
  fetch(`${api.url}${path}`, { redirect: 'manual', ...options })
const pageOf = ({ chain, uid }: StoredRecord) => `/r/${chain}/${uid}`
const plain = (text: string) =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
/** Contents of the document's meta elements, by name or property. */
const metaOf = (document: string) =>
  Object.fromEntries(
    [...document.matchAll(/<meta (?:name|property)="([^"]+)" content="([^"]*)">/g)].map(
      ([, name, content]) => [name!, plain(content!)],
    ),
  )

describe('the page of a place', () => {
  test('has a title, a description and a preview image at its public address', async () => {
    const [tower] = stored
    const response = await get(pageOf(tower!))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const document = await response.text()
    const address = `${BASE}${pageOf(tower!)}`
    expect(metaOf(document)).toMatchObject({
      description: expect.stringMatching(
        /^Attested on celo on 1 Jan 2026 by 0x.* Longitude 2.2945, latitude 48.8584\. Not revoked\./,
      ) as string,
      'og:title': 'Place 0',
      'og:url': address,
      'og:image': `${address}/preview.png`,
      'og:image:width': '1200',
      'og:image:height': '630',
      'twitter:card': 'summary_large_image',
    })
    // Asset URLs are relative to the page, so that they work under any path.
    const assets = [...document.matchAll(/(?:src|href)="(\.[^"]+)"/g)].map(([, href]) => href!)
    expect(assets.length).toBeGreaterThan(2)
    for (const asset of assets) {
      const { pathname } = new URL(asset, `http://host/attest${pageOf(tower!)}`)
      expect((await get(pathname.replace('/attest', ''))).status, asset).toBe(200)
    }
  })
  test('escapes the texts of its attester, and omits invisible characters', async () => {
    const hostile = stored.find(({ memo }) => memo === HOSTILE)!
    const document = await (await get(pageOf(hostile))).text()
    expect(metaOf(document)['og:title']).toBe(HOSTILE.replace('\u202E', ''))
    expect(document).not.toContain('<script>alert')
    expect(document.match(/<\/noscript>|<\/title>/g)).toHaveLength(2)
  })
  test('states that a place is revoked', async () => {
    const document = await (await get(pageOf(stored.at(-1)!))).text()
    expect(metaOf(document).description).toContain('Revoked by its attester.')
  })
  test('is sent with status 404 and without a preview for an unknown place', async () => {
    const path = `/r/base-sepolia/${stored[0]!.uid}`
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(metaOf(await response.text())['og:title']).toBeUndefined()
    expect((await get(`${path}/preview.png`)).status).toBe(404)
    for (const wrong of ['/r/nowhere/0x12', `/r/celo/0x${'1'.repeat(63)}`])
      expect((await get(wrong)).status, wrong).toBe(404)
  })
  test.each([
    ['42220', ''],
    ['Celo', ''],
    ['CELO', '/'],
  ])('is the target of the redirect from its address with chain %s and the end %j', async (chain, end) => {
    const [{ uid }] = stored as [StoredRecord]
    const query = '?memo=where?&lang=ar'
    const path = `/r/${chain}/${uid}${end}${query}`
    const { status, headers } = await get(path)
    expect(status).toBe(308)
    expect(new URL(headers.get('location')!, `${BASE}${path}`).href).toBe(`${BASE}/r/celo/${uid}${query}`)
  })
  test('is the target of the redirect from the record, unless the browser requests a format', async () => {
    const [{ uid }] = stored as [StoredRecord]
    const path = `/api/v0/location-records/${uid}`
    const response = await get(path, { headers: { accept: BROWSER } })
    expect([response.status, response.headers.get('vary')]).toEqual([
      303,
      expect.stringMatching(/accept/i) as string,
    ])
    const target = new URL(response.headers.get('location')!, `${BASE}${path}`)
    expect(target.href).toBe(`${BASE}/r/celo/${uid}`)
    expect((await get(`${path}?format=html`, { headers: { accept: BROWSER } })).status).toBe(200)
    expect((await get(path)).headers.get('content-type')).toBe('application/json; charset=utf-8')
  })
})

test(
  'the preview of each geometry is a PNG of the stated size, and shows the place',
  { tags: ['slow'] },
  async () => {
    const seen = new Map<string, string>()
    for (const record of stored.slice(0, GEOMETRIES.length)) {
      const response = await get(`${pageOf(record)}/preview.png`)
      expect([record.memo, response.status, response.headers.get('content-type')]).toEqual([
        record.memo,
        200,
        'image/png',
      ])
      const png = Buffer.from(await response.arrayBuffer())
      expect([png.subarray(1, 4).toString(), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([
        'PNG',
        1200,
        630,
      ])
      seen.set(record.memo, png.toString('base64'))
    }
    // A record without a geometry, or with one that is too large, shows a map of the world.
    expect(new Set(seen.values()).size).toBe(GEOMETRIES.length)
  },
)

test('a preview that the client has is not rendered again', async () => {
  const [record, other] = [stored[0]!, stored.at(-1)!]
  const preview = (of: StoredRecord, headers?: Record<string, string>) =>
    get(`${pageOf(of)}/preview.png`, { headers: headers ?? {} })
  const tags = await Promise.all([record, other].map(async (of) => (await preview(of)).headers.get('etag')!))
  const asked = await Promise.all(tags.map((tag) => preview(record, { 'if-none-match': tag })))
  expect(asked.map(({ status, headers }) => [status, headers.get('etag')])).toEqual([
    [304, tags[0]],
    [200, tags[0]],
  ])
})

test.each([
  [90, 5],
  [0, 315],
  [-90, 625],
])('the preview of a place at latitude %i shows its point', async (latitude, y) => {
  const png = await previewOf({ type: 'Point', coordinates: [10, latitude] }, false)
  const { width, height } = PREVIEW_SIZE
  const image = `<image width="${width}" height="${height}" href="data:image/png;base64,${png.toString('base64')}"/>`
  const { pixels } = new Resvg(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${image}</svg>`,
  ).render()
  expect(pixels.toString('hex', 4 * (y * width + width / 2)).slice(0, 6)).toBe('d1495b')
})

test('one client can use only a share of the reads from a chain that does not respond', async () => {
  const app = Fastify()
  const counter = new RequestCounter(() => 0)
  await limitRequests(app, { scope: 'test', perHour: 0, counter, tooMany: () => new Error() })
  const calls: ((answer: undefined) => void)[] = []
  const clients: string[] = []
  const reader = {
    of: ({ client }: Work) => ({
      attestation: () => {
        clients.push(client)
        return new Promise<undefined>((resolve) => calls.push(resolve))
      },
    }),
  }
  const parts = { store: {}, pages: {}, publicBaseUrl: BASE, readers: new Map([[42_220, { reader }]]) }
  await app.register(placesRoutes(parts as unknown as Parameters<typeof placesRoutes>[0]), { prefix: '/r' })
  const ask = async (remoteAddress: string) => {
    const url = `/r/celo/0x${'1'.repeat(64)}/attestation`
    const { statusCode, headers } = await app.inject({ url, remoteAddress })
    return [statusCode, 'retry-after' in headers]
  }
  const answered: unknown[] = []
  const greedy = Array.from({ length: 30 }, () => ask('192.0.2.1').then((answer) => answered.push(answer)))
  await expect.poll(() => answered).toEqual(Array(8).fill([429, true]))
  expect(calls).toHaveLength(2)
  const other = ask('192.0.2.2')
  await expect.poll(() => calls.length).toBe(3)
  calls[2]!(undefined)
  expect(await other).toEqual([200, false])
  for (let i = 0; i < 23; i++) {
    await expect.poll(() => calls.length).toBeGreaterThan(i)
    calls[i]!(undefined)
  }
  await Promise.all(greedy)
  expect(calls).toHaveLength(23)
  expect([...new Set(clients)]).toEqual(['192.0.2.1', '192.0.2.2'])
  await app.close()
})

test('the attestation has its exact times, whatever their size', async () => {
  const times = { time: 1_795_219_200n, expirationTime: 2n ** 64n - 1n, revocationTime: 0n }
  const app = Fastify()
  const reader = { of: () => ({ attestation: () => Promise.resolve(times) }) }
  const parts = { store: {}, pages: {}, publicBaseUrl: BASE, readers: new Map([[42_220, { reader }]]) }
  const counter = new RequestCounter(() => 0)
  await limitRequests(app, { scope: 'test', perHour: 0, counter, tooMany: () => new Error() })
  await app.register(placesRoutes(parts as unknown as Parameters<typeof placesRoutes>[0]), { prefix: '/r' })
  const response = await app.inject(`/r/celo/0x${'1'.repeat(64)}/attestation`)
  const { attestation } = response.json<{ attestation: Record<keyof typeof times, string | number> }>()
  for (const [name, value] of Object.entries(times))
    expect(BigInt(attestation[name as keyof typeof times])).toBe(value)
  await app.close()
})

test('a client that has used its share of RPC calls gets 429', async () => {
  const app = Fastify()
  const reader = { of: () => ({ attestation: () => Promise.reject(ownShareUsed('')) }) }
  const parts = { store: {}, pages: {}, publicBaseUrl: BASE, readers: new Map([[42_220, { reader }]]) }
  const counter = new RequestCounter(() => 0)
  await limitRequests(app, { scope: 'test', perHour: 0, counter, tooMany: () => new Error() })
  await app.register(placesRoutes(parts as unknown as Parameters<typeof placesRoutes>[0]), { prefix: '/r' })
  const { statusCode, headers } = await app.inject(`/r/celo/0x${'1'.repeat(64)}/attestation`)
  expect([statusCode, 'retry-after' in headers]).toEqual([429, true])
  await app.close()
})
