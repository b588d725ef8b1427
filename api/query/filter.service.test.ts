import { beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { intersects, type PreparedGeometry } from '../../src/geodesy'
import { SIEVE_WORKER, startApi, type TestApi } from '../../test/api'
import { jsonOf, someFilter, textOf, type Filter } from '../../test/cql2'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { ADDRESSES, insertRecords, preparedOf, type Geometry, type StoredRecord } from '../../test/records'
import { SEED, hunt } from '../../test/seed'
import { TooExpensiveError } from '../http/problems'
import { conditionIn, filterChoice } from './filter'
import { QUERYABLES } from './queryables'
import { RecordSearch } from './search'
import type { RecordPage, RecordQuery, RecordResult } from '../store/model'
import { Store } from '../store/store'
import { sentence, testSentences } from '../../test/sentences'
import { positions } from '../../test/positions'

/**
 * Compares CQL2 filters over HTTP, in both encodings, with an evaluator of three-valued logic on the same
 * records.
 */
const COUNT = 400
const NOON = Date.UTC(2026, 0, 1, 12)
const HOUR = 3_600_000
const ITEMS = '/ogc/collections/location-records/items'
let random = seededRandom(SEED)
const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
const whole = (below: number) => Math.floor(random() * below)
const round = (degrees: number) => Math.round(degrees * 10) / 10

/** A random shape anywhere, often near the antimeridian and the poles; large or small. */
function someShape(): Geometry {
  const at = [
    pick([round(random() * 360 - 180), 179.5, -180, 10]),
    pick([round(random() * 178 - 89), 89, 50]),
  ]
  const near = (): number[] => {
    const size = pick([1, 20, 120])
    const lng = at[0]! + (random() - 0.5) * size
    return [
      round(lng > 180 ? lng - 360 : lng < -180 ? lng + 360 : lng),
      round(Math.max(-90, Math.min(90, at[1]! + (random() - 0.5) * size))),
    ]
  }
  const kind = whole(6)
  if (kind === 5) {
    const points: Geometry = { type: 'MultiPoint', coordinates: [at, near()] }
    return { type: 'GeometryCollection', geometries: [{ type: 'GeometryCollection', geometries: [points] }] }
  }
  if (kind <= 1) return { type: 'Point', coordinates: at }
  if (kind === 2) return { type: 'LineString', coordinates: [at, near(), near()] }
  if (kind === 3) return { type: 'MultiPoint', coordinates: [at, near()] }
  return { type: 'Polygon', coordinates: [[at, near(), near(), at]] }
}
const certainShape = (): Geometry => {
  for (;;) {
    const shape = someShape()
    if (preparedOf(shape)) return shape
  }
}

let database: TestDatabase
let api: TestApi
let stored: StoredRecord[]
let prepared: Map<string, PreparedGeometry>
const MEMOS = ['', 'Water tower', "it's", 'a%b_c\\d', 'Ünï', 'ünï', 'Z', 'a', '日本', '😀 x', '😀', 'x\ty\nz']
const TYPES = ['geojson', 'GeoJSON-Point', 'wkt', '%']
const ATTRIBUTES = [
  null,
  { assetId: 'pump-7', amount: 5, active: true, deep: { kind: 'a%b' } },
  { assetId: 'Ünï', amount: '340282366920938463463374607431768211455', deep: { kind: null } },
  { assetId: '5', amount: '-12', active: false, deep: ['a%b', 5, '-12'] },
  // A field without a name has its position as its name.
  { '0': 'a%b', deep: { '0': 5, '-1': 'a%b' }, amount: [-12] },
  { amount: -0.5, deep: {} },
  // 2^60 is a double that JavaScript prints with other digits.
  { amount: '1152921504606846976' },
]
beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url })
  stored = await insertRecords(
    database.url,
    Array.from({ length: COUNT }, () => ({
      ...{
        chain: pick(['celo', 'sepolia', 'arbitrum', 'base-sepolia']),
        prover: pick(ADDRESSES),
        subject: pick(ADDRESSES),
        revoked: random() < 0.3,
      },
      ...{
        timestamp: NOON + whole(60) * HOUR + pick([0, 0, 1, 999]),
        eventTimestamp: NOON - whole(60) * HOUR,
        locationType: pick(TYPES),
        memo: pick(MEMOS),
        attributes: pick(ATTRIBUTES),
        geometry: random() < 0.15 ? null : certainShape(),
      },
    })),
  )
  prepared = new Map(stored.flatMap(({ id, geometry }) => (geometry ? [[id, preparedOf(geometry)!]] : [])))
})

