import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startLocalChain, type LocalChain } from '../dev/chain'
import { blankSettings, freePort, startService, type Service } from '../dev/services'
import { stateSchema } from '../src/chains'
import { createMigratedDatabase, removeFolder, rows, temporaryFolder } from './database'
import { startRpcProxy, type Fault, type RpcProxy } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/** A chain, a database and RPC endpoints that misbehave when told to, for indexers alone. */
export interface FaultyWorld {
  readonly chain: LocalChain
  readonly chains: ReadonlyMap<string, LocalChain>
  readonly databaseUrl: string
  readonly proxy: RpcProxy
  /** What the indexer runs with. */
  readonly environment: NodeJS.ProcessEnv
  /** Resolves once the block that is the chain's head is in the database, by its hash. */
  caughtUp: () => Promise<void>
  stop(): Promise<void>
}

/** An indexer that is started again whenever it ends, as whoever runs it does. */
export interface KeptIndexer {
  /** Every exit code so far, 'signal' where it was killed. */
  readonly exits: readonly (number | 'signal')[]
  /** Resolves with its log when it refuses to run (code 2) and is not started again. */
  readonly refused: Promise<string>
  readonly log: () => string
  /** Ends it at once, wherever it is; it is started again. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** How long the indexer waits for an answer. */
export const TIMEOUT_MS = 500
const SLUG = LOCAL_CHAIN.slug
/** Soon, as tests are many; the same each time, as nothing waits for it. */
const RESTART_MS = 50

export async function startFaultyWorld(): Promise<FaultyWorld> {
  const [chain, database] = await Promise.all([
    freePort().then((port) => startLocalChain({ port })),
    createMigratedDatabase(),
  ])
  const proxy = await startRpcProxy(chain.url)
  return {
    chain,
    chains: new Map([[SLUG, chain]]),
    databaseUrl: database.url,
    proxy,
    environment: {
      ...process.env,
      ...blankSettings(),
      DATABASE_URL: database.url,
      RPC_URL_BASE_SEPOLIA: proxy.url,
      HEAD_POLL_SECONDS: '0.05',
      RPC_TIMEOUT_SECONDS: String(TIMEOUT_MS / 1000),
      // Told when to, by the tests: else what it repairs would depend on time.
      AUDIT_CALLS_PER_SECOND: '0',
    },
    caughtUp: () => caughtUp(chain, database.url),
    stop: async () => {
      await proxy.close()
      await chain.stop()
      await database.drop()
    },
  }
}

async function caughtUp(chain: LocalChain, databaseUrl: string): Promise<void> {
  const state = stateSchema(chain.chain)
  for (;;) {
    const head = (await chain.provider.getBlock('latest'))!
    const [top] = await rows<{ height: number; hash: string }>(
      databaseUrl,
      `SELECT height, hash FROM ${state}.hot_block UNION SELECT height, hash FROM ${state}.status ORDER BY height DESC LIMIT 1`,
    ).catch(() => [])
    if (top?.hash === head.hash) return
    // Another head of a height that was read already is noticed with the next block only.
    if (top && top.height >= head.number) await mine(chain, top.height - head.number + 1)
    await pause(30)
  }
}

/** `npm run audit` of everything that is final, asking the world's endpoint or another; answers its exit code and what it said. */
export function audit(
  { environment }: FaultyWorld,
  rpcUrl = environment.RPC_URL_BASE_SEPOLIA,
): Promise<{ code: number; output: string }> {
  return command(
    { ...environment, RPC_URL_BASE_SEPOLIA: rpcUrl, RPC_TIMEOUT_SECONDS: '30' },
    'audit',
    '--chain',
    SLUG,
  )
}

/** `npm run replay` or `npm run audit` with these settings; answers its exit code and what it said. */
export async function command(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['lib/commands.js', ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

/** Keeps an indexer running behind these faults of the world's endpoint. */
export function startIndexerBehind(
  { proxy, environment }: FaultyWorld,
  faults: readonly Fault[] = [],
  settings: NodeJS.ProcessEnv = {},
): KeptIndexer {
  const folder = temporaryFolder()
  const exits: (number | 'signal')[] = []
  const log = () => readFileSync(path.join(folder, 'indexer.log'), 'utf8')
  let service: Service
  let stopping = false
  proxy.misbehave(...faults)
  const start = () =>
    (service = startService('indexer', ['lib/main.js', SLUG], { ...environment, ...settings }, folder))
  const refused = new Promise<string>((resolve) => {
    const run = async () => {
      const code = await start().ended
      exits.push(code)
      if (code === 2) return resolve(log())
      await pause(RESTART_MS)
      if (!stopping) await run()
    }
    void run()
  })
  return {
    exits,
    refused,
    log,
    kill: () => service.kill(),
    stop: async () => {
      stopping = true
      await service.stop()
      removeFolder(folder)
    },
  }
}
