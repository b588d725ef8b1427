// SPDX-License-Identifier: MIT
import { invalidInput, messageOf } from './errors'
import { positionAsPoint } from './position'

/** Bodies of requests, built from the arguments of the client's methods. */

/** Converts the positions among a question's inputs to points. */
export function withPoints(question: object): object {
  const all: Record<string, unknown> = { ...question }
  for (const name in all) all[name] = positionAsPoint(all[name])
  return all
}

/**
 * Converts a body to plain JSON. A bigint becomes a number or, above 2^53 - 1, a decimal string; a result of
 * `attest` becomes an input. Throws an InvalidInputError for a value that JSON cannot hold.
 */
export function plain<T>(value: T): T {
  const shown = (_: string, each: unknown) =>
    typeof each === 'bigint'
      ? Number.isSafeInteger(Number(each))
        ? Number(each)
        : String(each)
      : asInput(each)
  let text
  try {
    text = JSON.stringify(value, shown)
  } catch (error) {
    throw invalidInput(`expected a value that JSON can represent, such as GeoJSON: ${messageOf(error)}`)
  }
  return JSON.parse(text) as T
}

function asInput(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { uid, chainId, attestation } = value as { uid?: unknown; chainId?: unknown; attestation?: object }
  if (uid === undefined || chainId === undefined || attestation === undefined) return value
  return 'sig' in attestation ? { attestation } : { uid }
}
