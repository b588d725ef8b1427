import { OPERATIONS, readLabel, type Operation, type Outcome, type Units } from '../../../../src/operations'
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
  units?: 'meters' | 'square_meters'
  /** as in its payload, in whole `wholeUnits`; absent for booleans */
  whole?: bigint
  wholeUnits?: 'centimeters' | 'square_centimeters'
}

/** What an answer says of its operation. */
interface ReadClaim {
  label: string
  operation: Operation
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
  const operation: Operation = OPERATIONS[named.name]
  const refs = Array.isArray(inputRefs) ? inputRefs.map((ref) => String(ref).toLowerCase()) : []
  if (refs.length !== operation.inputs)
    throw invalid('answer.inputRefs', `${named.name} has ${operation.inputs}, this answer ${refs.length}`)
  const claimed = readResult(result, units, operation.units)
  return { label, operation, numbers: named.numbers, refs, claimed }
}

function readResult(result: Claim['result'], given: string | undefined, units: Units | undefined): Claimed {
  if (typeof result === 'boolean' || !units) {
    if (typeof result === 'boolean' && !units) return result
    throw invalid('answer.result', `expected ${units ? 'a number' : 'true or false'}, got ${String(result)}`)
  }
  const inPayload = given === units.payload || (given === undefined && typeof result === 'bigint')
  if (!inPayload && given !== undefined && given !== units.answer)
    throw invalid('answer.units', `expected ${units.answer} or ${units.payload}, got ${given}`)
  const perUnit = inPayload ? 1 : units.perAnswerUnit
  if (typeof result === 'bigint') return { whole: result * BigInt(perUnit) }
  const whole = wholeOf(result, perUnit)
  // Beyond 2^53 several whole numbers are shown as one.
  if (whole === undefined || (Number.isSafeInteger(Number(whole)) && Number(whole) / perUnit !== result))
    throw invalid('answer.result', `expected whole ${units.payload}, got ${result} ${given ?? units.answer}`)
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
  { label, operation: { units }, claimed }: ReadClaim,
  outcome: Outcome,
): { computed: Computed; sentence: string } & (
  { verdict: 'equal' } | { verdict: 'differs'; difference?: bigint }
) {
  if (typeof outcome === 'boolean' || typeof claimed === 'boolean' || !units) {
    const computed = { result: outcome as boolean }
    const [name, centimeters] = label.split(':')
    const question = centimeters === undefined ? label : `${name} ${Number(centimeters) / 100} m`
    const found = `${question} is ${String(outcome)}`
    return claimed === outcome
      ? { verdict: 'equal', computed, sentence: `${found}, as answered.` }
      : { verdict: 'differs', computed, sentence: `${found}, but was answered ${String(!outcome)}.` }
  }
  const { answer, payload, perAnswerUnit } = units
  const result = Number(outcome) / perAnswerUnit
  const computed: Computed = { result, units: answer, whole: outcome, wholeUnits: payload }
  const found = `${label} is ${result} ${SYMBOLS[answer]}`
  const { whole, shown } = claimed
  if (shown === undefined ? whole === outcome : shown === result)
    return { verdict: 'equal', computed, sentence: `${found}, as answered.` }
  const difference = whole - outcome
  const [size, direction] = difference < 0n ? [-difference, 'less'] : [difference, 'more']
  const sentence = `${found}; the answer is ${size} ${SYMBOLS[payload]} ${direction}.`
  return { verdict: 'differs', computed, difference, sentence }
}

const SYMBOLS = { meters: 'm', square_meters: 'm2', centimeters: 'cm', square_centimeters: 'cm2' } as const
