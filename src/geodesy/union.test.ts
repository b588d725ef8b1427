import { Geodesic } from 'geographiclib-geodesic'
import type { Geometry, Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { EFFORT, hunt } from '../../test/seed'
import {
  along,
  box,
  closed,
  line,
  parts as union,
  pick,
  point,
  points,
  polygon,
  prepare,
  range,
  travel,
  type Random,
} from '../../test/shapes'
import { areaSquareMeters, contains, distanceMeters, intersects, type PreparedGeometry } from '.'
import { positions } from '../../test/positions'

/**
 * Tests that a union of parts is one point set: every result about it must equal the result about the single
 * polygon that the parts form.
 */

type Ring = Position[]
const WGS84 = Geodesic.WGS84
const wrapped = (lon: number) => (lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon)
type Corners = [Position, Position, Position, Position]
const collection = (...rings: Ring[]): Geometry => ({
  type: 'GeometryCollection',
  geometries: rings.map((ring) => polygon(ring)),
})

const somewhere = (random: Random): Position => {
  const lon = random() * 360 - 180
  const lat = random() * 170 - 85
  return pick(random, [
    [lon, lat],
    [lon, lat],
    [0, 90],
    [lon, -90],
    [180, lat],
    [-180, lat],
    [lon, 89.9],
    [lon, 0],
  ])
}
const magnitude = (random: Random, least: number, most: number) => least * (most / least) ** random()
const restarted = (random: Random, [, ...ring]: Ring): Ring => {
  const start = Math.floor(random() * ring.length)
  const turned = [...ring.slice(start), ...ring.slice(0, start)]
  return closed(random() < 0.5 ? turned.reverse() : turned)
}

/** Parts that form a whole, and positions inside it. */
interface Tiling {
  whole: Ring
  parts: Ring[]
  inner: Position[]
}
/** Maps positions of a square from -1 to 1 to positions on the ground. */
type Map = (x: number, y: number) => Position

const grid = (random: Random, at: Map): readonly [Position[][], Ring] => {
  const [columns, rows] = [2 + Math.floor(random() * 5), 2 + Math.floor(random() * 5)]
  const jitter = pick(random, [0, 0.3])
  const place = (i: number, count: number) => (2 * (i + jitter * (random() - 0.5))) / count - 1
  const rowsOf = range(rows + 1, (j) => range(columns + 1, (i) => at(place(i, columns), place(j, rows))))
  const side = (j: number) => rowsOf[j]!
  const outline = [
    ...side(0).slice(0, -1),
    ...rowsOf.slice(0, -1).map((row) => row[columns]!),
    ...side(rows).slice(1).reverse(),
    ...rowsOf
      .slice(1)
      .reverse()
      .map((row) => row[0]!),
  ]
  return [rowsOf, closed(outline)]
}
const quadsOf = (rows: Position[][]) =>
  rows
    .slice(1)
    .flatMap((row, j) => row.slice(1).map((p, i) => [rows[j]![i]!, rows[j]![i + 1]!, p, row[i]!] as const))
const innerOf = (rows: Position[][]) => rows.slice(1, -1).flatMap((row) => row.slice(1, -1))
const rim = (random: Random, at: Map, count: number) =>
  range(count, (i) => {
    const [turn, radius] = [(2 * Math.PI * (i + 0.4 * random())) / count, 0.5 + 0.5 * random()]
    return at(radius * Math.sin(turn), radius * Math.cos(turn))
  })

const TILINGS: Record<string, (random: Random, at: Map) => Tiling> = {
  'as a grid': (random, at) => {
    const [rows, whole] = grid(random, at)
    return { whole, parts: quadsOf(rows).map((quad) => closed([...quad])), inner: innerOf(rows) }
  },
  triangles: (random, at) => {
    const [rows, whole] = grid(random, at)
    const halves = ([a, b, c, d]: readonly Position[], cut: boolean) =>
      cut ? [closed([a!, b!, c!]), closed([a!, c!, d!])] : [closed([a!, b!, d!]), closed([b!, c!, d!])]
    return {
      whole,
      parts: quadsOf(rows).flatMap((quad) => halves(quad, random() < 0.5)),
      inner: innerOf(rows),
    }
  },
  'as a fan from its middle': (random, at) => {
    const ends = rim(random, at, 3 + Math.floor(random() ** 2 * 60))
    const hub = at(0, 0)
    const parts = ends.map((end, i) => closed([hub, end, ends[(i + 1) % ends.length]!]))
    return { whole: closed(ends), parts, inner: [hub] }
  },
  'as a fan from a corner': (random, at) => {
    const count = 3 + Math.floor(random() ** 2 * 60)
    const ends = range(count, (i) => {
      const turn = (Math.PI * (i + 0.4 * random())) / count / 2
      return at(2 * Math.sin(turn) - 1, 2 * Math.cos(turn) - 1)
    })
    const hub = at(-1, -1)
    const parts = ends.slice(1).map((end, i) => closed([hub, ends[i]!, end]))
    return { whole: closed([hub, ...ends]), parts, inner: [along(hub, ends[1]!, 0.5)] }
  },
  'as rings around a core': (random, at) => {
    const [count, levels] = [3 + Math.floor(random() * 9), 1 + Math.floor(random() * 3)]
    const rings = range(levels + 1, (j) => {
      const radius = (j + 1) / (levels + 1)
      return range(count, (i) =>
        at(radius * Math.sin((2 * Math.PI * i) / count), radius * Math.cos((2 * Math.PI * i) / count)),
      )
    })
    const next = (i: number) => (i + 1) % count
    const around = rings
      .slice(1)
      .flatMap((ring, j) =>
        ring.map((p, i) => closed([rings[j]![i]!, rings[j]![next(i)]!, ring[next(i)]!, p])),
      )
    return {
      whole: closed(rings[levels]!),
      parts: [closed(rings[0]!), ...around],
      inner: rings.slice(0, -1).flat(),
    }
  },
}

const DECIMALS = [5, 6, 7, 8, 9]
/** Tiling at any position, from 1 m to 2,000 km, with coordinates that are rounded or not. */
function tilingOf(kind: string, random: Random): Tiling & { centre: Position; radius: number } {
  const centre = somewhere(random)
  const radius = magnitude(random, 1, 2e6)
  const turn = pick(random, [0, 90, random() * 360])
  // Rounding may change a tenth of the smallest part.
  const digits = pick(random, [
    undefined,
    ...DECIMALS.filter((decimals) => 111_000 * 10 ** -decimals < radius / 400),
  ])
  const at: Map = (x, y) => {
    const place = travel(centre, (Math.atan2(x, y) * 180) / Math.PI + turn, Math.hypot(x, y) * radius)
    return digits === undefined ? place : place.map((degrees) => Number(degrees.toFixed(digits)))
  }
  const { whole, parts, inner } = TILINGS[kind]!(random, at)
  return { whole, parts: parts.map((part) => restarted(random, part)), inner, centre, radius }
}

/** Expects equal results for two geometries that are one point set, measured with a third geometry. */
function expectSame(parts: PreparedGeometry, whole: PreparedGeometry, probe: Geometry): void {
  const other = prepare(probe)
  const answers = (one: PreparedGeometry) => [
    contains(one, other),
    contains(other, one),
    intersects(one, other),
  ]
  expect(answers(parts), JSON.stringify(probe)).toEqual(answers(whole))
  const distance = distanceMeters(whole, other)
  expect(Math.abs(distanceMeters(parts, other) - distance)).toBeLessThan(1e-6 + 1e-13 * distance)
}
/**
 * Expects two geometries to be one point set: they have equal results for shapes around a position, and each
 * contains the other.
 */
function expectOne(
  parts: Geometry,
  whole: Geometry,
  random: Random,
  [centre, radius]: [Position, number],
  probes: Geometry[],
) {
  const [a, b] = [prepare(parts), prepare(whole)]
  const spot = () => travel(centre, random() * 360, 1.4 * radius * Math.sqrt(random()))
  const triangle = (p: Position) =>
    polygon(closed([p, travel(p, 20, radius / 8), travel(p, 110, radius / 8)]))
  const random3 = range(2, () => [point(spot()), line(spot(), spot()), triangle(spot())]).flat()
  for (const other of [...probes, ...random3]) expectSame(a, b, other)
  expect([contains(a, b), contains(b, a), distanceMeters(a, b)]).toEqual([true, true, 0])
  return [a, b] as const
}
const areaTolerance = (area: number) => (area > 1e12 ? 0.2 : 1e-3 + 1e-12 * area)
const expectSameArea = ([a, b]: readonly [PreparedGeometry, PreparedGeometry]) => {
  const area = areaSquareMeters(b)
  expect(Math.abs(areaSquareMeters(a) - area)).toBeLessThan(areaTolerance(area))
}

/** Defines a test of random shapes. */
const always = (name: string, holds: (random: Random) => void) =>
  hunt(name, 3, ({ cases, random }) => {
    for (let i = 0; i < cases; i++) holds(random)
  })

describe('a tiling has the same results as the whole polygon', () => {
  for (const kind of Object.keys(TILINGS))
    always(`for the tiling "${kind}"`, (random) => {
      const { whole, parts, inner, centre, radius } = tilingOf(kind, random)
      const edges = parts.flatMap((part) => part.slice(1).map((end, i) => [part[i]!, end] as const))
      const [a, b] = pick(random, edges)
      const onSeam = () => along(...pick(random, edges), random())
      const probes = [
        ...[points(inner), point(pick(random, inner)), point(along(a, b, random())), line(a, b)],
        ...[line(along(a, b, 0.1), along(a, b, 0.8)), line(onSeam(), onSeam())],
        ...[points([onSeam(), onSeam(), pick(random, whole)]), polygon(pick(random, parts))],
      ]
      const together = (random() < 0.8 ? union : collection)(...parts)
      const pair = expectOne(together, polygon(whole), random, [centre, radius], probes)
      expect(contains(pair[0], prepare(points(inner)))).toBe(true)
      if (together.type === 'MultiPolygon') expectSameArea(pair)
      // If one of its parts is missing, the union is another point set.
      const missing = pick(random, parts)
      const rest = prepare(union(...parts.filter((part) => part !== missing)))
      for (const lost of [polygon(missing), polygon(whole), together])
        expect(contains(rest, prepare(lost))).toBe(false)
      expect(contains(pair[0], rest)).toBe(true)
      expect(
        areaSquareMeters(pair[1]) - areaSquareMeters(rest) - areaSquareMeters(prepare(polygon(missing))),
      ).toBeCloseTo(0, radius > 1e5 ? 0 : 3)
    })
  test('if it has hundreds of parts', () => {
    const side = EFFORT < 1 ? 16 : 32
    const [lon, lat] = [(x: number) => wrapped(179 + (2 * x) / side), (y: number) => 60 + y / side]
    const parts = range(side * side, (i) => {
      const [x, y] = [i % side, Math.floor(i / side)]
      return box(lon(x), lat(y), lon(x + 1), lat(y + 1))
    })
    const together = prepare(union(...parts))
    const hubs = parts.map(([corner]) => corner!).filter(([lon, lat]) => lon !== 179 && lat !== 60)
    expect(contains(together, prepare(points(hubs)))).toBe(true)
    expect(contains(together, prepare(line([179.3, 60.2], [-179.5, 60.8])))).toBe(true)
    expect(contains(together, prepare(polygon(box(179.3, 60.2, -179.5, 60.8))))).toBe(true)
    const hole = prepare(union(...parts.filter((_, i) => i !== side * (side / 2 - 1) + (5 * side) / 8)))
    expect(contains(hole, prepare(points(hubs)))).toBe(true)
    expect(contains(hole, prepare(polygon(box(179.3, 60.2, -179.5, 60.8))))).toBe(false)
  })
})

describe('parts with T-junctions have the same results as the whole polygon if the junctions are', () => {
  always('exactly on a meridian', (random) => {
    const middle = pick(random, [0, 180, -180, random() * 360 - 180])
    const width = magnitude(random, 1e-5, 10)
    const south = random() * 40 - 20
    const [west, east] = [wrapped(middle - width), wrapped(middle + width)]
    const heights = () =>
      [0, ...range(Math.floor(random() * 9), () => 0.05 + 0.9 * random()).sort(), 1].map(
        (y) => south + width * y,
      )
    const [left, right] = [heights(), heights()]
    const [before, after] = [middle === -180 ? 180 : middle, middle === 180 ? -180 : middle]
    const parts = [
      ...left.slice(1).map((y, i) => box(west, left[i]!, before, y)),
      ...right.slice(1).map((y, i) => box(after, right[i]!, east, y)),
    ]
    const top = left.at(-1)!
    const whole = closed([
      [west, south],
      [middle, south],
      ...right.map((y) => [east, y]),
      [middle, top],
      ...left
        .slice(1)
        .reverse()
        .map((y) => [west, y]),
    ])
    const seam = (): Position => [middle, south + width * random()]
    const junctions = [...left.slice(1, -1), ...right.slice(1, -1)].map((y) => [middle, y])
    const probes = [
      point(seam()),
      points([...junctions, seam()]),
      line([middle, south], [middle, top]),
      line(seam(), [east, south]),
    ]
    const around: [Position, number] = [[middle, south + width / 2], width * 100_000]
    expectSameArea(expectOne(union(...parts), polygon(whole), random, around, probes))
  })
  test('on an edge near a pole whose pieces pass the pole on its other side', () => {
    const [hub, far, west] = [
      [81.9151984155178, 89.84707218367204],
      [81.91519841551782, 89.84350070748387],
      [-8.084801584482193, 89.84350070748387],
    ] as [Position, Position, Position]
    const parts = union(
      closed([[81.9151984155178, 89.87784817354671], hub, west]),
      closed([hub, far, west]),
      closed([[-98.08480158448221, 89.92608527182585], far, [171.9151984155178, 89.84350070748387]]),
    )
    expect(contains(prepare(parts), prepare(point(hub)))).toBe(true)
  })
  always('on an edge anywhere, rounded to doubles', (random) => {
    const [centre, radius, turn] = [somewhere(random), magnitude(random, 0.5, 1e6), random() * 360]
    const [a, right, b, left] = range(4, (i) => travel(centre, turn + 90 * i, radius)) as Corners
    const side = (tip: Position) => {
      const cuts = range(Math.floor(random() * 8), random)
        .sort((p, q) => p - q)
        .map((share) => along(a, b, share))
      const ends = [a, ...cuts, b]
      return { cuts, parts: ends.slice(1).map((end, i) => closed([ends[i]!, end, tip])) }
    }
    const [one, other] = [side(left), side(right)]
    const junctions = [along(a, b, random()), ...one.cuts, ...other.cuts]
    const probes = [
      point(pick(random, junctions)),
      points(junctions),
      line(a, b),
      line(pick(random, junctions), left),
    ]
    const across = polygon(
      closed([along(a, b, 0.2), along(a, left, 0.5), along(a, b, 0.7), along(a, right, 0.5)]),
    )
    const together = union(...one.parts, ...other.parts)
    const whole = polygon(closed([a, right, b, left]))
    expectSameArea(expectOne(together, whole, random, [centre, radius], [...probes, across]))
  })
})

describe('strongly overlapping circles', () => {
  /** Returns positions every few metres, many of them almost equal. */
  const trackOf = (random: Random, count: number): Position[] => {
    let [at, azimuth] = [somewhere(random), random() * 360]
    const step = magnitude(random, 1, 1000)
    return range(count, (i) => {
      azimuth += 60 * (random() - 0.5)
      return (at = travel(at, azimuth, i % 40 > 25 ? step / 100 : step))
    })
  }
  const CORNERS = 32
  const circle = (centre: Position, radius: number) =>
    closed(range(CORNERS, (i) => travel(centre, (-360 * i) / CORNERS, radius)))
  hunt(
    'contain exactly the points near their centres, along a track',
    1,
    ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const track = trackOf(random, 80 + Math.floor(120 * random()))
        const radius = 4 * WGS84.Inverse(track[0]![1]!, track[0]![0]!, track[1]![1]!, track[1]![0]!).s12!
        const circles = track.map((centre) => restarted(random, circle(centre, radius)))
        const together = prepare(union(...circles))
        const from = ([lon, lat]: Position) =>
          Math.min(...track.map((centre) => WGS84.Inverse(centre[1]!, centre[0]!, lat!, lon!).s12!))
        // The sides of a circle's polygon pass nearer to the centre than its corners.
        const least = radius * Math.cos(Math.PI / CORNERS) - 0.01
        for (let k = 0; k < 60; k++) {
          const place = travel(pick(random, track), random() * 360, radius * (0.8 + 0.4 * random()))
          const far = from(place)
          if (far > least && far < radius + 0.01) continue
          expect(contains(together, prepare(point(place))), JSON.stringify([track, place])).toBe(far < radius)
        }
        const away = travel(track[0]!, 0, 1000 * radius)
        const between = from(away) - distanceMeters(together, prepare(point(away)))
        expect(between).toBeGreaterThan(least - 0.01)
        expect(between).toBeLessThan(radius + 0.01)
        const others = prepare(union(...circles.toReversed()))
        expect([contains(together, others), contains(others, together)]).toEqual([true, true])
        expect(contains(together, prepare(line(...track)))).toBe(true)
        const larger = prepare(union(...circles, circle(travel(track[0]!, 0, 30 * radius), radius)))
        expect([contains(larger, together), contains(together, larger)]).toEqual([true, false])
      }
    },
    ['slow'],
  )
  hunt(
    'have the results of their union if they cover most of the ellipsoid, or all of it',
    1,
    ({ cases, random }) => {
      for (let i = 0; i < cases; i++) {
        const centres = range(120, () => somewhere(random))
        const radius = 3.5e6
        const together = prepare(union(...centres.map((centre) => circle(centre, radius))))
        for (let k = 0; k < 20; k++) {
          const [lon, lat] = somewhere(random)
          const far = Math.min(
            ...centres.map((centre) => WGS84.Inverse(centre[1]!, centre[0]!, lat!, lon!).s12!),
          )
          if (far > 0.98 * radius && far < 1.001 * radius) continue
          expect(contains(together, prepare(point([lon!, lat!])))).toBe(far < radius)
        }
      }
    },
  )
})

