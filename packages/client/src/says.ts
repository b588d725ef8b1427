// SPDX-License-Identifier: MIT
import { timeOf } from '../../../src/eas/times'
import {
  claimOf,
  isOperation,
  rowOf,
  UNITS,
  type OperationName,
  type UnitName,
} from '../../../src/operations/table'
import type { Claims } from './types'

/** Describes the claims of an answer in a sentence. */
export function sentenceOf({ result, units, operation, timestamp, inputRefs }: Claims): string {
  const [name = '', ...centimeters] = operation.split(':')
  const numbers = centimeters.map((text) => (/^\d+$/.test(text) ? Number(text) / 100 : NaN))
  const inputs = inputRefs.map((ref) => `${ref.slice(0, 10)}...`)
  const claim = isClaim(name, result, inputs, numbers)
    ? claimOf(name, { result, inputs, numbers }, numberText)
    : `${operation}: ${String(result)} ${units ?? ''}`.trimEnd()
  return `${claim}, computed at ${timeOf(timestamp)}.`
}

/** True if claims have the form of an operation's answer. Anyone can attest claims that do not. */
function isClaim(
  name: string,
  result: Claims['result'],
  inputs: readonly string[],
  numbers: readonly number[],
): name is OperationName {
  if (!isOperation(name)) return false
  const row = rowOf(name)
  return (
    (typeof result === 'number') === (row.units !== undefined) &&
    inputs.length === row.inputs.length &&
    numbers.length === (row.parameters ?? []).length &&
    numbers.every(Number.isFinite)
  )
}

/** Formats a number. A result is a whole number of payload units, which determine its decimal places. */
function numberText(value: number, units?: UnitName): string {
  if (!units) return value.toLocaleString('en')
  const digits = Math.log10(UNITS[units].perAnswerUnit)
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return `${value.toLocaleString('en', fixed)} ${UNITS[units].symbol}`
}

/** Maximum number of seconds by which the service's clock may be ahead of the local clock. */
export const SKEW_SECONDS = 120

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}` as const

/** Returns true if two hex strings are equal, ignoring the case of their letters. */
export function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
