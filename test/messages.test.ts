import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'
import { claimOf, OPERATION_ROWS } from '../src/operations/table'
import { en } from '../web/messages/en'
import { pseudo } from '../web/messages/pseudo'
import { reasonIn, type Reasons } from '../web/messages/reasons'
import * as client from '@geospatial-attestation/client'
import { EffortError, GeometryError } from '../src/geodesy'

/** Texts of the pages: components read them from the catalogue of messages (web/messages). */

const filesIn = (ending: RegExp) =>
  readdirSync('web', { recursive: true, encoding: 'utf8' })
    .map((file) => path.posix.join('web', file.replaceAll('\\', '/')))
    .filter((file) => ending.test(file) && !/\/(build|messages)\//.test(file))
const components = filesIn(/\.tsx$/)

/** Attributes and properties of components whose values users read or hear. */
const SHOWN =
  /^(aria-(label|description|valuetext|roledescription)|title|alt|placeholder|label|help|verb|what|any|name)$/
/** HTML elements. Their attribute `name` is for programs. */
const isElement = (tag: string) => /^[a-z]/.test(tag)
const WORD = /\p{L}{2}/u

/** Node of a syntax tree (ESTree). */
interface Node {
  type: string
  start: number
  [member: string]: any
}

/** Literal texts of a component that users would see, as `line: text`. */
function literalsIn(text: string): string[] {
  const found: string[] = []
  const report = ({ start }: Node, literal: string) => {
    if (WORD.test(literal)) found.push(`${text.slice(0, start).split('\n').length}: ${literal.trim()}`)
  }
  /** Reports the literal texts that an expression can evaluate to. */
  const values = (node: Node): void => {
    const { type, operator, left, right } = node
    if (type === 'Literal' && typeof node.value === 'string') report(node, node.value)
    else if (type === 'TemplateLiteral')
      report(node, node.quasis.map(({ value }: Node) => value.cooked).join(' '))
    else if (type === 'ConditionalExpression') [node.consequent, node.alternate].forEach(values)
    else if (left) (operator === '&&' ? [right] : [left, right]).forEach(values)
    else if (type === 'ArrayExpression') node.elements.forEach(values)
    else if (type === 'MemberExpression' && node.computed) values(node.object)
    else if (type === 'ParenthesizedExpression' || type === 'JSXExpressionContainer') values(node.expression)
  }
  const visit = (node: Node): void => {
    const { type } = node
    if (type === 'JSXText') report(node, node.value)
    for (const child of node.children ?? []) if (child.type === 'JSXExpressionContainer') values(child)
    for (const { name, value } of type === 'JSXOpeningElement' ? node.attributes : []) {
      const tag = text.slice(node.name.start, node.name.end)
      const isKey = name?.name === 'name' && (isElement(tag) || KEYED.has(tag))
      if (value && SHOWN.test(name.name) && !isKey) values(value)
    }
    for (const member of Object.values(node).flat())
      if (typeof member?.type === 'string') visit(member as Node)
  }
  visit(parseAst(text, { lang: 'tsx' }))
  return found
}
/** Components whose `name` is a key. */
const KEYED = new Set(['Choice', 'GeometryField', 'Text', 'TextField'])

test('no component of the web interface contains a literal text', () => {
  expect(components.length).toBeGreaterThan(30)
  const found = components.flatMap((file) =>
    literalsIn(readFileSync(file, 'utf8')).map((literal) => `${file}:${literal}`),
  )
  expect(found).toEqual([])
})
test('the check of components finds each kind of literal text', () => {
  const found = literalsIn(
    `const Example = () => <p title="One" class="row" aria-label={isOpen ? 'Two' : say.three}>
       Three {count} {isLoud && 'Four'} {\`Five \${count}\`} {['Six', 'Seven'][0]} {name || 'Eight'} {(say.nine)}
       <input name="memo" placeholder={'Nine'} /> <Field name="Ten" /> <Text name="memo" /> · ✕
     </p>`,
  )
  expect(found.map((each) => each.replace(/^\d+: /, ''))).toEqual(
    expect.arrayContaining(['One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']),
  )
  expect(found).toHaveLength(10)
})

test('the styles name neither left nor right, which right-to-left languages require', () => {
  const physical =
    /(?:^|[\s;{])(?:left|right|(?:margin|padding|border)-(?:left|right)[\w-]*)\s*:|text-align:\s*(?:left|right)|(?:margin|padding): *[^\s;]+ ([^\s;]+) [^\s;]+ (?!\1;)[^\s;]+;/g
  const found = filesIn(/\.css$/).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(physical)].map(([text]) => `${file}: ${text.trim()}`),
  )
  expect(found).toEqual([])
})

