export interface Chain {
  readonly id: number
  /** Name in lower case with hyphens, as used in records, the `chain` filter and the names of settings. */
  readonly slug: string
  /** Other names that are accepted as input. */
  readonly aliases: readonly string[]
  /** False if the chain can be indexed and computed for, but the `chain` filter does not accept it yet. */
  readonly active: boolean
  /** Address of the EAS contract, lower-case. */
  readonly eas: string
  /** Address of the SchemaRegistry contract, lower-case. */
  readonly schemaRegistry: string
  /** EIP-712 domain versions of this chain's EAS. The one with the matching domain separator is used. */
  readonly domainVersions: readonly string[]
  /** First block of its EAS contract. */
  readonly firstBlock: number
  /** Number of blocks after which a block is final: the deepest reorg that the indexer tolerates. */
  readonly finality: number
  /** Milliseconds between two polls of the head: approximately the block time. */
  readonly headPollMs: number
  /** `headPollMs` of CHAINS_FILE, if set. In this case, it applies to endpoints on this machine as well */
  readonly givenHeadPollMs?: number
  /** Block time in milliseconds. */
  readonly blockMs: number
  /** URLs of the explorers of its transactions and of its attestations, without a trailing slash. */
  readonly explorer: string
  readonly attestations: string
  /** Number of confirmations, its own block included, before compute reads an attestation. Default: 0. */
  readonly minConfirmations?: number
  /** Address of the GeoQuorum contract for which answers are signed, lower-case. Default: none. */
  readonly quorum?: string
  /** Maximum number of requests per second from an indexer to each RPC endpoint. Default: no limit. */
  readonly rpcPerSecond?: number
  /** Maximum number of calls per HTTP request. Default: 100. */
  readonly rpcBatchSize?: number
  /** Milliseconds until an indexer calls the next endpoint. Default: 30,000. */
  readonly rpcTimeoutMs?: number
}

/**
 * All known chains: this table, and the chains of CHAINS_FILE (chains-file.ts). A new chain needs a row at
 * the end, and lines in other files, which `npx vitest run src/chains.test.ts` then prints.
 */
export const CHAINS: readonly Chain[] = [
  {
    id: 84532,
    slug: 'base-sepolia',
    aliases: [],
    active: true,
    eas: '0x4200000000000000000000000000000000000021',
    schemaRegistry: '0x4200000000000000000000000000000000000020',
    domainVersions: ['1.2.0'],
    firstBlock: 5_252_000,
    finality: 75,
    headPollMs: 2_000,
    blockMs: 2_000,
    explorer: 'https://sepolia.basescan.org',
    attestations: 'https://base-sepolia.easscan.org',
  },
  {
    id: 11155111,
    slug: 'sepolia',
    aliases: ['ethereum-sepolia'],
    active: true,
    eas: '0xc2679fbd37d54388ce493f1db75320d236e1815e',
    schemaRegistry: '0x0a7e2ff54e76b8e6659aedc9103fb21c038050d0',
    domainVersions: ['0.26'],
    firstBlock: 2_958_570,
    finality: 75,
    headPollMs: 5_000,
    blockMs: 12_000,
    explorer: 'https://sepolia.etherscan.io',
    attestations: 'https://sepolia.easscan.org',
  },
  {
    id: 42161,
    slug: 'arbitrum',
    aliases: ['arbitrum-one'],
    active: true,
    eas: '0xbd75f629a22dc1ced33dda0b68c546a1c035c458',
    schemaRegistry: '0xa310da9c5b885e7fb3fba9d66e9ba6df512b78eb',
    domainVersions: ['0.26'],
    firstBlock: 64_528_380,
    finality: 240,
    headPollMs: 2_000,
    blockMs: 250,
    explorer: 'https://arbiscan.io',
    attestations: 'https://arbitrum.easscan.org',
  },
  {
    id: 42220,
    slug: 'celo',
    aliases: ['celo-mainnet'],
    active: true,
    eas: '0x72e1d8ccf5299fb36fefd8cc4394b8ef7e98af92',
    schemaRegistry: '0x5ece93be4bdcf293ed61fa78698b594f2135af34',
    domainVersions: ['1.3.0'],
    firstBlock: 24_646_038,
    finality: 75,
    headPollMs: 2_000,
    blockMs: 1_000,
    explorer: 'https://celoscan.io',
    attestations: 'https://celo.easscan.org',
  },
  {
    id: 8453,
    slug: 'base',
    aliases: ['base-mainnet'],
    active: false,
    eas: '0x4200000000000000000000000000000000000021',
    schemaRegistry: '0x4200000000000000000000000000000000000020',
    domainVersions: ['1.0.1', '1.2.0', '1.3.0', '1.4.0'],
    firstBlock: 3_701_279,
    finality: 75,
    headPollMs: 2_000,
    blockMs: 2_000,
    explorer: 'https://basescan.org',
    attestations: 'https://base.easscan.org',
  },
]

/** Maximum of Postgres's type integer: above every block number and every index of a log. */
export const LAST_HEIGHT = 2 ** 31 - 1

/** Slugs of the `chain` filter, in the order of messages and statistics (docs/spec/interface.md 5). */
export const ACTIVE_SLUGS: readonly string[] = CHAINS.filter((c) => c.active).map((c) => c.slug)

/** Adds chains, before any other code reads the table. */
export function addChains(chains: readonly Chain[]): void {
  ;(CHAINS as Chain[]).push(...chains)
  ;(ACTIVE_SLUGS as string[]).push(...chains.filter(({ active }) => active).map(({ slug }) => slug))
}

/** Removes the explorers of local chains, which no external explorer knows. */
export function leaveOutExplorers(ids: readonly number[]): void {
  for (const chain of CHAINS)
    if (ids.includes(chain.id)) Object.assign(chain, { explorer: '', attestations: '' })
}

/** Chain with this slug or alias in any letter case, or with this ID; undefined if there is none. */
export function chainNamed(name: string): Chain | undefined {
  const slug = name.toLowerCase()
  return CHAINS.find((c) => c.slug === slug || c.aliases.includes(slug) || String(c.id) === name)
}

/** Limits of an indexer's calls to the RPC endpoints of a chain. */
export function rpcLimits({ rpcPerSecond, rpcBatchSize = 100, rpcTimeoutMs = 30_000 }: Chain) {
  return { rateLimit: rpcPerSecond, batchSize: rpcBatchSize, timeoutMs: rpcTimeoutMs }
}

/** Suffix of the names of a chain's settings: `RPC_URL_BASE_SEPOLIA`, `GATEWAY_URL_BASE_SEPOLIA`. */
export function settingSuffix(chain: Chain): string {
  return chain.slug.toUpperCase().replaceAll('-', '_')
}
