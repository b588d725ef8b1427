import { decodeResult } from '../eas'
import { LATEST_SECOND } from '../location'
import { OPERATIONS, type Operation } from '../operations'

/**
 * Answers of this service as attestations: who attests them, and what their payload says. The indexer reads
 * them by their attesters, as a request may name any schema of the right types.
 */

/** What an answer says, as the Compute API answers it (docs/spec/interface.md 6). */
export interface Claims {
  result: number | boolean
  /** Of numbers. */
  units?: 'meters' | 'square_meters'
  /** Such as `distance` or `within:50000` */
  operation: string
  /** Unix seconds */
  timestamp: number
  inputRefs: string[]
}

/** The fields of an answer as its row has them: hex in lower case. */
export interface AnswerFields {
  uid: string
  chain: string
  attester: string
  recipient: string
  operation: string
  result: number | boolean
  units: string | null
  /** The whole number of the payload, as text; null for booleans */
  value: string | null
  input_refs: string[]
  computed_at: Date
  timestamp: Date
  revoked: boolean
}

/**
 * What a payload says, with the whole number that it holds; undefined where it is no answer: other fields, or
 * units that no operation has.
 * @param data hex
 */
export function readAnswer(data: string): { claims: Claims; value: bigint | null } | undefined {
  const payload = decodeResult(data)
  if (!payload || payload.timestamp > LATEST_SECOND) return undefined
  const { result, operation, timestamp, inputRefs } = payload
  const context = { operation, timestamp, inputRefs: [...inputRefs] }
  if (typeof result === 'boolean') return { claims: { result, ...context }, value: null }
  const units = Object.values<Operation>(OPERATIONS).find(
    (each) => each.units?.payload === payload.units,
  )?.units
  return (
    units && {
      claims: { result: Number(result) / units.perAnswerUnit, units: units.answer, ...context },
      value: result,
    }
  )
}

/** By chain, lower-case. */
const attesters = new Map<string, Set<string>>()

/** From now on what these addresses (lower-case) attest on this chain is read as answers of this service. */
export function addAnswerAttesters(chain: string, added: readonly { address: string }[]): void {
  attesters.set(chain, new Set([...answerAttesters(chain), ...added.map(({ address }) => address)]))
}

export function answerAttesters(chain: string): readonly string[] {
  return [...(attesters.get(chain) ?? [])]
}

export function isAnswerAttester(chain: string, address: string): boolean {
  return attesters.get(chain)?.has(address) ?? false
}