// --- The evaluator ---

type Truth = boolean | null
type Value = string | number | boolean | null
const WRITTEN = Date.UTC(2026, 6, 1)
const POINT_AT = { longitude: 0, latitude: 1 } as const

function valueOf(record: StoredRecord, property: string): Value {
  const { id, uid, chain, prover, subject, schema, memo, revoked, problem } = record
  const { timestamp, eventTimestamp, locationType, geometry } = record
  if (property.startsWith('attributes.')) {
    let value: unknown = { attributes: record.attributes }
    // Only objects have members: neither a list nor a text does.
    for (const name of property.split('.'))
      value =
        typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : null
    return value as Value
  }
  switch (property) {
    case 'longitude':
    case 'latitude':
      return geometry?.type === 'Point' ? (geometry.coordinates as number[])[POINT_AT[property]]! : null
    case 'geometry':
      return geometry && geometry.type
  }
  return {
    ...{ id, uid, chain, prover, subject, schema, memo, revoked, problem, timestamp },
    ...{ event_timestamp: eventTimestamp, location_type: locationType, srs: 'EPSG:4326' },
    ...{ created_at: WRITTEN, updated_at: WRITTEN },
  }[property] as Value
}

/** Compares by code points, as UTF-8 sorts. */
function order(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Value of the filter in the type of the property. A time becomes a span of milliseconds. */
function spanOf(property: string, given: unknown): [Value, Value] {
  const { type } = QUERYABLES.get(property)!
  if (type === 'time') {
    const { date, timestamp } = given as { date?: string; timestamp?: string }
    if (date !== undefined) return [Date.parse(date), Date.parse(date) + 24 * HOUR]
    const [, second, fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(timestamp!)!
    const exact = Number(fraction.padEnd(20, '0').slice(0, 3))
    const isBetween = /[1-9]/.test(fraction.slice(3))
    const at = Date.parse(`${second!}Z`) + exact
    return isBetween ? [at + 1, at + 1] : [at, at + 1]
  }
  const value = type === 'lower' ? String(given).toLowerCase() : (given as Value)
  return [value, value]
}

function compared(value: Value, op: string, property: string, given: unknown): Truth {
  if (value === null) return null
  if (property.startsWith('attributes.')) {
    if (op === '=' || op === '<>')
      return (value === given || (Number.isInteger(given) && value === String(given))) === (op === '=')
    const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value))
    const difference = isNumber ? Number(value) - Number(given) : null
    return difference === null
      ? null
      : { '<': difference < 0, '<=': difference <= 0, '>': difference > 0, '>=': difference >= 0 }[op]!
  }
  const [from, next] = spanOf(property, given)
  const isTime = from !== next || QUERYABLES.get(property)!.type === 'time'
  const to = (other: Value) =>
    typeof value === 'string' ? order(value, other as string) : Number(value) - Number(other)
  const [before, after] = isTime ? [to(from) < 0, to(next) >= 0] : [to(from) < 0, to(from) > 0]
  return {
    ...{ '=': !before && !after, '<>': before || after },
    ...{ '<': before, '>': after, '<=': !after, '>=': !before },
  }[op]!
}

function like(value: string, pattern: string): boolean {
  const source = Array.from(pattern.matchAll(/\\?[^]/gu), ([part]) => {
    if (part === '%') return '[^]*'
    if (part === '_') return '[^]'
    const literal = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part
    return `\\u{${literal.codePointAt(0)!.toString(16)}}`
  })
  return new RegExp(`^${source.join('')}$`, 'u').test(value)
}

const inBox = new Map<string, Promise<Set<string>>>()
/** IDs of the records in a box, as /api defines it. */
function idsInBox(box: readonly number[]): Promise<Set<string>> {
  const key = box.join()
  const known = inBox.get(key)
  if (known) return known
  const asked = (async () => {
    const answer = await fetch(`${api.url}/api/v0/location-records?bbox=${key}&limit=1000`)
    const { data } = (await answer.json()) as { data: { chain: string; uid: string }[] }
    return new Set(data.map(({ chain, uid }) => `${chain}-${uid}`))
  })()
  inBox.set(key, asked)
  return asked
}

