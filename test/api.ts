import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { MONOTONIC } from '../src/clock'
import { ALL_SCHEMAS } from '../src/location'
import { connect } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import type { PoolConfig } from 'pg'
import Fastify, { type FastifyInstance } from 'fastify'
import { Attester } from '../api/compute/attester'
import { ChainReader } from '../api/contracts'
import { RequestCounter } from '../api/http/limits'
import { Measurer } from '../api/compute/measure'
import { SharedRedis } from '../api/http/redis'
import { Resolver } from '../api/compute/resolve'
import { buildServer, type ServerParts } from '../api/server'
import { Pages } from '../api/web'
import { ColumnarFiles } from '../api/formats/columnar/file'
import { RecordSearch } from '../api/query/search'
import { Store } from '../api/store/store'
import { WalletTier, type WalletOptions } from '../api/contracts/wallet'
import { Nonces } from '../api/http/nonces'
import { SignatureLog } from '../api/log'
import { SafeSender } from '../api/outgoing'
import type { SignerKey } from '../src/tlog'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY } from '../dev/chain'
import { keySigner, sealOf } from '../src/eas'
import type { Identity } from '../api/compute/signers'
import { atEnd } from './ends'

/** Path of the compiled worker. `npm test` builds before it runs. */
export const MEASURE_WORKER = path.resolve('dist/api/compute/measure-worker.js')
export const SIEVE_WORKER = path.resolve('dist/api/query/sieve-worker.js')
export const COLUMNAR_WORKER = path.resolve('dist/api/formats/columnar/worker.js')

interface TestServerOptions extends Partial<
  Omit<ServerParts, 'store' | 'records' | 'attesters' | 'resolver' | 'counter' | 'walletTier'>
> {
  /** an unreachable database by default */
  databaseUrl?: string
  /** URLs of replicas */
  readUrls?: readonly string[]
  /** options of its database connections, which replace those of the API */
  databaseOptions?: PoolConfig
  /** URL of the local chain; without it, no chain is signed for */
  rpcUrl?: string
  /** The chain's proxy. */
  proxy?: string
  /** The chain's GeoQuorum contract. */
  quorum?: string
  /** private key of the signer; the local chain's by default */
  key?: string
  /** further parts of the service's identity, in addition to its key */
  identity?: Partial<Identity>
  /** key of the transparency log; without it, the log is off unless `log` is passed */
  logKey?: SignerKey
  redisUrl?: string
  /** true if contracts may sign; the default */
  smartAccounts?: boolean
  /** milliseconds to wait for Redis; long by default, so that a busy machine loses no response */
  redisTimeoutMs?: number
  wallet?: Partial<Pick<WalletOptions, 'perHour' | 'perHourByAddress' | 'maxSkewSeconds'>>
}
export interface TestServer {
  readonly app: FastifyInstance
  readonly redis: SharedRedis | undefined
  /** closes the server and all its resources */
  close: () => Promise<void>
}

/**
 * Builds the API in this process, complete but not listening. Parts that are not passed have their defaults.
 * The API is closed after the file's tests.
 */
