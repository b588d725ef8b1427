import {
  Cql2Error,
  readJson,
  readText,
  shownName,
  type Comparison,
  type Expression,
  type Scalar,
} from '../cql2'
import { EffortError, GeometryError } from '../../src/geodesy'
import { DAY_MS, instantOf } from '../http/iso-8601'
import { QUERYABLES, type Queryable } from './queryables'
import { invalid } from '../http/parameters'
import { boxFrom, remedyFor } from '../http/positions'
import { placeOf, type Place } from './sieve'
import type { Bbox, Condition } from '../store'

/** Translates CQL2 filters into conditions on records. */

/** Maximum number of geometries in one filter: the serving thread prepares each. A BBOX costs nothing. */
const MAX_PLACES = 8
/** Names in `attributes.<name>.<name>`. Attributes are not nested as deeply (src/strict-json.ts). */
const MAX_NAMES = 100

export const FILTER_LANGUAGES = ['cql2-text', 'cql2-json'] as const
export type FilterLanguage = (typeof FILTER_LANGUAGES)[number]

/**
 * Reads the conditions of a filter. Separates a box and a place that it requires from the rest, because a
 * search by them is faster and can continue beyond its first records. Throws a RecordsError.
 * @param given true for each of box and place that another parameter sets already
 */
export function filterChoice(
  text: string,
  language: FilterLanguage | undefined,
  given: { bbox: boolean; place: boolean },
) {
  const condition = conditionIn(text, language)
  const parts = 'all' in condition ? [...condition.all] : [condition]
  const take = <Part>(isPart: (part: Condition<Place>) => Part | undefined) => {
    const at = parts.findIndex((part) => isPart(part) !== undefined)
    return at < 0 ? undefined : isPart(parts.splice(at, 1)[0]!)
  }
  const bbox = given.bbox ? undefined : take((part) => ('box' in part && !part.not ? part.box : undefined))
  const place = given.place
    ? undefined
    : take((part) => ('place' in part && !part.not ? part.place : undefined))
  return {
    ...(bbox && { bbox }),
    ...(place && { place }),
    ...(parts.length > 0 && { condition: parts.length === 1 ? parts[0]! : { all: parts } }),
  }
}

/** Throws a RecordsError that names the parameter `filter`. */
export function conditionIn(text: string, language?: FilterLanguage): Condition<Place> {
  if (!language && text.trimStart().startsWith('{'))
    throw invalid('filter', 'The filter is CQL2 JSON. Add filter-lang=cql2-json')
  try {
    return new Compiler().condition(language === 'cql2-json' ? readJson(text) : readText(text), false)
  } catch (error) {
    if (error instanceof Cql2Error) throw invalid('filter', error.message)
    throw error
  }
}

class Compiler {
  private places = 0

  /** Condition for the records for which the expression is true or, with `not`, false. */
  condition(expression: Expression, not: boolean): Condition<Place> {
    const { at } = expression
    if ('property' in expression && expression.op !== 'between') {
      const attribute = attributeIn(expression.property)
      if (attribute) return attributeCondition(attribute, expression, not)
    }
    switch (expression.op) {
      case 'and':
      case 'or': {
        const parts = expression.args.map((each) => this.condition(each, not))
        return (expression.op === 'and') === not ? { any: parts } : all(parts)
      }
      case 'not':
        return this.condition(expression.arg, !not)
      case 'literal':
        return { always: expression.value !== not }
      case 'isNull':
        return { column: queryableOf(at, expression.property).column, isNull: !not }
      case 's_intersects':
        return this.meeting(expression, not)
      case 'between': {
        const { property, low, high, valuesAt = [] } = expression
        const bound = (op: Comparison, value: Scalar, i: number) =>
          this.condition({ at, valuesAt: [valuesAt[i] ?? at], op, property, value }, not)
        const [from, to] = [bound('>=', low, 0), bound('<=', high, 1)]
        return not ? { any: [from, to] } : all([from, to])
      }
      case 'in':
        return inList(expression, not)
      case 'like': {
        const { column, type } = queryableOf(at, expression.property)
        if (type !== 'text' && type !== 'lower')
          throw new Cql2Error(
            at,
            `expected LIKE with a string property, but ${expression.property} is a ${type}`,
          )
        return {
          ...columnOf(column, type, expression),
          like: patternOf(valueAt(expression), expression.pattern, type),
          not,
        }
      }
      default:
        return comparison(expression, not)
    }
  }

