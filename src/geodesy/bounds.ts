import { unspent } from './effort'

/**
 * The bounds that comments prove and answers rely on, checked where they are relied on. A violation ends the
 * question with a BoundError: nothing is answered, so nothing is signed.
 */

/** Thrown when a bound does not hold: the kernel is wrong, not the input. */
export class BoundError extends Error {
  override readonly name = 'BoundError'

  /** @param bound what does not hold */
  constructor(readonly bound: string) {
    super(`a bound of the kernel does not hold: ${bound}`)
  }
}

/** Calls so far, of how many one is checked, and violations. */
const counted = Float64Array.of(0, 1_000, 0)
const CALLS = 0
const PERIOD = 1
const VIOLATIONS = 2

/**
 * Throws a BoundError if a bound does not hold. One of a thousand calls is checked, without counting its
 * work.
 */
export function assertBound(bound: string, holds: () => boolean): void {
  if (++counted[CALLS]! % counted[PERIOD]! !== 0 || unspent(holds)) return
  counted[VIOLATIONS]!++
  throw new BoundError(bound)
}

/** Number of bounds that did not hold in this thread. */
export function boundViolations(): number {
  return counted[VIOLATIONS]!
}

/** Checks one of this many calls instead: every call in tests. */
export function checkBoundsEvery(calls: number): void {
  counted[PERIOD] = calls
}
