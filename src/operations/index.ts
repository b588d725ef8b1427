// SPDX-License-Identifier: MIT
import {
  areaSquareMeters,
  contains,
  distanceCentimeters,
  intersects,
  isWithin,
  lengthMeters,
  toCentimeters,
  type PreparedGeometry,
} from '../geodesy'
import {
  isOperation,
  OPERATION_ROWS,
  rowOf,
  UNITS,
  type OperationName,
  type OperationRow,
  type UnitName,
} from './table'

/**
 * Computation of each operation, its label in answers and payloads, and the one rounding for both. The
 * service signs the result, and packages/client recomputes it. table.ts has all other properties of each
 * operation.
 */
export {
  OPERATION_ROWS,
  rowOf,
  TEXTS,
  unitOf,
  UNITS,
  type InputRow,
  type OperationName,
  type OperationRow,
  type UnitName,
} from './table'

/**
 * Result of a computation: an integer in the operation's payload units, rounded once for both answer and
 * payload, or a boolean.
 */
export type Outcome = bigint | boolean

/**
 * Computes the result, which takes milliseconds to seconds. Throws a GeometryError that names the unsupported
 * operand.
 */
type Compute = (operands: readonly PreparedGeometry[], numbers: readonly number[]) => Outcome
export interface Operation extends OperationRow {
  compute: Compute
}

const COMPUTE: Readonly<Record<OperationName, Compute>> = {
  distance: ([from, to]) => BigInt(distanceCentimeters(from!, to!)),
  contains: ([container, geometry]) => contains(container!, geometry!),
  within: ([geometry, target], [radius]) => isWithin(geometry!, target!, radius!),
  intersects: ([first, second]) => intersects(first!, second!),
  area: ([geometry]) => wholeUnits(areaSquareMeters(geometry!), 'square_meters'),
  length: ([geometry]) => wholeUnits(lengthMeters(geometry!), 'meters'),
}

/** All operations: their rows, and their calls of the kernel. */
export const OPERATIONS = Object.fromEntries(
  OPERATION_ROWS.map(([name, row]): [string, Operation] => [name, { ...row, compute: COMPUTE[name] }]),
) as Record<OperationName, Operation>

/**
 * Rounds a measured value to payload units. Throws an Error instead of returning a value that is negative or
 * not finite, which must not be signed.
 */
function wholeUnits(value: number, unit: UnitName): bigint {
  const whole = Math.round(value * UNITS[unit].perAnswerUnit)
  if (!Number.isFinite(whole) || whole < 0) throw new Error(`measured ${value}, which is not a valid result`)
  return BigInt(whole)
}

/**
 * Returns an operation's label in answers and payloads, such as `distance` or `within:50000` (centimetres).
 */
export function writeLabel(name: OperationName, numbers: readonly number[]): string {
  const { parameters = [] } = rowOf(name)
  return [name, ...parameters.map((_, i) => toCentimeters(numbers[i]!))].join(':')
}

/**
 * Returns the operation and its numbers from a label in an answer or payload; undefined for any other text.
 */
export function readLabel(text: string): { name: OperationName; numbers: number[] } | undefined {
  const [name = '', ...parts] = text.split(':')
  if (!isOperation(name) || !parts.every((part) => /^\d+$/.test(part))) return undefined
  const numbers = parts.map((centimeters) => Number(centimeters) / 100)
  if (numbers.length !== (rowOf(name).parameters ?? []).length) return undefined
  return writeLabel(name, numbers) === text ? { name, numbers } : undefined
}
