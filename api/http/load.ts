/** Tells a task that takes long by itself from one that gets no processor. */

/** A task that gets a smaller share of a processor is slowed by the load of its machine. */
const LEAST_SHARE = 0.5

/** Time of processors that this process has had, microseconds. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/**
 * True if a task in a worker thread was slowed by the machine's load.
 * @param microseconds time of processors that the process has had during the task
 * @param milliseconds the task's time by the clock
 * @param running tasks in worker threads at its end: each has had an equal part
 */
export function isStarved(microseconds: number, milliseconds: number, running: number): boolean {
  return microseconds / 1000 / milliseconds / Math.max(1, running) < LEAST_SHARE
}
