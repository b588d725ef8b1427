import { BATCH_SIZE } from './batch'
import { ApiError } from './errors'
import type { Landed, LandingStep, LandOptions } from './context'
import type { Answer, BatchAnswer } from './types'

/** Batches of more than BATCH_SIZE questions. Loaded when one is asked or lands. */

/** A list in parts of BATCH_SIZE. */
function partsOf<T>(items: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < items.length; start += BATCH_SIZE)
    parts.push(items.slice(start, start + BATCH_SIZE))
  return parts
}

/**
 * The answers of a batch in parts that land in one transaction each. Parts may have been signed in different
 * seconds: each has the deadline of its own answers.
 */
function answersInParts({ chainId, results }: BatchAnswer): BatchAnswer[] {
  return partsOf(results).map(
    (part) => ({ chainId, results: part, deadline: part[0]!.delegatedAttestation?.deadline }) as BatchAnswer,
  )
}

/** Parts as one batch, which is good until the first deadline. */
function joined(parts: readonly BatchAnswer[]): BatchAnswer {
  return {
    chainId: parts[0]!.chainId,
    results: parts.flatMap(({ results }) => results),
    deadline: Math.min(...parts.map(({ deadline }) => deadline)),
    multiAttestByDelegation: parts.flatMap(({ multiAttestByDelegation }) => multiAttestByDelegation),
  }
}

/** One batch of the answers to all questions, whose parts are requested in their order. */
export function requestParts<T>(
  questions: readonly T[],
  request: (part: readonly T[]) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  return requestAll(partsOf(questions), request)
}

/** The answers of a batch, requested again in parts. */
export function requestAnswers(
  answer: BatchAnswer,
  request: (part: BatchAnswer) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  return requestAll(answersInParts(answer), request)
}

async function requestAll<T>(
  parts: readonly T[],
  request: (part: T) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  const answers: BatchAnswer[] = []
  for (const [i, part] of parts.entries())
    try {
      answers.push(await inPart(i, () => request(part)))
    } catch (error) {
      // The reason of a signal too: whatever ends a batch, the answers that were counted are not lost.
      if (answers.length > 0 && error instanceof Error)
        Object.defineProperty(error, 'answered', { value: joined(answers), configurable: true })
      throw error
    }
  return joined(answers)
}

/** Lands the parts of a batch one after the other. Steps show the whole batch, as it is signed then. */
export async function landParts(
  answer: BatchAnswer,
  { onStep = () => {}, ...options }: LandOptions,
  groupsOf: (answers: readonly Answer[]) => unknown[],
  land: (part: BatchAnswer, options: LandOptions) => Promise<Landed | Landed[]>,
): Promise<Landed[]> {
  const parts = answersInParts(answer)
  const landed: Landed[] = []
  for (const [i, part] of [...parts].entries()) {
    const told = (step: LandingStep) => {
      if (step.step !== 'signed anew') return onStep(step)
      parts[i] = step.answer as BatchAnswer
      const whole = parts.map(
        (each) => ({ ...each, multiAttestByDelegation: groupsOf(each.results as Answer[]) }) as BatchAnswer,
      )
      return onStep({ ...step, answer: joined(whole) })
    }
    landed.push(...((await land(part, { ...options, onStep: told })) as Landed[]))
  }
  return landed
}

/** Sum of an amount of each part. */
export async function sumOfParts(
  answer: BatchAnswer,
  amountOf: (part: BatchAnswer) => Promise<bigint>,
): Promise<bigint> {
  const amounts = await Promise.all(answersInParts(answer).map(amountOf))
  return amounts.reduce((sum, each) => sum + each)
}

/** Runs the request of a part; its errors name the index that a question or answer has in the whole list. */
async function inPart<T>(part: number, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (part === 0 || !(error instanceof ApiError)) throw error
    const detail = error.detail.replace(
      /\b(operations|results)\[(\d+)\]/g,
      (_, list: string, i: string) => `${list}[${Number(i) + part * BATCH_SIZE}]`,
    )
    throw new (error.constructor as typeof ApiError)({ ...error, detail })
  }
}
