import { Ajv2020 } from 'ajv/dist/2020'

/** Checks requests and responses of the running service against its own OpenAPI document. */

type Json = any

export interface OpenApiChecker {
  readonly document: Json
  /**
   * Throws if the document does not describe this response, or the request of a successful one. Undocumented
   * operations pass.
   */
  check(exchange: {
    method: string
    path: string
    request?: unknown
    status: number
    type: string
    response: unknown
  }): void
  /** Errors of a value by the schema at this JSON pointer of the document; undefined if it is valid. */
  problems(pointer: string, value: unknown): string | undefined
}

type Problems = OpenApiChecker['problems']
/** Checks by their schemas, which take seconds to compile. All test files of a worker share them. */
const known = new Map<string, Problems>()

/** Returns the check of values by the schemas of a document, which is not modified. */
function problemsBy({ paths, components }: Json): Problems {
  const schemas = closed({ paths, components })
  const key = JSON.stringify(schemas)
  const made = known.get(key)
  if (made) return made
  const ajv = new Ajv2020({
    strict: true,
    strictTuples: false,
    strictRequired: false,
    strictTypes: 'log',
    allowUnionTypes: true,
    logger: false,
    // A schema is compiled in a third of the time, and checks few values.
    code: { optimize: false },
  })
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addFormat('uri', (text: string) => URL.canParse(text))
  // Ajv receives the document as one schema, so that JSON pointers into it work. Its members are not keywords
  // of JSON Schema.
  ajv.addVocabulary(Object.keys(schemas))
  ajv.addSchema({ $id: 'openapi', ...schemas })
  const compiled = new Map<string, Json>()
  const problems: Problems = (pointer, value) => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    compiled.set(pointer, validate)
    return validate(value)
      ? undefined
      : ajv.errorsText(validate.errors, { dataVar: pointer.split('/').at(-1) })
  }
  known.set(key, problems)
  return problems
}

export function openApiChecker(document: Json): OpenApiChecker {
  const problems = problemsBy(document)
  const templates = Object.keys(document.paths).map(
    (path) => [path, new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)] as const,
  )
  return {
    document,
    problems,
    check: ({ method, path, request, status, type, response }) => {
      const plain = path.split('?')[0]!
      const template = document.paths[plain]
        ? plain
        : templates.find(([, pattern]) => pattern.test(plain))?.[0]
      const operation = template === undefined ? undefined : document.paths[template][method.toLowerCase()]
      if (!operation) return
      const at = pointerTo('paths', template!, method.toLowerCase())
      const fail = (problem: string) => {
        throw new Error(
          `${method} ${path.slice(0, 200)} answered ${status}, and the document disagrees: ${problem}`,
        )
      }
      const media = operation.responses[status]?.content?.[type.split(';')[0]!]
      if (!media) fail(`no ${type} of status ${status} is documented`)
      const answered = problems(
        `${at}${pointerTo('responses', String(status), 'content', type.split(';')[0]!, 'schema')}`,
        response,
      )
      if (answered) fail(answered)
      if (status === 200 && operation.requestBody) {
        const asked = problems(
          `${at}${pointerTo('requestBody', 'content', 'application/json', 'schema')}`,
          request,
        )
        if (asked) fail(`the request was not as documented: ${asked}`)
      }
    },
  }
}

/** JSON pointer to this value, encoded for the fragment of a URI. */
export function pointerTo(...keys: string[]): string {
  return keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')
}

/**
 * Returns a copy without examples of bodies, in which every object that lists its fields is closed: an
 * undocumented field is an error. (Clients must expect such fields.)
 */
export function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => key !== 'examples' || Array.isArray(inner))
      .map(([key, inner]) => [key, key === 'examples' ? inner : closed(inner)]),
  )
  const open = copy.additionalProperties !== undefined || copy.unevaluatedProperties !== undefined
  return isObjectSchema(copy) && !open ? { ...copy, additionalProperties: false } : copy
}

function isObjectSchema(value: Json): boolean {
  return (
    (value.type === 'object' || (Array.isArray(value.type) && value.type.includes('object'))) &&
    typeof value.properties === 'object'
  )
}
