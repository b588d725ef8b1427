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
  Information,
  Input,
  Submission,
  Verification,
} from './types'

/** What the parts of the client have in common: types alone, so that no part needs another one for them. */

export interface GeoOptions extends HttpOptions {
  /** the chain of questions that name none: its id, or its slug */
  chain?: number | string
  /** the nodes that chains are read from, by chain id: URLs, or providers of ethers, viem or EIP-1193 */
  providers?: Readonly<Record<number, Provider>>
  /**
   * the address that must have signed answers. Without it the one that the service names is believed, so a
   * service that lies about its own key is not noticed: give it where answers are worth money.
   */
  attester?: string
  /**
   * the contracts of chains, by chain id. Without them the addresses that the service names are believed, by
   * `check` too: give them, with `attester`, where answers are worth money.
   */
  contracts?: Readonly<Record<number, { eas: string; proxy?: string }>>
}

/** How a question is asked. */
export interface AskOptions {
  /** the chain that the answer shall land on, and on which all UIDs are: its id, or its slug */
  chain?: number | string
  /** UID of the schema to attest under; default: that of the service */
  schema?: string
  /** receives the attestation; default: the zero address */
  recipient?: string
  /** how the answer lands; default: that of the service */
  submission?: Submission
  signal?: AbortSignal
}

/** A method for each operation. */
export type Questions = {
  [Name in keyof Arguments<Input>]: (
    ...given: [...Arguments<Input>[Name], options?: AskOptions]
  ) => Promise<Answer<Name>>
}

/** What the service says of itself and of its answers. */
export interface Service {
  /** The same answer, signed anew: at a fresh nonce, until a later deadline, or for the other submission. */
  readonly resign: <A extends Answer | BatchAnswer>(
    answer: A,
    options?: Pick<AskOptions, 'submission' | 'signal'>,
  ) => Promise<A>
  /** What the service says of an earlier answer: whether it is its own, can be submitted, has landed. */
  readonly verify: (answer: Answer, options?: { signal?: AbortSignal }) => Promise<Verification>
  readonly records: Records
  /** Which deployment this is: its chains, attester, schemas. Remembered for a minute. */
  readonly info: (options?: { fresh?: boolean; signal?: AbortSignal }) => Promise<Information>
  /** A chain by its id or slug; by default the client's own. Throws an InvalidInputError that lists them. */
  readonly chain: (which?: number | string, options?: { signal?: AbortSignal }) => Promise<Chain>
}

/** What a part of the client needs of the service. */
export interface Context extends Service {
  options: GeoOptions
  /** Asks a compute endpoint about a chain. */
  request: <A extends Answer | BatchAnswer>(
    endpoint: string,
    question: object,
    options?: AskOptions,
  ) => Promise<A>
}

export interface LandOptions {
  signal?: AbortSignal
  /**
   * How often an answer is signed anew because another one took its nonce, or its deadline has passed; 20 by
   * default, 0 for never.
   */
  resigns?: number
  /**
   * Called at each step. An answer that was signed anew waits for it before it is sent: who stores it first
   * can go on with it after a crash, and lands nothing twice.
   */
  onStep?: (step: LandingStep) => unknown
}
export type LandingStep =
  | { step: 'signed anew'; reason: string; answer: Answer | BatchAnswer }
  | { step: 'sent'; transactionHash: string }

/** An answer that is an attestation now. */
export interface Landed {
  uid: string
  chainId: number
  transactionHash: string
  blockNumber: number
  /** true: it had landed earlier, and nothing was sent */
  already: boolean
  /** what the attestation says, decoded */
  says: Claims
  attestation: OnchainAttestation
}
