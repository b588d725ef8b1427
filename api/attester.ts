import { SigningKey, ZeroAddress, ZeroHash, getAddress } from 'ethers'
import type { Chain } from '../src/chains'
import { SettingsError, isLoopback, type ConnectedChain } from '../src/config'
import { addressOfKey, attestDigest, domainSeparator, layoutOfTypeHash, recoverAttester, signAttest, type AttestLayout } from '../src/eas'
import type { ChainReader } from './chain-reader'
import { UnavailableError } from './problems'

/** The signed parts of a compute result (INTERFACE.md, Compute result). Addresses carry their checksum. */
export interface SignedResult {
  attestation: {
    schema: string
    attester: string
    recipient: string
    data: string
    signature: string
    revocable: boolean
    refUID: string
  }
  delegatedAttestation: {
    signature: string
    attester: string
    /** Unix seconds */
    deadline: number
    nonce: number
  }
}

export interface SignRequest {
  schema: string
  recipient: string
  revocable: boolean
  data: string
  /** Unix seconds, of the computation; the deadline counts from it */
  timestamp: number
}

/** Addresses of the keys that every test node unlocks (mnemonic "test test ... junk", accounts 0 to 9): only a local chain may see them sign. */
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
/** A probe that could not be made is tried again by the next request after this long. */
const PROBE_AGAIN_MS = 5_000

type Probe = { state: 'ready'; separator: string; layout: AttestLayout } | { state: 'refused'; reason: string } | { state: 'unreachable'; at: number }

/** The signing key; the one place that holds it. Throws a SettingsError when it is not the key of `expectedAddress`. */
export function loadSigner(readKey: () => string, expectedAddress: string | undefined): SigningKey {
  const key = new SigningKey(readKey())
  const address = addressOfKey(key)
  if (expectedAddress && expectedAddress !== address)
    throw new SettingsError(`ATTESTER_ADDRESS is ${expectedAddress}, but the signer's key belongs to ${address}: correct one of them`)
  return key
}

/** Signs for one chain, and only after its contract proved to be the one that our tables describe. */
export class Attester {
  readonly chain: Chain
  /** With checksum. */
  readonly address: string
  private readonly account: string
  private probing: Promise<Probe> | undefined

  constructor(
    private readonly key: SigningKey,
    private readonly connected: ConnectedChain,
    private readonly reader: ChainReader,
    private readonly deadlineSeconds: number,
    private readonly clock: () => number,
  ) {
    this.chain = connected.chain
    this.account = addressOfKey(key)
    this.address = getAddress(this.account)
  }

  /** Why this chain cannot be signed for; undefined when it can. Asks the contract once, and again while the node is out of reach. */
  async refusal(): Promise<string | undefined> {
    const probe = await this.probe()
    if (probe.state === 'unreachable') return `the node of ${this.chain.slug} does not answer`
    return probe.state === 'refused' ? probe.reason : undefined
  }

  /**
   * The delegated attestation of a result: refUID zero, value 0, no expiration. The nonce is the contract's own, so of
   * results signed at one nonce only one can be submitted. Throws UnavailableError; never answers a signature that does not recover.
   */
  async sign(request: SignRequest): Promise<SignedResult> {
    const probe = await this.probe()
    if (probe.state !== 'ready') throw new UnavailableError(`Signing for chain ${this.chain.id} is not possible right now.`)
    const nonce = await this.reader.nonce(this.account)
    if (nonce > Number.MAX_SAFE_INTEGER) throw new Error(`the attester's nonce ${nonce} is beyond what JSON numbers hold`)
    const deadline = request.timestamp + this.deadlineSeconds
    const { schema, recipient, revocable, data } = request
    const digest = attestDigest(probe.separator, probe.layout, {
      attester: this.account,
      ...{ schema, recipient, revocable, data, nonce },
      expirationTime: 0n,
      refUID: ZeroHash,
      value: 0n,
      deadline: BigInt(deadline),
    })
    const signature = signAttest(this.key, digest)
    if (recoverAttester(digest, signature) !== this.account) throw new Error('the signature just made does not recover to the attester')
    return {
      attestation: { schema, attester: this.address, recipient: getAddress(recipient), data, signature, revocable, refUID: ZeroHash },
      delegatedAttestation: { signature, attester: this.address, deadline, nonce: Number(nonce) },
    }
  }

  private async probe(): Promise<Probe> {
    const probing = (this.probing ??= this.askContract())
    const probe = await probing.catch((error: unknown) => {
      this.probing = undefined
      throw error
    })
    if (probe.state === 'unreachable' && this.clock() - probe.at > PROBE_AGAIN_MS) return (this.probing = this.askContract())
    return probe
  }

  private async askContract(): Promise<Probe> {
    const { chain } = this
    const refused = (reason: string): Probe => ({ state: 'refused', reason })
    try {
      const facts = await this.reader.contractFacts()
      if (facts.chainId !== chain.id) return refused(`its endpoint is on chain ${facts.chainId}`)
      if (facts.schemaRegistry !== chain.schemaRegistry) return refused(`its EAS names the schema registry ${facts.schemaRegistry}, not ${chain.schemaRegistry}`)
      const layout = layoutOfTypeHash(facts.attestTypeHash)
      if (!layout) return refused(`its EAS has the unknown attest type hash ${facts.attestTypeHash}`)
      const separator = chain.domainVersions
        .map((version) => domainSeparator({ version, chainId: chain.id, verifyingContract: chain.eas }))
        .find((expected) => expected === facts.domainSeparator)
      if (!separator) return refused(`its EAS has the unknown domain separator ${facts.domainSeparator}`)
      if (TEST_ADDRESSES.has(this.account) && !(await this.isLocal()))
        return refused('the signer is a publicly known test account, which signs on a local chain only')
      return { state: 'ready', separator, layout }
    } catch (error) {
      if (error instanceof UnavailableError) return { state: 'unreachable', at: this.clock() }
      throw error
    }
  }

  private async isLocal(): Promise<boolean> {
    return this.connected.rpcUrls.every(isLoopback) && /^(anvil|hardhat)/i.test(await this.reader.clientVersion())
  }
}

/** The recipient of a result: an address in any letter case without checksum or with a right one; undefined means the zero address. */
export function parseRecipient(text: string | undefined): string | undefined {
  if (text === undefined) return ZeroAddress
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined
  const digits = text.slice(2)
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  const address = getAddress(text.toLowerCase())
  return mixed && address !== text ? undefined : address
}
