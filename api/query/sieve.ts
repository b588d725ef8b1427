import path from 'node:path'
import {
  GeometryError,
  prepareGeometry,
  reachOf,
  readGeometry,
  withEffort,
  type Box,
  type Reading,
} from '../../src/geodesy'
import { distances, type SieveTask, type Verdict } from './sieve-worker'
import type { RecordResult } from '../store'
import { Workers, workerErrors, type WorkerLimits } from '../http/workers'
import type { Work } from '../http/work'

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

/** Characters of the geometries of one task. */
export const TASK_CHARACTERS = 1_000_000
/**
 * What is measured in this thread, in a millisecond or two, as a worker costs as much: points and small
 * shapes.
 */
const CHARACTERS_HERE = 20_000
const SHORT_CHARACTERS = 300
const LIMITS: WorkerLimits = {
  // One thread is left for others. Tasks of one client are short: it waits for the longest of another.
  slots: { all: 2, each: 1, waiting: 256, waitingEach: 32, waitMs: 8_000 },
  taskMs: 15_000,
  ...workerErrors(
    'Too many searches by exact place wait already.',
    'Looking at so many geometries took too long.',
  ),
}

/**
 * Reads a place to search at. Throws a GeometryError; an EffortError where the geometry takes too long to
 * prepare, as the thread that serves does this. (A query string holds some 800 positions at most.)
 */
export function placeOf(geojson: unknown, name: string, radiusMeters?: number): Place {
  const reading = readGeometry(geojson, name)
  try {
    withEffort(100_000, () => prepareGeometry(reading))
  } catch (error) {
    if (error instanceof GeometryError)
      throw new GeometryError(error.path, error.problem + wideBoxHint(reading))
    throw error
  }
  return {
    geometry: JSON.stringify(geojson),
    ...(radiusMeters !== undefined && { radiusMeters }),
    reach: reachOf(reading, radiusMeters),
  }
}

/**
 * Hint for the refusal of a polygon that is a box at least 180 degrees wide, as maps write their view:
 * edges take the shorter way around. (One of 179 to -179 is a box across the antimeridian, and is accepted.)
 */
function wideBoxHint({ layout, chains, lon, lat }: Reading): string {
  if (layout.type !== 'Polygon' || chains.length > 1 || lon.length !== 5) return ''
  const [west, east] = [Math.min(...lon), Math.max(...lon)]
  const [south, north] = [Math.min(...lat), Math.max(...lat)]
  const isCorner = (i: number) =>
    (lon[i] === west || lon[i] === east) &&
    (lat[i] === south || lat[i] === north) &&
    (lon[i] === lon[i + 1]) !== (lat[i] === lat[i + 1])
  return east - west >= 180 && [0, 1, 2, 3].every(isCorner)
    ? `; the edges of a box of ${east - west} degrees take the shorter way around the world: for such a box give bbox=${[west, south, east, north].join()}`
    : ''
}

function isLong(geometry: string | null): boolean {
  return geometry !== null && geometry.length > SHORT_CHARACTERS
}

/** Measures candidates in worker threads, which start with the first search. */
export class Sieve {
  private readonly workers: Workers

  constructor(workerFile = path.join(__dirname, 'sieve-worker.js')) {
    this.workers = new Workers(workerFile, LIMITS)
  }

  async close(): Promise<void> {
    await this.workers.close()
  }

  /**
   * The candidates that are at the place, and those that certainly are not. Throws as `Workers.run` does.
   */
  async sift(candidates: readonly RecordResult[], place: Place, work: Work): Promise<Sifted> {
    if (candidates.length === 0) return { passed: [], failed: [] }
    const { geometry, radiusMeters } = place
    const task = {
      geometry,
      ...(radiusMeters !== undefined && { radiusMeters }),
      candidates: candidates.map((each) => each.geometry),
    }
    const verdicts = await this.run<Verdict>('sift', task, work)
    const those = (verdict: Verdict) => candidates.filter((_, i) => verdicts[i] === verdict)
    return { passed: those(true), failed: those(false) }
  }

  /**
   * Distances of GeoJSON geometries from that of the place in whole centimetres; null where nobody can tell.
   * Throws as `Workers.run` does.
   */
  async distances(
    candidates: readonly (string | null)[],
    { geometry }: Place,
    work: Work,
  ): Promise<(number | null)[]> {
    const task = { geometry, candidates }
    const characters = candidates.reduce((sum, each) => sum + (each?.length ?? 0), 0)
    return characters <= CHARACTERS_HERE && !candidates.some(isLong)
      ? distances(task)
      : this.run<number | null>('distances', task, work)
  }

  private run<Answer>(name: 'sift' | 'distances', task: SieveTask, work: Work): Promise<Answer[]> {
    return this.workers.run(name, task, work)
  }
}
