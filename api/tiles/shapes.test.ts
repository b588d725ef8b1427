import { VectorTile } from '@mapbox/vector-tile'
import { Geodesic } from 'geographiclib-geodesic'
import { PbfReader } from 'pbf'
import { expect, test } from 'vitest'
import { contains, GeometryError, prepareGeometry, readGeometry } from '../../src/geodesy'
import { FAMILIES, hostileShape } from '../../test/hostile'
import { positions } from '../../test/positions'
import { EFFORT, hunt } from '../../test/seed'
import { drawnTile } from './encode'
import { EXTENT, worldX, worldY, type Tile } from './grid'
import { draw, RECORD_BUDGET, TILE_BUDGET, type Drawing, type Path } from './shapes'
import { RECORD_CHARACTERS, type TileRecord } from './sql'

/**
 * Compares drawings with the kernel's own results and with geographiclib's lines. The drawing code uses
 * neither.
 */

const drawn = (geometry: object, tile: Tile): Drawing =>
  draw(geometry, tile, { work: TILE_BUDGET }) ?? expect.fail('the budget was spent')
const polygon = (...coordinates: number[][][]) => ({ type: 'Polygon', coordinates })

const degreesOf = ({ z, x, y }: Tile, px: number, py: number): [number, number] => {
  const [wx, wy] = [(x + px / EXTENT) / 2 ** z, (y + py / EXTENT) / 2 ** z]
  return [wx * 360 - 180, (Math.atan(Math.sinh(Math.PI * (1 - 2 * wy))) * 180) / Math.PI]
}
const positionIn = ({ z, x, y }: Tile, lng: number, lat: number) =>
  [(worldX(lng) * 2 ** z - x) * EXTENT, (worldY(lat) * 2 ** z - y) * EXTENT] as const
/** Distance from a segment, in the tile's units. */
function distance(
  px: number,
  py: number,
  [ax, ay, bx, by]: readonly [number, number, number, number],
): number {
  const [dx, dy] = [bx - ax, by - ay]
  const t = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)))
  return Math.hypot(px - ax - t * dx, py - ay - t * dy)
}
function segments(path: Path, isRing: boolean): [number, number, number, number][] {
  const all: [number, number, number, number][] = []
  for (let i = 0; i + (isRing ? 0 : 2) < path.length; i += 2) {
    const j = (i + 2) % path.length
    all.push([path[i]!, path[i + 1]!, path[j]!, path[j + 1]!])
  }
  return all
}
const isInside = (rings: readonly Path[], px: number, py: number) =>
  rings
    .flatMap((ring) => segments(ring, true))
    .filter(([ax, ay, bx, by]) => ay > py !== by > py && px < ax + ((py - ay) / (by - ay)) * (bx - ax))
    .length %
    2 ===
  1
const areasOf = ({ rings, open }: Drawing): Path[] => [...rings, ...open]
/** True if a position is clearly inside or outside, not near drawn borders, whose error is up to one unit. */
const isClear = (drawing: Drawing, px: number, py: number) =>
  [
    ...areasOf(drawing).flatMap((ring) => segments(ring, true)),
    ...drawing.lines.flatMap((line) => segments(line, false)),
  ].every((segment) => distance(px, py, segment) > 2.5)

/** Returns a star-shaped ring around a position, built from geodesics that start there. */
function ringRound(random: () => number, lng: number, lat: number, meters: number): number[][] {
  const count = 3 + Math.floor(random() * 9)
  const ring = Array.from({ length: count }, (_, i) => {
    const { lat2, lon2 } = Geodesic.WGS84.Direct(
      lat,
      lng,
      ((i + 0.8 * random()) * 360) / count,
      meters * (0.5 + random() / 2),
    )
    return [lon2!, lat2!]
  })
  return [...ring, ring[0]!]
}

