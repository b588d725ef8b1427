// SPDX-License-Identifier: MIT
import { afterEach, expect, test, vi } from 'vitest'
import { call, textsOf } from './call'

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

test('verify_answer names no landing of an altered answer, whose signed content has landed', async () => {
  const landed = { status: 'landed', uid: '0xuid', transactionHash: '0x', blockNumber: 7, revoked: false }
  const seen = { ours: false, submittable: false, reasons: ['altered'], says: null, landed, deadline: 1 }
  const answer = {
    ...{ chainId: 1, attestation: { data: '0x', signature: '0x' }, delegatedAttestation: { deadline: 1 } },
    attestByDelegation: { data: {}, signature: { v: 27, r: '0x', s: '0x' } },
  }
  const [text] = await textsOf({ verify: () => Promise.resolve(seen) }, 'verify_answer', { answer })
  expect(text).not.toContain('0xuid')
  expect(text).toContain('altered')
})
