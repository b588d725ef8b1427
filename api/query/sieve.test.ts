import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { placeOf } from './sieve'

describe('a box at least 180 degrees wide', () => {
  hunt('is refused with the bbox to use instead, in any notation', 40, ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      const south = Math.floor(170 * random()) - 85
      const north = south + 1 + Math.floor((89 - south) * random())
      const box = [-180, south, random() < 0.5 ? 0 : 180, north] as const
      const [west, , east] = box
      const corners = [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
      ]
      const first = Math.floor(4 * random())
      const turned = [...corners.slice(first), ...corners.slice(0, first)]
      if (random() < 0.5) turned.reverse()
      const ring = [...turned, turned[0]]
      const polygon = { type: 'Polygon', coordinates: [ring] }
      for (const geometry of [
        polygon,
        { type: 'MultiPolygon', coordinates: [[ring]] },
        { type: 'Feature', properties: {}, geometry: polygon },
      ])
        expect(() => placeOf(geometry, 'intersects'), JSON.stringify(geometry)).toThrow(
          expect.objectContaining({ problem: expect.stringContaining(`bbox=${box.join()}`) }) as Error,
        )
    }
  })
  test('is refused without the advice to use bbox if its polygon is not a box, or has a hole', () => {
    const ring = [
      [-180, 10],
      [180, 10],
      [180, 30],
      [-180, 20],
      [-180, 10],
    ]
    for (const coordinates of [[ring], [ring, ring]])
      expect(() => placeOf({ type: 'Polygon', coordinates }, 'intersects')).toThrow(
        expect.objectContaining({ problem: expect.not.stringContaining('bbox=') }) as Error,
      )
  })
})
