import type { TSchema } from '@sinclair/typebox'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { bool, customCleanEnv, makeValidator, port, str } from 'envalid'
import { CHAINS, chainBySlug, settingSuffix, type Chain } from './chains'
import { ADDRESS_PATTERN, UID_PATTERN, parseUid } from './eas'
import { locationSchema, type LocationSchema, type SchemaPolicy } from './location'
import { faultPosition, parseStrictJson, withoutMark } from './strict-json'

/**
 * How an answer lands: `direct`, in EAS at the attester's nonce; or `proxy`, through EAS's
 * PermissionedEIP712Proxy, in any order, where each signature counts once.
 */
export const SUBMISSIONS = ['direct', 'proxy'] as const
export type Submission = (typeof SUBMISSIONS)[number]

/**
 * For so long a client that follows the records can resume (docs/reference/streams.md): the indexer keeps
 * changes, and webhooks can be replayed.
 */
export const CHANGES_KEPT_DAYS = 7

/** A chain that the settings name, and how to reach it. */
export interface ConnectedChain {
  readonly chain: Chain
  /** JSON-RPC endpoints in order of preference, at least one. */
  readonly rpcUrls: readonly string[]
  /** A Subsquid gateway for history; absent: filtered eth_getLogs of the RPC endpoints (history.ts). */
  readonly gatewayUrl: string | undefined
  readonly headPollMs: number
  /** EAS's PermissionedEIP712Proxy that takes our signatures without nonces, lower-case. */
  readonly proxy?: string | undefined
}

export interface Settings {
  /** May name several hosts (src/postgres.ts). */
  readonly databaseUrl: string
  /** Of replicas to read from. */
  readonly databaseReadUrls: readonly string[]
  /** With a login for raw GraphQL alone; undefined: databaseUrl, under the role published_reader. */
  readonly graphqlDatabaseUrl: string | undefined
  /** Where the squid's own GraphQL server listens. */
  readonly squidGraphql: { readonly host: string; readonly port: number }
  readonly redisUrl: string | undefined
  readonly host: string
  readonly port: number
  /** Copies of the API that share the port, each a process. */
  readonly apiProcesses: number
  /** Without a slash at the end. */
  readonly publicBaseUrl: string
  /** The deployment's name, such as staging, shown by GET /. */
  readonly deploymentName: string
  readonly trustProxy: readonly string[]
  /** The chains that have an endpoint. */
  readonly chains: readonly ConnectedChain[]
  /** The chains that CHAINS names, or all that are known: for what asks no endpoint. */
  readonly namedChains: readonly Chain[]
  /** Location schemas beside the built-in ones (src/location). */
  readonly locationSchemas: readonly LocationSchema[]
  /** Which schemas of the registries are read beside these. */
  readonly schemaPolicy: SchemaPolicy
  /** Per RPC endpoint: requests per second (undefined = no limit), calls in one HTTP request, time-out. */
  readonly rpc: {
    readonly rateLimit: number | undefined
    readonly batchSize: number
    readonly timeoutMs: number
  }
  /**
   * Calls per second that the audit of a chain makes, on average over a day; 0 = no proofs, and history
   * is read a second time without a limit.
   */
  readonly auditCallsPerSecond: number
  /**
   * Where the indexer of the first chain of chains.ts serves its metrics; each further chain takes the next
   * port. Undefined: no metrics.
   */
  readonly indexerMetrics: { readonly host: string; readonly port: number } | undefined
  /** A chain whose copy is more seconds behind its head than this is not ready. */
  readonly maxLagSeconds: number
  readonly signer: SignerSettings | undefined
  /** How long a signer outside this process may take for a signature. */
  readonly signerTimeoutMs: number
  readonly attesterAddress: string | undefined
  /** Lower-case: what these signed is ours too, as before and after a change of the key. */
  readonly otherAttesters: readonly string[]
  /** Reads the secrets of resign tokens: the first one makes them, all are accepted. */
  readonly readSealSecrets: (() => readonly string[]) | undefined
  readonly defaultSchemas: { readonly number: string; readonly boolean: string }
  readonly schemaCheck: boolean
  /** Whether contracts may sign offchain attestations and requests: their chain is asked about them. */
  readonly smartAccounts: boolean
  /** Whether offchain attestations are fetched from the URIs that requests name. */
  readonly offchainUris: boolean
  /** Trustless gateways for ipfs:// URIs in order of preference; none: such URIs are refused. */
  readonly ipfsGateways: readonly string[]
  /** Whether /mcp serves agents. */
  readonly mcp: boolean
  /** Messages about changes. Undefined: none are sent. */
  readonly webhooks:
    | {
        readonly file: string | undefined
        /** Hosts that may have private addresses, and be reached by http. */
        readonly privateHosts: readonly string[]
        /** Reads the key of the admin API; undefined: there is none. */
        readonly readAdminKey: (() => string) | undefined
      }
    | undefined
  /** Requests per hour and client; 0 = no limit. */
  readonly rateLimitPerHour: number
  readonly recordsRateLimitPerHour: number
  /** Bytes of vector tiles that an API process keeps; 0: none. */
  readonly tileCacheBytes: number
  /** Bytes of answers of records that an API process keeps; 0: none. */
  readonly pageCacheBytes: number
  readonly exportDiskBytes: number
  /**
   * Requests signed by a wallet: requests per hour of a wallet, and of a client address for all its wallets
   * (0 = no limit), and the tolerated clock skew. Undefined: the headers of such requests are ignored.
   */
  readonly wallet:
    | { readonly perHour: number; readonly perHourByAddress: number; readonly maxSkewSeconds: number }
    | undefined
  /** How answers land where a request does not say it; on a chain without a proxy: direct. */
  readonly defaultSubmission: Submission
  readonly deadlineSeconds: number
  readonly resignMaxAgeSeconds: number
  /** Where the index is more seconds behind its chain than this, compute asks the chain itself. */
  readonly indexMaxAgeSeconds: number
  /** Confirmations, the block of the attestation included, before compute uses it; 0 = none. */
  readonly minConfirmations: number
  /** Whether the pages tell the nodes on this machine, whose test accounts sign with one click. */
  readonly localNodes: boolean
  readonly localChainPort: number
  readonly localDbPort: number
  readonly logLevel: string
}

