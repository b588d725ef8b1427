// SPDX-License-Identifier: MIT
import type { Answer, QuorumAnswer } from '@geospatial-attestation/client'
import { z } from 'zod'
import { cut } from '../../../src/cut'
import { ToolInputError } from './errors'

/** Maximum number of answers that a server remembers, at 3.4 kB each. It forgets the oldest first. */
const KEPT = 500

/** Stores answers under short ids: a model copies 3.4 kB slowly, and not always correctly. */
export class KeptAnswers {
  private readonly answers = new Map<string, Answer | QuorumAnswer>()
  /** last re-signed forms of answers, by the signature of each earlier form */
  private readonly resigned = new Map<string, Answer | QuorumAnswer>()
  private last = 0

  keep(answer: Answer | QuorumAnswer): string {
    const id = `answer-${++this.last}`
    store(this.answers, id, answer)
    return id
  }

  /** Remembers the re-signed form of an answer, which is stored here or was passed as a whole. */
  renew(answer: Answer, resigned: Answer): void {
    for (const map of [this.answers, this.resigned])
      for (const [key, each] of map) if (each === answer) map.set(key, resigned)
    store(this.resigned, signatureOf(answer), resigned)
  }

  /** Returns the last re-signed form of an answer, or the answer itself. */
  latest(answer: Answer | QuorumAnswer): Answer | QuorumAnswer {
    return this.resigned.get(signatureOf(answer)) ?? answer
  }

  get(id: string): Answer | QuorumAnswer | undefined {
    return this.answers.get(id)
  }
}

function store<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value)
  if (map.size > KEPT) map.delete(map.keys().next().value!)
}

const signatureOf = (answer: Answer | QuorumAnswer) =>
  'quorum' in answer ? answer.signatures : answer.attestation.signature

const signedAnswer = z.looseObject({
  chainId: z.number(),
  attestation: z.looseObject({ data: z.string(), signature: z.string() }),
  delegatedAttestation: z.looseObject({ deadline: z.number() }),
  attestByDelegation: z.looseObject({
    data: z.looseObject({}),
    signature: z.looseObject({ v: z.number(), r: z.string(), s: z.string() }),
  }),
})
const quorumAnswer = z.looseObject({
  chainId: z.number(),
  answer: z.looseObject({ data: z.string(), deadline: z.number() }),
  ...{ quorum: z.string(), signers: z.string(), signatures: z.string() },
})
const WHOLE = 'complete, unchanged signed_answer of an operation with include_signature'

/** Creates the parameter for an answer: complete or, if the server keeps answers, by its id. */
export const answerParameter = (kept: KeptAnswers | undefined) => {
  const what = kept ? `answer_id of an operation; or ${WHOLE}` : WHOLE
  return z.union([z.string(), z.looseObject({})], { error: `expected the ${what}` }).describe(what)
}

/** Returns the answer that a parameter names. Throws a ToolInputError that states how to get one. */
export function answerOf(value: unknown, kept: KeptAnswers | undefined): Answer | QuorumAnswer {
  if (typeof value === 'string' && !value.trimStart().startsWith('{')) {
    const answer = kept?.get(value)
    if (answer) return answer
    if (/^\s*0x[0-9a-f]{64}\s*$/i.test(value))
      throw new ToolInputError(
        `Expected ${kept ? 'an answer_id' : WHOLE}, got a UID. search_answers finds answers that landed.`,
      )
    throw new ToolInputError(
      kept
        ? `No answer '${cut(value, 60)}' is stored in this connection. Call the operation again, ` +
            'and use its answer_id.'
        : 'No answers are stored here. Call the operation again with include_signature, and use its signed_answer.',
    )
  }
  let whole = value
  try {
    if (typeof value === 'string') whole = JSON.parse(value)
  } catch {
    // The error is thrown after the failed check of the schema.
  }
  const isOfQuorum = typeof whole === 'object' && whole !== null && 'quorum' in whole
  const parsed = (isOfQuorum ? quorumAnswer : signedAnswer).safeParse(whole)
  if (parsed.success) return parsed.data as unknown as Answer | QuorumAnswer
  const [issue] = parsed.error.issues
  const place = issue!.path.join('.')
  throw new ToolInputError(
    `The answer is incomplete${place && ` (${place} is missing or invalid)`}. Expected ${WHOLE}.`,
  )
}
