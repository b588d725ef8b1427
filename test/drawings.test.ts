import type { Geometry, LineString, Polygon, Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { measurable } from '@geospatial-attestation/client/kernel'
import { drawGeometry, drawMeasured } from '../web/map/shapes'
import { ROUND_THE_POLE, point, square } from './shapes'

const at = (longitude: number, latitude: number) => point([longitude, latitude])
const jumps = (line: readonly Position[]) =>
  line.filter((place, i) => i > 0 && Math.abs(place[0]! - line[i - 1]![0]!) > 180)

describe('the drawings of the playground', () => {
  test('show a distance as the geodesic between the nearest places, also at the antimeridian', () => {
    const [line, ends] = drawMeasured('distance', [at(179, 10), at(-179, 10)], undefined, 1).features
    const path = (line!.geometry as LineString).coordinates
    expect(jumps(path)).toEqual([])
    expect(path[0]).toEqual([179, 10])
    expect(path.at(-1)).toEqual([181, 10])
    expect(ends!.geometry).toEqual({ type: 'MultiPoint', coordinates: [path[0], path.at(-1)] })
    // The shortest path runs north of the parallel.
    expect(Math.max(...path.map(([, latitude]) => latitude!))).toBeGreaterThan(10.001)
  })
  test('close a polygon around a pole over the pole', () => {
    const [area, edge] = drawGeometry(ROUND_THE_POLE, 'a')
    const [ring] = (area!.geometry as Polygon).coordinates
    expect(jumps((edge!.geometry as LineString).coordinates)).toEqual([])
    expect(Math.max(...ring!.map(([, latitude]) => latitude!))).toBe(90)
    expect(Math.min(...ring!.map(([, latitude]) => latitude!))).toBeCloseTo(80)
  })
  test.each([
    ['a point', at(0, 89)],
    ['a line across the antimeridian', { type: 'LineString', coordinates: [[177, -18], [-178, -14]] }], // oxfmt-ignore
    ['a polygon', square(10, 50)],
  ] as [string, Geometry][])('have every position of a radius around %s at the radius', (_, target) => {
    const { features } = drawMeasured('within', [at(10, 0), target], 150_000, true)
    const edges = features.filter(
      ({ properties, geometry }) => properties!.role === 'buffer' && geometry.type === 'LineString',
    )
    const places = edges.flatMap(({ geometry }) => (geometry as LineString).coordinates)
    expect(places.length).toBeGreaterThan(50)
    const whole = measurable(target)
    const wrong = places.filter(([longitude = 0, latitude = 0]) => {
      const place = measurable(at(longitude - 360 * Math.round(longitude / 360), latitude))
      return !place.within(whole, 150_000.02) || place.within(whole, 149_999.97)
    })
    expect(wrong).toEqual([])
  })
  test('show the overlap of two polygons, or the shared position if they only touch', () => {
    const [one, other] = [square(179.5, 0), square(-180, 0.5)]
    const moved: Polygon = {
      type: 'Polygon',
      coordinates: one.coordinates.map((ring) => ring.map(([x, y]) => [x! > 180 ? x! - 360 : x!, y!])),
    }
    const { features } = drawMeasured('intersects', [moved, other], undefined, true)
    const overlap = features.find(({ properties }) => properties!.role === 'overlap')!.geometry as Polygon
    for (const [longitude, latitude] of overlap.coordinates[0]!) {
      expect(longitude).toBeGreaterThanOrEqual(179.99999)
      expect(longitude).toBeLessThanOrEqual(180.50001)
      expect(latitude).toBeGreaterThan(0.499)
      expect(latitude).toBeLessThan(1.001)
    }
    const touching = drawMeasured('intersects', [square(0, 0), square(1, 1)], undefined, true)
    expect(touching.features.filter(({ properties }) => properties!.role === 'end').length).toBe(1)
  })
})
