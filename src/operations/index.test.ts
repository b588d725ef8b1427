import { expect, test } from 'vitest'
import { OPERATIONS, readLabel, writeLabel, type OperationName } from '.'

test('a label gives back the operation and its numbers', () => {
  for (const name of Object.keys(OPERATIONS) as OperationName[])
    for (const radius of [0.01, 0.29, 1, 4.35, 500, 1234.56, 99_999_999.99, 100_000_000]) {
      const label = writeLabel(name, [radius])
      const read = readLabel(label)!
      expect([read.name, writeLabel(read.name, read.numbers)]).toEqual([name, label])
      if (name === 'within') expect(read.numbers).toEqual([radius])
    }
})
test.each([
  '',
  'volume',
  'distance:5',
  'within',
  'within:',
  'within:-1',
  'within:NaN',
  'within:1.5',
  'within:1e3',
  'within:05',
])('%j is no label', (text) => expect(readLabel(text)).toBeUndefined())
test.each(['toString', 'constructor:1', '__proto__'])('%j is no operation', (text) =>
  expect(readLabel(text)).toBeUndefined(),
)
