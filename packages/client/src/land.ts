import { isLong } from './batch'
import {
  attestCall,
  checkSigned,
  contractError,
  decodeClaims,
  expectedAttester,
  getAttestation,
  getNonce,
  getProxiedAttester,
  multiAttestCall,
  type Domain,
  type OnchainAttestation,
} from './eas'
import { same } from './says'
import { GeoError, InvalidInputError, LandingError, ServiceVersionError, refuseUnknown } from './errors'
import type { Context } from './geo'
import { attestedUids, inTurn, readAfter, sameChain, sentOf, transact, type Refused } from './send'
import { RevertedError, walletOf, type Call, type ChainReader, type Receipt, type Signer } from './signer'
import type { Answer, BatchAnswer, Chain, Claims } from './types'
import { pause } from './waiting'

export interface LandOptions {
  signal?: AbortSignal
  /**
   * How often an answer is signed anew because another one took its nonce, or its deadline has passed; 20 by
   * default, 0 for never.
   */
  resigns?: number
  /**
   * Called at each step. An answer that was signed anew waits for it before it is sent: who stores it first
   * can go on with it after a crash, and lands nothing twice.
   */
  onStep?: (step: LandingStep) => unknown
}
export type LandingStep =
  | { step: 'signed anew'; reason: string; answer: Answer | BatchAnswer }
  | { step: 'sent'; transactionHash: string }

/** An answer that is an attestation now. */
export interface Landed {
  uid: string
  chainId: number
  transactionHash: string
  blockNumber: number
  /** true: it had landed earlier, and nothing was sent */
  already: boolean
  /** what the attestation says, decoded */
  says: Claims
  attestation: OnchainAttestation
}

const RESIGNS = 20
const USED = 'its signature was used'

/** One transaction of answers, ready to be sent. */
interface Submission {
  call: Call
  answers: readonly Answer[]
  /** EAS, where the event comes from */
  chain: Chain
  direct: boolean
  attester: string
  /** whom EAS records as the attester: ours, or the proxy */
  recorded: string
}

/** See `Geo.land`. */
export async function landAnswer(
  context: Context,
  answer: Answer | BatchAnswer,
  signer: Signer,
  options: LandOptions = {},
): Promise<Landed | Landed[]> {
  refuseUnknown('land', options, { signal: true, resigns: true, onStep: true })
  if (isLong(answer))
    return (await context.loadParts()).landParts(answer, options, groupsOf, (part, given) =>
      landAnswer(context, part, signer, given),
    )
  const { signal, resigns = RESIGNS, onStep = () => {} } = options
  const wallet = walletOf(signer)
  const reader = wallet.reader()
  let current = answer
  const chain = await context.chain(chainIdOf(answer))
  await sameChain(reader, chain)
  for (let left = resigns; ; left--) {
    const submission = await submissionOf(context, chain, current)
    const isFirst = current === answer
    // A direct one holds up the next until it is in a block: of two answers at one nonce the second would
    // only cost gas.
    const outcome = await inTurn(signer, async (release) => {
      const landed = isFirst && (await landedOutOfTurn(context, reader, submission, signal))
      if (landed) return { landed }
      return transact(wallet, chain, submission.call, {
        signal,
        onSent: (transactionHash) => {
          if (!submission.direct) release()
          void onStep({ step: 'sent', transactionHash })
        },
      })
    })
    if ('landed' in outcome) return 'results' in answer ? [outcome.landed] : outcome.landed
    if ('receipt' in outcome) {
      const landed = await landedIn(reader, submission, outcome.receipt, signal)
      return 'results' in answer ? landed : landed[0]!
    }
    const reason = await mendable(reader, submission, outcome)
    const before = await landedBefore(context, reader, submission, signal)
    if (before.length === submission.answers.length) return 'results' in answer ? before : before[0]!
    if (before.length > 0)
      throw new LandingError(
        `${before.length} of the ${submission.answers.length} answers have landed already, as ${before.map(({ uid }) => uid).join(', ')}. Land each of the others by itself, as in land({ chainId: ${chain.id}, ...batch.results[i] }, signer). ${sentOf(outcome)}`,
        undefined,
        outcome.transactionHash,
      )
    if (reason === USED)
      throw new LandingError(
        `The answer did not land: its signature was used, and the service does not find the attestation. Ask the question again. ${sentOf(outcome)}`,
        'UsedSignature',
        outcome.transactionHash,
      )
    if (left <= 0)
      throw new LandingError(`The answer did not land: ${reason}, and it was signed ${resigns} times anew.`)
    current = await context.resign(current, { signal }).catch((error: Error) => {
      if (!(error instanceof InvalidInputError)) throw error
      throw new LandingError(
        `The answer did not land: ${reason}, and the service does not sign it anew (${error.detail}): ask the question again. ${sentOf(outcome)}`,
        contractError(outcome.refused),
        outcome.transactionHash,
        outcome.refused.data,
        { cause: error },
      )
    })
    await onStep({ step: 'signed anew', reason, answer: current })
  }
}

