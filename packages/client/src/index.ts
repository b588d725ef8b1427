// SPDX-License-Identifier: MIT
/**
 * Typed client of the Geospatial Attestation Service. It asks questions about places, lands the signed
 * answers on their chain, checks them there, and recomputes them. Start with `createGeo`.
 */
export { createGeo, type Geo } from './geo'
export type { AskOptions, GeoOptions, Landed, LandingStep, LandOptions } from './context'
export * from './errors'
export { secondsIn } from './http'
export type { CheckOptions, Checked } from './check'
export { timeOf } from '../../../src/eas/times'
export { sentenceOf } from './says'
export { checkSigned, decodeClaims, expectedAttester, getAttestation, type OnchainAttestation } from './eas'
export type { AnswerListOptions, AnswerPageOptions, Answers } from './answers'
export type { Attested, AttestedOffchain, AttestOptions, AttestStep } from './attest'
export type { Place, PlaceDetails } from './place'
export { point, type GeoJson, type Position } from './position'
export type { Revoked, RevokeOptions } from './revoke'
export { privatePlace, type PrivatePlace } from './private'
export type {
  Quorum,
  QuorumAskOptions,
  QuorumError,
  QuorumOptions,
  QuorumVerification,
  VerifyQuorumOptions,
} from './quorum'
export type { Logged, LoggedOptions, OperatorLogged } from './log'
export type { Recomputed, RecomputeInput } from './kernel'
export type { RecomputeAnswerOptions } from './recompute'
export { queriesOf, type Query } from './queries'
export { offchainInput, type OffchainFile, type OffchainSource } from './offchain'
export type { ExportFormat, ListOptions, PageOptions, RecordEvent, Records, StreamOptions } from './records'
export type { ChainReader } from './reader'
export type { Eip1193Provider, Provider, Signer, Wallet } from './signer'
export type * from './types'
export type { components, operations, paths } from './openapi'