describe('a geometry contains itself,', () => {
  test('even if it crosses itself in a million positions', () => {
    const parked = range(2000, (i) => travel([10, 50], (i * 137.5) % 360, 2 + (i % 7) / 7))
    expect(contains(prepare(line(...parked)), prepare(line(...parked)))).toBe(true)
    expect(contains(prepare(line(...parked)), prepare(line(parked[0]!, [11, 50])))).toBe(false)
  })
})

describe('parts that are inside or touch other parts', () => {
  const shapes = (random: Random) => {
    const [centre, radius, turn] = [somewhere(random), magnitude(random, 1, 1e6), random() * 360]
    const ring = (count: number, size: number) =>
      range(count, (i) =>
        travel(centre, turn + (360 * (i + 0.3 * random())) / count, radius * size * (0.85 + 0.15 * random())),
      )
    const [shell, hole] = [ring(7 + Math.floor(random() * 6), 1), ring(3 + Math.floor(random() * 8), 0.4)]
    const probes = [
      ...[point(centre), polygon(closed(hole)), points(hole), point(along(hole[0]!, hole[1]!, random()))],
      ...[line(...hole), line(centre, shell[0]!)],
    ]
    return { centre, radius, shell, hole, probes }
  }
  always('fill a hole exactly', (random) => {
    const { centre, radius, shell, hole, probes } = shapes(random)
    const pieces = hole.map((p, i) => closed([centre, p, hole[(i + 1) % hole.length]!]))
    const parts = pick(random, [[closed(hole)], pieces])
    const filled = {
      type: 'MultiPolygon',
      coordinates: [[closed(shell), closed(hole)], ...parts.map((part) => [part])],
    } as Geometry
    expectSameArea(expectOne(filled, polygon(closed(shell)), random, [centre, radius], probes))
  })
  always('are one point set if they are nested, equal or overlapping, and have no area', (random) => {
    const { centre, radius, shell, hole, probes } = shapes(random)
    const overlapping = shell.map((_, i) =>
      closed([centre, ...range(3, (k) => shell[(i + k) % shell.length]!)]),
    )
    for (const parts of [
      [closed(shell), closed(hole)],
      [closed(shell), closed(shell), closed(shell.slice().reverse())],
      overlapping,
    ]) {
      const [together] = expectOne(union(...parts), polygon(closed(shell)), random, [centre, radius], probes)
      expect(() => areaSquareMeters(together)).toThrow(/overlap/)
    }
  })
  always('meet nowhere else if they share only a vertex', (random) => {
    const [hub, radius, turn, count] = [
      somewhere(random),
      magnitude(random, 10, 1e6),
      random() * 360,
      3 + Math.floor(random() * 12),
    ]
    const at = (share: number, size: number) => travel(hub, turn + (360 * share) / count, radius * size)
    const together = prepare(union(...range(count, (i) => closed([hub, at(i, 1), at(i + 0.5, 1)]))))
    const inside = (...probes: Geometry[]) => probes.map((one) => contains(together, prepare(one)))
    expect(
      inside(points([hub, at(0.2, 0.5)]), line(at(0.2, 0.5), hub), line(at(0.2, 0.5), hub, at(1.3, 0.4))),
    ).toEqual([true, true, true])
    const outside = inside(point(hub), point(at(0.7, 0.5)), line(at(0.3, 0.5), at(1.3, 0.5)))
    expect(outside).toEqual([false, false, false])
  })
})

