import { getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'

/**
 * Lowers the priority of this worker thread by the `niceness` of its limits (workers.ts). Only Linux has a
 * priority per thread: elsewhere the call would change the priority of the whole process.
 */
export function lowerPriority(): void {
  const { niceness } = (workerData ?? {}) as { niceness?: number }
  if (!niceness || process.platform !== 'linux') return
  try {
    setPriority(Math.min(19, getPriority() + niceness))
  } catch {
    // A sandbox has refused the call. The thread then works at the priority of the event loop.
  }
}
