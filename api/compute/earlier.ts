import { isDeepStrictEqual } from 'node:util'
import { ZeroHash } from 'ethers/constants'
import type { Claims } from '../../src/answer'
import type { Submission } from '../../src/config'
import {
  attestCalldata,
  delegationError,
  expandSignature,
  parseChecksumAddress,
  type DelegatedRequest,
} from '../../src/eas'
import { invalidInput, verificationFailed } from '../http/problems'
import type { Work } from '../http/work'
import {
  claimsOf,
  delegatedRequest,
  multiAttestRequests,
  sign,
  signBatch,
  sourcesOf,
  WRONG_TOKEN,
  transactionOf,
  type UnsignedResult,
} from './answers'
import type { Attester, ServedChain, Terms } from './attester'
import { contractFor, inPlace, landingOf, servedChain, validityCheck, type ComputeParts } from './compute'
import { findLanded } from './landed'
import {
  CLAIM_NAMES,
  type BatchResult,
  type ComputeResult,
  type EarlierAnswer,
  type EarlierBatch,
  type Landed,
  type Verification,
  type VerifyRequest,
} from './schemas'
import type { Block, VerifyingContract } from '../contracts'

type ReadAnswer = ReturnType<typeof readAnswer>

/**
 * Reads an answer, which anyone may have written, for comparison. `contradiction` is a reason why this
 * service cannot have signed it. Throws a ComputeError if an answer for EAS has no nonce.
 */
function readAnswer(answer: EarlierAnswer) {
  const { attestation, delegatedAttestation: delegated } = answer
  const { submission = 'direct', nonce, deadline } = delegated
  if (submission === 'direct' && nonce === undefined)
    throw invalidInput('delegatedAttestation.nonce: expected a whole number')
  const { schema, recipient, revocable, data, attester, refUID = ZeroHash } = attestation
  const signature = expandSignature(attestation.signature)
  const { expirationTime = 0 } = attestation
  const differs = (['signature', 'attester'] as const).find((field) => {
    const again = delegated[field]
    return (
      again !== undefined &&
      (typeof again !== 'string' ||
        expandSignature(again).toLowerCase() !== expandSignature(attestation[field]).toLowerCase())
    )
  })
  const terms: Terms = { expirationTime, deadline, ...(submission === 'direct' && { nonce: nonce! }) }
  const addressed = { schema: schema.toLowerCase(), recipient: parseChecksumAddress(recipient)! }
  return {
    ...{ statement: { ...addressed, revocable, data: data.toLowerCase() }, signature, attester },
    ...{ submission, terms, token: delegated.resignToken },
    contradiction: differs
      ? `delegatedAttestation.${differs}: expected the value of attestation.${differs}`
      : refUID !== ZeroHash &&
        'attestation.refUID: expected the zero UID, the only one that this service signs',
    claims: Object.fromEntries(
      CLAIM_NAMES.filter((name) => answer[name] !== undefined).map((name) => [name, answer[name]]),
    ),
  }
}

/** Returns the address of this service that signed the unchanged answer; undefined if none did. */
async function signerOf(
  attester: Attester,
  contract: VerifyingContract,
  { attester: named, statement, terms, signature }: ReadAnswer,
): Promise<string | undefined> {
  const ours = await attester.ours(named)
  return ours && (await attester.signed(contract, ours, statement, terms, signature)) ? ours : undefined
}

const NOT_OURS =
  'the signature is not one of this service for this chain and contract: it does not match the ' +
  'content, the deadline and, in EAS, the nonce'

/** Returns the contract of this submission. Throws a ComputeError if the chain has no proxy. */
function signedFor({ chain, direct, proxy }: Attester, submission: Submission): VerifyingContract {
  const contract = submission === 'direct' ? direct : proxy
  if (!contract)
    throw invalidInput(
      `delegatedAttestation.submission: ${chain.slug} has no proxy any more, so an answer signed ` +
        'for it cannot land. Repeat the request.',
    )
  return contract
}

