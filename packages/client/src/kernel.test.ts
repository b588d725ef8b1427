// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { encodeBooleanResult, encodeNumericResult } from '../../../src/eas'
import { ZERO_HASH } from './eas'
import { measurable, recompute, type Claim, type Computed, type WrongInputs } from './kernel'
import type { Position } from './position'

const POINTS: Position[] = [
  [1, 1],
  [2, 2],
]
const timestamp = 1_790_000_000
const UNSIGNED = { operation: 'distance', result: 1, units: 'meters', inputRefs: [ZERO_HASH, ZERO_HASH] }
const { wrong } = (await recompute(UNSIGNED, POINTS)) as WrongInputs
const inputRefs = wrong.map(({ got }) => got!)
const { computed } = (await recompute({ ...UNSIGNED, inputRefs }, POINTS)) as { computed: Computed }
const { result, whole } = computed as { result: number; whole: bigint }
const ANSWER = { operation: 'distance', result, units: 'meters', inputRefs, timestamp }

const dataOf = (value: bigint, changed: object = {}) =>
  encodeNumericResult(value, 'centimeters', { timestamp, operation: 'distance', inputRefs, ...changed })
const verdict = async (content: Partial<Claim>) => {
  const found = await recompute({ ...ANSWER, ...content }, POINTS)
  return 'difference' in found ? [found.verdict, found.difference] : [found.verdict]
}

test('an answer whose signed payload has its claims is equal, in its own units or those of the payload', async () => {
  const attestation = { data: dataOf(whole) }
  expect(await verdict({ attestation })).toEqual(['equal'])
  expect(await verdict({ answer: attestation })).toEqual(['equal'])
  expect(await verdict({ attestation, result: whole, units: 'centimeters' })).toEqual(['equal'])
  expect(await verdict({ attestation, result: result + 0.06 })).toEqual(['differs', 6n])
})

test.each([
  ['result', dataOf(500n)],
  ['operation', dataOf(whole, { operation: 'length' })],
  ['inputRefs', dataOf(whole, { inputRefs: inputRefs.toReversed() })],
  ['timestamp', dataOf(whole, { timestamp: timestamp + 1 })],
  ['units', encodeBooleanResult(true, { timestamp, operation: 'distance', inputRefs })],
  ['payload', '0x12'],
  ['payload', undefined],
])('an answer whose signed %s is another one differs', async (_, data) => {
  const other = { data } as { data: string }
  expect(await verdict({ attestation: other })).toEqual(['differs'])
  expect(await verdict({ attestation: { data: dataOf(whole) }, answer: other })).toEqual(['differs'])
})

test('a coordinate that JSON cannot represent is rejected by its type', () => {
  const place = { type: 'Point', coordinates: [1n, 2] }
  expect(() => measurable(place as never)).toThrow('got a bigint')
})
