import {
  ApiError,
  ConnectionError,
  type Answer,
  type Dissent,
  type QuorumError,
} from '@geospatial-attestation/client'
import { rowOf, type OperationName, type UnitName } from '../../src/operations/table'
import { reasonOf, say } from '../messages'
import { areaText, lengthText, typedLengthText } from '../units'
import type { Question } from './question'

const TEXTS: Readonly<Record<UnitName, (value: number) => string>> = {
  meters: lengthText,
  square_meters: areaText,
}

/**
 * Formats the answer as a sentence that names the places.
 * @param names names of the inputs
 * @param apart distance of the two places in metres, as computed by the kernel in this page; undefined if
 *   unknown
 */
export function sentenceOf(
  { operation, inputs, numbers }: Question,
  { result }: Pick<Answer, 'result'>,
  names: readonly string[],
  apart?: number,
): string {
  const [a = '', b = ''] = inputs.map((_, i) => names[i] ?? '')
  const { ask } = say
  const started = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  if (operation === 'distance') return started(ask.apart(a, b, lengthText(Number(result))))
  const verdict = typeof result === 'boolean' ? `${result ? ask.yes : ask.no}. ` : ''
  if (operation === 'within' && apart !== undefined) {
    const radius = typedLengthText(numbers[0]!)
    const limit = result === true ? ask.within(radius) : ask.notWithin(radius)
    return `${verdict}${started(`${ask.apart(a, b, lengthText(apart))}: ${limit}`)}`
  }
  const claims = say.claims[operation]
  const claim = typeof claims === 'function' ? claims : claims[result === true ? 0 : 1]
  const value =
    typeof result === 'boolean' ? numbers.map(typedLengthText).join() : TEXTS[rowOf(operation).units!](result)
  return `${verdict}${started(claim({ a, b }, value))}`
}

/** An error, and the field at which it is shown. */
export interface Problem {
  /** `0` or `1` for a geometry, the name of a number, `chain`, or `general` for the whole question */
  field: number | string
  sentence: string
  /** operators of a quorum without an answer, and the payloads that they signed */
  dissent?: readonly Dissent[]
}

/** Problem of an error that occurred while asking, at the field that the error names. */
export function problemOf(error: unknown, operation: OperationName): Problem {
  const sentence = wordsOf(error)
  if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
    const [, name] = /^(\w+)/.exec(error.detail) ?? []
    const { inputs, parameters = [] } = rowOf(operation)
    const index = inputs.findIndex((each) => each.name === name)
    if (index >= 0) return { field: index, sentence }
    if (parameters.some((each) => each.name === name)) return { field: name!, sentence }
    if (name === 'chainId') return { field: 'chain', sentence }
  }
  const { dissent } = error as Partial<QuorumError>
  return { field: 'general', sentence, ...(dissent && { dissent }) }
}

function wordsOf(error: unknown): string {
  if (error instanceof ConnectionError) return say.ask.nothingSent(reasonOf(error))
  if (!(error instanceof ApiError)) return reasonOf(error)
  if (error.status === 429) return say.ask.tooMany(again(error.retryAfter))
  if (error.status >= 500)
    return say.ask.unavailable(reasonOf(error, error.detail || error.title), again(error.retryAfter))
  return reasonOf(error, error.detail || error.title)
}

const again = (seconds: number | undefined) =>
  seconds === undefined
    ? say.ask.again
    : seconds >= 120
      ? say.ask.againInMinutes(Math.ceil(seconds / 60))
      : say.ask.againInSeconds(seconds)
