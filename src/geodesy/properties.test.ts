import fc from 'fast-check'
import { Geodesic, PolygonArea } from 'geographiclib-geodesic'
import type { Geometry, Polygon, Position } from 'geojson'
import { describe, expect } from 'vitest'
import { hunt } from '../../test/seed'
import { along, between, prepare, travel } from '../../test/shapes'
import {
  GeometryError,
  areaSquareMeters,
  canonicalJson,
  centimetersBetween,
  contains,
  distanceCentimeters,
  distanceMeters,
  intersects,
  isWithin,
  lengthMeters,
  prepareGeometry,
  readGeometry,
} from '.'

/**
 * Tests properties of all shapes, at any position and of any size. fast-check tries them on random shapes and
 * prints the smallest example of a failure.
 */
const WGS84 = Geodesic.WGS84

const double = (min: number, max: number) => fc.double({ min, max, noNaN: true })
/** Any position, often at a pole or the antimeridian. */
const place: fc.Arbitrary<Position> = fc.oneof(
  fc.tuple(double(-180, 180), double(-89.9, 89.9)),
  fc.tuple(fc.constantFrom(180, -180, 179.999, 0), double(-80, 80)),
  fc.tuple(double(-180, 180), fc.constantFrom(90, -90, 89.9999, -89.999, 0)),
)
/** Sizes in metres, with every order of magnitude equally likely. */
const size = double(0, 5).map((power) => 20 * 10 ** power)

/** Lines whose edges are about as short as the deciding centimetre are left out. */
const longEnough = (line: Position[]) =>
  line.every((position, i) => between(position, line[(i + 1) % line.length]!).metres > 0.05)

/** Ring around a centre, in either direction, with vertices between half a radius and one radius from it. */
const ringAround = (centre: Position, radius: number) =>
  fc
    .tuple(fc.array(fc.tuple(double(0, 0.5), double(0.5, 1)), { minLength: 6, maxLength: 14 }), fc.boolean())
    .map(([spokes, turned]) => {
      const ring = spokes.map(([jitter, length], i) =>
        travel(centre, ((i + jitter) * 360) / spokes.length, radius * length),
      )
      if (turned) ring.reverse()
      return [...ring, ring[0]!]
    })
const polygonAround = (centre: Position, radius: number): fc.Arbitrary<Polygon> =>
  fc
    .tuple(ringAround(centre, radius), fc.option(ringAround(centre, radius / 4)))
    .map(([shell, hole]) => ({ type: 'Polygon', coordinates: hole ? [shell, hole] : [shell] }))
const lineAround = (centre: Position, radius: number): fc.Arbitrary<Geometry> =>
  fc
    .array(fc.tuple(double(0, 360), double(0, 1)), { minLength: 2, maxLength: 8 })
    .map((spokes) => spokes.map(([azimuth, length]) => travel(centre, azimuth, radius * length)))
    .filter(longEnough)
    .map((coordinates) => ({ type: 'LineString', coordinates }))
const pointAround = (centre: Position, radius: number): fc.Arbitrary<Geometry> =>
  fc
    .tuple(double(0, 360), double(0, 1))
    .map(([azimuth, length]) => ({ type: 'Point', coordinates: travel(centre, azimuth, radius * length) }))
const shapeAround = (centre: Position, radius: number): fc.Arbitrary<Geometry> =>
  fc.oneof(pointAround(centre, radius), lineAround(centre, radius), polygonAround(centre, radius))

const polygon = fc.tuple(place, size).chain(([centre, radius]) => polygonAround(centre, radius))
/** Two shapes so close that they often touch, or one contains the other. */
const pair = fc
  .tuple(place, size, double(0, 360), double(0, 2.5), double(0.1, 1))
  .chain(([centre, radius, azimuth, apart, ratio]) =>
    fc.tuple(
      shapeAround(centre, radius),
      shapeAround(travel(centre, azimuth, apart * radius), ratio * radius),
    ),
  )
