import { describe, expect, test } from 'vitest'
import { FAMILIES } from '../../test/hostile'
import { drawMap, type Drawable, type Geometry } from './map'
import type { Bbox } from '../store/model'
import { positions } from '../../test/positions'

const draw = (...geometries: (Geometry | null)[]) =>
  drawMap(
    geometries.map((geometry, i) => ({ title: `<${i}>`, href: `https://x.example/${i}?a&b`, geometry })),
  )
const polygon = (...positions: number[][]): Geometry => ({
  type: 'Polygon',
  coordinates: [[...positions, positions[0]]],
})
/** Parts of the picture that draw features, without land and the grid. */
const marks = (svg: string) =>
  svg.replace(/<path class="land"[^]*<g class="grid">[^]*<\/g>/, '').match(/<(path|circle)[^>]*>/g) ?? []

test('the map has no picture without a geometry', () => {
  expect(draw(null)).toEqual({ svg: '', left: 0 })
  expect(draw()).toEqual({ svg: '', left: 0 })
  expect(
    draw({ type: 'GeometryCollection', geometries: [] }, { type: 'Point', coordinates: [1, 2] }).svg,
  ).toContain('<circle')
})
test('the map picture centres a single point, with a margin of some kilometres', () => {
  const { svg } = draw({ type: 'Point', coordinates: [13.3777, 52.5163] })
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!.map(Number)
  expect(marks(svg)).toEqual([`<circle class="point" cx="${width! / 2}" cy="${height! / 2}" r="5"/>`])
  expect(svg).toMatch(/>13\.\d\d°E<[^]*>52\.\d\d°N</)
  // At a corner of the world, the picture does not extend beyond the world.
  for (const coordinates of positions('180 90, -180 -90'))
    expect(draw({ type: 'Point', coordinates }).svg).not.toMatch(/NaN|Infinity|>1[89]\d\.[1-9]|>9\d\.[1-9]/)
})
test('the map picture draws large shapes below small ones, with a link to each feature', () => {
  const { svg } = draw(
    { type: 'Point', coordinates: [5, 5] },
    polygon([4, 4], [6, 4], [6, 6]),
    { type: 'LineString', coordinates: positions('0 0, 10 10') },
    polygon([0, 0], [10, 0], [10, 10], [0, 10]),
  )
  expect(
    [...svg.matchAll(/<a href="([^"]+)"><title>([^<]+)<\/title>/g)].map(([, href, title]) => [href, title]),
  ).toEqual([3, 1, 2, 0].map((i) => [`https://x.example/${i}?a&#38;b`, `&#60;${i}&#62;`]))
})
const heightOf = (svg: string) => Number(/viewBox="0 0 960 ([\d.]+)"/.exec(svg)![1])
const xsOf = (mark: string) => [...mark.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, x]) => Number(x))
const ysOf = (mark: string) => [...mark.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, , y]) => Number(y))
test('the map picture draws a geometry across the antimeridian in one piece or at both edges', () => {
  const crossing = [
    { type: 'LineString', coordinates: positions('170 10, -170 10') },
    polygon([-175, -20], [175, -20], [175, -10], [-175, -10]),
  ]
  const near = draw(...crossing, { type: 'Point', coordinates: [-179, 0] }).svg
  // An area, the two pieces of a line that meet at the antimeridian, and a point.
  expect(marks(near)).toHaveLength(4)
  for (const each of marks(near).slice(0, 3).map(xsOf))
    expect(Math.min(...each) > 100 && Math.max(...each) < 860).toBe(true)
  expect(near).toMatch(/>1\d\d°E<[^]*>180°E?<[^]*>1\d\d°W</)
  // With points all around the world, the picture is the world.
  const world = draw(
    ...crossing,
    ...[-120, -60, 0, 60, 120].map((lng) => ({ type: 'Point', coordinates: [lng, 0] })),
  ).svg
  const lines = marks(world)
    .filter((mark) => mark.startsWith('<path'))
    .map(xsOf)
  expect(lines).toHaveLength(4)
  for (const each of lines) expect(Math.max(...each) - Math.min(...each)).toBeLessThan(100)
})
test.each<[string, Geometry]>([
  ['a point', { type: 'Point', coordinates: [180, 5] }],
  ['points', { type: 'MultiPoint', coordinates: positions('180 5, 180 6') }],
  ['a line', { type: 'LineString', coordinates: positions('180 5, 180 6') }],
])('the map picture draws %s at the longitude 180 as at -180', (_, geometry) => {
  const west = JSON.parse(JSON.stringify(geometry).replaceAll('180', '-180')) as Geometry
  expect(marks(draw(geometry).svg)).toEqual(marks(draw(west).svg))
  expect(marks(draw(geometry).svg)).not.toEqual([])
})
test.each<[string, Geometry]>([
  [
    'a hole',
    {
      type: 'Polygon',
      coordinates: [
        positions('170 -10, -170 -10, -170 10, 170 10, 170 -10'),
        positions('-175 -5, -175 5, -173 5, -173 -5, -175 -5'),
      ],
    },
  ],
  [
    'a further line',
    { type: 'MultiLineString', coordinates: [positions('170 0, 175 0'), positions('-175 0, -170 0')] },
  ],
])('the map picture draws %s on the other side of the antimeridian next to the rest', (_, geometry) => {
  const xs = marks(draw(geometry).svg)
    .flatMap(xsOf)
    .sort((a, b) => a - b)
  const gaps = xs.slice(1).map((x, i) => x - xs[i]!)
  expect(xs[0]! > 0 && xs.at(-1)! < 960 && Math.max(...gaps) < 480).toBe(true)
})
test('the map picture fills the pole in a ring around it', () => {
  const north = draw(polygon([0, 70], [90, 75], [180, 70], [-90, 72])).svg
  expect(Math.min(...ysOf(marks(north)[0]!))).toBe(0)
  const south = draw(polygon([0, -70], [-90, -75], [180, -70], [90, -72])).svg
  expect(Math.max(...ysOf(marks(south)[0]!))).toBe(heightOf(south))
})

