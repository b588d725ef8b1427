import { expect, test } from 'vitest'
import { instantOf, storedValue } from './sql-filters'

/** Tests the values of filters, without a database. */

test('a time of a filter is written to the millisecond, or lies between the two that surround it', () => {
  for (const [text, written] of [
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00:00.120+02', '2026-01-31T10:00:00.120Z'],
    ['2026-01-31T12:00:00.1200000Z', '2026-01-31T12:00:00.120Z'],
    ['2026-01-31T12:00:00.0000001Z', '2026-01-31T12:00:00.0005Z'],
    ['2026-01-31T12:00:00.0019999Z', '2026-01-31T12:00:00.0015Z'],
    ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.9995Z'],
    ['0000-12-31T23:59:59.9999Z', undefined],
  ])
    expect([text, instantOf(text!)]).toEqual([text, written])
})

test('an id of a filter may have a chain whose slug has digits', () => {
  const uid = `0x${'a1'.repeat(32)}`
  for (const slug of ['celo', 'x1-testnet', 'zora2', '2'.repeat(40)])
    for (const id of [`${slug}-${uid}`, `${slug}-000000000012-000003`])
      expect(storedValue('id', id, '')).toBe(id)
  expect(() => storedValue('id', `z_ora-${uid}`, '')).toThrow()
})
