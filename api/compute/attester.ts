import { ZeroAddress, ZeroHash } from 'ethers/constants'
import type { Chain } from '../../src/chains'
import type { ConnectedChain, Submission } from '../../src/config'
import {
  attestDigest,
  attestTypedData,
  checksumAddress,
  domainSeparator,
  quorumDigest,
  quorumDomain,
  quorumTypedData,
  recoverSigner,
  type AttestMessage,
  type AttestTypedData,
  type QuorumAnswer,
  type Signer,
} from '../../src/eas'
import { ComputeError, invalidInput } from '../http/problems'
import { SharedRead } from '../http/shared'
import type { Work } from '../http/work'
import type { Entry, EntryKind } from '../../src/tlog'
import type { LogClaim, SignatureLog } from '../log'
import { type ChainReader, lookAtEas, lookAtProxy, ownedBy, VerifyingContract } from '../contracts'
import type { Identity } from './signers'

const BALANCE_SHARED_MS = 5 * 60_000
const NONCE_SHARED_MS = 60_000
/** Recipient of an attestation without a recipient. */
export const NO_RECIPIENT = ZeroAddress

/** Attestation fields: addresses with their checksum, other hex lower-case. */
export interface Statement {
  schema: string
  recipient: string
  revocable: boolean
  data: string
}

/** Terms under which a contract accepts a signature. */
export interface Terms {
  /** Nonce of the attester in EAS; absent for the proxy. */
  nonce?: number
  /** Unix seconds; 0 = never */
  expirationTime: number
  /** Unix seconds */
  deadline: number
}

/** A signature, and the promise of the transparency log to include it. `log` is absent if the log is off. */
export interface Signed {
  signature: string
  log?: LogClaim
}

/**
 * Throws a ComputeError or an UnavailableError unless a check that started at most a second ago, or
 * ended at most half a second ago, found the attestations among the inputs of a result valid.
 */
export type ValidityCheck = () => Promise<void>

/** Digest to sign, with its typed data, the requester's address and the check of the inputs. */
interface Signing {
  digest: string
  typed: () => AttestTypedData
  client: string
  stillValid: ValidityCheck
}

export interface ServedChain {
  attester: Attester
  reader: ChainReader
}

/** A chain for one request. Its reader works for that request. */
export interface RequestedChain extends ServedChain {
  work: Work
}

/**
 * Addresses whose keys are public (mnemonic "test test ... junk", accounts 0 to 9): they sign on local chains
 * only.
 */
const TEST_ADDRESSES = new Set([
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  '0x90f79bf6eb2c4f870365e785982e1f101e93b906',
  '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
  '0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc',
  '0x976ea74026e726554db657fa54763abd0c3a0aa9',
  '0x14dc79964da2c08b23698b3d3cc7ca32193d9955',
  '0x23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f',
  '0xa0ee7a142d267c1f36714e4a8f75612f20a79720',
])

export function proxyRefused({ slug }: Chain, reason: string): ComputeError {
  return invalidInput(
    `submission: the proxy of ${slug} does not accept signatures of this service: ${reason}. Use direct.`,
  )
}

/** Signs for one chain, and only for contracts that were verified to be EAS or its proxy. */
export class Attester {
  readonly chain: Chain
  /** Checksummed address of the signer. */
  readonly address: string
  /** Further addresses of the settings, checksummed. `addresses()` are those that count on this chain. */
  readonly others: readonly string[]
  /** The chain's EAS. */
  readonly direct: VerifyingContract
  readonly proxy: VerifyingContract | undefined
  /** Number of signatures since the start, by the contract that verifies them. */
  readonly signatures: Record<Submission | 'quorum', number> = { direct: 0, proxy: 0, quorum: 0 }
  private knownNonce: number | undefined
  private readonly nonceRead: SharedRead<number | undefined>
  private lastBalance: number | undefined
  private readonly balanceRead = new SharedRead(
    () => this.reader.balance(this.signer.address),
    BALANCE_SHARED_MS,
  )
  /** Number of signatures that the signer failed to make. */
  failures = 0

