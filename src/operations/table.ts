/**
 * The operations (docs/spec/interface.md 6), a row for each. Routes, validation, OpenAPI, the client's
 * methods, commands, tools, forms, sentences and the tables in docs are made of it; index.ts has the call of
 * the kernel. It imports nothing: pages and programs have it without the kernel.
 */

/** Units by their name in answers: that in payloads, how many of those make one, and their symbols. */
export const UNITS = {
  meters: { payload: 'centimeters', perAnswerUnit: 100, symbol: 'm', payloadSymbol: 'cm' },
  square_meters: {
    ...{ payload: 'square_centimeters', perAnswerUnit: 10_000 },
    ...{ symbol: 'm2', payloadSymbol: 'cm2' },
  },
} as const satisfies Record<
  string,
  { payload: string; perAnswerUnit: number; symbol: string; payloadSymbol: string }
>
export type UnitName = keyof typeof UNITS
/** Names of units in payloads. */
export type PayloadUnitName = (typeof UNITS)[UnitName]['payload']

/** A geometry of an operation, in the order of inputRefs. */
export interface InputRow {
  /** Name in the API. */
  name: string
  /** Further names in the API. */
  aliases?: readonly string[]
  /** Name in forms. */
  label: string
  /** Name of the argument of the command. */
  argument: string
  /** Types of GeoJSON that the kernel takes; all if absent. */
  accepts?: readonly string[]
  /** Types that are usual, where all are taken. */
  usual?: readonly string[]
}
/** A number of an operation, which is part of its name in answers, in centimetres. */
export interface ParameterRow {
  name: string
  label: string
  unit: 'metres'
  about: string
  range: { exclusiveMinimum: number; maximum: number }
}
export interface OperationRow {
  inputs: readonly [InputRow] | readonly [InputRow, InputRow]
  parameters?: readonly ParameterRow[]
  /** Absent for booleans. */
  units?: UnitName
  /**
   * A result as a sentence; of booleans one for true and one for false. `{0}` and `{1}` are the inputs,
   * `{result}` is the number with its unit, `{radius}` a parameter of that name.
   */
  claim: string | readonly [yes: string, no: string]
}

const POLYGONS = ['Polygon', 'MultiPolygon']
const LINES = ['LineString', 'MultiLineString']

export const OPERATIONS = {
  distance: {
    inputs: [
      { name: 'from', label: 'From', argument: 'a' },
      { name: 'to', label: 'To', argument: 'b' },
    ],
    units: 'meters',
    claim: 'The distance between {0} and {1} is {result}',
  },
  contains: {
    inputs: [
      { name: 'container', label: 'Container', argument: 'container', usual: POLYGONS },
      { name: 'geometry', label: 'Geometry', argument: 'place', aliases: ['containee'] },
    ],
    claim: ['{0} contains {1}', '{0} does not contain {1}'],
  },
  within: {
    inputs: [
      { name: 'geometry', label: 'Geometry', argument: 'a', usual: ['Point'] },
      { name: 'target', label: 'Target', argument: 'b' },
    ],
    parameters: [
      {
        ...{ name: 'radius', label: 'Radius', unit: 'metres', about: 'Maximum distance in metres.' },
        // Farther than any two places are apart.
        range: { exclusiveMinimum: 0, maximum: 100_000_000 },
      },
    ],
    claim: ['{0} is within {radius} m of {1}', '{0} is not within {radius} m of {1}'],
  },
  intersects: {
    inputs: [
      { name: 'geometry1', label: 'First geometry', argument: 'a' },
      { name: 'geometry2', label: 'Second geometry', argument: 'b' },
    ],
    claim: ['{0} intersects {1}', '{0} does not intersect {1}'],
  },
  area: {
    inputs: [{ name: 'geometry', label: 'Polygon', argument: 'polygon', accepts: POLYGONS }],
    units: 'square_meters',
    claim: 'The area of {0} is {result}',
  },
  length: {
    inputs: [{ name: 'geometry', label: 'Line', argument: 'line', accepts: LINES }],
    units: 'meters',
    claim: 'The length of {0} is {result}',
  },
} as const satisfies Readonly<Record<string, OperationRow>>
export type OperationName = keyof typeof OPERATIONS

interface OperationTexts {
  /** Indirect question for menus and lists. */
  summary: string
  /** What the result means, in sentences. */
  about: string
  /** Functions of the Solidity kit that require a result; of booleans one for true and one for false. */
  requires?: readonly [string] | readonly [yes: string, no: string]
}
/** Texts of the operations, and functions of the kit: apart, so that clients need not load them. */
export const TEXTS: Readonly<Record<OperationName, OperationTexts>> = {
  distance: {
    summary: 'How far two geometries are apart',
    about:
      'Shortest geodesic distance between any two points of the geometries in metres, rounded to a centimetre; 0 where they touch.',
    requires: ['requireDistanceAtMost'],
  },
  contains: {
    summary: 'Whether a geometry lies wholly in another',
    about:
      'True if nothing of the geometry is outside the container and their interiors meet. A point within half a centimetre of the boundary is on it, so not contained: `intersects` covers that.',
    requires: ['requireContains'],
  },
  within: {
    summary: 'Whether two geometries are at most a radius apart',
    about:
      "True if their distance, rounded to a centimetre, is at most the radius, rounded likewise. The answer's `operation` carries the radius in centimetres: match it by its prefix `within:`.",
    requires: ['requireWithin'],
  },
  intersects: {
    summary: 'Whether two geometries share any point',
    about:
      'True if they share any space, boundaries included: if their distance, rounded to a centimetre, is 0.',
    requires: ['requireIntersects', 'requireDisjoint'],
  },
  area: {
    summary: 'How large a polygon is',
    about:
      'Geodesic area in square metres, holes left out, rounded to a square centimetre. A ring bounds its smaller side, whatever its winding.',
    requires: ['requireAreaAtMost'],
  },
  length: {
    summary: 'How long a line is',
    about: 'Sum of the geodesic lengths of its edges in metres, rounded to a centimetre.',
    requires: ['requireLengthAtMost'],
  },
}

/** The rows as a list, in the order in which menus show them. */
export const OPERATION_ROWS = /* @__PURE__ */ Object.entries(OPERATIONS) as readonly [
  OperationName,
  OperationRow,
][]

/** The unit of answers whose payloads have this one; undefined for any other text. */
export function unitOf(payload: string): UnitName | undefined {
  return (Object.keys(UNITS) as UnitName[]).find((name) => UNITS[name].payload === payload)
}

/** True for the name of an operation. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name)
}

/** The row of an operation with all optional fields. */
export function rowOf(name: OperationName): OperationRow {
  return OPERATIONS[name]
}

/** An answer's result as a sentence without its full stop; `write` writes numbers, a result with its unit. */
export function claimOf(
  name: OperationName,
  {
    result,
    inputs,
    numbers,
  }: { result: number | boolean; inputs: readonly string[]; numbers: readonly number[] },
  write: (value: number, unit?: UnitName) => string,
): string {
  const { claim, units, parameters = [] } = rowOf(name)
  const template = typeof claim === 'string' ? claim : claim[result === true ? 0 : 1]
  const named: Record<string, string> = Object.fromEntries<string>([
    ...inputs.map((input, i): [string, string] => [String(i), input]),
    ...parameters.map(({ name }, i): [string, string] => [name, write(numbers[i]!)]),
    ['result', write(Number(result), units)],
  ])
  return template.replace(/\{(\w+)\}/g, (_, key: string) => named[key]!)
}
