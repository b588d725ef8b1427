// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { ApiError } from '../errors'
import { collect } from './collect'
import type { Operator } from './operators'

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
