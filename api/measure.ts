import path from 'node:path'
import { LRUCache } from 'lru-cache'
import { Piscina } from 'piscina'
import { keccak256 } from '../src/eas'
import {
  EffortError,
  GeometryError,
  canonicalJson,
  prepareGeometry,
  withEffort,
  type PreparedGeometry,
  type Reading,
} from '../src/geodesy'
import type { BodyRead } from './measure-worker'
import { OPERATIONS, type Outcome } from './operations'
import { ComputeProblem, RequestFault } from './problems'
import { NoSlot, Slots } from './slots'

/** A geometry input. */
export interface MeasureInput {
  /** What it is called by in the answer: the UID of an attestation; of raw GeoJSON the hash, where that is known already. */
  ref?: string
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

/** A geometry that was read with the body that it came in: JSON has nothing like it. Throws a GeometryError when it could not be read. */
export class ReadGeometry {
  constructor(private readonly result: { reading: Reading; ref: string } | WorkerProblem) {}

  get input(): { reading: Reading; ref: string } {
    if ('problem' in this.result) throw new GeometryError(this.result.path, this.result.problem)
    return this.result
  }
}

/** Errors lose their class between threads, so a worker answers a GeometryError as what it says. */
export interface WorkerProblem {
  path: string
  problem: string
}

/** Up to so many positions are measured where they are, if that takes no more than so many microseconds (by count). Else a worker does it. */
const HERE_AT_MOST = 1_000
const HERE_MICROSECONDS = 30_000
/** A measurement that takes longer, milliseconds, is ended: the worst that 200,000 positions were seen to need is a tenth. */
const BUDGET_MS = 20_000
/** Workers in all, and of one client: there is always one left for others. And work that may wait for them. */
const WORKERS = { all: 3, each: 2, waiting: 64, waitingEach: 16 }
/** Bytes of geometries that are kept ready for measuring, as reckoned by sizeOf; and positions of the largest that is: preparing it takes 10 ms. */
const BYTES_KEPT = 128 * 1_048_576
const LARGEST_KEPT = 20_000

/** Reads and measures without holding the event loop: small things here, large ones in worker threads with a hard budget. */
export class Measurer {
  private pool?: Piscina
  private readonly workers = new Slots(WORKERS)
  /** By reference, which commits to the content. */
  private readonly kept = new LRUCache<string, MeasureInput>({ maxSize: BYTES_KEPT, sizeCalculation: sizeOf })
  /** Large geometries that came once. */
  private readonly seen = new LRUCache<string, true>({ max: 10_000 })

  constructor(
    private readonly budgetMs = BUDGET_MS,
    private readonly workerFile = path.join(__dirname, 'measure-worker.js'),
  ) {}

  /** Parses a body in a worker; its geometries become a ReadGeometry each. Throws a RequestFault, as parseBody does, and a ComputeProblem where too many wait. */
  async read(body: Buffer, client: string): Promise<unknown> {
    const { fault, parsed, geometries } = await this.run<BodyRead>('read', body, [], client, this.budgetMs)
    if (fault !== undefined) throw new RequestFault(fault)
    for (const { holder, field, geometry } of geometries) {
      let object = parsed as Record<string, unknown>
      for (const key of holder) object = object[key] as Record<string, unknown>
      object[field] = new ReadGeometry(geometry)
    }
    return parsed
  }

  /** The kept form of an attested geometry. */
  known(ref: string): MeasureInput | undefined {
    return this.kept.get(ref)
  }

  /** Keeps an attested geometry ready, unless that takes too much. Throws a GeometryError. */
  keep(ref: string, reading: Reading, key = ref): MeasureInput {
    if (reading.lon.length > LARGEST_KEPT) return { ref, reading }
    try {
      const input = { ref, reading, prepared: withEffort(HERE_MICROSECONDS, () => prepareGeometry(reading)) }
      this.kept.set(key, input)
      return input
    } catch (error) {
      if (error instanceof EffortError) return { ref, reading }
      throw error
    }
  }

  /** A raw geometry that was read beside: the kept one, if it came before. What comes a second time under the same name is kept. */
  recall({ ref, reading }: { ref: string; reading: Reading }): MeasureInput {
    const key = `${ref} ${reading.path}`
    const known = this.kept.get(key)
    if (known) return known
    if (this.seen.get(key)) return this.keep(ref, reading, key)
    this.seen.set(key, true)
    return { ref, reading }
  }

