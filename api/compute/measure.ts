import path from 'node:path'
import { keccak256 } from '../../src/eas'
import {
  BoundError,
  EffortError,
  GeometryError,
  boundViolations,
  canonicalJson,
  prepareGeometry,
  touchesBoundary,
  withEffort,
  type PreparedGeometry,
  type Reading,
} from '../../src/geodesy'
import { COMPUTE, type OperationName, type Outcome } from '../../src/operations'
import { Cache } from '../http/cache'
import { ComputeError, RequestError, ownShareUsed } from '../http/problems'
import { Workers, type WorkerLimits } from '../http/workers'
import type { Work } from '../http/work'

export interface MeasureInput {
  /** UID of an attestation; hash of raw GeoJSON, if it is known. */
  ref?: string
  reading: Reading
  /** Prepared form of a cached geometry. It is shared: never change it. */
  prepared?: PreparedGeometry
}

export interface Measurement {
  outcome: Outcome
  /** References by input: the UID, lower-case, or the keccak256 of the canonical GeoJSON; 32 bytes in hex. */
  refs: string[]
}

/** Task that is not an operation of the API: does the second geometry touch the boundary of the first? */
export const BOUNDARY = 'touches boundary'

export interface MeasureTask {
  /** an operation, or BOUNDARY */
  operation: string
  inputs: readonly MeasureInput[]
  numbers: readonly number[]
}

/** A geometry that a worker read; no JSON value is one. `input` throws the GeometryError of reading it. */
export class ReadGeometry {
  /** Invisible to checks of requests, which name unknown fields. */
  readonly #result: GeometryRead | WorkerProblem

  constructor(result: GeometryRead | WorkerProblem) {
    this.#result = result
  }

  get input(): GeometryRead {
    const result = this.#result
    if ('problem' in result) throw new GeometryError(result.path, result.problem)
    return result
  }
}

/** A geometry that a worker read, and its reference. */
export type GeometryRead = Required<Pick<MeasureInput, 'reading' | 'ref'>>
/** A GeometryError between threads, where errors lose their class. */
export type WorkerProblem = Pick<GeometryError, 'path' | 'problem'>
/** A BoundError from a worker. */
export type BrokenBound = Pick<BoundError, 'bound'>

/** A parsed body, and the geometries extracted from it: each was `field` of the object at `holder`. */
export interface BodyRead {
  fault?: string
  parsed: unknown
  geometries: {
    /** Path of keys from the body's root. */
    holder: (string | number)[]
    field: string
    geometry: GeometryRead | WorkerProblem
  }[]
}

/** Maximum number of positions, and of estimated microseconds, of a measurement on the event loop. */
const HERE_AT_MOST = 1_000
const HERE_MICROSECONDS = 30_000
/** Limit of a measurement in milliseconds: ten times the slowest known case with 200,000 positions. */
const BUDGET_MS = 20_000
/**
 * Maximum number of worker threads for all clients and for one, so that one is left for others, and of queued
 * tasks.
 */
const WORKERS = { all: 3, each: 2, waiting: 64, waitingEach: 16 }
/**
 * Half the weight of the event loop in Linux' scheduler. With 10, a fifth to a half more small requests are
 * answered next to large polygons, and a seventh fewer large polygons (docs/architecture/performance.md).
 */
const NICENESS = 3
/** Number of positions of the largest cached geometry. Preparing it takes 10 ms. */
const LARGEST_KEPT = 20_000

/** Parses and measures small geometries in this thread, large ones in workers with a time limit. */
export class Measurer {
  private readonly workers: Workers
  /** Cached geometries by reference, which is a hash of the content. */
  private readonly kept = new Cache<MeasureInput>('geometries', { sizeOf })
  /** References of large geometries that were read once. */
  private readonly seen = new Cache<true>('geometries that came once')

  constructor(
    private readonly budgetMs = BUDGET_MS,
    workerFile = path.join(__dirname, 'measure-worker.js'),
    spent?: () => number,
  ) {
    const limits: WorkerLimits = {
      slots: WORKERS,
      taskMs: budgetMs,
      niceness: NICENESS,
      busy: (isOwn) =>
        isOwn
          ? ownShareUsed(
              `${WORKERS.waitingEach} of your requests with large geometries are queued. Retry after one ` +
                'of them has finished.',
            )
          : busy('Too many large geometries are being measured.'),
      slow: (isStarved, limitMs) =>
        isStarved
          ? busy(
              'This service is overloaded: measuring got less than half of a processor within its limit of ' +
                `${seconds(limitMs)}. The geometries are not the cause.`,
            )
          : new TimeLimitError(
              limitMs < budgetMs
                ? `The previous operations left only ${seconds(limitMs)} for this operation, which was not ` +
                    'enough. Nothing was signed. Send fewer operations or smaller geometries.'
                : `Measuring these geometries took more than ${seconds(limitMs)} and was stopped. Nothing ` +
                    'was signed. Send fewer positions.',
            ),
    }
    this.workers = new Workers(workerFile, limits, spent)
  }

  /**
   * Parses a body, given in pieces, in a worker, which takes over their memory. Each geometry becomes a
   * ReadGeometry. Throws the RequestErrors of parseBody, and a ComputeError if too many tasks are queued.
   */
  async read(pieces: readonly Buffer[], work: Work): Promise<unknown> {
    // Small buffers share their memory with others, and are copied.
    const owned = pieces.filter(({ buffer, byteLength }) => byteLength === buffer.byteLength)
    const { fault, parsed, geometries } = await this.workers.run<BodyRead>('read', pieces, work, [
      ...new Set(owned.map(({ buffer }) => buffer as ArrayBuffer)),
    ])
    if (fault !== undefined) throw new RequestError(fault)
    for (const { holder, field, geometry } of geometries) {
      let object = parsed as Record<string, unknown>
      for (const key of holder) object = object[key] as Record<string, unknown>
      object[field] = new ReadGeometry(geometry)
    }
    return parsed
  }

