import { beforeAll, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../dev/random'
import { distanceCentimeters, type PreparedGeometry } from '../../src/geodesy'
import { startApi, type TestApi } from '../../test/api'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import {
  ADDRESSES,
  insertRecords,
  preparedOf,
  type Geometry,
  type GivenRecord,
  type StoredRecord,
} from '../../test/records'
import { EFFORT, SEED, hunt } from '../../test/seed'
import { UnavailableError } from '../http/problems'
import { nearQuery } from '../store/sql-near'
import { Store } from '../store/store'
import { sentence, testSentences } from '../../test/sentences'

/**
 * Compares sort=distance with brute force: every record is measured by the kernel, then sorted. Circles of
 * more than 6,400 records are crowded.
 */
const COUNT = EFFORT < 1 ? 3_000 : 9_000
/** Records at one position: more than two pages. */
const EQUAL = 1_200
let random = seededRandom(SEED)
const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
const spread = (size: number) => (random() + random() + random() - 1.5) * size
const onEarth = ([lng, lat]: readonly [number, number]): [number, number] => {
  const over = Math.abs(lat) > 90
  const shifted = over ? lng + 180 : lng
  return [shifted - 360 * Math.round(shifted / 360), over ? Math.sign(lat) * 180 - lat : lat]
}
/** Towns of very different density: at both poles, on both sides of the antimeridian, on land. */
const TOWNS: readonly (readonly [number, number, number])[] = [
  ...([
    [0, 90, 3],
    [77, 90, 0.01],
    [-120, -90, 8],
    [180, 0, 2],
    [-179.9, 66, 0.5],
    [180, -84, 6],
    [13.4, 52.5, 0.2],
    [13.4, 52.5, 5],
    [-70, 10, 40],
  ] as const),
]
function somePlace(): [number, number] {
  const [lng, lat, size] = pick(TOWNS)
  return onEarth([lng + spread(size) / Math.max(0.05, Math.cos((lat * Math.PI) / 180)), lat + spread(size)])
}
function someShape(): Geometry {
  const at = somePlace()
  const near = () => onEarth([at[0] + spread(20), Math.max(-90, Math.min(90, at[1] + spread(8)))])
  return random() < 0.5
    ? { type: 'LineString', coordinates: [at, near(), near()] }
    : { type: 'Polygon', coordinates: [[at, near(), near(), at]] }
}

interface Placed {
  id: string
  chain: string
  prover: string
  /** Undefined for a geometry that is not a point. */
  point: readonly [number, number] | undefined
  prepared: PreparedGeometry
}
/** Records that have a geometry. */
const placedOf = (records: readonly StoredRecord[]): Placed[] =>
  records.flatMap(({ id, chain, prover, geometry }) => {
    const prepared = geometry ? preparedOf(geometry) : undefined
    const point = geometry?.type === 'Point' ? (geometry.coordinates as [number, number]) : undefined
    return prepared ? [{ id, chain, prover, point, prepared }] : []
  })
let database: TestDatabase
let api: TestApi
let placed: Placed[] = []
beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url })
  const given = Array.from({ length: COUNT }, (_, i): GivenRecord & { geometry: Geometry | null } => ({
    chain: i % 50 === 0 ? 'sepolia' : 'celo',
    prover: i % 2_000 === 0 ? ADDRESSES[4]! : ADDRESSES[i % 4]!,
    geometry:
      i % 97 === 0
        ? null
        : i % 150 === 0
          ? someShape()
          : // Some of these records share a position, or are one centimetre apart.
            { type: 'Point', coordinates: random() < EQUAL / COUNT ? [180, 0] : somePlace() },
  }))
  const stored = await insertRecords(database.url, given)
  placed = placedOf(stored)
  await rows(database.url, 'ANALYZE location_record')
}, 5 * 60_000)

interface Answer {
  data: { uid: string; chain: string; distance_meters: number }[]
  next_cursor: string | null
  detail?: string
}
async function ask(query: Record<string, string>, { url } = api): Promise<Answer> {
  const answer = await fetch(`${url}/api/v0/location-records?${new URLSearchParams(query).toString()}`)
  return (await answer.json()) as Answer
}
const listed = ({ data, detail }: Answer) => {
  expect(detail).toBeUndefined()
  return data.map(({ uid, chain, distance_meters }): [string, number] => [`${chain}-${uid}`, distance_meters])
}
/** The `count` nearest records by distance, by brute force. */
function byDistance(at: readonly [number, number], of: readonly Placed[], count: number): [string, number][] {
  const target = preparedOf({ type: 'Point', coordinates: at })!
  return nearby(at, of, count)
    .map(({ id, prepared }): [string, number] => [id, distanceCentimeters(prepared, target)])
    .sort(([a, first], [b, second]) => first - second || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([id, centimeters]) => [id, centimeters / 100])
}
/**
 * Records that include the `count` nearest. A geodesic on the ellipsoid is 0.994 to 1.005 times as long as an
 * arc of the mean radius. A point whose arc is 2 % and 6 cm longer than that of the `count`th is therefore
 * farther away.
 */
