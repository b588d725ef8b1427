import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { seededRandom } from '../../dev/random'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../../src/location'
import { startApi, type TestApi } from '../../test/api'
import { parseCsv } from '../../test/csv'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { openApiChecker, type OpenApiChecker } from '../../test/openapi'
import { ADDRESSES, insertRecords, type GivenRecord, type StoredRecord } from '../../test/records'
import { CSV_COLUMNS, guarded } from '../formats/csv'
import { chooseFormat } from '../http/accept'
import { Store } from '../store'
import { PROVENANCE_FIELDS } from '../store/provenance'
import { sentence, testSentences } from '../../test/sentences'
import { positions } from '../../test/positions'

/** Tests the list of records on a real database: filters, order, paging, formats and headers. */
const BASE = 'https://x.example/geo'
const LIST = '/api/v0/location-records'
/** Metres per degree of latitude at the equator: a (1 - e2) pi / 180. */
const METERS_IN_DEGREE = 110_574.27582
const NOON = Date.UTC(2026, 0, 1, 12)
let database: TestDatabase
let api: TestApi
let checker: OpenApiChecker
let stored: StoredRecord[]
const named: Record<string, StoredRecord> = {}

const PROVENANCE_PROVER = `0x${'7'.repeat(39)}a`
const point = (lng: number, lat: number) => ({ type: 'Point', coordinates: [lng, lat] })
const line = (...coordinates: number[][]) => ({ type: 'LineString', coordinates })

beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url, publicBaseUrl: BASE })
  checker = openApiChecker(await (await fetch(`${api.url}/openapi.json`)).json())
  const random = seededRandom(20260101)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  // Many records share a timestamp, like those of one block.
  stored = await insertRecords(
    database.url,
    Array.from({ length: 600 }, (_, i): GivenRecord => ({
      ...{
        chain: pick(['celo', 'sepolia', 'arbitrum', 'base-sepolia']),
        timestamp: NOON + Math.floor(i / 7) * 60_000,
        eventTimestamp: NOON - Math.floor(random() * 50) * 3_600_000,
      },
      ...{
        revoked: random() < 0.2,
        prover: pick(ADDRESSES),
        subject: pick(ADDRESSES),
        locationType: pick(['geojson', 'GeoJSON-Point', 'h3']),
        geometry: i % 5 ? point(20 + Math.floor(random() * 20), 20 + Math.floor(random() * 20)) : null,
      },
    })),
  )
  const special: [string, GivenRecord][] = [
    // 1000.004 m and 1000.006 m north of [-20, 0]: rounded to the centimetre, one is within a kilometre.
    ['atRadius', { geometry: point(-20, 1000.004 / METERS_IN_DEGREE), chain: 'celo' }],
    ['beyondRadius', { geometry: point(-20, 1000.006 / METERS_IN_DEGREE), chain: 'celo' }],
    ['fiji', { geometry: point(179.999, -17), chain: 'celo' }],
    ['samoa', { geometry: point(-179.999, -17), chain: 'celo' }],
    ['pole', { geometry: point(77, 90), chain: 'celo' }],
    ['parallel', { geometry: line([-40, 60], [-20, 60]), chain: 'celo' }],
    [
      'bowtie',
      {
        geometry: { type: 'Polygon', coordinates: [positions('-60 0, -58 2, -58 0, -60 2, -60 0')] },
        chain: 'celo',
      },
    ],
    ['nowhere', { geometry: null, chain: 'celo', attributes: { assetId: 'pump-7', n: { at: '1' } } }],
    [
      'hostile',
      {
        geometry: point(-100, -45),
        chain: 'sepolia',
        memo: '=cmd|\' /C calc\'!A0 "quoted",\r\nand é \u2028 𝕊',
        location: '-1, +2',
        recipeTypes: ['=a', 'b,"c"'],
      },
    ],
  ]
  const inserted = await insertRecords(
    database.url,
    special.map(([, record], i) => ({ timestamp: NOON - 86_400_000 - i * 1000, ...record })),
    10_000,
  )
  for (const [i, [name]] of special.entries()) named[name] = inserted[i]!
  stored.push(...inserted)
})

async function ask(query: string, headers: Record<string, string> = {}, method = 'GET') {
  const path = `${LIST}${query}`
  const response = await fetch(`${api.url}${path}`, { headers, method })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const body: any = /[/+]json;/.test(type) && text !== '' ? JSON.parse(text) : text
  if (method === 'GET' && response.status !== 304)
    checker.check({ method, path, status: response.status, type, response: body })
  return { status: response.status, headers: response.headers, type, text, body }
}
const uidsOf = (body: { data: { uid: string }[] }) => body.data.map(({ uid }) => uid)
async function found(query: string): Promise<string[]> {
  const { status, body } = await ask(query)
  expect(status, JSON.stringify(body).slice(0, 300)).toBe(200)
  return uidsOf(body)
}
const names = async (query: string) =>
  (await found(query)).map((uid) => Object.keys(named).find((name) => named[name]!.uid === uid) ?? uid)
const problem = async (query: string) => {
  const { status, body } = await ask(query)
  return [status, body.message, body.detail]
}
/** Records in the order of a list. */
function sorted(
  records: readonly StoredRecord[],
  by: 'timestamp' | 'eventTimestamp' = 'timestamp',
  descending = true,
): StoredRecord[] {
  const ascending = [...records].sort((a, b) => a[by] - b[by] || (a.id < b.id ? -1 : 1))
  return descending ? ascending.reverse() : ascending
}

/** Problem of an invalid parameter. */
const invalid = (name: string) => [400, `Invalid ${name} parameter`, sentence()]
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
const valuesOf = (headers: Headers, ...names: string[]) => names.map((name) => headers.get(name))
const ITEMS = '/ogc/collections/location-records/items'

