import { Geodesic } from 'geographiclib-geodesic'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { describe, expect, test } from 'vitest'
import { EFFORT, hunt } from '../../test/seed'
import { box } from '../../test/shapes'
import {
  EffortError,
  GeometryError,
  areaSquareMeters,
  canonicalJson,
  contains,
  distanceCentimeters,
  distanceMeters,
  intersects,
  isWithin,
  lengthMeters,
  prepareGeometry,
  readGeometry,
  withEffort,
  type PreparedGeometry,
} from '.'
import { sentence, testSentences } from '../../test/sentences'
import { positions } from '../../test/positions'

const prepare = (value: unknown, path = 'g') => prepareGeometry(readGeometry(value, path))
const geometry = (type: string, coordinates: unknown) => prepare({ type, coordinates })
const point = (lon: number, lat: number) => geometry('Point', [lon, lat])

const WEST_OF_0 = { type: 'Polygon', coordinates: [positions('0 0, -7.8 4.5, 0 9, 0 0')] }
/** Hexagon around [0, 0], with vertices just west of the prime meridian. */
const hexagon = (radius: number) =>
  [0, 60, 120, 180, 240, 300, 0].map((azimuth) => [
    azimuth % 180 === 0 ? -1e-14 : radius * Math.sin((azimuth * Math.PI) / 180),
    radius * Math.cos((azimuth * Math.PI) / 180),
  ])

interface Case {
  id: string
  op: string
  inputs: Record<string, unknown>
  params: { radius?: number }
  /** `refused` if the kernel must refuse the inputs, because no number would be correct */
  expect?: 'refused'
  expected: number | boolean | null
  tolerance: number | null
}
/** True values, computed independently in extended precision. */
const vectors = (name: string) => JSON.parse(readFileSync(`test/vectors/${name}.json`, 'utf8')) as Case[]
const CASES = ['geodesy-cases', 'geodesy-cases-2', 'geodesy-cases-3'].flatMap(vectors)

const ANSWERS: Record<string, (inputs: PreparedGeometry[], params: Case['params']) => number | boolean> = {
  distance: ([from, to]) => distanceCentimeters(from!, to!) / 100,
  contains: ([container, inner]) => contains(container!, inner!),
  within: ([inner, target], { radius }) => isWithin(inner!, target!, radius!),
  intersects: ([first, second]) => intersects(first!, second!),
  area: ([polygon]) => Math.round(areaSquareMeters(polygon!) * 1e4) / 1e4,
  length: ([line]) => Math.round(lengthMeters(line!) * 100) / 100,
}

describe('the 1,548 reference cases of the kernel', () => {
  test('are complete', () => {
    expect(CASES).toHaveLength(345 + 562 + 641)
    expect(new Set(CASES.map(({ op }) => op))).toEqual(new Set(Object.keys(ANSWERS)))
  })
  // A test for each case would take longer than the cases.
  test.each(Object.keys(ANSWERS))('match for %s', (operation) => {
    const answerOf = ({ inputs, params }: Case) => {
      try {
        const geometries = Object.entries(inputs).map(([name, value]) => prepare(value, name))
        return ANSWERS[operation]!(geometries, params)
      } catch (error) {
        return error instanceof GeometryError ? 'refused' : String(error)
      }
    }
    const cases = CASES.filter(({ op }) => op === operation)
    // Every fourth one while a person waits.
    const wrong = cases
      .filter((_, at) => EFFORT >= 1 || at % 4 === 0)
      .flatMap((each) => {
        const [answer, wanted] = [answerOf(each), each.expect ?? each.expected]
        const isRight =
          answer === wanted ||
          (typeof wanted === 'number' && Math.abs((answer as number) - wanted) <= (each.tolerance ?? 0))
        return isRight ? [] : [{ id: each.id, answer, wanted }]
      })
    expect(wrong).toEqual([])
  })
  test('include areas that are accurate to the precision of doubles', () => {
    for (const { id, inputs, expected } of vectors('geodesy-cases').filter(({ op }) => op === 'area'))
      expect(
        Math.abs(areaSquareMeters(prepare(inputs.geometry)) / (expected as number) - 1),
        id,
      ).toBeLessThan(2e-15)
  })
})

