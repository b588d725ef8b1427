import cluster from 'node:cluster'
import { statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { CHAINS, chainNamed, settingSuffix, type Chain } from './chains'
import {
  parseSettings,
  removedSettings,
  SettingsError,
  type OutsideKey,
  type SUBMISSIONS,
  type Values,
} from './settings'

export {
  parseSettingsFile,
  parseSettingsList,
  schemaProblems,
  settingNames,
  SettingsError,
  SUBMISSIONS,
} from './settings'
export type Submission = (typeof SUBMISSIONS)[number]

/** Number of days for which record changes are kept, for clients that resume a stream, and for webhooks. */
export const CHANGES_KEPT_DAYS = 7

/** A configured chain and its endpoints. */
export interface ConnectedChain {
  readonly chain: Chain
  /** JSON-RPC endpoints in order of preference, at least one. */
  readonly rpcUrls: readonly string[]
  /** URL of a Subsquid gateway for history; undefined to read it from the RPC endpoints (history.ts). */
  readonly gatewayUrl: string | undefined
  readonly headPollMs: number
  /** Address of EAS's PermissionedEIP712Proxy, which needs no nonces; lower-case. */
  readonly proxy?: string | undefined
}

/** A key in this process, or an external one. Secrets are read when needed, so that no log contains them. */
export type SignerSettings =
  | { readonly kind: 'key'; readonly readKey: () => string }
  | (Extract<OutsideKey, { kind: 'pkcs11' }> & { readonly readPin: () => string })
  | Extract<OutsideKey, { kind: 'remote' }>

/** Settings that a process needs at its start. One message names all missing ones. */
export type Requirement = 'database' | 'chains' | 'signer'

/** Maximum number of API processes by default. A process takes 150 MB and up to 29 connections. */
const MOST_DEFAULT_PROCESSES = 4
const MEGABYTE = 1_048_576
const HIGHEST_PORT = 65_535
const MOST_EXPORT_BYTES = 4096 * MEGABYTE
/** Factors of the rate limits: a wallet has ten times that of an address, which two wallets may share. */
const WALLET_FACTOR = 10
const WALLETS_OF_ADDRESS = 2
/** Rate limit from which the limit of wallets is derived if addresses have none. */
const USUAL_RATE_LIMIT = 100
const WALLET_MAX_SKEW_SECONDS = 300
const LEAST_RESIGN_SECONDS = 3600
/** Minimum of the maximum lag: a shorter one may be a pause of the endpoint. */
const LEAST_LAG_SECONDS = 120
/** Number of blocks by which a head is late on any chain. */
const LATE_BLOCKS = 10
/** Milliseconds between polls of a local node, which costs nothing to query and may mine blocks on demand. */
const LOCAL_HEAD_POLL_MS = 300

/**
 * Reads the settings from an environment (docs/reference/settings.md). Throws a SettingsError that names all
 * missing and invalid settings.
 */
export function readSettings(environment: NodeJS.ProcessEnv, requirements: readonly Requirement[]) {
  const problems: string[] = []
  const values = parseSettings(environment, problems)
  const { host, port, schemas } = values
  const isWrong = problems.some((problem) => /^(DATABASE|DB)_URL/.test(problem))
  if (!values.databaseUrl && !isWrong && requirements.includes('database'))
    problems.push(
      'DATABASE_URL: missing; expected a URL such as postgres://user:password@host:5432/name (npm start ' +
        'prints the URL of its database)',
    )
  const chains = connectedChains(values, requirements, problems)
  requirePorts(values.indexerMetrics, chains, problems)
  const signer = signerOf(values, requirements, problems)
  if (problems.length)
    throw new SettingsError(`Invalid settings (see .env.example):\n  ${problems.join('\n  ')}`)

  const apiProcesses = values.apiProcessesWanted ?? Math.min(availableParallelism(), MOST_DEFAULT_PROCESSES)
  const { attesters, rateLimitPerHour, readAdminKey, webhooksFile } = values
  const walletsPerHour = WALLET_FACTOR * (rateLimitPerHour || USUAL_RATE_LIMIT)
  const cacheThird = (values.cacheMegabytes * MEGABYTE) / 3
  return Object.freeze({
    ...values,
    /** URL that may list several hosts (src/postgres.ts). */
    databaseUrl: values.databaseUrl ?? '',
    /** Number of API processes that share the port. */
    apiProcesses,
    /** Public URL without a trailing slash. */
    publicBaseUrl: (values.publicUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`).replace(
      /\/+$/,
      '',
    ),
    /** Chains that have an endpoint. */
    chains,
    /** Chains in CHAINS, by default all known chains, for programs that need no endpoint. */
    namedChains: values.chainsWanted ?? CHAINS,
    /** True if pages may call the RPC endpoints on this machine, whose test accounts sign. */
    localNodes: values.deploymentName === 'local',
    /** Location schemas in addition to the built-in ones (src/location). */
    locationSchemas: schemas.texts,
    schemaPolicy: schemas.policy,
    /** Maximum lag in seconds. A chain with a longer lag is not ready. */
    maxLagSeconds: Math.max(
      LEAST_LAG_SECONDS,
      ...chains.map(({ chain }) => Math.ceil((LATE_BLOCKS * chain.blockMs) / 1000)),
    ),
    signer,
    attesterAddress: attesters[0],
    /** Further attesters of this service's answers, from before or after a change of the key; lower-case. */
    otherAttesters: attesters.slice(1),
    defaultSchemas: { number: values.numericSchema, boolean: values.booleanSchema },
    /** Settings of webhooks; undefined if they are disabled. */
    webhooks:
      webhooksFile === undefined && readAdminKey === undefined
        ? undefined
        : { file: webhooksFile, privateHosts: values.webhookPrivateHosts, readAdminKey },
    /** Limits of an API process in bytes: cached tiles and record responses (0: none), exports on disk. */
    tileCacheBytes: Math.floor(2 * cacheThird),
    pageCacheBytes: Math.floor(cacheThird),
    exportDiskBytes: Math.min(MOST_EXPORT_BYTES, Math.floor(freeBytes(tmpdir()) / 2 / apiProcesses)),
    /**
     * Limits for requests signed by a wallet: requests per hour of a wallet, and of a client address for all
     * its wallets (0: no limit), and the tolerated clock skew. Undefined if such headers are ignored.
     */
    wallet: values.walletAuth
      ? {
          perHour: walletsPerHour,
          perHourByAddress: WALLETS_OF_ADDRESS * walletsPerHour,
          maxSkewSeconds: WALLET_MAX_SKEW_SECONDS,
        }
      : undefined,
    /** Maximum age in seconds, since the computation, of a result that is re-signed. */
    resignMaxAgeSeconds: Math.max(LEAST_RESIGN_SECONDS, values.deadlineSeconds),
  })
}

/** Values of the table of settings (src/settings/table.ts), and values derived from them. */
export type Settings = ReturnType<typeof readSettings>

function connectedChains(
  { chainsWanted, rpcUrls, gatewayUrls, proxies }: Values,
  requirements: readonly Requirement[],
  problems: string[],
): ConnectedChain[] {
  const nameOf = (chain: Chain) => `RPC_URL_${settingSuffix(chain)}`
  const wanted = chainsWanted ?? CHAINS.filter(({ slug }) => rpcUrls.has(slug))
  const chains = wanted.flatMap((chain): ConnectedChain[] => {
    const urls = rpcUrls.get(chain.slug)
    if (urls)
      return [
        {
          chain,
          rpcUrls: urls,
          gatewayUrl: gatewayUrls.get(chain.slug),
          headPollMs:
            chain.givenHeadPollMs ?? (urls.every(isLoopback) ? LOCAL_HEAD_POLL_MS : chain.headPollMs),
          proxy: proxies.get(chain.slug),
        },
      ]
    const isWrong = problems.some((each) => new RegExp(`^${nameOf(chain)}(_FILE)?[ :]`).test(each))
    if (requirements.includes('chains') && !isWrong)
      problems.push(
        `${nameOf(chain)}: missing, but CHAINS names ${chain.slug}. Set it to the URL of a JSON-RPC ` +
          `endpoint of chain ${chain.id}.`,
      )
    return []
  })
  const isNamed = problems.some((problem) => /^(RPC_URL_|CHAINS)/.test(problem))
  if (chains.length === 0 && !isNamed && requirements.includes('chains'))
    problems.push(`RPC_URL_*: missing. Set one of ${CHAINS.map(nameOf).join(', ')}.`)
  return chains
}

/** Adds a problem if a connected chain has no port: each known chain has the one after its predecessor's. */
function requirePorts(
  first: Values['indexerMetrics'],
  chains: readonly ConnectedChain[],
  problems: string[],
): void {
  const highest = HIGHEST_PORT - Math.max(0, ...chains.map(({ chain }) => CHAINS.indexOf(chain)))
  if (first && first.port > highest)
    problems.push(
      `INDEXER_METRICS_PORT: expected a port of at most ${highest}, because each chain up to the last ` +
        'connected one has its own.',
    )
}

/** Returns the configured signer. Adds missing and conflicting settings to `problems`. */
function signerOf(
  { readKey, outsideKey, readPin, readSealSecrets, attesters }: Values,
  requirements: readonly Requirement[],
  problems: string[],
): SignerSettings | undefined {
  if (readKey && outsideKey)
    problems.push('SIGNER_PRIVATE_KEY and SIGNER_URL: both are set. Remove one of them.')
  const isWrong = problems.some((problem) => problem.startsWith('SIGNER_'))
  if (!readKey && !outsideKey && !isWrong && requirements.includes('signer'))
    problems.push(
      'SIGNER_KEY_FILE, SIGNER_PRIVATE_KEY or SIGNER_URL: missing. Set one of them, which signs ' +
        'results (docs/operations/keys.md).',
    )
  if (!outsideKey) return readKey && { kind: 'key', readKey }
  if (!readSealSecrets)
    problems.push(
      'SEAL_SECRET_FILE: missing. SIGNER_URL requires it, because the key is not available for resign tokens.',
    )
  if (outsideKey.kind === 'remote') {
    if (attesters.length === 0)
      problems.push(
        'ATTESTER_ADDRESS: missing. SIGNER_URL requires it: set it to the address of the account that signs there.',
      )
    return outsideKey
  }
  if (!readPin) problems.push('SIGNER_PKCS11_PIN_FILE: missing. A PKCS#11 token in SIGNER_URL requires it.')
  return readPin && { ...outsideKey, readPin }
}

/** Returns the free bytes of a folder's file system; 0 if the folder does not exist. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

/** True if a URL leads to this machine. Test accounts may sign there, and blocks are mined on demand. */
export function isLoopback(url: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname)
}

/** Reads the settings of this process. Warns once of removed settings that are still set. */
export function processSettings(...requirements: Requirement[]): Settings {
  const environment = processEnvironment()
  // The primary process of the API warns before it starts the other processes.
  if (!cluster.isWorker)
    for (const sentence of removedSettings(environment)) process.emitWarning(sentence, 'SettingsWarning')
  return readSettings(environment, requirements)
}

/** Returns the connected chain of this name, or without a name the only one. Throws a SettingsError. */
export function chosenChain(chains: readonly ConnectedChain[], slug: string | undefined): ConnectedChain {
  const wanted = slug ? chainNamed(slug) : chains.length === 1 ? chains[0]!.chain : undefined
  const found = chains.find((c) => c.chain === wanted)
  if (!found)
    throw new SettingsError(
      'Name a chain, one of: ' +
        `${chains.map((c) => c.chain.slug).join(', ')}${slug ? ` (not ${slug}: ${wanted ? 'its RPC_URL_* is not set, or CHAINS leaves it out' : 'there is no such chain'})` : ''}`,
    )
  return found
}

/** Returns the environment, completed by the file .env in the working directory. */
export function processEnvironment(): NodeJS.ProcessEnv {
  try {
    process.loadEnvFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return process.env
}

/** Returns the command of the npm script that runs this process; empty without npm. */
export function npmScript(): string {
  return process.env.npm_lifecycle_script ?? ''
}

/** Sets DB_URL, the only setting that TypeORM's Subsquid configuration reads, to the URL of one host. */
export function exportDatabaseUrl(url: string): void {
  process.env.DB_URL = url
}
