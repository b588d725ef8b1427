export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  description?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  enum?: readonly unknown[]
  const?: unknown
  allOf?: readonly Schema[]
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  [keyword: string]: unknown
}
type Schemas = Readonly<Record<string, Schema>>
export interface Field {
  /** Path from the body, such as `data[].uid`. */
  name: string
  type: string
  required: boolean
  description: string | undefined
}

/** Maximum number of levels of nested fields that are shown, because geometries nest without a limit. */
const MOST_LEVELS = 4
const LIMITS = {
  ...{ minimum: 'at least', maximum: 'at most', exclusiveMinimum: 'above', exclusiveMaximum: 'below' },
  ...{ minLength: 'characters at least', maxLength: 'characters at most' },
  ...{ minItems: 'items at least', maxItems: 'items at most', pattern: 'pattern', default: 'default' },
}

/** Type of a value with its limits, such as `integer, at least 1, default 100`. */
export function typeText(schema: Schema, schemas: Schemas): string {
  const own = resolved(schema, schemas)
  const limits = Object.entries(LIMITS)
    .filter(([keyword]) => own[keyword] !== undefined && own[keyword] !== 0)
    .map(([keyword, text]) => `${text} ${String(own[keyword])}`)
  return [baseText(schema, schemas), ...limits].join(', ')
}

function baseText(schema: Schema, schemas: Schemas): string {
  const own = resolved(schema, schemas)
  if (own.const !== undefined) return JSON.stringify(own.const)
  if (own.enum) return own.enum.map((each) => JSON.stringify(each)).join(' | ')
  const choices = own.anyOf ?? own.oneOf
  if (choices) return [...new Set(choices.map((each) => nameOf(each) ?? baseText(each, schemas)))].join(' | ')
  if (own.items) return `array of ${nameOf(own.items) ?? baseText(own.items, schemas)}`
  const name = nameOf(schema)
  if (name !== undefined) return name
  return own.type === undefined ? 'any' : [own.type].flat().join(' | ')
}

/** Fields of an object or of the objects of an array, each followed by its own fields. */
export function fieldsOf(schema: Schema, schemas: Schemas, path = '', level = 0): Field[] {
  const own = resolved(schema, schemas)
  if (level >= MOST_LEVELS) return []
  if (own.items) return fieldsOf(own.items, schemas, `${path}[]`, level)
  return Object.entries(own.properties ?? {}).flatMap(([name, field]) => {
    const whole = path ? `${path}.${name}` : name
    const { description } = resolved(field, schemas)
    return [
      {
        ...{ name: whole, type: typeText(field, schemas), description: field.description ?? description },
        required: own.required?.includes(name) ?? false,
      },
      ...fieldsOf(field, schemas, whole, level + 1),
    ]
  })
}

/** Name of the component that a schema refers to, alone or with a description. */
function nameOf({ $ref, allOf }: Schema): string | undefined {
  const ref = $ref ?? (allOf?.length === 1 ? allOf[0]!.$ref : undefined)
  return ref?.split('/').at(-1)
}

/** The schema with its reference and the parts of `allOf` merged. */
function resolved(schema: Schema, schemas: Schemas): Schema {
  const { $ref, allOf = [], ...rest } = schema
  const parts = [...($ref === undefined ? [] : [schemas[nameOf({ $ref })!] ?? {}]), ...allOf]
  if (parts.length === 0) return schema
  const whole = parts.map((part) => resolved(part, schemas))
  return {
    ...whole.reduce((merged, part) => ({ ...merged, ...part }), {}),
    ...rest,
    properties: Object.fromEntries(
      [...whole, rest].flatMap(({ properties = {} }) => Object.entries(properties)),
    ),
    required: [...whole, rest].flatMap(({ required = [] }) => required),
  }
}
