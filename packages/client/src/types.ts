// SPDX-License-Identifier: MIT
import type { QuorumRefusal } from '../../../src/errors'
import type { components, Fields, operations } from './openapi'
import type { GeoJson, Position } from './position'
import type { PrivatePlace } from './private'

/** Types of the service's OpenAPI document under the names that the client exports. */
type Schemas = components['schemas']

/** An offchain attestation as JSON, as EAS's explorer and eas-sdk write it. */
export type OffchainAttestation = Schemas['OffchainAttestation']
/**
 * A geometry: the UID of an attestation on the chain of the question, GeoJSON, a position, GeoJSON with a
 * salt (`privatePlace`), an offchain attestation at a URI, or an offchain attestation (`geo.offchain`).
 */
export type Input =
  | string
  | { uid: string }
  | { uid: string; uri: string }
  | { attestation: OffchainAttestation }
  | GeoJson
  | Position
  | PrivatePlace

/** Names of the operations. */
export type OperationName = keyof Fields<Input>
type AnswerBody<Name extends OperationName> =
  operations[Name]['responses'][200]['content']['application/json']
/** A signed answer, with the id of the chain for which it is signed. */
export type Answer<Name extends OperationName = OperationName> = AnswerBody<Name> & { chainId: number }
/** Claims of an answer. */
export type Claims = NonNullable<Schemas['Verification']['says']>
/** Signed answers that land together. `land` sends one transaction for each 20 answers. */
export type BatchAnswer = Schemas['BatchResult'] & { chainId: number }
/** Zones to search: these UIDs, or the valid zones of an attester, a location schema or both. */
export type ZoneSet = { uids: readonly string[] } | { prover?: string; schema?: string }
/** Signed answers of the zones that contain a geometry, which land like a batch. */
export type Zones = Schemas['ZonesResult'] & { chainId: number }
export type Verification = Schemas['Verification']
export type LocationRecord = Schemas['LocationRecord']
export type Statistics = Schemas['Statistics']
export type RecordGroups = Schemas['RecordGroups']
export type AnswerGroups = Schemas['AnswerGroups']
export type Information = Schemas['Information']
export type Health = Schemas['Health']
export type Readiness = Schemas['Readiness']
/** A chain of the service: its contracts, its attester, and whether the service can sign for it. */
export type Chain = Information['chains'][number]
export type Submission = 'direct' | 'proxy'

type ListQuery = NonNullable<operations['listLocationRecords']['parameters']['query']>
/** Filters of a records request (docs/reference/records.md, Filters). */
export type RecordFilters = Omit<ListQuery, 'format' | 'cursor' | 'offset' | 'total' | 'limit'>
export type ListPage = Schemas['ListResponse']
type GroupsQuery<Name extends 'getStatistics' | 'getAnswerStatistics'> = Omit<
  NonNullable<operations[Name]['parameters']['query']>,
  'format' | 'bom' | 'by'
>
/** Filters, order and sums of groups of records (docs/reference/statistics.md, Groups). */
export type RecordGroupFilters = GroupsQuery<'getStatistics'>
/** Filters and order of groups of answers (docs/reference/answers.md, Groups). */
export type AnswerGroupFilters = GroupsQuery<'getAnswerStatistics'>
type AnswersQuery = NonNullable<operations['listAnswers']['parameters']['query']>
/** Filters of a request for landed answers (docs/reference/answers.md, Parameters). */
export type AnswerFilters = Omit<AnswersQuery, 'format' | 'cursor' | 'limit'>
export type LandedAnswer = Schemas['LandedAnswer']
export type LandedAnswerPage = Schemas['LandedAnswerList']
export type RecordFeatureCollection = Schemas['RecordFeatureCollection']

/** One question of a batch. Each question can have its own schema and recipient. */
export type Question = { schema?: string; recipient?: string } & {
  [Name in OperationName]: { operation: Name } & Fields<Input>[Name]
}[OperationName]

/** Argument of `GeoQuorum.land`. Times are Unix seconds. */
export interface QuorumContent {
  schema: string
  recipient: string
  expirationTime: number
  revocable: boolean
  refUID: string
  data: string
  deadline: number
  epoch: number
}
/** Promise of the service to include an answer in its transparency log. */
export interface LogClaim {
  /** identity of the log */
  origin: string
  /** hash of the answer's entry, in hex without 0x */
  leaf: string
  /** Unix seconds by which the log includes it */
  by: number
}

/** Response of `POST /quorum/v0/sign`. */
export interface QuorumSignature extends Claims {
  answer: QuorumContent
  operator: string
  index: number
  quorum: string
  digest: string
  signature: string
  /** entry in the transparency log of the operator's service, if it has one */
  log?: LogClaim
}

/** Reason for which an operator's signature is not part of an answer. */
export interface Dissent {
  url: string
  /**
   * reason that the operator stated; `unreachable` if it did not respond, or its response cannot be read;
   * `invalid-signature` if its signature does not verify, or is not of the question; `other-payload` if
   * operators signed different payloads for the same request
   */
  reason: QuorumRefusal | 'unreachable' | 'invalid-signature' | 'other-payload'
  detail: string
  /** payload that the operator signed: two different ones are evidence that an operator is at fault */
  signed?: QuorumSignature
}
/** An operator that signed an answer of a quorum. */
export interface QuorumOperator {
  /** URL of its service */
  url: string
  /** its position in the operator set of the epoch */
  index: number
  /** its account */
  operator: string
  /** entry in the transparency log of its service, if it has one */
  log?: LogClaim
}
/** An answer that k operators signed. */
export interface QuorumAnswer extends Claims {
  chainId: number
  /** address of the GeoQuorum contract */
  quorum: string
  answer: QuorumContent
  digest: string
  /** bitmap of the operators in `signatures`, in hex */
  signers: `0x${string}`
  /** joined signatures in ascending order of the operators */
  signatures: `0x${string}`
  /** operators in the order of `signatures`; absent in answers of earlier versions of the client */
  operators?: QuorumOperator[]
  /** operators that refused, did not respond, or signed another payload before the answer was returned */
  dissent: Dissent[]
}
