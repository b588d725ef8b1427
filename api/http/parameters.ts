import { Type, type Static, type TUnsafe } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { cut } from '../../src/cut'
import { RecordsError, recordsErrorHandler } from './problems'
import { withTypes } from './schema'
import { inWords } from './validation'
import type { Work } from './work'

/**
 * Parameters of a query string or a path. One definition documents a parameter (JSON Schema), parses its text
 * as Fastify's validation, and defines the type of the value that a handler gets.
 */

const READ = Symbol('read')
/** Parses a parameter's text. Throws a RecordsError that states the rule. */
type Reader<Value> = (text: string, name: string) => Value
type Parameter<Value> = TUnsafe<Value> & { [READ]: Reader<Value> }
type Parameters = Record<string, Parameter<unknown>>
type More = Readonly<Record<string, unknown>>

/** The texts of a query string, by name. */
export type GivenQuery = Readonly<Record<string, string | undefined>>
/** A parsed query string, with its original texts. */
export type QueryOf<P extends Parameters> = { [Name in keyof P]?: Static<P[Name]> } & { given: GivenQuery }
type PathOf<P extends Parameters> = { [Name in keyof P]: Static<P[Name]> }

/** A query of texts with these parameters, for interfaces other than its route. */
export interface TextQuery {
  description: string
  parameters: Readonly<Record<string, { description?: string }>>
  /** Runs the query. Throws a RecordsError for invalid texts. */
  answer: (texts: Record<string, string>, work: Work) => Promise<object>
}

/** Reads texts with the readers of a query's schema. Throws a RecordsError. */
export function readQuery<Value>(schema: TUnsafe<Value>, texts: Record<string, string>): Value {
  return (schema as unknown as { [READ]: (given: object) => Value })[READ](texts)
}

export function invalid(name: string, detail: string): RecordsError {
  return new RecordsError({ parameter: name }, detail)
}

/** @param schema describes the text */
export function parameter<Value>(schema: More, read: Reader<Value>): Parameter<Value> {
  return { ...Type.Unsafe<Value>(schema), [READ]: read }
}

export function textParameter<Value>(
  description: string,
  read: Reader<Value>,
  more: More = {},
): Parameter<Value> {
  return parameter({ type: 'string', description, ...more }, read)
}

export function choiceParameter<const Choice extends string>(
  choices: readonly Choice[],
  description: string,
  more: More = {},
): Parameter<Choice> {
  return parameter({ enum: choices, ...more, description }, choiceReader(choices))
}

export function booleanParameter(description: string, more: More = {}): Parameter<boolean> {
  return parameter({ type: 'boolean', ...more, description }, readBoolean)
}

/** A parameter whose text is a whole number. @param help further text at the end of the error */
export function wholeParameter(
  minimum: number,
  description: string,
  more: More = {},
  help?: string,
): Parameter<number> {
  return parameter({ type: 'integer', description, minimum, ...more }, wholeReader(minimum, help))
}

/** Schema of a query string with these parameters, all optional. Unknown and repeated names are errors. */
export function queryOf<P extends Parameters>(parameters: P) {
  return schemaOf<QueryOf<P>, P>(parameters, (query) => ({
    ...readAll(parameters, knownTexts(query, Object.keys(parameters))),
    given: query,
  }))
}

export function pathOf<P extends Parameters>(parameters: P) {
  return schemaOf<PathOf<P>, P>(parameters, (texts) => readAll(parameters, texts as Record<string, string>))
}

function schemaOf<Value, P extends Parameters>(
  properties: P,
  read: (given: Record<string, unknown>) => object,
): TUnsafe<Value> & { properties: P } {
  return Object.assign({ ...Type.Unsafe<Value>({ type: 'object' }), properties }, { [READ]: read })
}

/** Makes Fastify parse queries and paths of queryOf and pathOf; other schemas only document. */
export const readParameters: FastifySchemaCompiler<unknown> = ({ schema }) => {
  const read = (schema as { [READ]?: (given: unknown) => unknown })[READ]
  if (!read) return () => true
  return (given: unknown) => {
    try {
      return { value: read(given) }
    } catch (error) {
      // Any other error is a defect of this service, for which Fastify returns 500.
      if (error instanceof RecordsError) return { error }
      throw error
    }
  }
}

/** Prepares a scope whose parameters these readers parse, and whose errors have the form of /api/v0. */
export function readingScope(scope: FastifyInstance, publicBaseUrl: string) {
  const app = withTypes(scope)
  app.setValidatorCompiler(readParameters)
  app.setErrorHandler(recordsErrorHandler(publicBaseUrl))
  return app
}
export type ReadingScope = ReturnType<typeof readingScope>

function readAll(parameters: Parameters, texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name in parameters) {
    const text = texts[name]
    if (text !== undefined) values[name] = parameters[name]![READ](text, name)
  }
  return values
}

/** Checks the names of the texts: a misspelt filter must not silently select everything. */
function knownTexts(query: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  for (const [name, value] of Object.entries(query)) {
    if (!names.includes(name))
      throw new RecordsError(
        'invalid-query',
        `Unknown parameter '${cut(name, 40)}'. ${names.length ? `Known parameters: ${names.join(', ')}.` : 'This endpoint has no parameters.'}`,
      )
    if (typeof value !== 'string') throw invalid(name, 'Set it only once')
  }
  return query as Record<string, string>
}

const MAX_VALUES = 50
/** Reads one value, or several separated by commas. */
export function severalReader(read: (text: string, name: string) => string) {
  return (text: string, name: string): string | readonly string[] => {
    const values = [...new Set(text.split(',').map((each) => read(each, name)))].sort()
    if (values.length > MAX_VALUES) throw invalid(name, `Expected at most ${MAX_VALUES} values`)
    return values.length === 1 ? values[0]! : values
  }
}

function readBoolean(text: string, name: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalid(name, 'Expected true or false')
  return text === 'true'
}

/** Largest whole number of a parameter. A larger one is read as this one: no list is longer. */
const MOST = 999_999_999_999_999

/** @param help further text at the end of the error */
export function wholeReader(minimum: number, help = '') {
  return (text: string, name: string): number => {
    const value = /^\d+$/.test(text) ? Math.min(Number(text), MOST) : NaN
    if (!(value >= minimum)) throw invalid(name, `Expected a whole number of at least ${minimum}${help}`)
    return value
  }
}

export function choiceReader<Choice extends string>(choices: readonly Choice[]) {
  return (text: string, name: string): Choice => {
    const choice = choices.find((each) => each === text)
    if (!choice) throw invalid(name, `Expected ${inWords(choices)}`)
    return choice
  }
}
