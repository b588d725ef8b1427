import { ApiError, ConnectionError, type Answer } from '@geospatial-attestation/client'
import { claimOf, rowOf, UNITS, type OperationName, type UnitName } from '../../src/operations/table'
import type { Question } from './question'

const number = (value: number, digits: number) =>
  value.toLocaleString('en', { maximumFractionDigits: digits })

/** Larger units, in which large numbers are also written. */
const LARGER: Readonly<
  Partial<Record<UnitName, { per: number; from: number; symbol: string; digits: number }>>
> = {
  meters: { per: 1000, from: 10_000, symbol: 'km', digits: 1 },
  square_meters: { per: 1e6, from: 1e6, symbol: 'km²', digits: 2 },
}

/**
 * A result with its unit, exactly as signed. If it is large, it is first written in a larger, familiar unit.
 */
function measure(value: number, unit: UnitName): string {
  const { perAnswerUnit, symbol } = UNITS[unit]
  const exact = `${number(value, Math.log10(perAnswerUnit))} ${symbol.replace('2', '²')}`
  const larger = LARGER[unit]
  if (!larger || value < larger.from) return exact
  const size = value / larger.per
  return `${number(size, size >= 1000 ? 0 : larger.digits)} ${larger.symbol} (${exact})`
}

/** The answer as a sentence. */
export function sentenceOf({ operation, inputs, numbers }: Question, { result }: Answer): string {
  const named = inputs.length === 1 ? ['the geometry'] : ['the first geometry', 'the second geometry']
  const claim = claimOf(operation, { result, inputs: named, numbers }, (value, unit) =>
    unit ? measure(value, unit) : number(value, 2),
  )
  if (typeof result === 'boolean') return `${result ? 'Yes' : 'No'}: ${claim}.`
  return `${claim[0]!.toUpperCase()}${claim.slice(1)}.`
}

/** An error, and the field at which it is shown. */
export interface Problem {
  /** `0` or `1` for a geometry, the name of a number, `chain`, or `general` for the question as a whole */
  field: number | string
  sentence: string
}

/** The problem that an error of asking describes, at the field that the error names. */
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
  return { field: 'general', sentence }
}

function wordsOf(error: unknown): string {
  if (error instanceof ConnectionError) return `${error.message} Nothing was sent. Try again.`
  if (!(error instanceof ApiError)) return (error as Error)?.message ?? String(error)
  if (error.status === 429) return `Too many questions from your IP address. ${again(error.retryAfter)}`
  if (error.status >= 500)
    return (
      `The service cannot answer at the moment: ${error.detail || error.title}. Nothing was ` +
      `signed. ${again(error.retryAfter)}`
    )
  return error.detail || error.title
}

const again = (seconds: number | undefined) =>
  seconds === undefined
    ? 'Try again.'
    : `Try again in ${seconds >= 120 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`}.`
