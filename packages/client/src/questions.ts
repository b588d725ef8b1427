// SPDX-License-Identifier: MIT
import { writeLabel } from '../../../src/operations/lengths'
import { OPERATION_ROWS, rowOf, type OperationName } from '../../../src/operations/table'
import { same, ZERO_ADDRESS } from './says'
import type { Answer, Claims } from './types'

/** Builds a method for each operation. Its arguments are the inputs and numbers, then the options. */
export function methodsOf<Methods>(
  ask: (name: OperationName, question: object, options: object | undefined, given: unknown[]) => unknown,
): Methods {
  const method = (name: OperationName, names: readonly string[]) =>
    function (...given: unknown[]) {
      const question = Object.fromEntries(names.map((each, i) => [each, given[i]]))
      return ask(name, question, given[names.length] as object | undefined, given.slice(0, names.length))
    }
  return Object.fromEntries(
    OPERATION_ROWS.map(([name, { inputs, parameters = [] }]) => [
      name,
      method(
        name,
        [...inputs, ...parameters].map((each) => each.name),
      ),
    ]),
  ) as Methods
}

/** Terms of an answer: the operation, its inputs and numbers by name, the schema and the recipient. */
export interface Asked extends Partial<Pick<Answer['attestation'], 'schema' | 'recipient'>> {
  operation: OperationName
  [name: string]: unknown
}

/**
 * Returns the first field of an answer that differs from what was asked; undefined if none does. An input
 * that is not an attestation is not compared with its reference, which only the kernel can compute. The
 * claims are not decoded: `land` compares them with the signed payload (checkSigned).
 */
export function otherThanAsked(
  claims: Pick<Claims, 'operation' | 'inputRefs'>,
  attestation: Pick<Answer['attestation'], 'schema' | 'recipient'>,
  asked: Asked,
): string | undefined {
  const { inputs, parameters = [] } = rowOf(asked.operation)
  const numbers = parameters.map(({ name }) => Number(asked[name]))
  if (claims.operation !== writeLabel(asked.operation, numbers)) return 'operation'
  const uids = inputs.map(({ name, aliases = [] }) =>
    uidOf([name, ...aliases].map((each) => asked[each]).find((input) => input !== undefined)),
  )
  if (claims.inputRefs.length !== uids.length) return 'inputRefs'
  if (uids.some((uid, i) => uid !== undefined && !same(claims.inputRefs[i]!, uid))) return 'inputRefs'
  if (asked.schema !== undefined && !same(attestation.schema, asked.schema)) return 'schema'
  return same(attestation.recipient, asked.recipient ?? ZERO_ADDRESS) ? undefined : 'recipient'
}

/** Returns the UID of an input that is an attestation. GeoJSON may have a foreign member `uid`. */
function uidOf(input: unknown): string | undefined {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null || 'type' in input) return undefined
  return (input as { uid?: string }).uid
}
