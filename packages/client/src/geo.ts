import { answersOf, type Answers } from './answers'
import type { Attested, AttestedOffchain, AttestOptions } from './attest'
import type { Checked, CheckOptions } from './check'
import type { AskOptions, GeoOptions, Landed, LandOptions, Questions, Service } from './context'
import type { Claim, Recomputed, RecomputeInput } from './kernel'
import type { OffchainSource } from './offchain'
import type { Place } from './place'
import { methodsOf } from './questions'
import type { RecomputeAnswerOptions } from './recompute'
import type { Revoked, RevokeOptions } from './revoke'
import { connect } from './service'
import type { Signer } from './signer'
import type { Answer, BatchAnswer, Health, Input, OffchainAttestation, Question, Readiness } from './types'

/** The service at one address. */
export interface Geo extends Questions, Service {
  readonly url: string

  /** The answer to a question whose operation is chosen at run time. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Questions whose answers land together: 20 in each request, and in each transaction. */
  batch(questions: readonly Question[], options?: AskOptions): Promise<BatchAnswer>
  /** What `inputRefs` holds for a raw geometry. */
  reference(geometry: Input, options?: { signal?: AbortSignal }): Promise<string>

  /**
   * Submits an answer, waits until it is in a block, and returns the attestation. An answer that was altered,
   * or that the contract would refuse, is not sent; one whose nonce was used up is signed anew.
   */
  land(answer: Answer, signer: Signer, options?: LandOptions): Promise<Landed>
  /**
   * Lands a batch: a transaction for each 20 answers, the attestations in the order of the questions. If one
   * of several fails, land the same batch again: answers that have landed are not sent twice.
   */
  land(answer: BatchAnswer, signer: Signer, options?: LandOptions): Promise<Landed[]>
  /** The gas that landing would use now. Throws a LandingError when the contract would refuse the answer. */
  estimate(answer: Answer | BatchAnswer, signer: Signer): Promise<bigint>
  /** Reads an answer from its chain, and says what it says and whether it is to be believed. */
  check(uid: string, options?: CheckOptions): Promise<Checked>
  /**
   * Computes an answer again in this process, by the service's own kernel, from its inputs in the order of
   * `inputRefs`: `equal`, `differs` by so much, or `wrong inputs`. An input that is left out, or undefined,
   * is an attestation of the chain. `answer` may be the UID of a landed one; `attester` is then who made it.
   */
  recompute(
    answer: string | (Claim & { chainId?: number }),
    inputs?: readonly (RecomputeInput | undefined)[],
    options?: RecomputeAnswerOptions,
  ): Promise<Recomputed & { attester?: string }>
  /** An offchain attestation as an input: eas-sdk's object or file, BigInt and all. */
  offchain(attestation: OffchainSource, signer?: string): Promise<{ attestation: OffchainAttestation }>

  /**
   * Attests a place by the Location Protocol: GeoJSON, or an object with memo, time and more. Its geometry is
   * checked first, here and by the service; then the signer sends the attestation, and is waited for until it
   * is in a block. Throws an InvalidInputError for a wrong place, and a LandingError when EAS refuses it.
   */
  attest(place: Place, signer: Signer, options?: AttestOptions & { offchain?: false }): Promise<Attested>
  /** Several, in as few transactions as their gas allows; in the same order. */
  attest(
    places: readonly Place[],
    signer: Signer,
    options?: AttestOptions & { offchain?: false },
  ): Promise<Attested[]>
  /** Offchain: the signer signs, and nothing is sent. */
  attest(place: Place, signer: Signer, options: AttestOptions & { offchain: true }): Promise<AttestedOffchain>
  attest(
    places: readonly Place[],
    signer: Signer,
    options: AttestOptions & { offchain: true },
  ): Promise<AttestedOffchain[]>
  /** Revokes an attestation of the signer, by its UID or as `attest` gave it. */
  revoke(attestation: string | Attested, signer: Signer, options?: RevokeOptions): Promise<Revoked>
  /** Revokes an offchain attestation of the signer, by itself or its UID, on its chain. */
  revokeOffchain(
    attestation: OffchainSource | { attestation: OffchainAttestation },
    signer: Signer,
    options?: RevokeOptions,
  ): Promise<Revoked>

  /** The service's answers that landed: lists, and single ones. */
  readonly answers: Answers
  /** Raw GraphQL over records and events. Throws an InvalidInputError with the first of its errors. */
  graphql<T = Record<string, unknown>>(
    query: string,
    variables?: Record<string, unknown>,
    options?: { signal?: AbortSignal },
  ): Promise<T>
  /** Whether the process and its database work; an answer also when they do not. */
  health(options?: { signal?: AbortSignal }): Promise<Health>
  /** How far the copy of each chain goes; an answer also when one lags. */
  ready(options?: { signal?: AbortSignal }): Promise<Readiness>
}

/**
 * A client of the service at this address.
 *
 *     const geo = createGeo({ url: 'https://geo.example.org', chain: 'base' })
 *     const answer = await geo.distance(uid, { type: 'Point', coordinates: [13.4, 52.5] })
 *     const { uid } = await geo.land(answer, wallet)
 */
export function createGeo(options: GeoOptions | string): Geo {
  const connection = connect(typeof options === 'string' ? { url: options } : (options ?? { url: '' }))
  const { options: _, send, request, ...service } = connection
  return {
    ...service,
    ...methodsOf<Questions>(request),
    ask: ({ operation, ...question }, options) => request(operation, question, options),

    // Each is loaded when it is needed: most pages only ask.
    land: (async (answer: Answer | BatchAnswer, signer: Signer, options?: LandOptions) =>
      (await import('./land')).landAnswer(connection, answer, signer, options)) as Geo['land'],
    estimate: async (answer, signer) => (await import('./land')).estimateGas(connection, answer, signer),
    check: async (uid, options) => (await import('./check')).checkAnswer(connection, uid, options),
    offchain: async (attestation, signer) => (await import('./offchain')).offchainInput(attestation, signer),
    recompute: async (answer, inputs, options) =>
      (await import('./recompute')).recomputeAnswer(connection, answer, inputs, options),
    attest: (async (place: Place | readonly Place[], signer: Signer, options?: AttestOptions) =>
      (await import('./attest')).attestPlaces(connection, place, signer, options)) as Geo['attest'],
    revoke: async (attestation, signer, options) =>
      (await import('./revoke')).revokeOnchain(connection, attestation, signer, options),
    revokeOffchain: async (attestation, signer, options) =>
      (await import('./revoke')).revokeSigned(connection, attestation, signer, options),
    answers: answersOf(service.url, send),
  }
}
