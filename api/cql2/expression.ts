import { cut } from '../../src/cut'

/**
 * Filter expression of both encodings of CQL2, independent of the properties: Basic CQL2, the advanced
 * comparison operators, CASEI, and S_INTERSECTS between a property and a literal (OGC 21-065r2, 6, 7.2, 7.3
 * and 7.5).
 */

/** Limit of a filter. Concerns only those that do not arrive in a request head, which has at most 16 KiB. */
export const MAX_CHARACTERS = 16_000
/** Maximum nesting of parentheses or operators. */
export const MAX_DEPTH = 32
const MAX_PREDICATES = 200
/** Maximum number of values in all lists together. */
const MAX_VALUES = 1_000

export const COMPARISONS = ['=', '<>', '<=', '>=', '<', '>'] as const
export type Comparison = (typeof COMPARISONS)[number]
/** Comparison with its sides exchanged. */
const EXCHANGED: Record<Comparison, Comparison> = {
  ...{ '=': '=', '<>': '<>' },
  ...{ '<': '>', '>': '<', '<=': '>=', '>=': '<=' },
}

/** Literal. Dates and times keep their original text; a bigint is an integer beyond 2^53. */
export type Scalar = string | number | bigint | boolean | { date: string } | { timestamp: string }
/** `casei` marks an operand within CASEI (OGC 21-065r2, 7.3), which ignores letter case. */
export type Operand = ({ property: string } | { value: Scalar }) & { casei?: true }
/** Unchecked GeoJSON geometry, or the numbers of a box. */
export type Spatial = { geometry: unknown } | { bbox: readonly number[] }

/** `at` is the position in the input, for errors. */
export type Expression = { at: string } & (
  | { op: 'and' | 'or'; args: readonly Expression[] }
  | { op: 'not'; arg: Expression }
  | { op: 'literal'; value: boolean }
  | { op: Comparison; property: string; value: Scalar; casei?: true }
  | { op: 'between'; property: string; low: Scalar; high: Scalar }
  | { op: 'in'; property: string; values: readonly Scalar[]; casei?: true }
  | { op: 'like'; property: string; pattern: string; casei?: true }
  | { op: 'isNull'; property: string }
  | ({ op: 's_intersects'; property: string } & Spatial)
)

/** The filter is invalid or unsupported. The message names the position and the expected form. */
export class Cql2Error extends Error {
  override readonly name = 'Cql2Error'

  constructor(at: string, detail: string) {
    super(`${at}: ${detail}`)
  }
}

/**
 * Returns the number, or a bigint if the text denotes an integer beyond 2^53.
 * @param number value of the text as a double
 * @param text decimal number, optionally with a sign, a point and an exponent
 */
export function exactNumber(number: number, text: string): number | bigint {
  if (!Number.isInteger(number) || Number.isSafeInteger(number)) return number
  const [, sign, whole, fraction = '', exponent = '0'] = /^([-+]?)(\d*)\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text)!
  const zeros = Number(exponent) - fraction.length
  const digits = whole! + fraction
  if (zeros < 0 && /[1-9]/.test(digits.slice(zeros))) return number
  const size = zeros < 0 ? BigInt(digits.slice(0, zeros)) : BigInt(digits) * 10n ** BigInt(zeros)
  return sign === '-' ? -size : size
}

/** Builds the expressions of one filter within the limits. */
export class Builder {
  private predicates = 0
  private values = 0

  literal(at: string, value: boolean): Expression {
    return this.counted({ at, op: 'literal', value })
  }

  comparison(at: string, op: Comparison, left: Operand, right: Operand): Expression {
    const [property, value, as] =
      'property' in left
        ? [left.property, literalOf(at, right), op]
        : [propertyOf(at, right), left.value, EXCHANGED[op]]
    return this.counted({ at, op: as, property, value, ...caseiOf(at, [left, right]) })
  }

  between(at: string, operand: Operand, low: Operand, high: Operand): Expression {
    if ([operand, low, high].some(({ casei }) => casei))
      throw new Cql2Error(at, 'expected BETWEEN of numbers or times, without CASEI')
    const bounds = { low: literalOf(at, low), high: literalOf(at, high) }
    return this.counted({ at, op: 'between', property: propertyOf(at, operand), ...bounds })
  }

  in(at: string, operand: Operand, list: readonly Operand[]): Expression {
    const values = list.map((each) => literalOf(at, each))
    this.values += values.length
    if (this.values > MAX_VALUES) throw new Cql2Error(at, `expected at most ${MAX_VALUES} values in lists`)
    const property = propertyOf(at, operand)
    return this.counted({ at, op: 'in', property, values, ...caseiOf(at, [operand, ...list]) })
  }

  like(at: string, operand: Operand, pattern: Operand): Expression {
    const text = literalOf(at, pattern)
    if (typeof text !== 'string') throw new Cql2Error(at, "expected LIKE with a pattern such as 'tower%'")
    const property = propertyOf(at, operand)
    return this.counted({ at, op: 'like', property, pattern: text, ...caseiOf(at, [operand, pattern]) })
  }

  casei(at: string, operand: Operand): Operand {
    if ('value' in operand && typeof operand.value !== 'string')
      throw new Cql2Error(at, 'expected CASEI of a property or a text')
    return { ...operand, casei: true }
  }

  isNull(at: string, operand: Operand): Expression {
    return this.counted({ at, op: 'isNull', property: propertyOf(at, operand) })
  }

  intersects(at: string, left: Operand | Spatial, right: Operand | Spatial): Expression {
    const [operand, place] = isSpatial(left) ? [right, left] : [left, right]
    if (isSpatial(operand) || !isSpatial(place) || !('property' in operand))
      throw new Cql2Error(at, 'expected S_INTERSECTS of the property geometry and a geometry or BBOX')
    return this.counted({ at, op: 's_intersects', property: operand.property, ...place })
  }

  private counted(expression: Expression): Expression {
    if (++this.predicates > MAX_PREDICATES)
      throw new Cql2Error(expression.at, `expected at most ${MAX_PREDICATES} predicates`)
    return expression
  }
}

/** CASEI applies to all operands of a predicate: otherwise it would compare folded with unfolded text. */
function caseiOf(at: string, operands: readonly Operand[]): { casei?: true } {
  const marked = operands.filter(({ casei }) => casei).length
  if (marked > 0 && marked < operands.length)
    throw new Cql2Error(at, "expected CASEI on both sides, such as CASEI(memo) = CASEI('Gate')")
  return marked > 0 ? { casei: true } : {}
}

function isSpatial(operand: Operand | Spatial): operand is Spatial {
  return 'geometry' in operand || 'bbox' in operand
}

function propertyOf(at: string, operand: Operand): string {
  if ('property' in operand) return operand.property
  throw new Cql2Error(at, 'expected a property and a value, not two values')
}

function literalOf(at: string, operand: Operand): Scalar {
  if ('value' in operand) return operand.value
  const name = shownName(operand.property)
  throw new Cql2Error(
    at,
    `expected a property and a value, got the property ${name} for a value (two properties ` +
      `cannot be compared). Write a string as '${name}', or in cql2-json as "${name}"`,
  )
}

/** Beginning of a name, for errors. */
export function shownName(property: string): string {
  return cut(property, 40)
}

/** Error detail for parts of CQL2 that are not supported. */
export function unsupported(name: string): string {
  return `${name} is not supported: expected comparisons, LIKE, BETWEEN, IN, IS NULL or S_INTERSECTS, with CASEI for texts, joined by AND, OR and NOT`
}
