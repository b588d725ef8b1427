// SPDX-License-Identifier: MIT
import { answersOf, type Answers } from './answers'
import type { Attested, AttestedOffchain, AttestOptions } from './attest'
import type { Checked, CheckOptions } from './check'
import type { AskOptions, GeoOptions, Landed, LandOptions, Questions, Service } from './context'
import type { Claim, Recomputed, RecomputeInput } from './kernel'
import type { Logged, LoggedOptions, OperatorLogged } from './log'
import type { OffchainSource } from './offchain'
import type { Place } from './place'
import { methodsOf } from './questions'
import type { RecomputeAnswerOptions } from './recompute'
import type { Revoked, RevokeOptions } from './revoke'
import type { Quorum, QuorumOptions, QuorumVerification, VerifyQuorumOptions } from './quorum'
import { connect } from './service'
import type { Signer } from './signer'
import type { Answer, BatchAnswer, OffchainAttestation, Question, QuorumAnswer } from './types'

/** A client of one service. */
export interface Geo extends Questions, Service {
  readonly url: string
  /** options of createGeo on which answers depend */
  readonly defaults: Readonly<Pick<GeoOptions, 'chain' | 'attester'>>

  /** Asks a question whose operation is chosen at run time. */
  ask(question: Question, options?: AskOptions): Promise<Answer>

  /**
   * Submits an answer, waits until it is in a block, and returns the attestation. It does not send an answer
   * that was altered or that the contract would reject, and re-signs an answer whose nonce was used.
   */
  land(answer: Answer, signer: Signer, options?: LandOptions): Promise<Landed>
  /**
   * Lands a batch, with one transaction for each 20 answers, and returns the attestations in the order of the
   * questions. If one of several transactions fails, land the same batch again: answers that have landed are
   * not sent twice.
   */
  land(answer: BatchAnswer, signer: Signer, options?: LandOptions): Promise<Landed[]>
  /**
   * Lands an answer of a quorum, at the contract that the answer names. With createGeo({ attester }), it must
   * be that one. The answer is never re-signed.
   */
  land(answer: QuorumAnswer, signer: Signer, options?: LandOptions): Promise<Landed>
  /**
   * Estimates the gas of landing the answer now. Throws a LandingError if the contract would reject the
   * answer.
   */
  estimate(answer: Answer | BatchAnswer, signer: Signer): Promise<bigint>
  /**
   * Reads an answer from its chain, and returns its claims and whether they can be trusted. Trusted attesters
   * are those of the service, and the quorum that it names; or only the one of createGeo({ attester }).
   */
  check(uid: string, options?: CheckOptions): Promise<Checked>
  /**
   * Recomputes an answer in this process, with the service's own kernel, from its inputs in the order of
   * `inputRefs`. The verdict is `equal`, `differs` (with the difference) or `wrong inputs`. An input that is
   * omitted or undefined is read from the chain as an attestation. `answer` may be the UID of a landed
   * answer, whose attester is then returned as `attester`.
   */
  recompute(
    answer: string | (Claim & { chainId?: number }),
    inputs?: readonly (RecomputeInput | undefined)[],
    options?: RecomputeAnswerOptions,
  ): Promise<Recomputed & { attester?: string }>
  /**
   * Verifies that the transparency log of the service includes an answer. Until the time of `answer.log.by`
   * it may be `pending`, for at most three minutes; after that time it is `included` or `missing`, and a
   * missing answer that names an entry is evidence against the service. An answer that names none is
   * `missing`, unless the service has no log and no policy is set: the result is then undefined.
   */
  logged(answer: Answer, options?: LoggedOptions): Promise<Logged | undefined>
  /**
   * Verifies that the transparency log of each operator that signed an answer of a quorum includes its
   * signature. Throws an AlteredAnswerError if a signature is not valid.
   */
  logged(answer: QuorumAnswer, options?: LoggedOptions): Promise<OperatorLogged[]>
  /** Verifies an answer of either kind. The result is a list for an answer of a quorum. */
  logged(
    answer: Answer | QuorumAnswer,
    options?: LoggedOptions,
  ): Promise<Logged | OperatorLogged[] | undefined>
  /**
   * Verifies an answer of a quorum before it lands: its signatures, that their accounts are operators of a
   * trusted contract, and that the transparency log of each operator includes its signature.
   */
  verifyQuorum(answer: QuorumAnswer, options?: VerifyQuorumOptions): Promise<QuorumVerification>
  /** Converts an offchain attestation to an input: eas-sdk's object, with its BigInts, or a file. */
  offchain(attestation: OffchainSource, signer?: string): Promise<{ attestation: OffchainAttestation }>

