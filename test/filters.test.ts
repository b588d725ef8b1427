import path from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'

/** The module without its types: this project lacks those of browsers. */
const LOCATION = path.resolve('web/location.ts')
let location: {
  filterNames: (query: URLSearchParams) => string[]
  partsOf: (name: string) => string[]
  hasArea: (query: URLSearchParams) => boolean
}
beforeAll(async () => {
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('addEventListener', () => {})
  location = (await import(LOCATION)) as typeof location
  vi.unstubAllGlobals()
})

test.each([
  ['near=2.29,48.85&radius=1000&memo=tower', ['memo', 'near'], true],
  ['radius=1000', ['radius'], false],
  ['bbox=1,2,3,4&chain=celo&page=2', ['chain', 'bbox'], true],
  ['intersects=POINT(1 2)&near=', ['intersects'], true],
  ['', [], false],
])('the filters of the query %j are %j, with an area: %s', (query, names, limited) => {
  const given = new URLSearchParams(query)
  expect(location.filterNames(given)).toEqual(names)
  expect(location.hasArea(given)).toBe(limited)
})
test('a page removes a position and its radius together', () => {
  expect(['near', 'radius', 'memo'].map(location.partsOf)).toEqual([['near', 'radius'], ['radius'], ['memo']])
})