describe('a line across a gap between parts is contained only if the gap is below 1 cm,', () => {
  for (const gap of [0.002, 0.008, 0.012, 0.03])
    always(`for a gap of ${gap} m between parts`, (random) => {
      const [radius, turn] = [magnitude(random, 5, 1e5), random() * 360]
      const centre: Position = [random() * 360 - 180, random() * 160 - 80]
      const [a, right, b, left] = range(4, (i) => travel(centre, turn + 90 * i, radius)) as Corners
      const near = range(41, (i) => along(a, b, i / 40))
      const { azi1 } = WGS84.Inverse(a[1]!, a[0]!, b[1]!, b[0]!)
      const shifted = near.map((p) => {
        const ahead = p === near[0] ? azi1! : WGS84.Inverse(a[1]!, a[0]!, p[1]!, p[0]!).azi2!
        return travel(p, ahead - 90, gap)
      })
      const [one, other] = [closed([...near, left]), closed([...shifted, right])]
      const together = prepare(union(one, other))
      const across = [
        line(along(centre, left, 0.3), along(centre, right, 0.4)),
        polygon(closed([a, left, b, right])),
      ]
      for (const probe of across) expect(contains(together, prepare(probe))).toBe(gap < 0.01)
      const between = prepare(point(along(near[9]!, shifted[9]!, 0.5)))
      expect(Math.abs(distanceMeters(together, between) - gap / 2)).toBeLessThan(1e-6 + gap * 1e-3)
      expect(Math.abs(distanceMeters(prepare(polygon(one)), prepare(polygon(other))) - gap)).toBeLessThan(
        1e-6 + gap * 0.02,
      )
    })
})

