// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { sentenceOf } from './says'

/** Anyone can attest such claims under the result schemas. Their sentence must never fail. */
test.each([
  ['within', true, []],
  ['within:', true, ['0xaa', '0xbb']],
  ['within:x', true, ['0xaa', '0xbb']],
  ['within:100:200', false, ['0xaa', '0xbb']],
  ['within:100', 7, ['0xaa', '0xbb']],
  ['contains', true, ['0xaa']],
  ['distance', true, ['0xaa', '0xbb']],
  ['area', 1, []],
  ['constructor', 1, []],
  ['', false, []],
] as const)('sentenceOf quotes the claim %s of %s about %j unchanged', (operation, result, inputRefs) => {
  const text = sentenceOf({ operation, result, inputRefs: [...inputRefs], timestamp: 0 })
  expect(text).toBe(`${operation}: ${String(result)}, computed at 1970-01-01T00:00:00Z.`)
})
