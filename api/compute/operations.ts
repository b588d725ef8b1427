import { OPERATIONS as COMPUTED, type Operation as Computed, type OperationName } from '../../src/operations'

/** What requests and documentation say of an operation. */
interface Description {
  /** The question in one line; what the answer means. */
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
}

export interface Operation extends Computed, Description {}

/** Farther than any two places are apart. */
const MAX_RADIUS_METERS = 100_000_000

const DESCRIPTIONS: Readonly<Record<OperationName, Description>> = {
  distance: {
    summary: 'How far two geometries are apart',
    about:
      'The shortest geodesic distance between any point of one and any point of the other, on the WGS84 ellipsoid, rounded once to a centimetre; 0 where they touch.',
    geometries: [
      { name: 'from', about: 'The first geometry.' },
      { name: 'to', about: 'The second geometry.' },
    ],
  },
  contains: {
    summary: 'Whether one geometry lies wholly in another',
    about:
      'True where nothing of the geometry is outside the container and their interiors meet. A point within half a centimetre of the boundary is on it, so not contained: `intersects` covers that.',
    geometries: [
      { name: 'container', about: 'Typically a Polygon.' },
      { name: 'geometry', aliases: ['containee'], about: 'What may lie in it.' },
    ],
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
  },
  intersects: {
    summary: 'Whether two geometries share any point',
    about:
      'True where they share any space, boundaries included: where their distance, rounded to a centimetre, is 0.',
    geometries: [
      { name: 'geometry1', about: 'The first geometry.' },
      { name: 'geometry2', about: 'The second geometry.' },
    ],
  },
  area: {
    summary: 'How large a polygon is',
    about:
      'The geodesic area on the WGS84 ellipsoid, holes left out, rounded once to a square centimetre. A ring bounds its smaller side, whatever its winding.',
    geometries: [{ name: 'geometry', about: 'A Polygon or MultiPolygon; others are refused.' }],
  },
  length: {
    summary: 'How long a line is',
    about:
      'The sum of the geodesic lengths of its edges on the WGS84 ellipsoid, rounded once to a centimetre.',
    geometries: [{ name: 'geometry', about: 'A LineString or MultiLineString; others are refused.' }],
  },
}

/** Every operation of the Compute API. */
export const OPERATION_LIST = Object.entries(DESCRIPTIONS).map(
  ([name, description]): [OperationName, Operation] => [
    name as OperationName,
    { ...COMPUTED[name as OperationName], ...description },
  ],
)
/** The same by name. */
export const OPERATIONS = Object.fromEntries(OPERATION_LIST) as Readonly<Record<OperationName, Operation>>
