import { expect, test } from 'vitest'
import { isLost, isOutage, shownError } from './pool'

const failed = (message: string, code?: string) => Object.assign(new Error(message), { code })

test.each([
  ['exceeds its time limit', 'TooExpensiveError', 'canceling statement due to statement timeout', '57014'],
  // With lc_messages=de_DE.UTF-8
  ['exceeds its time limit', 'TooExpensiveError', 'storniere Anfrage wegen Zeitüberschreitung', '57014'],
  ['is cancelled by an operator', 'UnavailableError', 'canceling statement due to user request', '57014'],
  ['gets no response', 'UnavailableError', 'Query read timeout', undefined],
] as const)('a statement of a client that %s is reported as %s', (_, name, message, code) => {
  expect(shownError(failed(message, code), true)).toHaveProperty('name', name)
})

test('a statement of fixed cost that exceeds its time limit is reported as UnavailableError', () => {
  const error = failed('canceling statement due to statement timeout', '57014')
  for (const shown of [shownError(error, false), shownError(error, true, '')])
    expect(shown).toHaveProperty('name', 'UnavailableError')
})

test.each([
  ['statement timeout', '57014', false],
  ['lock timeout', '55P03', false],
  ['conflict with recovery', '40001', true],
  ['deadlock', '40P01', false],
  ['idle-in-transaction timeout', '25P03', false],
  ['transaction timeout', '25P04', false],
  ['missing library', '58P01', false],
  ['disk error', '58030', true],
  ['read-only transaction', '25006', true],
])('clients may retry after a %s (%s); another server may succeed: %s', (message, code, elsewhere) => {
  const error = failed(message, code)
  expect([shownError(error, false).name, isLost(error)]).toEqual(['UnavailableError', elsewhere])
})

test.each([
  ['a statement with too many parameters is not an outage', 'exec_bind_message', false],
  ['a protocol violation that PgBouncer reports is an outage', undefined, true],
])('%s', (_, routine, expected) => {
  const error = Object.assign(failed('', '08P01'), { routine })
  expect([isOutage(error), isLost(error)]).toEqual([expected, expected])
})
