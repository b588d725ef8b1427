import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { GeometryError, areaSquareMeters, lengthMeters, prepareGeometry, readGeometry } from '../geodesy'
import { COMPUTE, OPERATION_ROWS, OPERATIONS, readLabel, UNITS, writeLabel, type OperationName } from '.'
import { positions } from '../../test/positions'

test('the label of an operation is read as the operation and its numbers', () => {
  for (const name of Object.keys(OPERATIONS) as OperationName[])
    for (const radius of [0.01, 0.29, 1, 4.35, 500, 1234.56, 99_999_999.99, 100_000_000]) {
      const label = writeLabel(name, [radius])
      const read = readLabel(label)!
      expect([read.name, writeLabel(read.name, read.numbers)]).toEqual([name, label])
      if (name === 'within') expect(read.numbers).toEqual([radius])
    }
})
test.each([
  [1.005, 101],
  [0.285, 29],
  [1.015, 102],
  [8.575, 858],
  [1.0049999999999997, 100],
  [1.9949999999999999, 199],
  [1.0050000000000003, 101],
  [0.005, 1],
  [0.00499, 0],
  [5e-324, 0],
  [0.05, 5],
  [12, 1200],
  [99_999_999.995, 10_000_000_000],
  [100_000_000, 10_000_000_000],
])('the label of a radius of %d m contains %d cm', (radius, centimeters) =>
  expect(writeLabel('within', [radius])).toBe(`within:${centimeters}`),
)
hunt('a radius is rounded half up, as the decimal number that was sent', 10_000, ({ cases, random }) => {
  for (let i = 0; i < cases; i++) {
    // Integer thousandths of a centimetre, often halfway between two centimetres.
    const decimals = BigInt(Math.floor(10 ** (1 + 9 * random())))
    const thousandths = random() < 0.5 ? 1000n * decimals + 500n : decimals
    const text = `${thousandths / 100_000n}.${String(thousandths % 100_000n).padStart(5, '0')}`
    expect(writeLabel('within', [Number(text)]), text).toBe(`within:${(thousandths + 500n) / 1000n}`)
  }
})
hunt('areas and lengths are rounded to the nearest unit of the payload', 200, ({ cases, random }) => {
  const around = (radius: number) => {
    const [longitude, latitude] = [random() * 300 - 150, random() * 120 - 60]
    const corner = (degrees: number) => [
      longitude + radius * Math.cos((degrees * Math.PI) / 180),
      latitude + radius * Math.sin((degrees * Math.PI) / 180),
    ]
    return [0, 120, 240, 0].map(corner)
  }
  const prepared = (geometry: object) => prepareGeometry(readGeometry(geometry, 'g'))
  for (let i = 0; i < cases; i++) {
    // Sides from a metre to 3 km, so that doubles represent the area to a hundredth of a square centimetre.
    const ring = around(1e-5 * 3000 ** random())
    const area = prepared({ type: 'Polygon', coordinates: [ring] })
    const line = prepared({ type: 'LineString', coordinates: ring })
    expect(Math.abs(Number(COMPUTE.area([area], [])) - 1e4 * areaSquareMeters(area))).toBeLessThan(0.51)
    expect(Math.abs(Number(COMPUTE.length([line], [])) - 1e2 * lengthMeters(line))).toBeLessThan(0.51)
  }
})
test.each([
  ...['', 'volume', 'distance:5', 'within', 'within:', 'within:-1', 'within:NaN', 'within:1.5'],
  ...['within:1e3', 'within:05'],
])('readLabel rejects the label %j', (text) => expect(readLabel(text)).toBeUndefined())
test.each(['toString', 'constructor:1', '__proto__'])('readLabel does not read %j', (text) =>
  expect(readLabel(text)).toBeUndefined(),
)

const RING = positions('0 0, 1 0, 1 1, 0 0')
const GEOMETRIES = [
  { type: 'Point', coordinates: [0, 0] },
  { type: 'MultiPoint', coordinates: RING },
  { type: 'LineString', coordinates: RING.slice(0, 3) },
  { type: 'MultiLineString', coordinates: [RING] },
  { type: 'Polygon', coordinates: [RING] },
  { type: 'MultiPolygon', coordinates: [[RING]] },
  { type: 'GeometryCollection', geometries: [{ type: 'Polygon', coordinates: [RING] }] },
]
test.each(OPERATION_ROWS)('the operation %s accepts only the geometry types of its row', (name, row) => {
  const given = ({ inputs }: typeof row, chosen: number, geometry: object) =>
    inputs.map((_, i) => prepareGeometry(readGeometry(i === chosen ? geometry : GEOMETRIES[4]!, 'g')))
  for (const [i, { accepts }] of row.inputs.entries())
    for (const geometry of GEOMETRIES) {
      const compute = () => COMPUTE[name](given(row, i, geometry), [1])
      if (accepts?.includes(geometry.type) ?? true) expect(compute()).toBeDefined()
      else expect(compute, geometry.type).toThrow(GeometryError)
    }
})
test.each(OPERATION_ROWS)('the operation %s has unique names for arguments, inputs and numbers', (_, row) => {
  const fields = [
    ...row.inputs.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
    ...(row.parameters ?? []),
  ]
  expect(new Set(fields).size).toBe(fields.length)
  expect(new Set(row.inputs.map(({ argument }) => argument)).size).toBe(row.inputs.length)
})

test.each(OPERATION_ROWS)(
  'the page docs/reference/compute.md lists %s',
  (name, { inputs, parameters = [], units }) => {
    const cells = [
      `\`${name}\``,
      inputs
        .map((input) => {
          const names = [input.name, ...(input.aliases ?? [])].map((each) => `\`${each}\``).join(' or ')
          return input.accepts ? `${names}: ${input.accepts.join(' or ')}` : names
        })
        .join(', '),
      parameters
        .map(({ name, unit, range }) => {
          const most = range.maximum.toLocaleString('en')
          return `\`${name}\`: ${unit}, above ${range.exclusiveMinimum} and at most ${most}`
        })
        .join(', '),
      units ? `to ${1 / UNITS[units].perAnswerUnit}` : 'boolean',
      units ? `\`${units}\`` : '',
    ]
    const row = `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
    expect(readFileSync('docs/reference/compute.md', 'utf8').split('\n')).toContain(row)
  },
)