describe('the record filters', () => {
  test('select by revoked, schema, and location_type in any letter case', async () => {
    const expected = (wanted: (record: StoredRecord) => boolean) =>
      sorted(stored.filter(wanted)).map(({ uid }) => uid)
    expect(await found('?limit=1000&revoked=true')).toEqual(expected(({ revoked }) => revoked))
    expect(await found('?limit=1000&revoked=false')).toEqual(expected(({ revoked }) => !revoked))
    const points = expected(({ locationType }) => locationType === 'GeoJSON-Point')
    for (const type of ['geojson-point', 'GEOJSON-POINT', 'geojson-point,GEOJSON-POINT,GeoJSON-Point']) {
      const { body } = await ask(`?limit=1000&total=true&location_type=${type}`)
      expect([body.data.map(({ uid }: { uid: string }) => uid), body.total]).toEqual([points, points.length])
    }
    const { uid } = LOCATION_PROTOCOL_SCHEMA
    for (const text of [uid, `0x${uid.slice(2).toUpperCase()}`])
      expect(await found(`?limit=1000&schema=${text}`)).toEqual(expected(({ schema }) => schema === uid))
    const [schema, prover] = [LOCATION_SCHEMA.uid, ADDRESSES[1]!]
    const all = `schema=${schema}&revoked=true&location_type=h3&chain=arbitrum-one&prover=${prover}`
    const wanted = { schema, revoked: true, locationType: 'h3', chain: 'arbitrum', prover }
    const isWanted = (record: StoredRecord) =>
      Object.entries(wanted).every(([name, value]) => record[name as keyof typeof wanted] === value)
    expect(await found(`?limit=1000&${all}`)).toEqual(expected(isWanted))
  })
  test('select by near within the radius to the centimetre, across the antimeridian and around a pole', async () => {
    expect(await names('?near=-20,0&radius=1000')).toEqual(['atRadius'])
    expect(await names('?near=-20,0&radius=1000.01')).toEqual(['atRadius', 'beyondRadius'])
    expect(await names('?near=180,-17&radius=200')).toEqual(['fiji', 'samoa'])
    expect(await names('?near=-103,89.999&radius=112')).toEqual(['pole'])
    expect(await names('?near=-103,89.999&radius=111')).toEqual([])
    expect(await found('?near=0,0&radius=100000000&limit=1000')).toHaveLength(
      stored.filter(({ geometry }) => geometry).length - 1,
    )
  })
  test('select by intersects with geodesic edges, where touching counts, in WKT and GeoJSON', async () => {
    // The midpoint of the geodesic between two positions at 60 N is at 60.376 N.
    expect(await names('?intersects=POINT(-30 60)')).toEqual([])
    for (const text of [
      'LINESTRING(-30 60.37, -30 60.38)',
      '{"type":"LineString","coordinates":[[-30,60.37],[-30,60.38]]}',
      '{"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[-30,60.37],[-30,60.38]]}}',
    ])
      expect(await names(`?intersects=${encodeURIComponent(text)}`)).toEqual(['parallel'])
    expect(await names('?intersects=POINT(-40+60)')).toEqual(['parallel'])
    expect(await names('?intersects=POLYGON((179 -18,-179 -18,-179 -16,179 -16,179 -18))')).toEqual([
      'fiji',
      'samoa',
    ])
    expect(await names('?intersects=POLYGON((-61 -1,-57 -1,-57 3,-61 3,-61 -1))')).toEqual([])
    expect(await names('?bbox=-61,-1,-57,3')).toEqual(['bowtie'])
    expect(
      await names('?intersects=POLYGON((-41 59,-19 59,-19 62,-41 62,-41 59))&bbox=-41,60.5,-19,61'),
    ).toEqual([])
  })
  test('combine near and intersects with all other parameters', async () => {
    const wanted = sorted(
      stored.filter((r) => r.geometry && !r.revoked && r.chain === 'celo' && r.timestamp >= NOON),
      'eventTimestamp',
      false,
    ).map(({ uid }) => uid)
    const query =
      '?intersects=POLYGON((19 19,41 19,41 41,19 41,19 19))&revoked=false&chain=celo&sort=event_timestamp&fromTimestamp=2026-01-01T11:59:59Z'
    expect(await found(`${query}&limit=1000`)).toEqual(wanted)
    expect(await found(`${query}&limit=10&offset=5`)).toEqual(wanted.slice(5, 15))
    const counted = { count: 10, total: wanted.length, total_exact: true }
    expect((await ask(`${query}&limit=10&total=true`)).body).toMatchObject(counted)
  })
  test.each<[query: string, name: string]>([
    ['?near=1,2', 'radius'],
    ['?radius=5', 'near'],
    ...['', '1', '1,2,3', '181,0', '0,91', 'a,b', 'NaN,0', '1e999,0', '0x1,2', '1;2'].map(
      (near) => [`?near=${near}&radius=5`, 'near'] as [string, string],
    ),
    ...['', '0', '-1', 'x', 'NaN', 'Infinity', '1e999', '100000001', '5,5', '5m'].map(
      (radius) => [`?near=1,2&radius=${radius}`, 'radius'] as [string, string],
    ),
    ['?near=1,2&radius=5&intersects=POINT(1 2)', 'intersects'],
    ['?radius=5&intersects=POINT(1 2)', 'radius'],
    ['?intersects=', 'intersects'],
    ['?intersects=POINT(1 91)', 'intersects'],
    ['?intersects=POLYGON((0 0,1 1,1 0,0 1,0 0))', 'intersects'],
    ['?intersects={"type":"Point"', 'intersects'],
    ['?intersects={"type":"Point","type":"Point","coordinates":[1,2]}', 'intersects'],
    ['?intersects={"type":"Circle"}', 'intersects'],
    ['?intersects=POINT EMPTY', 'intersects'],
    ...['', 'yes', '1', 'TRUE'].map((text) => [`?revoked=${text}`, 'revoked'] as [string, string]),
    ...['', 'time', '--timestamp', 'timestamp,uid', 'TIMESTAMP', '-'].map(
      (text) => [`?sort=${text}`, 'sort'] as [string, string],
    ),
    ...['', 'a'.repeat(101), 'a%00b', 'a%0Ab'].map(
      (text) => [`?location_type=${text}`, 'location_type'] as [string, string],
    ),
    ...['', '0x12', `0x${'g'.repeat(64)}`].map((text) => [`?schema=${text}`, 'schema'] as [string, string]),
    ...['', 'xml', 'JSON', 'json,csv'].map((text) => [`?format=${text}`, 'format'] as [string, string]),
    ['?total=1', 'total'],
    ['?total=true&format=csv', 'total'],
  ])('reject the query %s', async (query, name) => {
    expect(await problem(query)).toEqual(invalid(name))
  })
})

