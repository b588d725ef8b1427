// SPDX-License-Identifier: MIT
import { hashTypedData } from 'viem'
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
  const answer = {
    ...{ schema: ZERO_HASH, recipient: ZERO_ADDRESS, expirationTime: 0, revocable: true, refUID: ZERO_HASH },
    ...{ data: encodeBooleanResult(true, context), deadline: ASKED.deadline, epoch: 1 },
  }
  const domain = { name: 'GeoQuorum', version: '1', chainId: 1, verifyingContract: ASKED.quorum }
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message: answer } as never
  const signature = await OPERATOR.signTypedData(typed)
  const signed = { answer, index: 0, digest: hashTypedData(typed), signature } as never
  const { problem, isSigned } = await verifySignature(signed, ASKED)
  expect([problem === undefined, isSigned]).toEqual([isAsked, true])
})