/** Returns the problem of a part that differs from the original answer; undefined if all match. */
async function leftInProblem(
  contract: VerifyingContract,
  { delegatedAttestation: { contract: named, nonce }, attestByDelegation, transaction }: EarlierAnswer,
  call: DelegatedRequest,
): Promise<string | undefined> {
  const { submission, address } = contract
  if (named !== undefined && (typeof named !== 'string' || named.toLowerCase() !== address.toLowerCase()))
    return `delegatedAttestation.contract: answers with submission ${submission} are signed for ${address}`
  if (submission === 'proxy' && nonce !== undefined)
    return 'delegatedAttestation.nonce: expected none, because answers for the proxy have no nonce'
  if (attestByDelegation !== undefined && !isDeepStrictEqual(attestByDelegation, call))
    return 'attestByDelegation: expected the call of this answer'
  if (transaction !== undefined && !isDeepStrictEqual(transaction, await transactionOf(contract, call)))
    return 'transaction: expected the transaction that submits this answer'
  return undefined
}

function otherThanSigned(signed: Claims, given: ReadAnswer['claims']): string[] {
  return Object.entries(given)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(signed[name as keyof Claims]))
    .map(([name]) => name)
}

/** Signs the data of an earlier answer again. An answer that stays with the proxy keeps its content. */
export async function resign(
  parts: ComputeParts,
  request: EarlierAnswer & { chainId: number; submission?: Submission; include?: 'transaction'[] },
  work: Work,
): Promise<ComputeResult> {
  const chain = await servedChain(parts, request.chainId, work)
  const { submission = request.delegatedAttestation.submission ?? 'direct', include } = request
  const { unsigned } = await reviewed(parts, chain, request)
  const contract = await contractFor(parts, chain, submission)
  return sign(await landingOf(parts, chain, contract, include, true), unsigned)
}

/** Signs the data of earlier answers again, in their order; for EAS at consecutive nonces. */
export async function resignBatch(
  parts: ComputeParts,
  request: EarlierBatch,
  work: Work,
): Promise<BatchResult> {
  const { results, deadline, multiAttestByDelegation, transaction } = request
  const chain = await servedChain(parts, request.chainId, work)
  const earlier = await Promise.all(
    results.map((answer, i) => inPlace(`results[${i}]`, () => reviewed(parts, chain, answer))),
  )
  if (
    deadline !== undefined &&
    results.some(({ delegatedAttestation }) => delegatedAttestation.deadline !== deadline)
  )
    throw verificationFailed('deadline: expected the deadline of these results')
  const calls = multiAttestRequests(earlier.map(({ call }) => call))
  if (multiAttestByDelegation !== undefined && !isDeepStrictEqual(multiAttestByDelegation, calls))
    throw verificationFailed('multiAttestByDelegation: expected the call of these results. Leave it out.')
  const before = signedFor(chain.attester, results[0]!.delegatedAttestation.submission ?? 'direct')
  if (transaction !== undefined && !isDeepStrictEqual(transaction, await transactionOf(before, calls)))
    throw verificationFailed(
      'transaction: expected the transaction that submits these results. Leave it out.',
    )
  const forms = new Set(results.map(({ delegatedAttestation: { submission = 'direct' } }) => submission))
  if (forms.size > 1 && !request.submission)
    throw invalidInput(
      'submission: missing. These results were signed for both forms. Set it to the form in which ' +
        'they should land.',
    )
  const { submission = [...forms][0], include } = request
  const contract = await contractFor(parts, chain, submission)
  const expirations = earlier.map(({ unsigned }) => unsigned.expirationTime)
  return signBatch(
    await landingOf(parts, chain, contract, include, true),
    // The proxy accepts a signature once, so an answer that is listed twice gets another expiration.
    earlier.map(({ unsigned }, i) =>
      expirations.indexOf(unsigned.expirationTime) < i ? { ...unsigned, expirationTime: 0 } : unsigned,
    ),
  )
}