describe('distanceMeters', () => {
  test(
    'measures Brazil to Indonesia, whose coasts are about equally far apart in many positions',
    { tags: ['slow'] },
    () => {
      const countries = JSON.parse(
        readFileSync(path.resolve('node_modules/world-atlas/countries-50m.json'), 'utf8'),
      ) as Topology<{ countries: GeometryCollection<{ name: string }> }>
      const { features } = feature(countries, countries.objects.countries)
      const country = (name: string) => features.find(({ properties }) => properties.name === name)!.geometry
      const [brazil, indonesia] = [country('Brazil'), country('Indonesia')]
      const placesOf = (value: typeof brazil) =>
        (JSON.stringify(value).match(/\[-?[\d.e-]+,-?[\d.e-]+\]/g) ?? []).map((place) => {
          const [lon, lat] = JSON.parse(place) as [number, number]
          const [l, p] = [(lon * Math.PI) / 180, (lat * Math.PI) / 180]
          return {
            lon,
            lat,
            up: [Math.cos(p) * Math.cos(l), Math.cos(p) * Math.sin(l), Math.sin(p)] as const,
          }
        })
      const [all, others] = [placesOf(brazil), placesOf(indonesia)]
      const cosine = (i: number, j: number) => {
        const [[a, b, c], [d, e, f]] = [all[i]!.up, others[j]!.up]
        return a * d + b * e + c * f
      }
      // The angle on a sphere close to the ellipsoid is off by less than a hundredth.
      let greatest = -1
      for (const i of all.keys()) for (const j of others.keys()) greatest = Math.max(greatest, cosine(i, j))
      const limit = Math.cos(Math.acos(greatest) * 1.01)
      let least = Infinity
      for (const [i, { lon, lat }] of all.entries())
        for (const [j, other] of others.entries())
          if (cosine(i, j) >= limit)
            least = Math.min(least, Geodesic.WGS84.Inverse(lat, lon, other.lat, other.lon).s12!)
      // Edges that are more than a quarter of the globe apart are nearest at their ends.
      expect(least).toBeGreaterThan(1.2e7)
      expect(Math.abs(distanceMeters(prepare(brazil), prepare(indonesia)) - least)).toBeLessThan(1e-6)
    },
  )
  test('ignores a spike without width', () => {
    const west = positions('0 0, 1 0, 1 1, 2 1, 1 1, 0 1, 0 0')
    const far = distanceMeters(geometry('Polygon', [west]), point(40, 1))
    expect(far).toBe(distanceMeters(geometry('Polygon', [box(0, 0, 1, 1)]), point(40, 1)))
    // The ring begins at the tip.
    const triangle = [[3, 3], [0, -1], [0, -2], [3, 3]] // oxfmt-ignore
    const nearby = point(-1, 0.5)
    expect(distanceMeters(geometry('Polygon', [[[0, 0], ...triangle, [0, 0]]]), nearby)).toBe(
      distanceMeters(geometry('Polygon', [triangle]), nearby),
    )
  })
  test.each([
    [
      'edges of 10 cm that cross',
      0,
      positions('-79.7854407360335 66.26093566236051, -79.78543926383121 66.26093633763702'),
      positions('-79.7854391603441 66.2609357040717, -79.7854408395206 66.26093629592583'),
    ],
    ['edges of 3 mm that cross', 0, positions('0 0, 3e-8 0'), positions('1.5e-8 -1.5e-8, 1.5e-8 1.5e-8')],
    // 179 degrees along the equator are a shortest path, although the ends nearly mirror each other at the
    // equator. True value: test/reference.
    ['edges near the equator', 0.0961996199647871, positions('-14 8.7e-7, 165 0'), positions('0 0, -74 0')],
    // The distance is neither convex nor concave along the edge. True value by golden-section search.
    [
      'edges a quarter of the globe apart',
      10015008.541848,
      positions('169.24666154356336 65.6829979712113, -10.75333897180342 84.8746033493818'),
      positions(`
        -100.75333854721038 -0.11795525280292095, -100.75333854721038 -3.368975755291624
      `),
    ],
  ])('measures %s', (_, expected, a, b) => {
    expect(
      Math.abs(distanceMeters(geometry('LineString', a), geometry('LineString', b)) - expected),
    ).toBeLessThan(1e-5)
  })
})

describe('positions that several coordinates denote', () => {
  test.each([
    [point(180, 10), point(-180, 10)],
    [point(0, 90), point(123, 90)],
    [geometry('Point', [1, 2, 30]), geometry('Point', [1, 2, 9000])],
    [point(-0, 0), point(0, -0)],
  ])('are equal for distance, intersects and contains', (a, b) => {
    expect(distanceMeters(a, b)).toBe(0)
    expect(intersects(a, b)).toBe(true)
    expect(contains(a, b)).toBe(true)
  })
  test('are twice the quarter meridian apart if antipodal', () => {
    expect(distanceMeters(point(0, 0), point(180, 0))).toBeCloseTo(2 * 10_001_965.7293, 3)
    expect(distanceMeters(point(0, 90), point(0, -90))).toBeCloseTo(2 * 10_001_965.7293, 3)
  })
})

