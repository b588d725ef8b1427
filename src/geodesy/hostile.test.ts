import type { Geometry, Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { EFFORT } from '../../test/seed'
import { box, closed, points, polygon } from '../../test/shapes'
import {
  EffortError,
  GeometryError,
  areaSquareMeters,
  checkBoundsEvery,
  contains,
  distanceMeters,
  intersects,
  isWithin,
  lengthMeters,
  prepareGeometry,
  readGeometry,
  withEffort,
  type PreparedGeometry,
} from '.'
import { positions } from '../../test/positions'

/**
 * Tests families of shapes of any size that are designed to be expensive. Their cost is counted (effort.ts)
 * and not timed. A geometry is accepted or rejected within the limit for preparing, and a measurement returns
 * or is rejected within its limit.
 */

const range = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, i) => make(i))
const position = (lon: number, lat: number): Position => {
  const wrapped = ((((lon + 180) % 360) + 360) % 360) - 180
  return [Math.round(wrapped * 1e6) / 1e6, Math.round(Math.max(-90, Math.min(90, lat)) * 1e6) / 1e6]
}
const triangle = (lon: number, lat: number, size: number) =>
  closed([position(lon, lat), position(lon + size, lat), position(lon, lat + size)])
const around = (turn: number, radius: number, [lon, lat]: [number, number] = [0, 0]) =>
  position(lon + radius * Math.cos(2 * Math.PI * turn), lat + radius * Math.sin(2 * Math.PI * turn))
const polygons = (rings: Position[][]): Geometry => ({
  type: 'MultiPolygon',
  coordinates: rings.map((ring) => [ring]),
})
const lines = (coordinates: Position[][]): Geometry => ({ type: 'MultiLineString', coordinates })
const line = (coordinates: Position[]): Geometry => ({ type: 'LineString', coordinates })

function shuffled<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[list[i], list[j]] = [list[j]!, list[i]!]
  }
  return list
}

/** Teeth between two parallels, side by side from west to east. */
const comb = (n: number, [west, east]: [number, number], [south, north]: [number, number]) => {
  const slit = (north - south) / 1000
  const heights = [south, north, north - slit, south + slit]
  const teeth = range(n - 2, (i) => position(west + ((east - west) * i) / n, heights[i % 4]!))
  return closed([...teeth, position(east, south - 1), position(west, south - 1)])
}
/** Line back and forth between two meridians, each time a little farther north. */
const rows = (n: number, [west, east]: [number, number], [south, north]: [number, number]) => {
  const ends = range(n - 2, (i) => position(i % 2 ? east : west, south + ((north - south) * i) / n))
  return closed([...ends, position(east + 1, north), position(east + 1, south)])
}
/** Loops from one position and back to it. */
const lobes = (n: number, radius: number) =>
  closed(
    range(n / 3, (i) => [
      position(0, 0),
      around((3 * i) / n, radius),
      around((3 * i + 1) / n, radius),
    ]).flat(),
  )
const spiral = (n: number, at: (turn: number, radius: number) => Position) => {
  const half = Math.floor(n / 2)
  const out = range(half, (i) => at(i / 4, 0.1 + (0.9 * i) / half))
  const back = range(half, (i) => at((half - 1 - i) / 4, 0.1 + (0.9 * (half - 2.9 - i)) / half))
  return closed([...out, ...back])
}
/** Star polygon {n/k}. */
const star = (n: number, k: number) => closed(range(n, (i) => around((i * k) / n, 20)))
const walk = (n: number, random: () => number, step: number) => {
  let [lon, lat] = [0, 0]
  return closed(range(n, () => position((lon += (random() - 0.5) * step), (lat += (random() - 0.5) * step))))
}
const grid = (n: number, make: (x: number, y: number) => Position[]) => {
  const side = Math.floor(Math.sqrt(n / 4))
  return range(side * side, (i) => make((i % side) / 1000, Math.floor(i / side) / 1000))
}
const circle = (n: number, radius: number) => range(n, (i) => around(i / n, radius))
const anywhere = (random: () => number) => position(random() * 360 - 180, random() * 160 - 80)

const fan = (count: number, hub: [number, number], turn: number) =>
  range(count, (i) => closed([hub, around(turn + i / count, 1, hub), around(turn + (i + 1) / count, 1, hub)]))