/** Truth of a filter for each record. */
async function truths(filter: Filter): Promise<Truth[]> {
  switch (filter.op) {
    case 'and':
    case 'or': {
      const parts = await Promise.all(filter.args.map(truths))
      const decisive = filter.op === 'or'
      return stored.map((_, i) => {
        const all = parts.map((part) => part[i])
        return all.includes(decisive) ? decisive : all.includes(null) ? null : !decisive
      })
    }
    case 'not':
      return (await truths(filter.arg)).map((truth) => (truth === null ? null : !truth))
    case 'literal':
      return stored.map(() => filter.value)
    case 's_intersects': {
      if ('bbox' in filter) {
        const inside = await idsInBox(filter.bbox)
        return stored.map(({ id, geometry }) => geometry && inside.has(id))
      }
      const target = preparedOf(filter.geometry as Geometry)!
      return stored.map(({ id }) => {
        const known = prepared.get(id)
        return known ? intersects(known, target) : null
      })
    }
  }
  const { property } = filter
  const folded = <T>(text: T) =>
    'casei' in filter && filter.casei && typeof text === 'string' ? text.toLowerCase() : text
  return stored.map((record): Truth => {
    const value = folded(valueOf(record, property))
    switch (filter.op) {
      case 'isNull':
        return value === null
      case 'like': {
        const isLower = QUERYABLES.get(property)?.type === 'lower'
        return typeof value !== 'string'
          ? null
          : like(value, isLower ? filter.pattern.toLowerCase() : folded(filter.pattern))
      }
      case 'between': {
        const [low, high] = [
          compared(value, '>=', property, filter.low),
          compared(value, '<=', property, filter.high),
        ]
        return low === null ? null : low && high!
      }
      case 'in':
        return value === null
          ? null
          : filter.values.some((each) => compared(value, '=', property, folded(each)))
    }
    return compared(value, filter.op, property, folded(filter.value))
  })
}

// --- Random filters ---

/** A value that some record has, or one close to it. */
function someValue(property: string): string | number | boolean | { date: string } | { timestamp: string } {
  const value = valueOf(pick(stored), property)
  switch (QUERYABLES.get(property)!.type) {
    case 'boolean':
      return random() < 0.5
    case 'number':
      return pick([Number(value ?? 0), round(random() * 360 - 180), 0, -0.05])
    case 'time': {
      const iso = new Date(value as number).toISOString()
      return pick<{ date: string } | { timestamp: string }>([
        { date: iso.slice(0, 10) },
        { timestamp: iso },
        { timestamp: `${iso.slice(0, 19)}Z` },
        { timestamp: iso.replace('Z', pick(['0', '5', '00000000000000001']) + 'Z') },
      ])
    }
    case 'lower':
      return random() < 0.5 ? String(value) : String(value).toUpperCase().replace(/X/, 'x')
    default:
      return random() < 0.8 ? String(value ?? 'x') : pick(["'", '%', 'A', '\u{10ffff}', ''])
  }
}

type Leaf = Exclude<Filter, { op: 'and' | 'or' | 'not' }>
const PROPERTIES = [...QUERYABLES].filter(([, { type }]) => type !== 'geometry').map(([name]) => name)
const BOXES = [
  [-180, -90, 180, 90],
  [-10, -20, 60, 50],
  [170, -60, -170, 60],
  [10, 50, 10, 50],
  [-180, 80, 180, 90],
]

const ATTRIBUTE_NAMES = [
  ...['assetId', 'amount', 'active', 'deep', 'deep.kind', 'none', 'assetId.x', 'assetId.0', 'assetId.length'],
  ...['0', 'deep.0', 'deep.1', 'deep.2', 'deep.length', 'amount.0', 'constructor'],
]
function someLeafOfAttributes(): Leaf {
  const property = `attributes.${pick(ATTRIBUTE_NAMES)}`
  const some = () => pick<string | number | boolean>(['pump-7', '5', 5, -12, -0.5, true, false, 'a%b', ''])
  const number = () => pick([5, -12.5, -0.5, 4e30])
  switch (whole(5)) {
    case 0:
      return { op: 'isNull', property }
    case 1:
      return { op: 'like', property, pattern: pick(['%', 'p%', 'Ü_ï', String.raw`a\%b`, '']) }
    case 2:
      return { op: 'in', property, values: [some(), some()] }
    case 3:
      return { op: pick(['<', '>', '<=', '>='] as const), property, value: number() }
  }
  return { op: pick(['=', '<>'] as const), property, value: some() }
}