describe('contains follows the OGC rules', () => {
  const square = geometry('Polygon', [box(0, 0, 10, 10)])
  const holed = geometry('Polygon', [box(0, 0, 10, 10), box(3, 3, 6, 6)])
  /** Rectangle from 170 E to 170 W, once cut at the antimeridian and once uncut. */
  const cut = geometry('MultiPolygon', [[box(170, -10, 180, 10)], [box(-180, -10, -170, 10)]])
  const whole = geometry('Polygon', [
    positions('170 -10, 180 -10, -170 -10, -170 10, 180 10, 170 10, 170 -10'),
  ])
  const line = geometry('LineString', positions('0 0, 1 0, 2 0'))
  test.each<[string, boolean, PreparedGeometry, PreparedGeometry]>([
    ['a polygon in the hole', false, holed, geometry('Polygon', [box(3, 3, 6, 6)])],
    ['a polygon around the hole', false, holed, geometry('Polygon', [box(1, 1, 9, 9)])],
    ['the shell without its hole', false, holed, square],
    ['a polygon and itself', true, holed, holed],
    [
      'a polygon 36 micrometres wide and itself from another position',
      true,
      geometry('Polygon', [
        positions('0.00016 44.99976, 0.00008 44.99984, -0.00024 45.00016, 0.00016 44.99976'),
      ]),
      geometry('Polygon', [
        positions('0.00008 44.99984, -0.00024 45.00016, 0.00016 44.99976, 0.00008 44.99984'),
      ]),
    ],
    [
      'a line that touches the boundary from inside',
      true,
      square,
      geometry('LineString', positions('0 5, 5 5, 0 6')),
    ],
    ['a line along the boundary only', false, square, geometry('LineString', positions('0 2, 0 5'))],
    ['points on the boundary and one inside', true, square, geometry('MultiPoint', positions('0 5, 5 5'))],
    ['points on the boundary only', false, square, geometry('MultiPoint', positions('0 5, 0 6'))],
    ['a point 6 mm inside the boundary', true, square, point(5.4e-8, 5)],
    ['a point 4 mm inside the boundary, which counts as on it', false, square, point(3.6e-8, 5)],
    ['a polygon that sticks out by 4 mm', true, square, geometry('Polygon', [box(-3.6e-8, 1, 5, 5)])],
    ['a polygon that sticks out by 6 mm', false, square, geometry('Polygon', [box(-5.4e-8, 1, 5, 5)])],
    ['a point on the cut between two parts', true, cut, point(180, 0)],
    ['a line along the cut', true, cut, geometry('LineString', positions('180 -5, -180 5'))],
    ['a line across the cut', true, cut, geometry('LineString', positions('175 -5, -175 5'))],
    [
      'a polygon across the cut',
      true,
      cut,
      geometry('Polygon', [positions('175 -5, -175 -5, -175 5, 175 5, 175 -5')]),
    ],
    ['a point where the cut ends', false, cut, point(180, 10)],
    ['the cut container in the uncut one', true, whole, cut],
    ['the uncut container in the cut one', true, cut, whole],
    [
      'a polygon that leaves the cut container',
      false,
      cut,
      geometry('Polygon', [positions('165 -5, -175 -5, -175 5, 165 5, 165 -5')]),
    ],
    [
      'a line past the vertex in which two parts touch',
      false,
      geometry('MultiPolygon', [[box(0, 0, 1, 1)], [box(1, 1, 2, 2)]]),
      geometry('LineString', positions('0.5 0.6, 1.5 1.6')),
    ],
    ['an inner point of a line', true, line, point(1, 0)],
    ['the end of a line', false, line, point(0, 0)],
    [
      'the closing point of a line',
      true,
      geometry('LineString', positions('0 0, 1 0, 1 1, 0 0')),
      point(0, 0),
    ],
    [
      // A position between two vertices near its meridian, in line with a long edge of one of them.
      'a part whose edge has vertices of another part near it, within rounding',
      true,
      prepare({
        type: 'GeometryCollection',
        geometries: [WEST_OF_0, { type: 'Polygon', coordinates: [hexagon(9e-5), hexagon(2.3e-5)] }],
      }),
      prepare(WEST_OF_0),
    ],
    [
      // The plane in which short edges are compared is accurate to micrometres.
      'a line whose end is 5.005 mm outside',
      false,
      prepare({
        type: 'Polygon',
        coordinates: [
          positions(`
            141.418099355 -89.978017303, -164.833054019 -89.984231644, -91.474163231 -89.979615256,
            -41.009349346 -89.989305939, 20.819464389 -89.999563397, 79.37376718 -89.98034426,
            141.418099355 -89.978017303
          `),
        ],
      }),
      prepare({
        type: 'LineString',
        coordinates: positions(
          '-164.83299834729596 -89.98423168502511, -40.54817923417315 -89.99122831234052',
        ),
      }),
    ],
    [
      // One edge begins at the meridian of the position and passes a pole by nanometres, so the position is
      // in line with that edge.
      'a point south of a vertex whose edge is upright within rounding',
      false,
      prepare({
        type: 'Polygon',
        coordinates: [
          positions(`
            -179.0664097747051 82.46, 179.5 82.3, 0.933590225294867 82.6, -179.0664097747051 82.46
          `),
        ],
      }),
      point(0.933590225294867, 82.3),
    ],
    [
      'the point at which a line ends on another (the mod-2 rule)',
      false,
      geometry('MultiLineString', [positions('0 0, 2 0'), positions('1 0, 1 1')]),
      point(1, 0),
    ],
    [
      'the end of a line in a line without length, which is a point',
      true,
      geometry('MultiLineString', [positions('0 0, 1 0'), positions('1 0, 1 0')]),
      point(1, 0),
    ],
    [
      'the point at which lines of a MultiLineString meet',
      true,
      geometry('MultiLineString', [positions('0 0, 1 0'), positions('1 0, 2 0')]),
      point(1, 0),
    ],
    ['a part of a line', true, line, geometry('LineString', positions('0.5 0, 1.5 0'))],
    ['a line that extends beyond the other', false, line, geometry('LineString', positions('0.5 0, 2.5 0'))],
    ['an area in a line', false, line, square],
    [
      'the area of which a line is the ring',
      false,
      geometry('LineString', box(0, 0, 2, 2)),
      geometry('Polygon', [box(0, 0, 2, 2)]),
    ],
    [
      'an area whose hole a line fills',
      false,
      prepare({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Polygon', coordinates: [box(0, 0, 10, 10), box(4, 4, 6, 6)] },
          { type: 'LineString', coordinates: box(4, 4, 6, 6) },
        ],
      }),
      geometry('Polygon', [box(4, 4, 6, 6)]),
    ],
    [
      'two lobes that touch, one of them in the hole',
      false,
      geometry('Polygon', [box(0, 0, 10, 10), box(4, 4, 6, 6)]),
      geometry('Polygon', [positions('4 4, 6 4, 6 6, 4 6, 4 4, 2 3, 3 2, 4 4')]),
    ],
    [
      'a line along a seam and beyond it',
      true,
      geometry('MultiPolygon', [[box(0, 0, 10, 10)], [positions('10 0, 20 0, 20 2, 10 2, 10 0')]]),
      geometry('LineString', positions('10 0, 10 9')),
    ],
    [
      'a line on the boundary that a line of the container touches',
      false,
      prepare({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Polygon', coordinates: [positions('0 0, 2 0, 2 4, 0 4, 0 0')] },
          { type: 'LineString', coordinates: positions('2 3, 4 4') },
        ],
      }),
      geometry('LineString', positions('2 3, 2 1')),
    ],
    [
      'a collection in a polygon',
      true,
      square,
      prepare({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: [5, 5] },
          { type: 'LineString', coordinates: positions('1 1, 2 2') },
        ],
      }),
    ],
    [
      'a line that only the parts of a collection together contain',
      true,
      prepare({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Polygon', coordinates: [box(0, -1, 1, 1)] },
          { type: 'LineString', coordinates: positions('1 0, 2 0') },
        ],
      }),
      geometry('LineString', positions('0.5 0, 1.5 0')),
    ],
    [
      'the pole that a polygon surrounds',
      true,
      geometry('Polygon', [positions('0 60, 90 60, 180 60, -90 60, 0 60')]),
      point(77, 90),
    ],
    [
      'the pole that a polygon does not surround',
      false,
      geometry('Polygon', [positions('0 60, 90 60, 180 60, -90 60, 0 60')]),
      point(77, -90),
    ],
    [
      'a polar cap cut along the antimeridian',
      true,
      geometry('Polygon', [
        positions('-180 -60, -90 -65, 0 -60, 90 -65, 180 -60, 180 -90, -180 -90, -180 -60'),
      ]),
      geometry('MultiPoint', positions('10 -80, -170 -89, 170 -70')),
    ],
  ])('for %s, and returns %s', (_, expected, container, inner) => {
    expect(contains(container, inner)).toBe(expected)
    if (expected) expect(intersects(container, inner)).toBe(true)
  })
})

