// SPDX-License-Identifier: MIT
import { BATCH_SIZE, isSignedFirst, signedFirst } from './batch'
import { ApiError } from './errors'
import type { Landed, LandingStep, LandOptions } from './context'
import type { Answer, BatchAnswer } from './types'

/** Batches of more than BATCH_SIZE questions. The module is loaded when such a batch is asked or lands. */

export function partsOf<T>(items: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < items.length; start += BATCH_SIZE)
    parts.push(items.slice(start, start + BATCH_SIZE))
  return parts
}

/**
 * Splits a batch into parts that each land in one transaction. Parts may have been signed in different
 * seconds, so each part has the deadline of its own answers.
 */
export function answersInParts({ chainId, results }: BatchAnswer): BatchAnswer[] {
  return partsOf(results).map(
    (part) => ({ chainId, results: part, deadline: part[0]!.delegatedAttestation?.deadline }) as BatchAnswer,
  )
}

function joined(parts: readonly BatchAnswer[]): BatchAnswer {
  return {
    chainId: parts[0]!.chainId,
    results: parts.flatMap(({ results }) => results),
    deadline: Math.min(...parts.map(({ deadline }) => deadline)),
    multiAttestByDelegation: parts.flatMap(({ multiAttestByDelegation }) => multiAttestByDelegation),
  }
}

/** Requests answers part by part, in order, and joins them into one batch. */
export async function requestAll<T>(
  parts: readonly T[],
  request: (part: T) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  const answers: BatchAnswer[] = []
  for (const [i, part] of parts.entries())
    try {
      answers.push(await inPart(i, () => request(part)))
    } catch (error) {
      // Runs for aborted signals too: whatever ends a batch, its paid answers are not lost.
      if (answers.length > 0 && error instanceof Error)
        Object.defineProperty(error, 'answered', { value: joined(answers), configurable: true })
      throw error
    }
  return joined(answers)
}

/** Lands the parts of a batch in turn. A step reports the whole batch with its current signatures. */
export async function landParts(
  answer: BatchAnswer,
  { onStep = () => {}, ...options }: LandOptions,
  groupsOf: (answers: readonly Answer[]) => unknown[],
  land: (part: BatchAnswer, options: LandOptions) => Promise<Landed | Landed[]>,
): Promise<Landed[]> {
  const parts = answersInParts(answer).map((part) => (isSignedFirst(answer) ? signedFirst(part) : part))
  const landed: Landed[] = []
  for (const [i, part] of [...parts].entries()) {
    const onPartStep = (step: LandingStep) => {
      if (step.step !== 'signed anew') return onStep(step)
      parts[i] = step.answer as BatchAnswer
      const whole = parts.map(
        (each) => ({ ...each, multiAttestByDelegation: groupsOf(each.results as Answer[]) }) as BatchAnswer,
      )
      return onStep({ ...step, answer: joined(whole) })
    }
    landed.push(...((await land(part, { ...options, onStep: onPartStep })) as Landed[]))
  }
  return landed
}

/** Runs the request of a part. Its errors contain the index of a question or answer in the whole list. */
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
