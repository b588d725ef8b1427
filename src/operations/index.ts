// SPDX-License-Identifier: MIT
import {
  areaSquareMeters,
  contains,
  distanceCentimeters,
  intersects,
  isWithin,
  lengthMeters,
  type PreparedGeometry,
} from '../geodesy'
import { UNITS, type OperationName, type UnitName } from './table'

/** Computations, rounded once for answer and payload. Clients recompute them (packages/client). */
export { readLabel, writeLabel } from './lengths'
export {
  OPERATION_ROWS,
  OPERATIONS,
  rowOf,
  TEXTS,
  unitOf,
  UNITS,
  type InputRow,
  type OperationName,
  type OperationRow,
  type UnitName,
} from './table'

/** Result: an integer in payload units, rounded once for answer and payload, or a boolean. */
export type Outcome = bigint | boolean

/** Takes milliseconds to seconds. Throws a GeometryError that names the unsupported operand. */
type Compute = (operands: readonly PreparedGeometry[], numbers: readonly number[]) => Outcome
/** Calls of the kernel, by operation. */
export const COMPUTE: Readonly<Record<OperationName, Compute>> = {
  distance: ([from, to]) => BigInt(distanceCentimeters(from!, to!)),
  contains: ([container, geometry]) => contains(container!, geometry!),
  within: ([geometry, target], [radius]) => isWithin(geometry!, target!, radius!),
  intersects: ([first, second]) => intersects(first!, second!),
  area: ([geometry]) => wholeUnits(areaSquareMeters(geometry!), 'square_meters'),
  length: ([geometry]) => wholeUnits(lengthMeters(geometry!), 'meters'),
}

/** Rounds to payload units. Throws an Error for a negative or infinite value, which must not be signed. */
function wholeUnits(value: number, unit: UnitName): bigint {
  const whole = Math.round(value * UNITS[unit].perAnswerUnit)
  if (!Number.isFinite(whole) || whole < 0) throw new Error(`measured ${value}, which is not a valid result`)
  return BigInt(whole)
}
