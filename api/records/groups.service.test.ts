import { Geodesic } from 'geographiclib-geodesic'
import { parse } from 'graphql'
import { latLngToCell } from 'h3-js'
import { beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { checksumAddress } from '../../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../../src/location'
import { SIEVE_WORKER, startApi, type TestApi } from '../../test/api'
import { parseCsv } from '../../test/csv'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { atEnd } from '../../test/ends'
import { expectCounts } from '../../test/invariants'
import { openApiChecker, type OpenApiChecker } from '../../test/openapi'
import {
  ADDRESSES,
  addressOf,
  insertRecords,
  uidOf,
  type GivenRecord,
  type StoredRecord,
} from '../../test/records'
import { SEED, hunt } from '../../test/seed'
import { sentence, testSentences } from '../../test/sentences'
import { answerGroupsQuery } from '../answers'
import { PublishedGraphql } from '../graphql/published'
import { PublishedViews } from '../graphql/sql'
import { UnavailableError } from '../http/problems'
import { OWN_WORK } from '../http/work'
import { RecordSearch } from '../query/search'
import { RECORD_DIMENSIONS, recordGroups, type RecordFilter, type Statement, Store } from '../store'
import { recordGroupsQuery } from './statistics'
import { positions } from '../../test/positions'

/** Compares statistics by group with groups of the same records computed in this process. */

const CHAINS = ['celo', 'sepolia', 'arbitrum', 'base-sepolia']
const TYPES = ['geojson', 'GeoJSON-Point', 'h3', `long ${'é'.repeat(200)}`, `long ${'é'.repeat(150)}x`]
const START = Date.UTC(2025, 11, 20)
const DAY = 86_400_000
const STATS = '/api/v0/location-records/stats'
let database: TestDatabase
let api: TestApi
let checker: OpenApiChecker
let stored: StoredRecord[]
let store: Store
let graphql: PublishedGraphql

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
    { type: 'Polygon', coordinates: [positions('0 0, 2 2, 2 0, 0 2, 0 0')] },
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
  store = new Store(database.url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  const log = { info: () => {}, warn: () => {} }
  graphql = new PublishedGraphql(new PublishedViews(database.url, () => {}, false), log, {
    answerGroups: answerGroupsQuery(store),
    recordGroups: recordGroupsQuery({ store, records }),
  })
  await graphql.start()
  atEnd(async () => {
    await graphql.close()
    await records.close()
    await store.close()
  })
})

/** Returns the data of a GraphQL query with these fields. */
async function queried(...fields: string[]): Promise<Record<string, unknown>> {
  const document = parse(`{ ${fields.join(' ')} }`)
  const operation = document.definitions[0] as never
  const { data, errors } = await graphql.run({ document, operation }, {}, OWN_WORK)
  expect(errors).toBeUndefined()
  return JSON.parse(JSON.stringify(data)) as Record<string, unknown>
}

