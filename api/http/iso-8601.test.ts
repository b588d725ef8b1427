import { DateTime, Duration } from 'luxon'
import { expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { instantOf, shiftedBy } from './iso-8601'

const iso = (text: string, round: 'down' | 'up' = 'down') => {
  const instant = instantOf(text, round)
  return instant === undefined ? undefined : new Date(instant).toISOString()
}

/** Forms of ISO 8601-1, by its clauses, and the instant of each. */
test.each([
  // Calendar dates, extended and basic, and with reduced precision: the start.
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['20260131', '2026-01-31T00:00:00.000Z'],
  ['2026-01', '2026-01-01T00:00:00.000Z'],
  ['2026', '2026-01-01T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['0001', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31', '9999-12-31T00:00:00.000Z'],
  // Ordinal dates
  ['2026-001', '2026-01-01T00:00:00.000Z'],
  ['2026031', '2026-01-31T00:00:00.000Z'],
  ['2024-366', '2024-12-31T00:00:00.000Z'],
  // Week dates: week 1 has the year's first Thursday.
  ['2026-W05-6', '2026-01-31T00:00:00.000Z'],
  ['2026W056', '2026-01-31T00:00:00.000Z'],
  ['2026-W01', '2025-12-29T00:00:00.000Z'],
  ['2026W01', '2025-12-29T00:00:00.000Z'],
  ['2026-W53-7', '2027-01-03T00:00:00.000Z'],
  ['2027-W01-1', '2027-01-04T00:00:00.000Z'],
  // Times: extended, basic, of reduced precision
  ['2026-01-31T12:34:56', '2026-01-31T12:34:56.000Z'],
  ['20260131T123456', '2026-01-31T12:34:56.000Z'],
  ['2026-01-31T12:34', '2026-01-31T12:34:00.000Z'],
  ['2026-01-31T1234', '2026-01-31T12:34:00.000Z'],
  ['2026-01-31T12', '2026-01-31T12:00:00.000Z'],
  ['2026-031T12:34Z', '2026-01-31T12:34:00.000Z'],
  ['2026-W05-6T12:34Z', '2026-01-31T12:34:00.000Z'],
  ['2026-01-31t12:34:56z', '2026-01-31T12:34:56.000Z'],
  ['2026-01-31 12:34:56Z', '2026-01-31T12:34:56.000Z'],
  // Decimal fractions of the last number, with a comma or a point
  ['2026-01-31T12:34:56.789Z', '2026-01-31T12:34:56.789Z'],
  ['2026-01-31T12:34:56,7Z', '2026-01-31T12:34:56.700Z'],
  ['2026-01-31T12:34,5Z', '2026-01-31T12:34:30.000Z'],
  ['2026-01-31T12.25Z', '2026-01-31T12:15:00.000Z'],
  ['20260131T1234.5+0100', '2026-01-31T11:34:30.000Z'],
  ['2026-01-31T12:00:00.99999999999999999999Z', '2026-01-31T12:00:00.999Z'],
  // 24:00, and a leap second, which is the second after it
  ['2026-01-31T24:00', '2026-02-01T00:00:00.000Z'],
  ['2026-12-31T24:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ['2026-01-31T24', '2026-02-01T00:00:00.000Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2017-01-01T00:59:60+01:00', '2017-01-01T00:00:00.000Z'],
  ['20161231T235960.5Z', '2017-01-01T00:00:00.500Z'],
  // Offsets; a + that was not escaped arrives as a space
  ['2026-01-31T12:00+02', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T12:00+0230', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T12:00-02:30', '2026-01-31T14:30:00.000Z'],
  ['2026-01-31T12:00\u221202:30', '2026-01-31T14:30:00.000Z'],
  ['2026-01-31T12:00 02:30', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31 12:00 02:30', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T12 02', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T12:00:00-00:00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T00:30+14:00', '2026-01-30T10:30:00.000Z'],
  ['2026-01-01T00:00+23:59', '2025-12-31T00:01:00.000Z'],
])('the time parser parses %s', (text, expected) => {
  expect(iso(text)).toBe(expected)
})

test.each([
  ...['2026-02-30', '2026-02-29', '1900-02-29', '2026-13', '2026-00', '2026-01-00', '2026-01-32'],
  ...['20260230', '2026-04-31T00:00Z'],
  ...['2026-366', '2026-000', '2024-367', '2025-W53', '2026-W00', '2026-W54-1', '2026-W01-0'],
  ...['2026-W01-8', '2026W1', '2026-W1'],
  ...['2026-01-31T24:01', '2026-01-31T24:00:01', '2026-01-31T24:00:00.1', '2026-01-31T25:00'],
  ...['2026-01-31T12:60', '2026-01-31T12:00:61', '2026-01-31T12:00:60Z', '2026-01-31T23:59:60+01:00'],
  ...['2016-12-30T23:59:60Z', '1969-12-31T23:59:60.5-00:01'],
  ...['2026-01-31T12:00+24', '2026-01-31T12:00+01:60', '2026-01-31T12:00+1', '2026-01-31T12:00+'],
  ...['2026-01-31T12:00ZZ', '2026-01-31T12:00 Z', '2026-01-31Z', '2026-01-31+01:00'],
  // Texts with an incomplete date before a time, and forms that ISO 8601 does not have.
  ...['2026T12:00', '2026-01T12:00', '2026-W05T12:00', '202601', '2026-0131', '202601-31', '26-01-31'],
  ...['2026-1-31', '2026/01/31', '31.01.2026', '2026-01-31T', '2026-01-31T1', '2026-01-31T12:3'],
  ...['2026-01-31T12:', '2026-01-31T12:34.', '2026-01-31T12:3456', '2026-01-31T1234:56'],
  ...['2026-01-31T12:34:56.', '2026-01-31T.5'],
  // A time alone, an epoch, durations, intervals, centuries, other years, words
  ...['12:00', 'T12:00', '1700000000', '1700000000000', 'P1D', 'P1Y2M', 'R5/2026-01-01/P1D'],
  ...['2026-01-01/2026-02-01', '2026-01-01/..', '../2026-01-01', '20', '202', '0000', '0000-01-01'],
  ...['+002026-01-01', '-0001-01-01', '+2026', '10000-01-01', '0001-01-01T00:00+01:00'],
  ...['9999-12-31T24:00', '9999-12-31T23:59-00:01', 'now', 'today', 'infinity', '-infinity', 'epoch'],
  ...['NaN', '1e3', ''],
  ...[' 2026-01-31', '2026-01-31 ', '2026-01-31\n', '2026-01-31T12:00:00Z\0', "2026-01-31' OR 1=1 --"],
  ...['２０２６-01-31', '2026-01-31T12:00:00.123456789012345678901Z'],
  `2026-01-31T12:00:00.${'1'.repeat(10_000)}Z`,
])('the time parser rejects %j', (text) => {
  expect(iso(text)).toBeUndefined()
})

test('the time parser rounds fractions of a millisecond in the given direction', () => {
  expect([iso('2026-01-31T12:00:00.0005Z'), iso('2026-01-31T12:00:00.0005Z', 'up')]).toEqual([
    '2026-01-31T12:00:00.000Z',
    '2026-01-31T12:00:00.001Z',
  ])
  expect(iso('2026-01-31T12:00:00.5000000000Z', 'up')).toBe('2026-01-31T12:00:00.500Z')
  // 0.3333333333 hours are a little less than 20 minutes.
  expect([iso('2026-01-31T12.3333333333'), iso('2026-01-31T12.3333333333', 'up')]).toEqual([
    '2026-01-31T12:19:59.999Z',
    '2026-01-31T12:20:00.000Z',
  ])
  // Which times are accepted does not depend on the direction.
  expect(
    ['9999-12-31T23:59:59.999999', '2016-12-31T23:59:60.9999Z', '0001-01-01T00:59:59.9999+01:00'].map(
      (text) => [iso(text), iso(text, 'up')],
    ),
  ).toEqual([
    ['9999-12-31T23:59:59.999Z', '+010000-01-01T00:00:00.000Z'],
    ['2017-01-01T00:00:00.999Z', '2017-01-01T00:00:01.000Z'],
    [undefined, undefined],
  ])
})

const digits = (value: number, length: number) => String(value).padStart(length, '0')

hunt('dates of every form are those of Luxon', 5_000, ({ random, cases }) => {
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  for (let i = 0; i < cases; i++) {
    const year = digits(random() < 0.5 ? whole(1, 9999) : whole(1995, 2035), 4)
    const text = [
      `${year}-${digits(whole(0, 13), 2)}-${digits(whole(0, 32), 2)}`,
      `${year}-${digits(whole(0, 3) * 100 + whole(0, 99), 3)}`,
      `${year}-W${digits(random() < 0.5 ? whole(0, 54) : whole(51, 54), 2)}-${whole(0, 9)}`,
    ][whole(0, 2)]!
    const date = DateTime.fromISO(text, { zone: 'utc' })
    const isWithin = date.isValid && date.year >= 1 && date.year <= 9999
    expect([text, instantOf(text)]).toEqual([text, isWithin ? date.toMillis() : undefined])
  }
})

hunt('durations are added and subtracted as Luxon does', 5_000, ({ random, cases }) => {
  const whole = (to: number) => Math.floor(random() * (to + 1))
  const part = (to: number, letter: string, decimals = 0) =>
    random() < 0.5
      ? ''
      : `${whole(to)}${decimals && random() < 0.3 ? `${random() < 0.5 ? '.' : ','}${digits(whole(999), 3)}` : ''}${letter}`
  for (let i = 0; i < cases; i++) {
    const instant = whole(4_000_000) * 1_000_000
    const time = `${part(99, 'H', 3)}${part(99, 'M')}${part(99, 'S', 3)}`
    const text = `P${part(40, 'Y')}${part(30, 'M')}${part(9, 'W')}${part(99, 'D')}${time && `T${time}`}`
    // Luxon does not support a comma.
    const parsed = Duration.fromISO(text.replaceAll(',', '.'))
    for (const direction of [1, -1] as const) {
      const end = DateTime.fromMillis(instant, { zone: 'utc' })[direction === 1 ? 'plus' : 'minus'](parsed)
      const own = shiftedBy(instant, text, direction)
      if (text === 'P') expect(own).toBeUndefined()
      else expect([text, instant, own]).toEqual([text, instant, Math.round(end.toMillis())])
    }
  }
})

test.each([
  ...['', 'P', 'PT', 'P1', 'P1DT', 'PD1', '-P1D', 'P-1D', 'P1D2', 'P1S', 'PT1D', 'P1D1M', 'PT1S1M', 'P.5D'],
  ...['P1.5Y', 'P0.5M', 'P1.D', 'P1e3D', ' P1D', 'P1D\n', 'P１D', 'P 1D', 'P1D/P1D'],
])('a duration such as %j is malformed', (text) => {
  expect(shiftedBy(0, text, 1)).toBeUndefined()
})
