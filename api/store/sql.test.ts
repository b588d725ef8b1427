import { expect, test } from 'vitest'
import type { Condition, DecidedPlace, RecordFilter } from './model'
import { countQuery, listQuery } from './sql'

const many = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each)
const names = many<Condition<DecidedPlace>>(70, { attribute: many(100, 'a'), compare: '>', to: 1 })
const values: Condition<DecidedPlace>[] = [
  ...many<Condition<DecidedPlace>>(199, { box: [10, -90, -10, 90], not: false }),
  { attribute: ['a'], oneOf: many(1_000, 1), not: false },
]

test.each([
  ['long names', names],
  ['many values', values],
])('a CQL2 filter of %s has at most 65,535 parameters', (_, any) => {
  const filter: RecordFilter = {
    condition: { any },
    prover: Array.from({ length: 8 }, (_, i) => `0x${i}`),
    bbox: [0, 0, 1, 1],
    nowhere: 'too',
  }
  for (const { values } of [listQuery({ ...filter, limit: 101 }), countQuery(filter, 1)])
    expect(values.length).toBeLessThanOrEqual(65_535)
})
