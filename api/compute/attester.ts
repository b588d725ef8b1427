import { ZeroAddress, ZeroHash } from 'ethers'
import type { Chain } from '../../src/chains'
import { SettingsError, type ConnectedChain } from '../../src/config'
import {
  DELEGATED_ABIS,
  attestDigest,
  checksumAddress,
  domainSeparator,
  keySigner,
  layoutOfTypeHash,
  recoverSigner,
  type AttestLayout,
  type AttestMessage,
  type EasDomain,
  type Signer,
} from '../../src/eas'
import { NoContractError, type ChainReader } from './chain-reader'
import { UnavailableError } from '../http/problems'

/** The recipient of an attestation that is for nobody in particular. */
export const NO_RECIPIENT = ZeroAddress

/** What is attested: addresses with their checksum, the rest of the hex lower-case. */
export interface Statement {
  schema: string
  recipient: string
  revocable: boolean
  data: string
}

/** The signed parts of a compute result (docs/spec/interface.md 3). Addresses carry their checksum. */
export interface SignedStatement {
  attestation: Statement & { attester: string; signature: string; refUID: string }
  delegatedAttestation: {
    signature: string
    attester: string
    /** Unix seconds */
    deadline: number
    nonce: number
  }
}

/** A chain of the Compute API. */
export interface ServedChain {
  attester: Attester
  reader: ChainReader
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
/** Milliseconds after which a request probes the contract again: some chains can replace their contracts. */
const PROBE_AGAIN_MS = { ready: 600_000, refused: 60_000, unreachable: 5_000 }

type Probe = { at: number } & (
  | { state: 'ready'; domain: EasDomain; separator: string; layout: AttestLayout }
  | { state: 'refused'; reason: string }
  | { state: 'unreachable' }
)

/** The signer; the only place that reads the key. Throws a SettingsError unless the key fits the address. */
export async function loadSigner(
  readKey: () => string,
  expectedAddress: string | undefined,
): Promise<Signer> {
  const signer = await keySigner(readKey())
  if (expectedAddress && expectedAddress !== signer.address)
    throw new SettingsError(
      `ATTESTER_ADDRESS is ${expectedAddress}, but the signer's key belongs to ${signer.address}: correct one of them`,
    )
  return signer
}

/** Signs for one chain, and only while its contract is the one that src/chains.ts describes. */
export class Attester {
  readonly chain: Chain
  /** With checksum. */
  readonly address: string
  private probing: Promise<Probe> | undefined

  /** @param clock milliseconds */
  constructor(
    private readonly signer: Signer,
    private readonly connected: ConnectedChain,
    private readonly reader: ChainReader,
    private readonly clock: () => number,
  ) {
    this.chain = connected.chain
    this.address = checksumAddress(signer.address)
  }

  /** Whether the node does not answer: a refusal may be over in a moment. */
  async unreachable(): Promise<boolean> {
    return (await this.probe()).state === 'unreachable'
  }

  /** Why this chain cannot be signed for; undefined when it can. */
  async refusal(): Promise<string | undefined> {
    const probe = await this.probe()
    if (probe.state === 'unreachable') return `the node of ${this.chain.slug} does not answer`
    return probe.state === 'refused' ? probe.reason : undefined
  }

  /**
   * The nonce at which the contract takes the next signature (`ChainReader.nonce`). Of results signed at one
   * nonce only one can be submitted. Throws UnavailableError.
   */
  async nonce(fresh = false): Promise<number> {
    const nonce = Number(await this.reader.nonce(this.signer.address, fresh))
    if (!Number.isSafeInteger(nonce))
      throw new Error(`the attester's nonce ${nonce} is beyond what JSON numbers hold`)
    return nonce
  }

  /**
   * The delegated attestation of a statement: refUID zero, value 0, no expiration. Throws UnavailableError;
   * never answers a signature that does not recover.
   */
  async sign(statement: Statement, nonce: number, deadline: number): Promise<SignedStatement> {
    const digest = await this.digest(statement, nonce, deadline)
    const signature = await this.signer.sign(digest)
    if ((await recoverSigner(digest, signature)) !== this.signer.address)
      throw new Error('the signature just made does not recover to the attester')
    return {
      attestation: {
        schema: statement.schema,
        attester: this.address,
        recipient: statement.recipient,
        data: statement.data,
        signature,
        revocable: statement.revocable,
        refUID: ZeroHash,
      },
      delegatedAttestation: { signature, attester: this.address, deadline, nonce },
    }
  }

