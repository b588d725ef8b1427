import type { Position } from 'geojson'
import { expect, test } from 'vitest'
import { FAMILIES } from '../../test/hostile'
import { EFFORT, hunt } from '../../test/seed'
import { contains, isWithin, prepareGeometry, readGeometry } from '../geodesy'
import { planeShape } from './plane'
import { positions } from '../../test/positions'

const planeOf = (geojson: object) => readEwkb(Buffer.from(planeShape(readGeometry(geojson, 'g')), 'hex'))

test('planeShape writes degrees that Postgres cannot divide as 0', () => {
  const { coordinates } = planeOf({ type: 'Point', coordinates: [5e-324, -1e-310] }) as {
    coordinates: Position
  }
  expect(coordinates).toEqual([0, 0])
  expect(planeOf({ type: 'Point', coordinates: [1e-300, -64] })).toMatchObject({ coordinates: [1e-300, -64] })
})

test('planeShape draws an edge the shorter way around, even if the edge spans half a turn', () => {
  const kindOf = (degrees: number) =>
    planeOf({ type: 'LineString', coordinates: [[-90, 0], [-90 + degrees, 0]] }).type // oxfmt-ignore
  expect([179.999, 180, 180.001].map(kindOf)).toEqual(['LineString', 'LineString', 'MultiLineString'])
})

test('planeShape leaves geometries that do not cross the antimeridian unchanged', () => {
  const shapes = [
    { type: 'Point', coordinates: [-0.1, 51.5] },
    { type: 'MultiPoint', coordinates: positions('180 0, -180 0') },
    { type: 'LineString', coordinates: positions('-90 0, 90 0') },
    { type: 'MultiLineString', coordinates: [positions('0 0, 1 1'), positions('2 2, 3 3')] },
    { type: 'Polygon', coordinates: [positions('0 0, 9 0, 9 9, 0 0'), positions('4 1, 5 1, 5 2, 4 1')] },
    {
      type: 'MultiPolygon',
      coordinates: [[positions('0 0, 1 0, 1 1, 0 0')], [positions('2 0, 3 0, 3 1, 2 0')]],
    },
    // Border of a world map, which is 360 degrees long.
    { type: 'Polygon', coordinates: [positions('-180 -90, 180 -90, 180 90, -180 90, -180 -90')] },
  ]
  for (const shape of shapes) expect(planeOf(shape)).toEqual(shape)
  const collection = {
    type: 'GeometryCollection',
    geometries: [shapes[0], { type: 'GeometryCollection', geometries: shapes.slice(1, 3) }],
  }
  expect(planeOf(collection)).toEqual(collection)
  expect(planeOf({ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2, 3] } })).toEqual({
    type: 'Point',
    coordinates: [1, 2],
  })
})

test('planeShape cuts a line wherever it crosses the antimeridian', () => {
  expect(planeOf({ type: 'LineString', coordinates: positions('170 0, -170 10, 170 20') })).toEqual({
    type: 'MultiLineString',
    coordinates: [
      positions('170 0, 180 5'),
      positions('-180 5, -170 10, -180 15'),
      positions('180 15, 170 20'),
    ],
  })
})

test('planeShape draws neighbouring vertices at 180 and -180 as one', () => {
  expect(planeOf({ type: 'LineString', coordinates: positions('170 0, 180 0, -180 0, -170 0') })).toEqual({
    type: 'MultiLineString',
    coordinates: [positions('170 0, 180 0, 180 0'), positions('-180 0, -180 0, -170 0')],
  })
  const ring = positions('170 0, 180 0, -180 0, -170 0, -170 9, -180 9, 180 9, 170 9, 170 0')
  expect(planeOf({ type: 'Polygon', coordinates: [ring] })).toEqual({
    type: 'MultiPolygon',
    coordinates: [
      [positions('-190 0, -180 0, -180 0, -170 0, -170 9, -180 9, -180 9, -190 9, -190 0')],
      [positions('170 0, 180 0, 180 0, 190 0, 190 9, 180 9, 180 9, 170 9, 170 0')],
    ],
  })
})