function nearby(at: readonly [number, number], of: readonly Placed[], count: number): readonly Placed[] {
  if (count >= of.length) return of
  const from = direction(at)
  const arcs = of.map(({ point }) => {
    if (!point) return 0
    const [x, y, z] = direction(point)
    return 2 * Math.asin(Math.min(1, Math.hypot(x - from[0], y - from[1], z - from[2]) / 2))
  })
  // All shapes are measured, as if they were among the nearest.
  const shapes = of.filter(({ point }) => !point).length
  const farthest = Float64Array.from(arcs).sort()[Math.min(of.length, count + shapes) - 1]!
  return of.filter((_, i) => arcs[i]! <= farthest * 1.02 + 1e-8)
}
/** Unit vector of a position, on a sphere of geodetic latitudes. */
function direction([lng, lat]: readonly [number, number]): [number, number, number] {
  const [a, b] = [(lng * Math.PI) / 180, (lat * Math.PI) / 180]
  return [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)]
}
const ORIGINS = (
  [
    [50, -90],
    [-180, 0],
    [12, 89.99],
    [13.4, 52.5],
    // Far from all records: the nearest ones are a quarter of the earth's circumference away.
    [95, -20],
    [0, 90],
    [180, 0],
    [-100, 88],
    [179.999, 66],
    [-179.7, -84.2],
    [0, -45],
  ] as const
).slice(0, EFFORT < 1 ? 5 : Infinity)

test.each(ORIGINS)('the nearest search finds the records nearest to %d, %d', async (lng, lat) => {
  const expected = byDistance([lng, lat], placed, 338)
  const near = `${lng},${lat}`
  for (const limit of EFFORT < 1 ? [7, 300] : [1, 7, 300])
    expect(listed(await ask({ near, sort: 'distance', limit: String(limit) }))).toEqual(
      expected.slice(0, limit),
    )
  expect(listed(await ask({ near, sort: 'distance', limit: '5', offset: '333' }))).toEqual(
    expected.slice(333, 338),
  )
})

test('the nearest search finds fifty records thousands of kilometres away by geodesic distance', async () => {
  const at = [119.26506481133401, 33.25960393063724] as const
  const query = { near: at.join(), sort: 'distance', limit: '50' }
  expect(listed(await ask(query))).toEqual(byDistance(at, placed, 50))
})

test(
  'the nearest search finishes if a dense town is inside the box but outside the circle',
  { tags: ['slow'] },
  async () => {
    const own = await createMigratedDatabase()
    const of = await startApi({ databaseUrl: own.url })
    try {
      const towns = [
        [70, 52, 4_400],
        [-45, 10, 60],
        [170, -60, 3_000],
      ] as const
      const given = towns.flatMap(([lng, lat, count]) =>
        Array.from({ length: count }, () => ({
          chain: 'celo',
          prover: ADDRESSES[0]!,
          geometry: { type: 'Point' as const, coordinates: [lng + spread(1), lat + spread(1)] },
        })),
      )
      const stored = await insertRecords(own.url, given)
      await rows(own.url, 'ANALYZE location_record')
      const all = placedOf(stored)
      for (const lng of [0, 0.1, 1, 1.7, 3, 12]) {
        const query = { near: `${lng},50`, sort: 'distance', limit: '50' }
        expect([lng, listed(await ask(query, of))]).toEqual([lng, byDistance([lng, 50], all, 50)])
      }
    } finally {
      await of.close()
      await own.drop()
    }
  },
)

hunt(
  'the nearest search finds the nearest records for random places, filters and radii',
  3,
  async ({ random: seeded, cases }) => {
    random = seeded
    for (let run = 0; run < cases; run++) {
      const at = random() < 0.8 ? somePlace() : onEarth([random() * 360, random() * 180 - 90])
      const filter = pick<Record<string, string>>([
        ...[{}, { chain: 'sepolia' }, { prover: ADDRESSES[4]! }, { prover: ADDRESSES[0]! }],
      ])
      const radius = random() < 0.4 ? 10 ** (2 + 4 * random()) : undefined
      const few = placed.filter((each) =>
        Object.entries(filter).every(([name, value]) => each[name as keyof Placed] === value),
      )
      const expected = byDistance(at, few, 50).filter(
        ([, meters]) => radius === undefined || Math.round(meters * 100) <= Math.round(radius * 100),
      )
      const query = {
        ...{ near: at.join(), sort: 'distance', limit: '50', ...filter },
        ...(radius !== undefined && { radius: String(radius) }),
      }
      expect([query, listed(await ask(query))]).toEqual([query, expected])
    }
  },
)

