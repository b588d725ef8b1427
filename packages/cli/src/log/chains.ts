// SPDX-License-Identifier: MIT
import type { Chain } from '@geospatial-attestation/client'
import type { HttpTransport, PublicClient } from 'viem'
import { UsageError } from '../exit'
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

  /** GeoQuorum contracts that the service names; undefined before they are read. */
  private quorums: readonly { chainId: number; quorum: string }[] | undefined

  private async readQuorums(): Promise<NonNullable<typeof this.quorums>> {
    const { geo, signal } = this.session
    const bytes = await download(`${geo.url}/quorum/v0`, signal, MAX_BYTES.quorums)
    // A service without a quorum does not have the route.
    return bytes ? (JSON.parse(new TextDecoder().decode(bytes)) as NonNullable<typeof this.quorums>) : []
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
    this.quorums ??= await this.readQuorums()
    const quorum = this.quorums.find(({ chainId }) => chainId === id)?.quorum
    const from = state.blocks[slug] ?? session.options.fromBlock
    const client = provider as PublicClient<HttpTransport>
    const { found, next, known } = await attestedSince(client, { ...chain, quorum }, from, state.known[slug])
    state.unmatched.push(...found)
    state.known[slug] = known
    state.blocks[slug] = next
  }
}
