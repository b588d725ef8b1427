import { expect, test } from 'vitest'
import { drawMap, type Geometry } from './ogc-map'

const draw = (...geometries: (Geometry | null)[]) => drawMap(geometries.map((geometry, i) => ({ title: `<${i}>`, href: `https://x.example/${i}?a&b`, geometry })))
const polygon = (...positions: number[][]): Geometry => ({ type: 'Polygon', coordinates: [[...positions, positions[0]]] })
/** The marks, without the grid. */
const marks = (svg: string) => svg.replace(/<g class="grid">[^]*<\/g>/, '').match(/<(path|circle)[^>]*>/g) ?? []

test('nothing is drawn of nothing', () => {
  expect(draw(null)).toEqual({ svg: '', left: 0 })
  expect(draw()).toEqual({ svg: '', left: 0 })
  expect(draw({ type: 'GeometryCollection', geometries: [] }, { type: 'Point', coordinates: [1, 2] }).svg).toContain('<circle')
})
test('a point lies in the middle, with some kilometres around it', () => {
  const { svg } = draw({ type: 'Point', coordinates: [13.3777, 52.5163] })
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!.map(Number)
  expect(marks(svg)).toEqual([`<circle class="point" cx="${width! / 2}" cy="${height! / 2}" r="5"/>`])
  expect(svg).toMatch(/>13\.\d\d°E<[^]*>52\.\d\d°N</)
  // At a corner of the world the picture does not go beyond it.
  for (const coordinates of [[180, 90], [-180, -90]]) expect(draw({ type: 'Point', coordinates }).svg).not.toMatch(/NaN|Infinity|>1[89]\d\.[1-9]|>9\d\.[1-9]/)
})
test('areas lie below lines, lines below points, large below small; each leads to its feature', () => {
  const { svg } = draw({ type: 'Point', coordinates: [5, 5] }, polygon([4, 4], [6, 4], [6, 6]), { type: 'LineString', coordinates: [[0, 0], [10, 10]] }, polygon([0, 0], [10, 0], [10, 10], [0, 10]))
  expect([...svg.matchAll(/<a href="([^"]+)"><title>([^<]+)<\/title>/g)].map(([, href, title]) => [href, title])).toEqual([3, 1, 2, 0].map((i) => [`https://x.example/${i}?a&#38;b`, `&#60;${i}&#62;`]))
})
test('what crosses the antimeridian is drawn at both edges, and no line goes through the world', () => {
  const { svg } = draw({ type: 'LineString', coordinates: [[170, 10], [-170, 10]] }, polygon([-175, -20], [175, -20], [175, -10], [-175, -10]))
  const xs = marks(svg).map((mark) => [...mark.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, x]) => Number(x)))
  expect(xs).toHaveLength(4)
  for (const each of xs) expect(Math.max(...each) - Math.min(...each)).toBeLessThan(100)
})
test('round a pole the pole is inside', () => {
  const north = marks(draw(polygon([0, 70], [90, 75], [180, 70], [-90, 72])).svg)
  const ys = (mark: string) => [...mark.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, , y]) => Number(y))
  expect(Math.min(...ys(north[0]!))).toBe(0)
  const [south] = marks(draw(polygon([0, -70], [-90, -75], [180, -70], [90, -72])).svg)
  expect(Math.max(...ys(south!))).toBe(480)
})
test('what is too much is left out, and counted; the rest is drawn in little time and space', () => {
  const circle = (size: number, lng: number): Geometry => polygon(...Array.from({ length: size }, (_, i) => [lng + Math.cos((i / size) * 2 * Math.PI), Math.sin((i / size) * 2 * Math.PI)]))
  const started = performance.now()
  const { svg, left } = draw(circle(60_000, 0), circle(30_000, 5), circle(30_000, 10), circle(19_000, 15))
  expect(left).toBe(2)
  expect(marks(svg)).toHaveLength(2)
  expect(svg.length).toBeLessThan(700_000)
  expect(performance.now() - started).toBeLessThan(2_000)
})