type Family = (n: number, random: () => number) => Geometry

/** Valid shapes, which must be accepted at 16,000 positions. */
const VALID: Record<string, Family> = {
  'a comb of a degree': (n) => polygon(comb(n, [0, 1], [0, 1])),
  'a comb of 15,000 km': (n) => polygon(comb(n, [-60, 60], [-70, 70])),
  'a comb around the globe': (n) => polygon(comb(n, [-175, 175], [-70, 70])),
  'a star around the globe': (n) =>
    polygon(closed(range(n & ~1, (i) => position((360 * i) / n, i % 2 ? 80 : -60)))),
  'a star around the pole': (n) =>
    polygon(closed(range(n & ~1, (i) => position((360 * i) / n, i % 2 ? 89.9 : 72)))),
  'a thin star': (n) => polygon(closed(range(n & ~1, (i) => around(i / n, i % 2 ? 1 : 0.1, [10, 50])))),
  'a zigzag over the antimeridian': (n) =>
    polygon(
      closed([
        ...range(n - 2, (i) => position(i % 2 ? -179 : 179, -40 + (80 * i) / n)),
        [-178, 41],
        [-178, -41],
      ]),
    ),
  'a spiral': (n) =>
    polygon(
      spiral(n, (turn, radius) => [
        radius * Math.cos(2 * Math.PI * turn + 0.2),
        radius * Math.sin(2 * Math.PI * turn + 0.2),
      ]),
    ),
  'a spiral of 6,000 km': (n) => polygon(spiral(n, (turn, radius) => around(turn, 60 * radius))),
  'lobes of 5,000 km at one position': (n) => polygon(lobes(n, 50)),
  'holes at one vertex': (n) =>
    polygon(
      box(-2, -2, 2, 2),
      ...range(n / 3 - 2, (i) =>
        closed([position(0, 0), around((3 * i) / n, 1), around((3 * i + 1) / n, 1)]),
      ),
    ),
  'holes in a tower': (n, random) =>
    polygon(
      box(-1, -80, 1, 80),
      ...shuffled(
        range(n / 3 - 2, (i) => triangle(0, -75 + (450 * i) / n, 5e-4)),
        random,
      ),
    ),
  'holes as tall as the globe': (n, random) =>
    polygon(
      box(-11, -80, 11, 80),
      ...shuffled(
        range(n / 4 - 1, (i) => box(-10 + (80 * i) / n, -70, -10 + (80 * i + 40) / n, 70)),
        random,
      ),
    ),
  'a city of holes, in any order': (n, random) =>
    polygon(
      box(-1, -1, 1, 1),
      ...shuffled(
        grid(n, (x, y) => box(x, y, x + 8e-4, y + 8e-4)),
        random,
      ),
    ),
  'a chessboard of holes': (n) =>
    polygon(
      box(-1, -1, 1, 1),
      ...grid(n, (x, y) =>
        ((west) => box(west, y, west + 1e-3, y + 1e-3).map(([lon, lat]) => position(lon!, lat!)))(
          2 * x + (Math.round(y * 1000) % 2) / 1000,
        ),
      ),
    ),
  'holes that touch in a chain': (n) =>
    polygon(
      box(-2, -1, 2, 1),
      ...range(n / 3 - 2, (i) =>
        closed([
          [-1.5 + (9 * i) / n, 0],
          [-1.5 + (9 * (i + 1)) / n, 0],
          [-1.5 + (9 * (i + 0.5)) / n, 1e-3],
        ]),
      ),
    ),
  'triangles anywhere': (n, random) =>
    polygons(range(n / 3, () => triangle(random() * 200 - 100, random() * 100 - 60, 20))),
  'triangles in one position': (n) => polygons(range(n / 3, () => triangle(1, 1, 2))),
  'a tiling': (n) => polygons(grid(n, (x, y) => box(x, y, x + 1e-3, y + 1e-3))),
  'duplicates of a ring': (n) => polygons(range(n / 100, () => closed(circle(100, 1)))),
  'lines that all cross': (n, random) =>
    lines(range(n / 2, () => [position(random(), 0), position(random(), 1)])),
  'lines anywhere': (n, random) => lines(range(n / 2, () => [anywhere(random), anywhere(random)])),
  'lines side by side': (n) => lines(range(n / 2, (i) => [position(0, i / n), position(17, i / n)])),
  'a line there and back': (n) => line(range(n, (i) => [i % 2 ? 1e-3 : 0, 0])),
  'a line across the globe': (n) => line(range(n, (i) => position(i % 2 ? 85 : -85, -30 + (60 * i) / n))),
  'a line over the pole': (n) => line(range(n, (i) => position(i % 2 ? 180 : 0, 89.9999))),
  'a parallel': (n) => line(range(n, (i) => position((359.9 * i) / n - 180, 80))),
  'points in one position': (n) => points(range(n, () => [1, 1])),
  'points near each other': (n, random) => points(range(n, () => [1 + random() * 1e-7, 1 + random() * 1e-7])),
  'points on a parallel': (n) => points(range(n, (i) => position((360 * i) / n - 180, 80))),
  'points anywhere': (n, random) => points(range(n, () => anywhere(random))),
  'loops through the pole': (n) =>
    polygon(
      closed(
        range(n / 4, (i) => [[0, 90], position((720 * i) / n, 80), position((720 * i + 360) / n, 80)]).flat(),
      ),
    ),
  spikes: (n) =>
    polygon(
      closed(
        range(n / 3, (i) => [around((3 * i) / n, 1), around((3 * i) / n, 3), around((3 * i) / n, 1)]).flat(),
      ),
    ),
  'a coast': (n) =>
    polygon(
      closed(
        range(n, (i) =>
          around(
            i / n,
            1 + 0.1 * Math.sin((14 * Math.PI * i) / n) + 0.03 * Math.sin((100 * Math.PI * i) / n),
          ),
        ),
      ),
    ),
  'a fan': (n) => polygons(fan(n / 3, [0, 0], 0)),
  'sectors around a pole': (n) =>
    polygons(
      range(n / 3, (i) => {
        const [west, east] = [i, i + 1].map((k) => position((1080 * k) / n - 180, 80))
        return closed([[0, 90], west!, east!])
      }),
    ),
  'strips side by side': (n) => polygons(range(n / 4, (i) => box(0, (4 * i) / n, 1, (4 * (i + 1)) / n))),
  'discs in discs': (n) => polygons(range(n / 40, (i) => closed(circle(40, (40 * (i + 1)) / n)))),
  'keyholes side by side': (n) => {
    const width = 6 / n
    const hole = (i: number): Position[] => {
      const x = (i + 0.5) * width
      return [
        [x, 0],
        [x, 0.3],
        [x - 0.3 * width, 0.4],
        [x + 0.3 * width, 0.4],
        [x, 0.3],
        [x, 0],
      ]
    }
    return polygon(closed([[0, 0], ...range(n / 6 - 1, hole).flat(), [1, 0], [1, 1], [0, 1]]))
  },
  'keyholes from one position': (n) => {
    const gap = 0.4 / n
    const hole = (i: number): Position[] => {
      const turn = 0.01 + ((i + 1) * 2.4) / n
      return [[0, 0], around(turn, 0.3), around(turn - gap, 0.5), around(turn + gap, 0.5), around(turn, 0.3)]
    }
    return polygon(closed([...range(n / 5 - 2, hole).flat(), [0, 0], [-1, -0.5], [-1, 1], [1, 1], [1, -0.5]]))
  },
  'holes in a chain along a meridian': (n) =>
    polygon(
      box(-1, -1, 1, 1),
      ...range(n / 3 - 2, (i) =>
        ((at: (k: number) => number) =>
          closed([
            [0, at(i)],
            [0.1, at(i + 0.5)],
            [0, at(i + 1)],
          ]))((k) => (5.4 * k) / n - 0.9),
      ),
    ),
  'holes that touch the shell': (n) =>
    polygon(
      box(0, 0, 1, 1),
      ...range(n / 3 - 2, (i) =>
        closed([
          [(3 * i) / n, 0],
          [(3 * i + 2.4) / n, 0.01],
          [(3 * i + 0.6) / n, 0.01],
        ]),
      ),
    ),
  islands: (n, random) =>
    polygons(
      shuffled(
        range(n / 20, (k) =>
          closed(
            range(20, (i) =>
              around(i / 20, 0.02 + 0.01 * random(), [5 + (k % 70) / 10, Math.floor(k / 70) / 10]),
            ),
          ),
        ),
        random,
      ),
    ),
}