/** Two shapes as far from each other as possible. */
const farPair = fc
  .tuple(place, size, place, size)
  .chain(([p, r, q, s]) =>
    fc.tuple(shapeAround(p, Math.min(r, 500_000)), shapeAround(q, Math.min(s, 500_000))),
  )
const anyPair = fc.oneof(pair, farPair)

describe('distance, within, intersects and contains', () => {
  hunt('agree with the distance in centimetres', 30, ({ seed, cases }) => {
    fc.assert(
      fc.property(anyPair, ([first, second]) => {
        const [a, b] = [prepare(first), prepare(second)]
        const d = distanceCentimeters(a, b)
        expect(distanceMeters(b, a)).toBe(distanceMeters(a, b))
        expect(intersects(a, b)).toBe(d === 0)
        for (const r of [0.01, 1, d / 100 - 0.01, d / 100, d / 100 + 0.01, 30_000_000])
          if (r > 0) expect(isWithin(a, b, r)).toBe(d <= Math.round(r * 100))
        if (contains(a, b)) expect(d).toBe(0)
        expect(contains(a, a)).toBe(true)
        expect(distanceCentimeters(a, a)).toBe(0)
      }),
      { seed, numRuns: cases },
    )
  })
  hunt('equal the distance of two positions, for two points', 300, ({ seed, cases }) => {
    const corner = fc.constantFrom(-180, -90, -0, 0, 90, 180)
    const edges = fc.tuple(
      corner,
      corner.map((lat) => lat / 2),
    )
    const any = fc.oneof(place, place, edges)
    fc.assert(
      fc.property(any, any, (a, b) => {
        const point = (coordinates: Position) => prepare({ type: 'Point', coordinates })
        expect(centimetersBetween(a, b)).toBe(distanceCentimeters(point(a), point(b)))
        expect(centimetersBetween(a, a)).toBe(0)
      }),
      { seed, numRuns: cases },
    )
  })
  hunt('satisfy the triangle inequality', 30, ({ seed, cases }) => {
    fc.assert(
      fc.property(anyPair, place, ([first, second], third) => {
        const [a, b, p] = [prepare(first), prepare(second), prepare({ type: 'Point', coordinates: third })]
        expect(distanceMeters(a, b)).toBeLessThanOrEqual(distanceMeters(a, p) + distanceMeters(p, b) + 1e-6)
      }),
      { seed, numRuns: cases },
    )
  })
})

/** Other notations of the same geometry. */
const REWRITTEN: Record<string, (geometry: Geometry, turn: number) => Geometry> = {
  'rings that start at another vertex': (geometry, turn) =>
    mapLines(geometry, (line, isRing) =>
      isRing
        ? [...line.slice(turn % (line.length - 1)), ...line.slice(1, (turn % (line.length - 1)) + 1)]
        : line,
    ),
  'rings of the other winding, lines in the other direction': (geometry) =>
    mapLines(geometry, (line) => line.slice().reverse()),
  'repeated positions': (geometry, turn) =>
    mapLines(geometry, (line) =>
      line.flatMap((position, i) => (i === turn % line.length ? [position, position, position] : [position])),
    ),
  '-180 for 180 degrees, and 180 for -180': (geometry) =>
    mapLines(geometry, (line) =>
      line.map(([lon, lat]) => (Math.abs(lon!) === 180 ? [-lon!, lat!] : [lon!, lat!])),
    ),
  'a position added on an edge': (geometry, turn) =>
    mapLines(geometry, (line) => {
      const i = turn % (line.length - 1)
      const { metres, azimuth } = between(line[i]!, line[i + 1]!)
      return [...line.slice(0, i + 1), travel(line[i]!, azimuth, metres * 0.37), ...line.slice(i + 1)]
    }),
  'a Feature around a collection': (geometry) =>
    ({
      type: 'Feature',
      properties: {},
      geometry: { type: 'GeometryCollection', geometries: [geometry] },
    }) as unknown as Geometry,
}
function mapLines(geometry: Geometry, change: (line: Position[], isRing: boolean) => Position[]): Geometry {
  if (geometry.type === 'LineString') return { ...geometry, coordinates: change(geometry.coordinates, false) }
  if (geometry.type === 'Polygon')
    return { ...geometry, coordinates: geometry.coordinates.map((ring) => change(ring, true)) }
  return geometry
}