export async function buildTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const {
    databaseUrl = 'postgres://nobody@127.0.0.1:1/none',
    readUrls = [],
    databaseOptions = {},
    rpcUrl,
    proxy,
    quorum,
    key = LOCAL_SIGNER_KEY,
    identity = {},
    logKey,
    redisUrl,
    redisTimeoutMs = 60_000,
    wallet,
    smartAccounts = true,
    clock = () => Date.now(),
    elapsed = MONOTONIC.now,
    publicBaseUrl = 'https://x.example',
    measurer = new Measurer(20_000, MEASURE_WORKER),
    columnarFiles = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER),
    ...parts
  } = options
  const store = new Store(databaseUrl, () => {}, databaseOptions, readUrls)
  store.servers.isMigrated = true // as after awaitMigrations(): a missing column is a fault of the program
  const records = new RecordSearch(store, SIEVE_WORKER)
  const ownLog =
    logKey &&
    new SignatureLog({
      ...{ servers: store.servers, publicBaseUrl, key: logKey, policy: undefined, clock },
      ...{ sender: new SafeSender(new Set()), logger: Fastify().log, options: { pollMs: 10 } },
    })
  ownLog?.start()
  const log = ownLog ?? parts.log
  const redis = redisUrl === undefined ? undefined : new SharedRedis(redisUrl, Fastify().log, redisTimeoutMs)
  while (redis && (await redis.count('test:ready', 1)) === undefined)
    await new Promise((resolve) => setTimeout(resolve, 5))
  const counter = new RequestCounter(elapsed, redis)
  const connected = {
    chain: quorum === undefined ? LOCAL_CHAIN : { ...LOCAL_CHAIN, quorum: quorum.toLowerCase() },
    rpcUrls: [rpcUrl ?? 'http://127.0.0.1:1'],
    gatewayUrl: undefined,
    headPollMs: 0,
    proxy: proxy?.toLowerCase(),
  }
  const reader = new ChainReader(connected, clock)
  if (rpcUrl !== undefined) await reader.isLocal()
  const keyed: Identity = { signer: await keySigner(key), others: [], seals: [sealOf(key)] }
  const attester = new Attester({ ...keyed, ...identity }, connected, reader, log, elapsed)
  const walletTier =
    wallet &&
    new WalletTier({
      ...{ perHour: 0, perHourByAddress: 0, maxSkewSeconds: 300 },
      ...wallet,
      ...{ publicBaseUrl, counter, clock, nonces: new Nonces(elapsed, redis), maxLagSeconds: 60 },
      smartAccounts: new Map(rpcUrl === undefined || !smartAccounts ? [] : [[LOCAL_CHAIN.id, reader]]),
    })
  const app = await buildServer({
    ...{
      store,
      records,
      columnarFiles,
      clock,
      elapsed,
      publicBaseUrl,
      counter,
      measurer,
      trustProxy: [],
    },
    ...{ rateLimitPerHour: 0, recordsRateLimitPerHour: 0, deploymentName: 'test' },
    pages: Pages.in(path.resolve('dist/web'), {}),
    limits: { indexMaxAgeSeconds: 15, maxLagSeconds: 60, isLocal: () => reader.wasLocal },
    ...{ defaultSubmission: 'direct', deadlineSeconds: 3600, resignMaxAgeSeconds: 3600 },
    chains: rpcUrl === undefined ? [] : [connected],
    attesters: new Map(rpcUrl === undefined ? [] : [[LOCAL_CHAIN.id, { attester, reader }]]),
    resolver: new Resolver({
      ...{ store, measurer, clock },
      ...{ indexMaxAgeSeconds: 15, maxLagSeconds: 60, smartAccounts },
      schemaPolicy: ALL_SCHEMAS,
    }),
    defaultSchemas: {
      number: '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a',
      boolean: '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5',
    },
    ...(walletTier && { walletTier }),
    ...parts,
    ...(log && { log }),
  })
  const close = atEnd(async () => {
    await app.close()
    await ownLog?.stop()
    redis?.close()
    await Promise.all([measurer.close(), records.close(), columnarFiles.close()])
    await store.close()
  })
  return { app, redis, close }
}

export interface TestApi {
  /** URL of the socket */
  readonly url: string
  readonly redis: SharedRedis | undefined
  /** number of its open connections */
  connections: () => Promise<number>
  /** resolves at its next request */
  requested: () => Promise<unknown>
  close: () => Promise<void>
}

export interface TestApiOptions extends TestServerOptions {
  /** a free one by default */
  port?: number
}

/** Starts the API in this process on a real socket. */
export async function startApi({
  port = 0,
  rateLimitPerHour = 0,
  ...options
}: TestApiOptions = {}): Promise<TestApi> {
  const { app, redis, close } = await buildTestServer({
    ...{ rateLimitPerHour, recordsRateLimitPerHour: rateLimitPerHour, chains: [] },
    ...options,
  })
  await app.listen({ host: '127.0.0.1', port })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const connections = promisify(app.server.getConnections.bind(app.server))
  return { url, redis, connections, requested: () => once(app.server, 'request'), close }
}

/** Sends JSON, or this text as JSON. */
export function postJson(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/**
 * Sends these bytes. Resolves to everything received until the peer closes the connection, or until one or
 * more whole responses are followed by `quietMs` of silence.
 */
export function exchange(url: string, bytes: string | Buffer, quietMs = 100): Promise<string> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    const end = () => {
      resolve(received.toString())
      socket.destroy()
    }
    let quiet: NodeJS.Timeout | undefined
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      clearTimeout(quiet)
      if (isWhole(received.toString('latin1'))) quiet = setTimeout(end, quietMs)
    })
    socket.on('error', () => {})
    socket.on('close', end)
  })
}

/**
 * True if these bytes (one per character) are whole responses with Content-Length, the last one not interim.
 */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return false
  const head = text.slice(0, end)
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const rest = text.slice(end + length)
  return rest === '' ? text.length === end + length && !/^HTTP\/1\.1 1/.test(head) : isWhole(rest)
}
