import { gunzipSync } from 'node:zlib'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { Client } from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../dev/random'
import { LOCATION_PROTOCOL_SCHEMA } from '../../src/location'
import { SIEVE_WORKER, startApi, type TestApi, type TestApiOptions } from '../../test/api'
import { connect, createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { openApiChecker } from '../../test/openapi'
import { ADDRESSES, insertRecords, type GivenRecord } from '../../test/records'
import { startRedisProxy } from '../../test/redis-proxy'
import { RecordSearch, type RecordChoice } from '../query'
import { Store } from '../store'
import { worldX, worldY, type Tile } from './grid'
import { Tiles } from './tiles'

/** Tests tiles of a server in this process, on a real database that the tests write to directly. */
let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
})
beforeEach(() => client.query('TRUNCATE location_record'))
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const start = async (options: TestApiOptions = {}): Promise<TestApi> => {
  const api = await startApi({ databaseUrl: database.url, ...options })
  closing.push(() => api.close())
  return api
}
const point = (lng: number, lat: number) => ({ type: 'Point', coordinates: [lng, lat] })
const BERLIN = [13.4, 52.5] as const
const tileAt = (z: number, lng: number, lat: number): Tile => ({
  z,
  x: Math.floor(worldX(lng) * 2 ** z),
  y: Math.floor(worldY(lat) * 2 ** z),
})
const pathOf = ({ z, x, y }: Tile, query = '') =>
  `/tiles/location-records/${z}/${x}/${y}.mvt${query && `?${query}`}`

interface Shown {
  layer: string
  type: number
  properties: Record<string, string | number | boolean>
  paths: { x: number; y: number }[][]
}
function decoded(bytes: ArrayBuffer | Uint8Array): Shown[] {
  if (bytes.byteLength === 0) return []
  return Object.values(new VectorTile(new PbfReader(new Uint8Array(bytes))).layers).flatMap((layer) =>
    Array.from({ length: layer.length }, (_, i) => {
      const feature = layer.feature(i)
      return {
        layer: layer.name,
        type: feature.type,
        properties: feature.properties,
        paths: feature.loadGeometry(),
      }
    }),
  )
}
async function ask(api: TestApi, tile: Tile, query = '', headers: Record<string, string> = {}) {
  const response = await fetch(api.url + pathOf(tile, query), { headers })
  const bytes = await response.arrayBuffer()
  return { status: response.status, etag: response.headers.get('etag')!, headers: response.headers, bytes }
}
const show = async (api: TestApi, tile: Tile, query = '') => {
  const { status, bytes } = await ask(api, tile, query)
  expect(status).toBe(200)
  return decoded(bytes)
}
const isKnown = async (api: TestApi, tile: Tile, etag: string, query = '') =>
  (await ask(api, tile, query, { 'if-none-match': etag })).status === 304

/** Returns the number of records that all tiles of a zoom show, with each drawn record counted once. */
async function countAt(api: TestApi, z: number, query = ''): Promise<number> {
  let counted = 0
  const drawn = new Set<string>()
  for (let x = 0; x < 2 ** z; x++)
    for (let y = 0; y < 2 ** z; y++)
      for (const { layer, properties } of await show(api, { z, x, y }, query))
        if (layer === 'clusters') counted += properties.point_count as number
        else drawn.add(`${properties.chain}-${properties.uid}`)
  return counted + drawn.size
}
const total = async (api: TestApi, query: string) =>
  (
    (await (await fetch(`${api.url}/api/v0/location-records?total=true&limit=1&${query}`)).json()) as {
      total: number
    }
  ).total