describe('the map picture of an area at a pole', () => {
  /** True if an area on a picture of the world covers a position, by the even-odd rule. */
  const isInside = (svg: string, lng: number, lat: number) => {
    const [x, y] = [((lng + 180) / 360) * 960, ((90 - lat) / 180) * heightOf(svg)]
    const edges = marks(svg)
      .flatMap((mark) => mark.split('M').slice(1))
      .flatMap((path) => {
        const ring = path
          .split('Z')[0]!
          .split('L')
          .map((each) => each.split(' ').map(Number))
        return ring.map((at, i) => [...ring.at(i - 1)!, ...at] as [number, number, number, number])
      })
    return (
      edges.filter(([ax, ay, bx, by]) => ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax))
        .length %
        2 ===
      1
    )
  }
  const coast = Array.from({ length: 40 }, (_, i) => [-69 + i / 40, -30 - (i % 2)])
  const arctic = polygon(...positions('0 80, 60 80, 120 80, 180 80, -120 80, -70 80'), ...coast, [-68, 80])
  test.each<[string, Geometry, [number, number][], [number, number][]]>([
    ['covers it, wherever its vertices are', arctic, [[0, 89], [100, 85]], [[0, -89], [100, -60]]], // oxfmt-ignore
    [
      'reaches it along the meridians of its edges',
      polygon(...positions('0 60, 90 60, 45 90')),
      [[1, 88], [89, 88]], // oxfmt-ignore
      [[91, 88], [-1, 88]], // oxfmt-ignore
    ],
  ])('%s', (_, geometry, inside, outside) => {
    const { svg } = drawMap([{ title: 'x', href: 'https://x.example/', geometry }], [-180, -90, 180, 90])
    expect(inside.map(([lng, lat]) => isInside(svg, lng, lat))).toEqual([true, true])
    expect(outside.map(([lng, lat]) => isInside(svg, lng, lat))).toEqual([false, false])
  })
  test('has no border along a meridian', () => {
    const [area] = marks(draw(polygon(...positions('10 70, 100 75, -170 70, -80 72'))).svg)
    const xs = xsOf(area!)
    for (const [i, x] of xs.entries()) if (x === xs.at(i - 1)) expect(x < 0 || x > 960).toBe(true)
    expect(marks(draw(polygon(...positions('10 70, 100 75, -170 70, -80 72'))).svg)).toHaveLength(1)
  })
})

