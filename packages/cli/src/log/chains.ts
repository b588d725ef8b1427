// SPDX-License-Identifier: MIT
import type { Chain } from '@geospatial-attestation/client'
import type { HttpTransport, PublicClient } from 'viem'
import { UsageError } from '../exit'
import type { Session } from '../session'
import { attestedSince } from './attested'
import { downloadJson, MAX_BYTES } from './download'
import { isOutage, namedChains, type Connected } from './entries'
import { unixSeconds } from './alarms'
import type { Metrics } from './metrics'
import { LONGEST_OUTAGE_SECONDS, type NamedChain, type State } from './state'

/** Returns an error of an RPC endpoint without its URL, which viem quotes and which may include a secret. */
async function withoutUrl(error: unknown, slug: string): Promise<Error> {
  const { ConnectionError, messageOf } = await import('@geospatial-attestation/client')
  const { BaseError } = await import('viem')
  if (!(error instanceof BaseError)) return error as Error
  return new ConnectionError(`The RPC endpoint of ${slug} failed (${messageOf(error)}).`, { cause: error })
}

/** Chain of the service under the slug by which it was named first. */
interface Followed {
  id: number
  slug: string
  /** description by the service; undefined if it no longer names the chain */
  named?: Chain
}

/** Contracts that stay compared once the service has named them, and their names in a note. */
const KINDS = [
  ['eas', 'EAS contract'],
  ['proxies', 'proxy'],
  ['quorums', 'quorum'],
] as const

/** Returns the different addresses in lower case, without values that are not addresses. */
const lower = (...addresses: readonly unknown[]) => {
  const texts = addresses.filter((each) => typeof each === 'string').map((each) => each.toLowerCase())
  return [...new Set(texts.filter((each) => ADDRESS.test(each)))]
}
const ADDRESS = /^0x[0-9a-f]{40}$/

/** Chains of the service, as a monitor reads them. */
export class Chains {
  constructor(
    private readonly session: Session<{ fromBlock?: number; quorumContracts?: Record<number, string> }>,
    private readonly state: State,
    private readonly metrics: Metrics,
  ) {}

  /** Contracts and chains that the service no longer names, and for which a note was printed. */
  private readonly hidden = new Set<string>()

