import type { Geometry, Position } from 'geojson'
import { intersects, isWithin, nearestPlaces, prepareGeometry, readGeometry } from '../../../../src/geodesy'

/** What a picture of an answer needs of the kernel: where a distance is, and true geodesics. */
export { azimuthTo, geodesicPath, positionFrom } from '../../../../src/geodesy'

/** A geometry that was read once, to be asked about others. */
export interface Measurable {
  /**
   * A position of each geometry whose distance is that of the geometries, this one's first; undefined where
   * one lies in the other and their boundaries do not meet.
   */
  nearest(other: Measurable): [Position, Position] | undefined
  /** Whether the two share a place, as the operation `intersects` answers it. */
  meets(other: Measurable): boolean
  /** Whether the two are at most so far apart, as the operation `within` answers it. */
  within(other: Measurable, radiusMeters: number): boolean
}

/** Throws an error that names the place, for what is no geometry, or has no certain inside. */
export function measurable(geometry: Geometry): Measurable {
  const prepared = prepareGeometry(readGeometry(geometry, 'geometry'))
  const made: Measurable = {
    nearest: (other) => nearestPlaces(prepared, known.get(other)!),
    meets: (other) => intersects(prepared, known.get(other)!),
    within: (other, radiusMeters) => isWithin(prepared, known.get(other)!, radiusMeters),
  }
  known.set(made, prepared)
  return made
}

const known = new WeakMap<Measurable, ReturnType<typeof prepareGeometry>>()
