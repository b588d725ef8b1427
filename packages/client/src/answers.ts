// SPDX-License-Identifier: MIT
import type { Send } from './http'
import { groupsAt, listOf } from './records'
import type { AnswerFilters, AnswerGroupFilters, AnswerGroups, LandedAnswer, LandedAnswerPage } from './types'

export interface AnswerListOptions extends AnswerFilters {
  /** maximum number of answers; all by default */
  limit?: number
  signal?: AbortSignal
}
export interface AnswerPageOptions extends AnswerFilters {
  /** number of answers on the page, at most 1000; default 100 */
  limit?: number
  /** `next_cursor` of the previous page */
  cursor?: string
  signal?: AbortSignal
}

/** Landed answers of the service (docs/reference/answers.md). */
export interface Answers {
  /**
   * Iterates over all answers that match, newest first unless `sort` sets another order. Pages are loaded as
   * needed.
   */
  list(options?: AnswerListOptions): AsyncIterable<LandedAnswer>
  /** Returns one page, with `next_cursor` if more answers follow. */
  page(options?: AnswerPageOptions): Promise<LandedAnswerPage>
  /**
   * Returns one answer by the UID of its attestation. Throws an AttestationNotFoundError if the service has
   * no such answer.
   */
  get(uid: string, options?: { chain?: string; signal?: AbortSignal }): Promise<LandedAnswer>
  /** Counts the matching answers by one or two dimensions, such as `operation` and `day`. */
  groupBy(
    by: string | readonly string[],
    options?: AnswerGroupFilters & { signal?: AbortSignal },
  ): Promise<AnswerGroups>
}

export function answersOf(base: string, send: Send): Answers {
  const { json, page, list, get } = listOf<LandedAnswerPage, AnswerPageOptions>(base, '/api/v0/answers', send)
  return { page, list, get, groupBy: groupsAt(json, '/api/v0/answers/stats') }
}