  /** Whether this signer signed exactly this. Throws UnavailableError. */
  async signed(statement: Statement, nonce: number, deadline: number, signature: string): Promise<boolean> {
    return (
      (await recoverSigner(await this.digest(statement, nonce, deadline), signature)) === this.signer.address
    )
  }

  /**
   * What a client submits by: the functions and errors of the contract, as ethers and viem read an ABI, and
   * the EIP-712 domain of its signatures. No ABI and no domain while the chain cannot be signed for.
   */
  async contract(): Promise<{ abi: readonly string[]; domain?: EasDomain }> {
    const probe = await this.probe()
    return probe.state === 'ready' ? { abi: DELEGATED_ABIS[probe.layout], domain: probe.domain } : { abi: [] }
  }

  /**
   * Whether the contract refuses what is submitted after its deadline: those of the legacy layout know none.
   * Throws UnavailableError.
   */
  async enforcesDeadline(): Promise<boolean> {
    return (await this.ready()).layout !== 'legacy'
  }

  /** A code for a text on this chain that only the holder of the key can compute. */
  seal(text: string): string {
    return this.signer.seal(`${this.chain.id}:${text}`)
  }

  private async digest(
    { schema, recipient, revocable, data }: Statement,
    nonce: number,
    deadline: number,
  ): Promise<string> {
    const { separator, layout } = await this.ready()
    const message: AttestMessage = {
      attester: this.signer.address,
      schema,
      recipient,
      revocable,
      data,
      nonce,
      expirationTime: 0,
      refUID: ZeroHash,
      value: 0,
      deadline,
    }
    return attestDigest(separator, layout, message)
  }

  private async ready(): Promise<Probe & { state: 'ready' }> {
    const probe = await this.probe()
    if (probe.state !== 'ready')
      throw new UnavailableError(`Signing for chain ${this.chain.id} is not possible right now.`)
    return probe
  }

  private async probe(): Promise<Probe> {
    const probing = (this.probing ??= this.askContract())
    try {
      const probe = await probing
      const age = this.clock() - probe.at
      // Negative after the clock was set back.
      if (age >= 0 && age <= PROBE_AGAIN_MS[probe.state]) return probe
      // Callers share one probe.
      if (this.probing === probing) this.probing = this.askContract(probe)
      return await this.probing
    } catch (error) {
      this.probing = undefined
      throw error
    }
  }

  /** @param before the last probe: it holds while the node is away, as nothing is signed without its nonce */
  private async askContract(before?: Probe): Promise<Probe> {
    const { chain } = this
    const at = this.clock()
    const refused = (reason: string): Probe => ({ state: 'refused', reason, at })
    try {
      const chainId = await this.reader.chainId()
      if (chainId !== chain.id) return refused(`its endpoint is on chain ${chainId}`)
      const facts = await this.reader.contractFacts()
      if (facts.schemaRegistry !== chain.schemaRegistry)
        return refused(
          `its EAS names the schema registry ${facts.schemaRegistry}, not ${chain.schemaRegistry}`,
        )
      const layout = layoutOfTypeHash(facts.attestTypeHash)
      if (!layout) return refused(`its EAS has the unknown attest type hash ${facts.attestTypeHash}`)
      const domain = chain.domainVersions
        .map((version): EasDomain => ({
          name: 'EAS',
          version,
          chainId: chain.id,
          verifyingContract: checksumAddress(chain.eas),
        }))
        .find((expected) => domainSeparator(expected) === facts.domainSeparator)
      if (!domain)
        return refused(
          `its EAS is of none of the versions that src/chains.ts lists for it (${chain.domainVersions.join(', ')}): it has the unknown domain separator ${facts.domainSeparator}`,
        )
      if (TEST_ADDRESSES.has(this.signer.address) && !(await this.isLocal()))
        return refused('the signer is a publicly known test account, which signs on a local chain only')
      return { state: 'ready', domain, separator: facts.domainSeparator, layout, at }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      if (before?.state === 'ready') return { ...before, at }
      return error instanceof NoContractError
        ? refused(`its endpoint knows no contract at ${chain.eas}, where its EAS should be`)
        : { state: 'unreachable', at }
    }
  }

  private async isLocal(): Promise<boolean> {
    return this.reader.local && /^(anvil|hardhat)/i.test(await this.reader.clientVersion())
  }
}
