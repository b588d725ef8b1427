import {
  centimetersBetween,
  distanceCentimeters,
  intersects,
  isWithin,
  orNull,
  prepareGeometry,
  readGeometry,
  type PreparedGeometry,
} from '../../src/geodesy'
import { Cache } from '../http/cache'

/**
 * Task of a worker: measure candidates (GeoJSON text) against a geometry. With `radiusMeters`, a candidate
 * passes if it lies within that many metres; otherwise if it meets the geometry.
 */
export interface SieveTask {
  geometry: string
  radiusMeters?: number
  candidates: readonly (string | null)[]
}
export type Verdict = boolean | null

const prepared = new Cache<PreparedGeometry>('places')
/** By text, candidates that are large or could not be prepared (null), which every search near them needs. */
const costly = new Cache<{ geometry: PreparedGeometry | null }>('candidates', {
  sizeOf: (_, text) => 10 * text.length,
})
const LARGE_CHARACTERS = 2_000
/**
 * Limit of the kernel's work to prepare a candidate, and to measure it, in the microseconds that it counts: a
 * base, and an amount per character. Coastlines take a twentieth of it, and valid shapes with thousands of
 * edges across a hemisphere two thirds. Without a limit, a hundred attestations of 1 KB could make all
 * searches near them time out.
 */
const BASE = 5_000
const PER_CHARACTER = 5

/**
 * Decides which candidates pass, with the kernel that also computes signed results. The verdict is null for a
 * missing geometry, for a polygon whose inside is not certain, and for one that takes too long to measure.
 */
export function sift({ radiusMeters, ...task }: SieveTask): Verdict[] {
  return measured(task, (candidate, target) =>
    radiusMeters === undefined ? intersects(candidate, target) : isWithin(candidate, target, radiusMeters),
  )
}

/** Distances in whole centimetres; null for a geometry that cannot be measured. */
export function distances(task: SieveTask): (number | null)[] {
  const from = positionOf(task.geometry)
  const found = task.candidates.map((text) => {
    const at = from && text !== null && positionOf(text)
    return at ? centimetersBetween(at, from) : undefined
  })
  const candidates = task.candidates.filter((_, i) => found[i] === undefined)
  const others = measured({ ...task, candidates }, distanceCentimeters).values()
  return found.map((each) => each ?? others.next().value!)
}

/** Reads the position of a point in the stored or the requested form; undefined for any other geometry. */
function positionOf(text: string): [number, number] | undefined {
  const [, lng, lat] = STORED_POINT.exec(text) ?? ASKED_POINT.exec(text) ?? []
  const at: [number, number] = [Number(lng), Number(lat)]
  return Math.abs(at[0]) <= 180 && Math.abs(at[1]) <= 90 ? at : undefined
}
const NUMBER = String.raw`-?\d+(?:\.\d+)?(?:e-?\d+)?`
const COORDINATES = String.raw`"coordinates":\[(${NUMBER}),(${NUMBER})(?:,${NUMBER})?\]`
/** A stored point is canonical JSON. A requested point has the member order that placeOf writes. */
const STORED_POINT = new RegExp(String.raw`^\{${COORDINATES},"type":"Point"\}$`)
const ASKED_POINT = new RegExp(String.raw`^\{"type":"Point",${COORDINATES}\}$`)

function measured<Answer>(
  { geometry, candidates }: SieveTask,
  measure: (candidate: PreparedGeometry, target: PreparedGeometry) => Answer,
): (Answer | null)[] {
  if (candidates.length === 0) return []
  const target = prepared.of(geometry, () => prepare(geometry))
  return candidates.map((text) => {
    if (text === null) return null
    const candidate = candidateOf(text)
    const limit = BASE + PER_CHARACTER * (text.length + geometry.length)
    return candidate && orNull(limit, () => measure(candidate, target))
  })
}

function candidateOf(text: string): PreparedGeometry | null {
  const known = costly.get(text)
  if (known) return known.geometry
  const candidate = orNull(BASE + PER_CHARACTER * text.length, () => prepare(text))
  if (!candidate || text.length > LARGE_CHARACTERS) costly.set(text, { geometry: candidate })
  return candidate
}

function prepare(text: string): PreparedGeometry {
  return prepareGeometry(readGeometry(JSON.parse(text), 'geometry'))
}
