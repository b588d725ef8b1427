import { setTimeout } from 'node:timers/promises'

/**
 * Time for durations: ages, pauses, rest periods, leases. Its zero is arbitrary, so a step of the system's
 * clock (NTP, a virtual machine that resumes) does not change it. Timestamps are read from Date. Ages that
 * several processes must agree on are computed by the database.
 */
export interface Clock {
  /** Milliseconds since an arbitrary moment. Never decreases. */
  readonly now: () => number
  /** Resolves after this many milliseconds. Rejects once the signal aborts. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** The monotonic clock of this process. */
export const MONOTONIC: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
}