describe('parts at the poles and the antimeridian have the same results as the whole polygon', () => {
  always('as sectors whose hub is a pole with any longitude', (random) => {
    const [pole, count, radius] = [
      pick(random, [90, -90]),
      3 + Math.floor(random() * 12),
      magnitude(random, 1, 5e6),
    ]
    const start = pick(random, [-180, 0, random() * 360 - 180])
    const lons = range(count, (i) => wrapped(start + (360 * (i + 0.3 * (i && random()))) / count))
    const ends = lons.map((lon): Position => [lon, travel([0, pole], 0, radius * (0.7 + 0.3 * random()))[1]!])
    const tips = pick(random, [
      () => [[0, pole]],
      (i: number) => [
        [lons[(i + 1) % count]!, pole],
        [lons[i]!, pole],
      ],
    ])
    const parts = ends.map((end, i) => closed([end, ends[(i + 1) % count]!, ...tips(i)]))
    const half = (i: number) => along(ends[i]!, [lons[i]!, pole], 0.5)
    const probes = [
      point([33, pole]),
      point(half(0)),
      line(half(0), [0, pole], half(1)),
      line(ends[0]!, [0, pole]),
      points([half(0), [7, pole]]),
    ]
    expectSameArea(expectOne(union(...parts), polygon(closed(ends)), random, [[0, pole], radius], probes))
  })
  always('as a ring cut open at 180 degrees, down to the pole and back', (random) => {
    const [pole, count, radius] = [
      pick(random, [90, -90]),
      4 + Math.floor(random() * 12),
      magnitude(random, 1, 5e6),
    ]
    const coast = range(count - 1, (i): Position => [
      (360 * (i + 1 + 0.3 * random())) / count - 180,
      travel([0, pole], 0, radius * (0.7 + 0.3 * random()))[1]!,
    ])
    const seam = coast[0]![1]!
    const open = closed([
      [-180, seam],
      ...coast,
      [180, seam],
      [180, pole],
      ...pick(random, [[], [[0, pole]]]),
      [-180, pole],
    ])
    const onCut = (): Position => [pick(random, [180, -180]), seam + (pole - seam) * random()]
    const probes = [point([33, pole]), point(onCut()), line(onCut(), onCut()), points([onCut(), [5, pole]])]
    const whole = polygon(closed([[-180, seam], ...coast]))
    expectSameArea(expectOne(polygon(restarted(random, open)), whole, random, [[0, pole], radius], probes))
  })
})

