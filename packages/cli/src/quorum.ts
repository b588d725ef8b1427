// SPDX-License-Identifier: MIT
import type {
  Chain,
  Landed,
  LandingStep,
  Question,
  QuorumAnswer,
  QuorumOptions,
  Signer,
} from '@geospatial-attestation/client'
import { UsageError } from './exit'
import { parsed, readText } from './inputs'
import type { Session } from './session'

/** Answers of a quorum: `--quorum operators.json` of the operations. */

const FORM = '{"operators": ["https://one.example", "https://two.example"], "k": 2}'

/** Asks a quorum, and reports operators that differ or refuse. `land` lands the answer. */
export async function askQuorum(
  session: Session,
  file: string,
  question: Question,
  options: { chain: Chain; recipient?: string; schema?: string },
): Promise<{ answer: QuorumAnswer; land: (wallet: Signer) => Promise<Landed> }> {
  const { geo, signal, note, sent } = session
  const { chain, recipient, schema } = options
  const quorum = await geo.quorum({ ...(await readQuorum(session, file)), chain: chain.id })
  const answer = await quorum.ask(question, { recipient, schema, signal })
  for (const { url, reason, detail } of answer.dissent) note(`${url} did not sign: ${reason}. ${detail}`)
  const onStep = (step: LandingStep) => {
    if (step.step !== 'sent') return
    sent(step.transactionHash)
    note(`Sent: transaction ${step.transactionHash}`)
  }
  return { answer, land: (wallet) => quorum.land(answer, wallet, { signal, onStep }) }
}

/** Returns the fields of an answer about its signers. */
export function quorumFields({ quorum, answer, signers }: QuorumAnswer): [string, string][] {
  const bits = BigInt(signers).toString(2)
  const indices = [...bits].flatMap((bit, i) => (bit === '1' ? [bits.length - 1 - i] : [])).reverse()
  return [
    ['signed by', `operators ${indices.join(', ')} of epoch ${answer.epoch}`],
    ['quorum', quorum],
  ]
}

/** Reads the file of a quorum. Throws a UsageError for any other content. */
async function readQuorum({ at }: Session, file: string): Promise<QuorumOptions> {
  const value = parsed(await readText(file, at)) as Partial<QuorumOptions> | undefined
  const isText = (each: unknown) => typeof each === 'string'
  if (!Array.isArray(value?.operators) || !value.operators.every(isText) || value.k === undefined)
    throw new UsageError(`'${file}' does not describe a quorum: expected JSON such as ${FORM}.`)
  return value as QuorumOptions
}