describe('the pages of the record list', () => {
  test.each([
    ['', 'timestamp', true],
    ['&sort=-timestamp', 'timestamp', true],
    ['&sort=timestamp', 'timestamp', false],
    ['&sort=event_timestamp', 'eventTimestamp', false],
    ['&sort=-event_timestamp', 'eventTimestamp', true],
  ] as const)('return every record once, in order, by cursor%s', async (sort, by, descending) => {
    const all: string[] = []
    for (let cursor = ''; ;) {
      const { body } = await ask(`?limit=97${sort}${cursor && `&cursor=${cursor}`}`)
      all.push(...uidsOf(body))
      expect(body).toMatchObject({ limit: 97, offset: 0 })
      if (body.next_cursor === null) break
      expect(body.count).toBe(97)
      cursor = body.next_cursor
    }
    expect(all).toEqual(sorted(stored, by, descending).map(({ uid }) => uid))
  })
  test('neither repeat nor omit records by cursor while others arrive, whereas offset repeats some', async () => {
    const expected = sorted(stored.filter(({ chain }) => chain === 'sepolia')).map(({ uid }) => uid)
    const byCursor: string[] = []
    const byOffset: string[] = []
    let arrived: StoredRecord[] = []
    for (let cursor = '', i = 0; ; i++) {
      const { body } = await ask(`?chain=sepolia&limit=20${cursor && `&cursor=${cursor}`}`)
      byCursor.push(...uidsOf(body))
      byOffset.push(...(await found(`?chain=sepolia&limit=20&offset=${i * 20}`)))
      if (body.next_cursor === null) break
      cursor = body.next_cursor
      arrived = [
        ...arrived,
        ...(await insertRecords(
          database.url,
          Array.from({ length: 3 }, () => ({ chain: 'sepolia', timestamp: NOON + 86_400_000 + i * 1000 })),
          20_000 + i * 3,
        )),
      ]
    }
    expect(byCursor).toEqual(expected)
    expect(byOffset).not.toEqual(expected)
    await rows(database.url, 'DELETE FROM location_record WHERE id = ANY($1)', [arrived.map(({ id }) => id)])
  })
  test('accept a cursor only for its own filters and sort, in any spelling', async () => {
    const query = '?chain=arbitrum&fromTimestamp=2026-01-01&limit=5'
    const { body } = await ask(query)
    const cursor = body.next_cursor as string
    const rest = await found(`${query}&cursor=${cursor}`)
    expect(rest).toHaveLength(5)
    for (const same of [
      '?chain=ARBITRUM-ONE&fromTimestamp=2025-12-31T24:00Z&limit=5',
      '?sort=-timestamp&chain=arbitrum&fromTimestamp=20260101T000000.000Z&limit=5&total=true',
    ])
      expect(await found(`${same}&cursor=${cursor}`)).toEqual(rest)
    for (const other of [
      '?limit=5',
      '?chain=celo&fromTimestamp=2026-01-01',
      '?chain=arbitrum&fromTimestamp=2026-01-02',
      '?chain=arbitrum&fromTimestamp=2026-01-01&sort=timestamp',
      '?chain=arbitrum&fromTimestamp=2026-01-01&bbox=0,0,1,1',
    ])
      expect(await problem(`${other}&cursor=${cursor}`)).toEqual(invalid('cursor'))
    expect(await problem(`${query}&cursor=${cursor}&offset=0`)).toEqual(invalid('offset'))
  })
  test('reject a malformed cursor', async () => {
    const { body } = await ask('?limit=1')
    const good = Buffer.from(body.next_cursor as string, 'base64url').toString()
    const [tag, at, id] = good.split(' ') as [string, string, string]
    const encoded = (text: string) => Buffer.from(text).toString('base64url')
    const bad = [
      ...['', 'x', '0', 'null', 'a'.repeat(5_000), `${body.next_cursor}=`, `${body.next_cursor}A`],
      ...['1e3', '-1', '999999999999999', 'NaN'].map((time) => encoded(`${tag} ${time} ${id}`)),
      ...[`${at} ${id}'`, at, `${at} ${id}\0`].map((rest) => encoded(`${tag} ${rest}`)),
    ]
    for (const cursor of bad)
      expect(await problem(`?limit=1&cursor=${cursor}`), cursor).toEqual(invalid('cursor'))
  })
  test('are empty for an offset beyond the last record', async () => {
    // A larger number is read as the largest one that every JSON reader keeps exact.
    const none = { data: [], count: 0, limit: 100, offset: 999_999_999_999_999, next_cursor: null }
    expect((await ask(`?offset=${'9'.repeat(40)}`)).body).toEqual(none)
    expect((await ask('?offset=100000&limit=7')).body).toEqual({ ...none, limit: 7, offset: 100_000 })
    expect((await ask('?offset=200000&format=csv')).text.trim()).toBe(CSV_COLUMNS.join())
  })
  test('are read for any offset below the number of records', async () => {
    const read = vi.spyOn(Store.prototype, 'page')
    const raise = async (by: number) => {
      await rows(database.url, `UPDATE record_state SET total = total + ${by}`)
      // The number of records is reused for 250 ms.
      await setTimeout(260)
    }
    onTestFinished(async () => {
      read.mockRestore()
      await raise(-200_000)
    })
    await raise(200_000)
    expect((await ask('?offset=10000000')).body).toMatchObject({ count: 0, offset: 10_000_000 })
    expect(read).not.toHaveBeenCalled()
    expect((await ask('?offset=150000')).body).toMatchObject({ count: 0, offset: 150_000 })
    expect(read).toHaveBeenCalledWith(expect.objectContaining({ offset: 150_000 }))
  })
  test('include a total on request, stored or counted', async () => {
    expect((await ask('?limit=1')).body).not.toHaveProperty('total')
    expect((await ask('?limit=1&total=false')).body).not.toHaveProperty('total')
    const total = async (query: string) => (await ask(`${query}&limit=1&total=true`)).body
    expect(await total('?offset=5')).toMatchObject({ count: 1, total: stored.length, total_exact: true })
    const exactly = (passes: (record: StoredRecord) => boolean) => ({
      ...{ total: stored.filter(passes).length, total_exact: true },
    })
    expect(await total('?chain=celo&revoked=true')).toMatchObject(
      exactly(({ chain, revoked }) => chain === 'celo' && revoked),
    )
    expect(await total('?location_type=h3')).toMatchObject(
      exactly(({ locationType }) => locationType === 'h3'),
    )
  })
})

