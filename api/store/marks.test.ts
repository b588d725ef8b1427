import { expect, test } from 'vitest'
import { reaches } from './marks'

test('states are ordered by the changes of every chain, and by a later epoch', () => {
  expect(reaches({ celo: [1, 5] }, { celo: [1, 5] })).toBe(true)
  expect(reaches({ celo: [1, 5], base: [1, 1] }, { celo: [1, 4] })).toBe(true)
  expect(reaches({ celo: [1, 4] }, { celo: [1, 5] })).toBe(false)
  expect(reaches({ base: [1, 9] }, { celo: [1, 1] })).toBe(false)
  expect(reaches({ celo: [2, 1] }, { celo: [1, 5] })).toBe(true)
  expect(reaches({ celo: [1, 9] }, { celo: [2, 1] })).toBe(false)
  expect(reaches({}, {})).toBe(true)
})