/** See `Geo.estimate`. */
export async function estimateGas(
  context: Context,
  answer: Answer | BatchAnswer,
  signer: Signer,
): Promise<bigint> {
  if (isLong(answer))
    return (await context.loadParts()).sumOfParts(answer, (part) => estimateGas(context, part, signer))
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
        ? ' It has landed before, or is to be signed anew: `verify` tells, and `land` does what is needed.'
        : ''
    throw new LandingError(
      `The contract refuses the answer with ${text}.${hint}`,
      name,
      undefined,
      error.data,
    )
  }
}

function chainIdOf(answer: Answer | BatchAnswer): number {
  if (typeof (answer as { chainId?: unknown } | undefined)?.chainId === 'number') return answer.chainId
  throw new GeoError(
    'The answer does not say its chain: add it, as in land({ chainId: 84532, ...answer }, signer).',
  )
}

/** The transaction of an answer or batch, compared with what was signed. */
async function submissionOf(
  { options }: Context,
  chain: Chain,
  answer: Answer | BatchAnswer,
): Promise<Submission> {
  const answers = 'results' in answer ? (answer.results as Answer[]) : [answer]
  if (answers.length === 0) throw new GeoError('The batch has no results: there is nothing to land.')
  if (answers.some((each) => !each?.attestation || !each.delegatedAttestation))
    throw new GeoError(
      'This is no answer of the service: expected one with attestation and delegatedAttestation.',
    )
  const submission = answers[0]!.delegatedAttestation.submission
  const contract: { domain?: Domain } | null = submission === 'proxy' ? chain.proxy : chain
  if (
    answers.some(
      (each) => each.attestByDelegation === undefined || each.delegatedAttestation.submission === undefined,
    )
  )
    throw new ServiceVersionError(
      'The answer has no attestByDelegation: it was made by an older version of the service, which this package cannot land.',
    )
  if (!contract?.domain)
    throw new LandingError(
      `The service has no ${submission === 'proxy' ? 'proxy' : 'contract'} of ${chain.slug} that takes its signatures now${chain.reason ? ` (${chain.reason})` : ''}: ask with another \`submission\`, or later.`,
    )
  const attester = options.attester ?? expectedAttester(chain, answers[0]!.attestation.attester)
  const checked: { legacy: boolean }[] = []
  for (const each of answers) checked.push(await checkSigned(each, contract.domain, attester))
  const { legacy } = checked[0]!
  const data =
    'results' in answer
      ? multiAttestCall(groupsOf(answers), legacy)
      : attestCall(answer.attestByDelegation, legacy)
  return {
    call: { to: contract.domain.verifyingContract, data },
    answers,
    chain,
    direct: submission !== 'proxy',
    attester,
    recorded: submission === 'proxy' ? contract.domain.verifyingContract : attester,
  }
}

