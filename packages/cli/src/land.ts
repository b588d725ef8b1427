// SPDX-License-Identifier: MIT
import { randomUUID } from 'node:crypto'
import type {
  Answer,
  BatchAnswer,
  Geo,
  Landed,
  LandingStep,
  Quorum,
  QuorumAnswer,
  Signer,
} from '@geospatial-attestation/client'
import { sentenceOf } from '@geospatial-attestation/client'
import { UsageError } from './exit'
import { createFile } from './files'
import { parsed, readSource } from './inputs'
import { jsonLine, time, type Field } from './output'
import type { Session } from './session'

/** Lands answers: with --land, or from a file with `geo land`. */

export async function landFile(session: Session, file: string): Promise<void> {
  const answer = await readAnswer(session, file)
  const chain = await session.geo.chain(answer.chainId, { signal: session.signal })
  const wallet = await session.wallet(chain)
  // Standard input may be a pipe, whose answer is stored nowhere.
  const landed = await landOrKeep(session, answer, wallet, { isStored: file !== '-' })
  const all = Array.isArray(landed) ? landed : [landed]
  if (session.options.json) for (const each of all) session.printJson(landedJson(each))
  else
    for (const each of all) {
      session.print(session.paint.bold(sentenceOf(each.says)))
      session.printFields([['chain', `${chain.slug} (${chain.id})`], ...landedFields(each)])
    }
}

/** Lands an answer by the client of the service or a quorum, and reports each step on stderr. */
export async function landAnswer<A extends Answer | BatchAnswer | QuorumAnswer>(
  { geo, signal, note, sent }: Session,
  answer: A,
  wallet: Signer,
  onStep: (step: LandingStep) => unknown,
  by: Geo | Quorum = geo,
): Promise<A extends BatchAnswer ? Landed[] : Landed> {
  const steps = (step: LandingStep) => {
    if (step.step === 'sent') sent(step.transactionHash)
    note(step.step === 'sent' ? `Sent: transaction ${step.transactionHash}` : `Re-signed: ${step.reason}`)
    return onStep(step)
  }
  const landed = await (by as Geo).land(answer as Answer, wallet, { signal, onStep: steps })
  sent(undefined)
  return landed as A extends BatchAnswer ? Landed[] : Landed
}

/**
 * Lands an answer. If that fails, prints the answer with its last signature, or writes it to a file whose
 * name it notes, for `geo land`, which finds out if it has landed: another answer could land as well, and so
 * could another signature. An answer that is stored is kept only if it was re-signed.
 */
export async function landOrKeep<A extends Answer | BatchAnswer | QuorumAnswer>(
  session: Session,
  answer: A,
  wallet: Signer,
  { by, isStored = false }: { by?: Quorum | undefined; isStored?: boolean },
): Promise<A extends BatchAnswer ? Landed[] : Landed> {
  let last: object = answer
  const onStep = (step: LandingStep) => {
    if ('answer' in step) last = step.answer
  }
  try {
    return await landAnswer(session, answer, wallet, onStep, by)
  } catch (error) {
    if (isStored && last === answer) throw error
    const file = `answer-${randomUUID()}.json`
    const write = () => createFile(session.at(file), `${jsonLine(last)}\n`, 0o600)
    const isWritten =
      !session.options.json &&
      !session.options.quiet &&
      (await write().then(
        () => true,
        () => false,
      ))
    if (isWritten) session.note(`Wrote the signed answer to ${file}, for geo land.`)
    else session.printJson(last)
    throw error
  }
}

/** Returns the fields of a landed answer that scripts need. */
export function landedJson({ uid, chainId, transactionHash, blockNumber, already }: Landed) {
  return { uid, chainId, transactionHash, blockNumber, already }
}

export function landedFields({ uid, transactionHash, blockNumber, already, attestation }: Landed): Field[] {
  const { time: attested, revocationTime } = attestation
  return [
    [already ? 'landed before' : 'landed', uid],
    ['transaction', transactionHash],
    ['block', `${blockNumber}, ${time(Number(attested))}`],
    ['revoked', revocationTime > 0n ? time(Number(revocationTime)) : undefined],
  ]
}

/** Reads an answer, a batch, an answer of a quorum or a line of `geo batch`. Throws a UsageError. */
export async function readAnswer(
  session: Session,
  file: string,
): Promise<Answer | BatchAnswer | QuorumAnswer> {
  const content = await readSource(file, session)
  const what = file === '-' ? 'Standard input' : `'${file}'`
  const [line = '', ...others] = content.trim().split('\n')
  const value = parsed(content)
  if (value === undefined && others.length > 0 && parsed(line) !== undefined)
    throw new UsageError(`${what} has several lines. Use one of them: sed -n 1p prints the first.`)
  const given = (value ?? {}) as {
    answer?: object
    attestation?: object
    results?: object[]
    signers?: string
    chainId?: unknown
  }
  // The member `answer` of a quorum's answer is its content.
  const whole = given.signers === undefined ? (given.answer ?? given) : given
  const { landed: _, ...answer } = whole as typeof given & { landed?: object }
  const isAnswer = 'results' in answer ? isBatch(answer) : answer.attestation
  // A line of a batch has its answer as a member, and no other result, which nothing would check.
  const isLine = whole !== given
  const isDouble = isLine && ['result', 'results', 'attestation'].some((name) => name in given)
  if ((!isAnswer && !isOfQuorum(answer)) || isDouble)
    throw new UsageError(
      `${what} does not contain an answer: expected the output of geo distance A B --json > ` +
        'answer.json, or of another operation.',
    )
  return { ...answer, chainId: await chainIdOf(answer, session) } as unknown as
    | Answer
    | BatchAnswer
    | QuorumAnswer
}

/** Returns the chain of an answer; that of --chain or GEO_CHAIN for responses of the Compute API. */
async function chainIdOf({ chainId }: { chainId?: unknown }, { context, geo, options, signal }: Session) {
  if (typeof chainId !== 'number') {
    const named = options.chain ?? context.env.GEO_CHAIN
    if (named) return (await geo.chain(named, { signal })).id
    throw new UsageError(
      'The answer has no chainId. Add it, such as "chainId": 84532, or set --chain or GEO_CHAIN.',
    )
  }
  const chain = options.chain === undefined ? undefined : await geo.chain(options.chain, { signal })
  if (chain && chain.id !== chainId)
    throw new UsageError(`The answer is for chain ${chainId}, but --chain names ${chain.slug} (${chain.id}).`)
  return chainId
}

/** True for a batch of answers. An empty list would pass every check, and so would an answer next to it. */
function isBatch({ attestation, results }: { attestation?: object; results?: unknown }): boolean {
  const isAnswer = (each: unknown) =>
    typeof each === 'object' && each !== null && 'attestation' in each && Boolean(each.attestation)
  return !attestation && Array.isArray(results) && results.length > 0 && results.every(isAnswer)
}

const QUORUM_TEXTS = ['quorum', 'signers', 'signatures'] as const
function isOfQuorum({ answer, ...texts }: Partial<Record<keyof QuorumAnswer, unknown>>): boolean {
  const isHex = (name: (typeof QUORUM_TEXTS)[number]) => /^0x[0-9a-f]+$/i.test(String(texts[name]))
  return typeof answer === 'object' && answer !== null && QUORUM_TEXTS.every(isHex)
}
