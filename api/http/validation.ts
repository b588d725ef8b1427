import type { Static, TArray, TInteger, TNumber, TSchema, TString, TUnsafe } from '@sinclair/typebox'
import { cut } from '../../src/cut'
import { describe } from '../../src/geodesy'
import { TARGET } from './schema'

/**
 * Checks requests by their schemas. Fastify's own validator (ajv) reports what a schema demands, but not how
 * to correct the request: these rules add that, and conditions that JSON Schema cannot express.
 */
export interface Rules<T = unknown> {
  /** Problem of a value of another type, such as `expected a number`, and of a missing value. */
  type?: string
  /** Problem of a missing value, if it differs from `type`. */
  missing?: string
  /** Problem of a value of the right type that does not match the pattern or the range. */
  form?: string
  /** Returns any further problem of a value. */
  test?: (value: T) => string | undefined
  /** Problems do not repeat the value. */
  isSecret?: true
  /** Further names of a property; exactly one of all its names may be given. */
  aliases?: readonly string[]
  /** For oneOf: the property whose constant selects the form. */
  discriminator?: string
  /** For oneOf: the property whose presence selects the last form. */
  marker?: string
  /** The route's handler reads the value and reports its problems. */
  unchecked?: true
  /** For an object: advice for likely fields that it does not have. */
  instead?: Readonly<Record<string, string>>
  /** For a body: property to check before the others, including checks that need more than the schema. */
  first?: string
}
const RULES = Symbol('rules of a schema')

export function withRules<S extends TSchema>(schema: S, rules: Rules<Static<S>>): S {
  return { ...schema, [RULES]: { ...rulesOf(schema), ...rules } }
}

/** Documents a value with this schema without checking it: the handler gets the value unchanged. */
export function unchecked(schema: TSchema): TUnsafe<unknown> {
  return withRules(schema, { unchecked: true })
}

export function rulesOf(schema: TSchema): Rules<never> {
  return (schema as { [RULES]?: Rules<never> })[RULES] ?? {}
}

/** Problem of a request: a place in it, such as `to` or `operations[1]: to`, and the rule. */
export interface RequestProblem {
  place: string
  problem: string
  /** Property of the body with the place; absent if the body is not an object, or has an unknown field. */
  property?: string
}

/** @param label name of the value in messages; @param prefix text before the names of its properties */
type Check = (value: unknown, label: string, prefix: string) => RequestProblem | undefined

/** Compiles the check of a body, which returns the first problem in the order of the schema's properties. */
export function compileCheck(schema: TSchema): (body: unknown) => RequestProblem | undefined {
  const check = compile(schema)
  return (body) => check(body, 'body', '')
}

/** Validates the bodies of a route by its schema, for Fastify. */
export function bodyValidator(schema: TSchema, errorOf: (problem: string) => Error) {
  const check = compileCheck(schema)
  return (body: unknown) => {
    const found = check(body)
    return found ? { error: errorOf(`${found.place}: ${found.problem}`) } : true
  }
}

function compile(schema: TSchema): Check {
  if (rulesOf(schema).unchecked) return () => undefined
  const target = (schema as { [TARGET]?: TSchema })[TARGET]
  if (target) return compile(target)
  if (schema.oneOf) return compileOneOf(schema, schema.oneOf as TSchema[])
  const allowed = choicesOf(schema)
  if (allowed)
    return (value, label) =>
      allowed.includes(value)
        ? undefined
        : { place: label, problem: received(`expected ${inWords(allowed)}`, value) }
  switch (schema.type) {
    case 'object':
      return schema.patternProperties ? compileRecord(schema) : compileObject(schema as ObjectSchema)
    case 'array':
      return compileList(schema)
    case 'string':
      return compileString(schema)
    case 'number':
    case 'integer':
      return compileNumber(schema)
    case 'boolean':
      return compileType(schema, (value) => typeof value === 'boolean')
  }
  throw new TypeError(`no check for the schema ${JSON.stringify(schema).slice(0, 200)}`)
}

