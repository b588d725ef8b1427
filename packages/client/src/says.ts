import { claimOf, isOperation, UNITS, type UnitName } from '../../../src/operations/table'
import type { Claims } from './types'

/** What an answer says, as a sentence. */
export function sentenceOf({ result, units, operation, timestamp, inputRefs }: Claims): string {
  const [name = '', ...centimeters] = operation.split(':')
  const claim = isOperation(name)
    ? claimOf(
        name,
        {
          result,
          inputs: inputRefs.map((ref) => `${ref.slice(0, 10)}...`),
          numbers: centimeters.map((each) => Number(each) / 100),
        },
        numberText,
      )
    : `${operation}: ${String(result)} ${units ?? ''}`.trimEnd()
  return `${claim}, computed at ${timeOf(timestamp)}.`
}

/** A result is a whole number of the payload's unit, which is centimetres for one. */
function numberText(value: number, units?: UnitName): string {
  if (!units) return value.toLocaleString('en')
  const digits = Math.log10(UNITS[units].perAnswerUnit)
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return `${value.toLocaleString('en', fixed)} ${UNITS[units].symbol}`
}

/** A time as sentences have it: ISO 8601 of Unix seconds; "second ..." where a Date does not reach. */
export function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace('.000Z', 'Z')
}

/** Whether two texts of hex are the same, whatever the case of their letters. */
export function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
