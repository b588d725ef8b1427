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
 * What each operation computes, its name in answer and payload, and the one rounding that serves both. The
 * service signs this; packages/client computes it again. table.ts has the rest of each operation.
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
 * What a computation gives: a whole number of the operation's payload units (the one rounding that serves
 * answer and payload), or a boolean.
 */
export type Outcome = bigint | boolean

/** Takes milliseconds to seconds. Throws a GeometryError that names the operand it has no answer for. */
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

/** Every operation: its row, and its call of the kernel. */
export const OPERATIONS = Object.fromEntries(
  OPERATION_ROWS.map(([name, row]): [string, Operation] => [name, { ...row, compute: COMPUTE[name] }]),
) as Record<OperationName, Operation>

/** The one rounding of a measured value. Throws rather than sign what is no number. */
function wholeUnits(value: number, unit: UnitName): bigint {
  const whole = Math.round(value * UNITS[unit].perAnswerUnit)
  if (!Number.isFinite(whole) || whole < 0) throw new Error(`measured ${value}, which is no result`)
  return BigInt(whole)
}

/** An operation's name in answer and payload, such as `distance` or `within:50000` (centimetres). */
export function writeLabel(name: OperationName, numbers: readonly number[]): string {
  const { parameters = [] } = rowOf(name)
  return [name, ...parameters.map((_, i) => toCentimeters(numbers[i]!))].join(':')
}

/** The operation and its numbers, from its name in answer and payload; undefined for any other text. */
export function readLabel(text: string): { name: OperationName; numbers: number[] } | undefined {
  const [name = '', ...parts] = text.split(':')
  if (!isOperation(name) || !parts.every((part) => /^\d+$/.test(part))) return undefined
  const numbers = parts.map((centimeters) => Number(centimeters) / 100)
  if (numbers.length !== (rowOf(name).parameters ?? []).length) return undefined
  return writeLabel(name, numbers) === text ? { name, numbers } : undefined
}