test('the pages write each result in the words of the client', () => {
  for (const [name, { inputs, parameters = [], units }] of OPERATION_ROWS)
    for (const result of units ? [0.01, 4109.53] : [true, false]) {
      const claims = en.claims[name]
      const claim = typeof claims === 'function' ? claims : claims[result === true ? 0 : 1]
      const asked = {
        result,
        inputs: inputs.map((_, i) => `place ${i}`),
        numbers: parameters.map(() => 5000),
      }
      const written = claimOf(name, asked, (value, unit) => `${value}${unit ? ' m' : ''}`)
      expect(claim({ a: 'place 0', b: 'place 1' }, units ? `${Number(result)} m` : '5000 m')).toBe(written)
    }
})

test('the pseudo-language has every message, and no message in English', () => {
  const leaves = (messages: unknown, at: string): [string, unknown][] =>
    typeof messages === 'object' && messages !== null
      ? Object.entries(messages).flatMap(([name, value]) => leaves(value, `${at}.${name}`))
      : [[at, messages]]
  // English has the sentences of the errors.
  const [english, other] = [leaves(en, ''), leaves({ ...pseudo, reasons: {} }, '')]
  expect(other.map(([at]) => at)).toEqual(english.map(([at]) => at))
  expect(english.length).toBeGreaterThan(300)
  for (const [i, [at, message]] of english.entries()) {
    const translated = other[i]![1]
    if (typeof message === 'string') expect(translated, at).toMatch(/^\[.*\]$/su)
    else expect(translated, at).toBeTypeOf('function')
  }
})

describe('the reason of an error', () => {
  const refusal = { status: 404, title: 'Attestation Not Found', detail: 'from: unknown', retryAfter: 7 }
  const french: Reasons = {
    GeometryError: ({ path }) => `position refusée : ${path}`,
    RateLimitedError: ({ retryAfter }) => `réessayez dans ${retryAfter} s`,
    InvalidInputError: (_, sentence) => `refusé : ${sentence}`,
    LostTransactionError: ({ reason }) => (reason === 'replaced' ? 'remplacée' : 'perdue'),
  }
  test('is written by the language from the fields of its kind', () => {
    expect(reasonIn(french, new GeometryError('from.coordinates[0]', 'x'))).toBe(
      'position refusée : from.coordinates[0]',
    )
    expect(reasonIn(french, new client.RateLimitedError(refusal))).toBe('réessayez dans 7 s')
    expect(reasonIn(french, new client.InvalidInputError(refusal), refusal.detail)).toBe(
      'refusé : from: unknown',
    )
    expect(reasonIn(french, new client.LostTransactionError('x', 'replaced', '0x'))).toBe('remplacée')
  })
  test('is the English sentence for a kind without an entry, and for values that are not errors', () => {
    expect(reasonIn(french, new client.ConnectionError('No response.'))).toBe('No response.')
    expect(reasonIn(french, new client.AttestationNotFoundError(refusal), 'from: unknown')).toBe(
      'from: unknown',
    )
    expect(reasonIn(french, new TypeError('toString'))).toBe('toString')
    expect(reasonIn(french, Object.assign(new Error('x'), { name: 'constructor' }))).toBe('x')
    expect(['text', undefined, null, 5].map((each) => reasonIn(french, each))).toEqual(
      ['text', 'undefined', 'null', '5'], // oxfmt-ignore
    )
  })
  test('can be written for each error class of the client and the kernel', () => {
    const classes = Object.keys({ ...client, EffortError, GeometryError }).filter((name) =>
      /^[A-Z]\w+Error$/.test(name),
    )
    expect(classes.length).toBeGreaterThan(15)
    const lacking = classes.filter((name) => !Object.hasOwn(pseudo.reasons, name))
    // The base class, and an error that no page can cause.
    expect(lacking.sort()).toEqual(['GeoError', 'PartlyAttestedError'])
  })
})
