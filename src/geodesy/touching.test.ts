import { Geodesic } from 'geographiclib-geodesic'
import type { Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { box, closed, parts, pick, polygon, prepare, range, type Random } from '../../test/shapes'
import { areaOf, clip, distanceTo, isInside, planeAt, type Point } from '../../test/reference/plane'
import { sentence, testSentences } from '../../test/sentences'
import { GeometryError, areaSquareMeters, contains, distanceMeters, intersects } from '.'
import { positions } from '../../test/positions'

/**
 * Tests rings that touch to half a centimetre, such as vertices in the middle of straight walls. The true
 * values are computed in a plane.
 */

type Ring = Position[]
const areaOfRing = (ring: Ring) => areaSquareMeters(prepare(polygon(ring)))
const refusalOf = (measure: () => unknown): GeometryError | undefined => {
  try {
    measure()
    return undefined
  } catch (error) {
    if (error instanceof GeometryError) return error
    throw error
  }
}

type At = (x: number, y: number) => Position
/**
 * Converts metres along and across a direction to positions, at a random position, rounded to some decimals.
 */
const ground = (random: Random, digits: number | undefined): At => {
  const [lon, lat] = [random() * 340 - 170, random() * 140 - 70]
  const turn = pick(random, [0, 0, 90, random() * 360])
  return (x, y) => {
    const azimuth = (Math.atan2(x, y) * 180) / Math.PI + turn
    const { lon2, lat2 } = Geodesic.WGS84.Direct(lat, lon, azimuth, Math.hypot(x, y))
    return [lon2!, lat2!].map((degrees) => (digits === undefined ? degrees : Number(degrees.toFixed(digits))))
  }
}

/**
 * A house, and a courtyard with one or two vertices on one of its walls. `out` moves these vertices that many
 * metres beyond the wall.
 */
const courtyard = (random: Random, digits: number | undefined, out = 0) => {
  const at = ground(random, digits)
  const [width, depth] = [5 * 40 ** random(), 5 + 50 * random()]
  const corners: Point[] = [
    [0, 0],
    [width, 0],
    [width, depth],
    [0, depth],
  ]
  const shell = corners.map(([x, y]) => at(x, y))
  const [middle, half] = [width * (0.3 + 0.4 * random()), width * (0.05 + 0.15 * random())]
  const ends = pick(random, [[middle], [middle - half, middle + half]])
  const hole = [
    ...ends.map((x) => at(x, -out)),
    at(middle + half, depth * 0.4),
    at(middle - half, depth * 0.4),
  ]
  // A wall from east to west is straight in degrees and bulges on the ground.
  const isUpright = shell[0]![1] === shell[1]![1] && out === 0
  if (isUpright) for (const i of ends.keys()) hole[i]![1] = shell[0]![1]!
  return { shell, hole }
}

/**
 * Rows of parcels between straight streets: their corners lie in the middle of sides of the next row. About
 * 10 parcels; 150 for a size of 4.
 */
const cadastre = (random: Random, digits: number | undefined, size = 1): Ring[] => {
  const at = ground(random, digits)
  const [width, depth] = [size * 30 * 10 ** random(), 10 + 30 * random()]
  return range(size * (2 + Math.floor(random() * 3)), (row) => {
    const count = size * (1 + Math.floor(random() * 5))
    const ends = [0, ...range(count, (i) => (i + 0.02 + 0.96 * random()) / count), 1].map(
      (share) => share * width,
    )
    return ends
      .slice(1)
      .map((end, i) =>
        closed([
          at(ends[i]!, row * depth),
          at(end, row * depth),
          at(end, (row + 1) * depth),
          at(ends[i]!, (row + 1) * depth),
        ]),
      )
  }).flat()
}

const DIGITS = [7, 8, undefined]
/** Tolerance in square metres: half a micrometre times the length of an edge may be lost or gained. */
const CM2 = 1e-4

describe('a courtyard (hole) that touches an outer wall', () => {
  hunt('is accepted, and its area is subtracted', 60, ({ cases, random, report }) => {
    let refused = 0
    let worst = 0
    for (let i = 0; i < cases; i++) {
      const digits = pick(random, DIGITS)
      const { shell, hole } = courtyard(random, digits)
      const given = polygon(closed(shell), closed(hole))
      const plane = planeAt(shell[0]!)
      const [walls, yard] = [shell.map(plane), hole.map(plane)]
      const outside = Math.abs(areaOf(yard)) - Math.abs(areaOf(clip(yard, walls)))
      const farthest = Math.max(...yard.map((p) => (isInside(p, walls) ? 0 : distanceTo(p, walls))))
      const refusal = refusalOf(() => prepare(given))
      if (refusal) {
        refused++
        expect(farthest, JSON.stringify(given)).toBeGreaterThan(0.0049)
        continue
      }
      const house = prepare(given)
      const area = areaOfRing(closed(shell)) - areaOfRing(closed(hole)) + outside
      worst = Math.max(worst, Math.abs(areaSquareMeters(house) - area))
      expect(Math.abs(areaSquareMeters(house) - area), JSON.stringify(given)).toBeLessThan(CM2)
      const all = [...walls, ...yard]
      const [west, east] = [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))]
      const [south, north] = [Math.min(...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y))]
      for (let k = 0; k < 5; k++) {
        const [u, v] = [1.4 * random() - 0.2, 1.4 * random() - 0.2]
        const [x, y] = [west + u * (east - west), south + v * (north - south)]
        const lon = shell[0]![0]! + x / (111_320 * Math.cos((shell[0]![1]! * Math.PI) / 180))
        const place = [lon, shell[0]![1]! + y / 111_320]
        const p = plane(place)
        const near = Math.min(distanceTo(p, walls), distanceTo(p, yard))
        if (near < 0.006) continue
        const spot = prepare({ type: 'Point', coordinates: place })
        const isIn = isInside(p, walls) && !isInside(p, yard)
        const about = JSON.stringify([given, place])
        expect(contains(house, spot), about).toBe(isIn)
        expect(intersects(house, spot), about).toBe(isIn)
        // The boundary ends at the opening through which the courtyard connects to the outside. The opening
        // is narrower than the yard.
        if (!isIn && !isInside(p, yard))
          expect(distanceMeters(house, spot), about).toBeGreaterThanOrEqual(distanceTo(p, walls) - 1e-5)
        // The courtyard has an opening of micrometres.
        if (hole.length === 3 && digits === undefined && !isIn && isInside(p, yard))
          expect(Math.abs(distanceMeters(house, spot) - near), about).toBeLessThan(0.001)
      }
    }
    report(`${refused} of ${cases} refused; largest error of an area ${worst.toExponential(1)} m2`)
    expect(refused).toBeLessThan(0.03 * cases + 3)
  })
  test('is accepted if its walls cross the outer wall a micrometre apart', () => {
    const house = positions(`
      120.2922108 56.830586, 120.2923818 56.830586, 120.2923818 56.8307956, 120.2922108 56.8307956
    `)
    const yard = positions('120.2922846 56.830586, 120.2923086 56.8306698, 120.2922606 56.8306698')
    const [walls, open] = [house, yard].map(closed)
    const area = areaOfRing(walls!) - areaOfRing(open!)
    expect(Math.abs(areaSquareMeters(prepare(polygon(walls!, open!))) - area)).toBeLessThan(1e-6)
  })
  test('is accepted 1.2 micrometres beyond a geodesic wall', () => {
    const shell = positions('0 50, 0.0001 50, 0.0001 50.0001, 0 50.0001')
    const yard = positions('0.00005 50, 0.00006 50.00003, 0.00004 50.00003')
    const house = prepare(polygon(closed(shell), closed(yard)))
    const area = areaOfRing(closed(shell)) - areaOfRing(closed(yard))
    expect(Math.abs(areaSquareMeters(house) - area)).toBeLessThan(1e-8)
    expect(contains(house, prepare({ type: 'Point', coordinates: [0.00002, 50.00002] }))).toBe(true)
    expect(intersects(house, prepare({ type: 'Point', coordinates: [0.00005, 50.00002] }))).toBe(false)
  })
  hunt('is rejected if it crosses the outer wall by 6 mm or more', 20, ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      const { shell, hole } = courtyard(random, undefined, 0.006 * 1000 ** random())
      const given = polygon(closed(shell), closed(hole))
      const refusal = refusalOf(() => prepare(given))
      expect(refusal, JSON.stringify(given)).toBeDefined()
    }
  })
  test('is rejected at 7 mm beyond the wall, with the position to insert into the wall', () => {
    const house = (y: number) =>
      polygon(
        closed(positions('10 0, 10.001 0, 10.001 0.001, 10 0.001')),
        closed([
          [10.0005, y],
          [10.0006, 0.0003],
          [10.0004, 0.0003],
        ]),
      )
    expect(() => prepare(house(-0.007 / 110_574))).toThrow(sentence())
    expect(() => prepare(house(-0.2 / 110_574))).toThrow(sentence())
  })
})

