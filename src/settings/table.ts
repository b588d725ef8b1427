import { LONGEST_DEADLINE_SECONDS } from '../eas'
import * as types from './types'

/** A setting: its name in the environment, its type and its documentation. */
export interface Setting<Value = unknown> {
  /** Name of the setting. A name that ends in `<CHAIN>` stands for one setting per chain. */
  readonly name: string
  readonly type: types.Type<unknown>
  readonly default?: Value
  /** Default as shown in the documents, if it differs from `default` as text. */
  readonly shown?: string
  readonly unit?: string
  /** Documentation in Markdown, with links relative to docs/reference. */
  readonly doc: string
  /** Another name, which is read if the first one is not set. */
  readonly also?: string
  /**
   * Marks a secret, for which `<NAME>_FILE` may name a file that contains it. An open one is read at the
   * start, a sealed one when used, so that no log of the settings contains it.
   */
  readonly secret?: 'open' | 'sealed'
}
type Options = Pick<Setting, 'shown' | 'unit' | 'also' | 'secret'>

/** Defines a setting. Its value is undefined if it is not set, unless it has a default. */
function setting<T>(
  name: string,
  type: types.Type<T>,
  doc: string,
  options: Options & { default: NoInfer<T> },
): Setting<T>
function setting<T>(name: string, type: types.Type<T>, doc: string, options?: Options): Setting<T | undefined>
function setting(name: string, type: types.Type<unknown>, doc: string, options?: Options): Setting {
  return { name, type, doc, ...options }
}
/** Defines a sealed secret. Its value is a function that reads it. */
function sealed<T>(
  name: string,
  type: types.Type<T>,
  doc: string,
  options?: Options,
): Setting<(() => T) | undefined> {
  return { name, type, doc, secret: 'sealed', ...options }
}
/** Defines one setting per chain. Its value is a map by slug. */
function perChain<T>(
  name: string,
  type: types.Type<T>,
  doc: string,
  options?: Options,
): Setting<ReadonlyMap<string, T>> {
  return { name, type, doc, ...options }
}

/** UIDs of the default result schemas (docs/spec/facts.md 2), the same on every chain. */
const NUMERIC_RESULT_SCHEMA_UID = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'
const BOOLEAN_RESULT_SCHEMA_UID = '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5'

/**
 * How an answer lands: `direct`, in EAS at the attester's nonce; or `proxy`, through EAS's
 * PermissionedEIP712Proxy, in any order, each signature at most once.
 */
export const SUBMISSIONS = ['direct', 'proxy'] as const

const MOST_REQUESTS = 1e9
const DAY_SECONDS = 86_400
const open = { secret: 'open' } as const