function someLeaf(): Leaf {
  if (random() < 0.15) return someLeafOfAttributes()
  const property = pick(PROPERTIES)
  const { type } = QUERYABLES.get(property)!
  const isText = type === 'text' || type === 'lower'
  const casei = isText && random() < 0.3 ? ({ casei: true } as const) : {}
  const anyCase = <T>(text: T) => ('casei' in casei && typeof text === 'string' ? text.toUpperCase() : text)
  switch (whole(9)) {
    case 0:
      return { op: 'isNull', property: pick([...PROPERTIES, 'geometry', 'geometry', 'longitude', 'problem']) }
    case 1:
      if (isText) {
        const text = String(valueOf(pick(stored), property) ?? '')
        const letters = Array.from(text.replace(/[\\%_]/g, String.raw`\$&`))
        const pattern = pick([
          `${letters.slice(0, 1 + whole(4)).join('')}%`,
          `%${letters.slice(-2).join('')}`,
          letters.join('').replace(/(?<!\\)[a-z]/, '_'),
          ...['%', '', '_%', String.raw`%\%%`],
        ])
        // A pattern cut after a backslash is the subject of another test.
        return {
          op: 'like',
          property,
          pattern: anyCase(pattern.replace(/(?<!\\)(\\\\)*\\%?$/, '$1%')),
          ...casei,
        }
      }
      return { op: 'isNull', property }
    case 2:
      if (type === 'boolean') return { op: 'in', property, values: [someValue(property)] }
      return { op: 'between', property, low: someValue(property), high: someValue(property) }
    case 3:
      return {
        ...{ op: 'in', property, ...casei },
        values: Array.from({ length: 1 + whole(4) }, () => anyCase(someValue(property))),
      }
    case 4:
      return { op: 's_intersects', property: 'geometry', bbox: pick(BOXES) }
    case 5:
      return random() < 0.7
        ? { op: 's_intersects', property: 'geometry', geometry: certainShape() }
        : { op: 'literal', value: random() < 0.5 }
  }
  return {
    op: pick(['=', '<>', '<', '>', '<=', '>='] as const),
    property,
    value: anyCase(someValue(property)),
    ...casei,
  }
}

// --- Through HTTP ---

interface Page {
  numberMatched?: number
  features: { id: string; properties: Record<string, unknown> }[]
  links: { rel: string; href: string }[]
}
async function ask(
  query: Record<string, string>,
): Promise<{ status: number; body: Page & { message: string; detail: string } }> {
  const answer = await fetch(`${api.url}${ITEMS}?${new URLSearchParams(query).toString()}`)
  return { status: answer.status, body: (await answer.json()) as Page & { message: string; detail: string } }
}
async function idsOf(query: Record<string, string>): Promise<string[]> {
  const { status, body } = await ask({ limit: '1000', ...query })
  expect([JSON.stringify(query), status, body.detail]).toEqual([JSON.stringify(query), 200, undefined])
  expect(body.numberMatched).toBe(body.features.length)
  return body.features.map(({ id }) => id)
}
/** Records newest first, in the order of the list. */
const inOrder = (records: readonly StoredRecord[]) =>
  [...records].sort((a, b) => b.timestamp - a.timestamp || order(b.id, a.id)).map(({ id }) => id)

hunt('the filter finds the records that match, for random filters in both encodings', 10, async (given) => {
  random = given.random
  // Each kind must occur, otherwise the test shows nothing.
  expect(stored.filter(({ geometry }) => geometry === null).length).toBeGreaterThan(20)
  const kinds = { some: 0, all: 0, none: 0, unknown: 0, places: 0 }
  for (let n = 0; n < given.cases; n++) {
    let places = 0
    const leaf = () => {
      const made = someLeaf()
      if (made.op === 's_intersects' && 'geometry' in made && ++places > 8)
        return { op: 'literal', value: true } as const
      return made
    }
    const filter = someFilter(random, leaf, whole(4))
    const truth = await truths(filter)
    const expected = inOrder(stored.filter((_, i) => truth[i] === true))
    const text = textOf(filter, random)
    const json = JSON.stringify(jsonOf(filter))
    const at = `run ${n}: ${text}`
    expect([at, await idsOf({ filter: text })]).toEqual([at, expected])
    expect([at, await idsOf({ filter: json, 'filter-lang': 'cql2-json' })]).toEqual([at, expected])
    kinds[expected.length === 0 ? 'none' : expected.length === COUNT ? 'all' : 'some']++
    if (truth.includes(null)) kinds.unknown++
    if (places > 0) kinds.places++
  }
  if (given.cases >= 200)
    for (const count of Object.values(kinds))
      expect([kinds, count > given.cases / 100]).toEqual([kinds, true])
})

