import { cut } from '../../src/cut'
import { GeometryError } from '../../src/geodesy'
import { readWkt } from '../../src/location'
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
  type Scalar,
} from './expression'

/** The BNF's ranges differ slightly, but a name that no property has is rejected anyway. */
const NAME = /[:_\p{L}][:_\p{L}\p{M}\p{N}.]*/uy
const QUOTED_NAME = /"((?:[^"]|"")*)"/y
const STRING = /'((?:[^'\\]|''|\\[^])*)'(?!')/y
const NUMBER = /[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?(?![\w.])/iy
const COMPARISON = new RegExp(COMPARISONS.join('|'), 'y')
const SPACE = /[\s\x85]*/y
/** Words that are property names only in double quotes. */
const RESERVED = /^(?:and|or|not|like|between|in|is|null|true|false|s_intersects|casei)$/i
const GEOMETRIES = /^(?:(?:multi)?(?:point|linestring|polygon)|geometrycollection)(?:zm?|m)?$/i
const CONTROLS: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' },
  ...{ "'": "'", '\\': '\\' },
}

/**
 * Parses a filter in CQL2 Text (OGC 21-065r2, 8.2 and annex B) in linear time. Throws a Cql2Error that names
 * the number of the character. The only parser on npm, cql2-wasm, is a release candidate, and accepts all of
 * CQL2, most of which would then have to be rejected.
 */
export function readText(text: string): Expression {
  return new TextReader(text).read()
}

class TextReader {
  private at = 0
  private depth = 0
  private readonly build = new Builder()

  constructor(private readonly text: string) {}

  read(): Expression {
    if (this.text.length > MAX_CHARACTERS)
      throw new Cql2Error(here(MAX_CHARACTERS), `expected at most ${MAX_CHARACTERS} characters`)
    const expression = this.expression()
    if (this.start() < this.text.length) this.fail('AND, OR or the end')
    return expression
  }

  private expression(): Expression {
    const at = this.here()
    const args = [this.term()]
    while (this.word('or')) args.push(this.term())
    return args.length === 1 ? args[0]! : { at, op: 'or', args }
  }

  private term(): Expression {
    const at = this.here()
    const args = [this.factor()]
    while (this.word('and')) args.push(this.factor())
    return args.length === 1 ? args[0]! : { at, op: 'and', args }
  }

  private factor(): Expression {
    const at = this.here()
    return this.word('not') ? { at, op: 'not', arg: this.primary() } : this.primary()
  }

  private primary(): Expression {
    const at = this.here()
    if (this.mark('(')) {
      if (++this.depth > MAX_DEPTH)
        throw new Cql2Error(at, `expected at most ${MAX_DEPTH} levels of nested parentheses`)
      const expression = this.expression()
      if (!this.mark(')')) this.fail("AND, OR or ')'")
      this.depth--
      return expression
    }
    if (this.word('s_intersects')) return this.intersects(at)
    return this.predicate(at, this.operand())
  }

  private intersects(at: string): Expression {
    if (!this.mark('(')) this.fail("'('")
    const left = this.place()
    if (!this.mark(',')) this.fail("','")
    const right = this.place()
    if (!this.mark(')')) this.fail("')'")
    return this.build.intersects(at, left, right)
  }

  private predicate(at: string, left: Operand): Expression {
    const comparison = this.match(COMPARISON)?.[0] as Comparison | undefined
    if (comparison) return this.build.comparison(at, comparison, left, this.operand())
    if (this.word('is')) {
      const not = this.word('not')
      if (!this.word('null')) this.fail(not ? 'NULL' : 'NULL or NOT NULL')
      return negated(not, this.build.isNull(at, left))
    }
    const not = this.word('not')
    if (this.word('like')) return negated(not, this.build.like(at, left, this.operand()))
    if (this.word('between')) {
      const low = this.operand()
      if (!this.word('and')) this.fail('AND')
      return negated(not, this.build.between(at, left, low, this.operand()))
    }
    if (this.word('in')) return negated(not, this.build.in(at, left, this.list()))
    if (!not && 'value' in left && typeof left.value === 'boolean') return this.build.literal(at, left.value)
    if (not) return this.fail('LIKE, BETWEEN or IN')
    const example = 'property' in left ? ' (also for a boolean, as in revoked = true)' : ''
    return this.fail(`=, <>, <, >, <=, >=, [NOT] LIKE, [NOT] BETWEEN, [NOT] IN or IS [NOT] NULL${example}`)
  }

  private list(): Operand[] {
    if (!this.mark('(')) this.fail("'('")
    return this.rest(() => this.operand())
  }

  /** Reads items separated by commas, up to the closing parenthesis. */
  private rest<Item>(read: () => Item): Item[] {
    const items = [read()]
    while (this.mark(',')) items.push(read())
    if (!this.mark(')')) this.fail("',' or ')'")
    return items
  }