/** All settings, by their group in the documents and their field in the parsed settings. */
export const SETTINGS = {
  'Database and Redis': {
    databaseUrl: setting(
      'DATABASE_URL',
      types.POSTGRES_URL,
      'Postgres 15+ with PostGIS 3.3+: `postgres://user:password@host:5432/name`. The URL may list several hosts (`one:5432,two:5432`): the one that accepts writes is used, also after a failover. Local: an embedded database. `DB_URL`, the name that Subsquid uses, is read if this is not set',
      { ...open, also: 'DB_URL' },
    ),
    databaseReadUrls: setting(
      'DATABASE_READ_URLS',
      types.POSTGRES_URLS,
      'Replicas that serve reads of records ([scaling](../operations/scaling.md#reads-on-replicas)): URLs of one server each, comma-separated. The primary may be one of them',
      { ...open, default: [] },
    ),
    graphqlDatabaseUrl: setting(
      'GRAPHQL_DATABASE_URL',
      types.POSTGRES_URL,
      'A login for raw GraphQL alone, on the same database or a replica. Without it, the login of `DATABASE_URL` sets the role `published_reader` for each query ([the role](../operations/deploying.md#the-role-of-raw-graphql))',
      open,
    ),
    squidGraphql: setting(
      'GQL_PORT',
      types.LISTENING,
      "Port, or address and port (`0.0.0.0:4350`), of the squid's own GraphQL server, if it is started (`npm run graphql`)",
      { default: { host: '127.0.0.1', port: 4350 }, shown: '4350' },
    ),
    redisUrl: setting(
      'REDIS_URL',
      types.REDIS_URL,
      'Redis 7+. Shares rate limits, and the nonces of signed requests, between API instances on several machines. Without it, each machine counts separately',
      open,
    ),
  },
  HTTP: {
    host: setting('HOST', types.LISTENING_HOST, 'Address to listen on', { default: '127.0.0.1' }),
    port: setting('PORT', types.PORT, 'Port to listen on', { default: 3000 }),
    apiProcessesWanted: setting(
      'API_PROCESSES',
      types.integer(1, 256),
      'Number of API processes that share the port, the rate limits and the nonces of signed requests ([processes](../operations/deploying.md#processes)). `npm start` on the embedded database: 1',
      { shown: 'one per core, at most 4' },
    ),
    publicUrl: setting(
      'PUBLIC_BASE_URL',
      types.BASE_URL,
      'URL by which clients reach the service, including its path. Links and the `type` of errors begin with it',
      { shown: '`http://HOST:PORT`' },
    ),
    deploymentName: setting(
      'DEPLOYMENT_NAME',
      types.TEXT,
      'Name of this deployment, such as production or staging ([one image for both](../operations/deploying.md)), shown by `GET /` and in the description of the API. `local`, which `npm start` sets, is only for development: `GET /local-nodes` then lists, for the pages, the RPC endpoints of `RPC_URL_<CHAIN>` on this machine. Their test accounts sign with one click, and answers do not link to explorers of their chains',
      { default: 'unnamed' },
    ),
    trustProxy: setting(
      'TRUST_PROXY',
      types.ADDRESS_RANGES,
      'Reverse proxies whose `X-Forwarded-For` is trusted: addresses or CIDR ranges, comma-separated',
      { default: [] },
    ),
    webhooksFile: setting(
      'WEBHOOKS_FILE',
      types.FILE,
      'A JSON file with [subscriptions](webhooks.md#subscriptions) to which changes are sent',
    ),
    readAdminKey: sealed(
      'ADMIN_KEY',
      types.ADMIN_KEY,
      'The key of [the admin API](webhooks.md#the-admin-api), 32 or more printable characters. Without a key, the admin API does not exist',
    ),
    webhookPrivateHosts: setting(
      'WEBHOOK_PRIVATE_HOSTS',
      types.HOSTS,
      'Hosts of webhooks, comma-separated (`hooks.internal`, `127.0.0.1:8080`), that may have private addresses, any port, and http',
      { default: [] },
    ),
    rateLimitPerHour: setting(
      'RATE_LIMIT_PER_HOUR',
      types.integer(0, MOST_REQUESTS),
      'Maximum number of requests of a client to /compute; 0 = no limit. Local: 0',
      { default: 100, unit: 'per hour' },
    ),
    recordsRateLimitPerHour: setting(
      'RECORDS_RATE_LIMIT_PER_HOUR',
      types.integer(0, MOST_REQUESTS),
      'Maximum number of requests of a client to /api, /ogc, /tiles, /graphql, /log and /r together, and separately to /mcp; 0 = no limit. Local: 0',
      { default: 3600, unit: 'per hour' },
    ),
    cacheMegabytes: setting(
      'CACHE_MB',
      types.integer(0, 100_000),
      'Memory of each API process for its caches: two thirds for [vector tiles](tiles.md), one third for responses of `/api/v0/location-records`, `/api/v0/answers` and `/ogc`, which are cached while no record changes; 0 disables these caches',
      { default: 96, unit: 'MB' },
    ),
    walletAuth: setting(
      'WALLET_AUTH',
      types.BOOLEAN,
      'True if /compute accepts requests signed by a wallet ([wallet.md](wallet.md)). The hourly limit of a wallet is ten times `RATE_LIMIT_PER_HOUR` (1,000 if that is 0); the limit of a client address for all its wallets is twenty times. Set `PUBLIC_BASE_URL` as well, because its host is part of the signed text. API instances on several machines need `REDIS_URL`; without it, a request can be replayed once on each machine',
      { default: false },
    ),
  },
  Chains: {
    chainsFile: setting(
      'CHAINS_FILE',
      types.FILE,
      'A JSON file with [further chains](#further-chains), and with other [values for a known chain](#values-of-a-chain)',
    ),
    chainsWanted: setting(
      'CHAINS',
      types.CHAIN_LIST,
      'Slugs of the chains to work on, comma-separated: base-sepolia, sepolia, arbitrum, celo, base. Local: the first four, each simulated by a local node',
      { shown: 'those with an `RPC_URL_<CHAIN>`' },
    ),
    rpcUrls: perChain(
      'RPC_URL_<CHAIN>',
      types.HTTP_URLS,
      'JSON-RPC endpoints, http(s): one, or several in order of preference, comma-separated. While one fails, the next one is used ([RPC calls](../operations/rpc.md)). `<CHAIN>` is the slug in capitals, with _ for -',
      open,
    ),
    gatewayUrls: perChain(
      'GATEWAY_URL_<CHAIN>',
      types.HTTP_URL,
      'A Subsquid gateway for history. Without it, history is read by filtered `eth_getLogs` of the RPC endpoints',
      open,
    ),
    proxies: perChain(
      'PROXY_<CHAIN>',
      types.LOWER_ADDRESS,
      'The EIP-712 proxy of EAS that accepts answers of this service without nonces, in any order ([the proxy](../operations/proxy.md)). Without it, answers land directly in EAS. Local: `npm start` deploys one',
    ),
    schemas: setting(
      'LOCATION_SCHEMAS',
      types.LOCATION_SCHEMAS,
      'Changes of the [location schemas](schemas.md) that are indexed, separated by semicolons. A text as registered (resolver 0, revocable), with the fields srs, location_type and location, adds a schema: `string srs,string location_type,string location,string name`. `-0x...` excludes the schema with this UID, unless it is built in (`built_in` of `GET /api/v0/schemas`). `-*` excludes all schemas found in the registries, except those listed as `0x...`. The audit reads the history of a schema that is added later',
      { default: types.NO_SCHEMAS, shown: 'all that are found' },
    ),
    auditCallsPerSecond: setting(
      'AUDIT_CALLS_PER_SECOND',
      types.number(0, 10_000),
      'Average number of RPC calls per second of the audit of a chain, over a day ([cost](../operations/rpc.md)). 0 disables proofs, and history is read a second time without a limit. Blocks that the indexer has proven at the head need no calls',
      { default: 0.05, unit: 'per second' },
    ),
    indexerMetrics: setting(
      'INDEXER_METRICS_PORT',
      types.LISTENING,
      'Port, or address and port (`0.0.0.0:9464`), where the indexer of base-sepolia serves its metrics for Prometheus (`GET /metrics`). The indexers of sepolia, arbitrum, celo and base use the next four ports, those of `CHAINS_FILE` the ports after them. Without it, indexers listen on no port',
    ),
  },
  Signing: {
    readKey: sealed(
      'SIGNER_PRIVATE_KEY',
      types.PRIVATE_KEY,
      'The key that signs results, 32 bytes in hex ([keys](../operations/keys.md)): in production use `SIGNER_KEY_FILE`, which names a file with the key. This or `SIGNER_URL` is required. Local: a publicly known test account signs',
      { also: 'SIGNER_KEY' },
    ),
    outsideKey: setting(
      'SIGNER_URL',
      types.SIGNER_URL,
      'A key outside the service. `https://...`: a service that signs typed data by JSON-RPC (Web3Signer, Clef); needs `ATTESTER_ADDRESS`. `pkcs11:token=geo;object=signer?module-path=/usr/lib/softhsm/libsofthsm2.so` (RFC 7512): a PKCS#11 token, with the labels of token and key (or `id=%01`), and its library',
      open,
    ),
    readPin: sealed(
      'SIGNER_PKCS11_PIN',
      types.TEXT,
      "The user's PIN of the PKCS#11 token; required if `SIGNER_URL` names a token. `SIGNER_PKCS11_PIN_FILE` can name a file with the PIN",
    ),
    attesters: setting(
      'ATTESTER_ADDRESS',
      types.ADDRESSES,
      "The published address of the key. A key with another address is refused at the start. After a comma: further addresses whose answers count as this service's own, which are those of the next and the previous key while [the key changes](../operations/keys.md#changing-the-key). Test accounts whose keys are public count on local chains only",
      { default: [] },
    ),
    readSealSecrets: sealed(
      'SEAL_SECRET',
      types.SEALS,
      'Secrets of resign tokens, one per line, 32 bytes in hex each (`SEAL_SECRET_FILE`). All API instances need the same ones. The first secret makes new tokens; tokens of all secrets are accepted. Required with `SIGNER_URL`; otherwise a secret is derived from the key',
    ),
    numericSchema: setting(
      'DEFAULT_NUMERIC_SCHEMA',
      types.UID,
      'Schema of numeric results if the request names no schema',
      { default: NUMERIC_RESULT_SCHEMA_UID },
    ),
    booleanSchema: setting(
      'DEFAULT_BOOLEAN_SCHEMA',
      types.UID,
      'Schema of boolean results if the request names no schema',
      { default: BOOLEAN_RESULT_SCHEMA_UID },
    ),
    defaultSubmission: setting(
      'DEFAULT_SUBMISSION',
      types.choice(...SUBMISSIONS),
      'How answers land if the request does not specify it: `direct` (in EAS, at the nonce of the attester) or `proxy` (through the proxy of the chain, if it has one; [landing an answer](../guide/landing-an-answer.md))',
      { default: 'direct' },
    ),
    deadlineSeconds: setting(
      'DEADLINE_SECONDS',
      types.integer(1, LONGEST_DEADLINE_SECONDS),
      'Time within which a signed answer can be submitted, at most a week (604800). A result can be signed again (`/resign`) for the same time after its computation, but for at least an hour',
      { default: 3600, unit: 'seconds' },
    ),
    log: setting(
      'LOG',
      types.LOG,
      'The [transparency log](log.md), in which each signature is recorded before it leaves the service. A path: a policy file (C2SP tlog-policy) with the witnesses that cosign it ([operating the log](../operations/log.md))',
      { default: true, shown: '`on`' },
    ),
    readLogKey: sealed(
      'LOG_KEY',
      types.LOG_KEY,
      'The Ed25519 key that signs checkpoints of the log, a signer key of C2SP signed-note; its name is the origin of the log. Without one, a key is generated once and stored in the database',
    ),
    indexMaxAgeSeconds: setting(
      'INDEX_MAX_AGE_SECONDS',
      types.integer(0, DAY_SECONDS),
      'Compute queries the chain about every attestation, unless a poll of the head found the last indexed block on the chain within this time; 0 = always. A revocation that is younger than this may be missed',
      { default: 15, unit: 'seconds' },
    ),
    smartAccounts: setting(
      'SMART_ACCOUNTS',
      types.BOOLEAN,
      'True if signers of offchain attestations and requests may be contracts ([offchain.md](offchain.md#smart-accounts)). The contract is then called at the RPC endpoint of its chain: two calls of up to 10 million gas each. False: only keys may sign',
      { default: true },
    ),
  },
  'Fetching offchain attestations': {
    offchainGateways: setting(
      'OFFCHAIN_URIS',
      types.OFFCHAIN_URIS,
      'True if documents of `{uid, uri}` inputs are fetched ([offchain.md](offchain.md#fetching)) from `https://` URIs. Otherwise such inputs are refused. Trustless IPFS gateways, http(s), in order of preference, comma-separated, enable `ipfs://` URIs as well; their responses are verified by hash. They require the optional packages (in Docker: `--build-arg OMIT=--omit=dev`)',
      { shown: '`false`' },
    ),
  },
  'Local run and log': {
    localChainPort: setting(
      'LOCAL_CHAIN_PORT',
      types.PORT,
      'Port of the first local chain of `npm start`; the others follow',
      { default: 8545 },
    ),
    localDbPort: setting('LOCAL_DB_PORT', types.PORT, 'Port of the embedded database of `npm start`', {
      default: 5433,
    }),
    basemap: setting(
      'BASEMAP',
      types.FILE,
      'PMTiles file in the schema of Protomaps with the streets that the maps of the pages show, such as `/srv/berlin.pmtiles` ([how to make one](../operations/basemap.md)). Without it the maps show land, borders, rivers and towns',
    ),
    logLevel: setting(
      'LOG_LEVEL',
      types.choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
      'The least severe level that is logged',
      { default: 'info' },
    ),
    traces: setting(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      types.HTTP_URL,
      'Destination of [traces](../operations/monitoring.md#traces) by OTLP/HTTP, such as `http://127.0.0.1:4318`; the other `OTEL_*` settings of OpenTelemetry apply too',
    ),
  },
}

