import path from 'node:path'
import { Piscina } from 'piscina'
import { keccak256 } from '../src/eas'
import { EffortError, GeometryError, canonicalJson, prepareGeometry, withEffort, type PreparedGeometry, type Reading } from '../src/geodesy'
import { OPERATIONS, type Outcome } from './operations'
import { ComputeProblem } from './problems'

/** A geometry input: what it is called by in the answer, where that is known already, and what it is. */
export interface MeasureInput {
  /** The UID of an attestation; undefined for raw GeoJSON, whose hash is taken. */
  uid?: string
  reading: Reading
  /** Of a geometry that is kept: shared, so never to be changed. */
  prepared?: PreparedGeometry
}

export interface Measurement {
  outcome: Outcome
  /** By input: the UID, lower-case, or the keccak256 of the canonical GeoJSON; 32 bytes in hex. */
  refs: string[]
}

export interface MeasureTask {
  operation: string
  inputs: readonly MeasureInput[]
  numbers: readonly number[]
}

/** Up to so many positions are measured where they are, if that takes no more than so many microseconds (by count). Else a worker does it. */
const HERE_AT_MOST = 1_000
const HERE_MICROSECONDS = 30_000
/** A measurement that takes longer, milliseconds, is ended: the worst that 200,000 positions were seen to need is a tenth. */
const BUDGET_MS = 20_000
/** Measurements that may wait for a worker. */
const QUEUE = 64

/** Measures without holding the event loop: small things here, large ones in worker threads with a hard budget. */
export class Measurer {
  private pool?: Piscina

  constructor(
    private readonly budgetMs = BUDGET_MS,
    private readonly workerFile = path.join(__dirname, 'measure-worker.js'),
  ) {}

  /** Throws a GeometryError, or a ComputeProblem where it took too long or too many wait. */
  async measure(task: MeasureTask): Promise<Measurement> {
    if (task.inputs.reduce((sum, { reading, prepared }) => sum + (prepared ? 0 : reading.lon.length), 0) <= HERE_AT_MOST)
      try {
        return await measureHere(task, HERE_MICROSECONDS)
      } catch (error) {
        if (!(error instanceof EffortError)) throw error
      }
    this.pool ??= new Piscina({ filename: this.workerFile, minThreads: 0, maxThreads: 2, idleTimeout: 60_000, maxQueue: QUEUE })
    if (this.pool.queueSize >= QUEUE) throw new ComputeProblem('computation-error', 'Too many large geometries are being measured. Nothing was signed; try again in a minute.')
    const inputs = task.inputs.map(({ uid, reading }) => ({ uid, reading }))
    const transferList = task.inputs.filter(({ prepared }) => !prepared).flatMap(({ reading }) => [reading.lon.buffer, reading.lat.buffer, ...(reading.altitude ? [reading.altitude.buffer] : [])])
    const answer = await (this.pool.run({ ...task, inputs }, { transferList: [...new Set(transferList)] as ArrayBuffer[], signal: AbortSignal.timeout(this.budgetMs) }) as Promise<WorkerAnswer>).catch((error: Error) => {
      if (error.name === 'AbortError') throw new ComputeProblem('computation-error', `Measuring these geometries took more than ${this.budgetMs / 1000} seconds, so it was ended. Nothing was signed; give fewer positions.`)
      throw error
    })
    if ('problem' in answer) throw new GeometryError(answer.path, answer.problem)
    return answer
  }

  async close(): Promise<void> {
    await this.pool?.destroy()
  }
}

/** Errors lose their class between threads, so the worker answers a GeometryError as what it says. */
export type WorkerAnswer = Measurement | { path: string; problem: string }

/** Measures in this thread. Throws a GeometryError, or an EffortError where it would take longer than it may. */
export async function measureHere({ operation, inputs, numbers }: MeasureTask, microseconds = Infinity): Promise<Measurement> {
  const outcome = withEffort(microseconds, () => OPERATIONS[operation]!.compute(inputs.map(({ reading, prepared }) => prepared ?? prepareGeometry(reading)), numbers))
  return { outcome, refs: await Promise.all(inputs.map(async ({ uid, reading }) => uid ?? `0x${await keccak256(canonicalJson(reading))}`)) }
}
