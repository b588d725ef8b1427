// SPDX-License-Identifier: MIT
import {
  hashTypedData,
  parseSignature,
  serializeCompactSignature,
  serializeSignature,
  signatureToCompactSignature,
  toHex,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { encodeBooleanResult } from '../../../../src/eas'
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import { ZERO_HASH } from '../eas'
import { ZERO_ADDRESS } from '../says'
import { verifySignature, type Expected } from './signatures'

const OPERATOR = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const [FROM, TO, OTHER] = ['4', '5', '6'].map((digit) => `0x${digit.repeat(64)}`) as [string, string, string]
const ASKED: Expected = {
  ...{ chainId: 1, timestamp: 1_700_000_000, operation: 'within', quorum: `0x${'9'.repeat(40)}` },
  ...{ deadline: 1_700_000_600, expirationTime: 0, epoch: 1, operators: [OPERATOR.address] },
  ...{ geometry: FROM, target: TO, radius: 1.5 },
}

test.each([
  ['within:150', [FROM, TO], true],
  ['within:151', [FROM, TO], false],
  ['within:150', [TO, FROM], false],
  ['within:150', [FROM, OTHER], false],
  ['intersects', [FROM, TO], false],
])('a signature of %s of the inputs %j is of the question: %s', async (operation, inputRefs, isAsked) => {
  const context = { timestamp: ASKED.timestamp, operation, inputRefs }
  const signed = await signedBy(OPERATOR, { data: encodeBooleanResult(true, context) })
  const { problem, isSigned } = await verifySignature(signed, ASKED)
  expect([problem === undefined, isSigned]).toEqual([isAsked, true])
})

const CONTEXT = { timestamp: ASKED.timestamp, operation: 'within:150', inputRefs: [FROM, TO] }
/** Response of an operator that signed the answer to the question, with these changes of its content. */
async function signedBy(operator: typeof OPERATOR, changed: object = {}, chainId = 1): Promise<any> {
  const answer = {
    ...{ schema: ZERO_HASH, recipient: ZERO_ADDRESS, expirationTime: 0, revocable: true, refUID: ZERO_HASH },
    ...{ data: encodeBooleanResult(true, CONTEXT), deadline: ASKED.deadline, epoch: 1, ...changed },
  }
  const domain = { name: 'GeoQuorum', version: '1', chainId, verifyingContract: ASKED.quorum }
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message: answer } as never
  const signature = await operator.signTypedData(typed)
  return { answer, index: 0, digest: hashTypedData(typed), signature }
}

test('a signature counts only if the contract accepts it', async () => {
  const signed = await signedBy(OPERATOR)
  expect(await verifySignature(signed, ASKED)).toEqual({ isSigned: true })
  const stranger = privateKeyToAccount(FROM as Hex)
  const { r, s, yParity } = parseSignature(signed.signature)
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const upper = serializeSignature({ r, s: toHex(order - BigInt(s), { size: 32 }), yParity: 1 - yParity })
  for (const other of [
    await signedBy(stranger),
    await signedBy(OPERATOR, {}, 2),
    { ...signed, signature: upper },
    { ...signed, signature: serializeCompactSignature(signatureToCompactSignature({ r, s, yParity })) },
    { ...signed, signature: `${signed.signature.slice(0, -2)}0${yParity}` },
    { ...signed, signature: `${signed.signature}00` },
    { ...signed, signature: undefined },
    { ...signed, digest: FROM },
    { ...signed, answer: { ...signed.answer, deadline: ASKED.deadline + 1 } },
    { ...signed, answer: null },
    ...[1, -1, 0.5, '0', undefined, { toString: 'x' }].map((index) => ({ ...signed, index })),
  ])
    expect(await verifySignature(other, ASKED)).toEqual({
      problem: expect.any(String) as string,
      isSigned: false,
    })
  const long = { ...signed, index: 'x'.repeat(100_000) as never }
  expect((await verifySignature(long, ASKED)).problem!.length).toBeLessThan(200)
  // A removed operator has the address zero.
  const removed = { ...ASKED, operators: [ZERO_ADDRESS] }
  expect(await verifySignature(signed, removed)).toMatchObject({ isSigned: false })
})

test.each<object>([
  { deadline: ASKED.deadline + 1 },
  { expirationTime: 1 },
  { epoch: 2 },
  { refUID: FROM },
  { recipient: OPERATOR.address },
  { data: encodeBooleanResult(true, { ...CONTEXT, timestamp: ASKED.timestamp + 1 }) },
  { data: '0x' },
])('a signed answer with other terms is evidence, and does not count: %j', async (changed) => {
  expect(await verifySignature(await signedBy(OPERATOR, changed), ASKED)).toEqual({
    problem: expect.any(String) as string,
    isSigned: true,
  })
})