export const ROWS = {
  ...SETTINGS['Database and Redis'],
  ...SETTINGS.HTTP,
  ...SETTINGS.Chains,
  ...SETTINGS.Signing,
  ...SETTINGS['Fetching offchain attestations'],
  ...SETTINGS['Local run and log'],
}
/** Values of all settings, by field. */
export type Values = {
  readonly [Field in keyof typeof ROWS]: (typeof ROWS)[Field] extends Setting<infer Value> ? Value : never
}

const CHAINS_FILE = 'the row of a chain in CHAINS_FILE'
/**
 * Removed settings, and their replacement. A process warns if one is set. A `refused` one ends the process,
 * because ignoring it would change what the process signs, reads or serves.
 */
export const REMOVED: Readonly<Record<string, { readonly now: string; readonly refused?: true }>> = {
  GQL_HOST: { now: 'set address and port in GQL_PORT, such as 0.0.0.0:4350' },
  INDEXER_METRICS_HOST: { now: 'set address and port in INDEXER_METRICS_PORT, such as 0.0.0.0:9464' },
  TILE_CACHE_MB: { now: 'CACHE_MB limits tiles and responses together' },
  PAGE_CACHE_MB: { now: 'CACHE_MB limits tiles and responses together' },
  EXPORT_DISK_MB: {
    now: 'exports use at most half of the free space in TMPDIR, and at most 4 GB for each API process',
  },
  WALLET_RATE_LIMIT_PER_HOUR: { now: 'the limit of a wallet is ten times RATE_LIMIT_PER_HOUR' },
  WALLET_IP_RATE_LIMIT_PER_HOUR: { now: 'the limit of an address is twenty times RATE_LIMIT_PER_HOUR' },
  WALLET_MAX_SKEW_SECONDS: { now: 'the value is always 300' },
  HEAD_POLL_SECONDS: { now: `set headPollMs in ${CHAINS_FILE}` },
  RPC_RATE_LIMIT: { now: `set rpcPerSecond in ${CHAINS_FILE}` },
  RPC_BATCH_SIZE: { now: `set rpcBatchSize in ${CHAINS_FILE}` },
  RPC_TIMEOUT_SECONDS: { now: `set rpcTimeoutMs in ${CHAINS_FILE}` },
  MIN_CONFIRMATIONS: { now: `set minConfirmations in ${CHAINS_FILE}`, refused: true },
  MAX_LAG_SECONDS: { now: 'the value is 120, or ten times the block time of the slowest chain' },
  SCHEMA_DISCOVERY: {
    now: 'add the entry -* to LOCATION_SCHEMAS to read listed schemas only',
    refused: true,
  },
  SCHEMAS_EXCLUDED: { now: 'add the entry -<UID> to LOCATION_SCHEMAS to exclude a schema', refused: true },
  SCHEMA_CHECK: { now: 'a schema must always be registered, with exactly the types of the payload' },
  SIGNER_PKCS11_MODULE: { now: 'set module-path in the pkcs11 URL of SIGNER_URL', refused: true },
  SIGNER_PKCS11_TOKEN: { now: 'set token in the pkcs11 URL of SIGNER_URL', refused: true },
  SIGNER_PKCS11_KEY: { now: 'set object or id in the pkcs11 URL of SIGNER_URL', refused: true },
  SIGNER_TIMEOUT_MS: { now: 'the value is always 5000' },
  OTHER_ATTESTERS: {
    now: "list its addresses in ATTESTER_ADDRESS, after the signer's own address",
    refused: true,
  },
  MCP: { now: 'remove it, and block /mcp in the reverse proxy to close it', refused: true },
  IPFS_GATEWAYS: { now: 'set the gateways in OFFCHAIN_URIS instead of true', refused: true },
  LOCAL_NODES: {
    now: 'DEPLOYMENT_NAME=local lists the nodes on this machine for the pages',
    refused: true,
  },
  RESIGN_MAX_AGE_SECONDS: { now: 'the value is that of DEADLINE_SECONDS, but at least 3600', refused: true },
}