describe('the links of the record list', () => {
  const linksOf = (headers: Headers) =>
    Object.fromEntries(
      [...(headers.get('link') ?? '').matchAll(/<([^<>]*)>; rel="(\w+)"/g)].map(([, to, rel]) => [rel, to!]),
    )
  const follow = (to: string) => to.replace(`${BASE}${LIST}`, '')
  test('are absolute, under the public address, and keep every filter', async () => {
    const query =
      '?prover=' + ADDRESSES[0] + '&fromTimestamp=2025-12-31T00:00:00%2B01:00&location_type=geojson&limit=3'
    const first = await ask(query)
    const links = linksOf(first.headers)
    expect(Object.keys(links)).toEqual(['self', 'next'])
    expect(links.self).toBe(
      `${BASE}${LIST}?prover=${ADDRESSES[0]}&fromTimestamp=2025-12-31T00%3A00%3A00%2B01%3A00&location_type=geojson&limit=3`,
    )
    expect((await ask(follow(links.self))).text).toBe(first.text)
    const all: string[] = []
    for (let at: string | undefined = query; at !== undefined;) {
      const { body, headers } = await ask(at)
      all.push(...uidsOf(body))
      const { next } = linksOf(headers)
      at = next === undefined ? undefined : follow(next)
    }
    const passing = stored.filter((r) => r.prover === ADDRESSES[0] && r.locationType === 'geojson')
    expect(all).toEqual(sorted(passing).map(({ uid }) => uid))
  })
  test('lead to earlier pages by offset, so that no record is on two pages', async () => {
    const all = await found('?limit=40')
    const back: string[][] = []
    for (let at: string | undefined = '?offset=33&limit=7&sort=-timestamp'; at !== undefined;) {
      const { body, headers } = await ask(at)
      back.unshift(uidsOf(body))
      const { prev, first, next } = linksOf(headers)
      if (back.length === 1) expect(follow(first)).toBe('?limit=7&sort=-timestamp')
      if (back.length === 1) expect(next).not.toContain('offset')
      at = prev === undefined ? undefined : follow(prev)
    }
    expect(back.flat()).toEqual(all)
    expect(back.map(({ length }) => length)).toEqual([5, 7, 7, 7, 7, 7])
  })
  test('lead from a page by cursor to the first page, but not to the previous page', async () => {
    const { next } = linksOf((await ask('?limit=3')).headers)
    expect(Object.keys(linksOf((await ask(follow(next))).headers))).toEqual(['self', 'next', 'first'])
  })
  test('lead through all records in other formats', async () => {
    const ids: string[] = []
    for (let at: string | undefined = '?limit=250&format=geojson&sort=timestamp'; at !== undefined;) {
      const { body, headers, type } = await ask(at)
      expect(type).toBe('application/geo+json; charset=utf-8')
      ids.push(...body.features.map(({ id }: { id: string }) => id))
      const { next } = linksOf(headers)
      at = next === undefined ? undefined : follow(next)
    }
    expect(ids).toEqual(sorted(stored, 'timestamp', false).map(({ id }) => id))
  })
  test('cannot inject into the header, and are omitted if too long for clients', async () => {
    const odd = await ask('?location_type=%3E;%20rel="next",%3Chttps://evil.example%3E')
    expect([odd.status, Object.keys(linksOf(odd.headers))]).toEqual([200, ['self']])
    const ring = Array.from(
      { length: 300 },
      (_, i) => `${(30 + Math.cos(i / 48) * 9).toFixed(9)} ${(30 + Math.sin(i / 48) * 9).toFixed(9)}`,
    )
    const polygon = `POLYGON((${[...ring, ring[0]].join()}))`
    const long = await ask(`?intersects=${encodeURIComponent(polygon)}&limit=1`)
    expect([long.status, long.headers.get('link'), typeof long.body.next_cursor]).toEqual([
      200,
      null,
      'string',
    ])
  })
})

