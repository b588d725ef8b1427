// SPDX-License-Identifier: MIT
import { readLabel, type Outcome } from '../../../../src/operations'
import {
  OPERATIONS,
  rowOf,
  UNITS,
  type OperationName,
  type PayloadUnitName,
  type UnitName,
} from '../../../../src/operations/table'
import { decodeClaims } from '../eas'
import type { Hex } from '../reader'
import { invalid } from './inputs'

/** An answer, as the service returned it or as its attestation contains it. */
export interface Claim {
  /** label of the operation, such as `distance` or `within:50000` */
  operation: string
  /** a number in `units`, or a boolean */
  result: number | bigint | boolean
  /** units of the answer, or of its payload in whole units; absent for booleans */
  units?: string
  inputRefs: readonly string[]
  /** time of the answer in Unix seconds */
  timestamp?: number
  /** signed content of the answer, which must agree with the other members */
  attestation?: { data: string }
  /** signed content of an answer of a quorum */
  answer?: { data: string }
}

/** The recomputed result, in the forms of an answer and of its payload. */
export interface Computed {
  /** result as in an answer: metres, square metres, or a boolean */
  result: number | boolean
  units?: UnitName
  /** result as in the payload, in whole `wholeUnits`; absent for booleans */
  whole?: bigint
  wholeUnits?: PayloadUnitName
}

/** The parsed claim of an answer. */
interface ReadClaim {
  label: string
  name: OperationName
  numbers: readonly number[]
  /** in lower case */
  refs: string[]
  claimed: Claimed
}
/** A boolean, or a whole number of payload units. `shown` is the result in an answer's own units. */
type Claimed = boolean | { whole: bigint; shown?: number }

/** Parses a claim. Throws an InvalidInputError for a claim that no operation can make. */
export function readClaim({ operation: label, result, units, inputRefs }: Claim): ReadClaim {
  const named = readLabel(String(label))
  if (!named)
    throw invalid(
      'answer.operation',
      `'${String(label)}' is not one of ${Object.keys(OPERATIONS).join(', ')}`,
    )
  const { name, numbers } = named
  const { inputs, units: unit } = rowOf(name)
  const refs = Array.isArray(inputRefs) ? inputRefs.map((ref) => String(ref).toLowerCase()) : []
  if (refs.length !== inputs.length)
    throw invalid(
      'answer.inputRefs',
      `${name} has ${inputs.length} inputs, but this answer has ${refs.length}`,
    )
  return { label, name, numbers, refs, claimed: readResult(result, units, unit) }
}

function readResult(result: Claim['result'], given: string | undefined, unit: UnitName | undefined): Claimed {
  if (typeof result === 'boolean' && !unit) return result
  if (!unit || (typeof result !== 'number' && typeof result !== 'bigint'))
    throw invalid('answer.result', `expected ${unit ? 'a number' : 'true or false'}, got ${String(result)}`)
  const { payload, perAnswerUnit } = UNITS[unit]
  const inPayload = given === payload || (given === undefined && typeof result === 'bigint')
  if (!inPayload && given !== undefined && given !== unit)
    throw invalid('answer.units', `expected ${unit} or ${payload}, got ${given}`)
  const perUnit = inPayload ? 1 : perAnswerUnit
  if (typeof result === 'bigint') return { whole: result * BigInt(perUnit) }
  const whole = wholeOf(result, perUnit)
  // Above 2^53, several whole numbers have the same double.
  if (whole === undefined || (Number.isSafeInteger(Number(whole)) && Number(whole) / perUnit !== result))
    throw invalid('answer.result', `expected whole ${payload}, got ${result} ${given ?? unit}`)
  return inPayload ? { whole } : { whole, shown: result }
}

/** Rounds a result to the nearest whole number of payload units. */
function wholeOf(result: number, perUnit: number): bigint | undefined {
  const floor = Math.floor(result)
  if (!Number.isFinite(floor)) return undefined
  return BigInt(floor) * BigInt(perUnit) + BigInt(Math.round((result - floor) * perUnit))
}

/** Describes how a signed payload differs from an answer with this result; undefined if it does not. */
export function otherThanSigned(
  { attestation, answer, timestamp }: Claim,
  { label, name, refs }: ReadClaim,
  outcome: Outcome,
): string | undefined {
  const { units } = rowOf(name)
  for (const content of [attestation, answer]) {
    if (content === undefined) continue
    const signed = decodeClaims(String(content.data) as Hex)
    if (!signed) return 'its signed data is not the payload of an answer'
    const compared: [string, unknown, unknown][] = [
      ['operation', label, signed.operation],
      ['inputRefs', refs.join(), signed.inputRefs.join()],
      ['timestamp', timestamp ?? signed.timestamp, signed.timestamp],
      ['units', units, signed.units],
      [units ? `result in ${UNITS[units].payload}` : 'result', outcome, signed.whole ?? signed.result],
    ]
    const other = compared.find(([, given, value]) => given !== value)
    if (other) return `its ${other[0]} is ${String(other[1])}, but the signed value is ${String(other[2])}`
  }
  return undefined
}

/** Compares a claim with the recomputed result. */
export function judge(
  { label, name, claimed }: ReadClaim,
  outcome: Outcome,
): { computed: Computed; sentence: string } & (
  | { verdict: 'equal' }
  | { verdict: 'differs'; difference?: bigint }
) {
  const { units } = rowOf(name)
  if (typeof outcome === 'boolean' || typeof claimed === 'boolean' || !units) {
    const computed = { result: outcome as boolean }
    const [, centimeters] = label.split(':')
    const question = centimeters === undefined ? label : `${name} ${Number(centimeters) / 100} m`
    const found = `${question} is ${String(outcome)}`
    return claimed === outcome
      ? { verdict: 'equal', computed, sentence: `${found}, as answered.` }
      : { verdict: 'differs', computed, sentence: `${found}, but the answer is ${String(!outcome)}.` }
  }
  const { payload, perAnswerUnit, symbol, payloadSymbol } = UNITS[units]
  const result = Number(outcome) / perAnswerUnit
  const computed: Computed = { result, units, whole: outcome, wholeUnits: payload }
  const found = `${label} is ${result} ${symbol}`
  const { whole, shown } = claimed
  if (shown === undefined ? whole === outcome : shown === result)
    return { verdict: 'equal', computed, sentence: `${found}, as answered.` }
  const difference = whole - outcome
  const [size, direction] = difference < 0n ? [-difference, 'less'] : [difference, 'more']
  const sentence = `${found}; the answer is ${size} ${payloadSymbol} ${direction}.`
  return { verdict: 'differs', computed, difference, sentence }
}
