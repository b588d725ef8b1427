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
import { distances, type Verdict } from './sieve-worker'
import type { RecordResult } from '../store'
import { Workers, workerErrors, type WorkerLimits } from '../http/workers'
import type { Work } from '../http/work'

/**
 * Search by exact place: the database selects candidates, and workers measure them with the kernel that also
 * computes signed results.
 */

/** Place to search: records pass if they meet its geometry or, with a radius, lie within it. */
export interface Place {
  /** GeoJSON text */
  geometry: string
  radiusMeters?: number
  /** Boxes that contain every record that can pass. */
  reach: readonly Box[]
}

export interface Sifted {
  passed: RecordResult[]
  failed: RecordResult[]
}

/** Maximum characters of the geometries of one task. */
export const TASK_CHARACTERS = 1_000_000
/**
 * Characters of a task, and of one geometry, that are measured in this thread within a millisecond or two:
 * passing them to a worker costs as much.
 */
const CHARACTERS_HERE = 20_000
const SHORT_CHARACTERS = 300
const LIMITS: WorkerLimits = {
  // Two slots leave one thread to other work. Tasks are short, so a task waits at most for the longest task
  // of another client.
  slots: { all: 2, each: 1, waiting: 256, waitingEach: 32, waitMs: 8_000 },
  taskMs: 15_000,
  ...workerErrors(
    'Too many spatial searches are queued.',
    'Measuring the geometries took too long. Use a smaller geometry or radius, or narrow the search by time, chain or prover.',
  ),
}

/**
 * Prepares a place to search.
 * @throws GeometryError if the geometry is invalid
 * @throws EffortError if it takes too long to prepare, because the serving thread does so (a query string
 *   holds at most about 800 positions)
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
 * Hint about a polygon that is a box at least 180 degrees wide, which maps send as their view: its edges take
 * the shorter way around. A box from 179 to -179 crosses the antimeridian and is accepted.
 */
function wideBoxHint({ layout, chains, lon, lat }: Reading): string {
  const isPolygon = layout.type === 'Polygon' || layout.type === 'MultiPolygon'
  if (!isPolygon || chains.length > 1 || lon.length !== 5) return ''
  const [west, east] = [Math.min(...lon), Math.max(...lon)]
  const [south, north] = [Math.min(...lat), Math.max(...lat)]
  const isCorner = (i: number) =>
    (lon[i] === west || lon[i] === east) &&
    (lat[i] === south || lat[i] === north) &&
    (lon[i] === lon[i + 1]) !== (lat[i] === lat[i + 1])
  return east - west >= 180 && [0, 1, 2, 3].every(isCorner)
    ? `; the edges of a box of ${east - west} degrees take the shorter way around the world. For ` +
        `such a box use bbox=${[west, south, east, north].join()}`
    : ''
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

  /** Splits candidates into those at the place and those certainly not at it. Throws like `Workers.run`. */
  async sift(candidates: readonly RecordResult[], place: Place, work: Work): Promise<Sifted> {
    if (candidates.length === 0) return { passed: [], failed: [] }
    const { geometry, radiusMeters } = place
    const task = {
      geometry,
      ...(radiusMeters !== undefined && { radiusMeters }),
      candidates: candidates.map((each) => each.geometry),
    }
    const verdicts = await this.workers.run<Verdict[]>('sift', task, work)
    const those = (verdict: Verdict) => candidates.filter((_, i) => verdicts[i] === verdict)
    return { passed: those(true), failed: those(false) }
  }

  /**
   * Returns distances of GeoJSON geometries from the geometry of the place, in whole centimetres; null for a
   * geometry that cannot be measured. Throws like `Workers.run`.
   */
  async distances(
    candidates: readonly (string | null)[],
    { geometry }: Place,
    work: Work,
  ): Promise<(number | null)[]> {
    const task = { geometry, candidates }
    const characters = candidates.reduce((sum, each) => sum + (each?.length ?? 0), 0)
    return characters <= CHARACTERS_HERE &&
      candidates.every((each) => (each?.length ?? 0) <= SHORT_CHARACTERS)
      ? distances(task)
      : this.workers.run('distances', task, work)
  }
}
