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
   * Marks a secret, for which `<NAME>_FILE` may name a file that contains the value. An open secret is read
   * at the start. A sealed one is read when used, so that no log of the settings contains it.
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
      'Postgres 15+ with PostGIS 3.3+: `postgres://user:password@host:5432/name`. Of several hosts (`one:5432,two:5432`), the one that accepts writes is used, and found again after a failover. Local: an embedded database. `DB_URL`, the name that Subsquid uses, is read if this is not set',
      { ...open, also: 'DB_URL' },
    ),
    databaseReadUrls: setting(
      'DATABASE_READ_URLS',
      types.POSTGRES_URLS,
      'Replicas that answer reads of records ([scaling](../operations/scaling.md#reads-on-replicas)): URLs of one server each, comma-separated. The primary may be one of them',
      { ...open, default: [] },
    ),
    graphqlDatabaseUrl: setting(
      'GRAPHQL_DATABASE_URL',
      types.POSTGRES_URL,
      'A login for raw GraphQL alone, on the same database or a replica. Without it, the login of `DATABASE_URL` takes the role `published_reader` for each query ([the role](../operations/deploying.md#the-role-of-raw-graphql))',
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
      'Redis 7+. Shares rate limits, and the nonces of signed requests, between API instances on several machines. Without it each machine counts for itself',
      open,
    ),
  },
  HTTP: {
    host: setting('HOST', types.TEXT, 'Address to listen on', { default: '127.0.0.1' }),
    port: setting('PORT', types.PORT, 'Port to listen on', { default: 3000 }),
    apiProcessesWanted: setting(
      'API_PROCESSES',
      types.integer(1, 256),
      'Processes of the API that share the port, the rate limits and the nonces of signed requests ([processes](../operations/deploying.md#processes)). `npm start` on the embedded database: 1',
      { shown: 'one per core, at most 4' },
    ),
    publicUrl: setting(
      'PUBLIC_BASE_URL',
      types.HTTP_URL,
      'URL by which clients reach the service, path included: the start of links and of the `type` of errors',
      { shown: '`http://HOST:PORT`' },
    ),
    deploymentName: setting(
      'DEPLOYMENT_NAME',
      types.TEXT,
      'Name of this deployment, such as production or staging ([one image for both](../operations/deploying.md)), shown by `GET /` and in the description of the API. Local: `local`',
      { default: 'unnamed' },
    ),
    trustProxy: setting(
      'TRUST_PROXY',
      types.ADDRESS_RANGES,
      'Reverse proxies whose `X-Forwarded-For` is believed: addresses or CIDR ranges, comma-separated',
      { default: [] },
    ),
    mcp: setting(
      'MCP',
      types.BOOLEAN,
      'True if `/mcp` serves agents over the Model Context Protocol ([agents](../guide/agents.md#over-http))',
      { default: true },
    ),
    webhooksFile: setting(
      'WEBHOOKS_FILE',
      types.FILE,
      'A JSON file with [subscriptions](webhooks.md#subscriptions) to which changes are sent',
    ),
    readAdminKey: sealed(
      'ADMIN_KEY',
      types.ADMIN_KEY,
      'The key of [the admin API](webhooks.md#the-admin-api), 32 or more printable characters. Without one there is no such API',
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
      'Requests of a client to /compute, where one that takes long [counts as several](limits.md#requests); 0 = no limit. Local: 0',
      { default: 100, unit: 'per hour' },
    ),
    recordsRateLimitPerHour: setting(
      'RECORDS_RATE_LIMIT_PER_HOUR',
      types.integer(0, MOST_REQUESTS),
      'The same for /api, /ogc, /tiles and /graphql together, and once more for /mcp. Local: 0',
      { default: 3600, unit: 'per hour' },
    ),
    cacheMegabytes: setting(
      'CACHE_MB',
      types.integer(0, 100_000),
      'Memory of each API process for its caches: two thirds for [vector tiles](tiles.md), one third for responses of `/api/v0/location-records`, `/api/v0/answers` and `/ogc`, which are kept while no record changes; 0 = none',
      { default: 96, unit: 'MB' },
    ),
    walletAuth: setting(
      'WALLET_AUTH',
      types.BOOLEAN,
      'True if /compute accepts requests signed by a wallet ([wallet.md](wallet.md)): per hour ten times `RATE_LIMIT_PER_HOUR` of a wallet (1,000 if that is 0), twenty times of a client address for all its wallets. Set `PUBLIC_BASE_URL` with it: its host is part of what is signed. API instances on several machines need `REDIS_URL`, or a request can be replayed once to each',
      { default: false },
    ),
  },
  Chains: {
    chainsFile: setting(
      'CHAINS_FILE',
      types.FILE,
      'A JSON file with [further chains](#further-chains), and with [values of its own](#values-of-a-chain) for a chain',
    ),
    chainsWanted: setting(
      'CHAINS',
      types.CHAIN_LIST,
      'Slugs of the chains to work on, comma-separated: base-sepolia, sepolia, arbitrum, celo, base. Local: the first four, each played by a local chain',
      { shown: 'those with an `RPC_URL_<CHAIN>`' },
    ),
    rpcUrls: perChain(
      'RPC_URL_<CHAIN>',
      types.HTTP_URLS,
      'JSON-RPC endpoints, http(s): one, or several in order of preference, comma-separated. The next one is used while one fails ([RPC calls](../operations/rpc.md)). `<CHAIN>` is the slug in capitals, with _ for -',
      open,
    ),
    gatewayUrls: perChain(
      'GATEWAY_URL_<CHAIN>',
      types.HTTP_URL,
      'A Subsquid gateway for history. Without it history is read by filtered `eth_getLogs` of the RPC endpoints',
      open,
    ),
    proxies: perChain(
      'PROXY_<CHAIN>',
      types.LOWER_ADDRESS,
      'The EIP-712 proxy of EAS that accepts our answers without nonces, in any order ([the proxy](../operations/proxy.md)). Without it answers land directly in EAS. Local: one that `npm start` deploys',
    ),
    schemas: setting(
      'LOCATION_SCHEMAS',
      types.LOCATION_SCHEMAS,
      'Changes of the [location schemas](schemas.md) that are indexed, separated by semicolons. A text as registered (resolver 0, revocable), with the fields srs, location_type and location, adds a schema: `string srs,string location_type,string location,string name`. `-0x...` leaves out the schema with this UID, `-*` all that are found in the registries, but for `0x...`, which are read all the same. The audit reads the history of a schema that is added later',
      { default: types.NO_SCHEMAS, shown: 'all that are found' },
    ),
    auditCallsPerSecond: setting(
      'AUDIT_CALLS_PER_SECOND',
      types.number(0, 10_000),
      'Calls of the audit of a chain, on average over a day ([cost](../operations/rpc.md)); 0 = no proofs, and history is read a second time without a limit. Blocks that the indexer has proven at the head cost the audit nothing',
      { default: 0.05, unit: 'per second' },
    ),
    indexerMetrics: setting(
      'INDEXER_METRICS_PORT',
      types.LISTENING,
      'Port, or address and port (`0.0.0.0:9464`), where the indexer of base-sepolia serves its own figures for Prometheus (`GET /metrics`). Those of sepolia, arbitrum, celo and base take the next four ports, those of `CHAINS_FILE` the ports after them. Without it nothing listens',
    ),
  },
  Signing: {
    readKey: sealed(
      'SIGNER_PRIVATE_KEY',
      types.PRIVATE_KEY,
      'The key that signs results, 32 bytes in hex ([keys](../operations/keys.md)): in production `SIGNER_KEY_FILE`, a file that holds it. This or `SIGNER_URL` is required. Local: a publicly known test account signs',
      { also: 'SIGNER_KEY' },
    ),
    outsideKey: setting(
      'SIGNER_URL',
      types.SIGNER_URL,
      'A key elsewhere. `https://...`: a service that signs typed data by JSON-RPC (Web3Signer, Clef); needs `ATTESTER_ADDRESS`. `pkcs11:token=geo;object=signer?module-path=/usr/lib/softhsm/libsofthsm2.so` (RFC 7512): a PKCS#11 token, with the labels of token and key (or `id=%01`), and its library',
      open,
    ),
    readPin: sealed(
      'SIGNER_PKCS11_PIN',
      types.TEXT,
      "The user's PIN of the PKCS#11 token; required with one. Best in a file that `SIGNER_PKCS11_PIN_FILE` names",
    ),
    attesters: setting(
      'ATTESTER_ADDRESS',
      types.ADDRESSES,
      "The key's address, as published: a key of another address is refused at start. After a comma: other addresses whose answers are ours, those of the next key and the last one while [the key changes](../operations/keys.md#changing-the-key)",
      { default: [] },
    ),
    readSealSecrets: sealed(
      'SEAL_SECRET',
      types.SEALS,
      'Secrets of resign tokens, a line of 32 bytes in hex each, the same for every API instance (`SEAL_SECRET_FILE`): the first one makes tokens, all are accepted. Required with `SIGNER_URL`. Without it they are derived from the key',
    ),
    numericSchema: setting(
      'DEFAULT_NUMERIC_SCHEMA',
      types.UID,
      'Schema of numeric results when a request names none',
      {
        default: NUMERIC_RESULT_SCHEMA_UID,
      },
    ),
    booleanSchema: setting(
      'DEFAULT_BOOLEAN_SCHEMA',
      types.UID,
      'Schema of boolean results when a request names none',
      {
        default: BOOLEAN_RESULT_SCHEMA_UID,
      },
    ),
    defaultSubmission: setting(
      'DEFAULT_SUBMISSION',
      types.choice(...SUBMISSIONS),
      'How answers land if a request does not say it: `direct` (in EAS, at the nonce of the attester) or `proxy` (through the proxy of the chain, if it has one; [landing an answer](../guide/landing-an-answer.md))',
      { default: 'direct' },
    ),
    deadlineSeconds: setting(
      'DEADLINE_SECONDS',
      types.integer(1, 30 * DAY_SECONDS),
      'How long a signed answer can be submitted. For as long after its computation, an hour at least, a result is signed again (`/resign`)',
      { default: 3600, unit: 'seconds' },
    ),
    indexMaxAgeSeconds: setting(
      'INDEX_MAX_AGE_SECONDS',
      types.integer(0, DAY_SECONDS),
      'Compute queries the chain about every attestation unless a look at the head found the last indexed block on the chain within this time; 0 = always. A revocation that is younger than this may be missed',
      { default: 15, unit: 'seconds' },
    ),
    smartAccounts: setting(
      'SMART_ACCOUNTS',
      types.BOOLEAN,
      'True if signers of offchain attestations and requests may be contracts ([offchain.md](offchain.md#smart-accounts)). The node of their chain is then asked: two calls of up to 10 million gas each. False: keys only',
      { default: true },
    ),
  },
  'Fetching offchain attestations': {
    offchainUris: setting(
      'OFFCHAIN_URIS',
      types.BOOLEAN,
      'True if inputs `{uid, uri}` are fetched ([offchain.md](offchain.md#fetching)); otherwise they are refused',
      { default: false },
    ),
    ipfsGateways: setting(
      'IPFS_GATEWAYS',
      types.HTTP_URLS,
      'Trustless IPFS gateways for `ipfs://` URIs, http(s), in order of preference, comma-separated; their responses are checked by the hashes. Needs the optional packages (in Docker: `--build-arg OMIT=--omit=dev`). Without any, such URIs are refused',
      { default: [] },
    ),
  },
  'Local run and log': {
    localChainPort: setting(
      'LOCAL_CHAIN_PORT',
      types.PORT,
      'Port of the first local chain of `npm start`; the others follow',
      {
        default: 8545,
      },
    ),
    localDbPort: setting('LOCAL_DB_PORT', types.PORT, 'Port of its embedded database', { default: 5433 }),
    localNodes: setting(
      'LOCAL_NODES',
      types.BOOLEAN,
      'True if `GET /local-nodes` names to the pages those nodes of `RPC_URL_<CHAIN>` that are on this machine, so that their test accounts sign with one click, and answers link to no explorers for their chains. Only for development. Local: `true`',
      { default: false },
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
      'Destination of [traces](../operations/monitoring.md#traces) by OTLP/HTTP, such as `http://127.0.0.1:4318`; the other `OTEL_*` settings of OpenTelemetry hold too',
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

const CHAINS_FILE = 'a row of CHAINS_FILE sets it for a chain'
/**
 * Removed settings, and their replacement. A process warns if one is set. A `refused` one ends the process,
 * because ignoring it would change what the process signs or reads.
 */
export const REMOVED: Readonly<Record<string, { readonly now: string; readonly refused?: true }>> = {
  GQL_HOST: { now: 'GQL_PORT takes address and port, such as 0.0.0.0:4350' },
  INDEXER_METRICS_HOST: { now: 'INDEXER_METRICS_PORT takes address and port, such as 0.0.0.0:9464' },
  TILE_CACHE_MB: { now: 'CACHE_MB limits all caches together' },
  PAGE_CACHE_MB: { now: 'CACHE_MB limits all caches together' },
  EXPORT_DISK_MB: { now: 'exports take at most half of the space that is free in TMPDIR, and 4 GB of it' },
  WALLET_RATE_LIMIT_PER_HOUR: { now: 'the limit of a wallet is ten times RATE_LIMIT_PER_HOUR' },
  WALLET_IP_RATE_LIMIT_PER_HOUR: { now: 'the limit of an address is twenty times RATE_LIMIT_PER_HOUR' },
  WALLET_MAX_SKEW_SECONDS: { now: 'it is 300' },
  HEAD_POLL_SECONDS: { now: `headPollMs in ${CHAINS_FILE}` },
  RPC_RATE_LIMIT: { now: `rpcPerSecond in ${CHAINS_FILE}` },
  RPC_BATCH_SIZE: { now: `rpcBatchSize in ${CHAINS_FILE}` },
  RPC_TIMEOUT_SECONDS: { now: `rpcTimeoutMs in ${CHAINS_FILE}` },
  MIN_CONFIRMATIONS: { now: `minConfirmations in ${CHAINS_FILE}`, refused: true },
  MAX_LAG_SECONDS: { now: 'it is 120, or ten times the block time of the slowest chain' },
  SCHEMA_DISCOVERY: { now: 'LOCATION_SCHEMAS with the entry -* reads listed schemas only', refused: true },
  SCHEMAS_EXCLUDED: { now: 'LOCATION_SCHEMAS leaves out a schema by the entry -<UID>', refused: true },
  SCHEMA_CHECK: { now: 'a schema must always be registered, with exactly the types of the payload' },
  SIGNER_PKCS11_MODULE: { now: 'it is module-path of a pkcs11 URL in SIGNER_URL', refused: true },
  SIGNER_PKCS11_TOKEN: { now: 'it is token of a pkcs11 URL in SIGNER_URL', refused: true },
  SIGNER_PKCS11_KEY: { now: 'it is object or id of a pkcs11 URL in SIGNER_URL', refused: true },
  SIGNER_TIMEOUT_MS: { now: 'it is 5000' },
  OTHER_ATTESTERS: { now: 'ATTESTER_ADDRESS takes them, after the own address', refused: true },
  RESIGN_MAX_AGE_SECONDS: { now: 'it is DEADLINE_SECONDS, but at least 3600', refused: true },
}
