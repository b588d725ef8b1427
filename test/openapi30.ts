import { Ajv, type ValidateFunction } from 'ajv'
import { closed } from './openapi'

/** Checks OpenAPI 3.0 documents against the specification, and responses against such a document. */

type Json = any

const only = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const mapOf = (schema: object, names = '.') => ({
  type: 'object',
  patternProperties: { [names]: schema },
  additionalProperties: false,
})
const text = { type: 'string', minLength: 1 }
const reference = only({ $ref: { type: 'string', pattern: '^#/components/' } }, ['$ref'])
const orReference = (name: string) => ({
  if: { required: ['$ref'] },
  then: reference,
  else: { $ref: `#/definitions/${name}` },
})
const amount = { type: 'integer', minimum: 0 }

/**
 * The part of OpenAPI 3.0.3 that this project's document uses. Anything else is a problem, including keywords
 * of 3.1 and misspelt ones.
 */
const DOCUMENT = {
  $id: 'openapi30',
  definitions: {
    schema: only({
      ...{
        type: { enum: ['object', 'array', 'string', 'number', 'integer', 'boolean'] },
        title: text,
        description: text,
        format: text,
        pattern: { type: 'string', format: 'regex' },
        enum: { type: 'array', minItems: 1 },
        default: {},
        example: {},
        nullable: { type: 'boolean' },
      },
      ...{
        minimum: { type: 'number' },
        maximum: { type: 'number' },
        minItems: amount,
        maxItems: amount,
        minLength: amount,
        maxLength: amount,
        required: { type: 'array', items: text, minItems: 1, uniqueItems: true },
        additionalProperties: { type: 'boolean' },
      },
      ...{
        items: orReference('schema'),
        properties: mapOf(orReference('schema')),
        oneOf: { type: 'array', items: orReference('schema') },
        allOf: { type: 'array', items: orReference('schema') },
      },
    }),
    header: only({ description: text, schema: orReference('schema') }, ['schema']),
    media: mapOf(only({ schema: orReference('schema') }, ['schema']), '^[a-z]+/[a-z.+-]+(;[a-z]+=[0-9.]+)?$'),
    response: only(
      { description: text, headers: mapOf(orReference('header')), content: { $ref: '#/definitions/media' } },
      ['description'],
    ),
    parameter: only(
      {
        name: text,
        in: { enum: ['query', 'path'] },
        description: text,
        required: { type: 'boolean' },
        schema: orReference('schema'),
        style: { enum: ['form', 'simple'] },
        explode: { type: 'boolean' },
        example: {},
      },
      ['name', 'in', 'schema'],
    ),
    operation: only(
      {
        operationId: text,
        summary: text,
        description: text,
        tags: { type: 'array', items: text },
        parameters: { type: 'array', items: orReference('parameter'), uniqueItems: true },
        responses: { ...mapOf(orReference('response'), '^[1-5][0-9][0-9]$'), minProperties: 1 },
      },
      ['operationId', 'responses'],
    ),
  },
  ...only(
    {
      openapi: { const: '3.0.3' },
      info: only(
        {
          title: text,
          version: text,
          description: text,
          license: only({ name: text, url: text }, ['name']),
        },
        ['title', 'version'],
      ),
      servers: {
        type: 'array',
        items: only({ url: { type: 'string', pattern: '^https?://' }, description: text }, ['url']),
      },
      tags: { type: 'array', items: only({ name: text, description: text }, ['name']) },
      paths: mapOf(only({ get: { $ref: '#/definitions/operation' } }, ['get']), '^/'),
      components: only({
        schemas: mapOf(orReference('schema'), '^[a-zA-Z0-9._-]+$'),
        parameters: mapOf(orReference('parameter'), '^[a-zA-Z0-9._-]+$'),
        responses: mapOf(orReference('response'), '^[a-zA-Z0-9._-]+$'),
        headers: mapOf(orReference('header'), '^[a-zA-Z0-9._-]+$'),
      }),
    },
    ['openapi', 'info', 'paths'],
  ),
}

const makeAjv = () => {
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false })
  ajv.addFormat('uri', (value: string) => URL.canParse(value))
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addFormat('regex', (value: string) => new RegExp(value, 'u') instanceof RegExp)
  return ajv
}

/**
 * Problems of a document: malformed parts, references without a target, unused components, duplicate names,
 * parameters that do not match the path.
 */
export function documentProblems(document: Json): string[] {
  const ajv = makeAjv()
  const validate = ajv.compile(DOCUMENT)
  const problems: string[] = validate(document)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, message, params }: Json) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      )
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, to]) => to!)
  for (const to of references)
    if (resolve(document, { $ref: `#${to}` }) === undefined) problems.push(`#${to} leads nowhere`)
  if (problems.length) return problems
  for (const [kind, named] of Object.entries<object>(document.components))
    for (const name of Object.keys(named))
      if (!references.includes(`/components/${kind}/${name}`)) problems.push(`${kind} ${name} is not used`)
  const operations = Object.entries<Json>(document.paths).map(([path, { get }]) => ({ path, ...get }))
  const ids = operations.map(({ operationId }) => operationId as string)
  if (new Set(ids).size < ids.length) problems.push('an operationId occurs twice')
  const tags = new Set(document.tags.map(({ name }: Json) => name as string))
  for (const { path, parameters, tags: used } of operations) {
    const resolved = parameters.map((each: Json) => resolve(document, each))
    if (
      JSON.stringify(
        resolved.filter((each: Json) => each.in === 'path').map((each: Json) => `{${each.name}}`),
      ) !== JSON.stringify(path.match(/\{\w+\}/g) ?? [])
    )
      problems.push(`${path}: its parameters do not match the path`)
    if (resolved.some((each: Json) => each.in === 'path' && !each.required))
      problems.push(`${path}: a parameter of a path is always required`)
    if (!used.every((tag: string) => tags.has(tag))) problems.push(`${path}: an unknown tag`)
  }
  return problems
}

/** Resolves the reference, if this value is one. */
export function resolve(document: Json, value: Json): Json {
  return value?.$ref === undefined
    ? value
    : value.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, key: string) => at?.[key], document)
}

/**
 * Returns a function that checks the status, type and content of a response against the document. That
 * function returns the problem, or undefined.
 */
export function answerChecker(document: Json) {
  const ajv = makeAjv()
  ajv.addSchema({ $id: 'document', ...closed(document) })
  /** By schema: for each new object, Ajv would compile the schema again. */
  const compiled = new Map<Json, ValidateFunction>()
  const validatorOf = (schema: Json) => {
    const known = compiled.get(schema)
    if (known) return known
    const validate = ajv.compile(schema.$ref ? { $ref: `document${schema.$ref}` } : schema)
    compiled.set(schema, validate)
    return validate
  }
  return (path: string, status: number, type: string, content: Json): string | undefined => {
    const response = resolve(document, document.paths[path]?.get.responses[status])
    if (!response) return `${path} ${status} is not documented`
    const media = response.content?.[type] ?? response.content?.[type.split(';')[0]!]
    if (!media) return `${path} ${status} ${type} is not documented`
    if (typeof content === 'string')
      return media.schema.type === 'string' ? undefined : `${path} ${status} ${type} is not text`
    const validate = validatorOf(media.schema)
    return validate(content) ? undefined : ajv.errorsText(validate.errors)
  }
}
