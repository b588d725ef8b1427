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

/** Calls since the last check, period of the calls that are checked, and violations. */
let [calls, period, violations] = [0, 1_000, 0]

/** Throws a BoundError if a bound does not hold. Checks one call of a thousand, and counts no work for it. */
export function assertBound(bound: string, holds: () => boolean): void {
  if (++calls < period) return
  calls = 0
  if (unspent(holds)) return
  violations++
  throw new BoundError(bound)
}

/** Number of bounds that did not hold in this thread. */
export function boundViolations(): number {
  return violations
}

/** Sets the period of the calls that are checked. Tests check every call. */
export function checkBoundsEvery(count: number): void {
  period = count
}