  private meeting(expression: Expression & { op: 's_intersects' }, not: boolean): Condition<Place> {
    const { at, property } = expression
    if (queryableOf(at, property).type !== 'geometry')
      throw new Cql2Error(at, `expected S_INTERSECTS with the property geometry, got ${property}`)
    const placeAt = valueAt(expression)
    if ('bbox' in expression) return { box: boxOf(placeAt, expression.bbox), not }
    if (++this.places > MAX_PLACES)
      throw new Cql2Error(placeAt, `expected at most ${MAX_PLACES} geometries, not counting boxes`)
    try {
      return { place: placeOf(expression.geometry, 'geometry'), not }
    } catch (error) {
      if (error instanceof GeometryError) throw new Cql2Error(placeAt, error.message)
      if (error instanceof EffortError)
        throw new Cql2Error(placeAt, 'the geometry is too complex for a search. Simplify it.')
      throw error
    }
  }
}

function all(parts: readonly Condition<Place>[]): Condition<Place> {
  return { all: parts.flatMap((part) => ('all' in part ? part.all : [part])) }
}

/** Names in `attributes.<name>`, `attributes.<name>.<name>` and so on; undefined for other properties. */
function attributeIn(property: string): string[] | undefined {
  const [first, ...names] = property.split('.')
  return first === 'attributes' && names.length > 0 && !names.includes('') ? names : undefined
}

/** A number also matches an integer stored as text, as attributes store integers of more than 48 bits. */
function attributeCondition(
  attribute: readonly string[],
  expression: Exclude<Expression, { op: 'and' | 'or' | 'not' | 'literal' | 'between' }>,
  not: boolean,
): Condition<Place> {
  const { at, op } = expression
  if ('casei' in expression && expression.casei)
    throw new Cql2Error(at, 'expected CASEI of a property of the record, not of an attribute')
  if (attribute.length > MAX_NAMES)
    throw new Cql2Error(at, `expected at most ${MAX_NAMES} nested names of attributes`)
  const attributeName = shownName(expression.property)
  for (const name of attribute) textOf(at, name, 'text')
  const alike = (value: Scalar, i = 0): (string | number | boolean)[] => {
    if (typeof value === 'object')
      throw new Cql2Error(
        valueAt(expression, i),
        `${attributeName} can be compared with strings, numbers, TRUE and FALSE only`,
      )
    if (typeof value === 'string') return [textOf(valueAt(expression, i), value, 'text')]
    if (typeof value === 'bigint') return [String(value)]
    return Number.isInteger(value) ? [value, String(value)] : [value]
  }
  switch (op) {
    case 'isNull':
      return { attribute, isNull: !not }
    case 's_intersects':
      throw new Cql2Error(at, `expected S_INTERSECTS with the property geometry, got ${attributeName}`)
    case 'like':
      return { attribute, like: patternOf(valueAt(expression), expression.pattern, 'text'), not }
    case 'in':
      return { attribute, oneOf: expression.values.flatMap(alike), not }
    case '=':
    case '<>':
      return { attribute, oneOf: alike(expression.value), not: (op === '<>') !== not }
    default: {
      const { value } = expression
      // Attributes and JSON store large integers as text.
      const isInteger = typeof value === 'bigint' || (typeof value === 'string' && INTEGER.test(value))
      if (isInteger || typeof value === 'number') {
        const to = isInteger ? String(value) : value
        return { attribute, compare: (not ? NEGATED[op] : op) as typeof op, to }
      }
      throw new Cql2Error(
        valueAt(expression),
        `${attributeName} can be compared by order with numbers only, such as 13.4`,
      )
    }
  }
}

