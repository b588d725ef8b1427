import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Load, Measured } from './load'

/** Runs one load in its own thread, so that other work of the benchmark does not slow it. */
export function run(load: Load): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(path.join(__dirname, 'load.js'), { workerData: load })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

const WARM_UP_SECONDS = 2

/** Sends the requests of a load for two seconds, which are not measured. */
export async function warmUp(load: Load): Promise<void> {
  await run({ ...load, seconds: WARM_UP_SECONDS })
}

/** Runs one load after a warm-up. */
export async function runWarm(load: Load): Promise<Measured> {
  await warmUp(load)
  return run(load)
}