/** Who signs. What is secret is read when it is needed, so that no log of the settings holds it. */
export type SignerSettings =
  | { readonly kind: 'key'; readonly readKey: () => string }
  | {
      readonly kind: 'pkcs11'
      /** The file of the library. */
      readonly module: string
      /** Its label. */
      readonly token: string
      /** Its label, or `id:` and its id in hex. */
      readonly key: string
      readonly readPin: () => string
    }
  | { readonly kind: 'remote'; readonly url: string }

/** Settings are wrong or missing: the message names all of them and says what would be right. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/**
 * Parses a settings file. Throws an Error that says where it is no JSON; not what stands there, which may be
 * a part of a secret, and which JSON.parse would show.
 */
export function parseSettingsFile(marked: string): unknown {
  const text = withoutMark(marked)
  try {
    JSON.parse(text)
  } catch (error) {
    const position = faultPosition(error as Error)
    const lines = text.slice(0, position).split('\n')
    const where = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
    throw new Error(`it is no JSON${position === undefined ? '' : ` from ${where} on`}`)
  }
  return parseStrictJson(text)
}

/** Problems of a file that are told at once. */
const PROBLEMS_TOLD = 10
/**
 * What keeps the content of a settings file from its schema: each place, and what would be right there. The
 * value itself is not shown, as it may be a secret.
 */
export function schemaProblems(schema: TSchema, value: unknown): string {
  const { Value } = require('@sinclair/typebox/value') as typeof import('@sinclair/typebox/value') // oxlint-disable-line typescript/no-require-imports -- 150 files, which few processes need
  const problems = new Map<string, string>()
  for (const { path, message, schema: part, value: found } of Value.Errors(schema, value)) {
    // One that is missing is told twice: as missing, then as what it should be.
    if (found !== undefined && problems.has(path)) continue
    const wanted = expectation(part) ?? message.toLowerCase()
    problems.set(path, found === undefined ? `missing; ${wanted}` : wanted)
    if (problems.size > PROBLEMS_TOLD) break
  }
  return [...problems]
    .slice(0, PROBLEMS_TOLD)
    .map(([path, problem]) => `${path || 'the file'}: ${problem}`)
    .join('; ')
}

