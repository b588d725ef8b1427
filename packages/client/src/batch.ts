// SPDX-License-Identifier: MIT
import type { Answer, BatchAnswer } from './types'

/** Maximum number of questions in one request, and of answers in one transaction. */
export const BATCH_SIZE = 20

/** True for a batch with more answers than one transaction can hold. */
export function isLong(answer: Answer | BatchAnswer): answer is BatchAnswer {
  return 'results' in answer && answer.results.length > BATCH_SIZE
}

/**
 * True for a batch as the service signed it: its call has all of its answers. False for one answer, and for a
 * list that a program made of answers.
 */
export function isSignedBatch(answer: Answer | BatchAnswer): boolean {
  if (!('results' in answer)) return false
  const calls = answer.multiAttestByDelegation as BatchAnswer['multiAttestByDelegation'] | undefined
  return calls?.reduce((sum, { data }) => sum + data.length, 0) === answer.results.length
}
