// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { call } from './call'

test('count_records cuts a location type between two characters', async () => {
  const type = `${'x'.repeat(59)}\u{1f600}`
  const groups = { data: [{ location_type: `${type}yyy`, records: 3 }], groups: 1, total: 3 }
  const geo = { records: { groupBy: () => Promise.resolve(groups) } }
  const counted = await call(geo, 'count_records', { by: 'location_type' })
  expect(counted).toMatchObject({ groups: [{ location_type: type, records: 3 }] })
})
