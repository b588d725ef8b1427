import type { Answer } from '@geospatial-attestation/client'
import { z } from 'zod'
import { ToolInputError } from './errors'

/** Answers that a server remembers; beyond that it forgets the oldest. One is 3.4 kB. */
const KEPT = 500

/** Answers under short ids. A signed one is 3.4 kB, which a model copies slowly and not always right. */
export class KeptAnswers {
  private readonly answers = new Map<string, Answer>()
  private last = 0

  keep(answer: Answer): string {
    const id = `answer-${++this.last}`
    this.answers.set(id, answer)
    if (this.answers.size > KEPT) this.answers.delete(this.answers.keys().next().value!)
    return id
  }

  get(id: string): Answer | undefined {
    return this.answers.get(id)
  }
}

const signedAnswer = z.looseObject({
  chainId: z.number(),
  attestation: z.looseObject({ data: z.string(), signature: z.string() }),
  delegatedAttestation: z.looseObject({ deadline: z.number() }),
  attestByDelegation: z.looseObject({
    data: z.looseObject({}),
    signature: z.looseObject({ v: z.number(), r: z.string(), s: z.string() }),
  }),
})
const WHOLE = 'signed_answer of an operation that was asked with include_signature, whole and unchanged'

/** The parameter that names an answer: where they are kept by id, else, or also, whole. */
export const answerParameter = (kept: KeptAnswers | undefined) => {
  const what = kept ? `answer_id of an operation; or ${WHOLE}` : WHOLE
  return z.union([z.string(), z.looseObject({})], { error: `expected the ${what}` }).describe(what)
}

/** The answer that a parameter names. Throws a ToolInputError that says how to get one. */
export function answerOf(value: unknown, kept: KeptAnswers | undefined): Answer {
  if (typeof value === 'string' && !value.trimStart().startsWith('{')) {
    const answer = kept?.get(value)
    if (answer) return answer
    if (/^\s*0x[0-9a-f]{64}\s*$/i.test(value))
      throw new ToolInputError(
        `This is a UID, not an answer; search_answers shows answers that landed. Give ${kept ? 'an answer_id' : WHOLE}.`,
      )
    throw new ToolInputError(
      kept
        ? `No answer '${value.slice(0, 60)}' is kept in this connection: ask the question again, and give its answer_id.`
        : `No answers are kept here: ask the question again with include_signature, and give its signed_answer.`,
    )
  }
  let whole = value
  try {
    if (typeof value === 'string') whole = JSON.parse(value)
  } catch {
    // Said below.
  }
  const parsed = signedAnswer.safeParse(whole)
  if (parsed.success) return parsed.data as unknown as Answer
  const [issue] = parsed.error.issues
  const place = issue!.path.join('.')
  throw new ToolInputError(
    `This is no whole answer${place && ` (${place} is missing or wrong)`}: give ${WHOLE}.`,
  )
}