describe('a geometry has the same results if it is written', () => {
  for (const [name, rewrite] of Object.entries(REWRITTEN))
    hunt(`with ${name}`, 12, ({ seed, cases }) => {
      fc.assert(
        fc.property(anyPair, fc.nat(100), ([first, second], turn) => {
          const [a, b, c] = [prepare(first), prepare(second), prepare(rewrite(first, turn))]
          expect(Math.abs(distanceMeters(c, b) - distanceMeters(a, b))).toBeLessThan(1e-6)
          expect(contains(c, b)).toBe(contains(a, b))
          expect(contains(b, c)).toBe(contains(b, a))
          expect(contains(a, c) && contains(c, a)).toBe(true)
          if (a.type === 'Polygon' && c.type === 'Polygon')
            expect(Math.abs(areaSquareMeters(c) / areaSquareMeters(a) - 1)).toBeLessThan(1e-9)
          if (a.type === 'LineString' && c.type === 'LineString')
            expect(Math.abs(lengthMeters(c) - lengthMeters(a))).toBeLessThan(1e-7)
        }),
        { seed, numRuns: cases },
      )
    })
  hunt('with its parts in a MultiPolygon or collection', 30, ({ seed, cases }) => {
    fc.assert(
      fc.property(pair, anyPair, ([a, b], [c]) => {
        const [parts, other] = [[a, b].map(prepare), prepare(c)]
        const whole = prepare(
          a.type === 'Polygon' && b.type === 'Polygon'
            ? { type: 'MultiPolygon', coordinates: [a.coordinates, b.coordinates] }
            : { type: 'GeometryCollection', geometries: [a, b] },
        )
        expect(
          Math.abs(
            distanceMeters(whole, other) - Math.min(...parts.map((part) => distanceMeters(part, other))),
          ),
        ).toBeLessThan(1e-7)
        // A point at which one line ends is on the boundary of the whole (the mod-2 rule), although it may be
        // inside another part.
        if (c.type !== 'Point' || a.type === 'Polygon' || b.type === 'Polygon')
          for (const part of parts) if (contains(part, other)) expect(contains(whole, other)).toBe(true)
        for (const part of parts) expect(contains(whole, part)).toBe(true)
      }),
      { seed, numRuns: cases },
    )
  })
})

/** Degrees rounded such that their sums with multiples of 11.25, up to 540, are exact. */
const exactly = (degrees: number) => Math.round(degrees * 2 ** 36) / 2 ** 36
const everywhere = (geometry: Geometry, change: (position: Position) => Position): Geometry => {
  if (geometry.type === 'GeometryCollection')
    return { ...geometry, geometries: geometry.geometries.map((part) => everywhere(part, change)) }
  const deep = (list: unknown[]): unknown =>
    typeof list[0] === 'number' ? change(list as Position) : list.map((one) => deep(one as unknown[]))
  return { ...geometry, coordinates: deep(geometry.coordinates) } as Geometry
}
/**
 * Fan of triangles around a centre, perhaps without one of them: they meet in one position and along seams.
 */
const fanAround = (centre: Position, radius: number): fc.Arbitrary<Geometry> =>
  fc.tuple(ringAround(centre, radius), fc.boolean()).map(([ring, whole]) => ({
    type: 'MultiPolygon',
    coordinates: ring.slice(whole ? 1 : 2).map((end, i) => [[centre, ring[whole ? i : i + 1]!, end, centre]]),
  }))
const someShape = (centre: Position, radius: number) =>
  fc.oneof(shapeAround(centre, radius), fanAround(centre, radius))
const exactPair = fc
  .tuple(place, size, double(0, 360), double(0, 1.5))
  .chain(([centre, radius, azimuth, apart]) =>
    fc.tuple(someShape(centre, radius), someShape(travel(centre, azimuth, apart * radius), radius / 2)),
  )
  .map((shapes) => shapes.map((shape) => everywhere(shape, ([lon, lat]) => [exactly(lon!), exactly(lat!)])))
