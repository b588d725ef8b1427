import { isDeepStrictEqual } from 'node:util'
import { ZeroHash } from 'ethers'
import { parseChecksumAddress } from '../../src/eas'
import { invalidInput, verificationFailed } from '../http/problems'
import { claimsOf, multiAttestRequests, sign, signBatch, sourcesOf, type UnsignedResult } from './answers'
import type { Attester, ServedChain, Statement } from './attester'
import { checkInputsValid, deadlineOf, inPlace, servedChain, type ComputeParts } from './compute'
import { findLanded } from './landed'
import {
  CLAIM_NAMES,
  type BatchResult,
  type Claims,
  type ComputeResult,
  type EarlierAnswer,
  type EarlierBatch,
  type Landed,
  type Verification,
  type VerifyRequest,
} from './schemas'

/** An answer that was handed back, in the form in which it is compared. Anyone may have written it. */
interface ReadAnswer {
  statement: Statement
  signature: string
  attester: string
  nonce: number
  /** Unix seconds */
  deadline: number
  token: string | undefined
  /** Why this cannot be an answer of ours, whatever was signed. */
  contradiction?: string
  claims: Partial<Record<keyof Claims, unknown>>
}

function readAnswer(answer: EarlierAnswer): ReadAnswer {
  const { attestation, delegatedAttestation: delegated } = answer
  const { schema, recipient, revocable, data, signature, attester, refUID = ZeroHash } = attestation
  const differs = (['signature', 'attester'] as const).find((field) => {
    const again = delegated[field]
    return (
      again !== undefined &&
      (typeof again !== 'string' || again.toLowerCase() !== attestation[field].toLowerCase())
    )
  })
  return {
    statement: {
      schema: schema.toLowerCase(),
      recipient: parseChecksumAddress(recipient)!,
      revocable,
      data: data.toLowerCase(),
    },
    ...{ signature, attester, nonce: delegated.nonce, deadline: delegated.deadline },
    token: delegated.resignToken,
    // Of two contradictions the second is reported.
    ...(refUID !== ZeroHash && { contradiction: 'attestation.refUID: we sign none but the zero UID' }),
    ...(differs && {
      contradiction: `delegatedAttestation.${differs}: not the same as attestation.${differs}`,
    }),
    claims: Object.fromEntries(
      CLAIM_NAMES.filter((name) => answer[name] !== undefined).map((name) => [name, answer[name]]),
    ),
  }
}

/** Whether this attester signed the answer as it is. Throws UnavailableError. */
async function isOurs(attester: Attester, answer: ReadAnswer): Promise<boolean> {
  return (
    answer.attester.toLowerCase() === attester.address.toLowerCase() &&
    attester.signed(answer.statement, answer.nonce, answer.deadline, answer.signature)
  )
}
const NOT_OURS =
  'not what we signed for this chain: the signature does not fit the content, nonce and deadline'

/** The names of the given claims that differ from the signed ones. */
function otherThanSigned(signed: Claims, given: ReadAnswer['claims']): string[] {
  return Object.entries(given)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(signed[name as keyof Claims]))
    .map(([name]) => name)
}

/** Signs the data of an earlier answer again, at the contract's nonce and until another deadline. */
export async function resign(
  parts: ComputeParts,
  request: EarlierAnswer & { chainId: number },
): Promise<ComputeResult> {
  const chain = await servedChain(parts, request.chainId)
  const unsigned = await reviewed(parts, chain, request)
  return sign(chain.attester, unsigned, await chain.attester.nonce(true), deadlineOf(parts))
}

/** Signs the data of earlier answers again, in their order, at consecutive nonces. */
export async function resignBatch(parts: ComputeParts, request: EarlierBatch): Promise<BatchResult> {
  const { results, deadline, multiAttestByDelegation } = request
  const chain = await servedChain(parts, request.chainId)
  const unsigned = await Promise.all(
    results.map((answer, i) => inPlace(`results[${i}]`, () => reviewed(parts, chain, answer))),
  )
  if (
    deadline !== undefined &&
    results.some(({ delegatedAttestation }) => delegatedAttestation.deadline !== deadline)
  )
    throw verificationFailed('deadline: not that of these results')
  if (
    multiAttestByDelegation !== undefined &&
    // `reviewed` has proved the signatures of these results to be ours.
    !isDeepStrictEqual(multiAttestByDelegation, multiAttestRequests(results as unknown as ComputeResult[]))
  )
    throw verificationFailed('multiAttestByDelegation: not the call of these results; leave it out')
  return signBatch(chain.attester, unsigned, await chain.attester.nonce(true), deadlineOf(parts))
}

/** An earlier answer as a result to be signed, if it is ours, not too old, and its attestations are valid. */
async function reviewed(
  parts: ComputeParts,
  chain: ServedChain,
  earlier: EarlierAnswer,
): Promise<UnsignedResult> {
  const { attester } = chain
  const answer = readAnswer(earlier)
  const { statement } = answer
  if (answer.contradiction) throw verificationFailed(answer.contradiction)
  if (!(await isOurs(attester, answer))) throw verificationFailed(`attestation: ${NOT_OURS}`)
  const claims = claimsOf(statement.data)
  const [other] = otherThanSigned(claims, answer.claims)
  if (other) throw verificationFailed(`${other}: not what was signed`)
  const sources = sourcesOf(attester, statement, answer.token!)
  const age = Math.floor(parts.clock() / 1000) - claims.timestamp
  if (age > parts.resignMaxAgeSeconds)
    throw invalidInput(
      `attestation: computed ${age} seconds ago; up to ${parts.resignMaxAgeSeconds} it is signed again. Compute it anew`,
    )
  await checkInputsValid(parts, chain, { claims, sources })
  return { statement, claims, sources }
}

const USED_BY: Readonly<Record<Landed['status'], string>> = {
  landed: ': this answer has landed',
  'not landed': ' by another answer: have this one signed again',
  unknown: ': by this answer, which then has landed, or by another one, and then it can be signed again',
}

/**
 * Whether an answer is ours and untouched, whether the contract would take it now, why not, what it claims,
 * and where it has landed.
 */
export async function verify(parts: ComputeParts, request: VerifyRequest): Promise<Verification> {
  const answer = readAnswer(request)
  const chain = await servedChain(parts, request.chainId)
  const { attester } = chain
  const [signed, current, deadlineCounts] = await Promise.all([
    isOurs(attester, answer),
    attester.nonce(true),
    attester.enforcesDeadline(),
  ])
  const claims = signed ? claimsOf(answer.statement.data) : null
  const landed = claims && (await findLanded(chain, answer.statement, claims.timestamp))
  const reasons = claims
    ? otherThanSigned(claims, answer.claims).map((field) => `${field} is not what was signed`)
    : [NOT_OURS]
  if (answer.contradiction) reasons.unshift(answer.contradiction)
  const ours = reasons.length === 0
  if (answer.nonce < current)
    reasons.push(`nonce ${answer.nonce} was used${landed ? USED_BY[landed.status] : ''}`)
  if (answer.nonce > current)
    reasons.push(`nonce ${answer.nonce} comes later: the contract now expects ${current}`)
  if (deadlineCounts && answer.deadline < Math.floor(parts.clock() / 1000))
    reasons.push(`the deadline ${answer.deadline} has passed: have it signed again`)
  return {
    ours,
    submittable: reasons.length === 0,
    reasons,
    says: claims,
    landed,
    attester: attester.address,
    nonce: { signed: answer.nonce, current },
    deadline: answer.deadline,
  }
}
