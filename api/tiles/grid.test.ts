import { expect, test } from 'vitest'
import { BUFFER, EXTENT, boxOf } from './grid'

test('boxOf extends a tile by its buffer, across the antimeridian at both edges of the map', () => {
  const buffer = (z: number) => (360 / 2 ** z) * (BUFFER / EXTENT)
  for (const z of [1, 2, 5, 22]) {
    const last = 2 ** z - 1
    const [west, , east] = boxOf({ z, x: last, y: 0 })
    expect([west, east]).toEqual([
      expect.closeTo(180 - 360 / 2 ** z - buffer(z), 9),
      expect.closeTo(-180 + buffer(z), 9),
    ])
    expect(boxOf({ z, x: 0, y: last }).filter((_, i) => i % 2 === 0)).toEqual([
      expect.closeTo(180 - buffer(z), 9),
      expect.closeTo(-180 + 360 / 2 ** z + buffer(z), 9),
    ])
  }
  expect(boxOf({ z: 0, x: 0, y: 0 }).filter((_, i) => i % 2 === 0)).toEqual([-180, 180])
})
