// SPDX-License-Identifier: MIT
import type { Chain } from '@geospatial-attestation/client'
import type { HttpTransport, PublicClient } from 'viem'
import { UsageError } from '../exit'
import { parsed } from '../inputs'
import type { Session } from '../session'
import { attestedSince } from './attested'
import { download, MAX_BYTES } from './download'
import type { Connected } from './entries'
import type { NamedChain, State } from './state'

/** Chains of the service, as a monitor reads them. */
export class Chains {
  constructor(
    private readonly session: Session<{ fromBlock?: number; quorumContracts?: Record<number, string> }>,
    private readonly state: State,
  ) {}

  /** Quorums and chains that the service no longer names, and for which a note was printed. */
  private readonly hidden = new Set<string>()

  /** Clients of chains by id; undefined for chains without an RPC endpoint. */
  private readonly connected = new Map<number, Promise<Connected | undefined>>()

  connect(chainId: number): Promise<Connected | undefined> {
    const known = this.connected.get(chainId)
    if (known) return known
    const connecting = this.connectTo(chainId)
    this.connected.set(chainId, connecting)
    // The next read retries an endpoint that does not respond, and a chain that is not named.
    const forget = () => this.connected.delete(chainId)
    connecting.then((found) => found ?? forget(), forget)
    return connecting
  }

  private async connectTo(chainId: number): Promise<Connected | undefined> {
    const { node, note } = this.session
    const chain = (await this.all()).find(({ id }) => id === chainId)
    if (!chain) return undefined
    try {
      return { chain, provider: await node(chain) }
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      note(`${chain.slug} is skipped: it has no RPC endpoint. ${error.message}`)
      return { chain }
    }
  }

  /** Returns the GeoQuorum contract that the service names for a chain. Throws a ConnectionError. */
  private async quorumOf(id: number): Promise<string | undefined> {
    const { geo, signal } = this.session
    const url = `${geo.url}/quorum/v0`
    const bytes = await download(url, signal, MAX_BYTES.quorums)
    // A service without a quorum does not have the route.
    const quorums = bytes ? parsed(new TextDecoder().decode(bytes)) : []
    if (!Array.isArray(quorums)) {
      const { ConnectionError } = await import('@geospatial-attestation/client')
      throw new ConnectionError(`${url} does not respond with a list of quorums.`)
    }
    return (quorums as { chainId: number; quorum: string }[]).find(({ chainId }) => chainId === id)?.quorum
  }

  /** Returns the chains that the service names, and those that it named in an earlier read. */
  private async all(): Promise<readonly Chain[]> {
    const { geo, signal } = this.session
    const { chains } = await geo.info({ signal })
    const earlier = Object.values(this.state.named).map(({ chain }) => chain)
    const hidden = earlier.filter(({ id }) => !chains.some((each) => each.id === id))
    for (const { slug } of hidden) this.noteHidden(slug, 'chain', slug)
    return [...chains, ...(hidden as Chain[])]
  }

  private noteHidden(slug: string, kind: string, name: string): void {
    if (this.hidden.has(name)) return
    this.hidden.add(name)
    this.session.note(`${slug}: the service no longer names the ${kind} ${name}, which is still compared.`)
  }

  /** Returns the chains that the monitor compares with the log. */
  async compared(): Promise<readonly Chain[]> {
    const { options } = this.session
    return (await this.all()).filter(
      ({ id, slug }) => options.chain === undefined || [slug, String(id)].includes(options.chain),
    )
  }

  /**
   * Returns the attesters and quorums that the service names for a chain, has named in an earlier read, or
   * that an option names: a service that hides an account does not hide its attestations.
   */
  private async named({
    id,
    slug,
    eas,
    domain,
    proxy,
    attester,
    otherAttesters = [],
  }: Chain): Promise<NamedChain> {
    const { state, session } = this
    const quorum = (await this.quorumOf(id))?.toLowerCase()
    const given = session.options.quorumContracts?.[id]?.toLowerCase()
    const { attesters = [], quorums = [] } = state.named[slug] ?? {}
    for (const each of quorums) if (each !== quorum && each !== given) this.noteHidden(slug, 'quorum', each)
    const all = (accounts: readonly (string | undefined)[]) => [
      ...new Set(accounts.flatMap((account) => account?.toLowerCase() ?? [])),
    ]
    return (state.named[slug] = {
      attesters: all([...attesters, attester, ...otherAttesters]),
      quorums: all([...quorums, given, quorum]),
      chain: { id, slug, eas, domain, proxy },
    })
  }

  /** Reads new attestations by the service's attesters on a chain. */
  async read(chain: Chain): Promise<void> {
    const { session, state } = this
    const { id, slug } = chain
    const { provider } = (await this.connect(id)) ?? {}
    if (!provider) return
    const accounts = await this.named(chain)
    const from = state.blocks[slug] ?? session.options.fromBlock
    const client = provider as PublicClient<HttpTransport>
    const { found, next, known } = await attestedSince(
      client,
      { ...chain, ...accounts },
      from,
      state.known[slug],
    )
    state.unmatched.push(...found)
    state.known[slug] = known
    state.blocks[slug] = next
  }
}
