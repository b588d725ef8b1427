import type { Attested, AttestedOffchain } from './attest'
import { invalidInput, messageOf } from './errors'
import { positionAsPoint } from './position'

/** Bodies of requests, out of what callers give. */

/** A question whose inputs that are positions are points. */
export function withPoints(question: object): object {
  const all: Record<string, unknown> = { ...question }
  for (const name in all) all[name] = positionAsPoint(all[name])
  return all
}

/**
 * A body as JSON: integers that libraries give as bigint as numbers or, where they are too large, as decimal
 * strings; and what `attest` gave as an input. Throws an InvalidInputError for what JSON cannot hold.
 */
export function plain<T>(value: T): T {
  const shown = (_: string, each: unknown) =>
    typeof each === 'bigint'
      ? each <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(each)
        : String(each)
      : asInput(each)
  let text
  try {
    text = JSON.stringify(value, shown)
  } catch (error) {
    throw invalidInput(`expected what JSON can hold, such as GeoJSON: ${messageOf(error)}`)
  }
  return JSON.parse(text) as T
}

function asInput(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { uid, chainId, attestation } = value as Partial<Attested | AttestedOffchain>
  if (uid === undefined || chainId === undefined || attestation === undefined) return value
  return 'sig' in attestation ? { attestation } : { uid }
}
