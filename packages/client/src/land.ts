// SPDX-License-Identifier: MIT
import { isLong } from './batch'
import type { Context, Landed, LandOptions } from './context'
import { contractError, getNonce } from './eas'
import { isOfRequest, LandingError, LostTransactionError, refuseUnknown } from './errors'
import { landedBefore, landedIn, landedOutOfTurn, type Search } from './landed'
import { connected, inTurn, reasonFor, sentOf, transact, type Refused, type Sending } from './send'
import { RevertedError, type ChainReader } from './reader'
import type { Signer, Wallet } from './signer'
import { chainIdOf, groupsOf, submissionOf, type Submission } from './submission'
import type { Answer, BatchAnswer } from './types'
import { untilAborted } from './waiting'

interface Landing extends Search {
  wallet: Wallet
  options: LandOptions
  /** number of times that the answer was re-signed */
  resigned: number
}

/** Runs work when no other transaction of the signer is pending, until it calls `release`. */
type Turn = <T>(work: (release: () => void) => Promise<T>) => Promise<T>

const RESIGNS = 20
const USED = 'its signature was used'

/**
 * Implements `Geo.land`:
 *
 *   submit ── in a block ───────────────────────> landed
 *    ^  └──── the contract rejects it ──> mend ──> landed before, by another process
 *    └─────── re-signed, up to 20 times ───┘ └───> LandingError
 */
export async function landAnswer(
  context: Context,
  answer: Answer | BatchAnswer,
  signer: Signer,
  options: LandOptions = {},
): Promise<Landed | Landed[]> {
  refuseUnknown('land', options, { signal: true, resigns: true, onStep: true })
  const { signal } = options
  if (isLong(answer)) {
    const { landParts } = await import('./parts')
    const land = (part: BatchAnswer, given: LandOptions) => landAnswer(context, part, signer, given)
    return inTurn(answer, signal, () => landParts(answer, options, groupsOf, land))
  }
  const { wallet, reader, chain } = await connected(
    context,
    chainIdOf(answer),
    signer,
    'The answer is',
    signal,
  )
  const first: Submission = await untilAborted(submissionOf(context, chain, answer), signal)
  const attempts = async (turn: Turn) => {
    let current: Answer | BatchAnswer = answer
    let submission = first
    for (let resigned = 0; ; resigned++) {
      const landing: Landing = { context, wallet, reader, options, signal, submission, resigned }
      const sent = await turn((release) => submit(landing, release))
      const found: Landed[] | Answer | BatchAnswer =
        'refused' in sent ? await untilAborted(mend(landing, current, sent), signal) : sent
      if (Array.isArray(found)) return 'results' in answer ? found : found[0]!
      current = found
      submission = await untilAborted(submissionOf(context, chain, current), signal)
    }
  }
  // A direct answer is re-signed in its turn. Outside it, each landing would invalidate the new signatures of
  // all answers that are queued. Each answer waits for other landings of itself: the transaction of the
  // second one would revert and cost gas.
  return inTurn(answer, signal, () =>
    first.direct
      ? inTurn(signer, signal, (release) => attempts((work) => work(release)))
      : attempts((work) => inTurn(signer, signal, work)),
  )
}

/** Returns the attestations of a submission, or the error with which the contract rejects it. */
async function submit(landing: Landing, release: () => void): Promise<Landed[] | Refused> {
  const { wallet, submission, options, signal } = landing
  const found = landing.resigned > 0 ? [] : await landedOutOfTurn(landing)
  if (found.length > 0) return allLanded(found, submission)
  /** Returns the attestations that another transaction made. */
  const landedOtherwise = async (error: LandingError): Promise<Landed[]> => {
    const sent = { transactionHash: error.transactionHash }
    const before = await reasonFor(error, landedBefore(landing, sent), signal)
    if (before.length === 0) throw error
    return allLanded(before, submission, sent)
  }
  const outcome = await transact(wallet, submission.chain, submission.call, {
    signal,
    // A direct answer blocks the next one until it is in a block: the second of two answers with one nonce
    // would revert and cost gas.
    ...(!submission.direct && { release }),
    onSent: (transactionHash) => options.onStep?.({ step: 'sent', transactionHash }),
  }).catch(async (error: unknown) => {
    // A wallet replaces a transaction by the same one with a higher fee.
    if (error instanceof LostTransactionError) return { found: await landedOtherwise(error) }
    throw error
  })
  if ('refused' in outcome) return outcome
  release()
  if ('found' in outcome) return outcome.found
  return landedIn(landing, outcome.receipt).catch((error: unknown) => {
    if (!(error instanceof LandingError)) throw error
    // The call of a smart account fails in its transaction if another account has landed the answer.
    return landedOtherwise(error)
  })
}

/**
 * Returns the attestations of answers that the contract rejects because they had landed before; otherwise the
 * re-signed answer. Throws a LandingError if a new signature would not help.
 */
