import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { GeometryError, canonicalJson, distanceMeters, parseGeometry } from '.'

interface Case {
  id: string
  op: string
  inputs: Record<string, { type: string }>
  expected: number
  tolerance: number
}
const CASES = (JSON.parse(readFileSync('test/vectors/geodesy-cases.json', 'utf8')) as Case[]).filter(
  ({ op, inputs }) => op === 'distance' && Object.values(inputs).every((input) => input.type === 'Point'),
)

describe('distance between points', () => {
  test.each(CASES)('$id', ({ inputs, expected, tolerance }) => {
    const [from, to] = [parseGeometry(inputs.from, 'from'), parseGeometry(inputs.to, 'to')]
    const rounded = Math.round(distanceMeters(from, to) * 100) / 100
    expect(Math.abs(rounded - expected)).toBeLessThanOrEqual(tolerance)
    expect(distanceMeters(to, from)).toBeCloseTo(distanceMeters(from, to), 7)
  })
  const metres = (a: number[], b: number[]) => distanceMeters(parseGeometry({ type: 'Point', coordinates: a }, 'a'), parseGeometry({ type: 'Point', coordinates: b }, 'b'))
  test('one place under several names', () => {
    expect(metres([180, 10], [-180, 10])).toBe(0)
    expect(metres([0, 90], [123, 90])).toBe(0)
    expect(metres([1, 2, 30], [1, 2, 9000])).toBe(0)
    expect(metres([-0, 0], [0, -0])).toBe(0)
  })
  test('antipodes: the quarter meridian twice', () => {
    expect(metres([0, 0], [180, 0])).toBeCloseTo(2 * 10_001_965.7293, 3)
    expect(metres([0, 90], [0, -90])).toBeCloseTo(2 * 10_001_965.7293, 3)
  })
  test('another geometry is refused by name', () => {
    const line = parseGeometry({ type: 'LineString', coordinates: [[0, 0], [1, 1]] }, 'from')
    const point = parseGeometry({ type: 'Point', coordinates: [0, 0] }, 'to')
    expect(() => distanceMeters(line, point, 'from', 'to')).toThrow(new GeometryError('from', 'expected a Point, got a LineString; other geometries are not measured yet'))
  })
})

describe('reading GeoJSON', () => {
  const ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
  test.each([
    [null, 'g: expected a GeoJSON object with type and coordinates, got null'],
    [[1, 2], 'g: expected a GeoJSON object with type and coordinates, got an array of 2'],
    [{}, 'g.type: expected one of Point, MultiPoint, LineString, MultiLineString, Polygon, MultiPolygon, GeometryCollection, Feature, FeatureCollection, got nothing'],
    [{ type: 'Circle' }, /^g\.type: expected one of .*, got "Circle"$/],
    [{ type: 'constructor' }, /^g\.type: expected one of/],
    [{ type: 'Point' }, 'g.coordinates: expected a position [longitude, latitude] or [longitude, latitude, altitude], got nothing'],
    [{ type: 'Point', coordinates: [1] }, /position .* got an array of 1$/],
    [{ type: 'Point', coordinates: [1, 2, 3, 4] }, /position .* got an array of 4$/],
    [{ type: 'Point', coordinates: ['1', 2] }, 'g.coordinates: expected finite numbers [longitude, latitude], got "1" among them'],
    [{ type: 'Point', coordinates: [Infinity, 2] }, /finite/],
    [{ type: 'Point', coordinates: [180.0000001, 2] }, 'g.coordinates: longitude must be from -180 to 180, got 180.0000001'],
    [{ type: 'Point', coordinates: [2, 90.5] }, 'g.coordinates: latitude must be from -90 to 90, got 90.5; positions are [longitude, latitude]'],
    [{ type: 'LineString', coordinates: [[0, 0]] }, 'g.coordinates: a line needs at least 2 positions, got 1'],
    [{ type: 'MultiPoint', coordinates: [] }, 'g.coordinates: expected a non-empty array, got an array of 0'],
    [{ type: 'Polygon', coordinates: [ring, [[0, 0], [1, 0], [0, 0]]] }, 'g.coordinates[1]: a ring needs at least 4 positions, the last equal to the first; got 3'],
    [{ type: 'MultiPolygon', coordinates: [[[...ring.slice(0, 3), [0, 1]]]] }, 'g.coordinates[0][0]: a ring must end where it starts: the last position must equal the first, [0,0]'],
    [{ type: 'FeatureCollection', features: [] }, 'g.features: expected exactly one feature, got 0'],
    [{ type: 'Feature', geometry: null }, 'g.geometry: expected a GeoJSON object with type and coordinates, got null'],
    [{ type: 'Point', coordinates: [1, 2], crs: { type: 'name', properties: { name: 'EPSG:3857' } } }, /^g\.crs: only WGS84/],
  ])('%j is refused', (value, message) => {
    expect(() => parseGeometry(value, 'g')).toThrow(typeof message === 'string' ? new GeometryError('g', message.slice(message.indexOf(': ') + 2)).constructor : GeometryError)
    expect(() => parseGeometry(value, 'g')).toThrow(message)
  })
  test('nesting and size are bounded', () => {
    let nested: unknown = { type: 'Point', coordinates: [0, 0] }
    for (let i = 0; i < 10; i++) nested = { type: 'GeometryCollection', geometries: [nested] }
    expect(() => parseGeometry(nested, 'g')).toThrow('nested deeper than 8 levels')
    const many = Array.from({ length: 100_001 }, () => [0, 0])
    expect(() => parseGeometry({ type: 'MultiPoint', coordinates: many }, 'g')).toThrow('g.coordinates[100000]: more than 100000 positions')
  })
  test('a Feature is its geometry; bbox, crs and foreign members are gone', () => {
    const feature = { type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: [1, 2], bbox: [1, 2, 1, 2], note: 'x', crs: { properties: { name: 'EPSG:4326' } } } }
    expect(parseGeometry({ type: 'FeatureCollection', features: [feature] }, 'g')).toEqual({ type: 'Point', coordinates: [1, 2] })
  })
  test('canonical JSON sorts keys and prints numbers as RFC 8785', () => {
    const collection = { geometries: [{ coordinates: [-0, 1e21, 5], type: 'x' }], type: 'GeometryCollection' }
    expect(canonicalJson({ type: 'Point', coordinates: [-0, 1e-7] })).toBe('{"coordinates":[0,1e-7],"type":"Point"}')
    expect(canonicalJson(collection as never)).toBe('{"geometries":[{"coordinates":[0,1e+21,5],"type":"x"}],"type":"GeometryCollection"}')
  })
})