hunt(
  'a tile covers the positions that the kernel finds inside an area, also at the antimeridian and poles',
  30,
  ({ random, cases }) => {
    let [inside, outside, drawnTiles] = [0, 0, 0]
    for (let i = 0; i < cases; i++) {
      const at = [
        [random() * 360 - 180, random() * 170 - 85],
        [180 - random() * 2, random() * 160 - 80],
        [-180 + random() * 2, random() * 160 - 80],
        [random() * 360 - 180, 90],
        [random() * 360 - 180, -90 + random() * 20],
      ][i % 5]! as [number, number]
      const meters = 10 ** (4.5 + random() * 2.2)
      const shell = ringRound(random, ...at, meters)
      const hole = ringRound(random, ...at, meters * 0.2)
      const geometry = polygon(...(random() < 0.3 ? [shell, hole] : [shell]))
      let prepared
      try {
        prepared = prepareGeometry(readGeometry(geometry, 'geometry'))
      } catch (error) {
        if (error instanceof GeometryError) continue
        throw error
      }
      const [lng, lat] = shell[Math.floor(random() * shell.length)] as [number, number]
      const z = Math.floor(random() * 9)
      const row = Math.floor(
        Math.max(0, Math.min(0.999999, worldY(Math.max(-85, Math.min(85, lat))))) * 2 ** z,
      )
      const tile = { z, x: Math.floor((worldX(lng) % 1) * 2 ** z), y: row }
      const drawing = drawn(geometry, tile)
      if (areasOf(drawing).length) drawnTiles++
      for (let n = 0; n < 60; n++) {
        const [px, py] = [random() * EXTENT, random() * EXTENT]
        if (!isClear(drawing, px, py)) continue
        const [pointLng, pointLat] = degreesOf(tile, px, py)
        const place = { type: 'Point', coordinates: [pointLng, pointLat] }
        const expected = contains(prepared, prepareGeometry(readGeometry(place, 'point')))
        if (expected) inside++
        else outside++
        expect(
          isInside(areasOf(drawing), px, py),
          `case ${i}: ${JSON.stringify({ geometry, tile, place })}`,
        ).toBe(expected)
      }
    }
    expect(Math.min(inside, outside, drawnTiles)).toBeGreaterThan(cases / 3)
  },
)

hunt('a tile draws a line through every position of its geodesic', 40, ({ random, cases }) => {
  let places = 0
  for (let i = 0; i < cases; i++) {
    const [from, to] = [0, 1].map(() => [
      i % 2 ? 170 + random() * 20 - (random() < 0.5 ? 360 : 0) : random() * 360 - 180,
      random() * 178 - 89,
    ]) as [[number, number], [number, number]]
    for (const end of [from, to])
      if (end[0] > 180) end[0] -= 360
      else if (end[0] < -180) end[0] += 360
    const line = Geodesic.WGS84.InverseLine(from[1], from[0], to[1], to[0])
    const middle = line.Position(random() * line.s13)
    if (Math.abs(middle.lat2!) > 85) continue
    const z = Math.floor(random() * 14)
    const tile = {
      z,
      x: Math.floor((worldX(middle.lon2!) % 1) * 2 ** z),
      y: Math.floor(worldY(middle.lat2!) * 2 ** z),
    }
    const { lines } = drawn({ type: 'LineString', coordinates: [from, to] }, tile)
    const all = lines.flatMap((path) => segments(path, false))
    for (let n = -40; n <= 40; n++) {
      // Positions near the middle position, which is in the tile.
      const s = middle.s12! + (n * 40_000_000) / 2 ** z / 40
      if (s < 0 || s > line.s13) continue
      const { lat2, lon2 } = line.Position(s)
      const [px, py] = positionIn(tile, lon2!, lat2!)
      if (px < 0 || py < 0 || px > EXTENT || py > EXTENT) continue
      places++
      expect(
        Math.min(...all.map((segment) => distance(px, py, segment))),
        `case ${i}: ${JSON.stringify({ from, to, tile, at: [lon2, lat2] })}`,
      ).toBeLessThan(1.6)
    }
  }
  expect(places).toBeGreaterThan(5 * cases)
})

test.each([
  positions('170 -10, 180 -10, -180 -10, -170 -10, -170 10, -180 10, 180 10, 170 10, 170 -10'),
  positions('100 50, 120 50, -60 90, 100 50'),
  positions('-170 -80, -60 -80, 60 -80, 170 -80, 170 70, 60 70, -60 70, -170 70, -170 -80'),
])('a tile covers what the kernel reads at the antimeridian and to a pole: %j, %j, ...', (...ring) => {
  const geometry = polygon(ring)
  const prepared = prepareGeometry(readGeometry(geometry, 'geometry'))
  const found = new Set<boolean>()
  for (const [x, y] of [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ] as const) {
    const tile = { z: 1, x, y }
    const drawing = drawn(geometry, tile)
    for (let px = 100; px < EXTENT; px += 300)
      for (let py = 100; py < EXTENT; py += 300) {
        if (!isClear(drawing, px, py)) continue
        const place = { type: 'Point', coordinates: degreesOf(tile, px, py) }
        const expected = contains(prepared, prepareGeometry(readGeometry(place, 'point')))
        found.add(expected)
        expect(isInside(areasOf(drawing), px, py), JSON.stringify({ ring, place })).toBe(expected)
      }
  }
  expect(found.size).toBe(2)
})