async function mend(
  landing: Landing,
  answer: Answer | BatchAnswer,
  refusal: Refused,
): Promise<Landed[] | Answer | BatchAnswer> {
  const { reader, submission } = landing
  // The nonce is read before the search: if another process lands the answer in between, the search finds it.
  const reason = await mendable(reader, submission, refusal)
  // A proxy checks its owner before the signature, and another node may still have an earlier nonce.
  const mayHaveLanded =
    refusal.mayBeSent || ['AccessDenied', 'InvalidSignature'].includes(contractError(refusal.refused)!)
  if (reason instanceof LandingError && !mayHaveLanded) throw reason
  const before = await landedBefore(landing, refusal)
  if (before.length > 0) return allLanded(before, submission, refusal)
  if (reason instanceof LandingError) throw reason
  if (reason === USED)
    throw new LandingError(
      'The answer did not land: its signature was used, but the service does not find the ' +
        `attestation. Repeat the question. ${sentOf(refusal)}`,
      'UsedSignature',
      refusal.transactionHash,
    )
  return resign(landing, answer, refusal, reason)
}

/** Returns the attestations if all answers have landed before. Throws a LandingError if only some have. */
function allLanded(before: Landed[], { answers, chain }: Submission, sent: Sending = {}): Landed[] {
  const all = answers.length
  if (before.length === all) return before
  throw new LandingError(
    `${before.length} of the ${all} answers ${before.length === 1 ? 'has' : 'have'} already landed, as ` +
      `${before.map(({ uid }) => uid).join(', ')}. Land each of the others separately, as in ` +
      `land({ chainId: ${chain.id}, ...batch.results[i] }, signer). ${sentOf(sent)}`,
    undefined,
    sent.transactionHash,
  )
}

async function resign(
  { context, options, signal, resigned }: Landing,
  answer: Answer | BatchAnswer,
  refusal: Refused,
  reason: string,
): Promise<Answer | BatchAnswer> {
  const { resigns = RESIGNS, onStep = () => {} } = options
  if (resigned >= resigns)
    throw new LandingError(`The answer did not land: ${reason}. It was re-signed ${resigns} times.`)
  const fresh = await context.resign(essentialsOf(answer), { signal }).catch((error: Error) => {
    if (!isOfRequest(error)) throw error
    throw new LandingError(
      `The answer did not land: ${reason}, and the service cannot re-sign it (${error.detail}). ` +
        `Repeat the question. ${sentOf(refusal)}`,
      contractError(refusal.refused),
      refusal.transactionHash,
      refusal.refused.data,
      { cause: error },
    )
  })
  await onStep({ step: 'signed anew', reason, answer: fresh })
  return fresh
}

/**
 * Returns the parts of an answer that the service signs again. The others were compared with them before, or
 * are unknown to the service: zones are a batch with more fields, and users may have added some.
 */
function essentialsOf(answer: Answer | BatchAnswer): Answer | BatchAnswer {
  const { chainId } = answer
  const one = ({ attestation, delegatedAttestation }: Answer) => ({ attestation, delegatedAttestation })
  return ('results' in answer
    ? { chainId, results: (answer.results as Answer[]).map(one) }
    : { chainId, ...one(answer) }) as unknown as Answer | BatchAnswer
}

/**
 * Returns the reason for which the answer needs a new signature, or a LandingError if the contract rejects
 * the answer for another reason, which does not exclude that it has landed: a proxy checks its owner before
 * the signature.
 */
async function mendable(
  reader: ChainReader,
  { answers, chain, direct, attester }: Submission,
  refusal: Refused,
): Promise<string | LandingError> {
  const { refused, transactionHash } = refusal
  const name = contractError(refused)
  const { nonce } = answers[0]!.delegatedAttestation
  if (name === 'DeadlineExpired') return 'its deadline has passed'
  if (name === 'UsedSignature') return USED
  if (name === 'InvalidSignature' && direct) {
    const next = await getNonce(reader, chain.eas, attester)
    if (next > nonce!) return 'another answer used its nonce'
    if (next < nonce!) return 'answers with lower nonces have not landed'
  }
  // The nonce matches and the signature is authentic (checked before), so the contract must be another one.
  const revert = (await import('./refused')).refusedWith(refused)
  return new LandingError(
    `The answer did not land: the contract reverted with ${revert.text}. ${sentOf(refusal)}`,
    revert.name,
    transactionHash,
    refused.data,
  )
}

/** Implements `Geo.estimate`. */
export async function estimateGas(
  context: Context,
  answer: Answer | BatchAnswer,
  signer: Signer,
): Promise<bigint> {
  if (isLong(answer)) {
    const parts = (await import('./parts')).answersInParts(answer)
    const amounts = await Promise.all(parts.map((part) => estimateGas(context, part, signer)))
    return amounts.reduce((sum, each) => sum + each)
  }
  const { wallet, reader, chain } = await connected(
    context,
    chainIdOf(answer),
    signer,
    'The answer is',
    undefined,
  )
  const submission = await submissionOf(context, chain, answer)
  try {
    return await reader.estimateGas(submission.call, await wallet.address())
  } catch (error) {
    if (!(error instanceof RevertedError)) throw error
    const { name, text } = (await import('./refused')).refusedWith(error)
    const hint =
      name === (submission.direct ? 'InvalidSignature' : 'UsedSignature')
        ? ' It has landed before or must be re-signed: `verify` reports which, and `land` re-signs ' +
          'it if needed.'
        : ''
    throw new LandingError(
      `The contract rejects the answer with ${text}.${hint}`,
      name,
      undefined,
      error.data,
    )
  }
}