/** Shapes that must be rejected, with the beginning of the reason. */
const INVALID: Record<string, [Family, RegExp]> = {
  'rows through each other': [
    (n, random) => polygon(closed(range(n, () => position(random() < 0.5 ? -60 : 60, random())))),
    /crosses/,
  ],
  'crossing holes': [
    (n, random) =>
      polygon(
        box(-11, -11, 11, 11),
        ...range(n / 3 - 2, () => triangle(random() * 20 - 10, random() * 20 - 10, 0.5)),
      ),
    /crosses/,
  ],
  'crossing holes in a row': [
    (n) => polygon(box(-11, -11, 11, 11), ...range(n / 3 - 2, (i) => triangle(-10 + (60 * i) / n, 0, 9))),
    /crosses/,
  ],
  'nested holes': [
    (n) => polygon(...range(n / 4, (i) => ((half) => box(-half, -half, half, half))(60.001 - (240 * i) / n))),
    /\[2\]: this hole is not inside|too many edges/,
  ],
  'turns at the pole': [
    (n) => polygon(closed(range(n, (i) => position(i * 137.508, i % 2 ? 90 : 80)))),
    /runs along itself/,
  ],
  'the same hole again and again': [
    (n) => polygon(box(-11, -11, 11, 11), ...range(n / 4 - 1, () => box(1, 1, 2, 2))),
    /\[1\]: this hole is not inside/,
  ],
  'a zigzag through another one': [
    (n) =>
      polygon(
        closed([
          ...range(n / 2, (i) => position(i % 2 ? -179 : 179, -40 + (160 * i) / n)),
          ...range(n / 2, (i) => position(i % 2 ? 179 : -179, 40 - (160 * i) / n)),
        ]),
      ),
    /crosses/,
  ],
  'the star {n/2}': [(n) => polygon(star(n | 1, 2)), /crosses/],
  'the star {n/(n/2)}': [(n) => polygon(star(n | 1, n >> 1)), /crosses/],
  'a random walk': [(n, random) => polygon(walk(n, random, 1e-3)), /crosses/],
  'a random ring': [(n, random) => polygon(closed(range(n, () => anywhere(random)))), /crosses/],
  'a ring twice': [(n) => polygon(closed([...circle(n / 2, 1), ...circle(n / 2, 1)])), /runs along itself/],
  'a ring there and back': [
    (n) => polygon(closed([...circle(n / 2, 1), ...circle(n / 2, 1).reverse()])),
    /runs along itself/,
  ],
}

