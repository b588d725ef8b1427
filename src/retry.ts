import { setTimeout as pause } from 'node:timers/promises'

/** Calls `work` until it succeeds, `attempts` times at most, and throws its last error. */
export async function retry<T>(
  work: () => Promise<T>,
  {
    attempts,
    pauseMs,
    onFailure,
  }: {
    attempts: number
    /** The pause after each failed attempt, counted from 1, in milliseconds. */
    pauseMs: (attempt: number) => number
    /** Called after every failed attempt, counted from 1, the last one included. */
    onFailure?: (error: Error, attempt: number) => void
  },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      onFailure?.(error as Error, attempt)
      if (attempt === attempts) throw error
      await pause(pauseMs(attempt))
    }
  }
}

/**
 * Repeats a step for ever. Each step returns the pause after it in milliseconds; what `onError` does after
 * one that fails.
 */
export async function repeat(step: () => Promise<number>, onError: (error: Error) => number): Promise<never> {
  for (;;) await pause(await step().catch(onError))
}