/**
 * The arguments of `multiAttestByDelegation`: neighbours with one schema are one request, in the order of
 * nonces.
 */
function groupsOf(answers: readonly Answer[]): unknown[] {
  const groups: {
    schema: string
    data: unknown[]
    signatures: unknown[]
    attester: string
    deadline: number
  }[] = []
  for (const { attestByDelegation: each } of answers) {
    const last = groups.at(-1)
    if (last && last.schema === each.schema) {
      last.data.push(each.data)
      last.signatures.push(each.signature)
    } else
      groups.push({
        ...{ schema: each.schema, data: [each.data], signatures: [each.signature] },
        ...{ attester: each.attester, deadline: each.deadline },
      })
  }
  return groups
}

/** Why a fresh signature is needed. Throws a LandingError for a refusal that it does not mend. */
async function mendable(
  reader: ChainReader,
  { answers, chain, direct, attester }: Submission,
  { refused, transactionHash }: Refused,
): Promise<string> {
  const name = contractError(refused)
  const { nonce } = answers[0]!.delegatedAttestation
  if (name === 'DeadlineExpired') return 'its deadline has passed'
  if (name === 'UsedSignature') return USED
  if (name === 'InvalidSignature' && direct) {
    const next = await getNonce(reader, chain.eas, attester)
    if (next > nonce!) return 'another answer took its nonce'
    if (next < nonce!) return 'answers with lower nonces have not landed'
  }
  // At its right nonce a signature that is refused was not altered (checked before): the contract is
  // another one.
  const told = (await import('./refused')).refusedWith(refused)
  throw new LandingError(
    `The answer did not land: the contract refuses it with ${told.text}. ${sentOf({ transactionHash })}`,
    told.name,
    transactionHash,
    refused.data,
  )
}

/** The attestations that a transaction made, in the order of its answers. */
async function landedIn(
  reader: ChainReader,
  submission: Submission,
  receipt: Receipt,
  signal: AbortSignal | undefined,
): Promise<Landed[]> {
  const { answers, chain, recorded } = submission
  const { transactionHash, blockNumber } = receipt
  // A wallet that is a contract may send the answers of others in the same transaction.
  const made = await Promise.all(
    attestedUids(receipt, chain, recorded).map((uid) =>
      readAfter(receipt, () => getAttestation(reader, chain.eas, uid), signal),
    ),
  )
  return answers.map((answer) => {
    const i = made.findIndex((attestation) => holds(attestation, answer, recorded))
    if (i < 0)
      throw new LandingError(
        `The transaction ${transactionHash} succeeded, but the attestation of the answer is not in it.`,
        undefined,
        transactionHash,
      )
    return landedAs(made.splice(i, 1)[0]!, chain, transactionHash, blockNumber)
  })
}

/** How often, and how far apart, the service is asked before "not landed" is believed: its node may lag. */
const ASKED = 3
const ASKED_MS = 1_000

/**
 * The attestations of those answers that landed earlier. Throws a LandingError when that is not certain:
 * an answer that was signed anew while the first one is on its way would land twice.
 */
async function landedBefore(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  signal: AbortSignal | undefined,
): Promise<Landed[]> {
  const { answers, chain, direct, attester } = submission
  const next = direct ? await getNonce(reader, chain.eas, attester) : undefined
  // Each took a nonce since the first one's, also where it was signed anew before its turn.
  const most = next === undefined ? Infinity : next - answers[0]!.delegatedAttestation.nonce!
  const found: Landed[] = []
  for (const answer of answers) {
    if (found.length >= most) break
    const landed = await landedEarlier(context, reader, submission, answer, next, signal)
    if (landed) found.push(landed)
  }
  return found
}

/**
 * The attestation of a direct answer whose turn has come now, and which landed before it. An answer of a
 * batch that is landed by itself is signed anew at a lower nonce; EAS takes its first signature, too, once
 * that nonce is the next one. Where the service cannot tell, the answer is not held back: of one that was
 * asked by itself the contract takes no second. Throws a LandingError where the service is behind the node.
 */
