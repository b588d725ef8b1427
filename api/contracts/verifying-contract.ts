import {
  ATTEST_FIELDS,
  DELEGATED_ABIS,
  checksumAddress,
  domainSeparator,
  layoutOfTypeHash,
  type AttestDomain,
  type AttestLayout,
} from '../../src/eas'
import type { Chain } from '../../src/chains'
import { MONOTONIC } from '../../src/clock'
import type { Submission } from '../../src/config'
import { UnavailableError } from '../http/problems'
import { NoContractError, OtherChainError } from './chain-node'
import type { ChainReader } from './chain-reader'

interface Signing {
  domain: AttestDomain
  separator: string
  layout: AttestLayout
}
/** Signing parameters of a contract, or the reason why there are none, and those of the previous owner. */
type Verdict = Signing | { reason: string; before?: Signing | undefined }
/** `away`: the contract was ready, but its RPC endpoint does not find it now. */
type Probe = { at: number } & (
  | ({ state: 'ready' | 'away' } & Signing)
  | { state: 'refused'; reason: string; before?: Signing | undefined }
  | { state: 'unreachable' }
)
/** Milliseconds until another probe: some chains replace their contracts, and endpoints recover. */
const PROBE_AGAIN_MS = { ready: 60_000, refused: 5_000, away: 5_000, unreachable: 5_000 }

/** Last known state of a contract that accepts this service's signatures: EAS or the chain's proxy. */
export class VerifyingContract {
  /** Checksummed address. */
  readonly address: string
  private probing: Promise<Probe> | undefined
  private last: Probe | undefined

  /** @param look probes the contract; throws an UnavailableError */
  constructor(
    readonly submission: Submission,
    address: string,
    private readonly look: () => Promise<Verdict>,
    private readonly elapsed: () => number = MONOTONIC.now,
  ) {
    this.address = checksumAddress(address)
  }

  /** True if the RPC endpoint does not respond, because such a refusal may end at any moment. */
  async unreachable(): Promise<boolean> {
    return (await this.probe()).state === 'unreachable'
  }

  /**
   * Returns why nothing can be signed for this contract. An endpoint that stopped responding is no reason:
   * signing reads it anyway, and it may have recovered.
   */
  async refusal(): Promise<string | undefined> {
    return reasonOf(await this.probe())
  }

  /** Like `refusal()`, for status pages: also reports an RPC endpoint that is known not to answer. */
  async notReady(): Promise<string | undefined> {
    const probe = await this.probe()
    return probe.state === 'away' ? NODE_AWAY : reasonOf(probe)
  }

  /** Result of the last probe, without waiting. If it is too old, another probe starts. */
  get lastRefusal(): string | undefined {
    void this.probe().catch(() => {})
    return this.last ? reasonOf(this.last) : 'it has not been checked yet'
  }

  /**
   * Returns the ABI (functions and errors) by which a client submits an answer, and the EIP-712 parts by
   * which it verifies the signature; neither while it cannot be signed for.
   */
  async interface() {
    const probe = await this.probe()
    if (!isReady(probe)) return { abi: [] }
    const { domain, layout } = probe
    return {
      ...{ abi: DELEGATED_ABIS[layout], domain },
      ...{ primaryType: 'Attest', types: { Attest: ATTEST_FIELDS[layout] } },
    }
  }

  /** Throws an UnavailableError while the contract cannot be signed for. */
  async ready(): Promise<Signing> {
    const probe = await this.probe()
    if (!isReady(probe)) throw new UnavailableError(`Signing for ${this.address} is unavailable.`)
    return probe
  }

  /** Returns the parameters of earlier signatures. Throws an UnavailableError if they are unknown. */
  async known(): Promise<Signing> {
    const signing = signingOf(await this.probe())
    if (!signing) throw new UnavailableError(`The state of ${this.address} is unknown at the moment.`)
    return signing
  }

  /** Refuses the contract, which no longer accepts this service's signatures, until the next probe. */
  refuse(reason: string): void {
    const before = this.last && signingOf(this.last)
    this.last = { state: 'refused', reason, before, at: this.elapsed() }
    this.probing = Promise.resolve(this.last)
  }