/** Returns records on land and sea: many in Berlin, the others anywhere, a few of them lines and areas. */
function someRecords(count: number, seed: number): GivenRecord[] {
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  return Array.from({ length: count }, (_, i): GivenRecord => {
    const [lng, lat] =
      i % 3
        ? [BERLIN[0] + random() / 10, BERLIN[1] + random() / 10]
        : [random() * 359 - 179.5, random() * 160 - 80]
    const size = random() * 0.4
    const corner = [lng + size, lat + size / 2] as const
    return {
      chain: pick(['celo', 'sepolia', 'arbitrum', 'base-sepolia']),
      revoked: random() < 0.2,
      locationType: pick(['geojson', 'GeoJSON-Point', 'h3']),
      geometry:
        i % 10 === 3
          ? { type: 'LineString', coordinates: [[lng, lat], [...corner]] }
          : i % 10 === 7
            ? {
                type: 'Polygon',
                coordinates: [[[lng, lat], [corner[0], lat], [...corner], [lng, lat]]],
              }
            : point(lng, lat),
    }
  })
}

/** Returns the first position of the geometry. */
const firstOf = ({ geometry }: GivenRecord) =>
  (geometry!.coordinates as number[]).flat(3).slice(0, 2) as [number, number]

async function expectEveryRecord(zooms: readonly number[], seed: number): Promise<void> {
  const count = 1_200
  const given = someRecords(count, seed)
  const stored = await insertRecords(
    database.url,
    seed === 1 ? given.map((each) => ({ ...each, geometry: point(...firstOf(each)) })) : given,
  )
  await insertRecords(database.url, [{ geometry: null }, { geometry: null }], 10_000)
  const api = await start()
  const day = new Date(stored[count / 2]!.timestamp).toISOString()
  const queries = [
    '',
    'chain=celo',
    'revoked=true',
    'revoked=false',
    'chain=sepolia&revoked=true',
    `prover=${ADDRESSES[1]}`,
    `subject=${ADDRESSES[2]}`,
    `schema=${LOCATION_PROTOCOL_SCHEMA.uid}`,
    'location_type=geojson-point',
    `fromTimestamp=${day}`,
    `toTimestamp=${day}`,
    `chain=celo&fromTimestamp=${day}&location_type=h3`,
    'bbox=0,0,90,80',
    'bbox=170,-80,-20,80',
    'near=13.45,52.55&radius=5000',
    `intersects=${encodeURIComponent('POLYGON((13.4 52.5, 13.5 52.5, 13.4 52.6, 13.4 52.5))')}`,
  ]
  for (const [i, query] of queries.entries()) {
    const expected = (await total(api, query)) - (query === '' ? 2 : 0)
    // Filters that records without a geometry never match are left out.
    const nowhere = /bbox|near|intersects/.test(query) || query === '' ? 0 : await nowhereCount(query, day)
    expect(expected, query).toBeGreaterThan(10)
    const z = zooms[i % zooms.length]!
    expect([query, z, await countAt(api, z, query)]).toEqual([query, z, expected - nowhere])
  }
  if (seed === 1) expect(await countAt(api, 2)).toBe(count)
  // The records in Berlin are counted at low zooms, and drawn at high zooms.
  const far = await show(api, tileAt(5, ...BERLIN))
  expect(new Set(far.map(({ layer }) => layer))).toEqual(new Set(['clusters']))
  for (const { properties } of far) {
    const { point_count, revoked_count, ...chains } = properties as Record<string, number>
    expect(Object.values(chains).reduce((sum, each) => sum + each)).toBe(point_count)
    expect(revoked_count).toBeLessThanOrEqual(point_count!)
  }
  const near = await show(api, tileAt(15, BERLIN[0] + 0.05, BERLIN[1] + 0.05))
  expect(near.every(({ layer }) => layer === 'records')).toBe(true)

  async function nowhereCount(query: string, day: string): Promise<number> {
    const asked = new URLSearchParams(query)
    const given = await rows<{ n: number }>(
      database.url,
      `SELECT count(*)::int AS n FROM location_record WHERE geom IS NULL AND ($1::text IS NULL OR chain = $1) AND ($2::boolean IS NULL OR revoked = $2)
         AND ($3::text IS NULL OR prover = $3) AND ($4::text IS NULL OR subject = $4) AND ($5::text IS NULL OR schema_uid = $5)
         AND ($6::text IS NULL OR lower(location_type) = lower($6)) AND ($7::timestamptz IS NULL OR timestamp > $7) AND ($8::timestamptz IS NULL OR timestamp < $8)`,
      [
        ...['chain', 'revoked', 'prover', 'subject', 'schema', 'location_type'].map((name) =>
          asked.get(name),
        ),
        asked.has('fromTimestamp') ? day : null,
        asked.has('toTimestamp') ? day : null,
      ],
    )
    return given[0]!.n
  }
}

