import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EFFORT, hunt } from '../seed'
import { coarseMinima } from './coarse'
import { edges, type Edge, type Edges } from './edges'
import { fixedPoint } from './fixed'
import { EQUATORIAL_RADIUS, geodesics, type LonLat, type Vector } from './geodesic'
import { pairs } from './pairs'
import { triples } from './triples'

/**
 * Tests of the reference itself: against known digits, identities, published geodesics, the public cases, and
 * its own results with twice the bits.
 */
const globe = geodesics(144)
const finer = geodesics(288)
const { edge, offset, distance, distanceToEdge, crossing } = edges(globe)
const precise = edges(finer, { doubt: Infinity, equal: 1_000 })

describe('the fixed-point numbers of the reference', () => {
  const { one, pi, multiply, divide, sqrt, sinCos, sinCosDegrees, atan2, from, toNumber } = fixedPoint(144)
  const last = (x: bigint) => Math.abs(Number(x))
  const digits = (x: bigint) => ((x * 10n ** 40n) >> 144n).toString()

  test('have known digits', () => {
    // OEIS A000796, A002193, A049469, A049470.
    expect(digits(pi)).toBe('31415926535897932384626433832795028841971')
    expect(digits(sqrt(2n * one))).toBe('14142135623730950488016887242096980785696')
    expect(digits(sinCos(one)[0])).toBe('8414709848078965066525023216302989996225')
    expect(digits(sinCos(one)[1])).toBe('5403023058681397174009366074429766037323')
  })
  test('convert doubles in and out unchanged', () => {
    for (const x of [0, 1, -1, 0.1, -1 / 3, 180, 1e-20, 2 ** -60, 123456.789])
      expect(toNumber(from(x))).toBe(x)
  })
  test('are exact at multiples of 90 degrees, and nearly exact at 30 and 45 degrees', () => {
    expect([0, 90, 180, 270, -90, -180, 360].map(sinCosDegrees)).toEqual([
      [0n, one],
      [one, 0n],
      [0n, -one],
      [-one, 0n],
      [-one, 0n],
      [0n, -one],
      [0n, one],
    ])
    expect(last(sinCosDegrees(30)[0] - one / 2n)).toBeLessThan(100)
    expect(last(sinCosDegrees(45)[0] - sqrt(one / 2n))).toBeLessThan(100)
  })
  hunt('satisfy identities to 400 units of the last bit', 30, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const x = from(random() * 7 - 3.5)
      const [sin, cos] = sinCos(x)
      expect(last(multiply(sin, sin) + multiply(cos, cos) - one)).toBeLessThan(400)
      const [sin3, cos3] = sinCos(3n * x)
      expect(last(sin3 - 3n * sin + 4n * multiply(sin, multiply(sin, sin)))).toBeLessThan(400)
      expect(last(cos3 + 3n * cos - 4n * multiply(cos, multiply(cos, cos)))).toBeLessThan(400)
      const wrapped = atan2(sin, cos)
      const turns = (x - wrapped + pi) / (2n * pi) - (x - wrapped + pi < 0n ? 1n : 0n)
      expect(last(x - wrapped - turns * 2n * pi)).toBeLessThan(400)
      const root = sqrt(from(random() * 10))
      expect(last(divide(multiply(root, root), root) - root)).toBeLessThan(400)
    }
  })
})