const INTRICATE = /too many edges touch, overlap or run side by side over thousands of kilometres/
/** Shapes, valid or not, that take too long to check. */
const TOO_MUCH: Record<string, Family> = {
  'rows of 13,000 km, metres apart': (n) => polygon(rows(n, [-60, 60], [0, 1])),
  'rows over a hemisphere': (n) => polygon(rows(n, [-80, 80], [-30, 30])),
  'edges on the equator': (n) =>
    polygon(closed([...range(n - 2, (i) => position((i % 2) * 50 + i / n / 10, 0)), [50, 10], [0, 10]])),
  'edges on a meridian': (n) =>
    polygon(closed([...range(n - 2, (i) => position(0, (i % 2) * 50 + i / n / 10)), [10, 50], [10, 0]])),
}

const SEED = 20_261_122
/** Small efforts use smaller shapes. */
const QUICK = EFFORT < 1
const SIZES = QUICK ? [120] : [300, 16_000]
const read = (family: Family, n: number) => readGeometry(family(n, seededRandom(SEED)), 'g')
/** A tenth above the limit for preparing, so that the kernel's own limit is reached first. */
const prepare = (family: Family, n: number) => {
  // Checks of every bound take a quarter of the time. Small shapes need the same bounds.
  checkBoundsEvery(n > 1_000 ? 16 : 1)
  try {
    return withEffort(1_100_000, () => prepareGeometry(read(family, n)))
  } finally {
    checkBoundsEvery(1)
  }
}
const refusalOf = (family: Family, n: number): string | undefined => {
  try {
    prepare(family, n)
    return undefined
  } catch (error) {
    if (error instanceof GeometryError) return error.message
    throw error
  }
}

