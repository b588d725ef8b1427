import type { Expression } from '../api/cql2'

/** Filters in CQL2 for tests: generated at random, and written in both encodings. */

type Plain<E> = E extends { at: string } ? Omit<E, 'at' | 'valuesAt'> : never
/** An expression without positions in the text. */
export type Filter =
  | { op: 'and' | 'or'; args: readonly Filter[] }
  | { op: 'not'; arg: Filter }
  | Exclude<Plain<Expression>, { op: 'and' | 'or' | 'not' }>
type Leaf = Exclude<Filter, { op: 'and' | 'or' | 'not' }>

/** Returns an expression without the positions of its parts. */
export function plain({ at: _, valuesAt: __, ...expression }: Expression): Filter {
  if ('args' in expression) return { op: expression.op, args: expression.args.map(plain) }
  if ('arg' in expression) return { op: 'not', arg: plain(expression.arg) }
  return expression
}

/** Builds a tree of these leaves. */
export function someFilter(random: () => number, leaf: () => Leaf, depth = 4): Filter {
  const kind = depth === 0 ? 1 : random()
  const inner = () => someFilter(random, leaf, depth - 1)
  if (kind < 0.2) return { op: 'not', arg: inner() }
  if (kind < 0.6)
    return {
      op: kind < 0.4 ? 'and' : 'or',
      args: Array.from({ length: 2 + Math.floor(random() * 2) }, inner),
    }
  return leaf()
}

/** CQL2 JSON of a filter, as a value. */
export function jsonOf(filter: Filter): unknown {
  switch (filter.op) {
    case 'and':
    case 'or':
      return { op: filter.op, args: filter.args.map(jsonOf) }
    case 'not':
      return { op: 'not', args: [jsonOf(filter.arg)] }
    case 'literal':
      return filter.value
  }
  const folded = (operand: unknown) =>
    'casei' in filter && filter.casei ? { op: 'casei', args: [operand] } : operand
  const args: unknown[] = [folded({ property: filter.property })]
  if (filter.op === 'between') args.push(filter.low, filter.high)
  else if (filter.op === 'in') args.push(filter.values.map(folded))
  else if (filter.op === 'like') args.push(folded(filter.pattern))
  else if (filter.op === 's_intersects') args.push('bbox' in filter ? { bbox: filter.bbox } : filter.geometry)
  else if (filter.op !== 'isNull') args.push(folded(filter.value))
  return { op: filter.op, args }
}

/** CQL2 Text of a filter, in one of many spellings. */
export function textOf(filter: Filter, random: () => number): string {
  const pick = <T>(...list: T[]) => list[Math.floor(random() * list.length)]!
  const space = () => pick('', ' ', '  ', '\n\t')
  const gap = () => pick(' ', ' ', '\n', ' \t')
  const word = (text: string) => pick(text, text.toLowerCase(), text[0]! + text.slice(1).toLowerCase())
  const name = (text: string) => pick(text, `"${text}"`)
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", pick("''", "\\'"))}'`
  const number = (value: number) => {
    const exponent = value.toExponential().replace('e+', 'e')
    return pick(String(value), exponent, exponent.toUpperCase(), value > 0 ? `+${value}` : String(value))
  }
  const value = (scalar: unknown): string => {
    if (typeof scalar === 'string') return quoted(scalar)
    if (typeof scalar === 'number') return number(scalar)
    if (typeof scalar === 'boolean') return word(scalar ? 'TRUE' : 'FALSE')
    const [[kind, text]] = Object.entries(scalar as object) as [[string, string]]
    return `${word(kind.toUpperCase())}${space()}(${space()}'${text}'${space()})`
  }
  const enclosed = (part: Filter) => {
    const isTree = part.op === 'and' || part.op === 'or' || part.op === 'not'
    return isTree || random() < 0.2 ? `(${space()}${text(part)}${space()})` : text(part)
  }
  const leaf = (part: Leaf, not: string): string => {
    if (part.op === 'literal') return value(part.value)
    const isFolded = 'casei' in part && part.casei
    const folded = (operand: string) =>
      isFolded ? `${word('CASEI')}${space()}(${space()}${operand}${space()})` : operand
    const property = folded(name(part.property))
    switch (part.op) {
      case 'isNull':
        return `${property}${gap()}${word('IS')}${gap()}${not}${word('NULL')}`
      case 'like':
        return `${property}${gap()}${not}${word('LIKE')}${gap()}${folded(quoted(part.pattern))}`
      case 'between':
        return `${property}${gap()}${not}${word('BETWEEN')}${gap()}${value(part.low)}${gap()}${word('AND')}${gap()}${value(part.high)}`
      case 'in':
        return `${property}${gap()}${not}${word('IN')}${space()}(${part.values.map((each) => `${space()}${folded(value(each))}${space()}`).join()})`
      case 's_intersects': {
        const place =
          'bbox' in part
            ? `${word('BBOX')}${space()}(${part.bbox.map((each) => space() + number(each)).join()})`
            : wktOf(part.geometry as GeoJson)
        const [left, right] = random() < 0.8 ? [property, place] : [place, property]
        return `${word('S_INTERSECTS')}${space()}(${space()}${left}${space()},${space()}${right}${space()})`
      }
    }
    const mirrored = { '=': '=', '<>': '<>', '<': '>', '>': '<', '<=': '>=', '>=': '<=' }[part.op]
    return random() < 0.8
      ? `${property}${space()}${part.op}${space()}${folded(value(part.value))}`
      : `${folded(value(part.value))}${space()}${mirrored}${space()}${property}`
  }
  const text = (part: Filter): string => {
    if (part.op === 'and' || part.op === 'or')
      return part.args.map(enclosed).join(`${gap()}${word(part.op.toUpperCase())}${gap()}`)
    if (part.op !== 'not') return leaf(part as Leaf, '')
    const { arg } = part
    const hasOwn = arg.op === 'isNull' || arg.op === 'like' || arg.op === 'between' || arg.op === 'in'
    return hasOwn && random() < 0.5
      ? leaf(arg, `${word('NOT')}${gap()}`)
      : `${word('NOT')}${gap()}${enclosed(arg)}`
  }
  return space() + text(filter) + space()
}

interface GeoJson {
  type: string
  coordinates?: unknown
  geometries?: GeoJson[]
}

function wktOf({ type, coordinates, geometries }: GeoJson): string {
  const list = (value: unknown): string =>
    Array.isArray(value) && typeof value[0] === 'number'
      ? value.join(' ')
      : `(${(value as unknown[]).map(list).join(', ')})`
  if (geometries) return `GEOMETRYCOLLECTION(${geometries.map(wktOf).join(', ')})`
  return `${type.toUpperCase()}${type === 'Point' ? `(${list(coordinates)})` : list(coordinates)}`
}