describe('area and length', () => {
  test('areas are accurate to doubles around poles, over the equator, and with large holes', () => {
    // True values by an independent method, in 40 digits (test/vectors/areas.py).
    const cases = JSON.parse(readFileSync('test/vectors/areas.json', 'utf8')) as {
      ring?: number[][]
      rings?: number[][][]
      parallels?: [latitude: number, vertices: number][]
      area: number
    }[]
    expect(cases).toHaveLength(158)
    for (const { ring, rings, parallels, area } of cases.filter((_, i) => EFFORT >= 1 || i % 3 === 0)) {
      const parallel = ([latitude, count]: [number, number]) =>
        Array.from({ length: count + 1 }, (_, i) => [((i % count) * 360) / count - 180, latitude])
      const answer = areaSquareMeters(geometry('Polygon', rings ?? parallels?.map(parallel) ?? [ring]))
      expect(Math.abs(answer - area), JSON.stringify(parallels ?? rings)).toBeLessThan(1e-6 + 3e-16 * area)
    }
  })
  hunt(
    'the area of a polygon that a hole nearly fills equals that of its pieces',
    20,
    ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const count = 3 + Math.floor(random() * 30)
        const [lon, lat] = [random() * 360 - 180, random() < 0.2 ? 90 : random() * 180 - 90]
        const radius = 20 * 2.5e4 ** random()
        const gap = Math.max(10 ** (-1 - 6 * random()), 0.1 / radius)
        const place = (azimuth: number, metres: number) => {
          const { lon2, lat2 } = Geodesic.WGS84.Direct(lat, lon, azimuth, metres)
          return [lon2!, lat2!]
        }
        const spokes = Array.from({ length: count }, (_, j) => {
          const [azimuth, reach] = [(360 * (j + 0.5 * random())) / count, radius * (0.5 + random() / 2)]
          return [place(azimuth, reach), place(azimuth, reach * (1 - gap))] as const
        })
        const ring = (side: 0 | 1) => [...spokes, spokes[0]!].map((spoke) => spoke[side])
        const pieces = spokes.map(([outer, inner], j) => {
          const [nextOuter, nextInner] = spokes[(j + 1) % count]!
          return [[outer, nextOuter, nextInner, inner, outer]]
        })
        const area = areaSquareMeters(geometry('Polygon', [ring(0), ring(1)]))
        const told = JSON.stringify([ring(0), ring(1)])
        const parts = pieces.map((piece) => areaSquareMeters(geometry('Polygon', piece)))
        const sum = parts.reduce((total, part) => total + part, 0)
        for (const other of [sum, areaSquareMeters(geometry('MultiPolygon', pieces))])
          expect(Math.abs(area - other), told).toBeLessThan(1e-6 + 1e-14 * area)
      }
    },
  )
  test('the area excludes holes', () => {
    const [shell, hole] = [[box(0, 0, 10, 10)], [box(3, 3, 6, 6)]].map((rings) =>
      areaSquareMeters(geometry('Polygon', rings)),
    )
    expect(areaSquareMeters(geometry('Polygon', [box(0, 0, 10, 10), box(3, 3, 6, 6)]))).toBeCloseTo(
      shell! - hole!,
      2,
    )
  })
  test('area and length reject other geometry types', () => {
    expect(() => areaSquareMeters(geometry('LineString', positions('0 0, 1 1')))).toThrow(sentence('g'))
    expect(() => lengthMeters(geometry('Polygon', [box(0, 0, 1, 1)]))).toThrow(sentence('g'))
    const geometries = [{ type: 'LineString', coordinates: positions('0 0, 1 1') }]
    const collection = prepare({ type: 'GeometryCollection', geometries })
    expect(() => lengthMeters(collection)).toThrow(sentence('g'))
  })
  test('the area is accurate for an edge over the equator between equal latitudes north and south', () => {
    const area = (lat: number) =>
      areaSquareMeters(geometry('Polygon', [positions(`0 -1, 1 ${lat}, 0 2, -1 1, 0 -1`)]))
    // True value: the geodesics in space, by collocation of order 16 with 40 digits.
    expect(Math.abs(area(1.0000000000000002) - 36925478860.15023)).toBeLessThan(5e-5)
    expect(Math.abs(area(1) - area(1.0000000000000002))).toBeLessThan(1e-4)
  })
  test.each([1e-199, 1e-307, 1e-310, 5e-324])('does not depend on a turn of %d degrees', (tiny) => {
    const area = (lng: number) =>
      areaSquareMeters(geometry('Polygon', [[[0, 0], [lng, 10], [10, 5], [0, 0]]])) // oxfmt-ignore
    expect(area(tiny)).toBe(area(0))
  })
  test('the area of a ring around a pole equals that of its parts', () => {
    // True value: the geodesics in space, by collocation of order 16 with 40 digits. An earlier method with
    // differences of latitudes was 5 cm2 off.
    const ring = Array.from({ length: 24 }, (_, i) => [i * 15 - 180, 88.75 + 0.37 * (i % 2)])
    const parts = ring.map((a, i) => [[0, 90], a, ring[(i + 1) % 24]!, [0, 90]])
    const sum = parts.reduce((total, part) => total + areaSquareMeters(geometry('Polygon', [part])), 0)
    for (const area of [sum, areaSquareMeters(geometry('Polygon', [[...ring, ring[0]!]]))])
      expect(Math.abs(area - 42620571749.698512)).toBeLessThan(5e-5)
  })
  test('the area is accurate past a pole, where geographiclib has an error of 0.03 m2', () => {
    // True value: the geodesics in space, by collocation of order 16 with 40 digits.
    const ring = positions(`
      -20.58826608583331 -89.95094852750768, 0 -90, 167.94979062273887 -89.48321796835317,
      -84.6230001229404 -89.58764192126574, -70.01293643799136 -89.37276631913313,
      -66.46043905936413 -89.61846454462687, -68.41537332820886 -89.14513074028967,
      -20.58826608583331 -89.95094852750768
    `)
    expect(Math.abs(areaSquareMeters(geometry('Polygon', [ring])) - 1892168544.239971)).toBeLessThan(1e-5)
  })
  test('the area rejects polygons that overlap', () => {
    expect(() => areaSquareMeters(geometry('MultiPolygon', [[box(0, 0, 2, 2)], [box(1, 1, 3, 3)]]))).toThrow(
      sentence(),
    )
    expect(() => areaSquareMeters(geometry('MultiPolygon', [[box(0, 0, 9, 9)], [box(1, 1, 3, 3)]]))).toThrow(
      sentence(),
    )
    expect(() => areaSquareMeters(geometry('MultiPolygon', [[box(0, 0, 2, 2)], [box(0, 0, 2, 2)]]))).toThrow(
      sentence(),
    )
    // One polygon has a part of the other's western edge.
    const [inner, outer] = ['0 2, 0 3, 3 2, 0 2', '0 4, 0 1, 3 2, 0 4'].map(positions)
    for (const both of [
      [[inner], [outer]],
      [[outer], [inner]],
    ])
      expect(() => areaSquareMeters(geometry('MultiPolygon', both))).toThrow(GeometryError)
    // The polygons cross at vertices only.
    const one = positions('0 0, 2 0, 2 1, 2 2, 1 2, 0 2, 0 0')
    const other = positions('3 3, 1 3, 1 2, 1 1, 2 1, 3 1, 3 3')
    const overlapping = geometry('MultiPolygon', [[one], [other]])
    expect(() => areaSquareMeters(overlapping)).toThrow(sentence())
    expect(
      areaSquareMeters(geometry('MultiPolygon', [[box(0, 0, 1, 1)], [box(1, 0, 2, 1)]])),
    ).toBeGreaterThan(2.4e10)
  })
})

