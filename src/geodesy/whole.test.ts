import type { Geometry, Position } from 'geojson'
import { expect } from 'vitest'
import { hunt } from '../../test/seed'
import { between, closed, pick, prepare, range, travel, type Random } from '../../test/shapes'
import { contains, distanceMeters, intersects } from '.'

/**
 * Tests unions that cover the whole ellipsoid, or all but a part of it, and so have no boundary or a short
 * one.
 */

type Vector = readonly [number, number, number]

const union = (polygons: Position[][][]): Geometry => ({ type: 'MultiPolygon', coordinates: polygons })
const collection = (polygons: Position[][][]): Geometry => ({
  type: 'GeometryCollection',
  geometries: polygons.map((coordinates) => ({ type: 'Polygon', coordinates })),
})
/** Position `metres` away from one position towards another. */
const towards = (a: Position, b: Position, metres: number): Position =>
  travel(a, between(a, b).azimuth, metres)
const unit = ([x, y, z]: Vector): Vector => {
  const size = Math.hypot(x, y, z)
  return [x / size, y / size, z / size]
}
const sum = (vectors: readonly Vector[]): Vector =>
  unit(vectors.reduce((total, [x, y, z]) => [total[0] + x, total[1] + y, total[2] + z], [0, 0, 0]))
const direction = ([lon, lat]: Position): Vector => {
  const [l, p] = [(lon! * Math.PI) / 180, (lat! * Math.PI) / 180]
  return [Math.cos(p) * Math.cos(l), Math.cos(p) * Math.sin(l), Math.sin(p)]
}
const position = ([x, y, z]: Vector): Position => [
  (Math.atan2(y, x) * 180) / Math.PI,
  (Math.atan2(z, Math.hypot(x, y)) * 180) / Math.PI,
]
const middleOf = (ring: readonly Position[]) => position(sum(ring.slice(1).map(direction)))
const somewhere = (random: Random): Position => [random() * 360 - 180, Math.asin(2 * random() - 1) * 57.29]

/**
 * Lunes cut by parallels: equal parallels in all lunes, or different ones, so that corners lie on meridians.
 * At the poles there are triangles, or caps if all lunes have equal parallels.
 */
function lunes(random: Random): Position[][] {
  const columns = 3 + Math.floor(random() * 8)
  const start = pick(random, [-180, 0, random() * 90])
  const lons = range(columns, (i) => {
    const lon = start + (360 * (i + 0.4 * (i && random()))) / columns
    return lon > 180 ? lon - 360 : lon
  })
  const next = (i: number) => lons[(i + 1) % columns]!
  const parallels = (rows: number) => range(rows, (j) => (160 * (j + 0.3 + 0.4 * random())) / rows - 80)
  const rows = 1 + Math.floor(random() * 4)
  const shared = parallels(rows)
  const isShared = random() < 0.5
  const hasCaps = isShared && rows > 1
  const anywhere = () => random() * 360 - 180
  const cells = lons.flatMap((west, i) => {
    const east = next(i)
    const lats = isShared ? shared : parallels(1 + Math.floor(random() * 4))
    const quads = lats.slice(1).map((north, j) => {
      const south = lats[j]!
      return [[west, south], [east, south], [east, north], [west, north]] // oxfmt-ignore
    })
    if (hasCaps) return quads
    const [south, north] = [lats[0]!, lats.at(-1)!]
    return [
      ...quads,
      [[west, south], [east, south], [anywhere(), -90]], // oxfmt-ignore
      [[west, north], [east, north], [anywhere(), 90]], // oxfmt-ignore
    ]
  })
  const poleward = hasCaps ? [shared[0]!, shared.at(-1)!].map((lat) => lons.map((lon) => [lon, lat])) : []
  return [...cells, ...poleward].map(closed)
}

const GOLDEN = (1 + Math.sqrt(5)) / 2
const icosahedron = [-1, 1].flatMap((a) =>
  [-GOLDEN, GOLDEN].flatMap((b): Vector[] => [
    [0, a, b],
    [a, b, 0],
    [b, 0, a],
  ]),
)
const octahedron: Vector[] = [-1, 1].flatMap((a): Vector[] => [
  [a, 0, 0],
  [0, a, 0],
  [0, 0, a],
])
/** Faces of a polyhedron whose edges are the shortest distances between its corners. */
function faces(corners: readonly Vector[]): [Vector, Vector, Vector][] {
  const gap = (p: Vector, q: Vector) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2])
  const edge = 1.01 * Math.min(...corners.slice(1).map((corner) => gap(corner, corners[0]!)))
  const found: [Vector, Vector, Vector][] = []
  for (const [i, p] of corners.entries())
    for (const [j, q] of corners.entries())
      for (const [k, r] of corners.entries())
        if (i < j && j < k && Math.max(gap(p, q), gap(q, r), gap(p, r)) < edge) found.push([p, q, r])
  return found
}

