import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { box, polygon } from '../../test/shapes'
import { canonicalJson, prepareGeometry, readGeometry } from '.'
import { inRange, longitudeProblem } from './degrees'
import { sentence, testSentences } from '../../test/sentences'
import { positions } from '../../test/positions'

const read = (coordinates: number[]) => readGeometry({ type: 'Point', coordinates }, 'g')

describe('a coordinate beyond its range', () => {
  test.each([
    [180.00000000000023, 0],
    [-180.00000000000003, 52.5],
    [180.0000000001, 0],
    [-180.0000000001, 0],
    [180.000000001, 0],
    [-180.000000001, 0],
    [0, 90.00000000000001],
    [0, 90.000000001],
    [0, -90.000000001],
  ])('is moved to the end of the range if rounding caused it: %d, %d', (lng, lat) => {
    const end = (value: number, most: number) => Math.max(-most, Math.min(most, value))
    expect(canonicalJson(read([lng, lat, 7]))).toBe(
      `{"coordinates":[${end(lng, 180)},${end(lat, 90)},7],"type":"Point"}`,
    )
  })
  test('still closes its ring if rounding moved the coordinate beyond the range', () => {
    const ring = positions('180 0, 179 0, 179 1, 180.00000000000003 0')
    expect(readGeometry({ type: 'Polygon', coordinates: [ring] }, 'g').lon).toEqual(
      Float64Array.of(180, 179, 179, 180),
    )
  })
  test.each([
    [180.0000000010004, 0],
    [-180.000000002, 0],
    [190.5, 0],
    [-181, 0],
    [1e300, 0],
    [6_378_137.25, 0],
    [0, 90.000000002],
    [0, -91],
  ])('is rejected if it exceeds rounding: %d, %d', (lng, lat) => {
    expect(() => read([lng, lat])).toThrow(sentence('g.coordinates'))
  })
  test.each([
    [190.1, 'subtract 360, which gives -169.9'],
    [-190.1, 'add 360, which gives 169.9'],
    [365.1, 'subtract 360, which gives 5.1'],
    [899.5, 'subtract 720, which gives 179.5'],
    [-541, 'add 720, which gives 179'],
  ])('as a longitude of %d gets a remedy: %s', (longitude, remedy) => {
    expect(longitudeProblem(longitude).endsWith(`; ${remedy}`)).toBe(true)
  })
  hunt('gets a remedy that denotes the same meridian, to the last digit', 300, ({ seed, cases }) => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 180_000_001n, max: 3_600_000_000n }),
        fc.boolean(),
        fc.integer({ min: 0, max: 6 }),
        (millionths, negative, digits) => {
          // Sums computed exactly, in integers of 10^-digits degrees.
          const unit = 10n ** BigInt(digits)
          const units = (negative ? -millionths : millionths) / 10n ** BigInt(6 - digits)
          const given = Number(units) / Number(unit)
          if (Math.abs(given) <= 180) return
          const turn = 360n * unit
          const got = Number(/gives (\S+)$/.exec(longitudeProblem(given))![1])
          const right = (((units % turn) + turn + turn / 2n) % turn) - turn / 2n
          const gotUnits = BigInt(Math.round(got * Number(unit)))
          expect((gotUnits - right) % turn).toBe(0n)
          expect(got).toBe(Number(gotUnits) / Number(unit))
          expect(Math.abs(got)).toBeLessThanOrEqual(180)
        },
      ),
      { seed, numRuns: cases },
    )
  })
  test('does not include values in range, which stay unchanged', () => {
    for (const degrees of [-180, 180, 0, -0, 179.99999999999997, NaN, Infinity])
      expect(inRange(degrees, 180)).toBe(degrees)
  })
})

test.each([
  [-180, -90, 180, 90],
  [-180, -10, 180, 10],
  [180, 10, -180, 20],
])('the kernel rejects a box on one meridian, from %d, %d to %d, %d', (...corners) => {
  expect(() => prepareGeometry(readGeometry(polygon(box(...corners)), 'g'))).toThrow(
    sentence('g.coordinates[0]'),
  )
})
test('the kernel names both positions of a ring that does not close', () => {
  const square = polygon(box(0, 0, 1, 1))
  square.coordinates[0]![4] = [1e-13, 0]
  expect(() => readGeometry(square, 'g')).toThrow(sentence('g.coordinates[0]', '[0,0]', '[1e-13,0]'))
})

testSentences()
