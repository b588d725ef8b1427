import { setTimeout } from 'node:timers/promises'

/**
 * Clock for durations: ages, pauses and leases. Its zero is arbitrary, so a step of the system clock (NTP, a
 * virtual machine that resumes) does not change it. Timestamps come from Date. The database computes ages on
 * which several processes must agree.
 */
export interface Clock {
  /** Returns milliseconds since an arbitrary moment. Never decreases. */
  readonly now: () => number
  /** Resolves after this many milliseconds. Rejects if the signal aborts. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** Monotonic clock of this process. */
export const MONOTONIC: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
}