describe('parts with different longitudes near a pole', () => {
  const sectors: [number, number][] = [
    [-83, 32],
    [-31, 78],
    [78, 121],
    [121, -127],
    [176, -127],
    [-127, -31],
  ]
  test.each([90, -90])('contain their points if they are overlapping sectors at %d degrees', (pole) => {
    const rim = pole - Math.sign(pole)
    const sector = ([west, east]: number[]) =>
      closed(positions(`179 ${pole}, ${west} ${rim}, ${east} ${rim}`))
    const together = prepare(union(...sectors.map(sector)))
    const half = Math.sign(pole) / 2
    const held = points(positions(`5 ${pole}, 0 ${pole - half}, 100 ${rim + half}`))
    expect(contains(together, prepare(held))).toBe(true)
  })
  test('have the sum of their areas if their meridians differ by rounding', () => {
    const [hub, west, east]: Ring = positions(`
      138.4924405720085 -90, 65.65617465827658 -89.99992913451281,
      113.46159412991256 -89.99993707939575
    `)
    const [shorter, longer]: Ring = positions(
      '86.57585840485989 -89.99996356800393, 86.5758584048599 -89.99994917339063',
    )
    const parts = [closed([hub!, west!, longer!]), closed([hub!, shorter!, east!])]
    const [sum, both] = [
      parts.map((part) => areaSquareMeters(prepare(polygon(part)))),
      areaSquareMeters(prepare(union(...parts))),
    ]
    expect(both).toBeCloseTo(sum[0]! + sum[1]!, 4)
  })
  test('are contained if rounding moves an edge past the pole', () => {
    const lat = -89.99999310556346
    const parts: Ring[] = [
      closed(positions(`-139.17812668718398 ${lat}, 40.82187331281603 ${lat}, 130.82187331281602 ${lat}`)),
      closed(
        positions(`
          -139.17812668718398 -89.99999977564389, 40.821873312816024 -89.9999984566077,
          -49.178126687183976 ${lat}
        `),
      ),
    ]
    expect(contains(prepare(union(...parts)), prepare(polygon(parts[1]!)))).toBe(true)
  })
  test('have the same area if a spike follows almost the same meridian', () => {
    const ring = closed(
      positions(`
        59.48270890731362 89.99999861377292, 59.482708907313615 89.99999909821409,
        90.7008440704085 89.99999925266836, 59.48270890731362 89.99999885599351
      `),
    )
    const bare = closed(ring.slice(1, -1))
    expect(areaSquareMeters(prepare(polygon(ring)))).toBeCloseTo(areaSquareMeters(prepare(polygon(bare))), 6)
  })
  test('contain a line that ends in a vertex at the pole', () => {
    const sector = prepare(polygon(closed(positions('0 90, 10 89, 30 89'))))
    for (const lon of [0, 20, -90]) expect(contains(sector, prepare(line([20, 89.5], [lon, 90])))).toBe(true)
    expect(contains(sector, prepare(line([20, 89.5], [0, 90], [60, 89.5])))).toBe(false)
  })
})