/** The limit of 78 digits is that of integers in attributes (api/store/sql.ts). */
const INTEGER = /^-?\d{1,78}$/

const QUERYABLE_NAMES = [...QUERYABLES.keys(), 'attributes.<name>'].join(', ')

function queryableOf(at: string, property: string): Queryable {
  const found = QUERYABLES.get(property)
  if (found) return found
  throw new Cql2Error(at, `unknown property ${shownName(property)}. Expected one of ${QUERYABLE_NAMES}.`)
}

const NEGATED: Record<Comparison, Comparison> = {
  ...{ '=': '<>', '<>': '=' },
  ...{ '<': '>=', '>=': '<', '>': '<=', '<=': '>' },
}

/** Position of a value of a predicate. */
function valueAt({ at, valuesAt }: Expression, i = 0): string {
  return valuesAt?.[i] ?? at
}

function comparison(expression: Extract<Expression, { op: Comparison }>, not: boolean): Condition<Place> {
  const { at, property, op, value, casei } = expression
  const { type, column, named = asIs } = queryableOf(at, property)
  const compare = not ? NEGATED[op] : op
  const position = valueAt(expression)
  if (casei && type !== 'text' && type !== 'lower')
    throw new Cql2Error(at, `${property} is not a text, so it cannot be used in CASEI`)
  switch (type) {
    case 'geometry':
      throw new Cql2Error(at, 'expected S_INTERSECTS or IS NULL with the property geometry')
    case 'boolean': {
      const to = booleanOf(position, property, value)
      const passing = [false, true].filter((each) => isOrdered(Number(each) - Number(to), compare))
      if (passing.length === 1) return { column, is: passing[0]! }
      return passing.length === 0 ? { always: false } : { column, isNull: false }
    }
    case 'number':
      return { column, compare, to: numberOf(position, property, value) }
    case 'time':
      return timeCondition(column, compare, timeOf(position, property, value))
    default: {
      const text = textOf(position, value, type, property)
      return {
        ...columnOf(column, type, { casei }),
        compare,
        to: compare === '=' || compare === '<>' ? named(text) : text,
      }
    }
  }
}

const asIs = (name: string): string => name

/** CASEI does not change columns in lower case, which ignore letter case anyway. */
function columnOf(
  column: string,
  type: Queryable['type'],
  { casei }: { casei?: true | undefined },
): { column: string; casei?: true } {
  return { column, ...(casei && type === 'text' && { casei }) }
}

function inList(expression: Expression & { op: 'in' }, not: boolean): Condition<Place> {
  const { at, property, values, casei } = expression
  const { type, column, named = asIs } = queryableOf(at, property)
  const each = <Value>(read: (at: string, value: Scalar) => Value) =>
    values.map((value, i) => read(valueAt(expression, i), value))
  if (type === 'number')
    return { column, oneOf: each((position, value) => numberOf(position, property, value)), not }
  if (type === 'text' || type === 'lower')
    return {
      ...columnOf(column, type, { casei }),
      oneOf: each((position, value) => named(textOf(position, value, type, property))),
      not,
    }
  const parts = each((position, value) =>
    comparison({ at, valuesAt: [position], op: '=', property, value, ...(casei && { casei }) }, not),
  )
  return not ? all(parts) : { any: parts }
}

/** True if the comparison holds for two values with this difference. */
function isOrdered(difference: number, compare: Comparison): boolean {
  if (difference === 0) return compare === '=' || compare === '<=' || compare === '>='
  return compare === '<>' || compare.startsWith(difference < 0 ? '<' : '>')
}

/** Milliseconds: the first instant of a given time, and the first one after it. */
interface Span {
  from: number
  next: number
}