/** What a schema asks for, where TypeBox does not say it: a form (`expected`) or a choice. */
function expectation({ expected, anyOf }: TSchema): string | undefined {
  if (expected !== undefined) return `expected ${String(expected)}`
  const choices = (anyOf as TSchema[] | undefined)?.map((each) => each.const as unknown)
  return choices?.every((each) => typeof each === 'string') ? `expected ${choices.join(' or ')}` : undefined
}

/** Settings that a process needs to start, so that one message names all that are missing. */
export type Requirement = 'database' | 'chains' | 'signer'

const pattern = (expression: RegExp, wanted: string) =>
  makeValidator<string>((text) => {
    if (!expression.test(text)) throw new Error(`must be ${wanted}`)
    return text
  })
const httpUrl = makeValidator<string>((text) => {
  if (!/^https?:\/\/\S+$/.test(text) || !URL.canParse(text)) throw new Error('must be an http(s) URL')
  return text
})
const httpUrls = makeValidator<readonly string[]>((text) => {
  const urls = splitList(text)
  const wrong = urls.find((url) => !/^https?:\/\/\S+$/.test(url) || !URL.canParse(url))
  if (wrong !== undefined || urls.length === 0) throw new Error('must be http(s) URLs, separated by commas')
  return urls
})
const postgresUrl = pattern(
  /^postgres(ql)?:\/\/\S+$/,
  'a URL such as postgres://user:password@host:5432/name',
)
const postgresUrls = makeValidator<readonly string[]>((text) => {
  const urls = text.split(/,(?=\s*postgres)/).map((url) => url.trim())
  if (!urls.every((url) => /^postgres(ql)?:\/\/[^\s,]+$/.test(url) && URL.canParse(url)))
    throw new Error('must be URLs such as postgres://user:password@host:5432/name, separated by commas')
  return urls
})
const redisUrl = pattern(/^rediss?:\/\/\S+$/, 'a URL such as redis://host:6379')
const PRIVATE_KEY = /^(0x)?[0-9a-fA-F]{64}$/
const privateKey = pattern(PRIVATE_KEY, '32 bytes in hex')
const address = pattern(new RegExp(ADDRESS_PATTERN), 'an address: 0x and 40 hex digits')
const addresses = makeValidator<readonly string[]>((text) => {
  const list = splitList(text)
  if (!list.every((each) => new RegExp(ADDRESS_PATTERN).test(each)))
    throw new Error('must be addresses (0x and 40 hex digits), separated by commas')
  return list.map((each) => each.toLowerCase())
})
const uid = pattern(new RegExp(UID_PATTERN), 'a schema UID: 0x and 64 hex digits')
const integer = (minimum: number, maximum: number) =>
  makeValidator<number>((text) => {
    const value = Number(text)
    if (text === '' || !Number.isInteger(value) || value < minimum || value > maximum)
      throw new Error(`must be a whole number from ${minimum} to ${maximum}`)
    return value
  })
const positive = makeValidator<number>((text) => {
  if (!(Number(text) > 0)) throw new Error('must be a number above 0')
  return Number(text)
})
const rate = (maximum: number) =>
  makeValidator<number>((text) => {
    if (text === '' || !(Number(text) >= 0 && Number(text) <= maximum))
      throw new Error(`must be a number from 0 to ${maximum}, such as 0.05`)
    return Number(text)
  })