hunt('a wide sector of a hemisphere contains its middle, whatever its first meridian', 300, (context) => {
  const { random, cases } = context
  for (let i = 0; i < cases; i++) {
    const decimals = Math.floor(random() * 16)
    const side = random() < 0.5 ? 1 : -1
    const on = (lon: number) => Number((lon > 180 ? lon - 360 : lon).toFixed(decimals))
    const west = on(random() * 360 - 180)
    const base = Math.round(random() * 20 - 10)
    // Half of the sectors have two meridians that form a great circle.
    const steps = random() < 0.5 ? 4 : 2 + Math.floor(random() * 5)
    const rim = Array.from({ length: steps + 1 }, (_, j) => [on(west + j * 45), side * base])
    // An edge between opposite meridians goes over the nearer pole by itself.
    const isOpposite = Math.abs(rim[0]![0]! - rim[steps]![0]!) === 180
    const pole = isOpposite && base > 0 && random() < 0.5 ? [] : [[on(random() * 180), side * 90]]
    const ring = [...rim, ...pole, rim[0]!]
    if (random() < 0.5) ring.reverse()
    const sector = geometry('Polygon', [ring])
    const middle = west + steps * 22.5
    const found = [
      contains(sector, point(on(middle), side * 60)),
      contains(sector, point(on(middle > 0 ? middle - 180 : middle + 180), side * 60)),
      contains(sector, point(on(middle), side * -60)),
    ]
    expect([ring, found]).toEqual([ring, [true, false, false]])
  }
})

test('a ring with two vertices nanometres from a pole has one inside', () => {
  const ring = positions('100 30, -101 89.99999999999999, 81 89.99999999999999, 0 45, 100 30')
  const sector = geometry('Polygon', [ring])
  const middles = positions('50 60, -100 60, -50 -60').map(([lon, lat]) => point(lon, lat))
  expect(middles.map((middle) => contains(sector, middle))).toEqual([true, false, false])
})
hunt('a sector with vertices micrometres from a pole contains its middle only', 300, ({ random, cases }) => {
  const between = (low: number, high: number) => low + (high - low) * random()
  const on = (lon: number) => (lon > 180 ? lon - 360 : lon)
  let accepted = 0
  for (let i = 0; i < cases; i++) {
    const side = random() < 0.5 ? 1 : -1
    const west = between(-180, 180)
    const steps = 2 + Math.floor(random() * 5)
    const rim = Array.from({ length: steps + 1 }, (_, j) => [on(west + j * 45), side * between(-10, 10)])
    const near = Array.from({ length: 1 + Math.floor(random() * 3) }, () => [
      between(-180, 180),
      side * (90 - 10 ** between(-14, -10)),
    ])
    const ring = [...rim, ...near, rim[0]!]
    if (random() < 0.5) ring.reverse()
    let sector
    try {
      sector = geometry('Polygon', [ring])
    } catch (error) {
      // Vertices farther than a micrometre from each other may make the ring cross itself.
      if (error instanceof GeometryError) continue
      throw error
    }
    accepted++
    const middle = on(west + steps * 22.5)
    const places = [point(middle, side * 60), point(on(middle + 180), side * 60), point(middle, side * -60)]
    const found = places.map((place) => contains(sector, place))
    expect([ring, found]).toEqual([ring, [true, false, false]])
  }
  expect(accepted).toBeGreaterThan(cases / 4)
})

describe.each([1, -1])('a ring that passes a pole several times (%d)', (side) => {
  const on = (lon: number, lat: number): [number, number] => [((lon + 540) % 360) - 180, side * lat]
  test.each([88, -20])(
    'contains its five sectors, passed in the order of a pentagram, to latitude %d',
    (far) => {
      const sectors = [0, 144, 288, 72, 216].flatMap((west) => [
        on(west, far),
        on(west + 18, far),
        on(west + 36, far),
        on(0, 90),
      ])
      const star = geometry('Polygon', [[...sectors, sectors[0]]])
      const middles = Array.from({ length: 10 }, (_, i) => point(...on(i * 36 + 18, 89)))
      expect(middles.map((middle) => contains(star, middle))).toEqual(middles.map((_, i) => i % 2 === 0))
    },
  )
  test('has the same area at each longitude, in both directions', () => {
    for (let turn = 0; turn < 360; turn += 45) {
      const ring = positions('-90 87, -45 88, 135 88, 0 90, 90 87, -90 87').map(([lon, lat]) =>
        on(lon + turn, lat),
      )
      for (const each of [ring, ring.toReversed()])
        expect(areaSquareMeters(geometry('Polygon', [each]))).toBeCloseTo(26_464_456_150.4911, 3)
    }
  })
})