describe('a union contains its parts if their vertices differ by rounding', () => {
  // Each corner differs in each part by a nanometre to a micrometre.
  const JITTERED: Record<string, Ring[]> = {
    'at the south pole': [
      closed(
        positions(`
          168.65443632937942 -89.01569112433782, -12.738184779882431 -89.99999999999999,
          -101.34556367062119 -89.0156911243378
        `),
      ),
      closed(
        positions(`
          106.70133735984564 -90, -11.345563670620518 -89.01569112433779,
          -56.345563670620294 -88.60797565431794
        `),
      ),
      closed(
        positions(`
          123.6544363293803 -88.60797565431794, 78.65443632937968 -89.01569112433779,
          93.28330831602216 -89.99999999999997
        `),
      ),
    ],
    'at the north pole': [
      closed(
        positions(`
          124.20390679500996 89.99999999999969, -154.17287025600672 89.99692994841585,
          -109.17287025679641 89.99565829141247
        `),
      ),
      closed(
        positions(`
          0 90, 160.82712974399328 89.99565829141247, -154.17287025600672 89.99692994841585
        `),
      ),
    ],
  }
  test.each(Object.entries(JITTERED))('%s', (_, parts) => {
    const together = prepare(union(...parts))
    for (const part of parts) expect(contains(together, prepare(polygon(part)))).toBe(true)
  })
})
