// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { apiError, ApiError } from '../errors'
import { collect } from './collect'
import { dissentOf, type Operator } from './operators'

test.each([
  [['not-indexed-yet', 'skew'], 'not-indexed-yet'],
  [['skew'], 'skew'],
] as const)('an operator that refuses with %j dissents with %s', async (refusals, reason) => {
  const left = [...refusals]
  const sign = () => {
    const refusal = left.shift()!
    return Promise.reject(new ApiError({ status: 400, title: refusal, detail: refusal, refusal }))
  }
  const operator = { url: 'http://one', sign } as unknown as Operator
  const answer = collect([operator], 1, {}, AbortSignal.timeout(20_000), async () => ({ isSigned: false }))
  await expect(answer).rejects.toMatchObject({ dissent: [{ reason }] })
})

test.each([
  [apiError(403, '<html>Blocked</html>'), 'failed'],
  [apiError(404, { type: 'about:blank', status: 404 }), 'invalid-input'],
  [apiError(500, {}), 'failed'],
])('an operator dissents for its own refusal only: %s', (error, reason) => {
  expect(dissentOf('http://one', error)).toMatchObject({ reason })
})