  get load(): { running: number; waiting: number } {
    return this.workers.load
  }

  /** Number of bounds of the kernel that did not hold (src/geodesy/bounds.ts). */
  get boundViolations(): number {
    return boundViolations() + this.violationsInWorkers
  }
  private violationsInWorkers = 0

  /** Returns the cached form of an attested geometry. */
  known(ref: string): MeasureInput | undefined {
    return this.kept.get(ref)
  }

  /** Prepares an attested geometry and caches it if there is room. Throws a GeometryError. */
  keep(ref: string, reading: Reading, key = ref): MeasureInput {
    if (reading.lon.length > LARGEST_KEPT || !this.hasRoom(reading)) return { ref, reading }
    try {
      const input = { ref, reading, prepared: withEffort(HERE_MICROSECONDS, () => prepareGeometry(reading)) }
      this.kept.set(key, input)
      return input
    } catch (error) {
      if (error instanceof EffortError) return { ref, reading }
      throw error
    }
  }

  /**
   * True if the cache has room for a geometry. A new geometry never evicts one that was used in the last
   * minutes: with more zones than fit, each would be prepared on the event loop every time.
   */
  private hasRoom(reading: Reading): boolean {
    const isFull = () => this.kept.calculatedSize + sizeOf({ reading }) > this.kept.maxSize
    return !isFull() || (this.kept.purgeStale() && !isFull())
  }

  /** Returns the cached form of a raw geometry, which is cached at its second use. */
  recall({ ref, reading }: GeometryRead): MeasureInput {
    const key = `${ref} ${reading.path}`
    const known = this.kept.get(key)
    if (known) return known
    if (this.seen.get(key)) return this.keep(ref, reading, key)
    this.seen.set(key, true)
    return { ref, reading }
  }

  /**
   * Measures a task. Throws a GeometryError, and a ComputeError if it takes too long or too many tasks are
   * queued.
   * @param work request that the task belongs to; when it ends, the worker's task ends too
   */
  async measure(task: MeasureTask, work: Work, budgetMs = this.budgetMs): Promise<Measurement> {
    if (positionsToPrepare(task) <= HERE_AT_MOST)
      try {
        return await measureHere(task, HERE_MICROSECONDS)
      } catch (error) {
        if (!(error instanceof EffortError)) throw error
      }
    // The inputs are copied, because the caller may measure them again. 200,000 positions take 1.3 ms.
    const inputs = task.inputs.map(({ ref, reading }) => ({ ref, reading }))
    const answer = await this.workers.run<Measurement | WorkerProblem | BrokenBound>(
      'measure',
      { ...task, inputs },
      work,
      [],
      Math.max(1, Math.ceil(Math.min(budgetMs, this.budgetMs))),
    )
    if ('problem' in answer) throw new GeometryError(answer.path, answer.problem)
    if ('bound' in answer) {
      this.violationsInWorkers++
      throw new BoundError(answer.bound)
    }
    return answer
  }

  async close(): Promise<void> {
    await this.workers.close()
  }
}

function positionsToPrepare({ inputs }: MeasureTask): number {
  return inputs.reduce((sum, { reading, prepared }) => sum + (prepared ? 0 : reading.lon.length), 0)
}

/** Returns the memory of readings, to move it to another thread. */
export function memoryOf(readings: readonly Reading[]): ArrayBuffer[] {
  const arrays = readings.flatMap(({ lon, lat, altitude }) => [lon, lat, ...(altitude ? [altitude] : [])])
  return [...new Set(arrays.map(({ buffer }) => buffer))] as ArrayBuffer[]
}

function busy(reason: string): ComputeError {
  return new ComputeError('computation-error', `${reason} Nothing was signed. Retry in a minute.`, 60)
}

/** Error for a measurement that takes longer than its limit, or than the time that is left. */
export class TimeLimitError extends ComputeError {
  constructor(detail = 'No time is left to measure.') {
    super('computation-error', detail)
  }
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} seconds`
}

/**
 * Estimates the bytes of a cached geometry: 6 kB for a point, and at most 200 for each vertex after long
 * edges are cut; before it is prepared, without such cuts.
 */
function sizeOf({ reading, prepared }: Pick<MeasureInput, 'reading' | 'prepared'>): number {
  return 8_192 + 24 * reading.lon.length + 200 * (prepared ?? { shape: reading }).shape.lon.length
}

/** Measures in this thread. Throws a GeometryError, and an EffortError beyond the limit. */
export async function measureHere(
  { operation, inputs, numbers }: MeasureTask,
  microseconds = Infinity,
): Promise<Measurement> {
  const outcome = withEffort(microseconds, () => {
    const geometries = inputs.map(({ reading, prepared }) => prepared ?? prepareGeometry(reading))
    return operation === BOUNDARY
      ? touchesBoundary(geometries[0]!, geometries[1]!)
      : COMPUTE[operation as OperationName](geometries, numbers)
  })
  return {
    outcome,
    refs: await Promise.all(inputs.map(async ({ ref, reading }) => ref ?? referenceOf(reading))),
  }
}

/** Returns the reference of a raw geometry: keccak256 of its canonical JSON. */
export async function referenceOf(
  reading: Reading,
  json: readonly (Uint8Array | string)[] = [canonicalJson(reading)],
): Promise<string> {
  return `0x${await keccak256(...json)}`
}

/** Converts a GeometryError for another thread. Rethrows all other errors. */
export function problemOf(error: unknown): WorkerProblem {
  if (error instanceof GeometryError) return { path: error.path, problem: error.problem }
  throw error
}