test('the filter ignores letter case within CASEI, in text and JSON', async () => {
  const idsBy = (passes: (memo: string) => boolean) => inOrder(stored.filter(({ memo }) => passes(memo)))
  const tower = (memo: string) => memo.toLowerCase() === 'water tower'
  const property = { op: 'casei', args: [{ property: 'memo' }] }
  const texts = (...all: string[]) => all.map((text) => ({ op: 'casei', args: [text] }))
  for (const [filter, json, passes] of [
    ["CASEI(memo) = CASEI('WATER tower')", { op: '=', args: [property, ...texts('WATER tower')] }, tower],
    [
      "casei ( 'WATER tower' ) <> CaseI(memo)",
      { op: '<>', args: [...texts('WATER tower'), property] },
      (memo) => !tower(memo),
    ],
    ["CASEI(memo) LIKE CASEI('wAtEr%')", { op: 'like', args: [property, ...texts('wAtEr%')] }, tower],
    [
      "CASEI(memo) IN (CASEI('Z'), CASEI('WATER TOWER'))",
      { op: 'in', args: [property, texts('Z', 'WATER TOWER')] },
      (memo) => tower(memo) || memo.toLowerCase() === 'z',
    ],
    ["CASEI(CASEI(memo)) = CASEI('A')", { op: '=', args: [property, ...texts('A')] }, (memo) => memo === 'a'],
  ] as [string, object, (memo: string) => boolean][]) {
    const expected = idsBy(passes)
    expect(expected.length).toBeGreaterThan(0)
    expect([filter, await idsOf({ filter })]).toEqual([filter, expected])
    expect(await idsOf({ filter: JSON.stringify(json), 'filter-lang': 'cql2-json' })).toEqual(expected)
  }
})

test('the filter treats a place condition as unknown for a record without a certain inside', async () => {
  const ring = positions('60 60, 62 62, 62 60, 60 62, 60 60')
  const [crossing, nowhere] = await insertRecords(
    database.url,
    [{ type: 'Polygon', coordinates: [ring] }, null].map((geometry) => ({ geometry })),
    COUNT + 1,
  )
  const found = async (filter: string) =>
    idsOf({ filter: `(${filter}) AND id IN ('${crossing!.id}', '${nowhere!.id}')` })
  const [over, away] = ['60.2 60.1', '-60 -60'].map((at) => `S_INTERSECTS(geometry, POINT(${at}))`)
  expect(await found('TRUE')).toHaveLength(2)
  for (const unknown of [over!, `NOT ${over!}`, away!, `${over!} AND ${away!}`, `NOT (${over!} OR ${away!})`])
    expect([unknown, await found(unknown)]).toEqual([unknown, []])
  // The inside of this polygon is uncertain, but it cannot reach the other side of the world.
  expect(await found(`NOT ${away!}`)).toEqual([crossing!.id])
  expect(await found(`NOT (${over!} AND ${away!})`)).toEqual([crossing!.id])
  await rows(database.url, `DELETE FROM location_record WHERE id IN ('${crossing!.id}', '${nowhere!.id}')`)
})

