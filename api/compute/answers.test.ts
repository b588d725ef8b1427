import { setImmediate as nextTurn } from 'node:timers/promises'
import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { afterEach, expect, test, vi } from 'vitest'
import type { DelegatedRequest } from '../../src/eas'
import { multiAttestRequests, sign, signBatch, type Landing, type UnsignedResult } from './answers'
import { validityCheck } from './compute'

afterEach(() => void vi.useRealTimers())

test('adjacent answers of one schema, attester and deadline form a request of a batch', () => {
  const first = { schema: '0x1', attester: '0xa', deadline: 1, data: 'data', signature: 'signature' }
  const requests = [
    first,
    first,
    ...[{ ...first, schema: '0x2' }, first],
    ...[{ ...first, attester: '0xb' }, first],
    ...[{ ...first, deadline: 2 }, first],
  ] as unknown as DelegatedRequest[]
  const groups = multiAttestRequests(requests).map(({ schema, attester, deadline, data, signatures }) => {
    expect(signatures).toHaveLength(data.length)
    return [schema, attester, deadline, data.length]
  })
  expect(groups).toEqual([
    ['0x1', '0xa', 1, 2],
    ['0x2', '0xa', 1, 1],
    ['0x1', '0xa', 1, 1],
    ['0x1', '0xb', 1, 1],
    ['0x1', '0xa', 1, 1],
    ['0x1', '0xa', 2, 1],
    ['0x1', '0xa', 1, 1],
  ])
})

test('inputs are checked again a second after the start of a check by a slow endpoint', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let isRevoked = false
  const checkValid = async () => {
    const found = isRevoked
    vi.advanceTimersByTime(3_000)
    isRevoked = true
    if (found) throw new Error('revoked')
  }
  const [parts, chain, unsigned] = [
    { resolver: { checkValid } },
    {},
    { claims: { inputRefs: ['0x1'] }, sources: ['onchain'] },
  ] as unknown as Parameters<typeof validityCheck>
  const stillValid = validityCheck(parts, chain, unsigned, -Infinity)
  await stillValid()
  // The log would otherwise never write an answer whose check takes longer.
  vi.advanceTimersByTime(400)
  await stillValid()
  vi.advanceTimersByTime(200)
  await expect(stillValid()).rejects.toThrow('revoked')
})

test('an input is checked again if its check is a second old when a slower one ends', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let isRevoked = false
  const checkValid = async (uid: string) => {
    if (uid === 'fast') {
      if (isRevoked) throw new Error('revoked')
      return
    }
    await nextTurn()
    vi.advanceTimersByTime(3_000)
    isRevoked = true
  }
  const [parts, chain, unsigned] = [
    { resolver: { checkValid } },
    {},
    { claims: { inputRefs: ['fast', 'slow'] }, sources: ['onchain', 'onchain'] },
  ] as unknown as Parameters<typeof validityCheck>
  await expect(validityCheck(parts, chain, unsigned, -Infinity)()).rejects.toThrow('revoked')
})

const LANDING = {
  attester: {
    ...{ address: ZeroAddress, seal: () => '' },
    sign: async () => ({ signature: `0x${'11'.repeat(64)}1b` }),
  },
  contract: { submission: 'direct', address: ZeroAddress },
  ...{ nonce: 1, deadline: 1, transaction: false, resignUrl: '', kind: 'answer' },
} as unknown as Landing
const resultThat = (stillValid: () => Promise<void>) =>
  ({
    statement: { schema: ZeroHash, recipient: ZeroAddress, revocable: true, data: '0x' },
    ...{ claims: {}, sources: [], stillValid },
  }) as unknown as UnsignedResult

test('an answer of a batch is checked again after a slow check of another answer', async () => {
  let isRevoked = false
  let checks = 0
  const fast = async () => {
    if (isRevoked) throw new Error('revoked')
  }
  // The second check is the one before the batch leaves.
  const slow = async () => {
    isRevoked = ++checks === 2
  }
  await expect(signBatch(LANDING, [resultThat(fast), resultThat(slow)])).rejects.toThrow('revoked')
})

test.each(['answer', 'batch'])(
  'inputs are checked after the transaction of the %s is encoded',
  async (kind) => {
    const steps: string[] = []
    const known = async () => (steps.push('probe'), { layout: 'v1' })
    const landing = {
      ...LANDING,
      ...{ contract: { ...LANDING.contract, known }, transaction: true },
    } as unknown as Landing
    const result = resultThat(async () => void steps.push('check'))
    await (kind === 'batch' ? signBatch(landing, [result]) : sign(landing, result))
    expect(steps.at(-1)).toBe('check')
  },
)
