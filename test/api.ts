import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import path from 'node:path'
import { Attester } from '../api/attester'
import { ChainReader } from '../api/chain-reader'
import { RequestCounter } from '../api/limits'
import { Measurer } from '../api/measure'
import { SharedRedis } from '../api/redis'
import { Resolver } from '../api/resolve'
import { buildServer, type ServerParts } from '../api/server'
import { Records } from '../api/search'
import { Store } from '../api/store'
import { Nonces, WalletTier, type WalletOptions } from '../api/wallet'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY } from '../dev/chain'
import { keySigner } from '../src/eas'
import Fastify from 'fastify'

/** The compiled worker: `npm test` builds before it runs. */
export const MEASURE_WORKER = path.resolve('dist/api/measure-worker.js')
export const SIEVE_WORKER = path.resolve('dist/api/sieve-worker.js')

export interface TestApi {
  /** Where it listens. */
  readonly url: string
  readonly redis: SharedRedis | undefined
  close(): Promise<void>
}

export interface TestApiOptions extends Partial<
  Pick<ServerParts, 'publicBaseUrl' | 'trustProxy' | 'rateLimitPerHour' | 'timeouts' | 'live'>
> {
  /** Default: one that is out of reach. */
  databaseUrl?: string
  /** Of the local chain; without one there is no chain to sign for. */
  rpcUrl?: string
  redisUrl?: string
  /** Default: a free one. */
  port?: number
  wallet?: Partial<Pick<WalletOptions, 'perHour' | 'perHourByAddress' | 'maxSkewSeconds'>>
  clock?: () => number
}

/** The API in this process, listening on a real socket. */
export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const {
    rpcUrl,
    databaseUrl = 'postgres://nobody@127.0.0.1:1/none',
    redisUrl,
    wallet,
    clock = () => Date.now(),
    publicBaseUrl = 'https://x.example',
    trustProxy = [],
    rateLimitPerHour = 0,
    timeouts,
    live,
    port = 0,
  } = options
  const store = new Store(databaseUrl, () => {})
  const records = new Records(store, SIEVE_WORKER)
  const redis = redisUrl === undefined ? undefined : new SharedRedis(redisUrl, Fastify().log)
  while (redis && (await redis.count('test:ready', 1)) === undefined)
    await new Promise((resolve) => setTimeout(resolve, 5))
  const counter = new RequestCounter(clock, redis)
  const connected = { chain: LOCAL_CHAIN, rpcUrls: [rpcUrl ?? ''], gatewayUrl: undefined, headPollMs: 0 }
  const reader = new ChainReader(connected, clock)
  const attester = new Attester(await keySigner(LOCAL_SIGNER_KEY), connected, reader, clock)
  const measurer = new Measurer(20_000, MEASURE_WORKER)
  const app = await buildServer({
    ...{
      store,
      records,
      clock,
      publicBaseUrl,
      trustProxy,
      rateLimitPerHour,
      counter,
      measurer,
      schemaCheck: true,
      recordsRateLimitPerHour: rateLimitPerHour,
    },
    chains: [],
    ...{ maxLagSeconds: 60, deadlineSeconds: 3600, resignMaxAgeSeconds: 3600, deploymentName: 'test' },
    attesters: new Map(rpcUrl === undefined ? [] : [[LOCAL_CHAIN.id, { attester, reader }]]),
    resolver: new Resolver({
      store,
      measurer,
      clock,
      indexMaxAgeSeconds: 15,
      maxLagSeconds: 60,
      minConfirmations: 0,
    }),
    defaultSchemas: {
      number: '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a',
      boolean: '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5',
    },
    ...(timeouts && { timeouts }),
    ...(live && { live }),
    ...(wallet && {
      walletTier: new WalletTier({
        perHour: 0,
        perHourByAddress: 0,
        maxSkewSeconds: 300,
        ...wallet,
        publicBaseUrl,
        counter,
        clock,
        nonces: new Nonces(clock, redis),
      }),
    }),
  })
  await app.listen({ host: '127.0.0.1', port })
  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    redis,
    close: async () => {
      await app.close()
      redis?.close()
      await Promise.all([measurer.close(), records.close()])
      await store.close()
    },
  }
}

/** Sends these bytes and answers all that comes back, once the other side closes, or has been quiet for `quietMs`. */
export function exchange(url: string, bytes: string | Buffer, quietMs = 100): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    const end = () => {
      resolve(text)
      socket.destroy()
    }
    let quiet: NodeJS.Timeout | undefined
    socket.on('data', (chunk) => {
      text += chunk.toString()
      clearTimeout(quiet)
      quiet = setTimeout(end, quietMs)
    })
    socket.on('error', () => {})
    socket.on('close', end)
  })
}
