// SPDX-License-Identifier: MIT
import { GeometryError, prepareGeometry } from '../../../src/geodesy'
import { COMPUTE } from '../../../src/operations'
import { judge, otherThanSigned, readClaim, type Claim, type Computed } from './kernel/claim'
import {
  invalid,
  readInput,
  type ProvenInput,
  type RecomputeInput,
  type RecomputeOptions,
  type WrongInput,
} from './kernel/inputs'

/**
 * Recomputes answers with the service's own kernel in the caller's process, so that nobody has to trust the
 * service. Every JavaScript engine computes the same bits (kernel/math.ts). Start with `recompute`.
 */
export type { Claim, Computed } from './kernel/claim'
export { azimuthTo, geodesicPath, measurable, positionFrom, type Measurable } from './kernel/drawing'
export { isContentOf, locationGeometry, locationTexts } from './kernel/inputs'
export type {
  AttestationContent,
  LocationTexts,
  ProvenInput,
  RecomputeInput,
  RecomputeOptions,
  WrongInput,
} from './kernel/inputs'

interface About {
  /** the verdict in one sentence */
  sentence: string
}
/** The inputs hash to the references, and produce this answer. */
export interface Equal extends About {
  verdict: 'equal'
  computed: Computed
  inputs: ProvenInput[]
}
/**
 * The inputs hash to the references, but produce another answer, or the attester signed another one than the
 * answer shows.
 */
export interface Differs extends About {
  verdict: 'differs'
  computed: Computed
  /**
   * the answer minus the recomputed result, in `computed.wholeUnits`; absent for booleans, and if only the
   * signed content differs
   */
  difference?: bigint
  inputs: ProvenInput[]
}
/**
 * At least one input does not hash to its reference, so the answer is about other inputs. Nothing was
 * computed.
 */
export interface WrongInputs extends About {
  verdict: 'wrong inputs'
  wrong: WrongInput[]
}
/** The inputs hash to the references, but the service has no result for them. */
export interface Refused extends About {
  verdict: 'refused'
}
export type Recomputed = Equal | Differs | WrongInputs | Refused

/**
 * Recomputes an answer from its inputs, in the order of its `inputRefs`. First, each input must hash to its
 * reference. It blocks the thread for milliseconds, and up to seconds for geometries of 100,000 positions. It
 * does not check whether attestations have expired or been revoked. Throws an InvalidInputError for a value
 * that is not an answer of an operation, or not an input.
 */
export async function recompute(
  answer: Claim,
  inputs: readonly RecomputeInput[],
  options: RecomputeOptions = {},
): Promise<Recomputed> {
  const claim = readClaim(answer)
  const { refs } = claim
  if (inputs.length !== refs.length)
    throw invalid('inputs', `expected ${refs.length}, in the order of inputRefs, got ${inputs.length}`)
  const read = await Promise.all(inputs.map((input, i) => readInput(input, i, refs[i]!, options)))
  const wrong = read.filter((each) => 'problem' in each)
  if (wrong.length > 0)
    return { verdict: 'wrong inputs', wrong, sentence: wrong.map(({ problem }) => problem).join(' ') }
  const [refused] = read.filter((each) => 'refused' in each)
  if (refused) return { verdict: 'refused', sentence: refused.refused }
  const found = read.filter((each) => 'proven' in each)
  try {
    const operands = found.map(({ reading }) => prepareGeometry(reading))
    const inputs = found.map(({ proven }) => proven)
    const outcome = COMPUTE[claim.name](operands, claim.numbers)
    const judged = judge(claim, outcome)
    const other = judged.verdict === 'equal' ? otherThanSigned(answer, claim, outcome) : undefined
    if (other === undefined) return { ...judged, inputs }
    return { ...judged, verdict: 'differs', sentence: `The answer was altered: ${other}.`, inputs }
  } catch (error) {
    if (error instanceof GeometryError) return { verdict: 'refused', sentence: `${error.message}.` }
    throw error
  }
}
