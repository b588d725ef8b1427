import { Geodesic } from 'geographiclib-geodesic'
import { latLngToCell } from 'h3-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { checksumAddress } from '../../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../../src/location'
import { startApi, type TestApi } from '../../test/api'
import { parseCsv } from '../../test/csv'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { expectCounts } from '../../test/invariants'
import { openApiChecker, type OpenApiChecker } from '../../test/openapi'
import { ADDRESSES, insertRecords, type GivenRecord, type StoredRecord } from '../../test/records'
import { SEED, hunt } from '../../test/seed'
import { sentence, testSentences } from '../../test/sentences'

/** Statistics by group, against groups of the same records in this process. */

const CHAINS = ['celo', 'sepolia', 'arbitrum', 'base-sepolia']
const TYPES = ['geojson', 'GeoJSON-Point', 'h3', `long ${'é'.repeat(200)}`, `long ${'é'.repeat(150)}x`]
const START = Date.UTC(2025, 11, 20)
const DAY = 86_400_000
const STATS = '/api/v0/location-records/stats'
let database: TestDatabase
let api: TestApi
let checker: OpenApiChecker
let stored: StoredRecord[]

function someRecord(random: () => number): GivenRecord {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const [lng, lat] = [pick([-180, 180, random() * 2, random() * 360 - 180]), pick([90, random() * 170 - 85])]
  const line = [
    [lng, Math.min(lat, 80)],
    [lng > 0 ? lng - 0.5 : lng + 0.5, Math.min(lat, 80) + random()],
  ]
  const geometry = pick([
    null,
    { type: 'Point', coordinates: [lng, lat] },
    { type: 'Point', coordinates: [1.5, 1.5] },
    { type: 'LineString', coordinates: line },
    { type: 'Polygon', coordinates: [[...line, [line[1]![0]!, line[0]![1]! - 1], line[0]!]] },
    // A ring that crosses itself has no area.
    {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [2, 2],
          [2, 0],
          [0, 2],
          [0, 0],
        ],
      ],
    },
  ])
  return {
    chain: pick(CHAINS),
    timestamp: START + Math.floor(random() * 90 * 24) * 3_600_000 + pick([0, 1, 3_599_999]),
    revoked: random() < 0.3,
    prover: pick(ADDRESSES),
    subject: pick(ADDRESSES),
    locationType: pick(TYPES),
    geometry,
  }
}

beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url })
  checker = openApiChecker(await (await fetch(`${api.url}/openapi.json`)).json())
  const random = seededRandom(SEED)
  stored = await insertRecords(
    database.url,
    Array.from({ length: 1_500 }, () => someRecord(random)),
  )
})
afterAll(async () => {
  await api?.close()
  await database?.drop()
})

async function ask(query: string, headers: Record<string, string> = {}) {
  const path = `${STATS}${query}`
  const response = await fetch(`${api.url}${path}`, { headers })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const body: any = type.includes('json') && text ? JSON.parse(text) : text
  if (response.status !== 304)
    checker.check({ method: 'GET', path, status: response.status, type, response: body })
  return { status: response.status, headers: response.headers, text, body }
}
async function problem(query: string) {
  const { status, body } = await ask(query)
  return [status, body.message, body.detail]
}

/** Area in m2 or length in m by GeographicLib, whose polygons have the same edges. */
function measured({ geometry }: StoredRecord): { area: number; length: number } {
  if (geometry?.type !== 'LineString' && geometry?.type !== 'Polygon') return { area: 0, length: 0 }
  const ring = geometry.type === 'Polygon'
  const positions = (ring ? (geometry.coordinates as number[][][])[0]! : geometry.coordinates) as number[][]
  if (ring && positions.length === 5) return { area: 0, length: 0 }
  const polygon = (Geodesic.WGS84 as any).Polygon(!ring)
  for (const [lng, lat] of ring ? positions.slice(1) : positions) polygon.AddPoint(lat, lng)
  const { area, perimeter } = polygon.Compute(false, true)
  return ring ? { area: Math.abs(area), length: 0 } : { area: 0, length: perimeter }
}

