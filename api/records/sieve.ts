import path from 'node:path'
import { Piscina } from 'piscina'
import { prepareGeometry, reachOf, readGeometry, withEffort, type Box } from '../../src/geodesy'
import { UnavailableError } from '../http/problems'
import type { SieveTask, Verdict } from './sieve-worker'
import type { RecordResult } from './sql'

/**
 * Search by exact place: the database gives candidates, workers measure them with the kernel that also signs.
 */

/** Where to search: records that meet a geometry, or are within a radius of it. */
export interface Place {
  /** GeoJSON text */
  geometry: string
  radiusMeters?: number
  /** Boxes that hold everything that can pass. */
  reach: readonly Box[]
}

/** Candidates that were measured. */
export interface Sifted {
  passed: RecordResult[]
  failed: RecordResult[]
}

/** How long one task may take, waiting for a worker included, milliseconds. */
const TASK_MS = 15_000
/** Characters of the geometries of one task. */
export const TASK_CHARACTERS = 1_000_000
const WORKERS = 2
const TASKS_WAITING = 64

/**
 * Reads a place to search at. Throws a GeometryError; an EffortError where the geometry takes too long to
 * prepare, as the thread that serves does this. (A query string holds some 800 positions at most.)
 */
export function placeOf(geojson: unknown, name: string, radiusMeters?: number): Place {
  const reading = readGeometry(geojson, name)
  withEffort(100_000, () => prepareGeometry(reading))
  return {
    geometry: JSON.stringify(geojson),
    ...(radiusMeters !== undefined && { radiusMeters }),
    reach: reachOf(reading, radiusMeters),
  }
}

/** Measures candidates in worker threads, which start with the first search. */
export class Sieve {
  private pool?: Piscina

  constructor(private readonly workerFile = path.join(__dirname, 'sieve-worker.js')) {}

  async close(): Promise<void> {
    await this.pool?.destroy()
  }

  /**
   * The candidates that are at the place, and those that certainly are not. Throws an UnavailableError under
   * too much load.
   */
  async sift(candidates: readonly RecordResult[], place: Place): Promise<Sifted> {
    if (candidates.length === 0) return { passed: [], failed: [] }
    const { geometry, radiusMeters } = place
    const verdicts = await this.run<Verdict>('sift', {
      geometry,
      ...(radiusMeters !== undefined && { radiusMeters }),
      candidates: candidates.map((each) => each.geometry),
    })
    const those = (verdict: Verdict) => candidates.filter((_, i) => verdicts[i] === verdict)
    return { passed: those(true), failed: those(false) }
  }

  /**
   * Distances of GeoJSON geometries from that of the place in whole centimetres; null where nobody can tell.
   * Throws an UnavailableError under too much load.
   */
  async distances(candidates: readonly (string | null)[], { geometry }: Place): Promise<(number | null)[]> {
    if (candidates.length === 0) return []
    return this.run<number | null>('distances', { geometry, candidates })
  }

  private async run<Answer>(name: 'sift' | 'distances', task: SieveTask): Promise<Answer[]> {
    this.pool ??= new Piscina({
      filename: this.workerFile,
      minThreads: 0,
      maxThreads: WORKERS,
      idleTimeout: 60_000,
      maxQueue: TASKS_WAITING,
    })
    if (this.pool.queueSize >= TASKS_WAITING)
      throw new UnavailableError('Too many searches by exact place wait already.')
    try {
      return (await this.pool.run(task, {
        name,
        signal: AbortSignal.timeout(TASK_MS),
      })) as Answer[]
    } catch (error) {
      if ((error as Error).name === 'AbortError')
        throw new UnavailableError('Looking at so many geometries took too long.')
      throw error
    }
  }
}