describe('the tile service shows every matching record once in the tiles of a zoom, drawn or counted:', () => {
  // A shape may lie on both sides of the border between a tile that counts it and a tile that draws it.
  test('points', () => expectEveryRecord([0, 1], 1))
  test('points, lines and areas', { tags: ['slow'] }, () => expectEveryRecord([0], 2))
})

test('the tile service shows a record although more than 500 large areas cover its tile', async () => {
  const ring = [[-60, -50], [60, -50], [60, 50], [-60, 50], [-60, -50]] // oxfmt-ignore
  const area = { type: 'Polygon', coordinates: [ring] }
  await insertRecords(
    database.url,
    Array.from({ length: 501 }, () => ({ chain: 'celo', geometry: area })),
  )
  const [stored] = await insertRecords(database.url, [{ chain: 'celo', geometry: point(...BERLIN) }], 1_000)
  const api = await start()
  for (const z of [3, 8, 12, 22])
    for (const query of ['', `subject=${ADDRESSES.join()}`]) {
      const shown = await show(api, tileAt(z, ...BERLIN), query)
      expect(shown.map(({ layer, properties: { uid, reduced } }) => [layer, uid, reduced])).toEqual([
        ['records', stored!.uid, undefined],
      ])
    }
  for (const z of [12, 22]) expect(await show(api, tileAt(z, 20, 20))).toEqual([])
  // The stored counts show that no record has its position in this tile.
  const statements = vi.spyOn(Store.prototype, 'run')
  closing.push(() => statements.mockRestore())
  expect(await show(api, tileAt(8, 20, 20))).toEqual([])
  expect(statements.mock.calls.filter(([{ text }]) => text.includes('AS placed'))).toEqual([])
  expect(statements.mock.calls.filter(([{ text }]) => text.includes('record_cell'))).toHaveLength(2)
  expect(await show(api, tileAt(22, 0.00001, 0.00001))).toEqual([])
  for (const query of ['', `subject=${ADDRESSES.join()}`])
    expect((await show(api, tileAt(8, 0.1, -0.1), query)).map(({ layer }) => layer)).toEqual(['clusters'])
})

