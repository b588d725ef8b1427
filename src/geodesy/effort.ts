/** Thrown when a measurement does more work than it was allowed: not the caller's fault; it can be done where there is more time. */
export class EffortError extends Error {
  override readonly name = 'EffortError'
}

/**
 * Work counted since the outermost limit was set, and how much of it the innermost limit allows.
 * In an array, as each change of a variable would allocate a number.
 */
const counted = Float64Array.of(0, Infinity)
const SPENT = 0
const LIMIT = 1

/** Counts work that is about to be done, in microseconds or so. Throws an EffortError when there is none left. */
export function spend(microseconds: number): void {
  if ((counted[SPENT]! += microseconds) > counted[LIMIT]!)
    throw new EffortError('this takes longer than it may')
}

/**
 * Does what must not take longer than so many microseconds, by count, not by the clock: the same work always ends the same
 * way. Limits nest: the one that is reached first holds. Throws an EffortError.
 */
export function withEffort<T>(microseconds: number, work: () => T): T {
  const outer = counted[LIMIT]!
  // From zero each time, so that rounding does not depend on what was done before.
  if (outer === Infinity) counted[SPENT] = 0
  counted[LIMIT] = Math.min(outer, counted[SPENT]! + microseconds)
  try {
    return work()
  } finally {
    counted[LIMIT] = outer
  }
}

/** Tries what may take too long; answers whether it was done within so many microseconds. Throws an EffortError where an outer limit is reached. */
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

/** Does what is refused where it takes longer than so many microseconds. Throws what `refusal` makes then, and an EffortError where an outer limit is reached. */
export function orRefuse<T>(microseconds: number, work: () => T, refusal: () => Error): T {
  let result: T | undefined
  if (!attempt(microseconds, () => void (result = work()))) throw refusal()
  return result as T
}
