// SPDX-License-Identifier: MIT
/**
 * The operations (docs/spec/interface.md 6), one row each. Routes, validation, OpenAPI, the client's methods,
 * commands, tools, forms, sentences and the tables in the docs derive from these rows. index.ts has the calls
 * of the kernel. This file imports nothing, so that pages and programs can load it without the kernel.
 */

/** Units by their name in answers: payload unit, payload units per unit, and the symbols of both. */
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
/** Name of a unit in payloads. */
export type PayloadUnitName = (typeof UNITS)[UnitName]['payload']

/** A geometry argument of an operation, in the order of inputRefs. */
export interface InputRow {
  /** Name in the API. */
  name: string
  /** Further names that the API accepts. */
  aliases?: readonly string[]
  /** Name in tools for agents, and in English forms (web/messages). */
  label: string
  /** Name of the CLI argument. */
  argument: string
  /** GeoJSON types that the kernel accepts. Default: all. */
  accepts?: readonly string[]
  /** Typical GeoJSON types of an input that accepts all. */
  usual?: readonly string[]
}
/** A number of an operation. Its value in centimetres is part of the label in answers. */
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
  /** Unit of the result; absent for booleans. */
  units?: UnitName
  /**
   * The result as a sentence; for booleans one for true and one for false. `{0}` and `{1}` are the inputs,
   * `{result}` is the number with its unit, `{radius}` is the parameter of that name.
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
        // The maximum exceeds the distance between any two points on Earth.
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
  /** Meaning of the result, in sentences. */
  about: string
  /** Functions of the Solidity kit that require a result; for booleans one for true and one for false. */
  requires?: readonly [string] | readonly [yes: string, no: string]
}
/** Texts about the operations, and functions of the Solidity kit. Clients need not load them. */
export const TEXTS: Readonly<Record<OperationName, OperationTexts>> = {
  distance: {
    summary: 'Distance between two geometries',
    about:
      'Shortest geodesic distance between any two points of the geometries in metres, rounded to a ' +
      'centimetre; 0 if they touch.',
    requires: ['requireDistanceAtMost'],
  },
  contains: {
    summary: 'Tests if a geometry is entirely inside another',
    about:
      'True if nothing of the geometry is outside the container and their interiors meet. A point within half a centimetre of the boundary is on it, so not contained: `intersects` covers that.',
    requires: ['requireContains'],
  },
  within: {
    summary: 'Tests if two geometries are at most a radius apart',
    about:
      'True if their distance, rounded to a centimetre, is at most the radius, rounded in the same ' +
      "way. The answer's `operation` carries the radius in centimetres: match it by its prefix " +
      '`within:`.',
    requires: ['requireWithin'],
  },
  intersects: {
    summary: 'Tests if two geometries share a point',
    about:
      'True if they share any space, boundaries included: if their distance, rounded to a centimetre, is 0.',
    requires: ['requireIntersects', 'requireDisjoint'],
  },
  area: {
    summary: 'Area of a polygon',
    about:
      'Geodesic area in square metres, holes left out, rounded to a square centimetre. A ring ' +
      'bounds its smaller side, in either winding order.',
    requires: ['requireAreaAtMost'],
  },
  length: {
    summary: 'Length of a line',
    about: 'Sum of the geodesic lengths of its edges in metres, rounded to a centimetre.',
    requires: ['requireLengthAtMost'],
  },
}

/** The rows in the order in which menus list them. */
export const OPERATION_ROWS = /* @__PURE__ */ Object.entries(OPERATIONS) as readonly [
  OperationName,
  OperationRow,
][]

/** Returns the unit of answers for a unit of payloads; undefined for any other text. */
export function unitOf(payload: string): UnitName | undefined {
  return (Object.keys(UNITS) as UnitName[]).find((name) => UNITS[name].payload === payload)
}

/** True if the text is the name of an operation. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name)
}

/** Returns the row of an operation, typed with all optional fields. */
export function rowOf(name: OperationName): OperationRow {
  return OPERATIONS[name]
}

/** Returns a result as a sentence without a full stop. `write` formats numbers, with a unit if any. */
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