const addressRanges = makeValidator<readonly string[]>((text) => {
  const ranges = splitList(text)
  // Express's "true" and hop counts would trust the header of any client.
  const wrong = ranges.find((range) => isIP(range.split('/')[0]!) === 0 || !/^[^/]+(\/\d{1,3})?$/.test(range))
  if (wrong !== undefined) throw new Error(`'${wrong}' is no address or CIDR range`)
  return ranges
})
const ADMIN_KEY_PATTERN = /^[\x21-\x7e]{32,}$/
const adminKey = pattern(ADMIN_KEY_PATTERN, '32 or more printable characters without spaces')
const hosts = makeValidator<readonly string[]>((text) =>
  splitList(text.toLowerCase()).map((host) => {
    if (!URL.canParse(`http://${host}/`) || /[/@?#]/.test(host))
      throw new Error(`'${host}' is no host such as hooks.internal or 127.0.0.1:8080`)
    return host
  }),
)
/** Schemas by their texts, and UIDs of registered ones. */
const locationSchemas = makeValidator<readonly (LocationSchema | string)[]>((text) =>
  text
    .split(';')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => parseUid(part) ?? locationSchema(part)),
)
const uids = makeValidator<readonly string[]>((text) =>
  splitList(text).map((part) => {
    const uid = parseUid(part)
    if (uid === undefined) throw new Error(`'${part}' is no UID (0x and 64 hex digits)`)
    return uid
  }),
)
const pkcs11Key = makeValidator<string>((text) => {
  if (text.startsWith('id:') && !/^id:([0-9a-f]{2})+$/i.test(text))
    throw new Error('must be the label of a key, or id: and its id in hex')
  return text
})
const chainList = makeValidator<readonly Chain[]>((text) =>
  splitList(text).map((slug) => {
    const chain = chainBySlug(slug)
    if (!chain) throw new Error(`'${slug}' is not one of ${CHAINS.map((c) => c.slug).join(', ')}`)
    return chain
  }),
)

/**
 * The default result schemas: `uint256 result,string units,...` and `bool result,...` (their UIDs are the
 * same on every chain).
 */
const NUMERIC_RESULT_SCHEMA_UID = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'
const BOOLEAN_RESULT_SCHEMA_UID = '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5'

/** Each copy of the API takes some 150 MB and up to 23 connections of the primary: more are for who asks. */
const MOST_DEFAULT_PROCESSES = 4

/**
 * Reads the settings out of an environment; .env.example says what each one means.
 * Throws a SettingsError that names everything missing or wrong at once.
 */
export function readSettings(environment: NodeJS.ProcessEnv, requirements: readonly Requirement[]): Settings {
  const problems: string[] = []
  // An empty value is a setting left out, as in a copied .env.example.
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  const perChain = Object.fromEntries<unknown>(
    CHAINS.flatMap((chain) => [
      [`RPC_URL_${settingSuffix(chain)}`, httpUrls({ default: undefined })],
      [`GATEWAY_URL_${settingSuffix(chain)}`, httpUrl({ default: undefined })],
      [`PROXY_${settingSuffix(chain)}`, address({ default: undefined })],
    ]),
  )
  const env = customCleanEnv(
    given,
    {
      DATABASE_URL: postgresUrl({ default: undefined }),
      DB_URL: postgresUrl({ default: undefined }),
      DATABASE_READ_URLS: postgresUrls({ default: [] }),
      GRAPHQL_DATABASE_URL: postgresUrl({ default: undefined }),
      GQL_HOST: str({ default: '127.0.0.1' }),
      GQL_PORT: port({ default: 4350 }),
      REDIS_URL: redisUrl({ default: undefined }),
      HOST: str({ default: '127.0.0.1' }),
      PORT: port({ default: 3000 }),
      API_PROCESSES: integer(1, 256)({ default: undefined }),
      PUBLIC_BASE_URL: httpUrl({ default: undefined }),
      DEPLOYMENT_NAME: str({ default: 'unnamed' }),
      TRUST_PROXY: addressRanges({ default: [] }),
      // Read by chains-file.ts, before all else.
      CHAINS_FILE: str({ default: undefined }),
      CHAINS: chainList({ default: undefined }),
      SIGNER_KEY_FILE: str({ default: undefined }),
      SIGNER_PRIVATE_KEY: privateKey({ default: undefined }),
      SIGNER_PKCS11_MODULE: str({ default: undefined }),
      SIGNER_PKCS11_TOKEN: str({ default: undefined }),
      SIGNER_PKCS11_KEY: pkcs11Key({ default: undefined }),
      SIGNER_PKCS11_PIN_FILE: str({ default: undefined }),
      SIGNER_URL: httpUrl({ default: undefined }),
      SIGNER_TIMEOUT_MS: integer(1, 600_000)({ default: 5000 }),
      ATTESTER_ADDRESS: address({ default: undefined }),
      OTHER_ATTESTERS: addresses({ default: [] }),
      SEAL_SECRET_FILE: str({ default: undefined }),
      DEFAULT_NUMERIC_SCHEMA: uid({ default: NUMERIC_RESULT_SCHEMA_UID }),
      DEFAULT_BOOLEAN_SCHEMA: uid({ default: BOOLEAN_RESULT_SCHEMA_UID }),
      SCHEMA_CHECK: bool({ default: true }),
      SMART_ACCOUNTS: bool({ default: true }),
      OFFCHAIN_URIS: bool({ default: false }),
      IPFS_GATEWAYS: httpUrls({ default: [] }),
      MCP: bool({ default: true }),
      WEBHOOKS_FILE: str({ default: undefined }),
      WEBHOOK_PRIVATE_HOSTS: hosts({ default: [] }),
      ADMIN_KEY: adminKey({ default: undefined }),
      ADMIN_KEY_FILE: str({ default: undefined }),
      RATE_LIMIT_PER_HOUR: integer(0, 1e9)({ default: 100 }),
      RECORDS_RATE_LIMIT_PER_HOUR: integer(0, 1e9)({ default: 3600 }),
      TILE_CACHE_MB: integer(0, 100_000)({ default: 64 }),
      PAGE_CACHE_MB: integer(0, 100_000)({ default: 32 }),
      EXPORT_DISK_MB: integer(0, 10_000_000)({ default: 4096 }),
      WALLET_AUTH: bool({ default: false }),
      WALLET_RATE_LIMIT_PER_HOUR: integer(0, 1e9)({ default: 1000 }),
      WALLET_IP_RATE_LIMIT_PER_HOUR: integer(0, 1e9)({ default: 2000 }),
      WALLET_MAX_SKEW_SECONDS: integer(1, 3600)({ default: 300 }),
      DEFAULT_SUBMISSION: str({ choices: SUBMISSIONS, default: 'direct' }),
      DEADLINE_SECONDS: integer(1, 86_400 * 30)({ default: 3600 }),
      RESIGN_MAX_AGE_SECONDS: integer(0, 86_400 * 30)({ default: 3600 }),
      INDEX_MAX_AGE_SECONDS: integer(0, 86_400)({ default: 15 }),
      MIN_CONFIRMATIONS: integer(0, 100_000)({ default: 0 }),
      LOCATION_SCHEMAS: locationSchemas({ default: [] }),
      SCHEMA_DISCOVERY: str({ choices: ['all', 'listed'] as const, default: 'all' }),
      SCHEMAS_EXCLUDED: uids({ default: [] }),
      HEAD_POLL_SECONDS: positive({ default: undefined }),
      RPC_RATE_LIMIT: positive({ default: undefined }),
      RPC_BATCH_SIZE: integer(1, 1_000)({ default: 100 }),
      RPC_TIMEOUT_SECONDS: positive({ default: 30 }),
      AUDIT_CALLS_PER_SECOND: rate(10_000)({ default: 0.05 }),
      INDEXER_METRICS_HOST: str({ default: '127.0.0.1' }),
      INDEXER_METRICS_PORT: port({ default: undefined }),
      MAX_LAG_SECONDS: positive({ default: 120 }),
      LOCAL_NODES: bool({ default: false }),
      LOCAL_CHAIN_PORT: port({ default: 8545 }),
      LOCAL_DB_PORT: port({ default: 5433 }),
      LOG_LEVEL: str({
        choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
        default: 'info',
      }),
      // Read by tracing.ts, before all else.
      OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl({ default: undefined }),
      ...(perChain as object),
    },
    (cleaned) => cleaned,
    {
      reporter: ({ errors }) => {
        for (const [name, error] of Object.entries(errors)) problems.push(`${name}: ${error.message}`)
      },
    },
  )
  const rpcUrls = env as unknown as Record<string, readonly string[] | undefined>
  const texts = env as unknown as Record<string, string | undefined>
  const databaseUrl = env.DATABASE_URL ?? env.DB_URL
  if (!databaseUrl && requirements.includes('database'))
    problems.push(
      'DATABASE_URL: missing; a URL such as postgres://user:password@host:5432/name (npm start says the one of its own)',
    )

  const wanted = env.CHAINS ?? CHAINS.filter((chain) => rpcUrls[`RPC_URL_${settingSuffix(chain)}`])
  const chains = wanted.flatMap((chain): ConnectedChain[] => {
    const urls = rpcUrls[`RPC_URL_${settingSuffix(chain)}`]
    if (!urls) {
      if (requirements.includes('chains'))
        problems.push(
          `RPC_URL_${settingSuffix(chain)}: missing, but CHAINS names ${chain.slug}; the URL of a JSON-RPC endpoint of chain ${chain.id}`,
        )
      return []
    }
    const headPollMs = env.HEAD_POLL_SECONDS === undefined ? chain.headPollMs : env.HEAD_POLL_SECONDS * 1000
    const suffix = settingSuffix(chain)
    const proxy = texts[`PROXY_${suffix}`]?.toLowerCase()
    return [{ chain, rpcUrls: urls, gatewayUrl: texts[`GATEWAY_URL_${suffix}`], headPollMs, proxy }]
  })
  const told = problems.some((problem) => /^(RPC_URL_|CHAINS)/.test(problem))
  if (chains.length === 0 && !told && requirements.includes('chains'))
    problems.push(
      `RPC_URL_*: none given; set one of ${CHAINS.map((c) => `RPC_URL_${settingSuffix(c)}`).join(', ')}`,
    )

  const signer = signerSettings(env, requirements, problems)
  const { ADMIN_KEY: ownAdminKey, ADMIN_KEY_FILE: adminKeyFile } = env
  if (ownAdminKey !== undefined && adminKeyFile !== undefined)
    problems.push('ADMIN_KEY and ADMIN_KEY_FILE: both given; keep one')
  const readAdminKey = ownAdminKey
    ? () => ownAdminKey
    : adminKeyFile
      ? () => readAdminKeyFile(adminKeyFile)
      : undefined

  if (problems.length)
    throw new SettingsError(`The settings are not right (see .env.example):\n  ${problems.join('\n  ')}`)
  return Object.freeze({
    databaseUrl: databaseUrl ?? '',
    databaseReadUrls: env.DATABASE_READ_URLS,
    graphqlDatabaseUrl: env.GRAPHQL_DATABASE_URL,
    squidGraphql: { host: env.GQL_HOST, port: env.GQL_PORT },
    redisUrl: env.REDIS_URL,
    host: env.HOST,
    port: env.PORT,
    apiProcesses: env.API_PROCESSES ?? Math.min(availableParallelism(), MOST_DEFAULT_PROCESSES),
    publicBaseUrl: (
      env.PUBLIC_BASE_URL ?? `http://${env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST}:${env.PORT}`
    ).replace(/\/+$/, ''),
    deploymentName: env.DEPLOYMENT_NAME,
    trustProxy: env.TRUST_PROXY,
    chains,
    namedChains: env.CHAINS ?? CHAINS,
    locationSchemas: env.LOCATION_SCHEMAS.filter((schema) => typeof schema !== 'string'),
    schemaPolicy: {
      found: env.SCHEMA_DISCOVERY,
      listed: new Set(env.LOCATION_SCHEMAS.filter((schema) => typeof schema === 'string')),
      excluded: new Set(env.SCHEMAS_EXCLUDED),
    },
    rpc: {
      rateLimit: env.RPC_RATE_LIMIT,
      batchSize: env.RPC_BATCH_SIZE,
      timeoutMs: env.RPC_TIMEOUT_SECONDS * 1000,
    },
    auditCallsPerSecond: env.AUDIT_CALLS_PER_SECOND,
    indexerMetrics:
      env.INDEXER_METRICS_PORT === undefined
        ? undefined
        : { host: env.INDEXER_METRICS_HOST, port: env.INDEXER_METRICS_PORT },
    maxLagSeconds: env.MAX_LAG_SECONDS,
    signer,
    signerTimeoutMs: env.SIGNER_TIMEOUT_MS,
    attesterAddress: env.ATTESTER_ADDRESS?.toLowerCase(),
    otherAttesters: env.OTHER_ATTESTERS,
    readSealSecrets:
      env.SEAL_SECRET_FILE === undefined ? undefined : () => readSealSecrets(env.SEAL_SECRET_FILE!),
    defaultSchemas: {
      number: env.DEFAULT_NUMERIC_SCHEMA.toLowerCase(),
      boolean: env.DEFAULT_BOOLEAN_SCHEMA.toLowerCase(),
    },
    schemaCheck: env.SCHEMA_CHECK,
    smartAccounts: env.SMART_ACCOUNTS,
    offchainUris: env.OFFCHAIN_URIS,
    ipfsGateways: env.IPFS_GATEWAYS,
    mcp: env.MCP,
    webhooks:
      env.WEBHOOKS_FILE === undefined && readAdminKey === undefined
        ? undefined
        : { file: env.WEBHOOKS_FILE, privateHosts: env.WEBHOOK_PRIVATE_HOSTS, readAdminKey },
    rateLimitPerHour: env.RATE_LIMIT_PER_HOUR,
    recordsRateLimitPerHour: env.RECORDS_RATE_LIMIT_PER_HOUR,
    tileCacheBytes: env.TILE_CACHE_MB * 1_048_576,
    pageCacheBytes: env.PAGE_CACHE_MB * 1_048_576,
    exportDiskBytes: env.EXPORT_DISK_MB * 1_048_576,
    wallet: env.WALLET_AUTH
      ? {
          perHour: env.WALLET_RATE_LIMIT_PER_HOUR,
          perHourByAddress: env.WALLET_IP_RATE_LIMIT_PER_HOUR,
          maxSkewSeconds: env.WALLET_MAX_SKEW_SECONDS,
        }
      : undefined,
    defaultSubmission: env.DEFAULT_SUBMISSION,
    deadlineSeconds: env.DEADLINE_SECONDS,
    resignMaxAgeSeconds: env.RESIGN_MAX_AGE_SECONDS,
    indexMaxAgeSeconds: env.INDEX_MAX_AGE_SECONDS,
    minConfirmations: env.MIN_CONFIRMATIONS,
    localNodes: env.LOCAL_NODES,
    localChainPort: env.LOCAL_CHAIN_PORT,
    localDbPort: env.LOCAL_DB_PORT,
    logLevel: env.LOG_LEVEL,
  })
}

/** Whether a URL leads to this machine: there, test accounts may sign and blocks are mined on demand. */
export function isLoopback(url: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname)
}

