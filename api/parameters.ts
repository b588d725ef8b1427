import { ComputeProblem } from './problems'
import type { Operation } from './operations'

/** The fields of a request's body, read strictly: each function throws a ComputeProblem that names the field and what would be right. */
export type RequestBody = Record<string, unknown>

export function invalid(detail: string): ComputeProblem {
  return new ComputeProblem('invalid-input', detail)
}

export function unverified(detail: string): ComputeProblem {
  return new ComputeProblem('verification-failed', detail)
}

/** An object whose fields are all known: a misspelt `recipient` must not become the zero address. */
export function readObject(value: unknown, known: readonly string[], what = 'body'): RequestBody {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what}: expected a JSON object with the fields ${known.join(', ')}`)
  for (const field of Object.keys(value))
    if (!known.includes(field))
      throw invalid(`${field.slice(0, 40)}: unknown field; known ones are ${known.join(', ')}`)
  return value as RequestBody
}

export function optionalText(request: RequestBody, name: string): string | undefined {
  const value = request[name]
  if (value === undefined) return undefined
  // null too: what a client has lost must not become the default.
  if (typeof value !== 'string') throw invalid(`${name}: expected a string; leave it out for the default`)
  return value
}

export function readNumber(
  request: RequestBody,
  { name, check }: { name: string; check: (value: number) => string | undefined },
): number {
  const value = request[name]
  const problem =
    value === undefined
      ? 'missing; expected a number'
      : typeof value === 'number'
        ? check(value)
        : 'expected a number'
  if (problem) throw invalid(`${name}: ${problem}`)
  return value as number
}

export function readGeometryParameter(
  request: RequestBody,
  { name, aliases = [] }: { name: string; aliases?: readonly string[] },
) {
  const given = [name, ...aliases].filter((candidate) => request[candidate] !== undefined)
  if (given.length === 0) throw invalid(`${name}: missing; expected an attestation UID or a GeoJSON geometry`)
  if (given.length > 1) throw invalid(`${given.join(', ')}: the same parameter twice; give one`)
  return { name: given[0]!, value: request[given[0]!] }
}

/** The names of an operation's own parameters. */
export function parametersOf({ geometries, numbers = [] }: Operation): string[] {
  return [
    ...geometries.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
    ...numbers.map(({ name }) => name),
  ]
}