describe('the formats of records', () => {
  test.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
    ['text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01', 'html'],
    ['text/html', 'html'],
    ['text/html;q=0.9, application/json;q=0.8', 'html'],
    // Accept headers of programs that do not want an HTML page.
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'json'],
    ['text/html, image/gif, image/jpeg, */*; q=0.2', 'json'],
    ['application/json, text/html', 'json'],
    ['text/html, application/json', 'json'],
    ['text/html, application/geo+json', 'geojson'],
    ['text/csv, text/html', 'csv'],
    ['text/html;q=0', 'json'],
    ['text/html;q=0.1, */*;q=0.2', 'json'],
    ['application/json, text/plain, */*', 'json'],
    ['image/png', 'json'],
    ['text/csv', 'csv'],
    ['TEXT/CSV; charset=utf-8', 'csv'],
    ['text/*', 'csv'],
    ['application/*', 'json'],
    ['application/geo+json', 'geojson'],
    ['application/geo+json, application/json', 'geojson'],
    ['application/json, application/geo+json', 'json'],
    ['application/geo+json, */*', 'geojson'],
    ['application/json;q=0.5, application/geo+json;q=0.7, text/csv;q=0.6', 'geojson'],
    ['application/x-ndjson;q=0.9, application/json;q=0.8', 'ndjson'],
    ['application/vnd.apache.parquet', 'geoparquet'],
    ['application/vnd.flatgeobuf, application/json;q=0.9', 'flatgeobuf'],
    ['*/*, application/json;q=0', 'geojson'],
    ['application/json;q=0', 'json'],
    ['text/csv;q=0, */*;q=0.1', 'json'],
    ['application/*;q=0.2, text/*;q=0.3', 'csv'],
    ['text/csv;q=.2, application/geo+json;q=0.3', 'geojson'],
    ['text/csv;q=0.3333, application/geo+json;q=0.5', 'geojson'],
    ['text/csv;q=2', 'csv'],
    [',;,=;q', 'json'],
    ['a'.repeat(100_000), 'json'],
  ])('are chosen by the header Accept: %s', (accept, expected) => {
    const offered = ['json', 'geojson', 'ndjson', 'csv', 'geoparquet', 'flatgeobuf', 'html'] as const
    expect(chooseFormat(undefined, accept, offered)).toBe(expected)
  })
  test('follow the parameter format rather than Accept, with their Content-Type and Vary: Accept', async () => {
    const attachment = (format: string) => `attachment; filename="location-records.${format}"`
    for (const [query, accept, type, disposition] of [
      [
        '?format=csv&limit=1',
        'application/json',
        'text/csv; charset=utf-8; header=present',
        attachment('csv'),
      ],
      ['?format=json', 'text/csv', 'application/json; charset=utf-8', null],
      ['', 'application/x-ndjson', 'application/x-ndjson; charset=utf-8', attachment('ndjson')],
    ] as const) {
      const { headers } = await ask(query, { accept })
      expect(valuesOf(headers, 'content-type', 'content-disposition')).toEqual([type, disposition])
      // A stream is not compressed.
      expect(headers.get('vary')).toBe(query === '' ? 'accept' : 'accept, accept-encoding')
    }
  })
  test('contain the same matching records in the same order, in pages and in exports', async () => {
    const query = '?revoked=false&sort=event_timestamp'
    const { data } = (await ask(`${query}&limit=1000`)).body
    for (const limit of ['', '&limit=1000', '&limit=1001', `&limit=${'9'.repeat(20)}`]) {
      expect(linesOf((await ask(`${query}${limit}&format=ndjson`)).text)).toEqual(data)
      const { features } = (await ask(`${query}${limit}&format=geojson`)).body
      expect(features.map(({ properties }: { properties: object }) => properties)).toEqual(data)
      const [, ...csv] = parseCsv((await ask(`${query}${limit}&format=csv`)).text)
      expect(csv.map(([uid]) => uid)).toEqual(uidsOf({ data }))
    }
    const { next_cursor } = (await ask(`${query}&limit=400`)).body
    for (const part of ['&offset=400', '&offset=400&limit=2000', `&cursor=${next_cursor}`])
      expect(linesOf((await ask(`${query}${part}&format=ndjson`)).text)).toEqual(data.slice(400))
    const { body } = await ask('?chain=celo&revoked=true&fromTimestamp=2027&format=geojson')
    expect(body).toEqual({ type: 'FeatureCollection', features: [] })
    expect((await ask('?fromTimestamp=2027&format=ndjson')).text).toBe('')
    expect((await ask('?near=-20,0&radius=1001&format=ndjson')).text.trimEnd().split('\n')).toHaveLength(2)
  })
  test('include GeoJSON with the decoded geometry, or null', async () => {
    const { features } = (await ask('?toTimestamp=2026-01-01&format=geojson')).body
    const featureOf = ({ id }: StoredRecord) => features.find((each: { id: string }) => each.id === id)
    const { geometry } = named.parallel!
    const properties = { longitude: null }
    expect(featureOf(named.parallel!)).toMatchObject({ type: 'Feature', geometry, properties })
    expect(featureOf(named.nowhere!)).toMatchObject({ type: 'Feature', geometry: null })
  })
  test('include valid RFC 4180 CSV, in which attested texts cannot be formulas', async () => {
    const { text } = await ask('?chain=sepolia&toTimestamp=2026-01-01&format=csv')
    const [header, record, end] = parseCsv(text)
    expect([header, end]).toEqual([CSV_COLUMNS, undefined])
    const json = (await ask(`/${named.hostile!.uid}`)).body
    // The document's schema has no further fields.
    expect(Object.keys(json)).toEqual(CSV_COLUMNS.filter((name) => name !== 'attributes'))
    const expected = CSV_COLUMNS.map((name) => [name, json[name] ?? null] as const).map(([name, value]) =>
      name === 'memo' || name === 'location'
        ? guarded(String(value))
        : Array.isArray(value)
          ? JSON.stringify(value)
          : value === null
            ? ''
            : String(value as string | number | boolean),
    )
    expect(record).toEqual(expected)
    expect(json).toMatchObject({ memo: named.hostile!.memo, longitude: -100, recipe_types: ['=a', 'b,"c"'] })
    // A record without a geometry.
    const nowhere = parseCsv((await ask('?bbox=0,0,1,1&format=csv')).text)
    expect(nowhere).toEqual([CSV_COLUMNS])
    const nulls = parseCsv((await ask('?chain=celo&toTimestamp=2026-01-01&format=csv')).text).find(
      ([uid]) => uid === named.nowhere!.uid,
    )!
    expect([nulls[CSV_COLUMNS.indexOf('longitude')], nulls[CSV_COLUMNS.indexOf('memo')]]).toEqual(['', ''])
  })
  test('have the fields that every description of a record lists', async () => {
    const { uid, id } = named.nowhere!
    const fields = Object.keys((await ask(`/${uid}`)).body)
    expect(fields).toEqual(CSV_COLUMNS)
    const query = `?chain=celo&toTimestamp=2026-01-01`
    expect(parseCsv((await ask(`${query}&format=csv`)).text)[0]).toEqual(fields)
    expect(linesOf((await ask(`${query}&format=ndjson`)).text).map(Object.keys)).toContainEqual(fields)
    const usual = fields.filter((name) => name !== 'attributes')
    for (const { properties } of (await ask(`${query}&format=geojson`)).body.features)
      expect(Object.keys(properties)).toEqual(properties.uid === uid ? fields : usual)
    // Optional additions follow the fields.
    const all = [...fields, ...Object.keys(PROVENANCE_FIELDS)]
    const { LocationRecord } = checker.document.components.schemas
    expect(Object.keys(LocationRecord.properties)).toEqual([...all, 'distance_meters'])
    const ogc = async (path: string) => (await fetch(`${api.url}/ogc${path}`)).json() as Promise<any>
    expect(Object.keys((await ogc('/api')).components.schemas.LocationRecord.properties)).toEqual(all)
    const { properties } = await ogc('/collections/location-records/schema/geojson')
    expect(Object.keys(properties.properties.properties)).toEqual(fields)
    expect(Object.keys((await ogc(`/collections/location-records/items/${id}`)).properties)).toEqual(fields)
    const page = await (await fetch(`${api.url}${LIST}/${uid}?format=html`)).text()
    expect([...page.matchAll(/<dt>(\w+)<\/dt>/g)].map(([, name]) => name)).toEqual(['id', ...all])
  })
  describe('provenance', () => {
    const hash = `0x${'ab'.repeat(32)}`
    const from = {
      schema: LOCATION_PROTOCOL_SCHEMA.uid,
      ref_uid: `0x${'0'.repeat(64)}`,
      revocable: true,
      expiration_time: '2096-10-02T07:06:40.000Z',
      revocation_time: '2026-05-01T10:00:00.250Z',
      block_number: 123_456,
      block_hash: `0x${'cd'.repeat(32)}`,
      transaction_hash: hash,
      log_index: 7,
      transaction_url: `https://celoscan.io/tx/${hash}`,
    }
    let uid: string
    let expected: Record<string, unknown>
    beforeAll(async () => {
      const [record] = await insertRecords(
        database.url,
        [
          {
            ...{ chain: 'celo', prover: PROVENANCE_PROVER, revoked: true },
            ...{ geometry: point(1.5, 2e-7), attributes: { schema: 'not the UID' } },
            columns: {
              ...{ expiration_time: '4000000000', revocation_time: new Date(from.revocation_time) },
              ...{ block_number: from.block_number, block_hash: from.block_hash },
              ...{ transaction_hash: hash, log_index: 7 },
            },
          },
        ],
        30_000,
      )
      uid = record!.uid
      expected = { ...from, attestation_url: `https://celo.easscan.org/attestation/view/${uid}` }
    })
    afterAll(async () => {
      await rows(database.url, `DELETE FROM location_record WHERE uid = '${uid}'`)
    })
    test('is added to the record in every format if requested', async () => {
      const plain = (await ask(`/${uid}`)).body as object
      const wanted = { ...plain, ...expected }
      const names = Object.keys(wanted)
      const list = `?prover=${PROVENANCE_PROVER}&include=provenance`
      const answers: object[] = [
        (await ask(`/${uid}?include=provenance`)).body,
        (await ask(`/${uid}?include=provenance&format=geojson`)).body.properties,
        (await ask(list)).body.data[0],
        (await ask(`${list}&format=geojson`)).body.features[0].properties,
        JSON.parse((await ask(`${list}&format=ndjson`)).text) as object,
      ]
      for (const each of ['', `/celo-${uid}`]) {
        const query = each === '' ? `?prover=${PROVENANCE_PROVER}&` : '?'
        const url = `${api.url}${ITEMS}${each}${query}include=provenance`
        const body: any = await (await fetch(url)).json()
        answers.push(each === '' ? body.features[0].properties : body.properties)
      }
      for (const answer of answers) {
        expect(answer).toEqual(wanted)
        expect(Object.keys(answer)).toEqual(names)
      }
      const [head, cells] = parseCsv((await ask(`${list}&format=csv`)).text)
      expect(head).toEqual([...CSV_COLUMNS, ...Object.keys(expected)])
      expect(cells!.slice(CSV_COLUMNS.length)).toEqual(Object.values(expected).map(String))
      const link = `<a href="${from.transaction_url}">${from.transaction_url}</a>`
      for (const page of [`${LIST}/${uid}?format=html`, `${ITEMS}/celo-${uid}?f=html&include=provenance`])
        expect(await (await fetch(`${api.url}${page}`)).text()).toContain(link)
    })
    test('is null for an attestation that never expires, was not revoked, or is on a chain without explorers', async () => {
      const { id } = named.fiji!
      const never = 'expiration_time = 18446744073709551615, revocation_time = NULL'
      await rows(database.url, `UPDATE location_record SET ${never} WHERE id = '${id}'`)
      const { body } = await ask(`/${named.fiji!.uid}?include=provenance`)
      expect([body.expiration_time, body.revocation_time]).toEqual([null, null])
    })
    test('is available with a cursor, and other values of include are rejected', async () => {
      const first = (await ask('?include=provenance&limit=1')).body
      const second = (await ask(`?include=provenance&limit=1&cursor=${first.next_cursor}`)).body.data[0]
      expect(second.transaction_hash).toMatch(/^0x/)
      expect((await ask('?include=all')).body.detail).toBe('Expected provenance')
    })
  })
  test('adds the geometry to CSV as WKT if requested', async () => {
    const csv = async (query: string) => parseCsv((await ask(`?format=csv&geometry=wkt&${query}`)).text)
    const place = (record: StoredRecord, lines: string[][]) =>
      lines.find((line) => line[0] === record.uid)!.at(-1)
    const old = 'toTimestamp=2026-01-01'
    const [paged, whole] = [await csv(`${old}&limit=100`), await csv(old)]
    expect(paged[0]).toEqual([...CSV_COLUMNS, 'geometry'])
    expect(paged).toEqual(whole)
    expect(place(named.parallel!, paged)).toBe('LINESTRING (-40 60, -20 60)')
    expect(place(named.bowtie!, paged)).toBe('POLYGON ((-60 0, -58 2, -58 0, -60 2, -60 0))')
    expect(place(named.nowhere!, paged)).toBe('')
    const near = await csv('near=-20,0&sort=distance&limit=1')
    expect(near[0]).toEqual([...CSV_COLUMNS, 'distance_meters', 'geometry'])
    expect(near[1]!.slice(-2)[0]).toBe('1000')
    expect((await ask('?geometry=wkt')).body.detail).toEqual(sentence())
    expect((await ask('?geometry=wkb&format=csv')).body.detail).toBe('Expected wkt')
  })
  test.each([
    [-180, -90, 180, 90],
    [-180, -10, 180, 10],
    [0, -10, 180, 10],
    [-120, -90, 120, 90],
  ])('name bbox in the rejection of a box from %d, %d to %d, %d', async (west, south, east, north) => {
    const corners = [west, south, east, south, east, north, west, north, west, south]
    const wkt = `POLYGON((${corners.join(' ').replace(/(\S+ \S+) /g, '$1,')}))`
    const { status, body } = await ask(`?intersects=${encodeURIComponent(wkt)}`)
    expect([status, body.detail]).toEqual([400, sentence('', `bbox=${[west, south, east, north].join()}`)])
  })
  test('move a position that exceeds 180 only by rounding to 180, in every parameter', async () => {
    const at = (lng: string) => [
      `?bbox=170,-18,${lng},-16`,
      `?near=${lng},-17&radius=100000`,
      `?intersects=POINT(${lng} -17)`,
    ]
    for (const [i, query] of at('180.00000000000023').entries())
      expect(await names(query)).toEqual(await names(at('180')[i]!))
    for (const query of at('181')) expect((await ask(query)).body.detail).toEqual(sentence())
  })
  test(
    'include CSV with a byte order mark if requested, as a page and as a file',
    { tags: ['slow'] },
    async () => {
      const bytes = async (query: string) => {
        const response = await fetch(`${api.url}${LIST}?${query}`)
        return Buffer.from(await response.arrayBuffer())
      }
      const mark = Buffer.from([0xef, 0xbb, 0xbf])
      for (const query of ['format=csv&limit=5', 'format=csv'])
        expect(await bytes(`${query}&bom=true`)).toEqual(Buffer.concat([mark, await bytes(query)]))
      expect(await bytes('format=csv&limit=1&bom=false')).toEqual(await bytes('format=csv&limit=1'))
      for (const other of ['json', 'geojson', 'ndjson', 'geoparquet'])
        expect(await problem(`?format=${other}&bom=true`)).toEqual(invalid('bom'))
    },
  )
  test('state the reason why a record has no geometry', async () => {
    const { uid, id } = named.nowhere!
    const problem = named.nowhere!.problem!
    expect(problem).toMatch(/location_type/)
    expect((await ask(`/${uid}`)).body.problem).toBe(problem)
    expect((await ask(`/${named.pole!.uid}`)).body.problem).toBeNull()
    const query = '?chain=celo&toTimestamp=2026-01-01'
    const { features } = (await ask(`${query}&format=geojson`)).body
    expect(features.find((each: { id: string }) => each.id === id).properties.problem).toBe(problem)
    const cells = parseCsv((await ask(`${query}&format=csv`)).text).find((each) => each[0] === uid)!
    expect(cells[CSV_COLUMNS.indexOf('problem')]).toBe(problem)
    expect(await (await fetch(`${api.url}${ITEMS}/${id}`)).json()).toMatchObject({ properties: { problem } })
    const shown = `It has no unambiguous geometry: ${problem.replace(/'/g, '&#39;')}.`
    for (const path of [`${LIST}/${uid}?format=html`, `${ITEMS}/${id}`]) {
      const page = await fetch(`${api.url}${path}`, { headers: { accept: 'text/html' } })
      expect(await page.text()).toContain(shown)
    }
  })
  test('include a single record as a Feature', async () => {
    const { uid, id, geometry } = named.parallel!
    const record = await ask(`/${uid}`)
    const feature = await ask(`/${uid}?format=geojson&chain=celo-mainnet`)
    expect(feature.type).toBe('application/geo+json; charset=utf-8')
    expect(feature.body).toEqual({ type: 'Feature', id, geometry, properties: record.body })
    expect((await ask(`/${uid}`, { accept: 'application/geo+json' })).body).toEqual(feature.body)
    expect(await problem(`/${uid}?format=csv`)).toEqual(invalid('format'))
    expect(await problem(`/${uid}?limit=1`)).toEqual([400, 'Invalid query parameter', sentence()])
  })
})