  /** Clients of chains by id; undefined for chains that the service has not named. */
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
    const isRetired = !chain.named
    try {
      return { chain, isRetired, provider: await node(chain) }
    } catch (error) {
      if (isRetired && (await isOutage(error))) return { chain, isRetired, outage: error as Error }
      if (!(error instanceof UsageError)) throw error
      note(`${chain.slug} is skipped: it has no RPC endpoint. ${error.message}`)
      return { chain, isRetired }
    }
  }

  /** Returns the GeoQuorum contract that the service names for a chain. Throws a ConnectionError. */
  private async quorumOf(id: number): Promise<unknown> {
    const { geo, signal } = this.session
    const url = `${geo.url}/quorum/v0`
    const quorums = await downloadJson(url, signal, MAX_BYTES.quorums)
    // A service without a quorum does not have the route.
    if (quorums === undefined) return undefined
    if (!Array.isArray(quorums)) {
      const { ConnectionError } = await import('@geospatial-attestation/client')
      throw new ConnectionError(`${url} does not respond with a list of quorums.`)
    }
    type Quorum = { chainId?: unknown; quorum?: unknown } | null
    return (quorums as Quorum[]).find((each) => each?.chainId === id)?.quorum
  }

  /**
   * Returns the chains that the service names, and those that it named in an earlier read. Each has the slug
   * under which it was named first: the service cannot replace its state by another slug.
   */
  private async all(): Promise<readonly Followed[]> {
    const { session, state } = this
    const chains = await namedChains(session)
    const earlier = Object.entries(state.chains).map(([id, { slug }]) => ({ id: Number(id), slug }))
    for (const { id, slug } of earlier) {
      const named = chains.find((each) => each.id === id)
      if (named?.slug !== slug) this.noteHidden({ id, slug }, 'chain', named ? 'by this slug' : String(id))
    }
    return [
      ...chains.map((named) => ({ id: named.id, slug: state.chains[named.id]?.slug ?? named.slug, named })),
      ...earlier.filter(({ id }) => !chains.some((each) => each.id === id)),
    ]
  }

  private noteHidden({ id, slug }: Followed, kind: string, name: string): void {
    const key = `${id} ${kind} ${name}`
    if (this.hidden.has(key)) return
    this.hidden.add(key)
    this.session.note(`${slug}: the service no longer names the ${kind} ${name}, which is still compared.`)
  }

  /** Returns the chains that the monitor compares with the log. Throws a UsageError for an unknown one. */
  async compared(): Promise<readonly Followed[]> {
    const { chain } = this.session.options
    const all = await this.all()
    if (chain === undefined) return all
    // As in other commands, letter case does not matter.
    const name = chain.toLowerCase()
    const found = all.filter(({ id, slug }) => slug.toLowerCase() === name || String(id) === name)
    if (found.length > 0) return found
    const list = all.map(({ id, slug }) => `${slug} (${id})`).join(', ')
    throw new UsageError(`The service has no chain ${chain}. It has ${list || 'none'}.`)
  }

  /** Accounts and contracts that the service has ever named: hiding one does not hide its attestations. */
  private async namedOf(chain: Followed): Promise<NamedChain> {
    const { id, slug, named } = chain
    const { chains } = this.state
    const current = {
      eas: lower(named?.eas),
      proxies: lower(named?.proxy?.address),
      quorums: lower(await this.quorumOf(id)),
    }
    const earlier = chains[id] ?? { slug, attesters: [], eas: [], proxies: [], quorums: [] }
    const merged = { ...earlier }
    for (const [kind, text] of KINDS) {
      for (const each of earlier[kind])
        if (named && !current[kind].includes(each)) this.noteHidden(chain, text, each)
      merged[kind] = lower(...earlier[kind], ...current[kind])
    }
    merged.attesters = lower(...earlier.attesters, named?.attester, ...(named?.otherAttesters ?? []))
    if (named) delete merged.unreadSince
    return (chains[id] = merged)
  }

  /**
   * Reads new attestations by the service's attesters on a chain. Returns false if contents of entries must
   * be remembered until the chain can be read. A chain that the service no longer names may have no RPC
   * endpoint any more: its outage is only noted, and contents are remembered for LONGEST_OUTAGE_SECONDS.
   */
  async read(chain: Followed): Promise<boolean> {
    const { session, metrics } = this
    const { id, slug } = chain
    if ((await this.connected.get(id)?.catch(() => undefined))?.outage) this.connected.delete(id)
    // A service that does not respond is not an outage of the chain.
    const named = await this.namedOf(chain)
    const failures = await this.readContracts(chain, named)
    if (failures.length === 0) {
      delete named.unreadSince
      return true
    }
    const outages = chain.named ? [] : await Promise.all(failures.map(isOutage))
    const other = failures.find((_, at) => !outages[at])
    if (other !== undefined) throw await withoutUrl(other, slug)
    metrics.count('failures', 'chain')
    const outage = await withoutUrl(failures[0], slug)
    this.connected.set(id, Promise.resolve({ chain, isRetired: true, outage }))
    const key = `${id} outage`
    if (!this.hidden.has(key))
      session.note(`${slug}, which the service no longer names, is not compared: ${outage.message}`)
    this.hidden.add(key)
    named.unreadSince ??= unixSeconds()
    return unixSeconds() > named.unreadSince + LONGEST_OUTAGE_SECONDS
  }

  /** Reads new attestations of each EAS contract of a chain. Returns the errors. */
  private async readContracts({ id }: Followed, named: NamedChain): Promise<unknown[]> {
    const { session, state } = this
    const { provider, outage } = (await this.connect(id)) ?? {}
    if (!provider) return outage ? [outage] : []
    const given = lower(session.options.quorumContracts?.[id])
    const contracts = { ...named, id, quorums: lower(...named.quorums, ...given) }
    const positions = named.eas.map((eas) => state.blocks[`${id} ${eas}`])
    const others = positions.filter((block) => block !== undefined)
    const failures: unknown[] = []
    for (const [at, eas] of named.eas.entries()) {
      const key = `${id} ${eas}`
      // A contract that is named later is read from the block of the others.
      const from = positions[at] ?? (others.length > 0 ? Math.min(...others) : session.options.fromBlock)
      const client = provider as PublicClient<HttpTransport>
      try {
        const { found, next, known } = await attestedSince(
          client,
          { ...contracts, eas },
          from,
          state.known[key],
        )
        state.unmatched.push(...found)
        state.known[key] = known
        state.blocks[key] = next
      } catch (error) {
        session.signal.throwIfAborted()
        failures.push(error)
      }
    }
    return failures
  }
}