describe('the preparation of an expensive geometry, within a second of counted work,', () => {
  test.each(Object.entries(VALID))('accepts %s', (_, family) => {
    for (const n of SIZES) expect(prepare(family, n).shape.from.length).toBeGreaterThan(0)
  })
  // One shape in four is large, because large ones take seconds.
  test.each(Object.entries(INVALID).map(([name, row], i) => [name, row, i % 4 ? 1_000 : 16_000] as const))(
    'rejects %s',
    (_, [family, reason], large) => {
      for (const n of QUICK ? [300] : [300, large]) expect(refusalOf(family, n)).toMatch(reason)
    },
  )
  test.skipIf(QUICK).each(Object.entries(TOO_MUCH))(
    'rejects %s, because it needs too much work',
    (_, family) => {
      const refusal = refusalOf(family, 16_000)
      expect(refusal).toMatch(INTRICATE)
      expect(refusal).toMatch(/^g(\.coordinates\[0\])?: .*; use fewer positions/)
    },
  )
  test.skipIf(QUICK)('accepts or rejects 99,000 positions, nearly the maximum', () => {
    const {
      'a comb around the globe': longTeeth,
      'a city of holes, in any order': city,
      'a chessboard of holes': board,
      'a coast': coast,
      islands,
      'a tiling': tiling,
    } = VALID
    for (const family of [city!, board!, coast!, islands!, tiling!])
      expect(prepare(family, 99_000).shape.from.length).toBeGreaterThan(90_000)
    expect(refusalOf(longTeeth!, 99_000)).toMatch(INTRICATE)
  })
})

describe('the sweep', () => {
  const WIDE = VALID['a comb around the globe']!
  const ringOf = (geometry: Geometry) => (geometry as { coordinates: Position[][] }).coordinates[0]!
  test('finds the one crossing among long edges around the globe', { tags: ['slow'] }, () => {
    const crossed = ringOf(WIDE(500, seededRandom(SEED))).slice()
    ;[crossed[250], crossed[252]] = [crossed[252]!, crossed[250]!]
    expect(() => prepare(() => polygon(crossed), 0)).toThrow(
      /^g\.coordinates\[0\]\[(249|25\d)\]: .* a ring must not cross itself/,
    )
  })
  test('finds a crossing on the antimeridian, for edges in either direction', () => {
    const teeth = ringOf(VALID['a zigzag over the antimeridian']!(4_000, seededRandom(SEED)))
    const crossed = teeth.slice()
    ;[crossed[2_001], crossed[2_003]] = [crossed[2_003]!, crossed[2_001]!]
    for (const ring of [crossed, crossed.slice().reverse()])
      expect(() => prepare(() => polygon(ring), 0)).toThrow(/crosses/)
  })
  test('finds the hole outside its shell among many holes', { tags: ['slow'] }, () => {
    const count = QUICK ? 40 : 80
    const west = (i: number) => -10 + (i * 16) / count
    const holes = range(count, (i) => box(west(i), -70, west(i + 0.5), 70))
    const inner = (i: number) => [...holes, box(west(i + 0.1), -1, west(i + 0.2), 1)]
    const notInside = (hole: number) => new RegExp(`^g\\.coordinates\\[${hole}\\]: this hole is not inside`)
    const outside = [...holes, box(8, -1, 9, 1)]
    expect(prepare(() => polygon(box(-11, -80, 7, 80), ...holes), 0).seams).toBeUndefined()
    expect(() => prepare(() => polygon(box(-11, -80, 7, 80), ...inner(34)), 0)).toThrow(notInside(count + 1))
    expect(() => prepare(() => polygon(box(-11, -80, 7, 80), ...outside), 0)).toThrow(notInside(count + 1))
    // Holes across the antimeridian, and around a pole.
    const shifted = (rings: Position[][]) =>
      rings.map((ring) => ring.map(([lon, lat]) => position(lon! + 180, lat!)))
    expect(prepare(() => polygon(...shifted([box(-11, -80, 7, 80), ...holes])), 0).seams).toBeUndefined()
    expect(() => prepare(() => polygon(...shifted([box(-11, -80, 7, 80), ...inner(count - 2)])), 0)).toThrow(
      notInside(count + 1),
    )
    const cap = closed(range(36, (i) => position(10 * i, 0.5)))
    const polar = range(150, (i) => triangle(-179 + 2.36 * i, 2 + (i % 80), 0.05))
    expect(prepare(() => polygon(cap, ...polar), 0).seams).toBeUndefined()
    expect(() => prepare(() => polygon(cap, ...polar, triangle(5, -1, 0.5)), 0)).toThrow(notInside(151))
  })
})

