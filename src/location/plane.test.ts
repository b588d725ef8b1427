import type { Position } from 'geojson'
import { expect, test } from 'vitest'
import { FAMILIES } from '../../test/hostile'
import { EFFORT, hunt } from '../../test/seed'
import { readGeometry } from '../geodesy'
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
    planeOf({ type: 'LineString', coordinates: [[-90, 0], [-90 + degrees, 0]] }).type // prettier-ignore
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

test('planeShape replaces a ring that circles a pole several times by its band of latitudes', () => {
  const spiral = Array.from({ length: 40 }, (_, i) => [((i * 60 + 180) % 360) - 180, 80 - i])
  expect(planeOf({ type: 'Polygon', coordinates: [[...spiral, spiral[0]]] })).toEqual({
    type: 'Polygon',
    coordinates: [positions('-180 41, 180 41, 180 90, -180 90, -180 41')],
  })
})

// Each of the largest geometries takes seconds.
test.skipIf(EFFORT < 2).each(Object.entries(FAMILIES))(
  'planeShape returns at most three times as many positions for 100,000 positions: %s',
  (_, shape) => {
    const geometry = shape(90_000)
    expect(JSON.stringify(planeOf(geometry)).match(/\[-?\d/g)!.length).toBeLessThanOrEqual(3 * 100_000)
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

/**
 * True if a position is in a Polygon or MultiPolygon on the plane: in an odd number of the rings of one of
 * its polygons.
 */
function isIn(shape: { type: string; coordinates?: unknown }, [x, y]: Position): boolean {
  const polygons = (shape.type === 'Polygon' ? [shape.coordinates] : shape.coordinates) as Position[][][]
  const isInRing = (ring: Position[]) => {
    let odd = false
    for (let i = 1; i < ring.length; i++) {
      const [[x1, y1], [x2, y2]] = [ring[i - 1] as [number, number], ring[i] as [number, number]]
      if (x1 > x! !== x2 > x! && y1 + ((y2 - y1) * (x! - x1)) / (x2 - x1) > y!) odd = !odd
    }
    return odd
  }
  return polygons.some((rings) => rings.filter(isInRing).length % 2 === 1)
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