test(
  'the nearest search returns each record once by cursor, also at equal distances',
  { tags: ['slow'] },
  async () => {
    const at = [180, 0] as const
    const limit = 300
    const expected = byDistance(at, placed, 4 * limit)
    // More than two pages are 0.00 m away.
    expect(expected[2 * limit]![1]).toBe(0)
    const query = { near: '-180,0', sort: 'distance', limit: String(limit) }
    const found: [string, number][] = []
    let cursor: string | null = ''
    for (let page = 0; page < 4; page++) {
      const answer: Answer = await ask({ ...query, ...(cursor && { cursor }) })
      found.push(...listed(answer))
      cursor = answer.next_cursor
      expect(cursor).not.toBeNull()
    }
    expect(found).toEqual(expected)
    const other = await ask({ ...query, near: '179,0', cursor: cursor! })
    expect(other.detail).toEqual(sentence())
  },
)

test('the nearest search stops at the last page of a radius', async () => {
  const radius = 9_000
  const nearest = byDistance([13.4, 52.5], placed, COUNT / 6)
  const expected = nearest.filter(([, meters]) => meters <= radius)
  expect(expected.length).toBeLessThan(nearest.length)
  const query = { near: '13.4,52.5', radius: String(radius), sort: 'distance', limit: '20' }
  const found: [string, number][] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const answer: Answer = await ask({ ...query, ...(cursor && { cursor }) })
    found.push(...listed(answer))
    cursor = answer.next_cursor
  }
  // More than one page.
  expect(found.length).toBeGreaterThan(20)
  expect(found).toEqual(expected)
})

test('the nearest search pages correctly while records are added and removed', async () => {
  const [late] = await insertRecords(
    database.url,
    [{ geometry: { type: 'Point', coordinates: [95, -20] } }],
    COUNT + 1,
  )
  const query = { near: '95,-20', sort: 'distance', limit: '3' }
  expect(listed(await ask(query))[0]).toEqual([late!.id, 0])
  await rows(database.url, `DELETE FROM location_record WHERE id = '${late!.id}'`)
  expect(listed(await ask(query))).toEqual(byDistance([95, -20], placed, 3))
})

test('the nearest search includes the distance in other formats', async () => {
  const query = { near: '13.4,52.5', sort: 'distance', limit: '2' }
  const expected = byDistance([13.4, 52.5], placed, 2)
  const url = (format: string) =>
    `${api.url}/api/v0/location-records?${new URLSearchParams({ ...query, format }).toString()}`
  const geojson = (await (await fetch(url('geojson'))).json()) as {
    features: { id: string; properties: { distance_meters: number } }[]
  }
  expect(geojson.features.map(({ id, properties }) => [id, properties.distance_meters])).toEqual(expected)
  const lines = (await (await fetch(url('ndjson'))).text()).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { distance_meters: number }).distance_meters)).toEqual(
    expected.map(([, meters]) => meters),
  )
  // A list by distance without a bound has no count.
  expect(await (await fetch(url('html'))).text()).toContain(
    '<p>Records 1 to 2 that match, nearest first.</p>',
  )
  expect(await (await fetch(`${url('html')}&radius=100000`)).text()).toMatch(
    /<p>Records 1 to 2 of [\d,]+ that match, nearest first/,
  )
  const [first] = (await ask({ ...query, include: 'provenance' })).data
  expect(first).toMatchObject({ transaction_hash: expect.any(String), distance_meters: expected[0]![1] })
})

test.each<[Record<string, string>, string]>([
  [{ sort: 'distance' }, 'distance needs near=lng,lat'],
  [{ sort: 'distance', intersects: 'POINT(1 2)' }, 'distance needs near=lng,lat, and no intersects'],
  [{ near: '1,2' }, 'Missing; near needs a radius in metres, or sort=distance'],
  [
    { near: '1,2', sort: '-distance' },
    'Expected one of timestamp, -timestamp, event_timestamp, -event_timestamp, distance (- is descending)',
  ],
  [
    { near: '1,2', sort: 'distance', format: 'geojson' },
    'Missing; format=geojson with sort=distance needs a limit of at most 1000',
  ],
  [
    { near: '1,2', sort: 'distance', format: 'csv', limit: '5000' },
    'The maximum with sort=distance is 1000. Read further pages by cursor.',
  ],
])('the nearest search rejects %o', async (query, detail) => {
  expect((await ask(query)).detail).toBe(detail)
})

