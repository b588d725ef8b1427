// SPDX-License-Identifier: MIT
import type { OnchainAttestation } from './eas'
import type { HttpOptions } from './http'
import type { Arguments } from './openapi'
import type { Records } from './records'
import type { Provider } from './signer'
import type {
  Answer,
  BatchAnswer,
  Chain,
  Claims,
  Health,
  Information,
  Input,
  Question,
  Readiness,
  Submission,
  Verification,
  Zones,
  ZoneSet,
} from './types'

/**
 * Types that several modules of the client share. The file contains types only, so that no module imports
 * another for them.
 */

export interface GeoOptions extends HttpOptions {
  /** default chain of questions: its id or slug */
  chain?: number | string
  /** RPC endpoints of chains by chain id: URLs, or providers of ethers, viem or EIP-1193 */
  providers?: Readonly<Record<number, Provider>>
  /**
   * address that must have signed the answers. By default the client trusts the address that the service
   * names, so it cannot detect a service that lies about its own key: set it if answers are worth money.
   */
  attester?: string
  /**
   * contracts of chains, by chain id. By default the client, including `check`, trusts the addresses that the
   * service names: set them, together with `attester`, if answers are worth money.
   */
  contracts?: Readonly<Record<number, { eas: string; proxy?: string }>>
  /**
   * policy of the transparency log (c2sp.org/tlog-policy): its key, and the witnesses that must have
   * cosigned. By default the client trusts the policy that the service publishes.
   */
  log?: string
}

/** Options of a question. */
export interface AskOptions {
  /** chain on which the answer lands and to which all UIDs refer: its id or slug */
  chain?: number | string
  /** UID of the answer's schema; default: the service's schema */
  schema?: string
  /** recipient of the attestation; default: the zero address */
  recipient?: string
  /** how the answer lands; default: the service's setting */
  submission?: Submission
  signal?: AbortSignal
}

/** One method for each operation. */
export type Questions = {
  [Name in keyof Arguments<Input>]: (
    ...given: [...Arguments<Input>[Name], options?: AskOptions]
  ) => Promise<Answer<Name>>
}

/** Requests that the service answers without a chain or a signer. */
export interface Service {
  /** Asks questions whose answers land together: up to 20 in each request and in each transaction. */
  batch(questions: readonly Question[], options?: AskOptions): Promise<BatchAnswer>
  /**
   * Finds the attested zones that contain a geometry, each with a signed `contains`. `complete` is true if no
   * other zone of the set contains it.
   */
  zones(geometry: Input, zones: ZoneSet, options?: AskOptions): Promise<Zones>
  /** Returns the reference that `inputRefs` contains for a raw geometry. */
  reference(geometry: Input, options?: { signal?: AbortSignal }): Promise<string>
  /**
   * Requests a new signature for an answer: with a fresh nonce, a later deadline, or for another submission.
   */
  readonly resign: <A extends Answer | BatchAnswer>(
    answer: A,
    options?: Pick<AskOptions, 'submission' | 'signal'>,
  ) => Promise<A>
  /**
   * Asks the service about an earlier answer: whether it signed it, and whether it can be submitted or has
   * landed. With createGeo({ attester }), `geo.verify` also checks the signature in this process.
   */
  readonly verify: (answer: Answer, options?: { signal?: AbortSignal }) => Promise<Verification>
  readonly records: Records
  /** Describes the deployment: its chains, attester and schemas. Cached for one minute. */
  readonly info: (options?: { fresh?: boolean; signal?: AbortSignal }) => Promise<Information>
  /**
   * Finds a chain by its id or slug; default: the client's chain. Throws an InvalidInputError that lists the
   * chains if the service has no such chain.
   */
  readonly chain: (which?: number | string, options?: { signal?: AbortSignal }) => Promise<Chain>
  /** Sends a GraphQL query. Throws an InvalidInputError with the first GraphQL error. */
  graphql<T = Record<string, unknown>>(
    query: string,
    variables?: Record<string, unknown>,
    options?: { signal?: AbortSignal },
  ): Promise<T>
  /** Reports the health of the process and its database. Resolves even if they do not work. */
  health(options?: { signal?: AbortSignal }): Promise<Health>
  /** Reports how far the service has indexed each chain. Resolves even if a chain lags. */
  ready(options?: { signal?: AbortSignal }): Promise<Readiness>
}

/** Everything that a module of the client needs from the service. */
export interface Context extends Service {
  options: GeoOptions
  /** Sends a question about a chain to a compute endpoint. */
  request: <A extends Answer | BatchAnswer>(
    endpoint: string,
    question: object,
    options?: AskOptions,
  ) => Promise<A>
}

export interface LandOptions {
  signal?: AbortSignal
  /**
   * Maximum number of new signatures for an answer whose nonce another answer has used, or whose deadline has
   * passed; default 20, 0 disables re-signing.
   */
  resigns?: number
  /**
   * Called at each step. After re-signing, the client awaits its result before it sends the answer. A program
   * that stores the answer here can resume after a crash without landing anything twice. The signer's other
   * transactions wait for a direct answer, so do not await one of them here.
   */
  onStep?: (step: LandingStep) => unknown
}
export type LandingStep =
  | { step: 'signed anew'; reason: string; answer: Answer | BatchAnswer }
  | { step: 'sent'; transactionHash: string }

/** Attestation of an answer that has landed. */
export interface Landed {
  uid: string
  chainId: number
  transactionHash: string
  blockNumber: number
  /** true if no transaction of this call is known to have landed it: it had landed before */
  already: boolean
  /** decoded claims of the attestation */
  says: Claims
  attestation: OnchainAttestation
}
