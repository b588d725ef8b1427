import { cut } from '../../src/cut'
import { parseStrictJson } from '../../src/strict-json'
import {
  Builder,
  COMPARISONS,
  Cql2Error,
  MAX_CHARACTERS,
  MAX_DEPTH,
  exactNumber,
  unsupported,
  type Comparison,
  type Expression,
  type Operand,
  type Placed,
} from './expression'

/**
 * Parses a filter in CQL2 JSON (OGC 21-065r2, 8.3 and annex C). Throws a Cql2Error that names the position as
 * a JSON pointer.
 */
export function readJson(text: string): Expression {
  if (text.length > MAX_CHARACTERS)
    throw new Cql2Error('at /', `expected at most ${MAX_CHARACTERS} characters`)
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Cql2Error('at /', `expected JSON: ${cut(error.message, 200)}`)
  }
  const inexact = [...text.matchAll(STRING_OR_NUMBER)].find(
    ([token]) => !token.startsWith('"') && exactNumber(Number(token), token) !== shortest(Number(token)),
  )
  if (inexact)
    throw new Cql2Error(
      'at /',
      `expected a string for an integer beyond 2^53, such as "${inexact[0].slice(0, 80)}"`,
    )
  return new JsonReader().expression(value, '', 0)
}

/** Integer with the fewest digits among those beyond 2^53 that a double of JSON.parse may stand for. */
function shortest(number: number): number | bigint {
  return exactNumber(number, String(number))
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:e[-+]?\d+)?/gi

class JsonReader {
  private readonly build = new Builder()

  private operand(value: unknown, path: string, depth = 0): Operand {
    const { op, args } = (value ?? {}) as { op?: unknown; args?: unknown }
    if (!isObject(value, 'op', 'args') || op !== 'casei' || !Array.isArray(args))
      return operandOf(value, path)
    if (args.length !== 1 || depth > MAX_DEPTH)
      throw new Cql2Error(here(`${path}/args`), 'expected a property or a text')
    return this.build.casei(this.operand(args[0], `${path}/args/0`, depth + 1))
  }

  expression(value: unknown, path: string, depth: number): Expression {
    const at = here(path)
    if (depth > MAX_DEPTH) throw new Cql2Error(at, `expected at most ${MAX_DEPTH} levels of nested operators`)
    if (typeof value === 'boolean') return this.build.literal(at, value)
    const { op, args } = (value ?? {}) as { op?: unknown; args?: unknown }
    if (!isObject(value, 'op', 'args') || typeof op !== 'string' || !Array.isArray(args))
      throw new Cql2Error(at, 'expected {"op": ..., "args": [...]}, true or false')
    const inner = (i: number) => this.expression(args[i], `${path}/args/${i}`, depth + 1)
    const operand = (i: number) => this.operand(args[i], `${path}/args/${i}`)
    const need = (fits: boolean, what: string) => {
      if (!fits) throw new Cql2Error(`${at}/args`.replace('//', '/'), `expected ${what}`)
    }
    if (op === 'and' || op === 'or') {
      need(args.length >= 2, 'at least two expressions')
      return { at, op, args: args.map((_, i) => inner(i)) }
    }
    if (op === 'not') {
      need(args.length === 1, 'one expression')
      return { at, op, arg: inner(0) }
    }
    if (COMPARISONS.includes(op as Comparison)) {
      need(args.length === 2, 'a property and a value')
      return this.build.comparison(at, op as Comparison, operand(0), operand(1))
    }
    switch (op) {
      case 'like':
        need(args.length === 2, 'a property and a pattern')
        return this.build.like(at, operand(0), operand(1))
      case 'between':
        need(args.length === 3, 'a property and two values')
        return this.build.between(at, operand(0), operand(1), operand(2))
      case 'in': {
        const list: unknown = args[1]
        need(args.length === 2 && Array.isArray(list) && list.length > 0, 'a property and a list of values')
        const values = (list as unknown[]).map((each, i) => this.operand(each, `${path}/args/1/${i}`))
        return this.build.in(at, operand(0), values)
      }
      case 'isNull':
        need(args.length === 1, 'a property')
        return this.build.isNull(at, operand(0))
      case 's_intersects': {
        need(args.length === 2, 'a property and a geometry')
        const [left, right] = args.map((each, i) => {
          const inside = `${path}/args/${i}`
          return placeOf(each, here(inside)) ?? operandOf(each, inside)
        })
        return this.build.intersects(at, left!, right!)
      }
      default:
        throw new Cql2Error(at, unsupported(JSON.stringify(cut(op, 40))))
    }
  }
}

function operandOf(value: unknown, path: string): Operand {
  const at = here(path)
  if (typeof value === 'string' || typeof value === 'boolean') return { at, value }
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return { at, value: shortest(value) }
    throw new Cql2Error(at, 'expected a number of at most 1.8e308')
  }
  for (const name of ['property', 'date', 'timestamp'] as const)
    if (isObject(value, name) && typeof (value as Record<string, unknown>)[name] === 'string')
      return name === 'property'
        ? { at, property: (value as { property: string }).property }
        : { at, value: value as { date: string } }
  if (isObject(value, 'op', 'args')) {
    const { op } = value as { op: unknown }
    throw new Cql2Error(at, unsupported(JSON.stringify(cut(String(op), 40))))
  }
  throw new Cql2Error(
    at,
    'expected a string, a number, true, false, {"property": ...}, {"date": ...} or {"timestamp": ...}',
  )
}

function placeOf(value: unknown, at: string): Placed | undefined {
  const { bbox, type } = (value ?? {}) as { bbox?: unknown; type?: unknown }
  if (typeof type === 'string') return { at, geometry: value }
  const isBox =
    isObject(value, 'bbox') && Array.isArray(bbox) && bbox.every((each) => typeof each === 'number')
  return isBox ? { at, bbox } : undefined
}

/** True if the value is an object with exactly these members. */
function isObject(value: unknown, ...names: string[]): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name))
  )
}

function here(path: string): string {
  return `at ${path === '' ? '/' : path}`
}
