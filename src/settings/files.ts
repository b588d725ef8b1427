import type { TSchema } from '@sinclair/typebox'
import { entryTexts, faultPosition, parseStrictJson, withoutMark } from '../strict-json'

/**
 * Parses a settings file. Throws an Error with the position at which the text is not JSON. The message does
 * not quote the text, as that of JSON.parse does, because it may contain a secret.
 */
export function parseSettingsFile(text: string): unknown {
  parseAnyJson(withoutMark(text))
  return parseStrictJson(text)
}

/** Entry of a list in a settings file. `problem`: why it has no single meaning, such as a repeated key. */
interface SettingsEntry {
  value: unknown
  problem?: string
}

/**
 * Parses a settings file that is a list, parsing each entry separately. Returns undefined if the file is not
 * a list. Throws as `parseSettingsFile` does if the text is not JSON.
 */
export function parseSettingsList(marked: string): SettingsEntry[] | undefined {
  const text = withoutMark(marked)
  if (!Array.isArray(parseAnyJson(text))) return undefined
  return entryTexts(text).map((entry) => {
    try {
      return { value: parseStrictJson(entry) }
    } catch (error) {
      return { value: JSON.parse(entry) as unknown, problem: (error as Error).message }
    }
  })
}

function parseAnyJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const position = faultPosition(error as Error)
    const lines = text.slice(0, position).split('\n')
    const where = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
    throw new Error(`not valid JSON${position === undefined ? '' : ` at ${where}`}`)
  }
}

/** Maximum number of problems reported per file. */
const MOST_PROBLEMS = 10
/**
 * Returns the problems of a settings file: each path, and the value that its schema expects. The actual value
 * is not shown, because it may be a secret.
 * @param whole name of the whole value, for a problem without a path
 */
export function schemaProblems(schema: TSchema, value: unknown, whole = 'the file'): string {
  const { Value } = require('@sinclair/typebox/value') as typeof import('@sinclair/typebox/value') // oxlint-disable-line typescript/no-require-imports -- 150 files, which few processes need
  const problems = new Map<string, string>()
  for (const { path, message, schema: part, value: found } of Value.Errors(schema, value)) {
    // TypeBox reports a missing value first as missing and then by its expected type. The second one wins.
    if (found !== undefined && problems.has(path)) continue
    const wanted = expectation(part) ?? message.toLowerCase()
    problems.set(path, found === undefined ? `missing; ${wanted}` : wanted)
    if (problems.size > MOST_PROBLEMS) break
  }
  return [...problems]
    .slice(0, MOST_PROBLEMS)
    .map(([path, problem]) => `${path || whole}: ${problem}`)
    .join('; ')
}

/** Returns what a schema expects, if TypeBox has no clear message: a form (`expected`) or a choice. */
function expectation({ expected, anyOf }: TSchema): string | undefined {
  if (expected !== undefined) return `expected ${String(expected)}`
  const choices = (anyOf as TSchema[] | undefined)?.map((each) => each.const as unknown)
  return choices?.every((each) => typeof each === 'string') ? `expected ${choices.join(' or ')}` : undefined
}
