// SPDX-License-Identifier: MIT
import { hashTypedData, recoverAddress } from 'viem'
import { cut } from '../../../../src/cut'
import { isCanonicalSignature } from '../../../../src/eas/compact'
import { QUORUM_FIELDS, quorumDomain } from '../../../../src/eas/layouts'
import { altered, decodeClaims, orAltered, otherClaim, ZERO_HASH } from '../eas'
import { messageOf } from '../errors'
import { otherThanAsked, type Asked } from '../questions'
import { same } from '../says'
import type { Hex } from '../reader'
import type { QuorumAnswer, QuorumContent, QuorumOperator, QuorumSignature } from '../types'

/** Verifies that an operator signed the requested answer (EIP-712, GeoQuorum.sol). */

/** Terms that a signed answer must have. */
export interface Expected extends Asked, Pick<QuorumContent, 'deadline' | 'expirationTime' | 'epoch'> {
  chainId: number
  timestamp: number
  quorum: string
  operators: readonly string[]
}
/** Result of verifying a signature. */
export interface Verdict {
  /** reason why the signature does not count; absent if it is the operator's and of the question */
  problem?: string
  /** true if the operator signed this payload, even if it does not answer the question */
  isSigned: boolean
}

export async function verifySignature(signed: QuorumSignature, expected: Expected): Promise<Verdict> {
  const { index } = signed
  const operator = Number.isInteger(index) ? expected.operators[index] : undefined
  if (operator === undefined)
    return {
      problem: `index ${cut(String(JSON.stringify(index)), 80)} is not one of the operators`,
      isSigned: false,
    }
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
  const hash = digestOf(answer, chainId, quorum)
  if (hash !== digest) return 'the digest is not that of the payload'
  const by = await recoverAddress({ hash, signature: signature as Hex })
  return same(by, operator) ? undefined : `signed by ${by}, not by the operator ${operator}`
}

/** Returns the signed fields with bytes in lower-case hex. Other forms have the same digest. */
export function contentOf(answer: QuorumContent): QuorumContent {
  const form = (type: string, value: unknown) => {
    if (type.startsWith('bytes')) return String(value).toLowerCase()
    return type.startsWith('uint') ? Number(value) : value
  }
  const fields = QUORUM_FIELDS.map(({ name, type }) => [
    name,
    form(type, answer[name as keyof QuorumContent]),
  ])
  return Object.fromEntries(fields) as QuorumContent
}

/** Digest that the operators sign. Throws an error for content that no operator can have signed. */
function digestOf(answer: QuorumContent, chainId: number, quorum: string): Hex {
  const message = {
    ...answer,
    ...{ expirationTime: BigInt(answer.expirationTime), deadline: BigInt(answer.deadline) },
  }
  const domain = quorumDomain(chainId, quorum)
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message }
  return hashTypedData(typed as never)
}

/** A signature in an answer of a quorum, with the account that made it. */
export type Signer = Omit<QuorumOperator, 'url'> & { url?: string; signature: Hex }

/**
 * Returns the accounts that signed an answer of a quorum, in ascending order of their indices. Throws an
 * AlteredAnswerError if the members of the answer contradict the signed content or each other.
 */
export const signersOf = (answer: QuorumAnswer): Promise<Signer[]> => orAltered(readSigners(answer))

/** Bitmap of the operators, of which GeoQuorum.sol allows 255. */
const BITMAP = /^0x[0-9a-f]{1,64}$/i

const isObject = (value: unknown) => typeof value === 'object' && value !== null
/** True for an entry of `operators` that names its service. */
const isNamed = (value: QuorumOperator) => isObject(value) && typeof value.url === 'string'

async function readSigners(quorumAnswer: QuorumAnswer): Promise<Signer[]> {
  const { chainId, quorum, answer, digest, signers, signatures, operators } = quorumAnswer
  if (!isObject(answer)) throw altered('it has no content')
  const says = decodeClaims(answer.data as Hex)
  if (!says) throw altered('its data is not the payload of an answer')
  const problem = otherClaim(quorumAnswer, says, false)
  if (problem) throw altered(problem)
  const hash = digestOf(answer, chainId, quorum)
  if (!same(hash, String(digest))) throw altered('its digest is not that of its content')
  if (!BITMAP.test(signers)) throw altered('its signers are not a bitmap of at most 255 operators in hex')
  const bits = [...BigInt(signers).toString(2)].reverse()
  const indices = bits.flatMap((bit, index) => (bit === '1' ? [index] : []))
  // A list of one text would be read as this text, but the call encodes it, and 0X, as other bytes.
  const isText = typeof signatures === 'string'
  const digits = isText ? /^0x([0-9a-fA-F]*)$/.exec(signatures)?.[1]?.toLowerCase() : undefined
  const each = digits?.match(/.{1,130}/g) ?? []
  if (each.length !== indices.length || indices.length === 0)
    throw altered(`it has ${each.length} signatures of ${indices.length} operators`)
  if (operators !== undefined && !(Array.isArray(operators) && operators.every(isNamed)))
    throw altered('its operators are not a list of services with a URL')
  if (operators && String(operators.map(({ index }) => index)) !== String(indices))
    throw altered('its operators are not those of its signatures')
  const found: Signer[] = []
  for (const [i, index] of indices.entries()) {
    const signature = `0x${each[i]!}` as const
    if (!isCanonicalSignature(signature))
      throw altered(`signature ${i + 1} is not 65 bytes with the lower s and v 27 or 28`)
    const account = await recoverAddress({ hash, signature })
    const { url, operator = account, log } = operators?.[i] ?? ({} as Partial<QuorumOperator>)
    if (!same(operator, account))
      throw altered(`signature ${i + 1} is by ${account}, not by the operator ${operator}`)
    if (found.some((other) => same(other.operator, account)))
      throw altered(`it has two signatures by ${account}`)
    found.push({ index, operator: account, signature, ...(url && { url }), ...(log && { log }) })
  }
  return found
}

/** True if a payload answers the question on the requested terms. */
function isAsked(answer: QuorumContent, expected: Expected): boolean {
  const claims = decodeClaims(answer.data as Hex)
  return (
    claims !== undefined &&
    answer.epoch === expected.epoch &&
    answer.deadline === expected.deadline &&
    answer.expirationTime === expected.expirationTime &&
    same(answer.refUID, ZERO_HASH) &&
    claims.timestamp === expected.timestamp &&
    otherThanAsked(claims, answer, expected) === undefined
  )
}
