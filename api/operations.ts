import { areaSquareMeters, contains, distanceCentimeters, intersects, isWithin, lengthMeters, type PreparedGeometry } from '../src/geodesy'

/** What a computation gives: a whole number of the operation's payload units (the one rounding that serves answer and payload), or a boolean. */
export type Outcome = bigint | boolean

export interface Operation {
  /** Geometry parameters, in the order of inputRefs; each may go by further names. */
  geometries: readonly { name: string; aliases?: readonly string[] }[]
  /** Parameters that are numbers, in order: `check` says what would be right. */
  numbers?: readonly { name: string; check: (value: number) => string | undefined }[]
  /** Present for numeric results: names in answer and payload, and how many payload units make one of the answer's. */
  units?: { answer: 'meters' | 'square_meters'; payload: 'centimeters' | 'square_centimeters'; perAnswerUnit: number }
  /** The operation's name in answer and payload, where numbers are part of it. */
  label?: (numbers: readonly number[]) => string
  /** Milliseconds to seconds, by size. Throws a GeometryError that names the operand for a geometry it has no answer for. */
  compute: (operands: readonly PreparedGeometry[], numbers: readonly number[]) => Outcome
}

const METERS = { answer: 'meters', payload: 'centimeters', perAnswerUnit: 100 } as const
const SQUARE_METERS = { answer: 'square_meters', payload: 'square_centimeters', perAnswerUnit: 10_000 } as const

/** Farther than any two places are apart. */
const MAX_RADIUS_METERS = 100_000_000

/** Every operation of the Compute API (INTERFACE.md, Endpoints). A new one is one row. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  distance: {
    geometries: [{ name: 'from' }, { name: 'to' }],
    units: METERS,
    compute: ([from, to]) => BigInt(distanceCentimeters(from!, to!)),
  },
  contains: {
    geometries: [{ name: 'container' }, { name: 'geometry', aliases: ['containee'] }],
    compute: ([container, geometry]) => contains(container!, geometry!),
  },
  within: {
    geometries: [{ name: 'geometry' }, { name: 'target' }],
    numbers: [{ name: 'radius', check: (metres) => (metres > 0 && metres <= MAX_RADIUS_METERS ? undefined : `expected metres, above 0 and at most ${MAX_RADIUS_METERS}`) }],
    label: ([radius]) => `within:${Math.round(radius! * 100)}`,
    compute: ([geometry, target], [radius]) => isWithin(geometry!, target!, radius!),
  },
  intersects: {
    geometries: [{ name: 'geometry1' }, { name: 'geometry2' }],
    compute: ([first, second]) => intersects(first!, second!),
  },
  area: {
    geometries: [{ name: 'geometry' }],
    units: SQUARE_METERS,
    compute: ([geometry]) => wholeUnits(areaSquareMeters(geometry!), SQUARE_METERS.perAnswerUnit),
  },
  length: {
    geometries: [{ name: 'geometry' }],
    units: METERS,
    compute: ([geometry]) => wholeUnits(lengthMeters(geometry!), METERS.perAnswerUnit),
  },
}

/** The one rounding of a measured value. Throws rather than sign what is no number. */
function wholeUnits(value: number, perUnit: number): bigint {
  const whole = Math.round(value * perUnit)
  if (!Number.isFinite(whole) || whole < 0) throw new Error(`measured ${value}, which is no result`)
  return BigInt(whole)
}