async function landedOutOfTurn(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  signal: AbortSignal | undefined,
): Promise<Landed | undefined> {
  const { answers, chain, direct, attester } = submission
  const [answer, ...others] = answers
  // The nonces of a whole batch have not been used, or it is refused.
  if (!direct || others.length > 0) return undefined
  const next = await getNonce(reader, chain.eas, attester).catch(() => undefined)
  // At another nonce the contract refuses it; where there is no such contract, the trial says so.
  if (next === undefined || next !== answer!.delegatedAttestation.nonce) return undefined
  for (let asked = 1; ; asked++) {
    const said = await askLanded(context, reader, submission, answer!, signal).catch(() => undefined)
    signal?.throwIfAborted()
    if (said?.found) return said.found
    if (said?.status !== 'not landed' || said.nonce! >= next) return undefined
    if (asked >= ASKED) throw uncertain()
    await pause(ASKED_MS, signal)
  }
}

const uncertain = () =>
  new LandingError(
    'It is not certain whether the answer has landed before: the service cannot tell now. Land the same answer again later. Nothing was sent.',
  )

async function landedEarlier(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  answer: Answer,
  /** the contract's nonce, of a direct one */
  next: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Landed | undefined> {
  for (let asked = 1; ; asked++) {
    const { found, status, nonce } = await askLanded(context, reader, submission, answer, signal)
    if (found) return found
    // The service's node has seen this nonce, so its search reaches the block of every answer before it.
    const seen = next === undefined ? asked >= ASKED : nonce !== undefined && nonce >= next
    if (status === 'not landed' && seen) return undefined
    if (asked >= ASKED) throw uncertain()
    await pause(ASKED_MS, signal)
  }
}

/** What the service says of an answer; what it finds is compared with the chain. */
async function askLanded(
  { verify }: Context,
  reader: ChainReader,
  { chain, direct, attester, recorded }: Submission,
  answer: Answer,
  signal: AbortSignal | undefined,
): Promise<{ found?: Landed; status?: string; nonce?: number }> {
  // Other fields may be the caller's own, which the service does not know.
  const { attestation, delegatedAttestation } = answer
  const signed = { chainId: chain.id, attestation, delegatedAttestation } as Answer
  const { landed, nonce } = await verify(signed, { signal })
  if (landed?.status === 'landed') {
    const { uid, transactionHash, blockNumber } = landed
    const made = await getAttestation(reader, chain.eas, uid!)
    const isOurs =
      made !== undefined &&
      holds(made, answer, recorded) &&
      (direct || same(await getProxiedAttester(reader, recorded, uid!), attester))
    if (isOurs)
      return {
        found: { ...landedAs(made, chain, transactionHash!, blockNumber!), already: true },
      }
  }
  return { status: landed?.status, nonce: nonce?.current }
}

/** Whether an attestation is that of the answer: everything that was signed, and whom EAS records. */
function holds(attestation: OnchainAttestation, { attestation: signed }: Answer, recorded: string): boolean {
  return (
    same(attestation.attester, recorded) &&
    same(attestation.schema, signed.schema) &&
    same(attestation.recipient, signed.recipient) &&
    same(attestation.refUID, signed.refUID) &&
    same(attestation.data, signed.data) &&
    attestation.revocable === signed.revocable &&
    attestation.expirationTime === BigInt(signed.expirationTime)
  )
}

function landedAs(
  attestation: OnchainAttestation,
  chain: Chain,
  transactionHash: string,
  blockNumber: number,
): Landed {
  const { whole: _, ...says } = decodeClaims(attestation.data)!
  return {
    ...{ uid: attestation.uid, chainId: chain.id, transactionHash, blockNumber, already: false },
    ...{ says, attestation },
  }
}
