import { afterEach, expect, test } from 'vitest'
import '../../test/seed'
import { BoundError, assertBound, boundViolations, checkBoundsEvery } from './bounds'
import { spend, withEffort } from './effort'

afterEach(() => checkBoundsEvery(1))

test('assertBound throws for a violated bound, and counts the violation', () => {
  const before = boundViolations()
  expect(() => assertBound('one is two', () => false)).toThrow(BoundError)
  assertBound('one is one', () => true)
  expect(boundViolations()).toBe(before + 1)
})
test('assertBound checks one call per period', () => {
  checkBoundsEvery(5)
  let checked = 0
  for (let i = 0; i < 20; i++) assertBound('it is checked', () => ++checked > 0)
  expect(checked).toBe(4)
})
test('assertBound does not count the work of a check', () => {
  const work = () => {
    spend(5)
    assertBound('much work', () => {
      spend(1_000)
      return true
    })
    spend(4)
  }
  expect(() => withEffort(10, work)).not.toThrow()
  expect(() => withEffort(8, work)).toThrow('exceeds')
})