/** Triangles on a turned polyhedron, split at random. Neighbours share their corners. */
function polyhedron(random: Random): Position[][] {
  const corners = pick(random, [octahedron, icosahedron])
  const turned = random() < 0.3 ? corners : turn(random, corners)
  let triangles = faces(turned)
  for (let rounds = Math.floor(random() * 3); rounds > 0; rounds--)
    triangles = triangles.flatMap(([p, q, r]): [Vector, Vector, Vector][] => {
      if (random() < 0.5) return [[p, q, r]]
      const [a, b] = [0.2 + 0.8 * random(), 0.2 + 0.8 * random()]
      const hub = sum([[p[0] * a, p[1] * a, p[2] * a], [q[0] * b, q[1] * b, q[2] * b], r])
      return [
        [p, q, hub],
        [q, r, hub],
        [r, p, hub],
      ]
    })
  const digits = pick(random, [undefined, 6, 8])
  const round = (place: Position) =>
    digits === undefined ? place : place.map((degrees) => Number(degrees.toFixed(digits)))
  return triangles.map((triangle) => closed(triangle.map((corner) => round(position(corner)))))
}
function turn(random: Random, vectors: readonly Vector[]): Vector[] {
  const x = direction(somewhere(random))
  const other = direction(somewhere(random))
  const cross = (p: Vector, q: Vector): Vector => [
    p[1] * q[2] - p[2] * q[1],
    p[2] * q[0] - p[0] * q[2],
    p[0] * q[1] - p[1] * q[0],
  ]
  const y = unit(cross(x, other))
  const z = cross(x, y)
  return vectors.map(([a, b, c]) =>
    unit([a * x[0] + b * y[0] + c * z[0], a * x[1] + b * y[1] + c * z[1], a * x[2] + b * y[2] + c * z[2]]),
  )
}

/**
 * Overlapping caps of 7,200 km (65 degrees) around the corners of an octahedron. No position is farther than
 * 55 degrees from a corner.
 */
function caps(random: Random): Position[][] {
  const count = 12 + Math.floor(random() * 30)
  return turn(random, octahedron).map((corner) =>
    closed(range(count, (i) => travel(position(corner), (360 * i) / count, 7_200_000))),
  )
}

const tiling = (random: Random) => (random() < 0.5 ? lunes : polyhedron)(random)
const covering = (random: Random) => pick(random, [lunes, polyhedron, polyhedron, caps])(random)
/**
 * Returns the union of these rings in any order, perhaps one of them with a hole that another polygon fills.
 */
const written = (random: Random, [first, ...others]: readonly Position[][]) => {
  const hole = range(5, (i) => travel(middleOf(first!), 72 * i, 1000))
  const filled = random() < 0.3 ? [[first!, closed(hole)], [closed(hole)]] : [[first!]]
  const polygons = [...filled, ...others.map((ring) => [ring])].toSorted(() => random() - 0.5)
  return (random() < 0.5 ? union : collection)(polygons)
}

hunt('a union that covers the ellipsoid contains every geometry', 10, ({ cases, random }) => {
  for (let i = 0; i < cases; i++) {
    const [first, second] = [written(random, covering(random)), written(random, covering(random))]
    const extra: Geometry[] = [
      { type: 'Point', coordinates: somewhere(random) },
      { type: 'LineString', coordinates: [somewhere(random), somewhere(random)] },
    ]
    const others: Geometry[] = [
      second,
      ...extra,
      { type: 'GeometryCollection', geometries: [second, ...extra] },
      { type: 'Polygon', coordinates: [closed([somewhere(random), somewhere(random), somewhere(random)])] },
    ]
    const everything = prepare(first)
    for (const other of others) {
      const label = JSON.stringify([first, other])
      expect(contains(everything, prepare(other)), label).toBe(true)
      expect(distanceMeters(everything, prepare(other)), label).toBe(0)
    }
    for (const other of extra) expect(contains(prepare(other), everything)).toBe(false)
  }
})

hunt('a union that leaves out a part of the ellipsoid does not contain it', 10, ({ cases, random }) => {
  for (let i = 0; i < cases; i++) {
    const parts = tiling(random)
    const lost = pick(random, parts)
    const rest = parts.filter((part) => part !== lost)
    const less = rest.slice(1)
    const [all, most, fewer] = [parts, rest, less].map((rings) => prepare(written(random, rings)))
    const other = prepare(written(random, covering(random)))
    const hole = prepare({ type: 'Polygon', coordinates: [lost] })
    const label = JSON.stringify([parts, lost])
    expect(contains(all!, most!), label).toBe(true)
    expect(contains(most!, most!), label).toBe(true)
    expect(contains(other, most!), label).toBe(true)
    expect(contains(most!, fewer!), label).toBe(true)
    expect(contains(fewer!, most!), label).toBe(false)
    for (const outside of [all!, other, hole]) expect(contains(most!, outside), label).toBe(false)
    expect(contains(most!, prepare({ type: 'Point', coordinates: middleOf(lost) })), label).toBe(false)
    expect(intersects(most!, hole), label).toBe(true)
  }
})

hunt(
  'a union contains the ellipsoid if it leaves out only slivers below half a centimetre',
  10,
  (run) => {
    const { cases, random } = run
    for (let i = 0; i < cases; i++) {
      const parts = tiling(random)
      const lost = pick(random, parts)
      const corners = lost.slice(1)
      const corner = pick(random, corners)
      if (Math.abs(corner[1]!) === 90) continue
      // Moving a corner inwards excludes only positions that are at most this far from the rest.
      const all = prepare(written(random, covering(random)))
      for (const [metres, expected] of [
        [random() * 0.0049, true],
        [0.2 + random(), false],
      ] as const) {
        const moved = corners.map((place) =>
          place === corner ? towards(place, middleOf(lost), metres) : place,
        )
        const most = prepare(written(random, [...parts.filter((part) => part !== lost), closed(moved)]))
        expect(contains(most, all), JSON.stringify([metres, parts, lost])).toBe(expected)
        expect(contains(most, most)).toBe(true)
        expect(contains(all, most)).toBe(true)
      }
    }
  },
  ['slow'],
)
