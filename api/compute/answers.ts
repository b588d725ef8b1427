import { randomInt } from 'node:crypto'
import { ZeroHash } from 'ethers/constants'
import { readAnswer, type Claims } from '../../src/answer'
import {
  attestCalldata,
  multiAttestCalldata,
  splitSignature,
  type DelegatedRequest,
  type MultiDelegatedRequest,
} from '../../src/eas'
import type { EntryKind } from '../../src/tlog'
import { invalidInput } from '../http/problems'
import type { Work } from '../http/work'
import type { Attester, Statement, Terms, ValidityCheck } from './attester'
import { MAX_SOURCE_LENGTH } from './offchain'
import type { BatchResult, ComputeResult, Transaction } from './schemas'
import type { VerifyingContract } from '../contracts'

export interface UnsignedResult {
  statement: Statement
  claims: Claims
  /** Kind of each input: `geojson`, `onchain`, or `offchainSource`. All but the first are checked again. */
  sources: readonly string[]
  stillValid: ValidityCheck
  /** Expiration of an earlier answer for the proxy, which its renewed signature keeps. */
  expirationTime?: number
}

/** Contract that answers are signed for, and the terms. */
export interface Landing {
  attester: Attester
  contract: VerifyingContract
  /** Nonce at which EAS accepts the next signature; undefined for the proxy. */
  nonce: number | undefined
  /** Unix seconds */
  deadline: number
  /** True if the answer contains the transaction that submits it. */
  transaction: boolean
  resignUrl: string
  kind: EntryKind
  work: Work
}

/** Signs a result. Throws like `Attester.sign`. */
export async function sign(
  landing: Landing,
  { statement, claims, sources, stillValid, expirationTime: earlier }: UnsignedResult,
): Promise<ComputeResult> {
  const { attester, contract, nonce, deadline, transaction, resignUrl, kind, work } = landing
  const expirationTime = contract.submission === 'proxy' ? earlier || uniqueExpiration() : 0
  const terms: Terms =
    nonce === undefined ? { deadline, expirationTime } : { deadline, expirationTime, nonce }
  const { signature, log } = await attester.sign(contract, statement, terms, kind, work, stillValid)
  const { address } = attester
  const { schema, recipient, data, revocable } = statement
  const refUID = ZeroHash
  const ifNonceUsed =
    'Only one of the answers with this nonce can land; EAS reverts the others with ' +
    `InvalidSignature. If that happens, send this answer with its chainId to POST ${resignUrl}.`
  const attestByDelegation = delegatedRequest(statement, signature, address, terms)
  // Each field is written out, because a spread is slow unless it comes first in its object.
  const answer: ComputeResult = {
    ...claims,
    attestation: { schema, attester: address, recipient, data, signature, revocable, refUID, expirationTime },
    delegatedAttestation: {
      signature,
      attester: address,
      deadline,
      ...(nonce !== undefined && { nonce, ifNonceUsed }),
      submission: contract.submission,
      contract: contract.address,
      resignToken: resignTokenOf(attester, statement, sources.join()),
    },
    attestByDelegation,
  }
  if (log) answer.log = log
  if (transaction) {
    answer.transaction = await transactionOf(contract, attestByDelegation)
    // While the contract was probed, inputs may have been revoked.
    await stillValid()
  }
  return answer
}

/** Unix seconds of the year 36,812: later than any use, so that an expiration after it never takes effect. */
const NEVER_SECONDS = 2 ** 40

/**
 * Returns a random expiration. The proxy accepts a signature once, and EAS assigns equal attestations in one
 * block UIDs that cost more and more gas. A random expiration keeps any two answers for the proxy different,
 * whichever API instance signs them. It lies at least 34,000 years in the future.
 */
function uniqueExpiration(): number {
  return NEVER_SECONDS + randomInt(NEVER_SECONDS)
}

