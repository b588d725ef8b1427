import { Signature } from 'ethers'
import { decodeResult } from '../../src/eas'
import { invalidInput, verificationFailed } from '../http/problems'
import type { Attester, SignedStatement, Statement } from './attester'
import { MAX_SOURCE_LENGTH } from './offchain'
import { OPERATIONS } from './operations'
import type { BatchResult, Claims, ComputeResult, MultiAttestRequest } from './schemas'

/** What was computed, before it is signed. */
export interface UnsignedResult {
  statement: Statement
  claims: Claims
  /**
   * For each input, what must still be valid when the result is signed again: `onchain` attestations, and
   * offchain ones (`offchainSource`). `geojson` needs no check.
   */
  sources: readonly string[]
}

/** Signs a result at a nonce, until a deadline in Unix seconds. Throws UnavailableError. */
export async function sign(
  attester: Attester,
  { statement, claims, sources }: UnsignedResult,
  nonce: number,
  deadline: number,
): Promise<ComputeResult> {
  const { attestation, delegatedAttestation } = await attester.sign(statement, nonce, deadline)
  const resignToken = resignTokenOf(attester, attestation, sources.join())
  return { ...claims, attestation, delegatedAttestation: { ...delegatedAttestation, resignToken } }
}

/** Signs results at consecutive nonces, until one deadline. Throws UnavailableError. */
export async function signBatch(
  attester: Attester,
  unsigned: readonly UnsignedResult[],
  nonce: number,
  deadline: number,
): Promise<BatchResult> {
  const results = await Promise.all(unsigned.map((each, i) => sign(attester, each, nonce + i, deadline)))
  return { results, deadline, multiAttestByDelegation: multiAttestRequests(results) }
}

/**
 * The resign token: the kinds of the inputs, which their references do not show, under a seal that only this
 * service can make.
 */
function resignTokenOf(attester: Attester, statement: Statement, kinds: string): string {
  const { schema, recipient, revocable, data } = statement
  return `${kinds}.${attester.seal([schema, recipient, revocable, data, kinds].join(':'))}`
}
const TOKEN = /^([a-z0-9,-]+)\.[\w-]{22}$/
/** An operation has at most two inputs. */
const MAX_TOKEN_LENGTH = 2 * MAX_SOURCE_LENGTH + 50

/**
 * The kinds of an earlier answer's inputs. Throws a ComputeError unless the token belongs to the statement.
 */
export function sourcesOf(attester: Attester, statement: Statement, token: string): string[] {
  const kinds = token.length > MAX_TOKEN_LENGTH ? undefined : TOKEN.exec(token)?.[1]
  if (kinds === undefined || resignTokenOf(attester, statement, kinds) !== token)
    throw verificationFailed(
      'delegatedAttestation.resignToken: not the one that was given with this attestation',
    )
  return kinds.split(',')
}

/** What a payload claims, in the answer's units. Throws a ComputeError for one that no operation gives. */
export function claimsOf(data: string): Claims {
  const payload = decodeResult(data)
  const units =
    payload &&
    Object.values(OPERATIONS).find((operation) => operation.units?.payload === payload.units)?.units
  if (!payload || (payload.units !== undefined && !units))
    throw invalidInput('attestation.data: not the payload of a result')
  const { result, operation, timestamp, inputRefs } = payload
  const context = { operation, timestamp, inputRefs: [...inputRefs] }
  return typeof result === 'bigint'
    ? { result: Number(result) / units!.perAnswerUnit, units: units!.answer, ...context }
    : { result, ...context }
}

/**
 * The parameter of EAS.multiAttestByDelegation: neighbours of one schema go together, as the contract counts
 * nonces in this order. `value` is a decimal string: ethers, viem and eas-sdk take it, and eas-sdk's sum of
 * values fails on a number.
 */
export function multiAttestRequests(results: readonly SignedStatement[]): MultiAttestRequest[] {
  const requests: MultiAttestRequest[] = []
  for (const { attestation, delegatedAttestation } of results) {
    const { schema, attester, recipient, revocable, refUID, data, signature } = attestation
    const { v, r, s } = Signature.from(signature)
    if (requests.at(-1)?.schema !== schema)
      requests.push({ schema, data: [], signatures: [], attester, deadline: delegatedAttestation.deadline })
    const last = requests.at(-1)!
    last.data.push({ recipient, expirationTime: 0, revocable, refUID, data, value: '0' })
    last.signatures.push({ v, r, s })
  }
  return requests
}