  /**
   * @param log log that receives the entry of each signature; undefined if the log is off, or nothing is
   * signed
   * @param elapsed monotonic milliseconds; set in tests
   */
  constructor(
    private readonly identity: Identity,
    { chain, proxy }: ConnectedChain,
    private readonly reader: ChainReader,
    private readonly log: Pick<SignatureLog, 'append'> | undefined,
    elapsed?: () => number,
  ) {
    const { signer } = identity
    this.chain = chain
    this.address = checksumAddress(signer.address)
    this.others = identity.others.map(checksumAddress)
    this.direct = new VerifyingContract(
      'direct',
      chain.eas,
      async () => {
        const verdict = await lookAtEas(chain, reader)
        return 'reason' in verdict || !(await this.hasPublicKey(signer.address))
          ? verdict
          : { reason: 'the signer is a publicly known test account, which may sign on local chains only' }
      },
      elapsed,
    )
    this.nonceRead = new SharedRead(() => this.nonce(this.direct), NONCE_SHARED_MS, elapsed)
    const look = () => lookAtProxy(chain, reader, proxy!, signer.address)
    this.proxy = proxy === undefined ? undefined : new VerifyingContract('proxy', proxy, look, elapsed)
  }

  /**
   * Returns the nonce at which EAS accepts the next signature (`ChainReader.nonce`): only one signature with
   * it can be submitted. Undefined for the proxy, which accepts signatures of its owner in any order. Throws
   * a ComputeError if the proxy has another owner now, or an UnavailableError.
   */
  async nonce(contract: VerifyingContract, fresh = false): Promise<number | undefined> {
    if (contract.submission === 'proxy') {
      const owner = await this.reader.proxyOwner(contract.address, fresh)
      if (owner === this.signer.address) return undefined
      const reason = ownedBy(owner, this.signer.address)
      contract.refuse(reason)
      throw proxyRefused(this.chain, reason)
    }
    return (this.knownNonce = await this.nonceOf(this.signer.address, fresh))
  }

  /**
   * Nonce of the attester in EAS at the last read; undefined before the first read. At most once a minute, a
   * call starts a read: the nonce may grow although nobody requests answers.
   */
  get lastNonce(): number | undefined {
    this.nonceRead.get().catch(() => {}) // failures of the endpoints have metrics of their own
    return this.knownNonce
  }

  /**
   * Last balance of the attester in the chain's coin; undefined before the first read. If it is older than
   * five minutes, another read starts.
   */
  get balance(): number | undefined {
    this.balanceRead.get().then(
      (balance) => (this.lastBalance = Number(balance) / 1e18),
      () => {}, // failures of the endpoints have metrics of their own
    )
    return this.lastBalance
  }

  /** Returns the nonce of an attester in EAS. Throws an UnavailableError. */
  async nonceOf(address: string, fresh: boolean): Promise<number> {
    const nonce = Number(await this.reader.nonce(address.toLowerCase(), fresh))
    if (!Number.isSafeInteger(nonce))
      throw new Error(`the attester's nonce ${nonce} is above 2^53, the limit of JSON numbers`)
    return nonce
  }

  /** Returns the addresses whose signatures count as this service's, checksummed; the signer's first. */
  async addresses(): Promise<string[]> {
    const isPublic = await Promise.all(this.others.map((each) => this.hasPublicKey(each)))
    return [this.address, ...this.others.filter((_, i) => !isPublic[i])]
  }

  /** Returns the checksummed address if it is one of `addresses()`; undefined otherwise. */
  async ours(address: string): Promise<string | undefined> {
    const lower = address.toLowerCase()
    return (await this.addresses()).find((ours) => ours.toLowerCase() === lower)
  }

  /** True if anyone can sign as this address on this chain. */
  private async hasPublicKey(address: string): Promise<boolean> {
    return TEST_ADDRESSES.has(address.toLowerCase()) && !(await this.reader.isLocal())
  }

  private get signer(): Signer {
    return this.identity.signer
  }

  /** Returns the last known reason why the signer cannot sign on any chain. Does not wait. */
  signerNotReady(): string | undefined {
    return this.signer.notReady()
  }

