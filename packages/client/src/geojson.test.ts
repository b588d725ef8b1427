// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { geometryOf } from './geojson'

test('the text of a geometry has the type first, also in nested collections', () => {
  const point = { type: 'Point', coordinates: [1, 2] }
  const collection = (...geometries: object[]) => ({ type: 'GeometryCollection', geometries })
  const nested = collection(point, collection({ coordinates: [[0, 0], [1, 1]], type: 'LineString' })) // oxfmt-ignore
  expect(JSON.stringify(geometryOf(nested, 'place'))).toBe(
    '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},' +
      '{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[1,1]]}]}]}',
  )
  expect(geometryOf([1, 2], 'place')).toEqual(point)
})
