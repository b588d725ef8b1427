// SPDX-License-Identifier: MIT
import { answersOf, isSignedFirst } from './batch'
import type { Context } from './context'
import { attestCall, checkSigned, expectedAttester, multiAttestCall, orAltered, type Domain } from './eas'
import { AlteredAnswerError, ConnectionError, GeoError, ServiceVersionError } from './errors'
import type { Call } from './reader'
import type { Answer, BatchAnswer, Chain } from './types'

/** Builds the transaction that lands answers. */

export interface Submission {
  call: Call
  answers: readonly Answer[]
  /** chain whose EAS emits the event */
  chain: Chain
  direct: boolean
  /** true for a batch whose answers were signed for the first time */
  isFirst: boolean
  attester: string
  /** account that EAS records as the attester: that of the service, or the proxy */
  recorded: string
}

export function chainIdOf(answer: Answer | BatchAnswer): number {
  if (typeof (answer as { chainId?: unknown } | undefined)?.chainId === 'number') return answer.chainId
  throw new GeoError('The answer has no chainId. Add it, as in land({ chainId: 84532, ...answer }, signer).')
}

/** Adds to the error of an altered answer that it is not sent. */
function throwUnsent(error: unknown): never {
  if (!(error instanceof AlteredAnswerError)) throw error
  throw new AlteredAnswerError(`${error.message} Nothing was sent. Repeat the question.`)
}

/** Builds the transaction of an answer or batch, after checking it against the signed content. */
export async function submissionOf(
  { options }: Context,
  chain: Chain,
  answer: Answer | BatchAnswer,
): Promise<Submission> {
  const answers = answersOf(answer)
  if (answers.length === 0) throw new GeoError('The batch has no results to land.')
  if (answers.some((each) => !each.attestation || !each.delegatedAttestation))
    throw new GeoError('Expected an answer of the service, with attestation and delegatedAttestation.')
  const submission = answers[0]!.delegatedAttestation.submission
  const contract: { domain?: Domain } | null = submission === 'proxy' ? chain.proxy : chain
  if (
    answers.some(
      (each) => each.attestByDelegation === undefined || each.delegatedAttestation.submission === undefined,
    )
  )
    throw new ServiceVersionError(
      'The answer has no attestByDelegation: it is from an older version of the service, and this ' +
        'package cannot land it.',
    )
  if (!contract?.domain)
    throw new ConnectionError(
      `The service has no ${submission === 'proxy' ? 'proxy' : 'contract'} of ${chain.slug} that ` +
        `accepts its signatures at the moment${chain.reason ? ` (${chain.reason})` : ''}. Use ` +
        'another `submission`, or retry later.',
    )
  const attester = options.attester ?? expectedAttester(chain, answers[0]!.attestation.attester)
  const checked: { legacy: boolean }[] = []
  for (const each of answers)
    checked.push(await checkSigned(each, contract.domain, attester).catch(throwUnsent))
  const { legacy } = checked[0]!
  const encode = async () =>
    'results' in answer
      ? multiAttestCall(groupsOf(answers), legacy)
      : attestCall(answer.attestByDelegation, legacy)
  const data = await orAltered(encode()).catch(throwUnsent)
  return {
    call: { to: contract.domain.verifyingContract, data },
    answers,
    chain,
    direct: submission !== 'proxy',
    isFirst: isSignedFirst(answer),
    attester,
    recorded: submission === 'proxy' ? contract.domain.verifyingContract : attester,
  }
}

/**
 * Builds the arguments of `multiAttestByDelegation`: consecutive answers with one schema, attester and
 * deadline form one request, in the order of nonces.
 */
export function groupsOf(answers: readonly Answer[]): unknown[] {
  const groups: {
    schema: string
    data: unknown[]
    signatures: unknown[]
    attester: string
    deadline: number
  }[] = []
  for (const { attestByDelegation: each } of answers) {
    const last = groups.at(-1)
    if (last && (['schema', 'attester', 'deadline'] as const).every((name) => last[name] === each[name])) {
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