  private async probe(): Promise<Probe> {
    const probing = (this.probing ??= this.ask())
    try {
      const probe = await probing
      if (this.elapsed() - probe.at <= PROBE_AGAIN_MS[probe.state]) return probe
      // Callers share one probe.
      if (this.probing === probing) this.probing = this.ask(probe)
      return await this.probing
    } catch (error) {
      this.probing = undefined
      throw error
    }
  }

  /**
   * @param before last probe: it stays valid while the endpoint is silent, because signing needs the endpoint
   */
  private ask(before?: Probe): Promise<Probe> {
    const asked = this.seen(before)
    // Ignores the probe if the contract was refused in the meantime.
    void asked.then((probe) => this.probing === asked && (this.last = probe)).catch(() => {})
    return asked
  }

  private async seen(before?: Probe): Promise<Probe> {
    const at = this.elapsed()
    try {
      const verdict = await this.look()
      return 'reason' in verdict ? { state: 'refused', ...verdict, at } : { state: 'ready', ...verdict, at }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      if (before && isReady(before)) return { ...before, state: 'away', at }
      const reason =
        error instanceof OtherChainError
          ? `its RPC endpoint is on chain ${error.chainId}`
          : error instanceof NoContractError && `its RPC endpoint finds no contract at ${this.address}`
      return reason ? { state: 'refused', reason, at } : { state: 'unreachable', at }
    }
  }
}

const NODE_AWAY = 'the RPC endpoint does not respond'

function isReady(probe: Probe): probe is Probe & { state: 'ready' | 'away' } {
  return probe.state === 'ready' || probe.state === 'away'
}

function reasonOf(probe: Probe): string | undefined {
  if (probe.state === 'unreachable') return NODE_AWAY
  return probe.state === 'refused' ? probe.reason : undefined
}

/** Returns the parameters of present or earlier signatures; undefined if they are unknown. */
function signingOf(probe: Probe): Signing | undefined {
  if (isReady(probe)) return probe
  return probe.state === 'refused' ? probe.before : undefined
}

export async function lookAtEas(chain: Chain, reader: ChainReader): Promise<Verdict> {
  const chainId = await reader.chainId()
  if (chainId !== chain.id) throw new OtherChainError(chain.slug, chainId)
  const { registry, attestTypeHash, separator } = await reader.easFacts()
  if (registry !== chain.schemaRegistry)
    return { reason: `its EAS names the schema registry ${registry}, not ${chain.schemaRegistry}` }
  const layout = layoutOfTypeHash(attestTypeHash)
  if (!layout || layout === 'proxy')
    return { reason: `its EAS has the unknown attest type hash ${attestTypeHash}` }
  const domain = chain.domainVersions
    .map((version) => domainOf(chain, 'EAS', version, chain.eas))
    .find((expected) => domainSeparator(expected) === separator)
  if (!domain)
    return {
      reason:
        'its EAS has none of the versions that src/chains.ts lists ' +
        `(${chain.domainVersions.join(', ')}): its domain separator is ${separator}`,
    }
  return { domain, separator, layout }
}

/** Checks that a contract is the proxy of the chain's EAS, and that this signer owns it. */
export async function lookAtProxy(
  chain: Chain,
  reader: ChainReader,
  proxy: string,
  signer: string,
): Promise<Verdict> {
  const facts = await reader.proxyFacts(proxy)
  if (!facts) return { reason: 'it is not a PermissionedEIP712Proxy of EAS' }
  const { eas, owner, name, version, separator, attestTypeHash } = facts
  if (eas !== chain.eas) return { reason: `it forwards to the EAS ${eas} instead of ${chain.eas}` }
  if (layoutOfTypeHash(attestTypeHash) !== 'proxy')
    return { reason: `it has the unknown attest type hash ${attestTypeHash}` }
  const domain = domainOf(chain, name, version, proxy)
  if (domainSeparator(domain) !== separator)
    return { reason: `its domain separator does not match the name "${name}" and version ${version}` }
  const signing: Signing = { domain, separator, layout: 'proxy' }
  return owner === signer ? signing : { reason: ownedBy(owner, signer), before: signing }
}

export function ownedBy(owner: string, signer: string): string {
  return `its owner is ${checksumAddress(owner)} instead of the signer ${checksumAddress(signer)}`
}

function domainOf({ id }: Chain, name: string, version: string, address: string): AttestDomain {
  return { name, version, chainId: id, verifyingContract: checksumAddress(address) }
}
