// SPDX-License-Identifier: MIT
import type {
  Answer,
  BatchAnswer,
  Chain,
  Checked,
  Input,
  QuorumAnswer,
  Logged,
  OperatorLogged,
  Verification,
} from '@geospatial-attestation/client'
import { sentenceOf } from '@geospatial-attestation/client'
import { EXIT, NoEndpointError, UsageError } from './exit'
import { isUid, readInput, readText } from './inputs'
import { readAnswer } from './land'
import { time, type Field } from './output'
import type { Session } from './session'

/** Implements `geo verify` and `geo recompute`. The exit code states the result. */

export interface CheckFlags {
  maxAge?: number
  schema?: string
  /** file of the policy of the transparency log */
  logPolicy?: string
}

export async function verify(session: Session<CheckFlags>, target: string): Promise<number> {
  if (isUid(target, 'an answer')) {
    if (session.options.logPolicy !== undefined)
      throw new UsageError('--log-policy requires the file of an answer, which names its entry in the log.')
    return verifyAttestation(session, target)
  }
  const { maxAge, schema, rpc } = session.options
  const requireUid = (name: string) => {
    throw new UsageError(
      `${name} requires the UID of an attestation: an answer in a file contains its own schema and ` +
        'time, and the service verifies it.',
    )
  }
  for (const [name, given] of Object.entries({ '--max-age': maxAge, '--schema': schema }))
    if (given !== undefined) requireUid(name)
  const answer = await readAnswer(session, target)
  if ('signers' in answer) return verifyQuorumAnswer(session, answer)
  if (rpc !== undefined) requireUid('--rpc')
  return verifyAnswer(session, answer)
}

async function policyOf({ options, at }: Session<CheckFlags>): Promise<{ policy?: string }> {
  return options.logPolicy === undefined ? {} : { policy: await readText(options.logPolicy, at) }
}

/** Verifies the signatures of a quorum, their accounts, and their entries in the logs of the operators. */
async function verifyQuorumAnswer(session: Session<CheckFlags>, answer: QuorumAnswer): Promise<number> {
  const { options, geo, paint, signal } = session
  const chain = await geo.chain(answer.chainId, { signal })
  const provider = await session.node(chain).catch((error: unknown) => {
    // Without an RPC endpoint, the service names the operators.
    if (error instanceof NoEndpointError) return undefined
    throw error
  })
  const given = { signal, ...(await policyOf(session)), ...(provider && { provider }) }
  const { valid, unknown, problems, operators } = await geo.verifyQuorum(answer, given)
  const { deadline } = answer.answer
  const isLate = deadline < Math.floor(Date.now() / 1000)
  if (options.json)
    session.printJson({ valid, unknown, problems, chainId: chain.id, quorum: answer.quorum, operators })
  else {
    session.print(valid ? paint.good('valid') : paint.bad(unknown ? 'not verified' : 'not valid'))
    if (operators.length > 0) session.print(paint.bold(sentenceOf(answer)))
    for (const problem of problems) session.print(`- ${problem}`)
    session.printFields([
      ['chain', `${chain.slug} (${chain.id})`],
      ['quorum', answer.quorum],
      ['operators', `from the ${provider ? 'contract' : 'service'}`],
      ['lands now', valid && isLate ? `no: its deadline was ${time(deadline)}` : undefined],
      ...operators.map(signerField),
    ])
  }
  if (valid) return EXIT.done
  if (!unknown) return EXIT.no
  const isUnread = operators.some(({ problem }) => problem !== undefined)
  if (!isUnread) session.note('To read the operators from the contract, pass an RPC endpoint with --rpc.')
  return isUnread ? EXIT.unreachable : EXIT.usage
}

/** Account of an operator, and the state of its signature in the log of its service. */
function signerField({ url, operator, log }: OperatorLogged, i: number): Field {
  const state = log ? `, log: ${loggedText(log)}` : ''
  // Anyone can remove the names of the services from an answer.
  const unchecked = log ? '' : ', log: not checked, the answer does not name the service'
  return [i === 0 ? 'signed by' : '', `${operator}${url === undefined ? unchecked : ` at ${url}`}${state}`]
}

async function verifyAttestation(session: Session<CheckFlags>, uid: string): Promise<number> {
  const { options, geo, paint, signal } = session
  const { maxAge } = options
  const chain = await session.chain()
  const provider = await session.node(chain)
  const checked: Checked = await geo.check(uid, {
    ...{ chain: chain.id, provider, maxAge, signal },
    ...(options.schema && { schemas: [options.schema] }),
  })
  const { valid, problems, says, sentence, attester, attestation } = checked
  if (options.json)
    session.printJson({ valid, problems, uid, chainId: chain.id, says, sentence, attester, attestation })
  else {
    session.print(valid ? paint.good('valid') : paint.bad('not valid'))
    if (sentence) session.print(paint.bold(sentence))
    for (const problem of problems) session.print(`- ${problem}`)
    session.printFields([
      ['chain', `${chain.slug} (${chain.id})`],
      ['signed by', attester],
      ['recipient', attestation.recipient],
      ['attested', time(Number(attestation.time))],
    ])
    if (!says)
      session.note(
        `This attestation is not an answer of the service. To show an attested place, run geo record ${uid}.`,
      )
  }
  return valid ? EXIT.done : EXIT.no
}

