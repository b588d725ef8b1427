// SPDX-License-Identifier: MIT
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeNumericResult } from '../../../../src/eas'
import { apiError, ApiError } from '../errors'
import type { Dissent } from '../types'
import { collect } from './collect'
import { dissentOf, QuorumError, type Operator } from './operators'

afterEach(() => void vi.useRealTimers())

test.each([
  [['not-indexed-yet', 'skew'], 'not-indexed-yet'],
  [['skew'], 'skew'],
] as const)('an operator that refuses with %j dissents with %s', async (refusals, reason) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync')
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
  [apiError(403, '<html>Blocked</html>'), 'failed', false],
  [apiError(404, { type: 'about:blank', status: 404 }), 'invalid-input', false],
  [apiError(500, {}), 'failed', false],
  [apiError(500, { refusal: 'failed' }), 'failed', false],
  [apiError(502, '<html>Bad Gateway</html>'), 'unreachable', true],
  [apiError(500, {}, 5), 'busy', true],
])('an operator dissents for its own refusal only: %s', (error, reason, retryable) => {
  const dissent = dissentOf('http://one', error)
  expect([dissent.reason, new QuorumError('x', [dissent]).retryable]).toEqual([reason, retryable])
})

test('an operator is asked again after its Retry-After while its refusal is temporary', async () => {
  vi.useFakeTimers()
  const refusals = [apiError(503, { refusal: 'busy' }, 5), apiError(400, { refusal: 'not-indexed-yet' })]
  refusals.push(apiError(400, { refusal: 'revoked' }), apiError(503, { refusal: 'busy' }))
  const asked: number[] = []
  const begun = performance.now()
  const sign = () => {
    asked.push(performance.now() - begun)
    return Promise.reject(refusals[asked.length - 1]!)
  }
  const operator = { url: 'http://one', sign } as unknown as Operator
  const answer = collect([operator], 1, {}, new AbortController().signal, async () => ({ isSigned: false }))
  const refused = expect(answer).rejects.toMatchObject({ dissent: [{ reason: 'revoked' }] })
  await vi.advanceTimersByTimeAsync(60_000)
  await refused
  expect(asked).toEqual([0, 5_000, 6_000])
})

test.each([true, false])(
  'a signature that does not verify is evidence if it is signed: %s',
  async (isSigned) => {
    const verify = async () => ({ problem: 'x', isSigned })
    const { signal } = new AbortController()
    const { dissent } = await collect(signing([[7, 0]]), 1, {}, signal, verify).catch((each) => each)
    const signed = { signed: { index: 0 } }
    expect(dissent).toMatchObject([
      { url: 'http://0', reason: 'invalid-signature', detail: 'x', ...(isSigned && signed) },
    ])
    expect(Object.hasOwn(dissent[0], 'signed')).toBe(isSigned)
  },
)

/** Operators that sign payloads of these lengths in metres, each after a delay. */
const signing = (given: readonly (readonly [meters: number, afterMs: number])[]) =>
  given.map(([meters, after], index) => {
    const context = { timestamp: 1, operation: 'length', inputRefs: [`0x${'4'.repeat(64)}`] }
    const data = encodeNumericResult(BigInt(100 * meters), 'centimeters', context)
    const signed = { answer: { data }, digest: `0x${meters}`, index, signature: '0x00', operator: 'x' }
    const sign = () => new Promise((resolve) => void setTimeout(() => resolve(signed), after))
    return { url: `http://${index}`, sign } as unknown as Operator
  })
const collected = (operators: Operator[], k: number) =>
  collect(operators, k, {}, AbortSignal.timeout(20_000), async () => ({ isSigned: true }))

test('the error has all signed payloads if they differ, also those of the largest group', async () => {
  const error = await collected(signing([7, 7, 8].map((meters) => [meters, 0])), 3).catch((each) => each)
  expect(error.dissent.map(({ reason, signed }: Dissent) => [reason, signed?.index])).toEqual([
    ['other-payload', 0],
    ['other-payload', 1],
    ['other-payload', 2],
  ])
  const equal = await collected(signing([[7, 0]]), 2).catch((each) => each)
  expect(equal.dissent).toEqual([])
})

test('the answer has the signed fields only, in lower-case hex', async () => {
  const [operator] = signing([[7, 0]])
  const sign = async () => {
    const signed = await operator!.sign('', AbortSignal.timeout(20_000))
    const { data } = signed.answer
    const answer = { ...signed.answer, data: `0x${data.slice(2).toUpperCase()}`, time: 1 }
    return { ...signed, answer, log: { by: 1 } }
  }
  const { answer, operators } = await collected([{ ...operator, sign } as unknown as Operator], 1)
  expect(answer).not.toHaveProperty('time')
  expect(answer.data).toMatch(/^0x[0-9a-f]*$/)
  expect(operators).toEqual([{ url: 'http://0', index: 0, operator: 'x', log: { by: 1 } }])
})

describe('an answer', () => {
  beforeEach(() => void vi.useFakeTimers())
  /** Answer of two operators, and the milliseconds after which it was returned. */
  const timed = async (...given: Parameters<typeof signing>[0]) => {
    const begun = performance.now()
    const answered = collected(signing(given), 2).then((answer) => ({
      ...{ answer, after: performance.now() - begun, timers: vi.getTimerCount() },
    }))
    await vi.advanceTimersByTimeAsync(60_000)
    return answered
  }

  test('reports another payload that is signed a little after the last needed signature', async () => {
    const { answer, after } = await timed([7, 200], [8, 210], [7, 100], [9, 220])
    expect(after).toBe(216)
    expect(answer.signers).toBe('0x5')
    expect(answer.dissent).toMatchObject([{ reason: 'other-payload', signed: { index: 1 } }])
    expect(answer.operators).toMatchObject([
      { url: 'http://0', index: 0 },
      { url: 'http://2', index: 2 },
    ])
  })

  test('is returned at once if all operators have responded', async () => {
    expect(await timed([7, 500], [7, 10])).toMatchObject({ after: 500, timers: 0 })
  })
})
