import type { Answer, Input, QuorumAnswer, Question as Asked } from '@geospatial-attestation/client'
import { rowOf, type OperationName } from '../../src/operations/table'
import { geo, geoOnce } from '../service'
import type { NamedQuorum } from './quorum'

/** A complete question. */
export interface Question {
  operation: OperationName
  inputs: readonly Input[]
  /** in the order of the operation's parameters */
  numbers: readonly number[]
  chainId: number
}

/** Names and values of the inputs, then of the numbers, in the order of the operation's row. */
function namedOf({ operation, inputs, numbers }: Question): [name: string, value: unknown][] {
  const { inputs: places, parameters = [] } = rowOf(operation)
  return [
    ...places.map(({ name }, i): [string, unknown] => [name, inputs[i]]),
    ...parameters.map(({ name }, i): [string, unknown] => [name, numbers[i]]),
  ]
}

/** Body of the request to the API. */
export function bodyOf(question: Question): object {
  return { chainId: question.chainId, ...Object.fromEntries(namedOf(question)) }
}

/** Sends the question to the service, or to a quorum. Throws the errors of the client. */
export async function ask(
  question: Question,
  signal: AbortSignal,
  quorum: NamedQuorum | undefined,
): Promise<Answer | QuorumAnswer> {
  const asked = { operation: question.operation, ...Object.fromEntries(namedOf(question)) }
  const options = { chain: question.chainId, signal }
  if (!quorum) return geoOnce.ask(asked as unknown as Asked, options)
  return (await geo.quorum(quorum)).ask(asked as unknown as Asked, options)
}
