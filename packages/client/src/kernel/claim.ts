import { readLabel, type Outcome } from '../../../../src/operations'
import {
  OPERATIONS,
  rowOf,
  UNITS,
  type OperationName,
  type PayloadUnitName,
  type UnitName,
} from '../../../../src/operations/table'
import { invalid } from './inputs'

/** An answer, as the service gave it, or as the attestation that holds it says it. */
export interface Claim {
  /** such as `distance` or `within:50000` */
  operation: string
  /** in `units`, or a boolean */
  result: number | bigint | boolean
  /** those of the answer, or of its payload in whole units; absent for booleans */
  units?: string
  inputRefs: readonly string[]
}

/** What was computed, in the forms that answer and payload have. */
export interface Computed {
  /** as in an answer: metres, square metres, or a boolean */
  result: number | boolean
  units?: UnitName
  /** as in its payload, in whole `wholeUnits`; absent for booleans */
  whole?: bigint
  wholeUnits?: PayloadUnitName
}

/** What an answer says of its operation. */
interface ReadClaim {
  label: string
  name: OperationName
  numbers: readonly number[]
  /** lower-case */
  refs: string[]
  claimed: Claimed
}
/** A boolean; or a whole number of payload units, and how an answer shows it. */
type Claimed = boolean | { whole: bigint; shown?: number }

/** Throws an InvalidInputError for what no operation answers. */
export function readClaim({ operation: label, result, units, inputRefs }: Claim): ReadClaim {
  const named = readLabel(String(label))
  if (!named)
    throw invalid('answer.operation', `'${String(label)}' is none of ${Object.keys(OPERATIONS).join(', ')}`)
  const { name, numbers } = named
  const { inputs, units: unit } = rowOf(name)
  const refs = Array.isArray(inputRefs) ? inputRefs.map((ref) => String(ref).toLowerCase()) : []
  if (refs.length !== inputs.length)
    throw invalid('answer.inputRefs', `${name} has ${inputs.length}, this answer ${refs.length}`)
  return { label, name, numbers, refs, claimed: readResult(result, units, unit) }
}

function readResult(result: Claim['result'], given: string | undefined, unit: UnitName | undefined): Claimed {
  if (typeof result === 'boolean' || !unit) {
    if (typeof result === 'boolean' && !unit) return result
    throw invalid('answer.result', `expected ${unit ? 'a number' : 'true or false'}, got ${String(result)}`)
  }
  const { payload, perAnswerUnit } = UNITS[unit]
  const inPayload = given === payload || (given === undefined && typeof result === 'bigint')
  if (!inPayload && given !== undefined && given !== unit)
    throw invalid('answer.units', `expected ${unit} or ${payload}, got ${given}`)
  const perUnit = inPayload ? 1 : perAnswerUnit
  if (typeof result === 'bigint') return { whole: result * BigInt(perUnit) }
  const whole = wholeOf(result, perUnit)
  // Beyond 2^53 several whole numbers are shown as one.
  if (whole === undefined || (Number.isSafeInteger(Number(whole)) && Number(whole) / perUnit !== result))
    throw invalid('answer.result', `expected whole ${payload}, got ${result} ${given ?? unit}`)
  return inPayload ? { whole } : { whole, shown: result }
}

/** The nearest whole number of payload units. */
function wholeOf(result: number, perUnit: number): bigint | undefined {
  const floor = Math.floor(result)
  if (!Number.isFinite(floor)) return undefined
  return BigInt(floor) * BigInt(perUnit) + BigInt(Math.round((result - floor) * perUnit))
}

/** Compares what an answer claims with what was computed. */
export function judge(
  { label, name, claimed }: ReadClaim,
  outcome: Outcome,
): { computed: Computed; sentence: string } & (
  { verdict: 'equal' } | { verdict: 'differs'; difference?: bigint }
) {
  const { units } = rowOf(name)
  if (typeof outcome === 'boolean' || typeof claimed === 'boolean' || !units) {
    const computed = { result: outcome as boolean }
    const [, centimeters] = label.split(':')
    const question = centimeters === undefined ? label : `${name} ${Number(centimeters) / 100} m`
    const found = `${question} is ${String(outcome)}`
    return claimed === outcome
      ? { verdict: 'equal', computed, sentence: `${found}, as answered.` }
      : { verdict: 'differs', computed, sentence: `${found}, but was answered ${String(!outcome)}.` }
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