const turned =
  (degrees: number) =>
  ([lon, lat]: Position): Position => {
    const sum = lon! + degrees
    return [sum > 180 ? sum - 360 : sum, lat!]
  }
const MOVED: Record<string, (position: Position) => Position> = {
  'turned by 90 degrees': turned(90),
  'turned by 180 degrees': turned(180),
  'turned by 11.25 degrees': turned(11.25),
  'mirrored at the equator': ([lon, lat]) => [lon!, -lat!],
  'mirrored at the prime meridian': ([lon, lat]) => [-lon!, lat!],
}

describe('two shapes have the same results after they are', () => {
  for (const [name, move] of Object.entries(MOVED))
    hunt(name, 4, ({ seed, cases }) => {
      fc.assert(
        fc.property(exactPair, ([first, second]) => {
          const [a, b, c, d] = [first!, second!, everywhere(first!, move), everywhere(second!, move)].map(
            prepare,
          )
          const distance = distanceMeters(a!, b!)
          expect(Math.abs(distanceMeters(c!, d!) - distance)).toBeLessThan(1e-6 + 1e-13 * distance)
          expect([contains(c!, d!), contains(d!, c!)]).toEqual([contains(a!, b!), contains(b!, a!)])
          if (!a!.type.endsWith('Polygon')) return
          const area = areaSquareMeters(a!)
          expect(Math.abs(areaSquareMeters(c!) - area)).toBeLessThan(1e-3 + 1e-13 * area)
        }),
        { seed, numRuns: cases },
      )
    })
  hunt('extended by a part, for everything that they contained before', 4, ({ seed, cases }) => {
    fc.assert(
      fc.property(
        exactPair,
        fc.tuple(place, size).chain(([p, r]) => someShape(p, r)),
        ([first, second], far) => {
          const [a, b, near, wide] = [
            first!,
            second!,
            { type: 'GeometryCollection', geometries: [second, first] },
            { type: 'GeometryCollection', geometries: [first, far] },
          ].map(prepare)
          expect(contains(near!, a!) && contains(near!, b!) && contains(wide!, a!)).toBe(true)
          if (contains(a!, b!)) expect(contains(wide!, b!)).toBe(true)
          expect(distanceMeters(wide!, b!)).toBeLessThanOrEqual(distanceMeters(a!, b!) + 1e-7)
        },
      ),
      { seed, numRuns: cases },
    )
  })
})

/** Two shapes: the second is the first with cuts. Positions on a cut are inside. */
const CUTS: Record<
  string,
  (ring: Position[], centre: Position) => [Polygon | Geometry, Geometry, Position[]]
