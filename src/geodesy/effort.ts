/**
 * Thrown when a measurement needs more work than it was allowed. The input is not wrong: with a higher limit
 * it can be measured.
 */
export class EffortError extends Error {
  override readonly name = 'EffortError'
}

/**
 * Work counted since the outermost limit was set, and the amount that the innermost limit allows. An array,
 * as each change of a variable would allocate a number.
 */
const counted = Float64Array.of(0, Infinity)
const SPENT = 0
const LIMIT = 1

/**
 * Counts work that is about to be done, in approximate microseconds. Throws an EffortError when the limit is
 * exceeded.
 */
export function spend(microseconds: number): void {
  if ((counted[SPENT]! += microseconds) > counted[LIMIT]!)
    throw new EffortError('this takes longer than it may')
}

/**
 * Runs `work` under a limit of counted microseconds. As work is counted and not timed, the same work always
 * ends the same way. Limits nest: the first one that is reached ends the work. Throws an EffortError.
 */
export function withEffort<T>(microseconds: number, work: () => T): T {
  const outer = counted[LIMIT]!
  // The count starts at zero each time, so that its rounding does not depend on earlier work.
  if (outer === Infinity) counted[SPENT] = 0
  counted[LIMIT] = Math.min(outer, counted[SPENT]! + microseconds)
  try {
    return work()
  } finally {
    counted[LIMIT] = outer
  }
}

/** Runs `work` without counting it and without a limit. */
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

/**
 * Runs `work` under a limit of counted microseconds and returns whether it finished. Throws an EffortError
 * when an outer limit is reached.
 */
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

/**
 * Runs `work` under a limit of counted microseconds. When it exceeds the limit, throws the error that
 * `refusal` makes; an EffortError when an outer limit is reached.
 */
export function orRefuse<T>(microseconds: number, work: () => T, refusal: () => Error): T {
  let result: T | undefined
  if (!attempt(microseconds, () => void (result = work()))) throw refusal()
  return result as T
}