/** Verifies an answer with the service, which recognizes its own signatures. */
async function verifyAnswer(session: Session<CheckFlags>, answer: Answer | BatchAnswer): Promise<number> {
  const { options, geo, paint, signal } = session
  const { slug, id } = await geo.chain(answer.chainId, { signal })
  const answers = 'results' in answer ? (answer.results as Answer[]) : [answer]
  const policy = await policyOf(session)
  const all: (Verification & { valid: boolean; problems: string[]; log?: Logged | undefined })[] = []
  for (const each of answers) {
    const response = await geo.verify({ ...each, chainId: answer.chainId }, { signal })
    // That of an altered answer is the landing of the content that was signed.
    const seen = { ...response, landed: response.ours ? response.landed : null }
    const log = await geo.logged({ ...each, chainId: answer.chainId }, { signal, ...policy })
    const problems = [
      ...(seen.ours ? [] : seen.reasons),
      ...(seen.landed?.revoked ? [`its attestation ${seen.landed.uid} was revoked`] : []),
      ...(log?.state === 'missing'
        ? [`the transparency log does not prove that it includes the answer: ${log.reason}`]
        : []),
    ]
    all.push({ ...seen, valid: problems.length === 0, problems, log })
  }
  if (options.json) for (const each of all) session.printJson(each)
  else
    for (const { valid, ours, problems, says, attester, submittable, reasons, log, landed } of all) {
      session.print(valid ? paint.good('valid') : paint.bad('not valid'))
      if (says) session.print(paint.bold(sentenceOf(says)))
      for (const problem of problems) session.print(`- ${problem}`)
      session.printFields([
        ['chain', `${slug} (${id})`],
        [ours ? 'signed by' : 'expected signer', attester ?? undefined],
        [
          'lands now',
          valid && !landed?.uid ? (submittable ? 'yes' : `no: ${reasons.join('; ')}`) : undefined,
        ],
        ['log', log && loggedText(log)],
        ['landed', landed?.uid ?? undefined],
        ['transaction', landed?.transactionHash ?? undefined],
      ])
    }
  return all.every(({ valid }) => valid) ? EXIT.done : EXIT.no
}

function loggedText({ state, by, index, size, witnesses }: Logged): string {
  if (state === 'pending') return `pending: due by ${time(by)}`
  if (state === 'missing') return 'missing'
  const names = witnesses!.length > 0 ? `, cosigned by ${witnesses!.join(', ')}` : ''
  return `entry ${index} of ${size}${names}`
}

/** Recomputes an answer locally with the service's own kernel. */
export async function recompute(
  session: Session,
  target: string,
  given: readonly string[] = [],
): Promise<number> {
  const { options, geo, paint, signal } = session
  const inputs: Input[] = []
  for (const argument of given) inputs.push(await readInput(argument, session))
  const answer = isUid(target, 'an answer') ? target : await readAnswer(session, target)
  if (typeof answer !== 'string' && 'results' in answer)
    throw new UsageError('Only one answer can be recomputed at a time: use one of the results of the batch.')
  // An answer may be reduced to its signed parts, which are enough for `geo verify`.
  const isWhole = typeof answer === 'string' || Array.isArray(answer.inputRefs)
  if (!isWhole)
    throw new UsageError(
      'inputRefs: expected the references of the inputs. Use the answer as it was returned.',
    )
  const chain =
    typeof answer === 'string' ? await session.chain() : await geo.chain(answer.chainId, { signal })
  // Attestations are read from the chain, whether they are named or omitted.
  const fromChain =
    typeof answer === 'string' ||
    inputs.length < answer.inputRefs.length ||
    inputs.some((input) => typeof input === 'string' || 'uid' in input)
  const provider = fromChain ? await nodeFor(session, chain, answer, inputs.length) : undefined
  const found = await geo.recompute(answer, inputs, {
    ...{ chain: chain.id, signal },
    ...(provider && { provider }),
  })
  const equal = found.verdict === 'equal'
  if (options.json) session.printJson(found)
  else {
    session.print(equal ? paint.good(found.verdict) : paint.bad(found.verdict))
    session.print(paint.bold(found.sentence))
    const proven: readonly { attester?: string }[] = 'inputs' in found ? found.inputs : []
    const rows = proven.map(({ attester }, i): Field => [`input ${i + 1} attested by`, attester])
    if (rows.some(([, attester]) => attester)) session.printFields(rows)
  }
  return equal ? EXIT.done : EXIT.no
}

/** Returns an RPC endpoint. If there is none and places were omitted, the error asks for the places first. */
async function nodeFor(
  session: Session,
  chain: Chain,
  answer: string | Answer | QuorumAnswer,
  given: number,
) {
  try {
    return await session.node(chain)
  } catch (error) {
    const refs = typeof answer === 'string' ? [] : answer.inputRefs
    if (!(error instanceof UsageError) || refs.length <= given) throw error
    const few = given === 1 ? '1 is' : `${given} are`
    throw new UsageError(
      `The answer is about ${refs.length} places, but ${few} given. Name each place in the order ` +
        `of ${refs.join(', ')}, an attested place by its UID. Attested places at the end may be left ` +
        `out: they are read from their chain. ${error.message}`,
    )
  }
}
