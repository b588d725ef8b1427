// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'

/** Members of Math whose results ECMAScript defines exactly, so that all engines agree. */
const DEFINED = [
  'PI',
  'abs',
  'ceil',
  'clz32',
  'floor',
  'fround',
  'imul',
  'max',
  'min',
  'round',
  'sign',
  'sqrt',
  'trunc',
]

/**
 * A plugin of rolldown that makes modules compute the same bits in every engine. It replaces the functions of
 * Math whose results differ between engines by those of another module. The build fails if a module uses a
 * function that is neither replaced nor exactly defined by the language, a power of two numbers, or Math in a
 * way that the plugin cannot analyse.
 *
 * @param {object} options
 * @param {string} options.math absolute path of the module that exports the replacements as functions
 * @param {(file: string) => 'replace' | 'hand on' | 'check' | undefined} options.treat how to treat a module;
 * undefined leaves it unchanged. `hand on` also lets the module pass Math on as an object, which then has
 * only defined and replaced members. `check` fails where `replace` would replace
 */
export function exactMath({ math, treat }) {
  const replaced = [...readFileSync(math, 'utf8').matchAll(/^export function (\w+)/gm)].map(
    ([, name]) => name,
  )
  return {
    name: 'exact-math',
    transform(code, id) {
      const treatment = treat(id)
      if (treatment === undefined || !/\bMath\b|\*\*/.test(code)) return null
      const program = this.parse(code, { lang: id.endsWith('.ts') ? 'ts' : 'js' })
      const edits = []
      const used = new Set()
      const replacement = (name) => {
        used.add(name)
        return `$math_${name}`
      }
      const visit = (node, parent) => {
        const refuse = (problem) =>
          this.error(`${id}:${code.slice(0, node.start).split('\n').length}: ${problem}`)
        // In `Math.f || fallback`, the fallback is never used: the replacement always exists.
        const name =
          node.type === 'LogicalExpression' && node.operator === '||'
            ? memberOfMath(node.left)
            : memberOfMath(node)
        if (name !== undefined) {
          if (DEFINED.includes(name)) return
          if (treatment === 'check' || !replaced.includes(name))
            refuse(`engines differ in Math.${name}, which ${math} does not replace`)
          edits.push([node, replacement(name)])
        } else if (isMath(node, parent)) {
          if (treatment !== 'hand on') refuse('expected Math only as in Math.sin, so that every use is seen')
          const members = [
            ...DEFINED.map((each) => `${each}: Math.${each}`),
            ...replaced.map((each) => `${each}: ${replacement(each)}`),
          ]
          edits.push([node, `({ ${members.join(', ')} })`])
        } else if (isPower(node)) {
          const power = constantPower(node)
          if (power === undefined)
            refuse('engines differ in powers: expected 2 ** <integer literal>, or a product')
          edits.push([node, `(${power})`])
        } else for (const child of childrenOf(node)) visit(child, node)
      }
      visit(program)
      if (edits.length === 0) return null
      return { code: withImports(program, math, used) + edited(code, edits), map: null }
    },
  }
}

/** The member's name if the node is `Math.name`. */
function memberOfMath({ type, object, property, computed }) {
  return type === 'MemberExpression' && !computed && object.type === 'Identifier' && object.name === 'Math'
    ? property.name
    : undefined
}

/** True for Math itself: an identifier that does not name a property, or a member of the global object. */
function isMath(node, parent) {
  if (node.type === 'MemberExpression')
    return (
      ['globalThis', 'window', 'self', 'global'].includes(node.object.name) &&
      [node.property.name, node.property.value].includes('Math')
    )
  if (node.type !== 'Identifier' || node.name !== 'Math') return false
  const isName = (parent.key === node && !parent.shorthand) || parent.property === node
  return !isName || parent.computed
}

function isPower({ type, operator, left }) {
  return (
    (type === 'BinaryExpression' && operator === '**' && left.bigint === undefined) ||
    (type === 'AssignmentExpression' && operator === '**=')
  )
}

/** The value of 2 to the power of a whole literal. Undefined for other powers. */
function constantPower({ left, right, type }) {
  const negative = right.type === 'UnaryExpression' && right.operator === '-'
  const exponent = negative ? -right.argument.value : right.value
  return type === 'BinaryExpression' && left.value === 2 && Number.isInteger(exponent)
    ? 2 ** exponent
    : undefined
}

function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((child) => child !== null && typeof child === 'object' && typeof child.type === 'string')
}

/** Imports of the used replacements, on the first line, so that line numbers do not change. */
function withImports({ body }, math, used) {
  if (used.size === 0) return ''
  const isModule = body.some(({ type }) => /^(Import|Export)/.test(type))
  const names = (as) => [...used].map((name) => `${name}${as}$math_${name}`).join(', ')
  return isModule
    ? `import { ${names(' as ')} } from ${JSON.stringify(math)};`
    : `const { ${names(': ')} } = require(${JSON.stringify(math)});`
}

function edited(code, edits) {
  let text = ''
  let at = 0
  for (const [{ start, end }, replacement] of edits.sort(([a], [b]) => a.start - b.start)) {
    text += code.slice(at, start) + replacement
    at = end
  }
  return text + code.slice(at)
}
