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

/**
 * What each operation answers: its inputs, its name and units in answer and payload, and the one rounding
 * that serves both. The service signs this; packages/client computes it again.
 */

/**
 * What a computation gives: a whole number of the operation's payload units (the one rounding that serves
 * answer and payload), or a boolean.
 */
export type Outcome = bigint | boolean

/** Names of a unit in answer and payload, and how many payload units make one of the answer's. */
export interface Units {
  answer: 'meters' | 'square_meters'
  payload: 'centimeters' | 'square_centimeters'
  perAnswerUnit: number
}

export interface Operation {
  /** How many geometries it is about. */
  inputs: 1 | 2
  /** Present for numeric results. */
  units?: Units
  /** Present where numbers are part of the operation's name in answer and payload. */
  label?: {
    write: (numbers: readonly number[]) => string
    read: (label: string) => number[] | undefined
  }
  /** Takes milliseconds to seconds. Throws a GeometryError that names the operand it has no answer for. */
  compute: (operands: readonly PreparedGeometry[], numbers: readonly number[]) => Outcome
}

const METERS: Units = { answer: 'meters', payload: 'centimeters', perAnswerUnit: 100 }
const SQUARE_METERS: Units = {
  answer: 'square_meters',
  payload: 'square_centimeters',
  perAnswerUnit: 10_000,
}

/** Every operation (docs/spec/interface.md 6). A new one is a row here, and one in api/compute/operations. */
export const OPERATIONS = {
  distance: {
    inputs: 2,
    units: METERS,
    compute: ([from, to]) => BigInt(distanceCentimeters(from!, to!)),
  },
  contains: { inputs: 2, compute: ([container, geometry]) => contains(container!, geometry!) },
  within: {
    inputs: 2,
    label: {
      write: ([radius]) => `within:${toCentimeters(radius!)}`,
      read: (label) =>
        /^within:(\d+)$/
          .exec(label)
          ?.slice(1)
          .map((centimeters) => Number(centimeters) / 100),
    },
    compute: ([geometry, target], [radius]) => isWithin(geometry!, target!, radius!),
  },
  intersects: { inputs: 2, compute: ([first, second]) => intersects(first!, second!) },
  area: {
    inputs: 1,
    units: SQUARE_METERS,
    compute: ([geometry]) => wholeUnits(areaSquareMeters(geometry!), SQUARE_METERS.perAnswerUnit),
  },
  length: {
    inputs: 1,
    units: METERS,
    compute: ([geometry]) => wholeUnits(lengthMeters(geometry!), METERS.perAnswerUnit),
  },
} as const satisfies Readonly<Record<string, Operation>>
export type OperationName = keyof typeof OPERATIONS

/** The one rounding of a measured value. Throws rather than sign what is no number. */
function wholeUnits(value: number, perUnit: number): bigint {
  const whole = Math.round(value * perUnit)
  if (!Number.isFinite(whole) || whole < 0) throw new Error(`measured ${value}, which is no result`)
  return BigInt(whole)
}

/** An operation's name in answer and payload, such as `distance` or `within:50000`. */
export function writeLabel(name: OperationName, numbers: readonly number[]): string {
  const { label }: Operation = OPERATIONS[name]
  return label?.write(numbers) ?? name
}

/** The operation and its numbers, from its name in answer and payload; undefined for any other text. */
export function readLabel(text: string): { name: OperationName; numbers: number[] } | undefined {
  const name = Object.keys(OPERATIONS).find((each) => text.split(':')[0] === each) as
    OperationName | undefined
  if (name === undefined) return undefined
  const { label }: Operation = OPERATIONS[name]
  const numbers = label ? label.read(text) : []
  return numbers && writeLabel(name, numbers) === text ? { name, numbers } : undefined
}