describe('the map picture shows the requested box', () => {
  const point = (lng: number, lat: number): Drawable => ({
    title: 'x',
    href: 'https://x.example/',
    geometry: { type: 'Point', coordinates: [lng, lat] },
  })
  /** Left, top, right and bottom of the outline. */
  const outline = (svg: string) => {
    const [x, y, width, height] = /<rect class="box" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/
      .exec(svg)!
      .slice(1)
      .map(Number) as [number, number, number, number]
    return [x, y, x + width, y + height]
  }
  const place = (svg: string) =>
    /<circle class="point" cx="([^"]+)" cy="([^"]+)"/.exec(svg)!.slice(1).map(Number) as [number, number]
  test.each<[string, Bbox, [number, number]]>([
    ['Europe', [-10, 35, 30, 60], [13.4, 52.5]],
    ['a town', [13.1, 52.3, 13.7, 52.7], [13.4, 52.5]],
    ['the Pacific', [150, -60, -150, 60], [-179, 0]],
    ['an island at the antimeridian', [179, -18, -179, -16], [180, -17]],
    ['an island at the antimeridian, with the point at -180', [179, -18, -179, -16], [-180, -17]],
    ['a narrow strip', [10, -80, 11, 80], [10.5, 0]],
    ['the Arctic', [-180, 66, 180, 90], [0, 90]],
    ['a corner of the world', [170, 80, 180, 90], [175, 85]],
    ['all but Africa', [60, -90, -30, 90], [179, 1]],
    ['the world', [-180, -90, 180, 90], [0, 0]],
  ])('of %s', (name, box, [lng, lat]) => {
    // A feature outside the box, or around the world, does not widen the picture.
    const far: Drawable = {
      title: 'y',
      href: 'https://x.example/',
      geometry: { type: 'LineString', coordinates: positions('-100 20, 0 30, 100 20, -160 10') },
    }
    const { svg } = drawMap([point(lng, lat), far], box)
    const [left, top, right, bottom] = outline(svg) as [number, number, number, number]
    const [x, y] = place(svg)
    const height = heightOf(svg)
    // The box fills the picture in at least one direction, and exceeds it only at the edge of the world.
    expect(top >= -0.2 && bottom <= height + 0.2).toBe(true)
    if (name !== 'all but Africa') {
      expect(left >= -0.2 && right <= 960.2).toBe(true)
      expect(Math.max((right - left) / 960, (bottom - top) / height)).toBeGreaterThan(0.85)
      expect(x >= left && x <= right).toBe(true)
    }
    expect(x >= 0 && x <= 960 && y >= top - 0.2 && y <= bottom + 0.2).toBe(true)
    expect(svg).not.toMatch(/NaN|undefined|Infinity/)
    for (const [, degrees] of svg.matchAll(/>([\d.]+)°[EW]</g))
      expect(Number(degrees)).toBeLessThanOrEqual(180)
  })
  test('even if the box has no records, or is a point', () => {
    expect(outline(drawMap([], [5, 45, 6, 46]).svg)[0]).toBeGreaterThan(0)
    expect(drawMap([point(5, 45)], [5, 45, 5, 45]).svg).toContain('<circle class="point" cx="480"')
  })
})
describe('a feature with more positions than the map draws', () => {
  const [MOST, COPIES] = [500, 3]
  const drawn = (geometry: Geometry, most = MOST) =>
    marks(drawMap([{ title: 'x', href: 'https://x.example/', geometry }], undefined, { most }).svg)
  const countIn = (mark: string) => (mark.startsWith('<circle') ? 1 : xsOf(mark).length)
  const extentOf = (some: readonly string[]) =>
    [some.flatMap(xsOf), some.flatMap(ysOf)].flatMap((each) => [Math.min(...each), Math.max(...each)])

  test.each(Object.keys(FAMILIES))('is drawn coarsely, or as a box: %s', (name) => {
    const some = drawn(FAMILIES[name]!(9_000) as Geometry)
    expect(some.length).toBeGreaterThan(0)
    // A shape across the edge of the picture is drawn at both edges.
    expect(some.reduce((sum, mark) => sum + countIn(mark), 0)).toBeLessThanOrEqual(COPIES * MOST)
    // Pages draw with this default.
    const onPage = marks(draw(FAMILIES[name]!(15_000) as Geometry).svg)
    const positions = onPage.reduce((sum, mark) => sum + countIn(mark), 0)
    expect(positions).toBeGreaterThan(0)
    expect(positions).toBeLessThanOrEqual(COPIES * 5_000)
  })
  test('has its extent to a few pixels, and its large parts', () => {
    const wave = (n: number, south: number) =>
      Array.from({ length: n }, (_, i) => [(20 * i) / n, south + Math.sin(i / 300) / 2])
    const island = (lng: number) => [[lng, 2], [lng + 0.001, 2], [lng, 2.001], [lng, 2]] // oxfmt-ignore
    const coast = [...wave(9_000, 0), [20, 8], [0, 8], [0, 0]]
    const geometry = {
      type: 'MultiPolygon',
      coordinates: [[coast], ...[30, 31, 32].map((lng) => [island(lng)])],
    }
    const [full, coarse] = [drawn(geometry, Infinity), drawn(geometry)]
    expect([full.length, coarse.length, coarse.every((mark) => mark.includes('"area"'))]).toEqual([
      4,
      1,
      true,
    ])
    const land = extentOf(full.slice(0, 1))
    for (const [i, edge] of extentOf(coarse).entries()) expect(Math.abs(edge - land[i]!)).toBeLessThan(4)
    expect(countIn(coarse[0]!)).toBeGreaterThan(100)
  })
  test('is drawn as a box if its edges are long, and in full below the limit', () => {
    const star = FAMILIES['a star whose edges all cross']!
    const [full, box] = [drawn(star(9_000) as Geometry, Infinity), drawn(star(9_000) as Geometry)]
    expect(box.map(countIn)).toEqual([5])
    expect(extentOf(box)).toEqual(extentOf(full))
    expect(drawn(star(MOST - 1) as Geometry)).toEqual(drawn(star(MOST - 1) as Geometry, Infinity))
  })
})
test('the map picture omits and counts features beyond its limit of positions', () => {
  const circle = (size: number, lng: number): Geometry =>
    polygon(
      ...Array.from({ length: size }, (_, i) => [
        lng + Math.cos((i / size) * 2 * Math.PI),
        Math.sin((i / size) * 2 * Math.PI),
      ]),
    )
  const started = performance.now()
  const { svg, left } = draw(circle(60_000, 0), circle(30_000, 5), circle(30_000, 10), circle(19_000, 15))
  expect(left).toBe(2)
  expect(marks(svg)).toHaveLength(2)
  expect(svg.length).toBeLessThan(700_000)
  expect(performance.now() - started).toBeLessThan(20_000)
})
test('the map picture counts the positions of a ring around a pole once', () => {
  const antarctica = (size: number): Geometry =>
    polygon(...Array.from({ length: size }, (_, i) => [(360 * i) / size - 180, -70 + (i % 2) * 5]))
  const hole = polygon([170, -80], [-170, -80], [-170, -82], [170, -82]).coordinates as number[][][]
  const [shell] = antarctica(30_000).coordinates as number[][][]
  const { left } = draw({ type: 'Polygon', coordinates: [shell, ...hole] }, antarctica(19_000))
  expect(left).toBe(0)
  expect(draw(antarctica(30_000), antarctica(30_000)).left).toBe(1)
  // Below the limit of details, the path has all positions of its three turns.
  expect(marks(draw(antarctica(4_000)).svg).map((mark) => xsOf(mark).length)).toEqual([
    expect.closeTo(12_000, -2),
  ])
})