/** Signs results with one deadline, for EAS at consecutive nonces. Throws like `Attester.sign`. */
export async function signBatch(landing: Landing, unsigned: readonly UnsignedResult[]): Promise<BatchResult> {
  const { contract, nonce, deadline, transaction } = landing
  const kind = landing.kind === 'answer' ? 'batch' : landing.kind
  const checkAll = () => Promise.all(unsigned.map(({ stillValid }) => stillValid()))
  // Usually refuses a batch before any of its answers is signed.
  await checkAll()
  const results = await Promise.all(
    unsigned.map((each, i) =>
      sign({ ...landing, kind, nonce: nonce === undefined ? undefined : nonce + i }, each),
    ),
  )
  const multiAttestByDelegation = multiAttestRequests(results.map((result) => result.attestByDelegation))
  const batch: BatchResult = { results, deadline, multiAttestByDelegation }
  if (transaction) batch.transaction = await transactionOf(contract, multiAttestByDelegation)
  // While the last signature was made or the contract was probed, inputs may have been revoked.
  await checkAll()
  // Repeats the checks that became due during a slow one of another answer.
  await checkAll()
  return batch
}

/** Returns the argument of `attestByDelegation` of EAS and of its proxy. */
export function delegatedRequest(
  { schema, recipient, revocable, data }: Statement,
  signature: string,
  attester: string,
  { expirationTime, deadline }: Terms,
): DelegatedRequest {
  return {
    schema,
    data: { recipient, expirationTime, revocable, refUID: ZeroHash, data, value: '0' },
    signature: splitSignature(signature),
    attester,
    deadline,
  }
}

/** Groups adjacent requests of one schema, attester and deadline for multiAttestByDelegation. */
export function multiAttestRequests(requests: readonly DelegatedRequest[]): MultiDelegatedRequest[] {
  const multi: MultiDelegatedRequest[] = []
  for (const { schema, data, signature, attester, deadline } of requests) {
    const last = multi.at(-1)
    if (last?.schema !== schema || last.attester !== attester || last.deadline !== deadline)
      multi.push({ schema, data: [], signatures: [], attester, deadline })
    multi.at(-1)!.data.push(data)
    multi.at(-1)!.signatures.push(signature)
  }
  return multi
}

/** Returns the transaction. Its value is a number: viem's local accounts encode '0' incorrectly. */
export async function transactionOf(
  contract: VerifyingContract,
  request: DelegatedRequest | MultiDelegatedRequest[],
): Promise<Transaction> {
  const { layout } = await contract.known()
  const data = Array.isArray(request) ? multiAttestCalldata(layout, request) : attestCalldata(layout, request)
  return { to: contract.address, data, value: 0 }
}

/** Returns the kinds of the inputs, which references do not show, with a seal of this service. */
function resignTokenOf(attester: Attester, statement: Statement, kinds: string): string {
  return `${kinds}.${attester.seal(sealedText(statement, kinds))}`
}
function sealedText({ schema, recipient, revocable, data }: Statement, kinds: string): string {
  return [schema, recipient, revocable, data, kinds].join(':')
}
const TOKEN = /^([a-z0-9,-]+)\.([\w-]{22})$/
/** Maximum length of a resign token: an operation has at most two inputs. */
const MAX_TOKEN_LENGTH = 2 * MAX_SOURCE_LENGTH + 50

/** Returns the kinds of an answer's inputs; undefined unless the token belongs to the statement. */
export function sourcesOf(attester: Attester, statement: Statement, token: string): string[] | undefined {
  const [, kinds, seal] = (token.length > MAX_TOKEN_LENGTH ? undefined : TOKEN.exec(token)) ?? []
  return kinds !== undefined && attester.isSeal(sealedText(statement, kinds), seal!)
    ? kinds.split(',')
    : undefined
}

export const WRONG_TOKEN =
  'delegatedAttestation.resignToken: expected the resignToken returned with this attestation'

/** Returns the claims of a payload. Throws a ComputeError if no operation produces it. */
export function claimsOf(data: string): Claims {
  const read = readAnswer(data)
  if (!read) throw invalidInput('attestation.data: expected the payload of a result')
  return read.claims
}