/** Values that a schema lists: of an enum, of a union of literals, or of a constant. */
function choicesOf({ enum: values, anyOf, ...schema }: TSchema): readonly unknown[] | undefined {
  if (values) return values as unknown[]
  const forms = (anyOf ?? [schema]) as TSchema[]
  return forms.every((form) => 'const' in form) ? forms.map((form) => form.const as unknown) : undefined
}

type ObjectSchema = TSchema & { properties: Record<string, TSchema>; required?: readonly string[] }

/** Compiles the check of an object without unknown fields: a misspelt `recipient` must not become zero. */
function compileObject(schema: ObjectSchema): Check {
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const { aliases = [], missing } = rulesOf(property)
    const check = compile(property)
    const required = schema.required?.includes(name) ?? false
    return {
      ...{ name, names: [name, ...aliases], check },
      problem: required ? (missing ?? check(undefined, '', '')?.problem ?? 'missing') : undefined,
    }
  })
  const known = properties.flatMap(({ names }) => names)
  const notObject = `expected a JSON object with ${fieldsInWords(properties)}`
  const { instead = {} } = rulesOf(schema)
  return (value, label, prefix) => {
    if (!isObject(value)) return { place: label, problem: notObject }
    for (const field of Object.keys(value))
      if (!known.includes(field))
        return {
          place: prefix + cut(field, 40),
          problem: Object.hasOwn(instead, field)
            ? instead[field]!
            : `unknown field. Known fields: ${known.join(', ')}.`,
        }
    for (const { name, names, check, problem } of properties) {
      let given: string | undefined
      for (const each of names) {
        if (value[each] === undefined) continue
        if (given !== undefined)
          return {
            place: `${prefix}${given}, ${each}`,
            problem: 'two names of one parameter are set. Set only one of them.',
            property: name,
          }
        given = each
      }
      if (given !== undefined) {
        const found = check(value[given], prefix + given, `${prefix}${given}.`)
        if (found) return { ...found, property: name }
      } else if (problem !== undefined) return { place: prefix + name, problem, property: name }
    }
    return undefined
  }
}

/** Names of an object's fields, the required ones first. */
function fieldsInWords(properties: { names: string[]; problem: string | undefined }[]): string {
  const listed = (isRequired: boolean) =>
    properties
      .filter(({ problem }) => (problem !== undefined) === isRequired)
      .map(({ names }) => names.join(' or '))
  const [required, optional] = [listed(true), listed(false)]
  const field = `field${(required.length || optional.length) === 1 ? '' : 's'}`
  if (required.length === 0) return `the optional ${field} ${optional.join(', ')}`
  return `the ${field} ${required.join(', ')}${optional.length === 0 ? '' : `; optional: ${optional.join(', ')}`}`
}