test('a ring that is thinner than half a centimetre and crosses itself has one area, its reverse is refused', () => {
  const ring = positions(`
    0 -90, 179.89999999999904 -45, -178.56214089213273 -44.9999999999895, 179.90000000291846 -45, 0 -90
  `)
  expect(areaOfRing(ring)).toBeCloseTo(609.04, 1)
  // Bending its edges turns what is left of the reverse inside out: 1,218 m2 without the refusal.
  expect(refusalOf(() => areaOfRing(ring.toReversed()))?.message).toEqual(sentence())
})

test('holes that meet at a corner, micrometres from each other, are accepted and subtracted', () => {
  const [shell, ...holes] = [
    `102.092454673581 41.97368101521, 102.092188646186 41.974513009759, 102.089958745497 41.974115957424,
    102.090224800255 41.973283968001, 102.091339733447 41.973482497026`,
    '102.091339733423 41.973482497013, 102.091897202684 41.973581757469, 102.091712550237 41.973807317307',
    '102.091339733456 41.973482497061, 102.091712550216 41.973807317348, 102.091385492565 41.973908806485',
    '102.091339733424 41.973482497032, 102.091385492532 41.973908806457, 102.091040956183 41.973847458926',
    '102.091339733458 41.973482497055, 102.091040956179 41.973847458912, 102.090810544261 41.973646707769',
    '102.091339733462 41.973482497026, 102.090810544213 41.973646707753, 102.090782265982 41.973383233887',
  ].map((ring) => closed(positions(ring)))
  const area = holes.reduce((rest, hole) => rest - areaOfRing(hole), areaOfRing(shell!))
  const given = prepare(polygon(shell!, ...holes))
  expect(Math.abs(areaSquareMeters(given) - area)).toBeLessThan(10 * CM2)
})