test('the tile service updates the counts by cell as records are added, changed and removed', async () => {
  await insertRecords(database.url, someRecords(300, 2))
  await client.query(
    `UPDATE location_record SET revoked = NOT revoked WHERE right(uid, 1) IN ('0', '1', '2')`,
  )
  await client.query(`DELETE FROM location_record WHERE right(uid, 1) IN ('2', '3')`)
  const cells = `SELECT level, x, y, chain, revoked, total, x_sum, y_sum FROM record_cell WHERE total <> 0 ORDER BY 1, 2, 3, 4, 5`
  const kept = await rows(database.url, cells)
  const counted = await rows(
    database.url,
    `SELECT level::smallint, (x >> (31 - level))::int AS x, (y >> (31 - level))::int AS y, chain, revoked, count(*) AS total, sum(x)::bigint AS x_sum, sum(y)::bigint AS y_sum
     FROM (SELECT chain, revoked, location_x(geom) AS x, location_y(geom) AS y FROM location_record) AS placed, unnest(ARRAY[4, 9, 14]) AS level
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
  )
  expect(kept).toEqual(counted)
  expect(kept.length).toBeGreaterThan(300)
  await client.query('TRUNCATE location_record')
  expect(await rows(database.url, cells)).toEqual([])
})

test('the tile service sends the fields that a map needs, with hostile text unchanged', async () => {
  const memo = `<script>alert(1)</script> \u202e"'\\ \u{1f30d}\u{20bb7}\u{3fffd}\u{10fffd}${'x'.repeat(100_000)}`
  const [stored] = await insertRecords(database.url, [
    { chain: 'celo', geometry: point(...BERLIN), memo, locationType: '__proto__' },
    { chain: 'celo', geometry: point(179.9999999, 0), memo: '' },
    { chain: 'celo', geometry: point(180, 0), memo: '' },
    { chain: 'celo', geometry: point(0, 86), memo: 'beyond the map' },
  ])
  const api = await start()
  const [shown, ...others] = await show(api, tileAt(12, ...BERLIN))
  expect(others).toEqual([])
  expect(shown).toMatchObject({
    layer: 'records',
    type: 1,
    properties: {
      uid: stored!.uid,
      chain: 'celo',
      location_type: '__proto__',
      revoked: false,
      timestamp: new Date(stored!.timestamp).toISOString(),
      memo: Array.from(memo).slice(0, 100).join(''),
    },
  })
  expect(shown!.properties.prover).toBe(stored!.prover)
  const { z, x, y } = tileAt(12, ...BERLIN)
  const [at] = shown!.paths[0]!
  expect([at!.x, at!.y]).toEqual([
    Math.floor((worldX(BERLIN[0]) * 2 ** z - x) * 4096),
    Math.floor((worldY(BERLIN[1]) * 2 ** z - y) * 4096),
  ])
  // 180 degrees equals -180 in the west; each position is in one tile.
  expect((await show(api, { z: 4, x: 0, y: 8 })).length).toBe(1)
  expect((await show(api, { z: 4, x: 15, y: 8 })).length).toBe(1)
  expect(await countAt(api, 0)).toBe(3)
})

test('the tile service sends a shape if it is visible, otherwise a point, at the antimeridian too', async () => {
  await insertRecords(database.url, [
    {
      geometry: {
        type: 'Polygon',
        coordinates: [[[179, -17], [-179, -17], [-179, -16], [179, -16], [179, -17]]], // oxfmt-ignore
      },
    },
  ])
  const api = await start()
  const west = await show(api, tileAt(5, -179.5, -16.5))
  const east = await show(api, tileAt(5, 179.5, -16.5))
  expect([west.map(({ type }) => type), east.map(({ type }) => type)]).toEqual([[3], [3]])
  expect(await show(api, tileAt(5, 0, -16.5))).toEqual([])
  const far = await show(api, { z: 0, x: 0, y: 0 })
  expect(far.map(({ type, properties }) => [type, properties.reduced])).toEqual([[3, undefined]])
  await client.query('TRUNCATE location_record')
  await insertRecords(database.url, [
    { geometry: { type: 'LineString', coordinates: [[13, 52], [13.001, 52]] } }, // oxfmt-ignore
    {
      // 200 KB of GeoJSON are not read for a tile.
      geometry: {
        type: 'MultiPoint',
        coordinates: Array.from({ length: 6_000 }, (_, i) => [
          20 + i / 1_000,
          40.123456789 + (i % 97) / 1_000,
        ]),
      },
    },
  ])
  const small = await start()
  expect(
    (await show(small, tileAt(3, 13, 52))).map(({ type, properties }) => [type, properties.reduced]),
  ).toEqual(expect.arrayContaining([[1, true]]))
  expect((await show(small, tileAt(14, 13.0005, 52))).map(({ type }) => type)).toEqual([2])
  expect(
    (await show(small, tileAt(4, 23, 40.2))).map(({ type, properties }) => [type, properties.reduced]),
  ).toContainEqual([1, true])
})

test('the tile service changes only the tiles that a revocation affects', async () => {
  const places = [BERLIN, [-74, 40.7], [179.9, -17]] as const
  const stored = await insertRecords(
    database.url,
    places.map(([lng, lat]) => ({ chain: 'celo', geometry: point(lng, lat) })),
  )
  // Two independent API instances.
  const copies = [await start(), await start()]
  const tiles = places.flatMap(([lng, lat]) => [tileAt(6, lng, lat), tileAt(12, lng, lat)])
  const etags = new Map<string, string>()
  for (const api of copies)
    for (const tile of tiles) {
      const { etag } = await ask(api, tile)
      expect(etags.get(pathOf(tile)) ?? etag).toBe(etag)
      etags.set(pathOf(tile), etag)
      expect(await isKnown(api, tile, etag)).toBe(true)
    }
  for (const [i, { id }] of stored.entries()) {
    await client.query('UPDATE location_record SET revoked = true WHERE id = $1', [id])
    const touched = tiles[2 * i]!
    for (const api of copies)
      await expect.poll(() => isKnown(api, touched, etags.get(pathOf(touched))!)).toBe(false)
    for (const api of copies)
      for (const [n, tile] of tiles.entries()) {
        const isTouched = Math.floor(n / 2) === i
        expect([i, n, await isKnown(api, tile, etags.get(pathOf(tile))!)]).toEqual([i, n, !isTouched])
      }
    for (const tile of tiles.slice(2 * i, 2 * i + 2)) {
      const [shown] = await show(copies[0]!, tile)
      expect(shown!.properties.revoked).toBe(true)
      etags.set(pathOf(tile), (await ask(copies[1]!, tile)).etag)
    }
  }
  // After a reorg, the record's tile is empty, as before the record arrived.
  await client.query('DELETE FROM location_record WHERE id = $1', [stored[0]!.id])
  await expect.poll(() => show(copies[0]!, tiles[1]!)).toEqual([])
  expect(await isKnown(copies[1]!, tiles[3]!, etags.get(pathOf(tiles[3]!))!)).toBe(true)
  // A restarted instance returns the same ETags.
  const restarted = await start()
  for (const tile of tiles.slice(2))
    expect(await isKnown(restarted, tile, etags.get(pathOf(tile))!)).toBe(true)
})

test(
  'the tile service notices records that are rewritten without a change in the log',
  { tags: ['slow'] },
  async () => {
    const [stored] = await insertRecords(database.url, [{ chain: 'celo', geometry: point(...BERLIN) }])
    const api = await start()
    const tile = tileAt(12, ...BERLIN)
    const { etag } = await ask(api, tile)
    await client.query(`UPDATE location_record SET memo = 'replayed' WHERE id = $1`, [stored!.id])
    await expect.poll(async () => (await show(api, tile))[0]!.properties.memo).toBe('replayed')
    expect(await isKnown(api, tile, etag)).toBe(false)
    await client.query('TRUNCATE location_record')
    await expect.poll(() => show(api, tile)).toEqual([])
    // One read has more changes than are processed individually.
    await insertRecords(database.url, someRecords(3_000, 4))
    await expect.poll(() => countAt(api, 1)).toBe(3_000)
  },
)

/** Creates tiles without a server, which share no reads of changes. */
const makeTiles = (cacheBytes: number, url = database.url) => {
  const store = new Store(url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  closing.push(async () => {
    await records.close()
    await store.close()
  })
  return new Tiles({ store, records, cacheBytes, sharedMs: 0 })
}

test('the tile service never returns an older tile after a newer tile', async () => {
  const [stored] = await insertRecords(database.url, [{ chain: 'celo', geometry: point(...BERLIN) }])
  const tiles = makeTiles(1_000_000)
  const zooms = [3, 6, 9, 12].map((z) => tileAt(z, ...BERLIN))
  const choices: RecordChoice[] = [{}, { chain: 'celo' }]
  let [written, isOver] = [0, false]
  const reader = async (n: number) => {
    let newest = -1
    let reads = 0
    while (!isOver || reads < 6) {
      const known = written
      const { compressed } = await tiles.get(zooms[n % 4]!, choices[n % 2]!)
      const [shown] = decoded(gunzipSync(compressed))
      const version = Number(shown!.properties.memo || 0)
      // The response includes all writes that preceded the request.
      expect(version).toBeGreaterThanOrEqual(Math.max(known, newest))
      newest = version
      reads++
    }
  }
  const readers = Array.from({ length: 8 }, (_, n) => reader(n))
  for (let i = 1; i <= 150; i++) {
    await client.query('UPDATE location_record SET memo = $2, revoked = $3 WHERE id = $1', [
      stored!.id,
      String(i),
      i % 2 === 1,
    ])
    written = i
  }
  isOver = true
  await Promise.all(readers)
})

test('the tile service bounds the bytes of cached tiles', { tags: ['slow'] }, async () => {
  await insertRecords(database.url, someRecords(1_000, 5))
  const tiles = makeTiles(20_000)
  let made = 0
  for (let x = 0; x < 16; x++)
    for (let y = 2; y < 14; y++) {
      made += (await tiles.get({ z: 4, x, y }, {})).compressed.length
      expect(tiles.size).toBeLessThanOrEqual(20_000)
    }
  expect(made).toBeGreaterThan(30_000)
  expect(tiles.size).toBeGreaterThan(10_000)
  const none = makeTiles(0)
  await none.get({ z: 0, x: 0, y: 0 }, {})
  expect(none.size).toBe(0)
})

test('the tile service requires revalidation, and compresses for clients that accept it', async () => {
  await insertRecords(database.url, [{ chain: 'celo', geometry: point(...BERLIN) }])
  const api = await start()
  const tile = tileAt(4, ...BERLIN)
  const plain = await ask(api, tile, '', { 'accept-encoding': 'identity' })
  expect(plain.headers.get('content-encoding')).toBe(null)
  for (const header of ['gzip', 'br, gzip;q=0.5', '*']) {
    const packed = await ask(api, tile, '', { 'accept-encoding': header })
    expect(Object.fromEntries(packed.headers)).toMatchObject({
      'content-type': 'application/vnd.mapbox-vector-tile',
      'content-encoding': 'gzip',
      'cache-control': 'public, no-cache',
      vary: expect.stringContaining('accept-encoding'),
      etag: plain.etag,
    })
    expect(Buffer.from(packed.bytes).equals(Buffer.from(plain.bytes))).toBe(true)
  }
  for (const header of ['gzip;q=0', 'br', ''])
    expect((await ask(api, tile, '', { 'accept-encoding': header })).headers.get('content-encoding')).toBe(
      null,
    )
  const empty = await ask(api, tileAt(4, -100, -50))
  expect([empty.status, empty.bytes.byteLength]).toEqual([200, 0])
  expect(await isKnown(api, tileAt(4, -100, -50), empty.etag)).toBe(true)
})

test(
  'the tile service applies a CQL2 filter, including NOT and OR of places',
  { tags: ['slow'] },
  async () => {
    const given = someRecords(1_500, 3).map((each) => ({ ...each, geometry: point(...firstOf(each)) }))
    await insertRecords(database.url, given)
    const api = await start()
    const place = 'S_INTERSECTS(geometry, POLYGON((13.4 52.5, 13.5 52.5, 13.4 52.6, 13.4 52.5)))'
    for (const filter of [
      place,
      `NOT ${place}`,
      `${place} OR revoked = TRUE`,
      `NOT (${place} OR S_INTERSECTS(geometry, BBOX(0, 0, 90, 80))) AND chain <> 'celo'`,
      "S_INTERSECTS(geometry, BBOX(-90, -80, 90, 80)) AND memo LIKE '%'",
      'FALSE',
    ]) {
      const query = `filter=${encodeURIComponent(filter)}`
      const items = await fetch(`${api.url}/ogc/collections/location-records/items?limit=1&${query}`)
      const { numberMatched } = (await items.json()) as { numberMatched: number }
      for (const z of [0, 1])
        expect([filter, z, await countAt(api, z, query)]).toEqual([filter, z, numberMatched])
    }
    const [one, other] = await Promise.all(
      ['TRUE', 'revoked = TRUE'].map((filter) =>
        ask(api, tileAt(0, 0, 0), `filter=${encodeURIComponent(filter)}`),
      ),
    )
    expect(one!.etag).not.toBe(other!.etag)
    const json = `filter-lang=cql2-json&filter=${encodeURIComponent('{"op":"=","args":[{"property":"revoked"},true]}')}`
    expect((await ask(api, tileAt(0, 0, 0), json)).etag).toBe(other!.etag)
  },
)

test('the tile service lists the tile address in TileJSON, with the filters of the request', async () => {
  const api = await start({ publicBaseUrl: 'https://x.example/geo' })
  const checker = openApiChecker(await (await fetch(`${api.url}/openapi.json`)).json())
  const path = '/tiles/location-records.json?chain=celo&bbox=1,2,3,4'
  const response = await fetch(api.url + path)
  const body = (await response.json()) as { tiles: string[]; vector_layers: { id: string }[] }
  checker.check({
    ...{ method: 'GET', path, request: undefined, status: response.status },
    type: response.headers.get('content-type')!,
    response: body,
  })
  expect(body.tiles).toEqual([
    'https://x.example/geo/tiles/location-records/{z}/{x}/{y}.mvt?chain=celo&bbox=1%2C2%2C3%2C4',
  ])
  expect(body.vector_layers.map(({ id }) => id)).toEqual(['records', 'clusters'])
})

describe('for an address without a tile,', () => {
  let api: TestApi
  beforeAll(async () => {
    api = await startApi({ databaseUrl: database.url })
  })

  test.each([
    ['23/0/0.mvt', 'z'],
    ['-1/0/0.mvt', 'z'],
    ['1.5/0/0.mvt', 'z'],
    ['2/4/0.mvt', 'x'],
    ['2/0/4.mvt', 'y'],
    ['2/0/99999999999999999999.mvt', 'y'],
    ['2/0/-1.mvt', 'y'],
    ['0/0/0.mvt?near=1,2', 'radius'],
    ['0/0/0.mvt?radius=2', 'near'],
    ['0/0/0.mvt?chain=none', 'chain'],
    ['0/0/0.mvt?limit=5', 'query'],
    ['0/0/0.mvt?filter=limit%3D5', 'filter'],
    ['0/0/0.mvt?filter-lang=sql', 'filter-lang'],
  ])('the tile service rejects %s, and names %s in the error', async (path, name) => {
    const response = await fetch(`${api.url}/tiles/location-records/${path}`)
    const body = (await response.json()) as { message: string; detail: string }
    expect(response.status).toBe(400)
    expect(body.message).toMatch(new RegExp(`\\b${name}\\b`))
    expect(body.detail).toMatch(/Expected|Missing|Supported|Known/)
  })

  test('the tile service returns 404 for other addresses, and 405 for other methods', async () => {
    const ask = async (path: string, method = 'GET') =>
      (await fetch(`${api.url}/tiles${path}`, { method })).status
    expect(await ask('/location-records/0/0/0.png')).toBe(404)
    expect(await ask('/others/0/0/0.mvt')).toBe(404)
    expect(await ask('/location-records/0/0/0.mvt', 'POST')).toBe(405)
  })
})

test('the tile service returns 503 without its database, even for cached tiles', async () => {
  const [stored] = await insertRecords(database.url, [{ chain: 'celo', geometry: point(...BERLIN) }])
  const proxy = await startRedisProxy(database.url)
  closing.push(() => proxy.close())
  const way = new URL(database.url)
  way.port = new URL(proxy.url).port
  const api = await start({ databaseUrl: way.toString() })
  const tile = tileAt(12, ...BERLIN)
  const { etag } = await ask(api, tile)
  expect(await isKnown(api, tile, etag)).toBe(true)
  await proxy.cut()
  const again = () => ask(api, tile, '', { 'if-none-match': etag })
  await expect.poll(async () => (await again()).status).toBe(503)
  const refused = await again()
  expect([refused.status, refused.etag, refused.headers.get('retry-after')]).toEqual([503, null, '5'])
  expect((JSON.parse(Buffer.from(refused.bytes).toString()) as { message: string }).message).toBe(
    'Temporarily unavailable',
  )
  await client.query('UPDATE location_record SET revoked = true WHERE id = $1', [stored!.id])
  await proxy.restore()
  await expect.poll(async () => (await ask(api, tile)).status).toBe(200)
  expect((await show(api, tile))[0]!.properties.revoked).toBe(true)
})
