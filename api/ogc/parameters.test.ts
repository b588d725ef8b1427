// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { readQuery } from '../http/parameters'
import { RecordsError } from '../http/problems'
import { ITEMS_QUERY } from './parameters'

const SECOND = '2026-01-01T00:00:00'
const bounds = (datetime: string) => {
  const query = readQuery(ITEMS_QUERY, { datetime }) as { datetime: { after: Date; before: Date } }
  return [query.datetime.after, query.datetime.before].map(
    (each) => each.getTime() - Date.parse(`${SECOND}Z`),
  )
}

test.each([
  [`${SECOND}.0001Z`, [0, 1]],
  [`${SECOND}.0001Z/${SECOND}.0001Z`, [0, 1]],
  [`${SECOND}.0001Z/${SECOND}.00010Z`, [0, 1]],
  [`${SECOND}.001Z/${SECOND}.001Z`, [0, 2]],
  [`${SECOND}.0001Z/${SECOND}.0011Z`, [0, 2]],
  ['2025-12-31/2025-12-31', [-86_400_001, 0]],
])('datetime=%s selects the milliseconds between %j', (datetime, expected) => {
  expect(bounds(datetime)).toEqual(expected)
})

test.each([
  `${SECOND}.001Z/${SECOND}.000Z`,
  `${SECOND}.001Z/${SECOND}.0001Z`,
  '2026-01-02/2026-01-01',
  `2026-01-02/2026-01-01T23:59:59.9999Z`,
])('datetime=%s ends before it begins', (datetime) => {
  expect(() => bounds(datetime)).toThrow(RecordsError)
})