/** Returns result and call of an answer of this service that may be signed again. Throws if it may not. */
async function reviewed(
  parts: ComputeParts,
  chain: ServedChain,
  earlier: EarlierAnswer,
): Promise<{ unsigned: UnsignedResult; call: DelegatedRequest }> {
  const { attester } = chain
  const answer = readAnswer(earlier)
  const { statement } = answer
  const contract = signedFor(attester, answer.submission)
  if (answer.contradiction) throw verificationFailed(answer.contradiction)
  const signer = await signerOf(attester, contract, answer)
  if (!signer) throw verificationFailed(`attestation: ${NOT_OURS}`)
  const call = delegatedRequest(statement, answer.signature, signer, answer.terms)
  const problem = await leftInProblem(contract, earlier, call)
  if (problem) throw verificationFailed(`${problem}. Leave it out.`)
  const claims = claimsOf(statement.data)
  const [other] = otherThanSigned(claims, answer.claims)
  if (other) throw verificationFailed(`${other}: expected the signed value`)
  const sources = sourcesOf(attester, statement, answer.token!)
  if (!sources) throw verificationFailed(WRONG_TOKEN)
  const age = Math.floor(parts.clock() / 1000) - claims.timestamp
  if (age > parts.resignMaxAgeSeconds)
    throw invalidInput(
      `attestation: computed ${age} seconds ago, but it can be re-signed for ` +
        `${parts.resignMaxAgeSeconds} seconds only. Repeat the request.`,
    )
  const stillValid = validityCheck(parts, chain, { claims, sources }, -Infinity)
  await stillValid()
  // With the same content, the landing of either signature is found for both.
  const { expirationTime } = answer.terms
  return { unsigned: { statement, claims, sources, stillValid, expirationTime }, call }
}

const usedBy = (status: Landed['status'], { remedy }: Lateness): string =>
  ({
    landed: ': this answer has landed',
    'not landed': ` by another answer: ${remedy}`,
    unknown: `, either by this answer, which has then landed, or by another one. In that case ${remedy}`,
  })[status]

/** Reports if an answer is unchanged, if its contract accepts it now, and as which attestation it landed. */
export async function verify(parts: ComputeParts, request: VerifyRequest, work: Work): Promise<Verification> {
  const answer = readAnswer(request)
  const chain = await servedChain(parts, request.chainId, work)
  const { attester } = chain
  const contract = signedFor(attester, answer.submission)
  const signer = await signerOf(attester, contract, answer)
  const claims = signer ? claimsOf(answer.statement.data) : null
  const reasons = claims
    ? otherThanSigned(claims, answer.claims).map((field) => `${field} is not what was signed`)
    : [NOT_OURS]
  if (answer.contradiction) reasons.unshift(answer.contradiction)
  // The token is not signed, but resign would refuse one that this service did not issue.
  if (signer && answer.token !== undefined && !sourcesOf(attester, answer.statement, answer.token))
    reasons.push(WRONG_TOKEN)
  const by = signer ?? attester.address
  // A signature that this service did not make may be malformed.
  const call = claims && delegatedRequest(answer.statement, answer.signature, by, answer.terms)
  const leftIn = call && (await leftInProblem(contract, request, call))
  if (leftIn) reasons.push(leftIn)
  const ours = reasons.length === 0
  const { nonce, deadline } = answer.terms
  const now = Math.floor(parts.clock() / 1000)
  const isOld = claims !== null && now - claims.timestamp > parts.resignMaxAgeSeconds
  const late = {
    isLate: deadline < now,
    remedy: isOld ? 'repeat the request' : 're-sign it with POST /compute/v0/resign',
  }
  const signed = call && { claims, call }
  const standing =
    nonce === undefined
      ? await atProxy(chain, contract, answer, signed, late)
      : await atEas(chain, contract, answer, by, signed, nonce, late)
  reasons.push(...standing.reasons)
  return {
    ours,
    submittable: reasons.length === 0,
    reasons,
    says: claims,
    landed: standing.landed,
    attester: by,
    submission: contract.submission,
    contract: contract.address,
    nonce: nonce === undefined ? null : { signed: nonce, current: standing.current! },
    deadline,
  }
}

interface Standing {
  reasons: string[]
  landed: Landed | null
  current?: number
}

interface Lateness {
  isLate: boolean
  remedy: string
}

/** Claims of an answer of this service, and the call that submits it. */
interface Signed {
  claims: Claims
  call: DelegatedRequest
}