describe('the map picture of land and sea', () => {
  const LAND = /<path class="land" d="([^"]*)"/
  const landAround = (longitude: number, latitude: number) => {
    const { svg } = draw({ type: 'Point', coordinates: [longitude, latitude] })
    return LAND.exec(svg)![1]!
  }
  /** True if the middle of the picture is inside the path, by the even-odd rule. */
  const isLand = (longitude: number, latitude: number) => {
    const { svg } = draw({ type: 'Point', coordinates: [longitude, latitude] })
    const [, x, y] = /<circle[^>]*cx="([\d.]+)" cy="([\d.]+)"/.exec(svg)!.map(Number)
    const rings = LAND.exec(svg)![1]!
      .split('M')
      .slice(1)
      .map((ring) =>
        ring
          .replace('Z', '')
          .split('L')
          .map((each) => each.split(' ').map(Number)),
      )
    return rings.reduce(
      (inside, ring) =>
        ring.reduce((within, [bx, by], i) => {
          const [ax, ay] = ring.at(i - 1)!
          const crosses = ay! > y! !== by! > y! && x! < ax! + ((y! - ay!) / (by! - ay!)) * (bx! - ax!)
          return crosses ? !within : within
        }, inside),
      false,
    )
  }
  test.each([
    ['Berlin', 13.4, 52.5, true],
    ['the Atlantic', -30, 40, false],
    ['the Caspian Sea', 51, 42, false],
    ['Chukotka, beyond the antimeridian', -172, 66.5, true],
    ['Wrangel Island, on the antimeridian', -179.9, 71.2, true],
    ['Taveuni, on the antimeridian', -179.98, -16.85, true],
    ['the South Pole', 0, -89.9, true],
    ['the North Pole', 0, 89.9, false],
  ])('shows %s as land or sea', (_name, longitude, latitude, expected) => {
    expect(isLand(longitude, latitude)).toBe(expected)
  })
  test('shows the whole world in few bytes, and no land in an empty sea', () => {
    const { svg } = draw(
      { type: 'Point', coordinates: [-179, -80] },
      { type: 'Point', coordinates: [0, 80] },
      { type: 'Point', coordinates: [100, 0] },
    )
    expect(svg).toMatch(LAND)
    expect(svg.length).toBeLessThan(60_000)
    expect(landAround(-30, 40)).toBe('')
  })
})
