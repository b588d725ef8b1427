import { expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { readMeters, toCentimeters } from './centimeters'

test.each([
  ['1.00499999999999999', 100],
  ['1.00500000000000000000', 101],
  ['1.005000000000000000001', 101],
  ['100499999999999999999e-20', 100],
  ['0.00100499999999999999999E3', 100],
  ['0.004999999999999999999999', 0],
  ['0.284999999999999999999', 28],
  ['99999999.99499999999999999', 9_999_999_999],
  ['  +1.00499999999999999  ', 100],
])('%s m rounds to %d cm', (text, centimeters) => expect(toCentimeters(readMeters(text))).toBe(centimeters))
test('a text below half a centimetre is read as a length above 0', () =>
  expect(readMeters('0.00499999999999999999999')).toBeGreaterThan(0))
test.each(['', '0', '0.00000000000000000', '1e999', '-1.00499999999999999', 'NaN', '1.0049999999999.9999'])(
  'the reader of lengths reads %j like Number',
  (text) => expect(readMeters(text)).toBe(Number(text)),
)
hunt('the reader rounds decimals with any number of digits half up', 10_000, ({ cases, random }) => {
  const digits = (count: number) => Array.from({ length: count }, () => Math.floor(10 * random())).join('')
  for (let i = 0; i < cases; i++) {
    const places = 3 + Math.floor(40 * random())
    const unit = 10n ** BigInt(places)
    const whole = BigInt(digits(1 + Math.floor(9 * random())))
    // Half a centimetre, exact or changed in one of the later digits; or random digits.
    const near = BigInt(digits(2) + '5' + '0'.repeat(places - 3)) + BigInt(Math.floor(3 * random()) - 1)
    const value = whole * unit + (random() < 0.8 ? near : BigInt(digits(places)))
    const decimals = String(value % unit).padStart(places, '0')
    const text = random() < 0.5 ? `${value / unit}.${decimals}` : `${value}e-${places}`
    expect(toCentimeters(readMeters(text)), text).toBe(Number((value * 100n + unit / 2n) / unit))
    expect(Math.abs(readMeters(text) - Number(text)), text).toBeLessThanOrEqual(Number(text) * Number.EPSILON)
  }
})