describe('parcels with corners in the middle of the sides of others', () => {
  hunt('have the area of their union', 20, ({ cases, random, report }) => {
    let refused = 0
    let worst = 0
    for (let i = 0; i < cases; i++) {
      const size = i % 20 === 19 ? 4 : 1
      const rings = cadastre(random, pick(random, size === 1 ? [8, 8, 7, undefined] : [8, 9]), size)
      const plane = planeAt(rings[0]![0]!)
      const flat = rings.map((ring) => ring.slice(1).map(plane))
      let area = rings.reduce((sum, ring) => sum + areaOfRing(ring), 0)
      let deepest = 0
      for (const [a, ring] of flat.entries())
        for (const other of flat.slice(0, a)) {
          area -= Math.abs(areaOf(clip(ring, other)))
          for (const [p, walls] of [
            ...ring.map((point) => [point, other] as const),
            ...other.map((point) => [point, ring] as const),
          ])
            if (isInside(p, walls)) deepest = Math.max(deepest, distanceTo(p, walls))
        }
      const together = prepare(parts(...rings))
      const about = JSON.stringify(rings)
      const refusal = refusalOf(() => areaSquareMeters(together))
      if (refusal) {
        refused++
        expect(deepest, about).toBeGreaterThan(0.0049)
        continue
      }
      expect(deepest, about).toBeLessThan(0.0051)
      worst = Math.max(worst, Math.abs(areaSquareMeters(together) - area))
      // The errors of all streets add up.
      const streets = flat.reduce((sum, [, a, b]) => sum + Math.hypot(a![0] - b![0], a![1] - b![1]), 0)
      expect(Math.abs(areaSquareMeters(together) - area), about).toBeLessThan(
        size === 1 ? CM2 : 5e-7 * streets,
      )
      for (const ring of rings) expect(contains(together, prepare(polygon(ring))), about).toBe(true)
    }
    report(`${refused} of ${cases} refused; largest error of an area ${worst.toExponential(1)} m2`)
  })
  hunt('are accepted after the positions that errors name are inserted', 10, ({ cases, random }) => {
    const remedy =
      /insert the position \[([-\d.e]+), ([-\d.e]+)\] of .* after g\.coordinates\[(\d+)\]\[0\]\[(\d+)\]$/
    for (let i = 0; i < cases; i++) {
      const rings = cadastre(random, 7)
      let refusal: GeometryError | undefined
      for (
        let tries = 0;
        tries < 200 && (refusal = refusalOf(() => areaSquareMeters(prepare(parts(...rings)))));
        tries++
      ) {
        const found = remedy.exec(refusal.message)
        expect(found, refusal.message).not.toBeNull()
        const [, lon, lat, part, position] = found!.map(Number)
        rings[part!]!.splice(position! + 1, 0, [lon!, lat!])
      }
      expect(refusal).toBeUndefined()
    }
  })
  test('are rejected if they overlap by 7 mm, with the missing position', () => {
    const over = box(0, 0, 0.001, 0.001)
    const corner: Position = [0.0004, 0.007 / 110_574]
    const under = [box(0, -0.001, 0.0004, 0), box(0.0004, -0.001, 0.001, 0)]
    for (const ring of under)
      for (const [i, [lon, lat]] of ring.entries()) if (lon === corner[0] && lat === 0) ring[i] = corner
    expect(() => areaSquareMeters(prepare(parts(over, ...under)))).toThrow(sentence())
  })
})

