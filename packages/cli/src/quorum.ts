// SPDX-License-Identifier: MIT
import type { Chain, Question, Quorum, QuorumAnswer, QuorumOptions } from '@geospatial-attestation/client'
import { UsageError } from './exit'
import { parsed, readText } from './inputs'
import type { Field } from './output'
import type { Session } from './session'

/** Implements the option `--quorum operators.json` of the operations, which asks a quorum. */

const FORM = '{"operators": ["https://one.example", "https://two.example"], "k": 2}'

/** Returns the chain of a question. The error for an unreachable service names another way. */
export async function chainOfQuestion(session: Session): Promise<Chain> {
  try {
    return await session.chain()
  } catch (error) {
    const { ConnectionError } = await import('@geospatial-attestation/client')
    if (!(error instanceof ConnectionError)) throw error
    const remedy = 'Or name the service of another operator with --url.'
    throw new ConnectionError(`${error.message} ${remedy}`, { cause: error })
  }
}

/** Asks a quorum, and reports operators that differ or refuse. */
export async function askQuorum(
  { signal, note }: Session,
  quorum: Quorum,
  question: Question,
  terms: { recipient?: string; schema?: string },
): Promise<QuorumAnswer> {
  const answer = await quorum.ask(question, { ...terms, signal })
  for (const { url, reason, detail } of answer.dissent)
    note(
      reason === 'other-payload'
        ? `${url} signed another payload for the same request. --json prints it, as evidence.`
        : `${url} did not sign: ${reason}. ${detail}`,
    )
  return answer
}

/** Returns the client of the quorum that a file describes. Throws a UsageError for any other content. */
export async function openQuorum({ geo, at }: Session, file: string, chain?: number): Promise<Quorum> {
  const value = parsed(await readText(file, at)) as Partial<QuorumOptions> | undefined
  const isText = (each: unknown) => typeof each === 'string'
  if (!Array.isArray(value?.operators) || !value.operators.every(isText) || value.k === undefined)
    throw new UsageError(`'${file}' does not describe a quorum: expected JSON such as ${FORM}.`)
  return geo.quorum({ ...(value as QuorumOptions), ...(chain !== undefined && { chain }) })
}

/** Returns the fields of an answer about its signers. */
export function quorumFields({ quorum, answer, signers }: QuorumAnswer): Field[] {
  const bits = BigInt(signers).toString(2)
  const indices = [...bits].flatMap((bit, i) => (bit === '1' ? [bits.length - 1 - i] : [])).reverse()
  return [
    ['signed by', `operators ${indices.join(', ')} of epoch ${answer.epoch}`],
    ['quorum', quorum],
  ]
}
