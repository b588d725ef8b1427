import type { Send } from './http'
import { listOf } from './records'
import type { AnswerFilters, LandedAnswer, LandedAnswerPage } from './types'

export interface AnswerListOptions extends AnswerFilters {
  /** stops after so many answers; all by default */
  limit?: number
  signal?: AbortSignal
}
export interface AnswerPageOptions extends AnswerFilters {
  /** answers on the page, at most 1000; 100 by default */
  limit?: number
  /** `next_cursor` of the page before */
  cursor?: string
  signal?: AbortSignal
}

/** Answers of the service that landed (docs/reference/answers.md). */
export interface Answers {
  /** All that match, newest first unless `sort` says otherwise; pages are loaded as they are needed. */
  list(options?: AnswerListOptions): AsyncIterable<LandedAnswer>
  /** One page, with `next_cursor` where more follow. */
  page(options?: AnswerPageOptions): Promise<LandedAnswerPage>
  /** One answer by the UID of its attestation. Throws an AttestationNotFoundError. */
  get(uid: string, options?: { chain?: string; signal?: AbortSignal }): Promise<LandedAnswer>
}

export function answersOf(base: string, send: Send): Answers {
  const { page, list, get } = listOf<LandedAnswerPage, AnswerPageOptions>(base, '/api/v0/answers', send)
  return { page, list, get }
}
