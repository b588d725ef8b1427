import { expect, test } from 'vitest'
import { auditOutcome } from './audit'

test('the outcome of an audit names false receipts and receipts of an unknown format', () => {
  const none = { events: 7, repaired: 0, unproven: 0, contradicted: 0 }
  expect(auditOutcome(none)).toEqual({
    text: 'the chain has 7 indexed events; the log matches',
    isCorrect: true,
  })
  expect(auditOutcome({ ...none, repaired: 1 }).isCorrect).toBe(false)
  const unknown = auditOutcome({ ...none, unproven: 2 })
  expect([unknown.text, unknown.isCorrect]).toEqual([
    expect.stringContaining('2 blocks have an unknown'),
    true,
  ])
  const both = auditOutcome({ ...none, unproven: 3, contradicted: 1 })
  expect([both.text, both.isCorrect]).toEqual([expect.stringContaining('2 blocks have an unknown'), false])
  expect(both.text).toContain('false receipts of 1 blocks')
})