> = {
  'a keyhole: a cut to its hole': (ring, centre) => {
    const shell = ring.slice(0, -1)
    const hole = shell.map((p) => along(centre, p, 0.3)).reverse()
    const [start, end] = [shell[0]!, hole.at(-1)!]
    const keyhole = [...shell, start, end, ...hole.slice(0, -1), end, start]
    return [
      { type: 'Polygon', coordinates: [ring, [...hole, hole[0]!]] },
      { type: 'Polygon', coordinates: [keyhole] },
      [along(start, end, 0.4), along(start, end, 0.9)],
    ]
  },
  'two parts with a seam through its middle': (ring, centre) => {
    const shell = ring.slice(0, -1)
    const half = Math.floor(shell.length / 2)
    const one = [...shell.slice(0, half + 1), centre, shell[0]!]
    const other = [...shell.slice(half), shell[0]!, centre, shell[half]!]
    return [
      { type: 'Polygon', coordinates: [ring] },
      { type: 'MultiPolygon', coordinates: [[one], [other]] },
      [centre, along(centre, shell[0]!, 0.5), along(centre, shell[half]!, 0.2)],
    ]
  },
  'a spike outward': (ring, centre) => {
    const [corner, ...rest] = ring
    const { metres, azimuth } = between(centre, corner!)
    const tip = travel(centre, azimuth, metres * 1.7)
    return [
      { type: 'Polygon', coordinates: [ring] },
      { type: 'Polygon', coordinates: [[corner!, tip, corner!, ...rest]] },
      [],
    ]
  },
  'a spike inward': (ring, centre) => {
    const [corner, ...rest] = ring
    const tip = along(corner!, centre, 0.6)
    return [
      { type: 'Polygon', coordinates: [ring] },
      { type: 'Polygon', coordinates: [[corner!, tip, corner!, ...rest]] },
      [tip, along(corner!, tip, 0.5)],
    ]
  },
}
describe('a polygon has the same results if it is written', () => {
  for (const [name, cut] of Object.entries(CUTS))
    hunt(`with ${name}`, 4, ({ seed, cases }) => {
      const roundAndAnother = fc
        .tuple(place, size)
        .chain(([centre, radius]) =>
          fc.tuple(ringAround(centre, radius), someShape(centre, 1.3 * radius), fc.constant(centre)),
        )
      fc.assert(
        fc.property(roundAndAnother, ([ring, other, centre]) => {
          const [first, second, inside] = cut(ring, centre)
          const [a, b, c] = [first, second, other].map(prepare)
          expect([contains(b!, c!), contains(c!, b!)]).toEqual([contains(a!, c!), contains(c!, a!)])
          const distance = distanceMeters(a!, c!)
          expect(Math.abs(distanceMeters(b!, c!) - distance)).toBeLessThan(1e-6 + 1e-13 * distance)
          expect([contains(a!, b!), contains(b!, a!)]).toEqual([true, true])
          for (const place of inside)
            expect(contains(b!, prepare({ type: 'Point', coordinates: place }))).toBe(true)
          const area = areaSquareMeters(a!)
          expect(Math.abs(areaSquareMeters(b!) - area)).toBeLessThan(1e-3 + 1e-12 * area)
        }),
        { seed, numRuns: cases },
      )
    })
})

/** Positions along the edges of a geometry, at most `step` apart, or its points. */
function samples(geometry: Geometry, count: number): { places: Position[]; step: number } {
  if (geometry.type === 'Point') return { places: [geometry.coordinates], step: 0 }
  const lines = geometry.type === 'LineString' ? [geometry.coordinates] : (geometry as Polygon).coordinates
  let step = 0
  const places = lines.flatMap((line) =>
    line.slice(1).flatMap((end, i) => {
      const { metres, azimuth } = between(line[i]!, end)
      step = Math.max(step, metres / count)
      return Array.from({ length: count + 1 }, (_, k) => travel(line[i]!, azimuth, (metres * k) / count))
    }),
  )
  return { places, step }
}
/**
 * True if a position is inside: the direction from it to a point that runs along the ring turns by 360
 * degrees for each ring around the position.
 */
function turnsAround(geometry: Polygon, p: Position): boolean {
  let inside = false
  for (const ring of geometry.coordinates) {
    let turn = 0
    const { places } = samples({ type: 'LineString', coordinates: ring }, 40)
    const directions = places.map((place) => between(p, place).azimuth)
    for (let i = 1; i < directions.length; i++)
      turn += ((directions[i]! - directions[i - 1]! + 540) % 360) - 180
    if (Math.abs(turn) > 180) inside = !inside
  }
  return inside
}