describe('the geodesics of the reference', () => {
  const metresBetween = (a: LonLat, b: LonLat) =>
    globe.metres(globe.inverse(globe.place(a), globe.place(b)).length)
  test('have published distances', () => {
    // GeographicLib's documentation: Wellington to Salamanca, JFK to Singapore Changi.
    expect(metresBetween([174.81, -41.32], [-5.5, 40.96]).toFixed(3)).toBe('19959679.267')
    expect(
      metresBetween(
        [-(73 + 46 / 60 + 44 / 3600), 40 + 38 / 60 + 23 / 3600],
        [103 + 59 / 60 + 22 / 3600, 1 + 21 / 60 + 33 / 3600],
      ).toFixed(0),
    ).toBe('15347628')
    // The quarter meridian: 10001965.729312722 m by the elliptic integral.
    expect(metresBetween([0, 0], [77, 90])).toBeCloseTo(10_001_965.729312722, 8)
    expect(metresBetween([10, -90], [77, 90])).toBeCloseTo(2 * 10_001_965.729312722, 8)
    expect(metresBetween([0, 0], [90, 0])).toBeCloseTo((EQUATORIAL_RADIUS * Math.PI) / 2, 8)
  })
  hunt(
    'invert a direct solution to 1e-24 of the length, and equally with twice the bits',
    20,
    ({ random, cases }) => {
      for (let i = 0; i < cases; i++) {
        const from: LonLat = [random() * 360 - 180, i % 10 === 0 ? 90 : random() * 180 - 90]
        const metres = 1e-4 * Math.pow(1.9e11, random())
        const start = globe.place(from)
        const heading = globe.direction(from, random() * 360)
        const length = globe.length(metres)
        const there = globe.line(start, heading).at(length)
        const back = globe.inverse(start, there.place)
        expect(globe.metres(back.length - length)).toBeLessThan(1e-24 * metres + 1e-30)
        const wide = (vector: Vector) => vector.map((x) => x << 144n) as unknown as Vector
        const same = finer.line(wide(start), wide(heading)).at(length << 144n)
        for (const axis of [0, 1, 2] as const) {
          expect(Math.abs(finer.metres(same.place[axis] - (there.place[axis] << 144n)))).toBeLessThan(1e-32)
          expect(Math.abs(finer.metres(same.direction[axis] - (there.direction[axis] << 144n)))).toBeLessThan(
            1e-32,
          )
        }
      }
    },
  )
  hunt('have opposite directions from a to b and from b to a', 10, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const [a, b] = [0, 1].map(() => globe.place([random() * 360 - 180, Math.pow(random(), 0.2) * 180 - 90]))
      const there = globe.inverse(a!, b!)
      const back = globe.inverse(b!, a!)
      expect(Math.abs(globe.metres(there.length - back.length))).toBeLessThan(1e-28)
      for (const axis of [0, 1, 2] as const)
        expect(Math.abs(globe.metres(there.end[axis] + back.start[axis]))).toBeLessThan(1e-16)
    }
  })
})

interface Case {
  id: string
  op: string
  family: string
  inputs: Record<string, { type: string; coordinates: unknown }>
  expected: number | boolean
  true_distance?: number
}
const CASES = ['geodesy-cases', 'geodesy-cases-2'].flatMap(
  (file) => JSON.parse(readFileSync(`test/vectors/${file}.json`, 'utf8')) as Case[],
)

describe('the public cases of points and lines', () => {
  const read = ({
    type,
    coordinates,
  }: {
    type: string
    coordinates: unknown
  }): { places: Vector[]; lines: Edge[] } | undefined => {
    if (type === 'Point') return { places: [globe.place(coordinates as LonLat)], lines: [] }
    if (type !== 'LineString') return undefined
    const line = coordinates as LonLat[]
    return { places: [], lines: line.slice(1).map((to, i) => edge(line[i]!, to)) }
  }
  const apart = (a: NonNullable<ReturnType<typeof read>>, b: NonNullable<ReturnType<typeof read>>) =>
    Math.min(
      ...a.places.flatMap((place) =>
        b.places.map((other) => globe.metres(globe.inverse(place, other).length)),
      ),
      ...a.places.flatMap((place) => b.lines.map((line) => distanceToEdge(line, place))),
      ...a.lines.flatMap((line) => b.places.map((place) => distanceToEdge(line, place))),
      ...a.lines.flatMap((line) => b.lines.map((other) => distance(line, other))),
    )
  const asked = CASES.filter(
    ({ op, inputs }) =>
      ['distance', 'intersects', 'within'].includes(op) &&
      Object.values(inputs).every(({ type }) => type === 'Point' || type === 'LineString'),
  )
  test('are more than the required minimum', () => expect(asked.length).toBeGreaterThan(300))
  test.each(asked.filter((_, i) => EFFORT >= 1 || i % 5 === 0))(
    'agree on $id',
    ({ op, inputs, expected, true_distance }) => {
      const [first, second] = Object.values(inputs).map((geometry) => read(geometry)!)
      const metres = apart(first!, second!)
      if (op === 'intersects') expect(metres < 0.005).toBe(expected)
      // The expected values of the cases are accurate to 1e-7 m.
      else
        expect(Math.abs(metres - (op === 'within' ? true_distance! : (expected as number)))).toBeLessThan(
          2e-7,
        )
    },
  )
})