  private operand(): Operand {
    const start = this.start()
    const at = here(start)
    const string = this.string()
    if (string !== undefined) return { at, value: string }
    const number = this.match(NUMBER)?.[0]
    if (number !== undefined) return { at, value: exactNumber(finite(number, at), number) }
    return this.named<Operand>(start, (name) => {
      if (/^casei$/i.test(name) && this.mark('(', false)) return this.folded(start)
      if (/^(?:true|false)$/i.test(name)) return { at, value: /^t/i.test(name) }
      return /^(?:date|timestamp)$/i.test(name) && this.mark('(', false)
        ? { at, value: this.instant(name) }
        : undefined
    })
  }

  private folded(start: number): Operand {
    this.mark('(')
    if (++this.depth > MAX_DEPTH)
      throw new Cql2Error(here(start), `expected at most ${MAX_DEPTH} parentheses within each other`)
    const operand = this.build.casei(this.operand())
    this.depth--
    if (!this.mark(')')) this.fail("')'")
    return operand
  }

  private place(): Operand | Placed {
    const start = this.start()
    const at = here(start)
    return this.named<Placed>(start, (name) => {
      if (/^bbox$/i.test(name) && this.mark('(', false)) return { at, bbox: this.numbers() }
      return GEOMETRIES.test(name) ? { at, geometry: this.geometry(start) } : undefined
    })
  }

  /** Reads a property, or the result of `read` for a word that is not a property. */
  private named<Other>(
    start: number,
    read: (name: string) => Other | undefined,
  ): { at: string; property: string } | Other {
    const at = here(start)
    const quoted = this.match(QUOTED_NAME)?.[1]
    if (quoted !== undefined) return { at, property: quoted.replaceAll('""', '"') }
    const name = this.match(NAME)?.[0]
    const other = name === undefined ? undefined : read(name)
    if (other !== undefined) return other
    if (name === undefined || RESERVED.test(name)) this.fail('a property or a value', start)
    if (this.mark('(', false)) throw new Cql2Error(at, unsupported(`${cut(name, 40).toUpperCase()}()`))
    return { at, property: name }
  }

  private instant(name: string): Scalar {
    this.mark('(')
    const text = this.string() ?? this.fail("a string such as '2026-01-31'")
    if (!this.mark(')')) this.fail("')'")
    return /^date$/i.test(name) ? { date: text } : { timestamp: text }
  }

  private numbers(): number[] {
    this.mark('(')
    return this.rest(() => {
      const at = this.here()
      return finite(this.match(NUMBER)?.[0] ?? this.fail('a number'), at)
    })
  }

  /** Reads Well-Known Text from `start` up to its last parenthesis. */
  private geometry(start: number): unknown {
    const parenthesis = /[()]/g
    parenthesis.lastIndex = this.at
    let open = 0
    do {
      const found = parenthesis.exec(this.text) ?? this.fail('a geometry such as POINT(13.4 52.5)', start)
      open += found[0] === '(' ? 1 : -1
    } while (open > 0)
    this.at = parenthesis.lastIndex
    try {
      return readWkt(this.text.slice(start, this.at), false)
    } catch (error) {
      if (error instanceof GeometryError)
        throw new Cql2Error(here(start), error.message.replace(/^location: /, ''))
      throw error
    }
  }

  private string(): string | undefined {
    const start = this.start()
    const raw = this.match(STRING)?.[1]
    if (raw === undefined && this.text[start] === "'") this.fail("a string that ends with '", start)
    return raw?.replace(/''|\\[^]/g, (pair) => (pair === "''" ? "'" : (CONTROLS[pair[1]!] ?? pair)))
  }

  /** Returns the index of the next character that is not white space. */
  private start(): number {
    this.match(SPACE)
    return this.at
  }

  private here(): string {
    return here(this.start())
  }

  /** Consumes the next word if it is this keyword, in any letter case. */
  private word(keyword: string): boolean {
    const start = this.start()
    if (this.match(NAME)?.[0].toLowerCase() === keyword) return true
    this.at = start
    return false
  }

  /** Consumes the next character if it is this mark. @param take if false, only tests for it */
  private mark(mark: string, take = true): boolean {
    const found = this.text[this.start()] === mark
    if (found && take) this.at++
    return found
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    if (pattern !== SPACE) this.match(SPACE)
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found) this.at = pattern.lastIndex
    return found
  }

  private fail(expected: string, at = this.start()): never {
    const rest = cut(this.text.slice(at), 24).trim()
    throw new Cql2Error(here(at), `expected ${expected}, got ${rest === '' ? 'the end' : rest}`)
  }
}

function here(index: number): string {
  return `at character ${index + 1}`
}

function negated(not: boolean, arg: Expression): Expression {
  return not ? { at: arg.at, op: 'not', arg } : arg
}

function finite(text: string, at: string): number {
  const number = Number(text)
  if (!Number.isFinite(number)) throw new Cql2Error(at, 'expected a number of at most 1.8e308')
  return number
}
