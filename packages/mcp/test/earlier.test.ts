// SPDX-License-Identifier: MIT
import { afterEach, expect, test, vi } from 'vitest'
import { call } from './call'

afterEach(() => void vi.useRealTimers())

test.each([
  [1_000.999, true],
  [1_001, false],
])('an answer of a quorum with the deadline 1000 can land at %i s: %s', async (now, submittable) => {
  vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
  const verification = { valid: true, unknown: false, problems: [], operators: [] }
  const geo = { verifyQuorum: () => Promise.resolve(verification) }
  const answer = {
    ...{ chainId: 1, answer: { data: '0x', deadline: 1_000 } },
    ...{ quorum: '0x', signers: '1', signatures: '0x' },
  }
  expect(await call(geo, 'verify_answer', { answer })).toMatchObject({ ours: true, submittable })
})