describe('the reference agrees with twice the bits or brute force on', () => {
  hunt('offsets of triples', 10, ({ seed, cases }) => {
    for (const { a, b, p, offset: metres } of triples(seed, cases)) {
      const { metres: same } = precise.offset(precise.edge(a, b), finer.place(p))
      expect(Math.abs(metres - same)).toBeLessThanOrEqual(1e-20 + 1e-15 * Math.abs(same))
    }
  })
  const apart = (
    { first, second }: { first: readonly [LonLat, LonLat]; second: readonly LonLat[] },
    by: Edges,
    places: typeof globe,
  ) => {
    const line = by.edge(...first)
    return second.length === 1
      ? by.distanceToEdge(line, places.place(second[0]!))
      : by.distance(line, by.edge(second[0]!, second[1]!))
  }
  hunt(
    'distances of pairs, with twice the bits and no filters in double precision',
    15,
    ({ seed, cases }) => {
      for (const pair of pairs(seed, cases)) {
        const [metres, same] = [
          apart(pair, { edge, distance, distanceToEdge } as Edges, globe),
          apart(pair, precise, finer),
        ]
        expect(Math.abs(metres - same), JSON.stringify(pair)).toBeLessThanOrEqual(1e-20 + 1e-15 * same)
      }
    },
  )
  hunt(
    'distances of pairs by brute force: no sampled position is nearer, and one is as near',
    15,
    ({ seed, cases }) => {
      for (const { family, first, second } of pairs(seed, cases)) {
        if (second.length === 1) continue
        const [one, two] = [edge(...first), edge(second[0]!, second[1]!)]
        const from = (along: number) =>
          Math.min(
            ...coarseMinima(one.coarse, one.metres, two.coarse.at(along)).map((minimum) => minimum.distance),
          )
        const count = 60
        const samples = Array.from({ length: count + 1 }, (_, i) => from((two.metres * i) / count))
        const best = samples.indexOf(Math.min(...samples))
        let [low, high] = [Math.max(0, best - 1), Math.min(count, best + 1)].map(
          (i) => (two.metres * i) / count,
        ) as [number, number]
        while (high - low > 1e-9 * two.metres) {
          const [left, right] = [low + (high - low) / 3, high - (high - low) / 3]
          if (from(left) < from(right)) high = right
          else low = left
        }
        const brute = Math.min(from(low), from(high), ...samples)
        const metres = distance(one, two)
        const text = `${family} ${JSON.stringify([first, second])} ${brute} ${metres}`
        expect(metres, text).toBeLessThan(brute + 1e-7)
        // The search ends within a billionth of the edge of the nearest position, and has its own errors.
        expect(brute - metres, text).toBeLessThan(1e-6 + 2e-9 * two.metres)
      }
    },
  )
  test('edges that cross 20,000 km from the start of one, near the line behind that start', () => {
    expect(
      distance(
        edge([48.86283034, 71.63993798], [-154.88912199, -75.73906407]),
        edge([-155.59646078, -75.80113459], [-68.4636994, 50.54943917]),
      ),
    ).toBe(0)
  })
  hunt('edges through a common position, whose crossing lies on both lines', 2, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const middle: LonLat = [random() * 360 - 180, random() * 170 - 85]
      const through = (azimuth: number, metres: number): [LonLat, LonLat] => {
        const line = globe.line(globe.place(middle), globe.direction(middle, azimuth))
        return [
          globe.position(line.at(globe.length(-metres)).place),
          globe.position(line.at(globe.length(metres)).place),
        ]
      }
      const azimuth = random() * 360
      const [first, second] = [
        edge(...through(azimuth, 1e6 * random() + 1e3)),
        edge(...through(azimuth + Math.pow(10, -3 * random()), 1e6 * random() + 1e3)),
      ]
      const found = crossing(first, second)!
      for (const line of [first, second])
        expect(Math.abs(offset(line, found.place).metres)).toBeLessThan(1e-20)
      expect(
        globe.metres(globe.inverse(first.line.at(globe.length(found.first)).place, found.place).length),
      ).toBeLessThan(1e-9)
      expect(globe.metres(globe.inverse(globe.place(middle), found.place).length)).toBeLessThan(1)
    }
  })
})