/** The settings of this process: the environment, completed by the file .env in the working directory. */
export function processSettings(...requirements: Requirement[]): Settings {
  return readSettings(processEnvironment(), requirements)
}

/** The connected chain of this slug or alias; without a slug the only one. Throws a SettingsError. */
export function chosenChain(chains: readonly ConnectedChain[], slug: string | undefined): ConnectedChain {
  const wanted = slug ? chainBySlug(slug) : chains.length === 1 ? chains[0]!.chain : undefined
  const found = chains.find((c) => c.chain === wanted)
  if (!found)
    throw new SettingsError(
      `Say which chain, one of: ${chains.map((c) => c.chain.slug).join(', ')}${slug ? ` (not ${slug}: ${wanted ? 'its RPC_URL_* is not set, or CHAINS leaves it out' : 'no such chain is known'})` : ''}`,
    )
  return found
}

/** This process's environment, completed by the file .env in the working directory. */
export function processEnvironment(): NodeJS.ProcessEnv {
  try {
    process.loadEnvFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return process.env
}

/** The command of the npm script that runs this process; empty without npm. */
export function npmScript(): string {
  return process.env.npm_lifecycle_script ?? ''
}

/** Sets DB_URL, the only setting that TypeORM's Subsquid configuration reads. @param url of one host */
export function exportDatabaseUrl(url: string): void {
  process.env.DB_URL = url
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

/** The settings of each kind of signer, the one first that says that it is this kind. */
const SIGNER_KINDS = [
  ['SIGNER_KEY_FILE'],
  ['SIGNER_PRIVATE_KEY'],
  ['SIGNER_PKCS11_MODULE', 'SIGNER_PKCS11_TOKEN', 'SIGNER_PKCS11_KEY', 'SIGNER_PKCS11_PIN_FILE'],
  ['SIGNER_URL'],
] as const
type SignerSetting = (typeof SIGNER_KINDS)[number][number]

/** The one kind of signer that is set. Adds to the problems what is missing, or too much. */
function signerSettings(
  env: Partial<Record<SignerSetting | 'ATTESTER_ADDRESS' | 'SEAL_SECRET_FILE', string | undefined>>,
  requirements: readonly Requirement[],
  problems: string[],
): SignerSettings | undefined {
  const kinds = SIGNER_KINDS.map((names) => names.filter((name) => env[name]))
  const given = SIGNER_KINDS.filter((_, i) => kinds[i]!.length > 0)
  if (given.length > 1)
    problems.push(
      `${given.map(([first]) => first).join(' and ')}: ${given.length === 2 ? 'both' : 'all'} given; keep one`,
    )
  if (given.length === 0 && requirements.includes('signer'))
    problems.push(
      'SIGNER_KEY_FILE, SIGNER_PRIVATE_KEY, SIGNER_PKCS11_MODULE or SIGNER_URL: missing; what signs results (docs/operations/keys.md)',
    )
  const [names] = given
  if (!names || given.length > 1) return undefined
  for (const name of names) if (!env[name]) problems.push(`${name}: missing; ${names[0]} needs it`)
  const { SIGNER_KEY_FILE: keyFile, SIGNER_PRIVATE_KEY: key, SIGNER_URL: url } = env
  if (keyFile) return { kind: 'key', readKey: () => readHex32('SIGNER_KEY_FILE', keyFile)[0]! }
  if (key) return { kind: 'key', readKey: () => withPrefix(key) }
  if (!env.SEAL_SECRET_FILE)
    problems.push(`SEAL_SECRET_FILE: missing; ${names[0]} needs it, as resign tokens are not made by its key`)
  if (url) {
    if (!env.ATTESTER_ADDRESS)
      problems.push('ATTESTER_ADDRESS: missing; SIGNER_URL needs it: the account that signs there')
    return { kind: 'remote', url }
  }
  return {
    kind: 'pkcs11',
    module: env.SIGNER_PKCS11_MODULE!,
    token: env.SIGNER_PKCS11_TOKEN!,
    key: env.SIGNER_PKCS11_KEY!,
    readPin: () => readSecret('SIGNER_PKCS11_PIN_FILE', env.SIGNER_PKCS11_PIN_FILE!),
  }
}

function readAdminKeyFile(file: string): string {
  const key = readSecret('ADMIN_KEY_FILE', file)
  if (!ADMIN_KEY_PATTERN.test(key))
    throw new SettingsError('ADMIN_KEY_FILE: the file must hold 32 or more printable characters, no spaces')
  return key
}

function readSealSecrets(file: string): readonly string[] {
  return readHex32('SEAL_SECRET_FILE', file, 'one or more lines of ')
}

function readSecret(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new SettingsError(`${setting}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** The lines of a file: one of 32 bytes in hex; or, with `several`, any number of them. */
function readHex32(setting: string, file: string, several = ''): string[] {
  const lines = readSecret(setting, file).split(/\s*\n\s*/)
  if ((lines.length > 1 && !several) || !lines.every((line) => PRIVATE_KEY.test(line)))
    throw new SettingsError(`${setting}: the file must hold ${several}32 bytes in hex`)
  return lines.map(withPrefix)
}

function withPrefix(digits: string): string {
  return digits.startsWith('0x') ? digits : `0x${digits}`
}