/**
 * Compares a stored time with a span: within, before or after it. A date covers its whole day in UTC. A time
 * finer than the milliseconds of records lies between two of them.
 */
function timeCondition(column: string, compare: Comparison, { from, next }: Span): Condition<Place> {
  const than = (sign: '<' | '>=', at: number): Condition<Place> => ({
    column,
    compare: sign,
    to: new Date(at),
  })
  switch (compare) {
    case '=':
      return { all: [than('>=', from), than('<', next)] }
    case '<>':
      return { any: [than('<', from), than('>=', next)] }
    case '<':
      return than('<', from)
    case '<=':
      return than('<', next)
    case '>':
      return than('>=', next)
    case '>=':
      return than('>=', from)
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,20})?(?:[Zz]|[-+]\d\d:\d\d)$/
const TIME_HELP = "expected TIMESTAMP('2026-01-31T12:00:00Z') or DATE('2026-01-31')"

/** A text may be either: the OGC's suite and GDAL write both so, and GDAL writes midnight as a date and T. */
function timeOf(at: string, property: string, value: Scalar): Span {
  if (typeof value !== 'string' && typeof value !== 'object')
    throw new Cql2Error(at, `${property} is a time: ${TIME_HELP}`)
  const text = typeof value === 'string' ? value : 'date' in value ? value.date : value.timestamp
  const isDate = DATE.test(text) && !(typeof value === 'object' && 'timestamp' in value)
  const isTime = TIME.test(text) && !(typeof value === 'object' && 'date' in value)
  const isMidnight = typeof value === 'string' && DATE.test(text.replace(/T$/, ''))
  const from = isDate || isTime || isMidnight ? instantOf(text.replace(/T$/, ''), 'up') : undefined
  if (from === undefined)
    throw new Cql2Error(at, `${TIME_HELP}, with an existing day in the years 0001 to 9999`)
  return { from, next: isDate ? from + DAY_MS : instantOf(text.replace(/T$/, ''), 'down')! + 1 }
}

function numberOf(at: string, property: string, value: Scalar): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  throw new Cql2Error(at, `${property} is a number: expected a value such as 13.4`)
}

/** GDAL writes 1 and 0. */
function booleanOf(at: string, property: string, value: Scalar): boolean {
  if (typeof value === 'boolean') return value
  if (value === 1 || value === 0) return value === 1
  throw new Cql2Error(at, `${property} is a boolean: expected TRUE or FALSE`)
}

/** Checks a LIKE pattern, in which a backslash escapes the next character (OGC 21-065r2, 7.2). */
function patternOf(at: string, value: Scalar, type: 'text' | 'lower'): string {
  const pattern = textOf(at, value, type)
  if (/^(?:[^\\]|\\[^])*\\$/.test(pattern))
    throw new Cql2Error(at, 'expected a character after the last backslash of the pattern')
  return pattern
}

function textOf(at: string, value: Scalar, type: 'text' | 'lower', property = 'the pattern'): string {
  if (typeof value !== 'string')
    throw new Cql2Error(at, `${property} is a string: expected a value such as 'celo'`)
  // Postgres text cannot hold NUL or unpaired surrogates.
  if (/[\0\p{Surrogate}]/u.test(value))
    throw new Cql2Error(at, 'expected a string without NUL and unpaired surrogates')
  return type === 'lower' ? value.toLowerCase() : value
}

function boxOf(at: string, numbers: readonly number[]): Bbox {
  const [west, south, a, b, north] = numbers as [number, number, number, number, number]
  const flat = numbers.length === 6 ? [west, south, b, north] : numbers
  const box = boxFrom(flat)
  if (!box || (numbers.length === 6 && !(a <= numbers[5]!)))
    throw new Cql2Error(
      at,
      `expected BBOX(west, south, east, north) in degrees, longitudes from -180 to 180, latitudes from -90 to 90, south not above north; or six numbers, the third and the last of them heights${remedyFor(flat)}`,
    )
  return box
}
