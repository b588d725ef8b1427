import { MONOTONIC, type Clock } from './clock'

/** Calls `work` until it succeeds, at most `attempts` times. Throws its last error or the signal's reason. */
export async function retry<T>(
  work: () => Promise<T>,
  {
    attempts,
    pauseMs,
    onFailure,
    signal,
    clock = MONOTONIC,
  }: {
    attempts: number
    /** Returns the pause after each failed attempt, in milliseconds. Attempts count from 1. */
    pauseMs: (attempt: number) => number
    /** Called after every failed attempt, including the last one. Attempts count from 1. */
    onFailure?: (error: Error, attempt: number) => void
    signal?: AbortSignal | undefined
    clock?: Clock
  },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      onFailure?.(error as Error, attempt)
      if (attempt === attempts) throw error
      await clock.pause(pauseMs(attempt), signal)
    }
  }
}

/**
 * Repeats a step until the signal aborts. Each step returns the pause after it in milliseconds. If a step
 * fails, `onError` returns the pause.
 */
export async function repeat(
  signal: AbortSignal | undefined,
  step: () => Promise<number>,
  onError: (error: Error) => number,
  clock = MONOTONIC,
): Promise<void> {
  while (!signal?.aborted) {
    const pauseMs = await step().catch((error: Error) => (signal?.aborted ? 0 : onError(error)))
    await clock.pause(pauseMs, signal).catch(() => {})
  }
}