describe('rings that cross by half a centimetre or more', () => {
  hunt(
    'are rejected as figure eights of 5 mm to 10 m, and as equal, shifted and nested rings',
    30,
    ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const at = ground(random, undefined)
        const size = 0.005 * 2000 ** random()
        const circle = (x: number, y: number, radius: number, from = 0): Ring =>
          range(3 + Math.floor(random() * 5), (k) => k).map((k, _, all) => {
            const angle = from + (2 * Math.PI * k) / all.length
            return at(x + radius * Math.sin(angle), y + radius * Math.cos(angle))
          })
        // Both lobes begin at the origin and have the same direction, so the ring crosses itself there.
        const [east, west] = [circle(size, 0, size, -Math.PI / 2), circle(-size, 0, size, Math.PI / 2)]
        west[0] = east[0]!
        const eight = closed([...east, ...west.toReversed().slice(-1), ...west.toReversed().slice(0, -1)])
        expect(
          refusalOf(() => prepare(polygon(eight))),
          JSON.stringify(eight),
        ).toBeDefined()
        const shift = Math.min(0.004, size / 20) * random()
        const house = closed(circle(0, 0, 20 * size))
        const yard = circle(0, 0, size)
        const [lon, lat] = [yard[0]![0]! - at(shift, 0)[0]! + at(0, 0)[0]!, yard[0]![1]!]
        const other = closed(yard.map(([x, y], k) => (k === 0 ? [lon, lat] : [x!, y!])))
        expect(refusalOf(() => prepare(polygon(house, closed(yard), other)))).toBeDefined()
        expect(refusalOf(() => prepare(polygon(house, closed(yard), closed(yard))))).toBeDefined()
        expect(
          refusalOf(() => areaSquareMeters(prepare(parts(house, closed(yard))))),
          JSON.stringify([house, yard]),
        ).toBeDefined()
      }
    },
  )
  /** The ring from each of its positions, in both directions. */
  const notations = (ring: Ring): Ring[] =>
    [ring.slice(1), ring.slice(1).toReversed()].flatMap((open) =>
      open.map((_, k) => closed([...open.slice(k), ...open.slice(0, k)])),
    )
  hunt('are rejected for area as parts inside other parts, at their walls', 40, ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      const at = ground(random, undefined)
      const width = 10 * 100 ** random()
      const house = [at(0, 0), at(width, 0), at(width * random(), width)]
      const yard = [at(0.5 * width, 0), at(0.7 * width, 0), at(0.6 * width, 0.1 * width)]
      const rings = [house, yard].map((ring) => pick(random, notations(closed(ring))))
      const both = parts(...pick(random, [rings, rings.toReversed()]))
      expect(
        refusalOf(() => areaSquareMeters(prepare(both))),
        JSON.stringify(both),
      ).toBeDefined()
    }
  })
  test('are rejected as a spike 5 micrometres wide through a wall, from any start', () => {
    const ring = closed(
      positions(`
        10.001953125 30, 10.00390625 30, 10 30.00390625, 10.001953125 30.001953125, 10.005859375 30.005859375,
        10 30.005859375
      `),
    )
    for (const each of notations(ring)) expect(() => prepare(polygon(each))).toThrow(GeometryError)
  })
  test.each([
    [
      'a part without width through another part',
      '10 45.0001220703125, 10 45.0003662109375, 10.000244140625 45.0003662109375',
      '10 45.000244140625, 10.0001220703125 45.000244140625, 10.000244140625 45.000244140625',
    ],
    [
      'a part inside another one, at its wall',
      '10 0, 10.0004 0, 10.0001 0.0004',
      '10.0001 0, 10.0003 0, 10.0002 0.0001',
    ],
  ])('are rejected for area as %s, from any start', (_, first, second) => {
    for (const one of notations(closed(positions(first))))
      for (const other of notations(closed(positions(second))))
        for (const both of [parts(one, other), parts(other, one)])
          expect(() => areaSquareMeters(prepare(both)), JSON.stringify(both)).toThrow(GeometryError)
  })
})

testSentences()