test.each([
  [0, 70],
  [3, 82],
])('a tile at zoom %d draws only the ring itself as the border of a ring around a pole', (z, north) => {
  for (const latitude of [north, -north]) {
    const ring = [...Array(36).keys()].map((i) => [i * 10 - 180, latitude])
    const tile = { z, x: 0, y: latitude > 0 ? 0 : 2 ** z - 1 }
    const { rings, open, lines } = drawn(polygon([...ring, ring[0]!]), tile)
    expect(rings).toEqual([])
    const [, border] = positionIn(tile, 0, latitude)
    for (const [, ay, , by] of lines.flatMap((path) => segments(path, false)))
      expect(Math.max(Math.abs(ay - border), Math.abs(by - border))).toBeLessThan(EXTENT / 60)
    const [end, start] = latitude > 0 ? [5, EXTENT - 5] : [EXTENT - 5, 5]
    expect(isInside(open, 5, end) && isInside(open, EXTENT - 5, end)).toBe(true)
    expect(isInside(open, 2_048, start)).toBe(false)
  }
})

test('a tile draws the borders of an area beyond the end of the map as lines, and only these', () => {
  const far = polygon(positions('10 80, 40 80, 40 88, 10 88, 10 80'))
  const near = polygon(positions('10 80, 40 80, 40 84, 10 84, 10 80'))
  const tile = { z: 2, x: 2, y: 0 }
  const [cut, whole] = [far, near].map((geometry) => drawn(geometry, tile))
  expect([whole!.rings.length, whole!.open.length, whole!.lines.length]).toEqual([1, 0, 0])
  expect([cut!.rings.length, cut!.open.length]).toEqual([0, 1])
  // A globe draws what is beyond the end twice.
  expect(Math.min(...areasOf(cut!).flat())).toBe(0)
  const drawnAlongEnd = (paths: readonly Path[], isRing: boolean) =>
    paths.flatMap((path) => segments(path, isRing)).filter(([, ay, , by]) => ay === 0 && by === 0).length
  expect([drawnAlongEnd(cut!.open, true), drawnAlongEnd(cut!.lines, false)]).toEqual([1, 0])
  // Two corners that reach less than half a unit below the end have an area of 0, and no border between them.
  const corners = drawn(polygon(positions('10 85.0505, 40 85.0505, 40 88, 10 88, 10 85.0505')), tile)
  expect(corners).toMatchObject({ rings: [], open: [], lines: [[455, 0, 456, 0], [1_819, 0, 1_820, 0]] }) // oxfmt-ignore
  expect(
    featuresIn({ type: 'MultiPolygon', coordinates: [far, near].map((each) => each.coordinates) }, tile),
  ).toEqual(
    [undefined, undefined, true].map((open) =>
      expect.objectContaining({ uid: '0x1', ...(open && { open }) }),
    ),
  )
})

const tileAt = ([lng, lat]: number[], z: number): Tile => ({
  z,
  x: Math.floor(worldX(lng!) * 2 ** z),
  y: Math.floor(worldY(lat!) * 2 ** z),
})
/** Properties of the features that a tile has for a shape. */
function featuresIn(geometry: object, tile: Tile): { reduced?: boolean }[] {
  const record: TileRecord = {
    ...{
      uid: '0x1',
      chain: 'celo',
      prover: '0x2',
      location_type: 'geojson',
      revoked: false,
      at: 0,
      memo: '',
    },
    ...{ lon: null, lat: null, x: null, y: null, shape: JSON.stringify(geometry) },
  }
  const { records } = new VectorTile(new PbfReader(drawnTile(tile, [record]))).layers
  return Array.from({ length: records?.length ?? 0 }, (_, i) => records!.feature(i).properties)
}
/** Square ring with its south-western corner at a position. */
const squareAt = ([lng, lat]: number[], degrees: number): number[][] =>
  [0, 1, 1, 0, 0].map((east, i) => [
    ((lng! + 180 + degrees * east) % 360) - 180,
    lat! + degrees * [0, 0, 1, 1, 0][i]!,
  ])
const multi = (type: 'Polygon' | 'LineString', parts: number[][][]) => ({
  type: `Multi${type}`,
  coordinates: type === 'Polygon' ? parts.map((ring) => [ring]) : parts,
})
const FIELD = 0.002

