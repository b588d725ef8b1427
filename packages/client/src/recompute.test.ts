// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { sentence, testSentences } from '../../../test/sentences'
import { createGeo } from './index'
import { GATE, TOWER } from '../../../test/positions'

const HASH = `0x${'ab'.repeat(32)}`
const ANSWER = {
  ...{ operation: 'distance', result: 5, units: 'meters', inputRefs: [HASH, HASH], timestamp: 1 },
  chainId: 84532,
}

test.each<[string, unknown, unknown[], string]>([
  ['no answer', null, [TOWER, GATE], 'answer'],
  ['no references', { ...ANSWER, inputRefs: HASH }, [TOWER, GATE], 'answer'],
  ['a malformed UID', '0x12', [], ''],
  ['a result that is a text', { ...ANSWER, result: 'x' }, [TOWER, GATE], 'answer.result'],
  ['no result', { ...ANSWER, result: undefined }, [TOWER, GATE], 'answer.result'],
  ['a result of half a centimetre', { ...ANSWER, result: 0.005 }, [TOWER, GATE], 'answer.result'],
  ['too many inputs', ANSWER, [TOWER, GATE, GATE], 'inputs'],
  ['an attestation without a signature', ANSWER, [{ attestation: {} }, GATE], 'inputs[0].attestation'],
])('recompute names the fault in one sentence: %s', async (_, answer, inputs, field) => {
  const geo = createGeo({ url: 'http://127.0.0.1:1' })
  const error = await geo.recompute(answer as never, inputs as never).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'InvalidInputError' })
  expect((error as Error).message).toEqual(field ? sentence(field) : sentence())
  expect((error as Error).message).toMatch(/[^.]\.$/)
})

testSentences()
