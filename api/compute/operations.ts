import {
  areaSquareMeters,
  contains,
  distanceCentimeters,
  intersects,
  isWithin,
  lengthMeters,
  type PreparedGeometry,
} from '../../src/geodesy'

/**
 * What a computation gives: a whole number of the operation's payload units (the one rounding that serves
 * answer and payload), or a boolean.
 */
export type Outcome = bigint | boolean

export interface Operation {
  /** For the documentation: the question in one line; what the answer means. */
  summary: string
  about: string
  /** Geometry parameters, in the order of inputRefs; each may go by further names. */
  geometries: readonly { name: string; aliases?: readonly string[]; about: string }[]
  /** Parameters that are numbers, in order: their range as JSON Schema, and in words for who left it. */
  numbers?: readonly {
    name: string
    about: string
    range: { exclusiveMinimum: number; maximum: number }
    expected: string
  }[]
  /**
   * Present for numeric results: names in answer and payload, and how many payload units make one of the
   * answer's.
   */
  units?: {
    answer: 'meters' | 'square_meters'
    payload: 'centimeters' | 'square_centimeters'
    perAnswerUnit: number
  }
  /** The operation's name in answer and payload, where numbers are part of it. */
  label?: (numbers: readonly number[]) => string
  /** Takes milliseconds to seconds. Throws a GeometryError that names the operand it has no answer for. */
  compute: (operands: readonly PreparedGeometry[], numbers: readonly number[]) => Outcome
}

const METERS = { answer: 'meters', payload: 'centimeters', perAnswerUnit: 100 } as const
const SQUARE_METERS = {
  answer: 'square_meters',
  payload: 'square_centimeters',
  perAnswerUnit: 10_000,
} as const

/** Farther than any two places are apart. */
const MAX_RADIUS_METERS = 100_000_000

/** Every operation of the Compute API (docs/spec/interface.md 6). A new operation is one row. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  distance: {
    summary: 'How far two geometries are apart',
    about:
      'The shortest geodesic distance between any point of one and any point of the other, on the WGS84 ellipsoid, rounded once to a centimetre; 0 where they touch.',
    geometries: [
      { name: 'from', about: 'The first geometry.' },
      { name: 'to', about: 'The second geometry.' },
    ],
    units: METERS,
    compute: ([from, to]) => BigInt(distanceCentimeters(from!, to!)),
  },
  contains: {
    summary: 'Whether one geometry lies wholly in another',
    about:
      'True where nothing of the geometry is outside the container and their interiors meet. A point within half a centimetre of the boundary is on it, so not contained: `intersects` covers that.',
    geometries: [
      { name: 'container', about: 'Typically a Polygon.' },
      { name: 'geometry', aliases: ['containee'], about: 'What may lie in it.' },
    ],
    compute: ([container, geometry]) => contains(container!, geometry!),
  },
  within: {
    summary: 'Whether two geometries are no farther apart than a radius',
    about:
      "True where their distance, rounded to a centimetre, is less than or equal to the radius, rounded likewise. The answer's `operation` carries the radius in centimetres: match it by its prefix `within:`.",
    geometries: [
      { name: 'geometry', about: 'Typically a Point.' },
      { name: 'target', about: 'What it may be close to.' },
    ],
    numbers: [
      {
        name: 'radius',
        about: 'The greatest distance, in metres.',
        range: { exclusiveMinimum: 0, maximum: MAX_RADIUS_METERS },
        expected: `expected metres, above 0 and at most ${MAX_RADIUS_METERS}`,
      },
    ],
    label: ([radius]) => `within:${Math.round(radius! * 100)}`,
    compute: ([geometry, target], [radius]) => isWithin(geometry!, target!, radius!),
  },
  intersects: {
    summary: 'Whether two geometries share any point',
    about:
      'True where they share any space, boundaries included: where their distance, rounded to a centimetre, is 0.',
    geometries: [
      { name: 'geometry1', about: 'The first geometry.' },
      { name: 'geometry2', about: 'The second geometry.' },
    ],
    compute: ([first, second]) => intersects(first!, second!),
  },
  area: {
    summary: 'How large a polygon is',
    about:
      'The geodesic area on the WGS84 ellipsoid, holes left out, rounded once to a square centimetre. A ring bounds its smaller side, whatever its winding.',
    geometries: [{ name: 'geometry', about: 'A Polygon or MultiPolygon; others are refused.' }],
    units: SQUARE_METERS,
    compute: ([geometry]) => wholeUnits(areaSquareMeters(geometry!), SQUARE_METERS.perAnswerUnit),
  },
  length: {
    summary: 'How long a line is',
    about:
      'The sum of the geodesic lengths of its edges on the WGS84 ellipsoid, rounded once to a centimetre.',
    geometries: [{ name: 'geometry', about: 'A LineString or MultiLineString; others are refused.' }],
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