describe('the caching of records', () => {
  test('returns 304 for an unchanged response in every format, and a new ETag after any change', async () => {
    const paths = [
      ...['', '?limit=3&sort=timestamp', '?format=geojson&limit=5', '?format=csv', '?near=0,0&radius=1'],
      ...[`/${named.fiji!.uid}`, `/${named.fiji!.uid}?format=geojson`],
    ]
    const tags = await Promise.all(paths.map(async (path) => (await ask(path)).headers.get('etag')!))
    expect(tags.every((tag) => /^W\/"[\w-]+"$/.test(tag))).toBe(true)
    expect(new Set(tags).size).toBe(3)
    const again = async (i: number, given = tags[i]!, method = 'GET') =>
      (await ask(paths[i]!, { 'if-none-match': given }, method)).status
    for (const i of paths.keys()) {
      for (const given of [undefined, `"x", ${tags[i]}`, '*', tags[i]!.slice(2)])
        expect(await again(i, given), `${paths[i]} ${given}`).toBe(304)
      expect(await again(i, undefined, 'HEAD'), paths[i]).toBe(304)
      expect([await again(i, '"x"'), await again(i, tags[i]!.replace('W/"', 'W/"x'))]).toEqual([200, 200])
    }
    const known = await ask('', { 'if-none-match': tags[0]! })
    const shown = valuesOf(known.headers, 'etag', 'cache-control', 'vary', 'access-control-allow-origin')
    expect(shown).toEqual([tags[0], 'public, no-cache', 'accept, accept-encoding', '*'])
    expect(known.text).toBe('')
    // Each format of a URL has its own ETag.
    expect((await ask('', { 'if-none-match': tags[0]!, accept: 'text/csv' })).status).toBe(200)

    const changes: [string, string][] = [
      ['a revocation', `UPDATE location_record SET revoked = true WHERE id = '${named.fiji!.id}'`],
      ['its end by a reorg', `UPDATE location_record SET revoked = false WHERE id = '${named.fiji!.id}'`],
      ['a record gone', `DELETE FROM location_record WHERE id = '${named.samoa!.id}'`],
    ]
    let before = tags[0]!
    for (const [what, sql] of changes) {
      await rows(database.url, sql)
      const { status, headers } = await ask('', { 'if-none-match': before })
      expect([status, headers.get('etag') === before], what).toEqual([200, false])
      before = headers.get('etag')!
    }
    expect((await ask(`/${named.samoa!.uid}`)).status).toBe(404)
    await insertRecords(database.url, [named.samoa!], 10_003)
    expect((await ask('', { 'if-none-match': before })).status).toBe(200)
    expect((await ask(`/${named.samoa!.uid}`)).body.uid).toBe(named.samoa!.uid)
  })
  test('returns 404 for a missing record with any If-None-Match, never 304', async () => {
    const missing = `0x${'9'.repeat(64)}`
    const records = (uid: string) => `${LIST}/${uid}`
    const features = (uid: string) => `${ITEMS}/celo-${uid}`
    for (const path of [records, features]) {
      const get = (uid: string, headers = {}) => fetch(`${api.url}${path(uid)}`, { headers })
      const tag = (await get(named.fiji!.uid)).headers.get('etag')!
      for (const given of ['*', tag])
        expect((await get(missing, { 'if-none-match': given })).status, given).toBe(404)
      expect((await get(named.fiji!.uid, { 'if-none-match': '*' })).status).toBe(304)
    }
  })
  test('forbids storing errors, without an ETag, and allows caching the configuration for a minute', async () => {
    const missing = `/0x${'1'.repeat(64)}`
    for (const path of [
      '?limit=0',
      missing,
      `${missing}?format=geojson`,
      '/stats?x=1',
      '?format=csv&bbox=1',
    ]) {
      const { headers } = await ask(path)
      const shown = valuesOf(headers, 'etag', 'cache-control', 'content-disposition')
      expect(shown, path).toEqual([null, 'no-store', null])
    }
    expect((await fetch(`${api.url}/api/v0/config`)).headers.get('cache-control')).toBe('public, max-age=60')
  })
})

