import { decodeResult } from '../eas'
import { LATEST_SECOND } from '../location'
import { unitOf, UNITS, type UnitName } from '../operations'

/** Answers as attestations. The indexer selects them by attester: a request may name any schema. */

/** Claims of an answer, as the Compute API returns them (docs/spec/interface.md 6). */
export interface Claims {
  result: number | boolean
  /** for numbers only */
  units?: UnitName
  /** such as `distance` or `within:50000` */
  operation: string
  /** Unix seconds */
  timestamp: number
  inputRefs: string[]
}

/** Fields of an answer's row. Hex is lower-case. */
export interface AnswerFields {
  uid: string
  chain: string
  attester: string
  recipient: string
  operation: string
  result: number | boolean
  units: string | null
  /** whole number of the payload, as text; null for booleans */
  value: string | null
  input_refs: string[]
  computed_at: Date
  timestamp: Date
  revoked: boolean
}

/** Decodes an answer's payload, in hex, into its claims and whole number; undefined for other payloads. */
export function readAnswer(data: string): { claims: Claims; value: bigint | null } | undefined {
  const payload = decodeResult(data)
  if (!payload || payload.timestamp > LATEST_SECOND) return undefined
  const { result, operation, timestamp, inputRefs } = payload
  const context = { operation, timestamp, inputRefs: [...inputRefs] }
  if (typeof result === 'boolean') return { claims: { result, ...context }, value: null }
  const units = unitOf(payload.units!)
  if (!units) return undefined
  return { claims: { result: Number(result) / UNITS[units].perAnswerUnit, units, ...context }, value: result }
}

/** Attesters, lower-case, by chain. */
const attesters = new Map<string, Set<string>>()

/** Adds attesters, lower-case, whose attestations on this chain are read as answers of this service. */
export function addAnswerAttesters(chain: string, added: readonly { address: string }[]): void {
  attesters.set(chain, new Set([...answerAttesters(chain), ...added.map(({ address }) => address)]))
}

export function answerAttesters(chain: string): readonly string[] {
  return [...(attesters.get(chain) ?? [])]
}

export function isAnswerAttester(chain: string, address: string): boolean {
  return attesters.get(chain)?.has(address) ?? false
}