test.each([
  [900, 1_000],
  [4_999, 20_000],
])('the tests of %d polygons and %d points elsewhere are counted and limited', (count, cloud) => {
  const islands = range(count, (i) =>
    triangle(-170 + 0.15 * (i % 100), -60 + 0.15 * Math.floor(i / 100), 0.1),
  )
  const [a, b] = [
    polygons(islands),
    points(range(cloud, (i) => position(20 + (i % 100) / 10, i / 1_000))),
  ].map((each) => prepareGeometry(readGeometry(each, 'g')))
  expect(() => withEffort(10_000, () => intersects(a!, b!))).toThrow(EffortError)
  expect(withEffort(300_000, () => intersects(a!, b!))).toBe(false)
})

describe.skipIf(QUICK)('the kernel, for expensive geometries within four seconds of counted work,', () => {
  const OPERATIONS: Record<string, (a: PreparedGeometry, b: PreparedGeometry) => unknown> = {
    distance: distanceMeters,
    within: (a, b) => isWithin(a, b, 1_000),
    intersects,
    contains,
    area: areaSquareMeters,
    length: lengthMeters,
  }
  const collection: Family = (n, random) => ({
    type: 'GeometryCollection',
    geometries: Object.values(VALID).map((family) => family(n, random)),
  })
  const families = [...Object.values(VALID), collection]
  const measure = (operation: string, a: PreparedGeometry, b: PreparedGeometry) => {
    try {
      return withEffort(4_400_000, () => OPERATIONS[operation]!(a, b))
    } catch (error) {
      if (!(error instanceof GeometryError)) throw error
      return error.message
    }
  }
  test.each(range(families.length, (i) => i))(
    'measures family %i with itself and with another family, or rejects the work',
    (i) => {
      const [a, ...others] = [0, 0, 7].map((step) =>
        prepareGeometry(read(families[(i + step) % families.length]!, 30)),
      )
      for (const [k, b] of others.entries())
        for (const operation of Object.keys(OPERATIONS)) {
          const answer = measure(operation, a!, b)
          if (operation === 'intersects' && k === 0) expect(answer).toBe(true)
          if (typeof answer === 'string')
            expect(answer).toMatch(/^g(\.[^:]*)?: .*(too long|overlap here|requires)/)
        }
    },
  )
  const tiles = (n: number, shift = 0) => {
    const side = Math.floor(Math.sqrt(n / 4))
    const at = (k: number) => k / side + shift
    return range(side * side, (i) => [i % side, Math.floor(i / side)] as const).map(([x, y]) =>
      box(at(x), at(y), at(x + 1), at(y + 1)),
    )
  }
  /** Expensive pairs: `meet` is true if they intersect, `holds` if the first contains the second. */
  const PAIRS: Record<string, [(n: number) => [Geometry, Geometry], meet: boolean, holds: boolean]> = {
    'two fans around one hub': [
      (n) => [polygons(fan(n / 6, [0, 0], 0)), polygons(fan(n / 6, [0, 0], 0.02))],
      true,
      false,
    ],
    'two fans next to each other': [
      (n) => [polygons(fan(n / 6, [0, 0], 0)), polygons(fan(n / 6, [1e-3, 0], 0.02))],
      true,
      false,
    ],
    'a disc in a ring': [
      (n) => [polygon(closed(circle(n / 3, 1))), polygon(closed(circle(n / 3, 3)), closed(circle(n / 3, 2)))],
      false,
      false,
    ],
    'a tiling and itself': [(n) => [polygons(tiles(n / 2)), polygons(tiles(n / 2))], true, true],
    'a tiling and a shifted one': [
      (n) => [polygons(tiles(n / 2)), polygons(tiles(n / 2, 0.003))],
      true,
      false,
    ],
    'a tiling and points in it': [
      (n) => [polygons(tiles(n / 2)), points(range(n / 2, (i) => [(i * 0.618) % 1, (2 * i) / n]))],
      true,
      true,
    ],
    'strips, and a line across them': [
      (n) => [VALID['strips side by side']!(n, seededRandom(SEED)), line(positions('0.5 0.001, 0.5 0.99'))],
      true,
      true,
    ],
    'strips across strips': [
      (n) => [
        polygons(range(n / 8, (i) => box(0, (8 * i) / n, 1, (8 * i + 4) / n))),
        polygons(range(n / 8, (i) => box((8 * i) / n, 0, (8 * i + 4) / n, 1))),
      ],
      true,
      false,
    ],
  }
  test.each(Object.entries(PAIRS))(
    'measures %s, of 10,000 vertices, within a second',
    (name, [make, meet, holds]) => {
      const [a, b] = make(10_000).map((one) => prepareGeometry(readGeometry(one, 'g')))
      expect(withEffort(1_000_000, () => intersects(a!, b!))).toBe(meet)
      expect(withEffort(1_000_000, () => distanceMeters(a!, b!)) === 0).toBe(meet)
      const answer = () => withEffort(1_000_000, () => contains(a!, b!))
      // The pairs of near edges (each edge of one geometry with each of the other) exceed the memory limit.
      if (name === 'strips across strips') expect(answer).toThrow(/too many to decide|takes too long/)
      else expect(answer()).toBe(holds)
    },
  )
  test('measures small shapes a quarter of the globe apart', () => {
    const [at, of] = [
      prepareGeometry(readGeometry(polygon(closed(range(50, (i) => position(7.2 * i, 89.9999)))), 'at')),
      prepareGeometry(readGeometry(polygon(closed(circle(50, 1e-4))), 'of')),
    ]
    // Quarter meridian minus the radius of each shape.
    expect(withEffort(50_000, () => distanceMeters(at, of))).toBeCloseTo(10_001_965.729 - 11.169 - 11.057, 2)
  })
  test.each([
    [75, 0.2, 20],
    [75, 20, 0.2],
    [91, 5, 0.2],
    [110, 0.5, 9],
    [120, 14, 9],
    [150, 20, 0.2],
  ])(
    'measures circles of 10,000 vertices, %d degrees apart, with radii of %d and %d degrees',
    (lon, a, b) => {
      const [one, other] = [circle(10_000, a), range(10_000, (i) => around(i / 10_000, b, [lon, 0]))].map(
        (ring) => prepareGeometry(readGeometry(polygon(closed(ring)), 'g')),
      )
      // The shapes are nearest to each other near the equator. Rounding to 1e-6 degrees makes the ends of
      // small circles straight. More than 90 degrees apart, the nearest points of straight ends are a few
      // metres off the equator.
      const equator = ((lon - a - b) * Math.PI * 6_378_137) / 180
      const shorter = equator - distanceMeters(one!, other!)
      expect(shorter).toBeGreaterThan(-1e-6)
      expect(shorter).toBeLessThan(lon < 90 ? 1e-6 : 1e-3)
    },
  )
  test('names the first polygons that overlap if the check of a cadastre exceeds its work', () => {
    const round = (degrees: number) => Math.round(degrees * 1e8) / 1e8
    // 25,600 vertices on a slope, so that the corners are a micrometre off the walls of the next row.
    const parcels = range(6_400, (i) => {
      const [row, column] = [Math.floor(i / 80), i % 80]
      const [west, south] = [(column + (row % 2) * 0.37) * 2e-4, row * 2e-4]
      const [east, north] = [west + 2e-4, south + 2e-4]
      const corners = [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
      ] as const
      return [closed(corners.map(([x, y]) => [round(13 + x + y / 10), round(52 + y - x / 10)]))]
    })
    const cadastre = prepareGeometry(readGeometry({ type: 'MultiPolygon', coordinates: parcels }, 'g'))
    // The error for too much work names a position of g.
    expect(() => areaSquareMeters(cadastre)).toThrow(
      expect.objectContaining({
        path: expect.stringMatching(/^g\.coordinates\[\d+\]\[0\]/) as string,
      }) as GeometryError,
    )
  })
  test('names both geometries and a remedy if it rejects two parallels', () => {
    const parallel = (path: string, lat: number) =>
      prepareGeometry(readGeometry(line(range(9_000, (i) => [(360 * i) / 9_000 - 180, lat])), path))
    expect(() => distanceMeters(parallel('from', 80), parallel('to', 89.9999999))).toThrow(
      /^(from|to): its edges and those of (from|to) touch, overlap or stay equally far apart in too many positions, so measuring takes too long; use fewer/,
    )
  })
})
