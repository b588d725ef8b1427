import { ZeroAddress, ZeroHash } from 'ethers'
import type { Chain } from '../../src/chains'
import { SettingsError, type ConnectedChain, type Submission } from '../../src/config'
import {
  attestDigest,
  checksumAddress,
  keySigner,
  recoverSigner,
  type AttestLayout,
  type Signer,
} from '../../src/eas'
import { invalidInput, type ComputeError } from '../http/problems'
import type { ChainReader } from './chain-reader'
import { VerifyingContract, lookAtEas, lookAtProxy, ownedBy } from './verifying-contract'

/** The recipient of an attestation that is for nobody in particular. */
export const NO_RECIPIENT = ZeroAddress

/** What is attested: addresses with their checksum, the rest of the hex lower-case. */
export interface Statement {
  schema: string
  recipient: string
  revocable: boolean
  data: string
}

/** The terms on which a contract takes a signature. */
export interface Terms {
  /** Of the attester in EAS; absent for the proxy. */
  nonce?: number
  /** Unix seconds; 0 = never */
  expirationTime: number
  /** Unix seconds */
  deadline: number
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

/** The error of a request for a proxy that takes no signature of ours. */
export function proxyRefused({ slug }: Chain, reason: string): ComputeError {
  return invalidInput(`submission: the proxy of ${slug} takes no signature of ours, as ${reason}; use direct`)
}

/** Signs for one chain, and only for contracts that are what they are said to be. */
export class Attester {
  readonly chain: Chain
  /** With checksum. */
  readonly address: string
  /** The chain's EAS. */
  readonly direct: VerifyingContract
  readonly proxy: VerifyingContract | undefined
  /** How many signatures were made since the start, by what they are submitted to. */
  readonly signatures: Record<Submission, number> = { direct: 0, proxy: 0 }
  /** The nonce as it was last read; undefined before. */
  lastNonce: number | undefined

  /** @param clock milliseconds */
  constructor(
    private readonly signer: Signer,
    { chain, proxy }: ConnectedChain,
    private readonly reader: ChainReader,
    clock: () => number,
  ) {
    this.chain = chain
    this.address = checksumAddress(signer.address)
    this.direct = new VerifyingContract(
      'direct',
      chain.eas,
      async () => {
        const verdict = await lookAtEas(chain, reader)
        return 'reason' in verdict || !TEST_ADDRESSES.has(signer.address) || (await this.isLocal())
          ? verdict
          : { reason: 'the signer is a publicly known test account, which signs on a local chain only' }
      },
      clock,
    )
    this.proxy =
      proxy === undefined
        ? undefined
        : new VerifyingContract(
            'proxy',
            proxy,
            () => lookAtProxy(chain, reader, proxy, signer.address),
            clock,
          )
  }

  /**
   * The nonce at which EAS takes the next signature (`ChainReader.nonce`): only one of it can be submitted.
   * Undefined for the proxy, which takes signatures of its owner in any order. Throws a ComputeError when the
   * proxy has another owner by now, an UnavailableError.
   */
  async nonce(contract: VerifyingContract, fresh = false): Promise<number | undefined> {
    if (contract.submission === 'proxy') {
      const owner = await this.reader.proxyOwner(contract.address, fresh)
      if (owner === this.signer.address) return undefined
      const reason = ownedBy(owner, this.signer.address)
      contract.refuse(reason)
      throw proxyRefused(this.chain, reason)
    }
    const nonce = Number(await this.reader.nonce(this.signer.address, fresh))
    if (!Number.isSafeInteger(nonce))
      throw new Error(`the attester's nonce ${nonce} is beyond what JSON numbers hold`)
    this.lastNonce = nonce
    return nonce
  }

  /**
   * The signature of a delegated attestation of this statement: refUID zero, value 0; 65 bytes in hex. Throws
   * UnavailableError.
   */
  async sign(contract: VerifyingContract, statement: Statement, terms: Terms): Promise<string> {
    const signature = await this.signer.sign(await this.digest(await contract.ready(), statement, terms))
    this.signatures[contract.submission]++
    return signature
  }

  /** Whether this signer signed exactly this. Throws UnavailableError. */
  async signed(
    contract: VerifyingContract,
    statement: Statement,
    terms: Terms,
    signature: string,
  ): Promise<boolean> {
    const digest = await this.digest(await contract.known(), statement, terms)
    return (await recoverSigner(digest, signature)) === this.signer.address
  }

  /** A code for a text on this chain that only the holder of the key can compute. */
  seal(text: string): string {
    return this.signer.seal(`${this.chain.id}:${text}`)
  }

  private digest(
    { separator, layout }: { separator: string; layout: AttestLayout },
    statement: Statement,
    { nonce = 0, expirationTime, deadline }: Terms,
  ): Promise<string> {
    return attestDigest(separator, layout, {
      ...statement,
      ...{ attester: this.signer.address, expirationTime, refUID: ZeroHash, value: 0, nonce, deadline },
    })
  }

  private async isLocal(): Promise<boolean> {
    return this.reader.local && /^(anvil|hardhat)/i.test(await this.reader.clientVersion())
  }
}