/** Checks an answer at EAS, which accepts it at its nonce, and in the legacy layout at any time. */
async function atEas(
  chain: ServedChain,
  contract: VerifyingContract,
  { statement, terms }: ReadAnswer,
  by: string,
  ours: Signed | null,
  nonce: number,
  late: Lateness,
): Promise<Standing> {
  const [current, { layout }] = await Promise.all([chain.attester.nonceOf(by, true), contract.known()])
  const isDecisive = async ({ number, time }: Block) =>
    nonce < current
      ? // The transaction that used the nonce must be in a searched block.
        (await chain.reader.nonceAt(by, number)) > BigInt(nonce)
      : // At a head before the deadline, the answer may have landed in a later block.
        !late.isLate || layout === 'legacy' || time > terms.deadline || (await chain.reader.isLocal())
  let landed: Landed | null = null
  // While keys are replaced, an instance with another key may have re-signed the answer.
  for (const signer of ours ? new Set([by, ...(await chain.attester.addresses())]) : []) {
    const found = await findLanded(
      ...[chain, { ...statement, ...terms }, signer, ours!.claims.timestamp, isDecisive],
    )
    if (landed?.status !== 'unknown' || found.status === 'landed') landed = found
    if (landed.status === 'landed') break
  }
  const reasons: string[] = []
  if (nonce < current) reasons.push(`nonce ${nonce} was used${landed ? usedBy(landed.status, late) : ''}`)
  if (nonce > current) reasons.push(`nonce ${nonce} cannot be used yet: the contract expects ${current}`)
  if (late.isLate && layout !== 'legacy') reasons.push(tooLate(terms, landed, late))
  if (ours && reasons.length === 0) {
    const revert = await chain.reader.revertOf(contract.address, attestCalldata(layout, ours.call))
    const error = revert && delegationError(layout, revert)
    // Signature, nonce and deadline were checked. This endpoint may lag, or have another time.
    if (revert && error !== 'InvalidSignature' && error !== 'DeadlineExpired')
      reasons.push(reverted(revert, error))
  }
  return { reasons, landed, current }
}

/** Simulates the call of the proxy. An answer may have landed with the signature of a re-signed one. */
async function atProxy(
  chain: ServedChain,
  contract: VerifyingContract,
  { statement, terms }: ReadAnswer,
  ours: Signed | null,
  late: Lateness,
): Promise<Standing> {
  if (!ours) return { reasons: [], landed: null }
  const { claims, call } = ours
  const revert = await chain.reader.revertOf(contract.address, attestCalldata('proxy', call))
  const error = revert === undefined ? undefined : delegationError('proxy', revert)
  // At a head before the deadline, the answer may have landed in a later block.
  const isDecisive = async ({ time }: Block) =>
    error !== 'UsedSignature' &&
    ((error !== 'DeadlineExpired' && !late.isLate) || time > terms.deadline || (await chain.reader.isLocal()))
  const content = { ...statement, ...terms }
  const landed = await findLanded(chain, content, contract.address, claims.timestamp, isDecisive)
  if (revert === undefined) return { reasons: late.isLate ? [tooLate(terms, landed, late)] : [], landed }
  if (error === 'UsedSignature')
    return { reasons: ['the proxy has already accepted this signature: this answer has landed'], landed }
  if (landed.status === 'landed') return { reasons: ['this answer has landed'], landed }
  const reason =
    error === 'DeadlineExpired'
      ? tooLate(terms, landed, late)
      : error === 'AccessDenied'
        ? 'the proxy has a new owner: re-sign the answer with submission direct'
        : reverted(revert, error)
  return { reasons: [reason], landed }
}

function reverted(revert: string, error: string | undefined): string {
  if (revert === '0x') return 'the contract reverts without a reason'
  return `the contract reverts with ${error ?? `an unknown error, ${revert.slice(0, 10)}`}`
}

function tooLate({ deadline }: Terms, landed: Landed | null, { remedy }: Lateness): string {
  // An answer that may have landed could land twice if it were signed again.
  const helps = !landed || landed.status === 'not landed'
  return `the deadline ${deadline} has passed${helps ? `: ${remedy}` : ''}`
}