describe('the Records API over HTTP', () => {
  test('returns the headers of GET for HEAD, without the body', async () => {
    const names = ['content-type', 'content-length', 'etag', 'link', 'content-disposition', 'cache-control']
    for (const path of [
      ...['', '?limit=3&format=geojson', '?chain=nowhere', `/${named.fiji!.uid}`, '/stats', '?format=ndjson'],
      '?format=csv&limit=5000',
    ]) {
      const [head, got] = [await ask(path, {}, 'HEAD'), await ask(path)]
      const shown = ({ headers, status }: typeof got) => [status, ...valuesOf(headers, ...names)]
      expect([head.text, shown(head)], path).toEqual(['', shown(got)])
    }
  })
  test('allows any origin to read responses and errors, and answers a preflight on every path', async () => {
    const origin = 'https://app.example'
    for (const path of ['', '?limit=0', '/stats', '/0x12', `/0x${'1'.repeat(64)}`]) {
      const { headers } = await ask(path, { origin })
      expect(headers.get('access-control-allow-origin'), path).toBe('*')
      const readable = ['Link', 'ETag', 'Date', 'Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining']
      for (const name of [...readable, 'X-RateLimit-Reset'])
        expect(headers.get('access-control-expose-headers')).toContain(name)
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
    const preflight = async (path: string) =>
      fetch(`${api.url}${path}`, {
        method: 'OPTIONS',
        headers: {
          ...{ origin, 'access-control-request-method': 'GET' },
          'access-control-request-headers': 'if-none-match',
        },
      })
    const answered = ['origin', 'methods', 'headers'].map((part) => `access-control-allow-${part}`)
    for (const path of [LIST, '/api/v0/config', '/api/nothing', '/compute/v0/distance', '/graphql', '/']) {
      const { status, headers } = await preflight(path)
      const shown = valuesOf(headers, ...answered, 'access-control-max-age')
      expect([status, ...shown], path).toEqual([204, '*', 'GET, HEAD, POST', 'if-none-match', '86400'])
    }
    const others = [
      '/api/nothing',
      '/nothing',
      '/compute/v0/nothing',
      '/',
      '/health',
      '/openapi.json',
      '/ogc',
    ]
    for (const path of others)
      expect((await fetch(`${api.url}${path}`)).headers.get('access-control-allow-origin'), path).toBe('*')
    expect((await fetch(`${api.url}/metrics`)).headers.get('access-control-allow-origin')).toBeNull()
  })
  test('exempts preflights from the rate limit, and makes 429 readable across origins', async () => {
    const limited = await startApi({ databaseUrl: database.url, rateLimitPerHour: 2 })
    const send = (method: string) =>
      fetch(`${limited.url}/api/v0/config`, {
        method,
        headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
      })
    for (let i = 0; i < 5; i++) expect((await send('OPTIONS')).status).toBe(204)
    expect([(await send('GET')).status, (await send('GET')).status]).toEqual([200, 200])
    const refused = await send('GET')
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([429, '*'])
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await send('OPTIONS')).status).toBe(204)
    await limited.close()
  })
  test('accepts the first and last time of the database, and a name of 100 characters', async () => {
    const all = await found('?limit=1000')
    const everything = '?limit=1000&fromTimestamp=0001-01-01&toTimestamp=9999-12-31T23:59:59.999999'
    expect(await found(everything)).toEqual(all)
    expect(await found('?fromTimestamp=9999-12-31T23:59:59.999Z')).toEqual([])
    expect(await found(`?location_type=${encodeURIComponent('𝕊'.repeat(50))}`)).toEqual([])
    // A record at noon is later than noon minus half a millisecond and earlier than noon plus half a
    // millisecond, but not later than noon.
    const atNoon = stored.filter(({ timestamp }) => timestamp === NOON).length
    const between = async (from: string, to: string) =>
      (await found(`?limit=1000&fromTimestamp=${from}&toTimestamp=${to}`)).length
    expect(await between('2026-01-01T11:59:59.9995', '2026-01-01T12:00:00.0005')).toBe(atNoon)
    expect(await between('2026-01-01T12', '2026-01-01T12:00:00.0005')).toBe(0)
    expect(await between('2026-01-01T11:59:59.9995', '2026-01-01T12')).toBe(0)
  })
})

