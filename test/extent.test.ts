import type { Geometry, Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { boxBetween, extentOf, isAcross, isWellFormed, middleOf, nearest } from '../web/map/extent'
import { positions } from './positions'
import { hunt } from './seed'

/** Box of a geometry that the pages bring into view, mark and watch. */

const onOneWorld = (longitude: number) => longitude - 360 * Math.round(longitude / 360)
const line = (coordinates: Position[]): Geometry => ({ type: 'LineString', coordinates })
const polygon = (ring: Position[]): Geometry => ({ type: 'Polygon', coordinates: [ring] })

test.each<[string, boolean]>([
  ['{"type":"Point","coordinates":[2,48]}', true],
  ['{"type":"Polygon","coordinates":[[[2,48],[3,48,10],[3,49],[2,48]]]}', true],
  ['{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[2,48]]}]}', true],
  ['{"type":"Point","coordinates":[[2,48]]}', false],
  ['{"type":"Point","coordinates":["2","48"]}', false],
  ['{"type":"MultiPoint","coordinates":[2,48]}', false],
  ['{"type":"LineString","coordinates":[2,48]}', false],
  ['{"type":"LineString","coordinates":[null,[2,48]]}', false],
  ['{"type":"Polygon","coordinates":[[2,48],[3,48],[3,49],[2,48]]}', false],
  ['{"type":"MultiPolygon","coordinates":[[[2,48],[3,48],[3,49],[2,48]]]}', false],
  ['{"type":"GeometryCollection","geometries":[null]}', false],
  ['{"type":"GeometryCollection","geometries":[{"type":"Circle"}]}', false],
])('%s has positions where its type has them: %s', (text, expected) => {
  expect(isWellFormed(JSON.parse(text))).toBe(expected)
})

describe('the extent of a geometry', () => {
  test.each<[string, Geometry, number[]]>([
    ['a point', { type: 'Point', coordinates: [2, 48] }, [2, 48, 2, 48]],
    ['a line across the antimeridian', line(positions('178 -40, -178 -41')), [178, -41, 182, -40]],
    [
      'an area across the antimeridian, as two polygons',
      {
        type: 'MultiPolygon',
        coordinates: [
          [positions('-180 0, -179 0, -179 1, -180 0')],
          [positions('179 0, 180 0, 180 1, 179 0')],
        ],
      },
      [-181, 0, -179, 1],
    ],
    [
      'a ring around the north pole',
      polygon(positions('0 80, 90 80, 180 80, -90 80, 0 80')),
      [0, 80, 360, 90],
    ],
    [
      'a ring around the south pole',
      polygon(positions('0 -70, -120 -70, 120 -70, 0 -70')),
      [-360, -90, 0, -70],
    ],
    [
      'several geometries',
      {
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: [179, 0] },
          { type: 'MultiPoint', coordinates: [[-179, 5]] },
        ],
      },
      [179, 0, 181, 5],
    ],
  ])('contains %s', (_, geometry, expected) => {
    expect(extentOf([geometry])).toEqual(expected)
  })
  test('has its middle on the world, also if it is across the antimeridian', () => {
    expect(middleOf(line(positions('175 0, -175 10, -165 10')))).toEqual([-175, 5])
    expect(middleOf({ type: 'Point', coordinates: [180, 5] })).toEqual([180, 5])
  })
  test('crosses the antimeridian if an edge is shorter that way', () => {
    expect(isAcross(polygon(positions('177 -19, -178 -19, -178 -15, 177 -19')))).toBe(true)
    expect(isAcross(polygon(positions('-90 0, 90 0, 0 50, -90 0')))).toBe(false)
    expect(isAcross({ type: 'MultiPoint', coordinates: positions('177 0, -177 0') })).toBe(false)
  })
  test('encloses a drag across the antimeridian, not the opposite part of the Earth', () => {
    const to = nearest(-178, 175)
    expect(boxBetween({ lng: 175, lat: 5 }, { lng: to, lat: 1 })).toEqual([175, 1, -178, 5])
  })
  test('does not exist without a position', () => {
    expect(extentOf([])).toBeUndefined()
    expect(extentOf([{ type: 'MultiPoint', coordinates: [] }])).toBeUndefined()
  })
  hunt('is as wide as the path of a line, wherever it crosses the antimeridian', 500, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const path = [[random() * 360 - 180, random() * 180 - 90]]
      for (let steps = 2 + Math.floor(random() * 6); steps > 0; steps--)
        path.push([path.at(-1)![0]! + random() * 340 - 170, random() * 180 - 90])
      const longitudes = path.map(([x]) => x!)
      const extent = extentOf([line(path.map(([x, y]) => [onOneWorld(x!), y!]))])!
      expect(extent[2] - extent[0]).toBeCloseTo(Math.max(...longitudes) - Math.min(...longitudes), 6)
      expect(onOneWorld(extent[0] - Math.min(...longitudes))).toBeCloseTo(0, 6)
    }
  })
})
