// SPDX-License-Identifier: MIT
import type { Geometry, Position } from 'geojson'
import {
  intersects,
  isWithin,
  nearestPlaces,
  prepareGeometry,
  readGeometry,
  type PreparedGeometry,
} from '../../../../src/geodesy'
import { COMPUTE, OPERATIONS, UNITS } from '../../../../src/operations'

/** Parts of the kernel that draw an answer: the positions that a distance connects, and exact geodesics. */
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
  /** Returns the distance of the two geometries in metres, like the operation `distance`. */
  distance(other: Measurable): number
  /** Returns the area in square metres, like the operation `area`. Throws unless this is a polygon. */
  area(): number
  /** Returns the length in metres, like the operation `length`. Throws unless this is a line. */
  length(): number
}

/**
 * Prepares a geometry. Throws an error that names the invalid part if the value is not a geometry, or has no
 * unambiguous interior.
 */
export function measurable(geometry: Geometry): Measurable {
  const prepared = prepareGeometry(readGeometry(geometry, 'geometry'))
  const measured = (name: 'distance' | 'area' | 'length', ...others: PreparedGeometry[]) =>
    Number(COMPUTE[name]([prepared, ...others], [])) / UNITS[OPERATIONS[name].units].perAnswerUnit
  const made: Measurable = {
    nearest: (other) => nearestPlaces(prepared, known.get(other)!),
    meets: (other) => intersects(prepared, known.get(other)!),
    within: (other, radiusMeters) => isWithin(prepared, known.get(other)!, radiusMeters),
    distance: (other) => measured('distance', known.get(other)!),
    area: () => measured('area'),
    length: () => measured('length'),
  }
  known.set(made, prepared)
  return made
}

const known = new WeakMap<Measurable, PreparedGeometry>()