  /**
   * Returns the signature of a delegated attestation of this statement: refUID zero, value 0; 65 bytes in
   * hex. Throws an UnavailableError, and a ComputeError if the client has too many signatures queued.
   */
  async sign(
    contract: VerifyingContract,
    statement: Statement,
    terms: Terms,
    kind: EntryKind,
    { client }: Work,
    stillValid: ValidityCheck,
  ): Promise<Signed> {
    const { domain, separator, layout } = await contract.ready()
    const message = messageOf(this.signer.address, statement, terms)
    const digest = await attestDigest(separator, layout, message)
    const typed = () => attestTypedData(domain, layout, message)
    const { expirationTime, nonce = 0 } = terms
    return this.signDigest(
      contract.submission,
      { digest, typed, client, stillValid },
      {
        ...{ kind, layout, separator, ...statement, refUID: ZeroHash, expirationTime, nonce },
        deadline: layout === 'legacy' ? 0 : terms.deadline,
      },
    )
  }

  /**
   * Returns the signature of an answer for a GeoQuorum contract of this chain; 65 bytes in hex. Throws like
   * `sign`.
   */
  async signForQuorum(
    quorum: string,
    answer: QuorumAnswer,
    { client }: Work,
    stillValid: ValidityCheck,
  ): Promise<Signed & { digest: string }> {
    // Refuses chains with an unknown EAS, and publicly known keys on public chains.
    await this.direct.ready()
    const domain = quorumDomain(this.chain.id, quorum)
    const digest = quorumDigest(domain, answer)
    const typed = () => quorumTypedData(domain, answer)
    const signed = await this.signDigest(
      'quorum',
      { digest, typed, client, stillValid },
      {
        ...{ kind: 'quorum', layout: 'quorum', separator: domainSeparator(domain), ...answer },
        nonce: answer.epoch,
      },
    )
    return { digest, ...signed }
  }

  /**
   * Returns a signature once its entry is committed. No other code has access to the signer. The signer and
   * the log may take seconds, in which an input may be revoked.
   */
  private async signDigest(
    submission: Submission | 'quorum',
    { digest, typed, client, stillValid }: Signing,
    signed: Omit<Entry, 'time' | 'chainId' | 'attester' | 'signature'>,
  ): Promise<Signed> {
    await stillValid()
    const signature = await this.signer.sign(digest, typed, client).catch((error: unknown) => {
      // A client at its own limit is not a failure of the signer.
      if (!(error instanceof ComputeError)) this.failures++
      throw error
    })
    await stillValid()
    const { address: attester } = this.signer
    const entry = { ...signed, recipient: signed.recipient.toLowerCase(), attester }
    const log = await this.log?.append({ ...entry, chainId: this.chain.id, signature }, stillValid)
    this.signatures[submission]++
    await stillValid()
    return log ? { signature, log } : { signature }
  }

  /** True if an attester signed exactly this statement. Throws an UnavailableError. */
  async signed(
    contract: VerifyingContract,
    attester: string,
    statement: Statement,
    terms: Terms,
    signature: string,
  ): Promise<boolean> {
    const { separator, layout } = await contract.known()
    const digest = await attestDigest(separator, layout, messageOf(attester, statement, terms))
    return (await recoverSigner(digest, signature)) === attester.toLowerCase()
  }

  /** Returns a code for a text on this chain that only this service can compute. */
  seal(text: string): string {
    return this.identity.seals[0](this.sealed(text))
  }

  /** True if a code belongs to this text, by any of this service's secrets. */
  isSeal(text: string, seal: string): boolean {
    return this.identity.seals.some((each) => each(this.sealed(text)) === seal)
  }

  private sealed(text: string): string {
    return `${this.chain.id}:${text}`
  }
}

function messageOf(
  attester: string,
  { schema, recipient, revocable, data }: Statement,
  { nonce = 0, expirationTime, deadline }: Terms,
): AttestMessage {
  const refUID = ZeroHash
  return { schema, recipient, revocable, data, attester, expirationTime, refUID, value: 0, nonce, deadline }
}
