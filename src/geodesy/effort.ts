/** Thrown when a measurement does more work than it was allowed: not the caller's fault; it can be done where there is more time. */
export class EffortError extends Error {
  override readonly name = 'EffortError'
}

let left = Infinity

/** Counts work that is about to be done, in microseconds or so. Throws an EffortError when there is none left. */
export function spend(microseconds: number): void {
  left -= microseconds
  if (left < 0) throw new EffortError('this takes longer than it may')
}

/** Does what must not take longer than so many microseconds, by count, not by the clock: the same work always ends the same way. Throws an EffortError. */
export function withEffort<T>(microseconds: number, work: () => T): T {
  left = microseconds
  try {
    return work()
  } finally {
    left = Infinity
  }
}