/** Compiles the check of an object with any names, whose values have one schema (Type.Record). */
function compileRecord(schema: TSchema): Check {
  const { type = 'expected a JSON object' } = rulesOf(schema)
  const [values] = Object.values(schema.patternProperties as Record<string, TSchema>)
  const check = compile(values!)
  return (value, label, prefix) => {
    if (!isObject(value)) return { place: label, problem: type }
    for (const [name, each] of Object.entries(value)) {
      const found = check(each, prefix + cut(name, 40), `${prefix}${cut(name, 40)}.`)
      if (found) return found
    }
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function inWords(choices: readonly unknown[]): string {
  return `${choices.length > 1 ? 'one of ' : ''}${choices.join(', ')}`
}

function compileOneOf(schema: TSchema, forms: readonly TSchema[]): Check {
  const { discriminator, marker } = rulesOf(schema)
  if (discriminator !== undefined) {
    const byName = new Map(
      forms.map((form) => [
        (form as ObjectSchema).properties[discriminator]!.const as unknown,
        compile(form),
      ]),
    )
    const problem = `expected ${inWords([...byName.keys()])}`
    return (value, label, prefix) => {
      if (!isObject(value))
        return { place: label, problem: `expected a JSON object with the field ${discriminator}` }
      const check = byName.get(value[discriminator])
      return check
        ? check(value, label, prefix)
        : { place: prefix + discriminator, problem: received(problem, value[discriminator]) }
    }
  }
  const [first, last] = [compile(forms[0]!), compile(forms.at(-1)!)]
  return (value, label, prefix) => {
    const marked = typeof value === 'object' && value !== null && Object.hasOwn(value, marker!)
    return (marked ? last : first)(value, label, prefix)
  }
}

function compileList(schema: TSchema): Check {
  const { items, minItems = 0, maxItems = Infinity } = schema as TArray
  const problem = rulesOf(schema).type ?? `expected a list of ${minItems} to ${maxItems}`
  const check = compile(items)
  return (value, label) => {
    if (!Array.isArray(value) || value.length < minItems || value.length > maxItems)
      return { place: label, problem }
    for (let i = 0; i < value.length; i++) {
      const found = check(value[i], `${label}[${i}]`, `${label}[${i}]: `)
      if (found) return found
    }
    return undefined
  }
}

function compileString(schema: TSchema): Check {
  const { pattern, maxLength = Infinity } = schema as TString
  const expression = pattern === undefined ? undefined : new RegExp(pattern)
  return compileType(
    schema,
    (value): value is string => typeof value === 'string',
    (value) => value.length <= maxLength && (!expression || expression.test(value)),
  )
}

function compileNumber(schema: TSchema): Check {
  const {
    type,
    exclusiveMinimum = -Infinity,
    minimum = -Infinity,
    maximum = Infinity,
  } = schema as TNumber | TInteger
  return compileType(
    schema,
    (value): value is number => typeof value === 'number' && (type === 'number' || Number.isInteger(value)),
    (value) => value > exclusiveMinimum && value >= minimum && value <= maximum,
  )
}

function compileType<T>(
  schema: TSchema,
  isType: (value: unknown) => value is T,
  fits: (value: T) => boolean = () => true,
): Check {
  const {
    type = `expected a ${String(schema.type)}`,
    form = type,
    test,
    isSecret,
  } = rulesOf(schema) as Rules<T>
  const broken = (rule: string, value: unknown) => (isSecret ? rule : received(rule, value))
  return (value, label) => {
    if (!isType(value)) return { place: label, problem: broken(type, value) }
    const problem = fits(value) ? test?.(value) : broken(form, value)
    return problem === undefined ? undefined : { place: label, problem }
  }
}

/** Adds the received value to a rule that it breaks. */
function received(rule: string, value: unknown): string {
  if (value === undefined) return rule
  return rule.endsWith('.') ? `${rule} Got ${describe(value)}.` : `${rule}, got ${describe(value)}`
}

/** Returns the schema as documented: an object with a property of several names has one form per name. */
export function documented(schema: TSchema): TSchema {
  if (schema.oneOf)
    return {
      ...schema,
      oneOf: (schema.oneOf as TSchema[])
        .map(documented)
        .flatMap((form): TSchema[] => (form.oneOf as TSchema[] | undefined) ?? [form]),
    }
  if (schema.type !== 'object') return schema
  const object = schema as ObjectSchema
  const properties = Object.fromEntries(
    Object.entries(object.properties).map(([name, property]) => [
      name,
      property.type === 'array' ? { ...property, items: documented(property.items as TSchema) } : property,
    ]),
  )
  const aliased = Object.entries(properties).find(([, property]) => rulesOf(property).aliases)
  if (!aliased) return { ...object, properties }
  const [name, property] = aliased
  const forms = [name, ...rulesOf(property).aliases!].map((alias) => ({
    ...object,
    description: object.description?.replace(`\`${name}\``, `\`${alias}\``),
    required: object.required?.map((each) => (each === name ? alias : each)),
    properties: Object.fromEntries(
      Object.entries(properties).map(([key, value]) =>
        key !== name
          ? [key, value]
          : [
              alias,
              {
                ...withRules(property, { aliases: undefined }),
                ...(alias !== name && { description: `Alias of \`${name}\`.` }),
              },
            ],
      ),
    ),
  }))
  return documented({ title: object.title, oneOf: forms } as unknown as TSchema)
}
