// SPDX-License-Identifier: MIT
/** Promises and pauses that an AbortSignal can end. */

/** Resolves with the result of the work; rejects with the signal's reason once the signal is aborted. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  // The work runs already. Its later failure must not end the process as an unhandled rejection.
  work.catch(() => {})
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', stop))
}

/** Largest delay of setTimeout in milliseconds, which is 24 days. A longer one would end at once. */
const LONGEST_MS = 2 ** 31 - 1
const timerOf = (work: () => void, milliseconds: number) =>
  setTimeout(work, Math.min(milliseconds, LONGEST_MS))

/** Resolves after this number of milliseconds; rejects with the signal's reason. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = timerOf(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/**
 * Creates a signal that aborts with the caller's signal, with `late` after a time, and at the end.
 * AbortSignal.any is unsuitable: Node 20 garbage-collects a timeout signal that nothing else references, so
 * it never fires.
 */
export function limitOf(milliseconds: number, signal: AbortSignal | undefined, late: Error) {
  const limit = new AbortController()
  const stop = () => limit.abort(signal!.reason)
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  const timer = timerOf(() => limit.abort(late), milliseconds)
  return {
    signal: limit.signal,
    /** Releases the caller's signal and the timer, and ends requests that are no longer needed. */
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      limit.abort()
    },
  }
}
