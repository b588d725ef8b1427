import { setTimeout } from 'node:timers/promises'

/**
 * Time for durations: ages, pauses, leases. Its zero is arbitrary, so a step of the system clock (NTP, a
 * virtual machine that resumes) does not change it. Timestamps are read from Date. The database computes ages
 * that several processes must agree on.
 */
export interface Clock {
  /** milliseconds since an arbitrary moment; never decreases */
  readonly now: () => number
  /** Resolves after this many milliseconds. Rejects if the signal aborts. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** Monotonic clock of this process. */
export const MONOTONIC: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
}
