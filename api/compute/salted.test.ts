import { describe, expect, test } from 'vitest'
import { GeometryError, readGeometry } from '../../src/geodesy'
import { Measurer } from './measure'
import { isSalted, refuseSalts, resolveSalted } from './salted'
import { sentence, testSentences } from '../../test/sentences'

const SALT = `0x${'5a'.repeat(32)}`
const POINT = { type: 'Point', coordinates: [13.4, 52.5] }
/** One object of every kind that GeoJSON may have. */
const DOCUMENT = {
  type: 'FeatureCollection',
  crs: { type: 'name', properties: { name: 'EPSG:4326' } },
  features: [
    {
      type: 'Feature',
      properties: { name: 'x', more: { deep: [[{ deeper: null }]] } },
      geometry: {
        type: 'GeometryCollection',
        geometries: [POINT, { type: 'GeometryCollection', geometries: [POINT, POINT] }],
        foreign: [{}],
        coordinates: [{}],
      },
      coordinates: { deep: [[0, 0, {}]] },
    },
  ],
  foreign: { type: 'Point', coordinates: [{}] },
}

test.each([undefined, null, 1, 'text'])('the reader finds no salt in %s', (value) => {
  expect(() => refuseSalts(value, 'from')).not.toThrow()
})

/**
 * Returns the document with a salt in its nth object, and the path of that object; undefined if n is too
 * large.
 */
function saltedAt(n: number): { document: unknown; path: string } | undefined {
  let count = 0
  let found: string | undefined
  const copy = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((each, i) => copy(each, `${path}[${i}]`))
    if (typeof value !== 'object' || value === null) return value
    const mine = count++ === n
    if (mine) found = path
    const entries = Object.entries(value).map(([name, each]) => [name, copy(each, `${path}.${name}`)])
    return Object.fromEntries(mine ? [...entries, ['salt', SALT]] : entries)
  }
  const document = copy(DOCUMENT, 'from')
  return found === undefined ? undefined : { document, path: found }
}

describe('a salt in GeoJSON', () => {
  test('is refused in any object, which the error names', () => {
    let n = 0
    for (let each = saltedAt(n); each; each = saltedAt(++n)) {
      const { document, path } = each
      expect(() => isSalted(document as object, 'from'), path).toThrow(GeometryError)
      expect(() => isSalted(document as object, 'from'), path).toThrow(sentence(path))
      expect(() => readGeometry(document, 'from')).not.toThrow()
    }
    expect(n).toBe(18)
    expect(isSalted(DOCUMENT, 'from')).toBe(false)
  })
  test('is refused even next to a correctly placed salt', async () => {
    const salted = { geometry: saltedAt(5)!.document, salt: SALT }
    expect(isSalted(salted, 'from')).toBe(true)
    await expect(resolveSalted(salted, 'from', new Measurer())).rejects.toThrow(GeometryError)
  })
  test('is not searched for in plain coordinates, however many there are', () => {
    const coordinates = Array.from({ length: 50_000 }, (_, i) => [i / 1e3, 0])
    expect(() => refuseSalts({ type: 'LineString', coordinates }, 'from')).not.toThrow()
  })
})

test.each(['0x5a', `0x${'0'.repeat(64)}`, 5, null, `0x${'5a'.repeat(33)}`])(
  'the salt reader refuses the salt %j',
  async (salt) => {
    await expect(resolveSalted({ geometry: POINT, salt }, 'from', new Measurer())).rejects.toThrow(
      sentence('from.salt'),
    )
  },
)

testSentences()