describe('a brute-force computation agrees with', () => {
  hunt('distance: no two sampled positions are nearer, and some are almost as near', 6, ({ seed, cases }) => {
    fc.assert(
      fc.property(anyPair, ([first, second]) => {
        const d = distanceMeters(prepare(first), prepare(second))
        const [s, t] = [samples(first, 12), samples(second, 12)]
        const least = Math.min(...s.places.flatMap((p) => t.places.map((q) => between(p, q).metres)))
        expect(least).toBeGreaterThan(d - 1e-6)
        if (d > 0) expect(least).toBeLessThanOrEqual(d + (s.step + t.step) / 2 + 1e-6)
      }),
      { seed, numRuns: cases },
    )
  })
  hunt('contains of a point: true if the ring turns around it', 30, ({ seed, cases }) => {
    fc.assert(
      fc.property(
        fc
          .tuple(place, size)
          .chain(([centre, radius]) =>
            fc.tuple(polygonAround(centre, radius), pointAround(centre, 1.2 * radius)),
          ),
        ([shape, point]) => {
          const clear =
            distanceCentimeters(
              prepare({ type: 'MultiLineString', coordinates: shape.coordinates }),
              prepare(point),
            ) > 0
          if (clear)
            expect(contains(prepare(shape), prepare(point))).toBe(
              turnsAround(shape, (point as { coordinates: Position }).coordinates),
            )
        },
      ),
      { seed, numRuns: cases },
    )
  })
  hunt(
    'contains: true if all sampled positions are inside, false if one is outside',
    30,
    ({ seed, cases }) => {
      fc.assert(
        fc.property(pair, ([first, second]) => {
          const [a, b] = [prepare(first), prepare(second)]
          const outside = samples(second, 12).places.some(
            (p) => distanceCentimeters(a, prepare({ type: 'Point', coordinates: p })) > 0,
          )
          if (contains(a, b)) expect(outside).toBe(false)
          if (outside) expect(contains(a, b)).toBe(false)
        }),
        { seed, numRuns: cases },
      )
    },
  )
  const expectArea = (shape: Polygon) => {
    const [shell, hole = 0] = shape.coordinates.map((ring) => {
      const library = new PolygonArea.PolygonArea(WGS84)
      for (const [lon, lat] of ring.slice(1)) library.AddPoint(lat!, lon!)
      return Math.abs(library.Compute(false, true).area!)
    })
    expect(Math.abs(areaSquareMeters(prepare(shape)) - (shell! - hole))).toBeLessThan(0.1 + 1e-14 * shell!)
  }
  hunt('the area of GeographicLib, to the error of GeographicLib', 30, ({ seed, cases }) => {
    fc.assert(fc.property(polygon, expectArea), { seed, numRuns: cases })
  })
  hunt('the area of triangles that begin metres from a pole and end far from it', 30, ({ seed, cases }) => {
    const power = (min: number, max: number) => fc.double({ min, max, noNaN: true }).map((x) => 10 ** x)
    const [lon, turn, far] = [double(-180, 180), double(30, 150), power(-2, 1.7)]
    const triangle = fc
      .tuple(lon, turn, turn, power(-6, 0), far, far, fc.constantFrom(1, -1))
      .map(([west, one, other, shifted, q, r, pole]): Polygon => {
        const corner: Position = [west, pole * (90 - shifted)]
        const east = (by: number) => ((west + by + 540) % 360) - 180
        return {
          type: 'Polygon',
          coordinates: [[corner, [east(one), pole * (90 - q)], [east(one + other), pole * (90 - r)], corner]],
        }
      })
    fc.assert(fc.property(triangle, expectArea), { seed, numRuns: cases })
  })
  hunt(
    'the area of edges over the equator between equal latitudes north and south',
    200,
    ({ seed, cases }) => {
      // The errors are like those of a regular polygon whose vertices are computed by sines and cosines.
      const bits = fc.integer({ min: -3, max: 3 })
      const shifted = (degrees: number, by: number) => {
        const [numbers, integers] = [new Float64Array([degrees]), new BigInt64Array(1)]
        new Uint8Array(integers.buffer).set(new Uint8Array(numbers.buffer))
        integers[0] = integers[0]! + BigInt(by)
        return new Float64Array(integers.buffer)[0]!
      }
      const degrees = double(-4, 1.5).map((power) => 10 ** power)
      const quad = fc
        .tuple(double(-100, 100), degrees, degrees, degrees, bits, bits)
        .map(([west, width, north, more, one, other]): Polygon => {
          const [a, b]: Position[] = [
            [west, -north],
            [west + width, shifted(north, one)],
          ]
          return {
            type: 'Polygon',
            coordinates: [[a!, b!, [west, north + more], [west - width, shifted(north, other)], a!]],
          }
        })
      fc.assert(fc.property(quad, expectArea), { seed, numRuns: cases })
    },
  )
})

