import type { Answer, BatchAnswer } from './types'

/** Questions that the service answers in one request, and answers that land in one transaction, at most. */
export const BATCH_SIZE = 20

/** True for a batch of more answers than one transaction lands. */
export function isLong(answer: Answer | BatchAnswer): answer is BatchAnswer {
  return 'results' in answer && answer.results.length > BATCH_SIZE
}
