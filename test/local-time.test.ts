import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { instantOf, photoTime } from '../web/attest/local-time'

afterEach(() => void vi.unstubAllEnvs())

describe('in Berlin', () => {
  beforeEach(() => void vi.stubEnv('TZ', 'Europe/Berlin'))

  test.each([
    ['2026-05-01T12:30', '2026-05-01T10:30:00.000Z'],
    ['2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
    ['2026-03-29T02:30', undefined],
    ['2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59', '2026-10-24T23:59:00.000Z'],
    ['2026-10-25T02:00', undefined],
    ['2026-10-25T02:59', undefined],
    ['2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
    ['', undefined],
  ])('the local time %s is the instant %s', (local, instant) =>
    expect(instantOf(local)?.toISOString()).toBe(instant),
  )

  test.each([
    ['+09:00', { local: '2026-05-01T05:30', isCertain: true }],
    ['-03:30\0', { local: '2026-05-01T18:00', isCertain: true }],
    ['   :  ', { local: '2026-05-01T12:30', isCertain: false }],
    ['+99:00', { local: '2026-05-01T12:30', isCertain: false }],
    [undefined, { local: '2026-05-01T12:30', isCertain: false }],
  ])('a photo taken at 12:30 with the offset %j has the time %j', (offset, expected) =>
    expect(photoTime('2026:05:01 12:30:45', offset)).toEqual(expected),
  )
})

test.each([undefined, '', '    :  :     :  :  ', 5, '0000:00:00 00:00:00', '2026:02:30 12:30:45'])(
  'a photo taken at %j has no time',
  (taken) => expect(photoTime(taken, '+09:00')).toBeUndefined(),
)
test('a time that is repeated after half an hour is not an instant', () => {
  vi.stubEnv('TZ', 'Australia/Lord_Howe')
  expect(['2026-04-05T01:29', '2026-04-05T01:30', '2026-04-05T01:59'].map(instantOf)).toEqual([
    ...[expect.any(Date), undefined, undefined],
  ])
})