describe('a nearest search that one statement cannot answer', () => {
  /** Table reads of a statement: rows, and blocks including those of large values. */
  interface Plan {
    'Relation Name'?: string
    'Actual Rows': number
    'Actual Loops': number
    'Rows Removed by Filter'?: number
    'Shared Hit Blocks': number
    'Shared Read Blocks': number
    Plans?: Plan[]
  }
  const rowsRead = (plan: Plan): number =>
    (plan['Relation Name'] === 'location_record'
      ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
      : 0) + (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0)
  /** Searches the given records for those nearest to 0, 0. */
  async function nearestOf(given: readonly (GivenRecord & { geometry: Geometry })[], limit: number) {
    const ofThem = await createMigratedDatabase()
    const apiOfThem = await startApi({ databaseUrl: ofThem.url })
    try {
      const stored = await insertRecords(ofThem.url, given)
      await rows(ofThem.url, 'ANALYZE location_record')
      const { text, values } = nearQuery([0, 0], limit + 1, {})
      const [explained] = await rows<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        ofThem.url,
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      )
      const plan = explained!['QUERY PLAN'][0].Plan
      const found = listed(await ask({ near: '0,0', sort: 'distance', limit: String(limit) }, apiOfThem))
      const expected = byDistance([0, 0], placedOf(stored), limit)
      return {
        ...{ found, expected, rowsRead: rowsRead(plan) },
        blocksRead: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      }
    } finally {
      await apiOfThem.close()
      await ofThem.drop()
    }
  }
  const triangle = (lng: number, lat: number): Geometry => {
    const at = [lng, lat]
    return { type: 'Polygon', coordinates: [[at, [lng + 0.01, lat], [lng, lat + 0.01], at]] }
  }

  test('does not scan all polygons to find few points', { tags: ['slow'] }, async () => {
    const polygons = Array.from({ length: 1_000 }, (_, i) => triangle((i % 40) - 20, Math.floor(i / 40) - 12))
    const point: Geometry = { type: 'Point', coordinates: [0.02, 0.02] }
    const answer = await nearestOf(
      [...polygons, point].map((geometry) => ({ geometry })),
      5,
    )
    expect(answer.found).toEqual(answer.expected)
    expect(answer.rowsRead).toBeLessThan(100)
  })

  test('does not read the texts of large polygons among few points', { tags: ['slow'] }, async () => {
    const circle = (radius: number): Geometry => {
      const at = (i: number) => [
        radius * Math.cos((i * Math.PI) / 2_000),
        radius * Math.sin((i * Math.PI) / 2_000),
      ]
      return { type: 'Polygon', coordinates: [[...Array.from({ length: 4_000 }, (_, i) => at(i)), at(0)]] }
    }
    const points = [0.01, 0.02, 0.03].map((lng): Geometry => ({ type: 'Point', coordinates: [lng, 0] }))
    const large = Array.from({ length: 20 }, (_, i) => circle(0.001 * (i + 1)))
    const answer = await nearestOf(
      [...points, ...large].map((geometry) => ({ geometry })),
      2,
    )
    expect(answer.found).toEqual(answer.expected)
    // The shapes are read for the order on the plane: 16 bytes a position, not 38.
    expect(answer.blocksRead).toBeLessThan(400)
  })

  test('does not read large media together with the places', async () => {
    const points = [0.01, 0.02, 0.03].map((lng): Geometry => ({ type: 'Point', coordinates: [lng, 0] }))
    const media = Array.from({ length: 1_000_000 }, () => Math.floor(random() * 36).toString(36)).join('')
    const answer = await nearestOf(
      points.map((geometry) => ({ geometry, media })),
      2,
    )
    expect(answer.found).toEqual(answer.expected)
    expect(answer.blocksRead).toBeLessThan(100)
  })

  test.each([
    ['57014', 'its time'],
    ['54000', 'its size'],
  ])('is repeated after the database aborts (%s) a statement for %s', async (code) => {
    const store = new Store(database.url, () => {})
    vi.spyOn(store.servers, 'read').mockRejectedValue(Object.assign(new Error('given up'), { code }))
    expect(await store.recordsNear([0, 0], 1, {})).toBeUndefined()
    await store.close()
  })

  test('throws an UnavailableError if the database is unavailable', async () => {
    const store = new Store('postgres://nobody@127.0.0.1:1/none', () => {})
    await expect(store.recordsNear([0, 0], 1, {})).rejects.toThrow(UnavailableError)
    await store.close()
  })
})

testSentences()
