import type { TSchema } from '@sinclair/typebox'
import { faultPosition, parseStrictJson, withoutMark } from '../strict-json'

/**
 * Parses a settings file. Throws an Error that says where it is no JSON; not what stands there, which may be
 * a part of a secret, and which JSON.parse would show.
 */
export function parseSettingsFile(marked: string): unknown {
  const text = withoutMark(marked)
  try {
    JSON.parse(text)
  } catch (error) {
    const position = faultPosition(error as Error)
    const lines = text.slice(0, position).split('\n')
    const where = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
    throw new Error(`it is no JSON${position === undefined ? '' : ` from ${where} on`}`)
  }
  return parseStrictJson(text)
}

/** Problems of a file that are told at once. */
const PROBLEMS_TOLD = 10
/**
 * What keeps the content of a settings file from its schema: each place, and what would be right there. The
 * value itself is not shown, as it may be a secret.
 */
export function schemaProblems(schema: TSchema, value: unknown): string {
  const { Value } = require('@sinclair/typebox/value') as typeof import('@sinclair/typebox/value') // oxlint-disable-line typescript/no-require-imports -- 150 files, which few processes need
  const problems = new Map<string, string>()
  for (const { path, message, schema: part, value: found } of Value.Errors(schema, value)) {
    // One that is missing is told twice: as missing, then as what it should be.
    if (found !== undefined && problems.has(path)) continue
    const wanted = expectation(part) ?? message.toLowerCase()
    problems.set(path, found === undefined ? `missing; ${wanted}` : wanted)
    if (problems.size > PROBLEMS_TOLD) break
  }
  return [...problems]
    .slice(0, PROBLEMS_TOLD)
    .map(([path, problem]) => `${path || 'the file'}: ${problem}`)
    .join('; ')
}

/** What a schema asks for, where TypeBox does not say it: a form (`expected`) or a choice. */
function expectation({ expected, anyOf }: TSchema): string | undefined {
  if (expected !== undefined) return `expected ${String(expected)}`
  const choices = (anyOf as TSchema[] | undefined)?.map((each) => each.const as unknown)
  return choices?.every((each) => typeof each === 'string') ? `expected ${choices.join(' or ')}` : undefined
}