describe('the kernel, for arbitrary input,', () => {
  const number = fc.oneof(
    fc.double(),
    double(-200, 200),
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom(180, -180, 90, -90, 0, -0),
  )
  const position = fc.oneof(
    { arbitrary: fc.array(number, { minLength: 2, maxLength: 2 }), weight: 9 },
    { arbitrary: fc.array(fc.anything(), { maxLength: 4 }), weight: 1 },
  )
  const grid = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 3 }))
  const closed = fc.array(grid, { minLength: 3, maxLength: 9 }).map((ring) => [...ring, ring[0]!])
  const lines = fc.array(grid, { minLength: 2, maxLength: 6 })
  const good = fc.oneof(
    fc.record({
      type: fc.constant('Point'),
      coordinates: fc.tuple(double(-180, 180), double(-90, 90)),
    }),
    fc.record({ type: fc.constant('MultiPoint'), coordinates: lines }),
    fc.record({ type: fc.constant('LineString'), coordinates: lines }),
    fc.record({
      type: fc.constant('MultiLineString'),
      coordinates: fc.array(lines, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      type: fc.constant('Polygon'),
      coordinates: fc.array(closed, { minLength: 1, maxLength: 2 }),
    }),
    fc.record({
      type: fc.constant('MultiPolygon'),
      coordinates: fc.array(fc.array(closed, { minLength: 1, maxLength: 1 }), { minLength: 1, maxLength: 3 }),
    }),
  )
  const coordinates = fc.oneof(
    position,
    fc.array(position),
    fc.array(fc.array(position)),
    fc.array(fc.array(closed, { maxLength: 2 }), { maxLength: 3 }),
    fc.jsonValue(),
  )
  const type = fc.oneof(
    fc.constantFrom('Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'),
    fc.string(),
  )
  const { geometry } = fc.letrec((tie) => ({
    geometry: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: good, weight: 8 },
      {
        arbitrary: fc.record({
          type: fc.constant('GeometryCollection'),
          geometries: fc.array(tie('geometry'), { maxLength: 3 }),
        }),
        weight: 2,
      },
      fc.record({ type, coordinates }),
      fc.record({ type: fc.constant('Feature'), geometry: tie('geometry') }),
      fc.jsonValue(),
    ),
  }))
  hunt('returns a result or throws a GeometryError, within the limit', 300, ({ seed, cases }) => {
    let [refused, read, measured] = [0, 0, 0]
    fc.assert(
      fc.property(geometry, geometry, (first, second) => {
        const started = performance.now()
        try {
          const readings = [first, second].map((value) =>
            readGeometry(JSON.parse(JSON.stringify(value)), 'g'),
          )
          read++
          for (const reading of readings)
            expect(canonicalJson(readGeometry(JSON.parse(canonicalJson(reading)), 'g'))).toBe(
              canonicalJson(reading),
            )
          const [a, b] = readings.map(prepareGeometry)
          const d = distanceMeters(a!, b!)
          expect(d).toBeGreaterThanOrEqual(0)
          expect(d).toBeLessThan(20_004_000)
          if (contains(a!, b!)) expect(intersects(a!, b!)).toBe(true)
          measured++
          expect(areaSquareMeters(a!)).toBeGreaterThanOrEqual(0)
          expect(lengthMeters(b!)).toBeGreaterThanOrEqual(0)
        } catch (error) {
          if (!(error instanceof GeometryError)) throw error
          expect(error.message.startsWith('g')).toBe(true)
          refused++
        }
        expect(performance.now() - started).toBeLessThan(20_000)
      }),
      { seed, numRuns: cases },
    )
    // Makes sure that the test has tried something.
    expect(Math.min(refused, read, measured)).toBeGreaterThan(cases / 6)
  })
})