  /**
   * Attests a place by the Location Protocol: GeoJSON, or an object with memo, time and more. The client and
   * the service check the geometry first. Then the signer sends the attestation, and the method resolves once
   * it is in a block. Throws an InvalidInputError for an invalid place, and a LandingError if EAS rejects it.
   */
  attest(place: Place, signer: Signer, options?: AttestOptions & { offchain?: false }): Promise<Attested>
  /**
   * Attests several places in as few transactions as their gas allows, and returns them in the same order.
   */
  attest(
    places: readonly Place[],
    signer: Signer,
    options?: AttestOptions & { offchain?: false },
  ): Promise<Attested[]>
  /** Signs an offchain attestation, and sends nothing. */
  attest(place: Place, signer: Signer, options: AttestOptions & { offchain: true }): Promise<AttestedOffchain>
  attest(
    places: readonly Place[],
    signer: Signer,
    options: AttestOptions & { offchain: true },
  ): Promise<AttestedOffchain[]>
  /** Revokes an attestation of the signer, by its UID or as `attest` returned it. */
  revoke(attestation: string | Attested, signer: Signer, options?: RevokeOptions): Promise<Revoked>
  /** Revokes an offchain attestation of the signer on its chain, by the attestation or its UID. */
  revokeOffchain(
    attestation: OffchainSource | { attestation: OffchainAttestation },
    signer: Signer,
    options?: RevokeOptions,
  ): Promise<Revoked>

  /**
   * Returns the client of a quorum: its answers are signed by k operators, each of which computes them
   * (docs/reference/quorum.md).
   */
  quorum(options: QuorumOptions): Promise<Quorum>

  /** Landed answers of the service: lists, and single answers by UID. */
  readonly answers: Answers
}

/**
 * Creates a client of the service at this URL.
 *
 * const geo = createGeo({ url: 'https://geo.example.org', chain: 'base' })
 * const answer = await geo.distance(uid, { type: 'Point', coordinates: [13.4, 52.5] })
 * const { uid } = await geo.land(answer, wallet)
 */
export function createGeo(options: GeoOptions | string): Geo {
  const connection = connect(typeof options === 'string' ? { url: options } : (options ?? { url: '' }))
  const { options: all, send, request, ...service } = connection
  const { chain, attester } = all
  return {
    ...service,
    defaults: { chain, attester },
    ...methodsOf<Questions>(request),
    ask: ({ operation, ...question }, options) => request(operation, question, options),

    // Each module is loaded when it is needed, since most pages only ask questions.
    land: (async (answer: Answer | BatchAnswer | QuorumAnswer, signer: Signer, options?: LandOptions) =>
      answer && 'signers' in answer
        ? (await import('./quorum')).landQuorum(connection, answer, signer, options, all.attester)
        : (await import('./land')).landAnswer(connection, answer, signer, options)) as Geo['land'],
    estimate: async (answer, signer) => (await import('./land')).estimateGas(connection, answer, signer),
    logged: (async (answer: Answer | QuorumAnswer, options?: LoggedOptions) => {
      const { loggedAnswer, loggedByOperators } = await import('./log')
      return 'signers' in answer
        ? loggedByOperators(connection, answer, options)
        : loggedAnswer(connection, answer, options)
    }) as Geo['logged'],
    verifyQuorum: async (answer, options) =>
      (await import('./quorum')).verifyQuorum(connection, answer, options),
    verify: async (answer, options) => (await import('./check')).verifyAnswer(connection, answer, options),
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
    quorum: async (options) => (await import('./quorum')).quorumOf(connection, options),
    answers: answersOf(service.url, send),
  }
}