const KEYS: Record<string, (record: StoredRecord) => string | boolean | null> = {
  hour: ({ timestamp }) => `${new Date(timestamp).toISOString().slice(0, 13)}:00:00Z`,
  day: ({ timestamp }) => new Date(timestamp).toISOString().slice(0, 10),
  week: ({ timestamp }) => {
    const sinceMonday = (new Date(timestamp).getUTCDay() + 6) % 7
    return new Date(timestamp - sinceMonday * DAY).toISOString().slice(0, 10)
  },
  month: ({ timestamp }) => new Date(timestamp).toISOString().slice(0, 7),
  chain: ({ chain }) => chain,
  revoked: ({ revoked }) => revoked,
  prover: ({ prover }) => checksumAddress(prover),
  subject: ({ subject }) => checksumAddress(subject),
  schema: ({ schema }) => schema,
  location_type: ({ locationType }) => locationType.slice(0, 100),
  'geohash:3': ({ geometry }) =>
    geometry?.type === 'Point' ? geohash(geometry.coordinates as number[], 3) : null,
  'h3:4': ({ geometry }) => {
    if (geometry?.type !== 'Point') return null
    const [lng, lat] = geometry.coordinates as [number, number]
    return latLngToCell(lat, lng, 4)
  },
}
/** Geohash by bisection of the longitude and the latitude in turn. */
function geohash([lng, lat]: number[], length: number): string {
  const ranges = [
    [-180, 180],
    [-90, 90],
  ]
  const at = [lng!, lat!]
  let bits = ''
  for (let i = 0; i < length * 5; i++) {
    const range = ranges[i % 2]!
    const middle = (range[0]! + range[1]!) / 2
    const isUpper = at[i % 2]! >= middle
    bits += isUpper ? '1' : '0'
    range[isUpper ? 0 : 1] = middle
  }
  const digits = bits.match(/.{5}/g)!.map((five) => parseInt(five, 2))
  return digits.map((digit) => '0123456789bcdefghjkmnpqrstuvwxyz'[digit]).join('')
}

interface Case {
  by: string[]
  sort?: string
  top: number
  sum: string[]
  filters: [query: string, passes: (record: StoredRecord) => boolean][]
}
function expected({ by, sort, top, sum, filters }: Case) {
  const groups = new Map<string, { keys: any[]; records: number; area: number; length: number }>()
  for (const record of stored.filter((each) => filters.every(([, passes]) => passes(each)))) {
    const keys = by.map((name) => KEYS[name]!(record))
    const group = groups.get(JSON.stringify(keys)) ?? { keys, records: 0, area: 0, length: 0 }
    groups.set(JSON.stringify(keys), group)
    const { area, length } = measured(record)
    group.records++
    group.area += area
    group.length += length
  }
  const names = by.map((each) => each.split(':')[0]!)
  const time = names.find((name) => ['hour', 'day', 'week', 'month'].includes(name))
  const wanted = sort ?? time ?? '-records'
  const sign = wanted.startsWith('-') ? -1 : 1
  const field = wanted.replace('-', '')
  const compare = (a: any, b: any) =>
    a === null || b === null ? 0 : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  const nulls = (a: any, b: any) => Number(a === null) - Number(b === null)
  const all = [...groups.values()].sort((a, b) => {
    const at = names.indexOf(field)
    const first =
      at < 0
        ? sign * (Math.round((a as any)[field] * 100) - Math.round((b as any)[field] * 100))
        : nulls(a.keys[at], b.keys[at]) || sign * compare(a.keys[at], b.keys[at])
    return (
      first || a.keys.reduce((order, key, i) => order || nulls(key, b.keys[i]) || compare(key, b.keys[i]), 0)
    )
  })
  const totals = (list: typeof all) => ({
    records: list.reduce((total, { records }) => total + records, 0),
    ...(sum.includes('area') && {
      area_square_meters: list.reduce((total, { area }) => total + area, 0),
    }),
    ...(sum.includes('length') && { length_meters: list.reduce((total, { length }) => total + length, 0) }),
  })
  const rest = all.slice(top)
  return {
    data: all.slice(0, top).map((group) => ({
      ...Object.fromEntries(names.map((name, i) => [name, group.keys[i]])),
      ...totals([group]),
    })),
    groups: all.length,
    rest: rest.length ? { groups: rest.length, ...totals(rest) } : null,
    ...(({ records: total, ...sums }) => ({ total, ...sums }))(totals(all)),
  }
}
/** Compares sums to the centimetre, or to a millionth of their value. */
function expectClose(found: any, wanted: any): void {
  if (typeof wanted === 'number' && !Number.isInteger(wanted))
    expect(Math.abs(found - wanted)).toBeLessThan(0.01 * 1_500 + wanted * 1e-6)
  else if (wanted !== null && typeof wanted === 'object') {
    expect(Object.keys(found)).toEqual(Object.keys(wanted))
    for (const name of Object.keys(wanted)) expectClose(found[name], wanted[name])
  } else if (typeof wanted !== 'number' || Number.isInteger(found)) expect(found).toEqual(wanted)
}
const queryOf = ({ by, sort, top, sum, filters }: Case) =>
  `?${[
    `by=${by.join()}`,
    `top=${top}`,
    ...(sort === undefined ? [] : [`sort=${sort}`]),
    ...(sum.length ? [`sum=${sum.join()}`] : []),
    ...filters.map(([query]) => query),
  ].join('&')}`