test.each([
  ['100 70, 120 70, 0 90, 100 70', '100 70, 120 70, 120 90, 100 90, 100 70'],
  ['0 90, 100 70, 120 70, 0 90', '100 90, 100 70, 120 70, 120 90, 100 90'],
  ['100 70, 120 70, 120 90, 100 90, 100 70', '100 70, 120 70, 120 90, 100 90, 100 70'],
  ['0 70, 90 70, 180 70, -90 70, 5 90, 0 70', '0 70, 90 70, 180 70, 270 70, 270 90, 0 90, 0 70'],
  ['5 90, 0 70, 90 70, 180 70, -90 70, 5 90', '0 90, 0 70, 90 70, 180 70, 270 70, 270 90, 0 90'],
  ['0 -90, 50 9, 0 90, 40 9, 0 -90', '50 -90, 50 9, 50 90, 40 90, 40 9, 40 -90, 50 -90'],
  [
    '-180 -70, 0 -70, 180 -70, 180 -90, -180 -90, -180 -70',
    '-180 -70, 0 -70, 180 -70, 180 -90, -180 -90, -180 -70',
  ],
])('planeShape draws the ring %s to a pole and back along meridians', (ring, drawn) => {
  expect(polygonsOf(planeOf({ type: 'Polygon', coordinates: [positions(ring)] }))).toContainEqual([
    positions(drawn),
  ])
})

test('planeShape draws a line over a pole as two', () => {
  expect(planeOf({ type: 'LineString', coordinates: positions('32 69, 0 90, -168 66') })).toEqual({
    type: 'MultiLineString',
    coordinates: [positions('32 69, 32 90'), positions('-168 90, -168 66')],
  })
})

test('planeShape repeats a polygon that crosses the antimeridian on both sides, with its holes', () => {
  const polygon = {
    type: 'Polygon',
    coordinates: [
      positions('170 0, -170 0, -170 20, 170 20, 170 0'),
      positions('-175 5, -172 5, -172 9, -175 5'),
    ],
  }
  expect(planeOf(polygon)).toEqual({
    type: 'MultiPolygon',
    coordinates: [
      [positions('-190 0, -170 0, -170 20, -190 20, -190 0'), positions('-175 5, -172 5, -172 9, -175 5')],
      [positions('170 0, 190 0, 190 20, 170 20, 170 0'), positions('185 5, 188 5, 188 9, 185 5')],
    ],
  })
})

test.each([0, 170, -180])(
  'planeShape draws a hole that begins a nanodegree west of its shell, at %d',
  (west) => {
    const at = (text: string) => positions(text).map(([x, y]): Position => [wrapped(west + x), y])
    const shell = at('0 0, 20 0, 20 20, 0 20, 0 0')
    const shape = planeOf({ type: 'Polygon', coordinates: [shell, at('-1e-9 9, 9 8, 9 12, -1e-9 9')] })
    expect(at('5 9, 5 12').map((place) => isIn(shape, place))).toEqual([false, true])
  },
)

test('planeShape leaves out the holes of a polygon around a pole, also at the start of its ring', () => {
  const shape = planeOf({
    type: 'Polygon',
    coordinates: [
      positions('0 60, 90 60, 180 60, -90 60, 0 60'),
      positions('-9 70, -9 75, 9 75, 9 70, -9 70'),
      positions('40 80, 160 80, -80 80, 40 80'),
    ],
  })
  const covered = positions('-5 72, 5 72, -5 85, 120 85, -5 78, 5 78, 120 72, 180 65, -180 65')
  expect(covered.map((place) => isIn(shape, place))).toEqual([
    ...Array(4).fill(false),
    ...Array(5).fill(true),
  ])
})

test('planeShape draws a polygon that contains both poles as the outside of its ring, with its holes', () => {
  const shape = planeOf({
    type: 'Polygon',
    coordinates: [
      positions('-170 -80, -60 -80, 60 -80, 170 -80, 170 80, 60 80, -60 80, -170 80, -170 -80'),
      positions('178 0, -178 0, -178 9, 178 9, 178 0'),
    ],
  })
  const inside = positions('178 -18, -178 -18, 180 18, 0 85, 0 -85')
  const outside = positions('179 5, -179 5, 13 52, 169 0, -169 0')
  expect([...inside, ...outside].map((place) => isIn(shape, place))).toEqual([
    ...inside.map(() => true),
    ...outside.map(() => false),
  ])
})

