// SPDX-License-Identifier: MIT
import { unspent } from './effort'

/** Runtime checks of proven bounds on which answers rely. After a violation, no answer is signed. */

/** Error for a bound that does not hold: the kernel has a bug, and the input is not at fault. */
export class BoundError extends Error {
  override readonly name = 'BoundError'

  /** @param bound statement that does not hold */
  constructor(readonly bound: string) {
    super(`a bound of the kernel does not hold: ${bound}`)
  }
}

/** Calls so far, period of the calls that are checked, and violations. */
const counted = Float64Array.of(0, 1_000, 0)
const CALLS = 0
const PERIOD = 1
const VIOLATIONS = 2

/** Throws a BoundError if a bound does not hold. Checks one call of a thousand, and counts no work for it. */
export function assertBound(bound: string, holds: () => boolean): void {
  if (++counted[CALLS]! % counted[PERIOD]! !== 0 || unspent(holds)) return
  counted[VIOLATIONS]!++
  throw new BoundError(bound)
}

/** Number of bounds that did not hold in this thread. */
export function boundViolations(): number {
  return counted[VIOLATIONS]!
}

/** Checks one of every `calls` calls instead of one of a thousand. Tests check every call. */
export function checkBoundsEvery(calls: number): void {
  counted[PERIOD] = calls
}