function someCase(random: () => number): Case {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const names = Object.keys(KEYS)
  const first = pick(names)
  const by = random() < 0.5 ? [first] : [first, pick(names.filter((name) => name !== first))]
  const sum = pick([[], [], ['area'], ['area', 'length']])
  const from = START + Math.floor(random() * 90) * DAY
  const [chain, prover, type] = [pick(CHAINS), pick(ADDRESSES), pick(TYPES.slice(0, 3))]
  const all: Case['filters'] = [
    [`chain=${chain}`, (record) => record.chain === chain],
    [`chain=celo,${chain}`, (record) => ['celo', chain].includes(record.chain)],
    ['revoked=false', ({ revoked }) => !revoked],
    ['revoked=true', ({ revoked }) => revoked],
    [`prover=${prover}`, (record) => record.prover === prover],
    [`schema=${LOCATION_SCHEMA.uid},${LOCATION_PROTOCOL_SCHEMA.uid}`, () => true],
    [`schema=${LOCATION_SCHEMA.uid}`, ({ schema }) => schema === LOCATION_SCHEMA.uid],
    [
      `location_type=${type.toUpperCase()}`,
      ({ locationType }) => locationType.toLowerCase() === type.toLowerCase(),
    ],
    [`fromTimestamp=${new Date(from).toISOString()}`, ({ timestamp }) => timestamp > from],
    [`toTimestamp=${new Date(from).toISOString()}`, ({ timestamp }) => timestamp < from],
    ['near=1.5,1.5&radius=1000', ({ geometry }) => String(geometry?.coordinates) === '1.5,1.5'],
  ]
  const filters = all.filter(() => random() < 0.12)
  const alone = new Set<string>()
  return {
    ...{ by, sum, top: pick([1, 3, 20, 10_000]) },
    ...(random() < 0.6 && {
      sort: `${pick(['', '-'])}${pick(['records', ...by.map((each) => each.split(':')[0]!)])}`,
    }),
    filters: filters.filter(([query]) => !alone.has(query.split('=')[0]!) && alone.add(query.split('=')[0]!)),
  }
}

