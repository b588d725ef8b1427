// SPDX-License-Identifier: MIT
import { isLong } from './batch'
import type { Context, Landed, LandOptions } from './context'
import { contractError, getNonce } from './eas'
import { isOfRequest, LandingError, refuseUnknown } from './errors'
import { landedBefore, landedIn, landedOutOfTurn } from './landed'
import { inTurn, sameChain, sentOf, transact, type Refused } from './send'
import { RevertedError, type ChainReader, type Receipt } from './reader'
import { walletOf, type Signer, type Wallet } from './signer'
import { chainIdOf, groupsOf, submissionOf, type Submission } from './submission'
import type { Answer, BatchAnswer, Chain } from './types'

/**
 * State machine that lands an answer, or the answers of a batch in one transaction:
 *
 *     submitting --> reading --> landed      the transaction is in a block
 *     submitting --> landed                  the answer had landed before its turn
 *     submitting --> refused --> landed      the contract rejects it because it had landed before
 *                    refused --> resigning --> submitting
 *
 * It ends in `landed`, or with an error that states whether a transaction was sent.
 */
type State =
  | { at: 'submitting'; answer: Answer | BatchAnswer }
  | { at: 'reading'; submission: Submission; receipt: Receipt }
  | { at: 'refused'; answer: Answer | BatchAnswer; submission: Submission; refusal: Refused }
  | { at: 'resigning'; answer: Answer | BatchAnswer; reason: string; refusal: Refused }
  | { at: 'landed'; landed: Landed[] }
type In<At extends State['at']> = Extract<State, { at: At }>

/** Values shared by all states. */
interface Landing {
  context: Context
  wallet: Wallet
  signer: Signer
  chain: Chain
  options: LandOptions
  /** Number of times the answer has been re-signed. */
  resigned: number
}

const RESIGNS = 20
const USED = 'its signature was used'

/** Implements `Geo.land`. */
export async function landAnswer(
  context: Context,
  answer: Answer | BatchAnswer,
  signer: Signer,
  options: LandOptions = {},
): Promise<Landed | Landed[]> {
  refuseUnknown('land', options, { signal: true, resigns: true, onStep: true })
  if (isLong(answer))
    return (await import('./parts')).landParts(answer, options, groupsOf, (part, given) =>
      landAnswer(context, part, signer, given),
    )
  const wallet = walletOf(signer)
  const chain = await context.chain(chainIdOf(answer))
  await sameChain(wallet.reader(), chain)
  const landing: Landing = { context, wallet, signer, chain, options, resigned: 0 }
  let state: State = { at: 'submitting', answer }
  while (state.at !== 'landed') state = await next(landing, state)
  return 'results' in answer ? state.landed : state.landed[0]!
}

function next(landing: Landing, state: Exclude<State, In<'landed'>>): Promise<State> {
  switch (state.at) {
    case 'submitting':
      return submit(landing, state)
    case 'reading':
      return read(landing, state)
    case 'refused':
      return findBefore(landing, state)
    case 'resigning':
      return resign(landing, state)
  }
}

async function submit(
  { context, wallet, signer, chain, options, resigned }: Landing,
  { answer }: In<'submitting'>,
): Promise<State> {
  const { signal, onStep = () => {} } = options
  const submission = await submissionOf(context, chain, answer)
  // A direct answer blocks the next one until it is in a block: the second of two answers with one nonce
  // would revert and cost gas.
  const outcome = await inTurn(signer, async (release) => {
    const found = resigned > 0 ? [] : await landedOutOfTurn(context, wallet.reader(), submission, signal)
    if (found.length > 0) return { found }
    return transact(wallet, chain, submission.call, {
      signal,
      onSent: (transactionHash) => {
        if (!submission.direct) release()
        void onStep({ step: 'sent', transactionHash })
      },
    })
  })
  if ('found' in outcome) return allLanded(outcome.found, submission)
  if ('receipt' in outcome) return { at: 'reading', submission, receipt: outcome.receipt }
  return { at: 'refused', answer, submission, refusal: outcome }
}

async function read({ wallet, options }: Landing, { submission, receipt }: In<'reading'>): Promise<State> {
  return { at: 'landed', landed: await landedIn(wallet.reader(), submission, receipt, options.signal) }
}

async function findBefore(
  { context, wallet, options }: Landing,
  { answer, submission, refusal }: In<'refused'>,
): Promise<State> {
  // The nonce is read before the search: if another process lands the answer in between, the search finds it.
  const reason = await mendable(wallet.reader(), submission, refusal)
  // A proxy checks its owner before the signature, and another node may still have an earlier nonce.
  const mayHaveLanded = ['AccessDenied', 'InvalidSignature'].includes(contractError(refusal.refused)!)
  if (reason instanceof LandingError && !mayHaveLanded) throw reason
  const before = await landedBefore(context, wallet.reader(), submission, options.signal)
  if (before.length > 0) return allLanded(before, submission, refusal.transactionHash)
  if (reason instanceof LandingError) throw reason
  if (reason === USED)
    throw new LandingError(
      'The answer did not land: its signature was used, but the service does not find the ' +
        `attestation. Repeat the question. ${sentOf(refusal)}`,
      'UsedSignature',
      refusal.transactionHash,
    )
  return { at: 'resigning', answer, reason, refusal }
}

/** Returns the final state if all answers have landed before. Throws a LandingError if only some have. */
function allLanded(before: Landed[], { answers, chain }: Submission, transactionHash?: string): In<'landed'> {
  const all = answers.length
  if (before.length === all) return { at: 'landed', landed: before }
  throw new LandingError(
    `${before.length} of the ${all} answers ${before.length === 1 ? 'has' : 'have'} already landed, as ` +
      `${before.map(({ uid }) => uid).join(', ')}. Land each of the others separately, as in ` +
      `land({ chainId: ${chain.id}, ...batch.results[i] }, signer). ${sentOf({ transactionHash })}`,
    undefined,
    transactionHash,
  )
}

async function resign(landing: Landing, { answer, reason, refusal }: In<'resigning'>): Promise<State> {
  const { signal, resigns = RESIGNS, onStep = () => {} } = landing.options
  if (landing.resigned >= resigns)
    throw new LandingError(`The answer did not land: ${reason}. It was re-signed ${resigns} times.`)
  const fresh = await landing.context.resign(essentialsOf(answer), { signal }).catch((error: Error) => {
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
  landing.resigned++
  await onStep({ step: 'signed anew', reason, answer: fresh })
  return { at: 'submitting', answer: fresh }
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
  { refused, transactionHash }: Refused,
): Promise<string | LandingError> {
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
    `The answer did not land: the contract reverted with ${revert.text}. ${sentOf({ transactionHash })}`,
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
  const wallet = walletOf(signer)
  const chain = await context.chain(chainIdOf(answer))
  await sameChain(wallet.reader(), chain)
  const submission = await submissionOf(context, chain, answer)
  try {
    return await wallet.reader().estimateGas(submission.call, await wallet.address())
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
