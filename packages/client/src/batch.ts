// SPDX-License-Identifier: MIT
import { invalidInput } from './errors'
import type { Answer, BatchAnswer } from './types'

/** Maximum number of questions in one request, and of answers in one transaction. */
export const BATCH_SIZE = 20

/** Returns the answers of a batch, or one answer as a list. Throws an InvalidInputError for another value. */
export function answersOf(answer: Answer | BatchAnswer): readonly Answer[] {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null
  const answers = isObject(answer) && 'results' in answer ? answer.results : [answer]
  if (Array.isArray(answers) && answers.every(isObject)) return answers as Answer[]
  throw invalidInput('expected an answer as returned by the service')
}

export function isLong(answer: Answer | BatchAnswer): answer is BatchAnswer {
  return answersOf(answer).length > BATCH_SIZE
}

/** Batches whose answers the service signed for the first time, and their parts. */
const fresh = new WeakSet<object>()

/** Notes that the answers of a batch were signed for the first time. Returns the batch. */
export function signedFirst<B extends BatchAnswer>(batch: B): B {
  fresh.add(batch)
  return batch
}

/**
 * True for a batch whose answers were signed for the first time. False for one that was re-signed, stored,
 * or made of answers by a program: some of its answers may have landed.
 */
export function isSignedFirst(answer: Answer | BatchAnswer): boolean {
  return fresh.has(answer)
}
