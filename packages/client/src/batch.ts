// SPDX-License-Identifier: MIT
import type { Answer, BatchAnswer } from './types'

/** Maximum number of questions in one request, and of answers in one transaction. */
export const BATCH_SIZE = 20

/** True for a batch with more answers than one transaction can hold. */
export function isLong(answer: Answer | BatchAnswer): answer is BatchAnswer {
  return 'results' in answer && answer.results.length > BATCH_SIZE
}