async function ask(query: string, headers: Record<string, string> = {}, stats = STATS) {
  const path = `${stats}${query}`
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

/**
 * Area in m2 or length in m by GeographicLib, whose polygons have the same edges; null for other geometries.
 */
function measured({ geometry }: StoredRecord): { area: number | null; length: number | null } {
  if (geometry?.type !== 'LineString' && geometry?.type !== 'Polygon') return { area: null, length: null }
  const ring = geometry.type === 'Polygon'
  const positions = (ring ? (geometry.coordinates as number[][][])[0]! : geometry.coordinates) as number[][]
  if (ring && positions.length === 5) return { area: null, length: null }
  const polygon = (Geodesic.WGS84 as any).Polygon(!ring)
  for (const [lng, lat] of ring ? positions.slice(1) : positions) polygon.AddPoint(lat, lng)
  const { area, perimeter } = polygon.Compute(false, true)
  return ring ? { area: Math.abs(area), length: null } : { area: null, length: perimeter }
}

type Key = string | boolean | null
interface Common {
  timestamp: number
  chain: string
  revoked: boolean
  schema: string
}
const COMMON: Record<string, (row: Common) => Key> = {
  hour: ({ timestamp }) => `${new Date(timestamp).toISOString().slice(0, 13)}:00:00Z`,
  day: ({ timestamp }) => new Date(timestamp).toISOString().slice(0, 10),
  week: ({ timestamp }) => {
    const sinceMonday = (new Date(timestamp).getUTCDay() + 6) % 7
    return new Date(timestamp - sinceMonday * DAY).toISOString().slice(0, 10)
  },
  month: ({ timestamp }) => new Date(timestamp).toISOString().slice(0, 7),
  chain: ({ chain }) => chain,
  revoked: ({ revoked }) => revoked,
  schema: ({ schema }) => schema,
}
const pointOf = ({ geometry }: StoredRecord) =>
  geometry?.type === 'Point' ? (geometry.coordinates as [number, number]) : undefined
const KEYS: Record<string, (record: StoredRecord) => Key> = {
  ...COMMON,
  prover: ({ prover }) => checksumAddress(prover),
  subject: ({ subject }) => checksumAddress(subject),
  location_type: ({ locationType }) => locationType.slice(0, 100),
  ...Object.fromEntries(
    [1, 3, 6, 12].map((length) => [
      `geohash:${length}`,
      (record: StoredRecord) => {
        const point = pointOf(record)
        return point ? geohash(point, length) : null
      },
    ]),
  ),
  ...Object.fromEntries(
    [0, 4, 9, 15].map((resolution) => [
      `h3:${resolution}`,
      (record: StoredRecord) => {
        const point = pointOf(record)
        return point ? latLngToCell(point[1], point[0], resolution) : null
      },
    ]),
  ),
}
interface Answer extends Common {
  uid: string
  attester: string
  recipient: string
  operation: string
  inputs: string[]
}
const ANSWER_KEYS: Record<string, (answer: Answer) => Key> = {
  ...COMMON,
  operation: ({ operation }) => operation.split(':')[0]!,
  attester: ({ attester }) => checksumAddress(attester),
  recipient: ({ recipient }) => checksumAddress(recipient),
}
/** Computes a geohash by bisecting the longitude and the latitude alternately. */
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

interface Case<Row = StoredRecord> {
  by: string[]
  sort?: string
  top: number
  sum: string[]
  filters: [query: string, passes: (row: Row) => boolean][]
}
const expected = (each: Case) => expectedOf(each, stored, KEYS, measured)
function expectedOf<Row>(
  { by, sort, top, sum, filters }: Case<Row>,
  stored: readonly Row[],
  keysOf: Record<string, (row: Row) => Key>,
  measured: (row: Row) => { area: number | null; length: number | null },
) {
  const none = { records: 0, area: 0, length: 0, withoutArea: 0, withoutLength: 0 }
  const groups = new Map<string, { keys: any[] } & typeof none>()
  for (const record of stored.filter((each) => filters.every(([, passes]) => passes(each)))) {
    const keys = by.map((name) => keysOf[name]!(record))
    const group = groups.get(JSON.stringify(keys)) ?? { keys, ...none }
    groups.set(JSON.stringify(keys), group)
    const { area, length } = measured(record)
    group.records++
    group.area += area ?? 0
    group.length += length ?? 0
    group.withoutArea += Number(area === null)
    group.withoutLength += Number(length === null)
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
  const totals = (list: typeof all) => {
    const total = (name: keyof typeof none) => list.reduce((before, group) => before + group[name], 0)
    return {
      records: total('records'),
      ...(sum.includes('area') && {
        area_square_meters: total('area'),
        records_without_area: total('withoutArea'),
      }),
      ...(sum.includes('length') && {
        length_meters: total('length'),
        records_without_length: total('withoutLength'),
      }),
    }
  }
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
/** Compares sums to the centimetre, or to a millionth of their value, and everything else exactly. */
function expectClose(found: any, wanted: any, field = ''): void {
  if (wanted !== null && typeof wanted === 'object') {
    expect(Object.keys(found)).toEqual(Object.keys(wanted))
    for (const name of Object.keys(wanted)) expectClose(found[name], wanted[name], name)
  } else if (field.endsWith('_meters'))
    expect(Math.abs(found - wanted)).toBeLessThan(0.01 * 1_500 + wanted * 1e-6)
  else expect(found).toEqual(wanted)
}
function expectGroups<Row>(body: unknown, each: Case<Row>, wanted: unknown): void {
  try {
    expectClose(body, wanted)
  } catch (error) {
    throw new Error(`${queryOf(each)}: ${(error as Error).message}`, { cause: error })
  }
}
/** Arguments of a GraphQL field for the parameters of a query. */
const argumentsOf = (query: string) =>
  [...new URLSearchParams(query)]
    .map(
      ([name, text]) =>
        `${name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}: ${JSON.stringify(text)}`,
    )
    .join(', ')
const queryOf = <Row>({ by, sort, top, sum, filters }: Case<Row>) =>
  `?${[
    `by=${by.join()}`,
    `top=${top}`,
    ...(sort === undefined ? [] : [`sort=${sort}`]),
    ...(sum.length ? [`sum=${sum.join()}`] : []),
    ...filters.map(([query]) => query),
  ].join('&')}`

/** Draws dimensions, an order and a number of groups; and filters, each parameter once. */
function drawn<Row>(
  random: () => number,
  names: readonly string[],
  sum: string[],
  all: Case<Row>['filters'],
): Case<Row> {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const nameOf = (each: string) => each.split(':')[0]!
  const first = pick(names)
  const others = names.filter((name) => nameOf(name) !== nameOf(first))
  const by = random() < 0.5 ? [first] : [first, pick(others)]
  const filters = all.filter(() => random() < 0.12)
  const alone = new Set<string>()
  return {
    ...{ by, sum, top: pick([1, 3, 20, 10_000]) },
    ...(random() < 0.6 && { sort: `${pick(['', '-'])}${pick(['records', ...sum, ...by.map(nameOf)])}` }),
    filters: filters.filter(([query]) => !alone.has(query.split('=')[0]!) && alone.add(query.split('=')[0]!)),
  }
}
function someCase(random: () => number): Case {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
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
  return drawn(random, Object.keys(KEYS), sum, all)
}
function someAnswer(random: () => number, i: number): Answer {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  return {
    ...{ uid: uidOf(i), chain: pick(CHAINS), revoked: random() < 0.3 },
    timestamp: START + Math.floor(random() * 90 * 24) * 3_600_000 + pick([0, 1, 3_599_999]),
    schema: pick([uidOf(1), uidOf(2)]),
    attester: pick(ADDRESSES),
    recipient: pick(ADDRESSES),
    operation: pick(['distance', 'area', 'within:5000', 'within:50000']),
    inputs: [uidOf(Math.floor(random() * 5)), uidOf(7)],
  }
}
function someAnswersCase(random: () => number): Case<Answer> {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const from = START + Math.floor(random() * 90) * DAY
  const [chain, address, input] = [pick(CHAINS), pick(ADDRESSES), uidOf(3)]
  return drawn(
    random,
    Object.keys(ANSWER_KEYS),
    [],
    [
      [`chain=${chain},celo`, (answer) => ['celo', chain].includes(answer.chain)],
      ['revoked=false', ({ revoked }) => !revoked],
      [`attester=${address.toUpperCase().replace('X', 'x')}`, ({ attester }) => attester === address],
      [
        `recipient=${address},${ADDRESSES[0]}`,
        ({ recipient }) => [address, ADDRESSES[0]].includes(recipient),
      ],
      ['operation=within', ({ operation }) => operation.startsWith('within')],
      ['operation=area,within:5000', ({ operation }) => ['area', 'within:5000'].includes(operation)],
      [`input=${input}`, ({ inputs }) => inputs.includes(input)],
      [`schema=${uidOf(2)}`, ({ schema }) => schema === uidOf(2)],
      [`fromTimestamp=${new Date(from).toISOString()}`, ({ timestamp }) => timestamp > from],
      [`toTimestamp=${new Date(from).toISOString()}`, ({ timestamp }) => timestamp < from],
    ],
  )
}

describe('groups of answers', () => {
  hunt('equal those computed from the same answers, in REST and GraphQL', 50, async ({ cases, random }) => {
    const answers = Array.from({ length: 400 }, (_, i) => someAnswer(random, i))
    await rows(
      database.url,
      `INSERT INTO answer (id, uid, chain, attester, recipient, operation, result, input_refs, computed_at, timestamp,
         revoked, created_at, updated_at, schema_uid, ref_uid, revocable, expiration_time, block_number, block_hash,
         transaction_hash, log_index)
       SELECT chain || '-' || uid, uid, chain, attester, recipient, operation, '1', inputs, now(),
         to_timestamp(timestamp / 1000.0), revoked, now(), now(), schema, '0x', true, 0, 1, '0x', '0x', 0
       FROM json_to_recordset($1) AS given(uid text, chain text, attester text, recipient text, operation text,
         inputs text[], timestamp float8, revoked boolean, schema text)`,
      [JSON.stringify(answers)],
    )
    for (let i = 0; i < cases; i++) {
      const each = someAnswersCase(random)
      const query = queryOf(each)
      const { status, body } = await ask(query, {}, '/api/v0/answers/stats')
      expect(status, JSON.stringify([query, body]).slice(0, 500)).toBe(200)
      const wanted = expectedOf(each, answers, ANSWER_KEYS, () => ({ area: null, length: null }))
      expectGroups(body, each, wanted)
      expect((await queried(`answerGroups(${argumentsOf(query)})`)).answerGroups).toEqual(body)
    }
  })
})
describe('groups of records', () => {
  hunt(
    'equal those computed from the same records, whether counted in advance or not',
    50,
    async ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const each = someCase(random)
        const { status, body } = await ask(queryOf(each))
        expect(status, JSON.stringify([queryOf(each), body]).slice(0, 500)).toBe(200)
        expectGroups(body, each, expected(each))
      }
    },
  )
  test('are computed from the records until older records are counted, with the same result', async () => {
    const each: Case = { by: ['prover', 'chain'], top: 100, sum: ['area'], filters: [] }
    const sql = (text: string) => rows<{ more: boolean }>(database.url, text)
    await sql(
      `DELETE FROM record_group; INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state`,
    )
    expectClose((await ask(queryOf(each))).body, expected(each))
    // Adds and changes records during the count, with times before and after the counted period.
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
    const marked = await fetch(`${api.url}${STATS}?by=month,revoked&sum=area,length&format=csv&bom=true`)
    expect(Buffer.from(await marked.arrayBuffer()).toString()).toBe(`\ufeff${text}`)
    const { body } = await ask('?by=month,revoked&sum=area,length')
    expect(parseCsv(text)).toEqual([
      [
        ...['month', 'revoked', 'records', 'area_square_meters', 'records_without_area'],
        ...['length_meters', 'records_without_length'],
      ],
      ...body.data.map((row: object) =>
        Object.values(row).map((value) => expect.stringMatching(`^${String(value).slice(0, 12)}`)),
      ),
    ])
  })
  test('are read from one source in one snapshot, whatever is counted between two statements', async () => {
    const sql = (text: string) => rows<{ more: boolean }>(database.url, text)
    const states = [
      `DELETE FROM record_group; INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state ON CONFLICT DO NOTHING`,
      `SELECT count_records(chain, 10) FROM record_state`,
      `SELECT count_records(chain, 1000000) FROM record_state`,
    ]
    const query = {
      by: [{ name: 'chain', dimension: RECORD_DIMENSIONS.chain!, argument: 0 }],
      ...{ sums: ['area' as const], sort: { by: 'chain', descending: false }, top: 10 },
    }
    const exact = await rows<{ chain: string; records: number; area: string; without: number }>(
      database.url,
      `SELECT chain, count(*)::int AS records, sum(area_square_centimeters)::text AS area, (count(*) - count(area_square_centimeters))::int AS without FROM location_record GROUP BY 1 ORDER BY chain COLLATE "C"`,
    )
    try {
      for (const [i, state] of [...states, ...states].entries()) {
        await sql(state)
        let statements = 0
        const changing = Object.assign(Object.create(store) as Store, {
          run: async (...given: Parameters<Store['run']>) => {
            const found = await store.run(...given)
            await sql(states[(i + ++statements) % states.length]!)
            return found
          },
        })
        const { shown } = await recordGroups(changing, query, {})
        expect(
          shown.map(({ keys, records, sums, without }) => ({
            ...{ chain: keys[0], records, area: String(sums[0]), without: without[0] },
          })),
        ).toEqual(exact)
      }
    } finally {
      await sql(states[2]!)
    }
  })
  test('ignore a chain without an indexer in a filter by other chains', async () => {
    const sql = (text: string) => rows(database.url, text)
    let statements = 0
    const counting = Object.assign(Object.create(store) as Store, {
      run: (...given: Parameters<Store['run']>) => (statements++, store.run(...given)),
    })
    const ofChains = (chain: RecordFilter['chain']) =>
      recordGroups(
        counting,
        {
          by: [{ name: 'chain', dimension: RECORD_DIMENSIONS.chain!, argument: 0 }],
          ...{ sums: ['area' as const], sort: { by: 'records', descending: true }, top: 10 },
        },
        { ...(chain !== undefined && { chain }) },
      )
    try {
      await sql(
        `INSERT INTO record_uncounted VALUES ('sepolia', '-infinity'); INSERT INTO chain_status (chain, reading) VALUES ('sepolia', 3)`,
      )
      expect((await ofChains(['celo', 'arbitrum'])).shown.map(({ keys }) => keys[0]).sort()).toEqual([
        'arbitrum',
        'celo',
      ])
      expect(statements).toBe(1)
      await expect(ofChains(['celo', 'sepolia'])).rejects.toThrow(UnavailableError)
      await expect(ofChains(undefined)).rejects.toThrow(UnavailableError)
    } finally {
      await sql(
        `DELETE FROM record_uncounted WHERE chain = 'sepolia'; DELETE FROM chain_status WHERE chain = 'sepolia'`,
      )
    }
  })
  test('count towards the limit of H3 cells only if they have a point', async () => {
    const narrow = Object.assign(Object.create(store) as Store, {
      run: ({ text, values }: Statement, ...more: [boolean, string]) =>
        store.run({ text, values: values.map((value) => (value === 100_001 ? 1 : value)) }, ...more),
    })
    const by = ['h3', 'subject'].map((name) => ({ name, dimension: RECORD_DIMENSIONS[name]!, argument: 0 }))
    const query = { by, sums: [], sort: { by: 'records', descending: true }, top: 1 }
    const [pointless] = await rows<{ subjects: number }>(
      database.url,
      `SELECT count(DISTINCT subject)::int AS subjects FROM location_record WHERE longitude IS NULL`,
    )
    expect((await recordGroups(narrow, query, {})).groups).toBe(pointless!.subjects + 1)
  })
  test('include records without a geometry if a bbox matches such records', async () => {
    const bbox = [1, 1, 2, 2] as const
    const query = {
      by: [{ name: 'subject', dimension: RECORD_DIMENSIONS.subject!, argument: 0 }],
      ...{ sums: [], sort: { by: 'records', descending: true }, top: 10 },
    }
    for (const nowhere of [undefined, true, 'too'] as const) {
      const filter: RecordFilter = { ...(nowhere !== true && { bbox }), ...(nowhere && { nowhere }) }
      const [listed, grouped] = await Promise.all([
        store.countRecords(filter, 1_000_000),
        recordGroups(store, query, filter),
      ])
      expect(listed).toBeGreaterThan(0)
      expect([nowhere, grouped.total.records]).toEqual([nowhere, listed])
    }
  })
  hunt('in GraphQL equal those of REST, with all digits of the sums', 12, async ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      const { by, sort, top, filters } = someCase(random)
      const sum = ['area', 'length']
      const query = queryOf({ by, top, sum, filters, ...(sort !== undefined && { sort }) })
      const rows = 'locationRecords(first: 1) { nodes { uid } }'
      const fields = [`recordGroups(${argumentsOf(query)})`, ...(i % 2 ? [] : [rows])]
      const data = await queried(...(i % 4 ? fields : fields.reverse()))
      const { text } = await ask(query)
      const exact = text.replace(/("(?:area_square|length)_meters":)([\d.]+)/g, '$1"$2"')
      expect(data.recordGroups).toEqual(JSON.parse(exact))
    }
  })
  test('have sums with more digits than a double in JSON and CSV', async () => {
    const [first, owner] = [95_000, addressOf(95_000)]
    const wide = { type: 'Polygon', coordinates: [positions('0 0.1, 70.3 0.2, 60 60.7, 1 50, 0 0.1')] }
    await insertRecords(
      database.url,
      Array.from({ length: 3 }, (_, i) => ({ prover: owner, geometry: wide, timestamp: START + i })),
      first,
    )
    try {
      const [{ area } = { area: '' }] = await rows<{ area: string }>(
        database.url,
        `SELECT (sum(area_square_centimeters) / 10000)::numeric(60, 4)::text AS area FROM location_record WHERE prover = '${owner}'`,
      )
      const exact = area.replace(/\.?0+$/, '')
      expect(String(Number(exact))).not.toBe(exact)
      const { text } = await ask(`?by=chain&prover=${owner}&sum=area`)
      expect(text).toContain(`"area_square_meters":${exact},`)
      expect((await ask(`?by=chain&prover=${owner}&sum=area&format=csv`)).text).toContain(`,${exact},`)
    } finally {
      await rows(database.url, `DELETE FROM location_record WHERE prover = '${owner}'`)
    }
  })
  test('have an ETag that changes with the records', async () => {
    const { headers } = await ask('?by=chain')
    expect((await ask('?by=chain', { 'if-none-match': headers.get('etag')! })).status).toBe(304)
    stored.push(...(await insertRecords(database.url, [{ chain: 'celo' }], 90_000)))
    expect((await ask('?by=chain', { 'if-none-match': headers.get('etag')! })).status).toBe(200)
  })
})

describe('refusals of a groups query', () => {
  test('name the parameter and the violated rule', async () => {
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
      ['?by=day&bom=true', 'bom'],
    ] as const)
      expect(await problem(query), query).toEqual([400, `Invalid ${name} parameter`, sentence()])
    expect(await problem('?by=day&chain=nowhere')).toEqual([400, 'Invalid chain parameter', sentence()])
    expect(await problem('?by=day&limit=3')).toEqual([400, 'Invalid query parameter', sentence()])
  })
  test('apply to sums while older records are not measured', async () => {
    await rows(database.url, `INSERT INTO chain_status (chain, reading) VALUES ('celo', 3)`)
    expect(await problem('?by=chain&sum=area')).toEqual([503, 'Temporarily unavailable', sentence()])
    for (const query of ['?by=chain', '?by=chain&sum=area&chain=sepolia&near=1.5,1.5&radius=1000'])
      expect((await ask(query)).status, query).toBe(200)
    await rows(database.url, `UPDATE chain_status SET reading = 4`)
    expect((await ask('?by=chain&sum=area')).status).toBe(200)
  })
})
testSentences()
