import type { components, Fields, operations } from './openapi'
import type { GeoJson, Position } from './position'
import type { PrivatePlace } from './private'

/** Types of the service's own OpenAPI document, under the names that callers use. */
type Schemas = components['schemas']

/** An offchain attestation as EAS's explorer and library write it, as JSON. */
export type OffchainAttestation = Schemas['OffchainAttestation']
/**
 * A geometry: the UID of an attestation on the chain of the question, GeoJSON, a position, GeoJSON with a
 * salt (`privatePlace`), an offchain attestation behind a URI, or one itself (`geo.offchain`).
 */
export type Input =
  | string
  | { uid: string }
  | { uid: string; uri: string }
  | { attestation: OffchainAttestation }
  | GeoJson
  | Position
  | PrivatePlace

/** The names of the operations. */
export type OperationName = keyof Fields<Input>
type AnswerBody<Name extends OperationName> =
  operations[Name]['responses'][200]['content']['application/json']
/** A signed answer, with the chain that it is signed for. */
export type Answer<Name extends OperationName = OperationName> = AnswerBody<Name> & { chainId: number }
/** What an answer claims. */
export type Claims = NonNullable<Schemas['Verification']['says']>
/** Signed answers that land together, in one transaction. */
export type BatchAnswer = Schemas['BatchResult'] & { chainId: number }
export type Verification = Schemas['Verification']
export type LocationRecord = Schemas['LocationRecord']
export type Statistics = Schemas['Statistics']
export type Information = Schemas['Information']
export type Health = Schemas['Health']
export type Readiness = Schemas['Readiness']
/** A chain of the service: contracts, attester, and whether it can be signed for. */
export type Chain = Information['chains'][number]
export type Submission = 'direct' | 'proxy'

type ListQuery = NonNullable<operations['listLocationRecords']['parameters']['query']>
/** What records are asked for (docs/reference/records.md, Filters). */
export type RecordFilters = Omit<ListQuery, 'format' | 'cursor' | 'offset' | 'total' | 'limit'>
export type ListPage = Schemas['ListResponse']
type AnswersQuery = NonNullable<operations['listAnswers']['parameters']['query']>
/** What answers that landed are asked for (docs/reference/answers.md, Parameters). */
export type AnswerFilters = Omit<AnswersQuery, 'format' | 'cursor' | 'limit'>
export type LandedAnswer = Schemas['LandedAnswer']
export type LandedAnswerPage = Schemas['LandedAnswerList']
export type RecordFeatureCollection = Schemas['RecordFeatureCollection']

/** One question of a batch; each may have a schema and a recipient of its own. */
export type Question = { schema?: string; recipient?: string } & {
  [Name in OperationName]: { operation: Name } & Fields<Input>[Name]
}[OperationName]
