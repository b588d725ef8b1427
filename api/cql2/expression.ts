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
/**
 * `at` is the position in the input, for errors. `casei` marks an operand within CASEI (OGC 21-065r2, 7.3),
 * which ignores letter case.
 */
export type Operand = ({ property: string } | { value: Scalar }) & { at: string; casei?: true }
/** Unchecked GeoJSON geometry, or the numbers of a box. */
export type Spatial = { geometry: unknown } | { bbox: readonly number[] }
export type Placed = Spatial & { at: string }

/** `at` and `valuesAt` are positions in the input, of the expression or the property, and of the values. */
export type Expression = { at: string; valuesAt?: readonly string[] } & (
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

type Without<E, Key extends string> = E extends object ? Omit<E, Key> : never
type Predicate = Without<Extract<Expression, { property: string }>, 'at' | 'valuesAt'>

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
    const [operand, other, as] = 'property' in left ? [left, right, op] : [right, left, EXCHANGED[op]]
    const property = propertyOf(at, operand)
    return this.predicate(operand, [other], ([value]) => ({
      ...{ op: as, property, value: value! },
      ...caseiOf([left, right]),
    }))
  }

  between(at: string, operand: Operand, low: Operand, high: Operand): Expression {
    const folded = [operand, low, high].find(({ casei }) => casei)
    if (folded) throw new Cql2Error(folded.at, 'expected BETWEEN of numbers or times, without CASEI')
    const property = propertyOf(at, operand)
    return this.predicate(operand, [low, high], ([from, to]) => ({
      ...{ op: 'between', property, low: from!, high: to! },
    }))
  }

  in(at: string, operand: Operand, list: readonly Operand[]): Expression {
    const surplus = list[MAX_VALUES - this.values]
    if (surplus) throw new Cql2Error(surplus.at, `expected at most ${MAX_VALUES} values in lists`)
    this.values += list.length
    const property = propertyOf(at, operand)
    return this.predicate(operand, list, (values) => ({
      ...{ op: 'in', property, values },
      ...caseiOf([operand, ...list]),
    }))
  }

  like(at: string, operand: Operand, pattern: Operand): Expression {
    const property = propertyOf(at, operand)
    return this.predicate(operand, [pattern], ([text]) => {
      if (typeof text !== 'string')
        throw new Cql2Error(pattern.at, "expected LIKE with a pattern such as 'tower%'")
      return { op: 'like', property, pattern: text, ...caseiOf([operand, pattern]) }
    })
  }

  casei(operand: Operand): Operand {
    if ('value' in operand && typeof operand.value !== 'string')
      throw new Cql2Error(operand.at, 'expected CASEI of a property or a text')
    return { ...operand, casei: true }
  }

  isNull(at: string, operand: Operand): Expression {
    return this.counted({ at: operand.at, op: 'isNull', property: propertyOf(at, operand) })
  }

  intersects(at: string, left: Operand | Placed, right: Operand | Placed): Expression {
    const [operand, place] = isSpatial(left) ? [right, left] : [left, right]
    const expected = 'expected S_INTERSECTS of the property geometry and a geometry or BBOX'
    if (!isSpatial(place)) throw new Cql2Error(place.at, expected)
    if (isSpatial(operand) || !('property' in operand)) throw new Cql2Error(at, expected)
    const { at: placeAt, ...spatial } = place
    const { at: propertyAt, property } = operand
    return this.counted({ at: propertyAt, valuesAt: [placeAt], op: 's_intersects', property, ...spatial })
  }

  private predicate(
    property: Operand,
    values: readonly Operand[],
    make: (values: Scalar[]) => Predicate,
  ): Expression {
    const { at } = property
    return this.counted({ at, valuesAt: values.map((each) => each.at), ...make(values.map(literalOf)) })
  }

  private counted(expression: Expression): Expression {
    if (++this.predicates > MAX_PREDICATES)
      throw new Cql2Error(expression.at, `expected at most ${MAX_PREDICATES} predicates`)
    return expression
  }
}

/** CASEI applies to all operands of a predicate: otherwise it would compare folded with unfolded text. */
function caseiOf(operands: readonly Operand[]): { casei?: true } {
  const unmarked = operands.filter(({ casei }) => !casei)
  if (unmarked.length === operands.length) return {}
  const [first] = unmarked
  if (first)
    throw new Cql2Error(first.at, "expected CASEI on both sides, such as CASEI(memo) = CASEI('Gate')")
  return { casei: true }
}

function isSpatial(operand: Operand | Placed): operand is Placed {
  return 'geometry' in operand || 'bbox' in operand
}

function propertyOf(at: string, operand: Operand): string {
  if ('property' in operand) return operand.property
  throw new Cql2Error(at, 'expected a property and a value, not two values')
}

function literalOf(operand: Operand): Scalar {
  if ('value' in operand) return operand.value
  const name = shownName(operand.property)
  throw new Cql2Error(
    operand.at,
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
