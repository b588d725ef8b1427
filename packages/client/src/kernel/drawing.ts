// SPDX-License-Identifier: MIT
import type { Geometry, Position } from 'geojson'
import { intersects, isWithin, nearestPlaces, prepareGeometry, readGeometry } from '../../../../src/geodesy'

/**
 * The parts of the kernel that a drawing of an answer needs: the positions between which a distance is
 * measured, and exact geodesics.
 */
export { azimuthTo, geodesicPath, positionFrom } from '../../../../src/geodesy'

/** A prepared geometry, which can be compared with others. */
export interface Measurable {
  /**
   * Returns a position of each geometry between which their distance is measured, this geometry's first;
   * undefined if one geometry contains the other and their boundaries do not meet.
   */
  nearest(other: Measurable): [Position, Position] | undefined
  /** Returns true if the two geometries share a point, like the operation `intersects`. */
  meets(other: Measurable): boolean
  /** Returns true if the two geometries are at most this many metres apart, like the operation `within`. */
  within(other: Measurable, radiusMeters: number): boolean
}

/**
 * Prepares a geometry. Throws an error that names the invalid part if the value is not a geometry, or has no
 * unambiguous interior.
 */
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