test('the filter omits a record that arrives between measuring and reading', async () => {
  let late: StoredRecord[] = []
  class Late extends Store {
    override async page(query: RecordQuery): Promise<RecordPage> {
      const found = await super.page(query)
      if (query.reaching && late.length === 0)
        late = await insertRecords(
          database.url,
          positions('10 50, -60 -60').map((coordinates) => ({
            geometry: { type: 'Point', coordinates },
            memo: 'late',
          })),
          COUNT + 1,
        )
      return found
    }
  }
  const store = new Late(database.url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  const condition = conditionIn(
    "NOT S_INTERSECTS(geometry, POLYGON((0 40, 20 40, 20 60, 0 60, 0 40))) AND memo = 'late'",
  )
  const { rows: page } = await records.search({ condition, limit: 10 }).page()
  expect(page.map(({ uid }) => uid)).toEqual([late[1]!.uid])
  await records.close()
  await store.close()
  await rows(database.url, "DELETE FROM location_record WHERE memo = 'late'")
})

test('the filter may measure at most 20,000 records for all its places together', async () => {
  class Crowded extends Store {
    private left = 0
    override async page(query: RecordQuery): Promise<RecordPage> {
      const { rows, next } = await super.page({ limit: 1 })
      if (!query.from) this.left = 12_000
      const found = Array<RecordResult>(Math.min(query.limit, this.left)).fill(rows[0]!)
      this.left -= found.length
      return { rows: found, ...(this.left > 0 && { next }) }
    }
  }
  const store = new Crowded(database.url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  const decided = (filter: string) => records.search({ condition: conditionIn(filter) }).filter()
  const [one, other] = ['POINT(1 2)', 'POINT(3 4)'].map((at) => `NOT S_INTERSECTS(geometry, ${at})`)
  expect(await decided(one!)).toMatchObject({ condition: { not: true } })
  await expect(decided(`${one!} OR ${other!}`)).rejects.toMatchObject({
    detail: sentence() as string,
  })
  await records.close()
  await store.close()
})

test('the filter measures only records that may meet all of its places, in any order', async () => {
  class Crowded extends Store {
    override async page(query: RecordQuery): Promise<RecordPage> {
      const decided = query.condition && 'place' in query.condition ? query.condition.place.reach : []
      const boxes = [query.reaching, query.alsoReaching, decided].flatMap((each) => each ?? [])
      if (boxes.some(([w, , e]) => e - w < 1)) return { rows: [] }
      const { rows, next } = await super.page({ limit: 1 })
      return { rows: Array<RecordResult>(query.limit).fill(rows[0]!), next }
    }
  }
  const store = new Crowded(database.url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  const small = 'S_INTERSECTS(geometry, POINT(10 50))'
  const big = 'S_INTERSECTS(geometry, POLYGON((0 40, 20 40, 20 60, 0 60, 0 40)))'
  for (const filter of [
    ...[`${small} AND ${big}`, `${big} AND ${small}`],
    ...[`${small} AND NOT ${big}`, `NOT ${big} AND ${small}`],
  ]) {
    const choice = filterChoice(filter, undefined, { bbox: false, place: false })
    expect((await records.search({ ...choice, limit: 10 }).page()).rows, filter).toEqual([])
  }
  await records.close()
  await store.close()
})

test('a page does not need the number of its matches', async () => {
  class Slow extends Store {
    override countRecords(): Promise<number> {
      return Promise.reject(new TooExpensiveError('slow'))
    }
  }
  const store = new Slow(database.url, () => {})
  const records = new RecordSearch(store, SIEVE_WORKER)
  const search = records.search({ condition: conditionIn("memo LIKE '%x%'"), limit: 10 })
  await expect(search.count()).rejects.toBeInstanceOf(TooExpensiveError)
  expect(await search.cheapCount()).toBeUndefined()
  await records.close()
  await store.close()
})

test('the filter joins CQL2 and parameters by AND (19-079r2, /req/filter/mixing-expressions)', async () => {
  const filter = "S_INTERSECTS(geometry, BBOX(-60, -60, 120, 80)) AND memo <> ''"
  const expected = await idsOf({ filter: `${filter} AND chain = 'celo' AND revoked = FALSE` })
  expect(expected.length).toBeGreaterThan(0)
  expect(await idsOf({ filter, chain: 'celo', revoked: 'false' })).toEqual(expected)
  // A record without a geometry matches every parameter bbox, and no BBOX of a filter.
  const bbox = '-10,-20,60,50'
  expect(await idsOf({ filter, bbox, chain: 'celo', revoked: 'false' })).toEqual(
    await idsOf({
      filter: `${filter} AND chain = 'celo' AND revoked = FALSE AND S_INTERSECTS(geometry, BBOX(${bbox}))`,
    }),
  )
  expect((await idsOf({ filter: 'geometry IS NULL', bbox })).length).toBe(
    stored.filter(({ geometry }) => geometry === null).length,
  )
  const datetime = '2026-01-02T00:00:00Z/2026-01-02T23:59:59.999Z'
  expect(await idsOf({ filter: 'TRUE', datetime })).toEqual(
    await idsOf({ filter: "timestamp = DATE('2026-01-02')" }),
  )
})

test('the filter accepts the chain names that the parameter chain accepts', async () => {
  const celo = await idsOf({ filter: "chain = 'celo'" })
  expect(celo.length).toBeGreaterThan(0)
  for (const named of ["chain = '42220'", "chain IN ('CELO', 'mars')", "NOT chain <> 'Celo-Mainnet'"])
    expect(await idsOf({ filter: named })).toEqual(celo)
})

test.each(['timestamp', '-timestamp', '+event_timestamp', '-event_timestamp'])(
  'sortby=%s returns pages in order, and every record once',
  async (sortby) => {
    const filter = "NOT S_INTERSECTS(geometry, POINT(10 50)) AND chain IN ('celo', 'sepolia')"
    const everything = await idsOf({ filter })
    const found: Page['features'] = []
    for (let query: Record<string, string> | undefined = { filter, sortby, limit: '37' }; query;) {
      const { status, body } = await ask(query)
      expect([status, body.numberMatched]).toEqual([200, everything.length])
      found.push(...body.features)
      const next = body.links.find(({ rel }) => rel === 'next')?.href
      query = next === undefined ? undefined : Object.fromEntries(new URL(next).searchParams)
    }
    const [, by] = /(\w+)$/.exec(sortby)!
    const direction = sortby.startsWith('-') ? -1 : 1
    const sorted = [...found].sort(
      (a, b) =>
        direction * (order(String(a.properties[by!]), String(b.properties[by!])) || order(a.id, b.id)),
    )
    expect(found.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id))
    expect(found.map(({ id }) => id).sort()).toEqual([...everything].sort())
  },
)
test('the filter rejects a cursor of another sort order', async () => {
  const { body } = await ask({ sortby: 'event_timestamp', limit: '5' })
  const cursor = new URL(body.links.find(({ rel }) => rel === 'next')!.href).searchParams.get('cursor')!
  expect((await ask({ sortby: 'event_timestamp', cursor })).status).toBe(200)
  for (const query of [{ cursor }, { cursor, sortby: '-event_timestamp' }] as Record<string, string>[])
    expect(await ask(query)).toMatchObject({ status: 400, body: { message: 'Invalid cursor parameter' } })
})

describe('an invalid filter returns 400 with the position and the expected form', () => {
  test.each<[string]>([
    ['THIS IS NOT A FILTER'],
    ['this_is_not_a_queryable IS NULL'],
    ["location = 'x'"],
    ["__proto__ = 'x'"],
    ["constructor = 'x'"],
    ['"id""; DROP TABLE location_record; --" = \'x\''],
    ["revoked = 'true'"],
    ['revoked = 2'],
    ["longitude = '1'"],
    ['memo = 5'],
    ["longitude LIKE '1%'"],
    ["CASEI(memo) = 'a'"],
    ["memo = CASEI('a')"],
    ['CASEI(longitude) = CASEI(1)'],
    ["CASEI(timestamp) = CASEI('a')"],
    ["CASEI(memo) BETWEEN CASEI('a') AND CASEI('b')"],
    ["CASEI(attributes.kind) = CASEI('a')"],
    [`attributes.${'a.'.repeat(100)}a = 'x'`],
    [`attributes.${'a'.repeat(2_000)} > 'x'`],
    ["memo LIKE 'a\\'"],
    ["memo LIKE 'a\\\\'"],
    ['timestamp > 5'],
    ["timestamp > DATE('2026-02-30')"],
    ["timestamp > DATE('2026-02-03T00:00:00Z')"],
    ["timestamp > TIMESTAMP('2026-02-03')"],
    ["timestamp > TIMESTAMP('2026-02-03T00:00:00')"],
    ["timestamp > 'yesterday'"],
    ['geometry = 5'],
    ['S_INTERSECTS(chain, POINT(1 2))'],
    // Coordinates that the OGC's test suites send.
    ['S_INTERSECTS(geometry, POINT(90 180))'],
    ['S_INTERSECTS(geometry, BBOX(1000000, 1000000, 2000000, 2000000))'],
    ['S_INTERSECTS(geometry, BBOX(0, 5, 1, 4))'],
    ['S_INTERSECTS(geometry, BBOX(0, 0, 9, 1, 1, 2))'],
    ['S_INTERSECTS(geometry, BBOX(0, 0, 1))'],
    ['S_INTERSECTS(geometry, POINT EMPTY)'],
    ["memo = 'a\0'"],
    [Array.from({ length: 9 }, (_, i) => `S_INTERSECTS(geometry, POINT(${i} 0))`).join(' OR ')],
  ])('%s', async (filter) => {
    const { status, body } = await ask({ filter })
    expect([status, body.message]).toEqual([400, 'Invalid filter parameter'])
    expect(body.detail).toEqual(sentence())
    expect(body.detail.length).toBeLessThan(400)
  })
  test.each<[Record<string, string>, string]>([
    [{ 'filter-lang': 'cql' }, 'Invalid filter-lang parameter'],
    [{ 'filter-lang': 'cql2-json', filter: 'TRUE' }, 'Invalid filter parameter'],
    [{ 'filter-crs': 'http://www.opengis.net/def/crs/EPSG/0/3857' }, 'Invalid filter-crs parameter'],
    [{ filter: '{"op":"=","args":[{"property":"revoked"},true]}' }, 'Invalid filter parameter'],
    [{ sortby: 'memo' }, 'Invalid sortby parameter'],
    [{ sortby: '-timestamp,memo' }, 'Invalid sortby parameter'],
    [{ sortby: '' }, 'Invalid sortby parameter'],
  ])('%j', async (query, message) => {
    expect(await ask({ filter: 'TRUE', ...query })).toMatchObject({ status: 400, body: { message } })
  })
  test('names the JSON path of a property of the wrong kind', async () => {
    const filter = JSON.stringify({ op: 'not', args: [{ op: '=', args: [{ property: 'revoked' }, 'x'] }] })
    const { status, body } = await ask({ filter, 'filter-lang': 'cql2-json' })
    expect([status, body.detail]).toEqual([400, sentence('at /args/0/args/1')])
  })
})

test('the filter compares integers beyond 2^53 exactly', async () => {
  const big = '340282366920938463463374607431768211455'
  const next = '340282366920938463463374607431768211456'
  const holders = stored.filter(({ attributes }) => attributes?.amount === big).map(({ id }) => id)
  expect(holders.length).toBeGreaterThan(10)
  const finds = async (filter: string, expected: readonly string[], language = 'cql2-text') =>
    expect([filter, (await idsOf({ filter, 'filter-lang': language })).sort()]).toEqual([
      filter,
      [...expected].sort(),
    ])
  for (const [says, expected] of [
    [`= ${big}`, holders],
    [`= ${next}`, []],
    ['= 3.40282366920938463463374607431768211455e38', holders],
    [`= ${big}.0`, holders],
    [`> ${big}`, []],
    [`>= ${big}`, holders],
    [`>= '${big}'`, holders],
    [`>= ${next}`, []],
    [`BETWEEN ${big} AND ${big}`, holders],
    [`IN (${next}, ${big})`, holders],
  ] as const)
    await finds(`attributes.amount ${says}`, expected)
  const power = '1152921504606846976'
  const others = stored.filter(({ attributes }) => attributes?.amount === power).map(({ id }) => id)
  expect(others.length).toBeGreaterThan(10)
  for (const [says, expected] of [
    [`= ${power}`, others],
    ['= 1152921504606847000', []],
    [`BETWEEN ${power} AND ${power}`, others],
  ] as const)
    await finds(`attributes.amount ${says}`, expected)
  const json = (op: string, value: string) =>
    `{"op":"${op}","args":[{"property":"attributes.amount"},${value}]}`
  await finds(json('=', `"${power}"`), others, 'cql2-json')
  expect((await ask({ filter: json('=', power), 'filter-lang': 'cql2-json' })).status).toBe(400)
  await finds(json('=', `"${big}"`), holders, 'cql2-json')
  await finds(json('>', `"${big}"`), [], 'cql2-json')
  const { status, body } = await ask({ filter: json('=', big), 'filter-lang': 'cql2-json' })
  expect([status, body.detail]).toEqual([400, sentence('at /', big)])
})

test('the filter never becomes SQL, so that an injection matches only a record of that name', async () => {
  const injections = [
    ...["'", "''; DROP TABLE location_record; --", "' OR 1=1 --", '$1', '\\', "\\'", '%', '"', ';', '{}'],
    ...['NULL'],
  ]
  const quoted = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
  for (const property of PROPERTIES.filter((name) =>
    ['text', 'lower'].includes(QUERYABLES.get(name)!.type),
  )) {
    const expectEqual = async (values: string[], filter: string) => {
      const expected = stored.filter((record) => values.includes(valueOf(record, property) as string)).length
      expect([filter, (await idsOf({ filter })).length]).toEqual([filter, expected])
    }
    // Other properties of the same type have the same SQL.
    if (['memo', 'uid', 'chain'].includes(property))
      for (const value of injections) await expectEqual([value], `${property} = ${quoted(value)}`)
    await expectEqual(injections, `${property} IN (${injections.map(quoted).join()})`)
  }
  expect((await rows(database.url, 'SELECT count(*)::int AS n FROM location_record'))[0]).toEqual({
    n: COUNT,
  })
})

testSentences()