describe('large records', () => {
  test(
    'end a page early, and the next page starts after its last record, in every format',
    { tags: ['slow'] },
    async () => {
      const own = await createMigratedDatabase()
      // With 120,000 characters each, 33 records have about four million characters, without their other
      // fields.
      const large = await insertRecords(
        own.url,
        Array.from({ length: 70 }, (_, i): GivenRecord => ({
          geometry: point(i, 0),
          chain: 'celo',
          memo: 'x'.repeat(120_000),
        })),
      )
      const huge = await insertRecords(
        own.url,
        [{ geometry: point(170, 0), chain: 'celo', memo: 'y'.repeat(4_100_000) }],
        1_000,
      )
      const newestFirst = sorted([...large, ...huge]).map(({ uid }) => uid)
      const other = await startApi({ databaseUrl: own.url, publicBaseUrl: BASE })
      const get = async (path: string) => {
        const response = await fetch(path.replace(BASE, other.url))
        expect(response.status).toBe(200)
        return {
          text: await response.text(),
          next: /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1],
        }
      }
      const uidsIn = (text: string) =>
        [...text.matchAll(/"?uid"?:"(0x[0-9a-f]{64})"/g)].map(([, uid]) => uid!)
      try {
        for (const path of [
          `${LIST}?limit=1000`,
          `${LIST}?limit=1000&format=geojson`,
          `${LIST}?limit=1000&format=ndjson`,
          `${LIST}?limit=1000&near=85,0&radius=15000000`,
          `${ITEMS}?limit=1000`,
        ]) {
          const pages: string[][] = []
          for (let next: string | undefined = BASE + path; next;) {
            const page = await get(next)
            pages.push(uidsIn(page.text))
            next = page.next
          }
          const sizes = pages.map(({ length }) => length)
          expect(sizes, path).toEqual([1, 33, 33, 4])
          expect(pages.flat(), path).toEqual(newestFirst)
        }
        const json = async (path: string): Promise<any> => JSON.parse((await get(`${BASE}${path}`)).text)
        const first = await json(`${LIST}?limit=1000&offset=1`)
        expect(first).toMatchObject({ count: 33, limit: 33, offset: 1, next_cursor: expect.any(String) })
        expect(uidsOf(await json(`${LIST}?limit=1000&offset=34`))).toEqual(newestFirst.slice(34, 67))
        const matched = { numberReturned: 1, numberMatched: 71 }
        expect(await json(`${ITEMS}?limit=1000`)).toMatchObject(matched)
        // If Link has no room for the next page, a short page would look like the last one.
        const south = Array.from({ length: 300 }, (_, i) => [-1 + i / 2, -5 - (i % 2)])
        const ring = [...south, ...positions('175 -5, 175 5, -1 5, -1 -5')]
        const around = JSON.stringify({ type: 'Polygon', coordinates: [ring] })
        const query = `${LIST}?chain=celo&limit=1000&intersects=${encodeURIComponent(around)}`
        const cut = await fetch(`${other.url}${query}&format=csv`)
        expect([cut.status, ((await cut.json()) as { detail: string }).detail]).toEqual([400, sentence()])
        expect((await json(query)).next_cursor).not.toBeNull()
      } finally {
        await other.close()
        await own.drop()
      }
    },
  )
})

testSentences()