describe('groups', () => {
  hunt(
    'equal those of the same records, from maintained counts and from records',
    150,
    async ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const each = someCase(random)
        const { status, body } = await ask(queryOf(each))
        expect(status, JSON.stringify([queryOf(each), body]).slice(0, 500)).toBe(200)
        try {
          expectClose(body, expected(each))
        } catch (error) {
          throw new Error(`${queryOf(each)}: ${(error as Error).message}`, { cause: error })
        }
      }
    },
  )
  test('come from the records while the older ones are not counted yet, and equal the counts afterwards', async () => {
    const each: Case = { by: ['prover', 'chain'], top: 100, sum: ['area'], filters: [] }
    const sql = (text: string) => rows<{ more: boolean }>(database.url, text)
    await sql(
      `DELETE FROM record_count; INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state`,
    )
    expectClose((await ask(queryOf(each))).body, expected(each))
    // Records that arrive and change during the count, before and after the counted time.
    for (const chain of CHAINS) {
      expect((await sql(`SELECT count_records('${chain}', 100) AS more`))[0]!.more).toBe(true)
      const random = seededRandom(CHAINS.indexOf(chain))
      stored.push(
        ...(await insertRecords(
          database.url,
          Array.from({ length: 50 }, () => ({ ...someRecord(random), chain })),
          5_000 + stored.length,
        )),
      )
      await sql(
        `UPDATE location_record SET revoked = true WHERE chain = '${chain}' AND subject = '${ADDRESSES[1]}'`,
      )
      for (const record of stored)
        if (record.chain === chain && record.subject === ADDRESSES[1]) record.revoked = true
      const gone = stored.filter((record) => record.chain === chain && record.subject === ADDRESSES[2])
      await sql(`DELETE FROM location_record WHERE chain = '${chain}' AND subject = '${ADDRESSES[2]}'`)
      stored = stored.filter((record) => !gone.includes(record))
      while ((await sql(`SELECT count_records('${chain}', 100) AS more`))[0]!.more);
      await expectCounts(database.url, chain)
    }
    expectClose((await ask(queryOf(each))).body, expected(each))
  })
  test('are available as CSV, with sums as exact decimals', async () => {
    const { headers, text } = await ask('?by=month,revoked&sum=area,length', { accept: 'text/csv' })
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(headers.get('content-disposition')).toBe('attachment; filename="location-records-groups.csv"')
    const { body } = await ask('?by=month,revoked&sum=area,length')
    expect(parseCsv(text)).toEqual([
      ['month', 'revoked', 'records', 'area_square_meters', 'length_meters'],
      ...body.data.map((row: object) =>
        Object.values(row).map((value) => expect.stringMatching(`^${String(value).slice(0, 12)}`)),
      ),
    ])
  })
  test('have an ETag that changes with the records', async () => {
    const { headers } = await ask('?by=chain')
    expect((await ask('?by=chain', { 'if-none-match': headers.get('etag')! })).status).toBe(304)
    stored.push(...(await insertRecords(database.url, [{ chain: 'celo' }], 90_000)))
    expect((await ask('?by=chain', { 'if-none-match': headers.get('etag')! })).status).toBe(200)
  })
})

describe('refusals', () => {
  test('name the parameter and the rule', async () => {
    for (const [query, name] of [
      ['?chain=celo', 'by'],
      ['?by=', 'by'],
      ['?by=memo', 'by'],
      ['?by=constructor', 'by'],
      ['?by=day,day', 'by'],
      ['?by=geohash:3,geohash:4', 'by'],
      ['?by=day,chain,prover', 'by'],
      ['?by=geohash', 'by'],
      ['?by=geohash:13', 'by'],
      ['?by=h3:16', 'by'],
      ['?by=day:3', 'by'],
      ['?by=day&top=0', 'top'],
      ['?by=day&top=10001', 'top'],
      ['?by=day&sort=prover', 'sort'],
      ['?by=day&sort=area', 'sort'],
      ['?by=day&sum=volume', 'sum'],
      ['?by=day&format=geojson', 'format'],
      ['?by=day&radius=1', 'near'],
    ] as const)
      expect(await problem(query), query).toEqual([400, `Invalid ${name} parameter`, sentence()])
    expect(await problem('?by=day&chain=nowhere')).toEqual([400, 'Invalid chain parameter', sentence()])
    expect(await problem('?by=day&limit=3')).toEqual([400, 'Invalid query parameter', sentence()])
  })
  test('refuse sums while older records are not measured', async () => {
    await rows(database.url, `INSERT INTO chain_status (chain, reading) VALUES ('celo', 3)`)
    expect(await problem('?by=chain&sum=area')).toEqual([503, 'Temporarily unavailable', sentence()])
    expect((await ask('?by=chain')).status).toBe(200)
    await rows(database.url, `UPDATE chain_status SET reading = 4`)
    expect((await ask('?by=chain&sum=area')).status).toBe(200)
  })
})
testSentences()