test('planeShape draws the whole world for a polygon of nearly half the globe', () => {
  const ring = positions('-90 -89.9, -30 -89.9, 30 -89.9, 90.5 -89.9, 90.5 89.9, 30 89.9, -30 89.9, -90 89.9')
  const shape = planeOf({ type: 'Polygon', coordinates: [[...ring, ring[0]]] })
  expect(positions('0 0, 180 0, 0 89').map((place) => isIn(shape, place))).toEqual([true, true, true])
})

test('planeShape replaces a ring that circles a pole several times by its band of latitudes', () => {
  const spiral = Array.from({ length: 40 }, (_, i) => [((i * 60 + 180) % 360) - 180, 80 - i])
  expect(planeOf({ type: 'Polygon', coordinates: [[...spiral, spiral[0]]] })).toEqual({
    type: 'Polygon',
    coordinates: [positions('-180 41, 180 41, 180 90, -180 90, -180 41')],
  })
})

// In CI, the first family has nearly the maximum of positions.
test.each(
  Object.entries(FAMILIES).map(([name, shape], i) => [name, shape, i || EFFORT < 1 ? 1 : 30] as const),
)(
  'planeShape returns at most three times as many positions for 3,000 positions or more: %s',
  (_, shape, times) => {
    const geometry = shape(2_700 * times)
    expect(JSON.stringify(planeOf(geometry)).match(/\[-?\d/g)!.length).toBeLessThanOrEqual(9_000 * times)
  },
)

/**
 * An independent reference: a position is in a ring if the meridian from it to the north pole meets the ring
 * an odd number of times, or an even number if the ring runs around the north pole.
 */
hunt('planeShape contains the positions that the rings contain on the globe', 200, ({ random, cases }) => {
  const between = (low: number, high: number) => low + (high - low) * random()
  let inside = 0
  for (let i = 0; i < cases; i++) {
    const { rings, pole } = random() < 0.3 ? polarRing(random, between) : crossingRings(random, between)
    const shape = planeOf({ type: 'Polygon', coordinates: rings })
    for (let k = 0; k < 10; k++) {
      const place: Position = [between(-180, 180), between(-89, 89)]
      const truth =
        rings.filter((ring) => meetsMeridian(ring, place) % 2 === 1).length % 2 === 1
          ? pole !== 'north'
          : pole === 'north'
      if (truth) inside++
      expect(isIn(shape, place), JSON.stringify({ rings, place })).toBe(truth)
    }
  }
  expect(inside).toBeGreaterThan(cases / 2)
})

hunt('planeShape has a box with all positions of a polygon on the globe', 300, ({ random, cases }) => {
  const between = (low: number, high: number) => low + (high - low) * random()
  let checked = 0
  for (let i = 0; i < cases; i++) {
    const count = 6 + Math.floor(8 * random())
    // Turned by half the globe, some of these rings also cross the antimeridian.
    const turn = 180 * Math.floor(2 * random())
    const ring = Array.from({ length: count }, (_, k): Position => {
      const angle = (2 * Math.PI * k) / count
      const along = (value: number) => between(0.6, 1) * Math.sign(value) * Math.sqrt(Math.abs(value))
      return [wrapped(175 * along(Math.cos(angle)) + turn), 85 * along(Math.sin(angle))]
    })
    const geometry = { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
    let prepared
    try {
      prepared = prepareGeometry(readGeometry(geometry, 'g'))
    } catch {
      continue
    }
    const [places, shape] = [polygonsOf(planeOf(geometry)).flat(2), JSON.stringify(geometry)]
    const [west, east] = [-1, 1].map((sign) => sign * Math.max(...places.map(([x]) => sign * x!)))
    for (let k = 0; k < 10; k++) {
      const place: Position = [between(-180, 180), between(-89, 89)]
      if (!contains(prepared, pointAt(place))) continue
      expect(place[0], shape).toSatisfy((x: number) => x >= west! - 1e-9 && x <= east! + 1e-9)
      checked++
    }
  }
  expect(checked).toBeGreaterThan(cases / 10)
})

/** The kernel is the reference: edges of three degrees, or along meridians, are nearly straight here. */
hunt('planeShape draws what the kernel reads at the antimeridian and at poles', 10, ({ random, cases }) => {
  const between = (low: number, high: number) => low + (high - low) * random()
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  let [inside, outside] = [0, 0]
  for (let i = 0; i < cases; i++)
    for (const kind of Object.values(SEAM_POLYGONS))
      for (const side of [1, -1]) {
        const rings = () => kind(between).map((ring) => ring.map(([x, y]): Position => [x!, side * y!]))
        const polygons = [rings(), rings()].map((each) => each.map((ring) => written(ring, random, true)))
        const geometry = { type: 'MultiPolygon', coordinates: polygons }
        const shape = planeOf(geometry)
        const prepared = prepareGeometry(readGeometry(geometry, 'g'))
        for (let k = 0; k < 10; k++) {
          const [x, y] = one(one(one(polygons))) as [number, number]
          const place: Position = [
            wrapped(x + between(-9, 9)),
            Math.max(-89, Math.min(89, y + between(-9, 9))),
          ]
          // Edges in the plane are up to 0.03 degrees from geodesics.
          const [east, north] = [0.05 / Math.cos((place[1]! * Math.PI) / 180), 0.05]
          const around = positions(`${east} 0, ${-east} 0, 0 ${north}, 0 ${-north}`).map(([dx, dy]) =>
            contains(prepared, pointAt([wrapped(place[0]! + dx), place[1]! + dy])),
          )
          const truth = around[0]!
          if (around.includes(!truth)) continue
          if (truth) inside++
          else outside++
          expect(isIn(shape, place), JSON.stringify({ polygons, place })).toBe(truth)
        }
        expectSameLine({ type: 'LineString', coordinates: written(rings()[0]!, random, false) })
      }
  expect(Math.min(inside, outside)).toBeGreaterThan(5 * cases)
})

const pointAt = (coordinates: Position) =>
  prepareGeometry(readGeometry({ type: 'Point', coordinates }, 'point'))

/** Expects that the stored pieces of a line are near the line, and the line near them. */
function expectSameLine(line: { type: string; coordinates: Position[] }): void {
  const shape = planeOf(line)
  const pieces = (shape.type === 'LineString' ? [shape.coordinates] : shape.coordinates) as Position[][]
  const middles = pieces.flatMap((piece) =>
    piece.slice(1).map((to, i) => to.map((value, axis) => (value + piece[i]![axis]!) / 2)),
  )
  for (const [geometry, places] of [
    [line, middles],
    [{ type: 'MultiLineString', coordinates: pieces }, line.coordinates],
  ] as const) {
    const prepared = prepareGeometry(readGeometry(geometry, 'line'))
    for (const [i, place] of places.entries())
      if (i % 3 === 0)
        expect(isWithin(pointAt(place), prepared, 5_000), JSON.stringify({ line, place })).toBe(true)
  }
}

type Rings = Position[][]
/** Polygons whose longitudes continue beyond 180, and whose rings are not closed. */
const SEAM_POLYGONS: Record<string, (between: Between) => Rings> = {
  'an island with a lake': (between) => {
    const [lng, lat, size] = [180 + between(-5, 5), between(-60, 60), between(3, 15)]
    const ring = (radius: number) =>
      Array.from({ length: 9 }, (_, i): Position => {
        const [angle, r] = [(i + between(0, 0.5)) * (Math.PI / 4.5), radius * between(0.6, 1)]
        return [lng + r * Math.cos(angle), lat + r * Math.sin(angle)]
      })
    return [ring(size), ring(size / 3)]
  },
  'a sector to a pole': (between) => {
    // A wide sector from the south is the larger side, so its ring bounds the rest.
    const isRest = between(0, 1) < 0.3
    const [west, width] = [between(-180, 180), isRest ? between(320, 350) : between(5, 350)]
    const south = isRest ? between(-75, -60) : between(20, 60)
    const at = (share: number, lat: number): Position => [west + width * share, lat]
    return [
      [...Array.from({ length: 7 }, (_, i) => at(i / 6, south + between(0, 9))), [0, 90]],
      ...(isRest ? [] : [[at(0.3, 75), at(0.6, 75), at(0.5, 80)]]),
    ]
  },
  'a zone between both poles': (between) => {
    const [west, width] = [between(-180, 180), between(10, 170) + 180 * Math.floor(between(0, 2))]
    const side = (lng: number) => [-60, -20, 20, 60].map((lat): Position => [lng + between(-2, 2), lat])
    return [[...side(west), [0, 90], ...side(west + width).reverse(), [0, -90]]]
  },
  'a region around a pole with holes, whose ring turns back': (between) => {
    const west = between(-180, 180)
    const coast = Array.from({ length: 12 }, (_, i): Position[] => {
      const [x, y] = [west + 30 * i, 50 + between(0, 7)]
      return i === 4 ? positions('0 58, -40 62, 20 66').map(([dx, lat]) => [x + dx, lat]) : [[x, y]]
    })
    const lakes = [0, 120, 240].map((lng) =>
      positions('5 71, 60 71, 115 71, 60 76').map(([dx, lat]): Position => [west + lng + dx, lat]),
    )
    const around = [0, 1, 2, 3, 4, 5].map((i): Position => [60 * i, 80 + between(0, 4)])
    return [coast.flat(), ...lakes, around]
  },
  'a region around a pole, cut to it': (between) => {
    const west = [-180, between(-180, 180)][Math.floor(between(0, 2))]!
    const lat = between(50, 70)
    const coast = Array.from({ length: 12 }, (_, i): Position => [west + 30 * i, lat + between(0, 9)])
    return [[...coast, [west + 360, coast[0]![1]!], [0, 90]]]
  },
}

/**
 * Positions of a ring or line as attesters write them: in steps of three degrees, with 180, -180 or both at
 * the antimeridian, with any longitude at a pole, and beginning anywhere.
 */
function written(path: Position[], random: Random, isRing: boolean): Position[] {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const start = isRing ? Math.floor(random() * path.length) : 0
  const turned = [...path.slice(start), ...path.slice(0, isRing ? start + 1 : 0)]
  const whole: Position[] = []
  for (const [i, [toX, toY]] of (turned as [number, number][]).entries()) {
    const [x, y] = turned[Math.max(0, i - 1)] as [number, number]
    const east = wrapped(toX - x)
    if (Math.abs(toY) === 90) {
      for (let times = one([1, 1, 2]); times > 0; times--) whole.push([360 * random() - 180, toY])
      continue
    }
    const steps = Math.abs(y) === 90 ? 1 : Math.ceil(Math.max(3, Math.abs(east), Math.abs(toY - y)) / 3)
    for (let step = 1; step <= steps; step++) {
      const [from, to] = [step - 1, step].map((k) => [x + (east * k) / steps, y + ((toY - y) * k) / steps])
      const border = 360 * Math.round((to![0]! - 180) / 360) + 180
      if (Math.abs(y) !== 90 && from![0]! < border !== to![0]! < border) {
        const lat = from![1]! + ((to![1]! - from![1]!) * (border - from![0]!)) / (to![0]! - from![0]!)
        whole.push(...one([[], [180], [-180], east > 0 ? [180, -180] : [-180, 180]]).map((lng) => [lng, lat]))
      }
      const lng = wrapped(to![0]!)
      whole.push([Math.abs(lng) === 180 ? one([180, -180]) : lng, to![1]!])
    }
  }
  return isRing ? [...whole.slice(0, -1), whole[0]!] : whole
}

type Random = () => number
type Between = (low: number, high: number) => number
const wrapped = (lng: number) => lng - 360 * Math.round(lng / 360)
const closed = (ring: Position[]) => [...ring, ring[0]!]

/** A shell near the antimeridian, which may cross itself, with a hole: only parity counts. */
function crossingRings(random: Random, between: Between): { rings: Position[][]; pole?: 'north' } {
  const [lng, lat, size] = [180 + between(-40, 40), between(-50, 50), between(1, 35)]
  const ring = (radius: number) =>
    closed(
      Array.from({ length: 3 + Math.floor(random() * 12) }, (_, i) => [
        wrapped(lng + radius * between(0.5, 1) * Math.cos(i)),
        lat + radius * between(0.5, 1) * Math.sin(i),
      ]),
    )
  return { rings: random() < 0.5 ? [ring(size)] : [ring(size), ring(size / 4)] }
}

/**
 * Returns a ring around a pole, whose side with the pole is the smaller one, in steps of less than 180
 * degrees and in either direction.
 */
function polarRing(random: Random, between: Between): { rings: Position[][]; pole?: 'north' } {
  const count = 3 + Math.floor(random() * 12)
  const [start, way, south] = [between(-180, 180), random() < 0.5 ? 1 : -1, random() < 0.5]
  const ring = Array.from({ length: count }, (_, i): Position => [
    wrapped(start + (way * 360 * (i + between(0, 0.4))) / count),
    (south ? -1 : 1) * between(5, 85),
  ])
  return { rings: [closed(ring)], ...(!south && { pole: 'north' as const }) }
}

/** Number of times that the meridian from a position to the north pole meets the ring. */
function meetsMeridian(ring: readonly Position[], [lng, lat]: Position): number {
  let count = 0
  for (let i = 1; i < ring.length; i++) {
    const [a, b] = [ring[i - 1]!, ring[i]!]
    const [east, place] = [wrapped(b[0]! - a[0]!), wrapped(lng! - a[0]!)]
    if (east > 0 ? place < 0 || place >= east : place >= 0 || place < east) continue
    if (a[1]! + ((b[1]! - a[1]!) * place) / east > lat!) count++
  }
  return count
}

const polygonsOf = ({ type, coordinates }: { type: string; coordinates?: unknown }) =>
  (type === 'Polygon' ? [coordinates] : coordinates) as Position[][][]

/**
 * True if a position is in a Polygon or MultiPolygon on the plane: in an odd number of the rings of one of
 * its polygons.
 */
function isIn(shape: { type: string; coordinates?: unknown }, [x, y]: Position): boolean {
  const isInRing = (ring: Position[]) => {
    let odd = false
    for (let i = 1; i < ring.length; i++) {
      const [[x1, y1], [x2, y2]] = [ring[i - 1] as [number, number], ring[i] as [number, number]]
      if (x1 > x! !== x2 > x! && y1 + ((y2 - y1) * (x! - x1)) / (x2 - x1) > y!) odd = !odd
    }
    return odd
  }
  return polygonsOf(shape).some((rings) => rings.filter(isInRing).length % 2 === 1)
}

/** Reads EWKB (PostGIS manual, "Extended WKB") into GeoJSON. */
function readEwkb(bytes: Buffer): { type: string; coordinates?: unknown; geometries?: unknown[] } {
  let at = 0
  const integer = () => bytes.readUInt32LE((at += 4) - 4)
  const position = () => [bytes.readDoubleLE((at += 8) - 8), bytes.readDoubleLE((at += 8) - 8)]
  const many = <T>(read: () => T): T[] => Array.from({ length: integer() }, read)
  const geometry = (): { type: string; coordinates?: unknown; geometries?: unknown[] } => {
    expect(bytes[at++]).toBe(1)
    const head = integer()
    if (head & 0x2000_0000) expect(integer()).toBe(4326)
    const member = () => geometry().coordinates
    switch (head & 0xff) {
      case 1:
        return { type: 'Point', coordinates: position() }
      case 2:
        return { type: 'LineString', coordinates: many(position) }
      case 3:
        return { type: 'Polygon', coordinates: many(() => many(position)) }
      case 4:
        return { type: 'MultiPoint', coordinates: many(member) }
      case 5:
        return { type: 'MultiLineString', coordinates: many(member) }
      case 6:
        return { type: 'MultiPolygon', coordinates: many(member) }
      default:
        return { type: 'GeometryCollection', geometries: many(geometry) }
    }
  }
  const read = geometry()
  expect(at).toBe(bytes.length)
  return read
}
