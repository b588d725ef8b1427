// SPDX-License-Identifier: MIT
import type { Chain } from '@geospatial-attestation/client'
import type { HttpTransport, PublicClient } from 'viem'
import { UsageError } from '../exit'
import { parsed } from '../inputs'
import type { Session } from '../session'
import { attestedSince } from './attested'
import { download, MAX_BYTES } from './download'
import type { Connected } from './entries'
import type { State } from './state'

/** Chains of the service, as a monitor reads them. */
export class Chains {
  constructor(
    private readonly session: Session<{ fromBlock?: number }>,
    private readonly state: State,
  ) {}

  /** Clients of chains by id; undefined for chains without an RPC endpoint. */
  private readonly connected = new Map<number, Promise<Connected | undefined>>()

  connect(chainId: number): Promise<Connected | undefined> {
    const known = this.connected.get(chainId)
    if (known) return known
    const connecting = this.connectTo(chainId)
    this.connected.set(chainId, connecting)
    // If an endpoint does not respond, the next read tries it again.
    connecting.catch(() => this.connected.delete(chainId))
    return connecting
  }

  private async connectTo(chainId: number): Promise<Connected | undefined> {
    const { geo, node, note, signal } = this.session
    const chain = (await geo.info({ signal })).chains.find(({ id }) => id === chainId)
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

  /** Returns the chains that the monitor compares with the log. */
  async compared(): Promise<readonly Chain[]> {
    const { geo, options, signal } = this.session
    const { chains } = await geo.info({ signal })
    return chains.filter(
      ({ id, slug }) => options.chain === undefined || [slug, String(id)].includes(options.chain),
    )
  }

  /** Reads new attestations by the service's attester on a chain. */
  async read({ id, slug }: Chain): Promise<void> {
    const { session, state } = this
    const { chain, provider } = (await this.connect(id)) ?? {}
    if (!chain || !provider) return
    const quorum = await this.quorumOf(id)
    const from = state.blocks[slug] ?? session.options.fromBlock
    const client = provider as PublicClient<HttpTransport>
    const { found, next, known } = await attestedSince(client, { ...chain, quorum }, from, state.known[slug])
    state.unmatched.push(...found)
    state.known[slug] = known
    state.blocks[slug] = next
  }
}
