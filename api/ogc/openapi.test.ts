import { expect, test } from 'vitest'
import { ogcOpenApi } from './openapi'
import { FEATURE_QUERY, ITEMS_QUERY } from './parameters'

const { paths } = ogcOpenApi('https://x.example', 'test')

test.each([
  ['/items', ITEMS_QUERY],
  ['/items/{featureId}', FEATURE_QUERY],
])('the definition lists the parameters that %s accepts', (path, { properties }) => {
  const { parameters } = paths[`/collections/location-records${path}`]!.get
  const names = parameters.map(({ $ref }) => $ref.split('/').at(-1))
  expect(names.filter((name) => name !== 'featureId')).toEqual(Object.keys(properties))
})
