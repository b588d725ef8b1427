// SPDX-License-Identifier: MIT
import { GeometryError } from './error'

/** Error of work beyond its limit. The input is valid: a higher limit would allow it. */
export class EffortError extends Error {
  override readonly name = 'EffortError'
}

/**
 * Work counted since the outermost limit was set, and the count at which the innermost limit ends it. Each
 * assignment to a variable would allocate a number.
 */
const counted = Float64Array.of(0, Infinity)
const SPENT = 0
const LIMIT = 1

/** Counts work before it is done, in approximate microseconds. Throws an EffortError beyond the limit. */
export function spend(microseconds: number): void {
  if ((counted[SPENT]! += microseconds) > counted[LIMIT]!) throw new EffortError('the work exceeds its limit')
}

/**
 * Runs `work` under a limit of counted microseconds. Work is counted and not timed, so the same work always
 * ends in the same way. Limits nest: the first limit reached ends the work. Throws an EffortError.
 */
export function withEffort<T>(microseconds: number, work: () => T): T {
  const outer = counted[LIMIT]!
  // The count restarts at zero, so that its rounding does not depend on earlier work.
  if (outer === Infinity) counted[SPENT] = 0
  counted[LIMIT] = Math.min(outer, counted[SPENT]! + microseconds)
  try {
    return work()
  } finally {
    counted[LIMIT] = outer
  }
}

/** Runs `work` without a limit and without adding to the count. */
export function unspent<T>(work: () => T): T {
  const [spent, limit] = [counted[SPENT]!, counted[LIMIT]!]
  counted[LIMIT] = Infinity
  try {
    return work()
  } finally {
    counted[SPENT] = spent
    counted[LIMIT] = limit
  }
}

/** Like `withEffort`. Returns false beyond its own limit; throws an EffortError beyond an outer limit. */
export function attempt(microseconds: number, work: () => void): boolean {
  const outer = counted[LIMIT]!
  try {
    withEffort(microseconds, work)
    return true
  } catch (error) {
    if (error instanceof EffortError && counted[SPENT]! <= outer) return false
    throw error
  }
}

/** Like `attempt`, with the result of `work`. Beyond its own limit, throws the error of `refusal`. */
export function orRefuse<T>(microseconds: number, work: () => T, refusal: () => Error): T {
  let result: T | undefined
  if (!attempt(microseconds, () => void (result = work()))) throw refusal()
  return result as T
}

/** Like `withEffort`. Returns null beyond a limit, and for a geometry that is rejected. */
export function orNull<T>(microseconds: number, work: () => T): T | null {
  try {
    return withEffort(microseconds, work)
  } catch (error) {
    if (error instanceof GeometryError || error instanceof EffortError) return null
    throw error
  }
}
