import {
  GeometryError,
  centimetersBetween,
  distanceCentimeters,
  intersects,
  isWithin,
  prepareGeometry,
  readGeometry,
  type PreparedGeometry,
} from '../../src/geodesy'
import { Cache } from '../http/cache'

/**
 * What is asked of candidates: whether they meet the geometry, or lie within so many metres of it; and the
 * candidates, each GeoJSON as text.
 */
export interface SieveTask {
  geometry: string
  radiusMeters?: number
  candidates: readonly (string | null)[]
}
export type Verdict = boolean | null

const prepared = new Cache<PreparedGeometry>('places')
/** Prepared candidates that took long, by their text: every search near them needs them again. */
const large = new Cache<PreparedGeometry>('candidates', { sizeOf: (_, text) => 10 * text.length })
const LARGE_CHARACTERS = 2_000

/**
 * Which candidates pass, by the kernel that also signs; null where nobody can tell: of none, and of a polygon
 * without a certain inside.
 */
export function sift({ radiusMeters, ...task }: SieveTask): Verdict[] {
  return measured(task, (candidate, target) =>
    radiusMeters === undefined ? intersects(candidate, target) : isWithin(candidate, target, radiusMeters),
  )
}

/** Distances of the candidates in whole centimetres; null where nobody can tell. */
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

/** Of a point as it is stored, or asked for; undefined for anything else. */
function positionOf(text: string): [number, number] | undefined {
  const [, lng, lat] = STORED_POINT.exec(text) ?? ASKED_POINT.exec(text) ?? []
  const at: [number, number] = [Number(lng), Number(lat)]
  return Math.abs(at[0]) <= 180 && Math.abs(at[1]) <= 90 ? at : undefined
}
const NUMBER = String.raw`-?\d+(?:\.\d+)?(?:e-?\d+)?`
const COORDINATES = String.raw`"coordinates":\[(${NUMBER}),(${NUMBER})(?:,${NUMBER})?\]`
/** Canonical JSON, and as placeOf writes what a query says. */
const STORED_POINT = new RegExp(String.raw`^\{${COORDINATES},"type":"Point"\}$`)
const ASKED_POINT = new RegExp(String.raw`^\{"type":"Point",${COORDINATES}\}$`)

function measured<Answer>(
  { geometry, candidates }: SieveTask,
  measure: (candidate: PreparedGeometry, target: PreparedGeometry) => Answer,
): (Answer | null)[] {
  if (candidates.length === 0) return []
  const target = prepared.get(geometry) ?? prepare(geometry)
  prepared.set(geometry, target)
  return candidates.map((text) => {
    if (text === null) return null
    try {
      const candidate = large.get(text) ?? prepare(text)
      if (text.length > LARGE_CHARACTERS) large.set(text, candidate)
      return measure(candidate, target)
    } catch (error) {
      if (error instanceof GeometryError) return null
      throw error
    }
  })
}

function prepare(text: string): PreparedGeometry {
  return prepareGeometry(readGeometry(JSON.parse(text), 'geometry'))
}