describe('prepareGeometry, which requires an unambiguous inside,', () => {
  const refuse: [string, unknown[], string][] = [
    ['a ring that crosses itself', [positions('0 0, 1 1, 1 0, 0 1, 0 0')], 'g.coordinates[0][0]'],
    [
      'a ring that crosses itself at a vertex',
      [positions('0 0, 0.5 0.5, 1 1, 1 0, 0.5 0.5, 0 1, 0 0')],
      'g.coordinates[0][1]',
    ],
    [
      'a ring that crosses itself along a stretch',
      [positions('0 0, 1 0, 2 0, 3 -2, 0 -2, 1 0, 2 0, 2 2, 0 2, 0 0')],
      'g.coordinates[0][2]',
    ],
    [
      'a hole that leaves its shell at the end of a shared edge',
      [box(0, 0, 10, 10), positions('4 2, 4 0, 6 0, 6 -2, 8 -2, 8 0, 9 0, 9 2, 4 2')],
      'g.coordinates[0][0]',
    ],
    ['a ring without an area', [positions('0 0, 1 0, 2 0, 1 0, 0 0')], 'g.coordinates[0]'],
    ['rings that cross', [box(0, 0, 10, 10), box(9, 1, 12, 2)], 'g.coordinates[0][1]'],
    ['a hole outside of the shell', [box(0, 0, 10, 10), box(11, 1, 12, 2)], 'g.coordinates[1]'],
    ['a hole in a hole', [box(0, 0, 10, 10), box(1, 1, 5, 5), box(2, 2, 3, 3)], 'g.coordinates[2]'],
    ['a hole that is the shell', [box(0, 0, 10, 10), box(0, 0, 10, 10)], 'g.coordinates[1]'],
    ['a ring that halves the ellipsoid', [positions('0 0, 90 0, 180 0, -90 0, 0 0')], 'g.coordinates[0]'],
    ['an edge between antipodes', [positions('0 10, 180 -10, 50 50, 0 10')], 'g.coordinates[0][0]'],
    [
      'an edge between antipodes after positions that repeat, one of them at a pole',
      [positions('5 5, 5 5, 0 -90, 90 -90, 0 90, 5 5')],
      'g.coordinates[0][3]',
    ],
    [
      'an edge along the equator that is not a shortest path',
      [positions('0 0, 179.7 0, 90 50, 0 0')],
      'g.coordinates[0][0]',
    ],
    [
      'crossing edges among turns at a pole',
      [positions('-90 90, -180 89, -180 90, -90 89, -180 88, -150 88, -90 90, -90 90')],
      'g.coordinates[0][3]',
    ],
    [
      'a crossing among long edges side by side, after turns at a pole',
      [
        [
          ...Array.from({ length: 600 }, (_, i) => [(i >> 1) * 0.004 + (i % 2) * 30, 70 + (i % 2) * 10]),
          ...positions('0 90, 80 84, 120 88, -40 75, 0 70'),
        ],
      ],
      'g.coordinates[0][599]',
    ],
    [
      'a ring whose positions are on one line',
      [positions('0 0, 3e-5 3e-5, 4e-5 4e-5, 0 0')],
      'g.coordinates[0]',
    ],
    [
      'a ring that runs around twice',
      [positions('0 2, 3 2, 2 0, 1 1, 1 2, 3 2, 2 0, 0 2').map(([x, y]) => [x * 1e-5, y * 1e-5])],
      'g.coordinates[0][3]',
    ],
    [
      'a hole with only a spike in the shell',
      [positions('0 2, 0 0, 2 1, 0 2'), positions('2 1, 1 1, 2 1, 1 0, 0 0, 2 1')].map((ring) =>
        ring.map(([x, y]) => [x * 1e-5, y * 1e-5]),
      ),
      'g.coordinates[1]',
    ],
    ['two distinct positions', [positions('0 0, 1 1, 0 0, 0 0')], 'g.coordinates[0]'],
    ['one position with several coordinates', [positions('0 90, 10 90, 20 90, 0 90')], 'g.coordinates[0]'],
  ]
  /** Rings whose error names an edge by the position that it starts at. */
  const edges = [
    ...['a ring that crosses itself', 'rings that cross', 'an edge between antipodes'],
    ...['an edge between antipodes after positions that repeat, one of them at a pole'],
    ...['an edge along the equator that is not a shortest path', 'crossing edges among turns at a pole'],
    ...['a crossing among long edges side by side, after turns at a pole'],
  ]
  test('has a case for each error at an edge', () =>
    expect(refuse.filter(([name]) => edges.includes(name))).toHaveLength(edges.length))
  test.each(refuse)('rejects %s', (_, rings, field) => {
    expect(() => geometry('Polygon', rings)).toThrow(sentence(field))
    expect(() => geometry('Polygon', rings)).toThrow(GeometryError)
  })
  test.each(refuse)(
    'rejects %s with each position three times, and names the edge after the repetitions',
    (name, rings) => {
      const thrice = (rings as unknown[][]).map((ring) =>
        ring.flatMap((position) => [position, position, position]),
      )
      const outcome = (rings: unknown[]): string => {
        try {
          return geometry('Polygon', rings).type
        } catch (error) {
          return (error as Error).message
        }
      }
      const INDEX = /(?<=coordinates\[\d+\]\[)\d+/g
      expect(outcome(thrice).replace(INDEX, (i) => String(Math.floor(Number(i) / 3)))).toBe(outcome(rings))
      if (edges.includes(name))
        for (const [i] of outcome(thrice).matchAll(INDEX)) expect(Number(i) % 3).toBe(2)
    },
  )
  test('rejects an edge from pole to pole, which has no unique shortest path', () =>
    expect(() => geometry('LineString', positions('0 90, 0 -90'))).toThrow(sentence('g.coordinates[0]')))
  test.each([
    [
      'a ring that closes at another altitude',
      [
        [
          [0, 0, 10],
          [1, 0, 11],
          [1, 1, 12],
          [0, 0, 13],
        ],
      ],
    ],
    [
      'a ring that closes without an altitude',
      [
        [
          [0, 0, 10],
          [1, 0, 11],
          [1, 1, 12],
          [0, 0],
        ],
      ],
    ],
    ['repeated positions', [positions('0 0, 0 0, 1 0, 1 0, 1 1, 0 0')]],
    ['a ring that touches itself', [positions('0 0, 1 0, 0.5 0.5, 1 1, 0 1, 0.5 0.5, 0 0')]],
    ['a ring that runs back along itself', [positions('0 0, 1 0, 2 0, 1 0, 1 1, 0 1, 0 0')]],
    [
      'a hole that touches the middle of every edge',
      [box(0, 0, 0.002, 0.002), positions('0.001 0, 0.002 0.001, 0.001 0.002, 0 0.001, 0.001 0')],
    ],
    ['a hole that touches the shell', [box(0, 0, 10, 10), positions('0 0, 5 1, 1 5, 0 0')]],
    ['a ring over a pole', [positions('0 80, 180 80, 90 70, 0 80')]],
    [
      'a tall shell with many small holes',
      [
        box(-1, -80, 1, 80),
        ...Array.from({ length: 998 }, (_, i) => [
          [-0.001, -50 + 0.004 * i],
          [0.001, -50 + 0.004 * i],
          [0, -49.998 + 0.004 * i],
          [-0.001, -50 + 0.004 * i],
        ]),
      ],
    ],
    ['most of the southern half', [positions('0 -1, 90 -1, 180 -1, -90 -1, 0 -1')]],
  ])('accepts %s', (_, rings) => expect(geometry('Polygon', rings).type).toBe('Polygon'))
})

describe('the kernel, for geometries made to be expensive,', () => {
  test('measures 20,000 points in one position to 20,000 points in another', () => {
    const heap = (lon: number) =>
      geometry(
        'MultiPoint',
        Array.from({ length: 20_000 }, () => [lon, 0]),
      )
    expect(distanceMeters(heap(0), heap(1))).toBeCloseTo(111319.49079, 4)
  })
  test('accepts 1,000 holes, and 1,000 lobes, that share a vertex', () => {
    const wedge = (i: number) => [
      [0, 0],
      [Math.cos(i / 160), Math.sin(i / 160)],
      [Math.cos((i + 0.5) / 160), Math.sin((i + 0.5) / 160)],
    ]
    expect(
      geometry('Polygon', [
        box(-2, -2, 2, 2),
        ...Array.from({ length: 1_000 }, (_, i) => [...wedge(i), [0, 0]]),
      ]).type,
    ).toBe('Polygon')
    expect(
      geometry('Polygon', [[...Array.from({ length: 1_000 }, (_, i) => wedge(i)).flat(), [0, 0]]]).type,
    ).toBe('Polygon')
  })
  test('rejects lines that run along each other too often', { tags: ['slow'] }, () => {
    const back = (turns: number) =>
      geometry(
        'LineString',
        Array.from({ length: turns }, (_, i) => [i % 2 ? 1e-3 : 0, 0]),
      )
    expect(() => contains(back(4_000), back(4_002))).toThrow(sentence('g'))
    expect(contains(back(4_000), back(4_000))).toBe(true)
  })
  test('stops at the limit of counted work', () => {
    const ring = (lat: number) =>
      geometry(
        'LineString',
        Array.from({ length: 400 }, (_, i) => [(360 * i) / 400 - 180, lat]),
      )
    expect(() => withEffort(30_000, () => distanceMeters(ring(80), ring(89.9999999)))).toThrow(EffortError)
    expect(withEffort(30_000, () => distanceMeters(ring(80), point(0, 0)))).toBeGreaterThan(8_000_000)
    // The distance is not smaller than that of the ring's nearest edge.
    expect(distanceMeters(ring(80), ring(70))).toBeGreaterThan(1_000_000)
  })
})

describe.skipIf(EFFORT < 1)('a large polygon', () => {
  const closed = (ring: number[][]) => [...ring, ring[0]!]
  /**
   * Long edges side by side that do not cross: a zigzag of diagonals, a star, and a square spiral that leads
   * in and out again.
   */
  const zigzag = (size: number) => [
    ...Array.from({ length: size - 3 }, (_, i) => [
      (i / size) * 0.5 + [0, 1, 1, 0][i % 4]!,
      (-i / size) * 0.5 + [0, 1, 1, 0][i % 4]!,
    ]),
    ...positions('0.5 -0.6, -0.3 -0.3, -0.2 0'),
  ]
  const star = (size: number) =>
    Array.from({ length: size }, (_, i) => [
      10 + (i % 2 || 0.01) * Math.cos((2 * Math.PI * i) / size),
      50 + (i % 2 || 0.01) * Math.sin((2 * Math.PI * i) / size),
    ])
  const turn = (i: number, radius: number) => [
    radius * Math.cos((i * Math.PI) / 2 + 0.2),
    radius * Math.sin((i * Math.PI) / 2 + 0.2),
  ]
  const spiral = (size: number) => {
    const half = size / 2
    return [
      ...Array.from({ length: half }, (_, i) => turn(i, 0.1 + (0.9 * i) / half)),
      ...Array.from({ length: half }, (_, i) =>
        turn(half - 1 - i, 0.1 + (0.9 * (half - 1 - i - 1.9)) / half),
      ),
    ]
  }
  test.each([
    ['zigzag', 4_000, zigzag],
    ['star', 70_000, star],
    ['spiral', 1_000, spiral],
  ])('is accepted as a %s of %d vertices, and rejected for one crossing', (_, size, shape) => {
    const ring = closed(shape(size))
    expect(geometry('Polygon', [ring]).type).toBe('Polygon')
    const crossed = ring.slice()
    // Two neighbours in the middle of the run are exchanged: the ring crosses itself there and nowhere else.
    const middle = size / 2
    ;[crossed[middle], crossed[middle + 2]] = [crossed[middle + 2]!, crossed[middle]!]
    expect(() => geometry('Polygon', [crossed])).toThrow(sentence())
  })
})

describe('readGeometry', () => {
  const ring = positions('0 0, 1 0, 1 1, 0 0')
  test.each([
    [null, 'g'],
    [[1, 2], 'g'],
    [{}, 'g.type'],
    [{ type: 'Circle' }, 'g.type'],
    [{ type: 'constructor' }, 'g.type'],
    [{ type: 'Point' }, 'g.coordinates'],
    [{ type: 'Point', coordinates: [1] }, 'g.coordinates'],
    [{ type: 'Point', coordinates: [1, 2, 3, 4] }, 'g.coordinates'],
    [{ type: 'Point', coordinates: ['1', 2] }, 'g.coordinates'],
    [{ type: 'Point', coordinates: [Infinity, 2] }, 'g.coordinates'],
    [{ type: 'Point', coordinates: [180.0000001, 2] }, 'g.coordinates'],
    [{ type: 'Point', coordinates: [2, 90.5] }, 'g.coordinates'],
    [{ type: 'LineString', coordinates: [[0, 0]] }, 'g.coordinates'],
    [{ type: 'MultiPoint', coordinates: [] }, 'g.coordinates'],
    [{ type: 'Polygon', coordinates: [ring, positions('0 0, 1 0, 0 0')] }, 'g.coordinates[1]'],
    [{ type: 'MultiPolygon', coordinates: [[[...ring.slice(0, 3), [0, 1]]]] }, 'g.coordinates[0][0]'],
    [{ type: 'FeatureCollection', features: [] }, 'g.features'],
    [{ type: 'Feature', geometry: null }, 'g.geometry'],
    [
      { type: 'Point', coordinates: [1, 2], crs: { type: 'name', properties: { name: 'EPSG:3857' } } },
      'g.crs',
    ],
  ])('rejects %j', (value, field) => {
    expect(() => readGeometry(value, 'g')).toThrow(GeometryError)
    expect(() => readGeometry(value, 'g')).toThrow(sentence(field))
  })
  test('replaces the half of an emoji that it quotes', () => {
    expect(() => readGeometry({ type: `${'x'.repeat(38)}\u{1f600}` }, 'g')).toThrow('xxx\ufffd...')
  })
  test.each([
    ...['CRS84', 'OGC:CRS84', 'urn:ogc:def:crs:OGC::CRS84', 'urn:ogc:def:crs:OGC:1.3:CRS84'],
    ...['http://www.opengis.net/def/crs/OGC/1.3/CRS84', 'urn:ogc:def:crs:EPSG::4326', 'EPSG:4326'],
  ])('accepts the crs %s', (name) => {
    const crs = { type: 'name', properties: { name } }
    expect(readGeometry({ type: 'Point', coordinates: [1, 2], crs }, 'g').lon[0]).toBe(1)
  })
  test('limits nesting and the number of positions', () => {
    let nested: unknown = { type: 'Point', coordinates: [0, 0] }
    for (let i = 0; i < 10; i++) nested = { type: 'GeometryCollection', geometries: [nested] }
    expect(() => readGeometry(nested, 'g')).toThrow(sentence())
    const many = Array.from({ length: 100_001 }, () => [0, 0])
    expect(() => readGeometry({ type: 'MultiPoint', coordinates: many }, 'g')).toThrow(
      sentence('g.coordinates[100000]'),
    )
    const ring = [...many.slice(1).map((_, i) => [i / 1e6, i % 2]), [0, 0]]
    expect(readGeometry({ type: 'Polygon', coordinates: [ring] }, 'g').lon).toHaveLength(100_001)
    expect(() => readGeometry({ type: 'MultiPolygon', coordinates: [[ring], [[[0, 0]]]] }, 'g')).toThrow(
      sentence('g.coordinates[1][0][0]'),
    )
  })
  const canonical = (value: unknown) => canonicalJson(readGeometry(value, 'g'))
  test('reads a Feature as its geometry, without bbox, crs and foreign members', () => {
    const crs = { properties: { name: 'EPSG:4326' } }
    const point = { type: 'Point', coordinates: [1, 2], bbox: [1, 2, 1, 2], note: 'x', crs }
    const feature = { type: 'Feature', properties: {}, geometry: point }
    expect(canonical({ type: 'FeatureCollection', features: [feature] })).toBe(
      '{"coordinates":[1,2],"type":"Point"}',
    )
  })
  test.each([
    ['Point', [-0, 1e-7]],
    ['Point', [1.5, 2, -0]],
    [
      'MultiPoint',
      [
        [1, 2],
        [3, 4, 1e21],
      ],
    ],
    [
      'LineString',
      [
        [1, 2, 3],
        [4, 5],
      ],
    ],
    ['MultiLineString', [positions('1 2, 3 4'), positions('5 6, 7 8')]],
    ['Polygon', [ring, ring]],
    ['MultiPolygon', [[ring, ring], [ring], [ring, ring, ring]]],
  ])(
    'prints the canonical JSON of a %s as RFC 8785 requires: keys sorted, numbers as in ECMAScript',
    (type, coordinates) => {
      expect(canonical({ type, coordinates })).toBe(JSON.stringify({ coordinates, type }))
      const point = { coordinates: [0, 0], type: 'Point' }
      const collection = { type: 'GeometryCollection', geometries: [{ type, coordinates }, point] }
      const sorted = { geometries: [{ coordinates, type }, point], type: 'GeometryCollection' }
      expect(canonical(collection)).toBe(JSON.stringify(sorted))
    },
  )
})

testSentences()