test.each([
  ['two buildings', multi('Polygon', [squareAt([13, 52], 0.0002), squareAt([13.4, 52], 0.0002)])],
  [
    'two footpaths',
    multi('LineString', [positions('13 52, 13.0002 52'), positions('13.4 52, 13.4 52.0002')]),
  ],
  ['a field across the antimeridian', polygon(squareAt([180 - FIELD / 2, -17], FIELD))],
  [
    'a line across the antimeridian',
    { type: 'LineString', coordinates: positions('179.999 -17, -179.999 -17') },
  ],
])('a tile shows %s at every zoom, as points while the parts are too small to be seen', (_, geometry) => {
  const first = (geometry.coordinates as unknown[]).flat(Infinity).slice(0, 2) as number[]
  const found = Array.from({ length: 15 }, (_, z) => featuresIn(geometry, tileAt(first, z)))
  expect(found.map(({ length }) => length)).not.toContain(0)
  expect(found[0]!.map(({ reduced }) => reduced)).toEqual([true])
  expect(found[14]!.map(({ reduced }) => reduced)).not.toContain(true)
})

hunt('a tile shows each shape of small parts that are far apart', 40, ({ random, cases }) => {
  for (let i = 0; i < cases; i++) {
    const parts = Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
      const lng = random() < 0.3 ? 179.999 + random() / 1_000 : random() * 360 - 180
      return squareAt([lng, random() * 168 - 84], 10 ** (-6 + random() * 5))
    })
    const kind = (['Polygon', 'LineString'] as const)[i % 2]!
    const geometry =
      i % 3 ? multi(kind, parts) : { type: 'GeometryCollection', geometries: [multi(kind, parts)] }
    for (const [first] of parts)
      for (let z = 0; z <= 14; z++)
        expect(featuresIn(geometry, tileAt(first!, z)), JSON.stringify({ geometry, first, z })).not.toEqual(
          [],
        )
  }
})

test('a tile that draws a part of a shape leaves out the parts that are too small to be seen', () => {
  const geometry = multi('Polygon', [squareAt([13, 52], 3), squareAt([17, 52], 0.0002)])
  expect(featuresIn(geometry, tileAt([17, 52], 3)).map(({ reduced }) => reduced)).toEqual([undefined])
})

test.each(Object.keys(FAMILIES))(
  'a tile charges the work of a record for %s, and draws no more than this work covers',
  (family) => {
    let drawings = 0
    for (const characters of [1_500, 30_000, RECORD_CHARACTERS]) {
      const shape = hostileShape(family, characters)
      const tiles = [
        [0, 0, 0],
        [1, 1, 0],
        [4, 15, 7],
        [10, 1023, 511],
      ] as const
      // Small efforts draw the longest shapes in one tile.
      const isBrief = EFFORT < 1 && characters === RECORD_CHARACTERS
      for (const [z, x, y] of isBrief ? tiles.slice(0, 1) : tiles) {
        const budget = { work: RECORD_BUDGET }
        const drawing = draw(shape, { z, x, y }, budget)
        // The step that would exceed the budget does not run. It costs at most one path of all positions.
        expect(budget.work).toBeGreaterThan(-(characters / 4 + RECORD_BUDGET) / 4)
        expect(drawing === undefined).toBe(budget.work < 0)
        if (!drawing) continue
        drawings++
        const positions = [drawing.points, ...drawing.lines, ...areasOf(drawing)].reduce(
          (sum, path) => sum + path.length / 2,
          0,
        )
        expect(positions).toBeLessThanOrEqual(4 * (RECORD_BUDGET - budget.work))
      }
    }
    expect(drawings).toBeGreaterThan(0)
  },
)

test('a tile omits a shape that needs more work than the budget of the tile', { tags: ['slow'] }, () => {
  const zigzag = Array.from({ length: 40_000 }, (_, i) => [i % 2 ? 80 : -80, (i % 100) - 50])
  const budget = { work: TILE_BUDGET }
  expect(draw({ type: 'LineString', coordinates: zigzag }, { z: 3, x: 4, y: 3 }, budget)).toBeUndefined()
  expect(budget.work).toBeGreaterThan(-10)
  const spiral = Array.from({ length: 60_000 }, (_, i) => [((i * 100) % 360) - 180, (i % 80) / 10])
  const left = { work: TILE_BUDGET }
  expect(
    draw({ type: 'Polygon', coordinates: [[...spiral, spiral[0]]] }, { z: 0, x: 0, y: 0 }, left),
  ).toBeUndefined()
  expect(left.work).toBeGreaterThan(-10)
})
