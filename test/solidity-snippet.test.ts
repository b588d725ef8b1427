import type { Answer } from '@geospatial-attestation/client'
import { encodeAbiParameters } from 'viem'
import { expect, test } from 'vitest'
import { OPERATIONS, UNITS, type OperationName } from '../src/operations/table'
import { solidityOf } from '../web/playground/solidity'

/** Tests the integers and the proxy in the contract that the playground shows for an answer. */

const [EAS, ATTESTER, PROXY] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}` as const)
const REF = `0x${'ab'.repeat(32)}` as const

function contractFor(operation: OperationName, whole: bigint, submission = 'direct'): string {
  const { units } = OPERATIONS[operation] as { units: keyof typeof UNITS }
  const types = ['uint256', 'string', 'bytes32[]', 'uint256', 'string'].map((type) => ({ type }))
  const data = encodeAbiParameters(types, [whole, UNITS[units].payload, [REF], 1n, operation])
  const answer = {
    ...{ operation, units, inputRefs: [REF], timestamp: 1 },
    result: Number(whole) / UNITS[units].perAnswerUnit,
    attestation: { schema: REF, attester: ATTESTER, recipient: `0x${'0'.repeat(40)}`, data },
    delegatedAttestation: { submission, contract: submission === 'proxy' ? PROXY : EAS },
  }
  return solidityOf({ operation }, answer as unknown as Answer, EAS!)!
}

// Above 2^53 square centimetres, or 900,720 km2, a number has no room for the signed integer.
test.each([0n, 1n, 123_456n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2_550_000_000_000_000_001n])(
  'the contract for an area requires the signed integer %d',
  (whole) => {
    expect(contractFor('area', whole)).toContain(`requireAreaAtMost(${REF}, ${whole});`)
  },
)
test('the contract accepts the proxy that an answer is for, and otherwise none', () => {
  expect(contractFor('length', 5n)).toContain('proxy: address(0),')
  expect(contractFor('length', 5n, 'proxy')).toContain(`proxy: ${PROXY},`)
})
