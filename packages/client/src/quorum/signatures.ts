// SPDX-License-Identifier: MIT
import { hashTypedData, recoverAddress } from 'viem'
import { isCanonicalSignature } from '../../../../src/eas/compact'
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import { writeLabel } from '../../../../src/operations/lengths'
import { rowOf, type OperationName } from '../../../../src/operations/table'
import { decodeClaims, ZERO_ADDRESS, ZERO_HASH } from '../eas'
import { messageOf } from '../errors'
import { same } from '../says'
import type { Hex } from '../reader'
import type { QuorumContent, QuorumSignature } from '../types'

/** Verifies that an operator signed the requested answer (EIP-712, GeoQuorum.sol). */

/** Terms that a signed answer must have. */
export interface Expected extends Pick<QuorumContent, 'deadline' | 'expirationTime' | 'epoch'> {
  chainId: number
  timestamp: number
  operation: OperationName
  schema?: string
  recipient?: string
  quorum: string
  operators: readonly string[]
  [input: string]: unknown
}
/** Result of verifying a signature. */
export interface Verdict {
  /**
   * reason why the signature does not count; absent if it is the operator's signature of the requested answer
   */
  problem?: string
  /** true if the operator signed this payload, even if it does not answer the question */
  isSigned: boolean
}

export async function verifySignature(signed: QuorumSignature, expected: Expected): Promise<Verdict> {
  const { index } = signed
  const operator = Number.isInteger(index) ? expected.operators[index] : undefined
  if (operator === undefined || same(operator, ZERO_ADDRESS))
    return { problem: `index ${String(index)} is not one of the operators`, isSigned: false }
  const problem = await signatureProblem(signed, expected, operator).catch(
    (error: unknown) => `the response cannot be read: ${messageOf(error)}`,
  )
  if (problem !== undefined) return { problem, isSigned: false }
  return isAsked(signed.answer, expected)
    ? { isSigned: true }
    : { problem: 'the signed payload is not what was asked', isSigned: true }
}

/** Returns the reason why the contract would reject this operator's signature; undefined if it accepts it. */
async function signatureProblem(
  { answer, digest, signature }: QuorumSignature,
  { chainId, quorum }: Expected,
  operator: string,
): Promise<string | undefined> {
  if (!isCanonicalSignature(signature)) return 'the signature is not 65 bytes with the lower s and v 27 or 28'
  const domain = { name: 'GeoQuorum', version: '1', chainId, verifyingContract: quorum as Hex }
  const message = {
    ...answer,
    ...{ expirationTime: BigInt(answer.expirationTime), deadline: BigInt(answer.deadline) },
  }
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message }
  const hash = hashTypedData(typed as never)
  if (hash !== digest) return 'the digest is not that of the payload'
  const by = await recoverAddress({ hash, signature: signature as Hex })
  return same(by, operator) ? undefined : `signed by ${by}, not by the operator ${operator}`
}

/** True if a payload answers the question on the requested terms. */
function isAsked(answer: QuorumContent, expected: Expected): boolean {
  const claims = decodeClaims(answer.data as Hex)
  const { operation } = expected
  const { inputs, parameters = [] } = rowOf(operation)
  const lengths = parameters.map(({ name }) => Number(expected[name]))
  return (
    claims !== undefined &&
    answer.epoch === expected.epoch &&
    answer.deadline === expected.deadline &&
    answer.expirationTime === expected.expirationTime &&
    same(answer.refUID, ZERO_HASH) &&
    same(answer.recipient, expected.recipient ?? ZERO_ADDRESS) &&
    (expected.schema === undefined || same(answer.schema, expected.schema)) &&
    claims.timestamp === expected.timestamp &&
    claims.operation === writeLabel(operation, lengths) &&
    inputs.every(({ name }, i) => {
      const input = expected[name]
      return typeof input !== 'string' || same(claims.inputRefs[i] ?? '', input)
    })
  )
}