  /**
   * @param client who asks, by which the workers are shared out
   * Throws a GeometryError, or a ComputeProblem where it took too long or too many wait.
   */
  async measure(task: MeasureTask, client: string, budgetMs = this.budgetMs): Promise<Measurement> {
    if (
      task.inputs.reduce((sum, { reading, prepared }) => sum + (prepared ? 0 : reading.lon.length), 0) <=
      HERE_AT_MOST
    )
      try {
        return await measureHere(task, HERE_MICROSECONDS)
      } catch (error) {
        if (!(error instanceof EffortError)) throw error
      }
    const inputs = task.inputs.map(({ ref, reading }) => ({ ref, reading }))
    const transferList = task.inputs
      .filter(({ prepared }) => !prepared)
      .flatMap(({ reading }) => [
        reading.lon.buffer,
        reading.lat.buffer,
        ...(reading.altitude ? [reading.altitude.buffer] : []),
      ])
    const answer = await this.run<Measurement | WorkerProblem>(
      'measure',
      { ...task, inputs },
      [...new Set(transferList)] as ArrayBuffer[],
      client,
      budgetMs,
    )
    if ('problem' in answer) throw new GeometryError(answer.path, answer.problem)
    return answer
  }

  private async run<Answer>(
    name: 'read' | 'measure',
    task: unknown,
    transferList: ArrayBuffer[],
    client: string,
    budgetMs: number,
  ): Promise<Answer> {
    const patience = Math.min(budgetMs, this.budgetMs)
    const signal = AbortSignal.timeout(patience)
    const tooMany = () =>
      new ComputeProblem(
        'computation-error',
        'Too many large geometries are being measured. Nothing was signed; try again in a minute.',
        60,
      )
    const asked = performance.now()
    const end = await this.workers.take(client, signal).catch((error: Error) => {
      if (error instanceof NoSlot && error.own)
        throw new ComputeProblem(
          'rate-limited',
          `${WORKERS.waitingEach} requests of yours with large geometries wait already; wait for one of them.`,
          5,
        )
      throw tooMany()
    })
    const waited = performance.now() - asked
    this.pool ??= new Piscina({
      filename: this.workerFile,
      minThreads: 0,
      maxThreads: WORKERS.all,
      idleTimeout: 60_000,
    })
    try {
      return (await this.pool.run(task, { name, transferList, signal })) as Answer
    } catch (error) {
      if ((error as Error).name === 'AbortError' && waited > patience / 2) throw tooMany()
      if ((error as Error).name === 'AbortError')
        throw new ComputeProblem(
          'computation-error',
          `Measuring these geometries took more than ${Math.round(patience / 100) / 10} seconds, so it was ended. Nothing was signed; give fewer positions.`,
        )
      throw error
    } finally {
      end()
    }
  }

  async close(): Promise<void> {
    await this.pool?.destroy()
  }
}

/** What keeping a geometry takes, in bytes: a point alone 6 kB, as arrays have their own size; each vertex, and the more that long edges are cut to, at most 200. */
function sizeOf({ reading, prepared }: MeasureInput): number {
  return 8_192 + 24 * reading.lon.length + 200 * (prepared?.shape.lon.length ?? 0)
}

/** Measures in this thread. Throws a GeometryError, or an EffortError where it would take longer than it may. */
export async function measureHere(
  { operation, inputs, numbers }: MeasureTask,
  microseconds = Infinity,
): Promise<Measurement> {
  const outcome = withEffort(microseconds, () =>
    OPERATIONS[operation]!.compute(
      inputs.map(({ reading, prepared }) => prepared ?? prepareGeometry(reading)),
      numbers,
    ),
  )
  return {
    outcome,
    refs: await Promise.all(inputs.map(async ({ ref, reading }) => ref ?? referenceOf(reading))),
  }
}

/** What a raw geometry is called by: keccak256 of its canonical JSON. */
export async function referenceOf(reading: Reading, json = canonicalJson(reading)): Promise<string> {
  return `0x${await keccak256(json)}`
}
