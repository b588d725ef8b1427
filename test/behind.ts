import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ZeroHash } from 'ethers'
import { request, testAccount, type LocalChain } from '../dev/chain'
import { startTestChain } from './chains'
import { blankSettings, freePort, startService, type Service } from '../dev/services'
import { stateSchema } from '../src/chains'
import { encodeBooleanResult, encodeNumericResult } from '../src/eas'
import { createMigratedDatabase, removeFolder, rows, temporaryFolder } from './database'
import { startRpcProxy, type Fault, type RpcProxy } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/** A chain, a database and an RPC endpoint with faults on demand, for indexers without an API. */
export interface FaultyWorld {
  readonly chain: LocalChain
  readonly chains: ReadonlyMap<string, LocalChain>
  readonly databaseUrl: string
  readonly proxy: RpcProxy
  /** The indexer's environment. */
  readonly environment: NodeJS.ProcessEnv
  /** Resolves once the chain's head block, compared by hash, is in the database. */
  caughtUp: () => Promise<void>
  stop(): Promise<void>
}

/** An indexer that is restarted whenever it ends, as a supervisor does. */
export interface KeptIndexer {
  /** Every exit code so far; the signal for a kill. */
  readonly exits: readonly (number | NodeJS.Signals)[]
  /** Resolves with its log when it refuses to run (code 2); it is not restarted then. */
  readonly refused: Promise<string>
  readonly log: () => string
  /** Kills the process at once; it is restarted. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** The test account that attests the answers of a faulty world. */
export const ANSWERER = 5
/** The content of an answer's attestation: a distance, or a boolean. */
export function answerRequest(result: bigint | boolean, schema = RESULT_SCHEMA) {
  const context = { inputRefs: [ZeroHash], timestamp: 1_767_225_600 }
  return request(
    schema,
    typeof result === 'bigint'
      ? encodeNumericResult(result, 'centimeters', { ...context, operation: 'distance' })
      : encodeBooleanResult(result, { ...context, operation: 'within:50000' }),
  )
}
/** That of numeric results: EAS itself compares no payload with its schema. */
export const RESULT_SCHEMA = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'

/** How long an indexer with HASTY waits for an RPC answer: for tests in which answers are late. */
export const TIMEOUT_MS = 2_000
export const HASTY: NodeJS.ProcessEnv = { RPC_TIMEOUT_SECONDS: String(TIMEOUT_MS / 1000) }
const SLUG = LOCAL_CHAIN.slug
/** Short, because tests restart often; constant, because nothing needs a back-off. */
const RESTART_MS = 50

export async function startFaultyWorld(): Promise<FaultyWorld> {
  const [chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  const proxy = await startRpcProxy(chain.url)
  await rows(database.url, 'INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[SLUG, testAccount(ANSWERER).address.toLowerCase()],
  ])
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
      HEAD_POLL_SECONDS: '0.2',
      // Off: the tests run the audit, so that what it repairs does not depend on timing.
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

/** The same chain and endpoint, with another database. */
export function onDatabase(world: FaultyWorld, databaseUrl: string): FaultyWorld {
  return {
    ...world,
    databaseUrl,
    environment: { ...world.environment, DATABASE_URL: databaseUrl },
    caughtUp: () => caughtUp(world.chain, databaseUrl),
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
    // A new head at a height that was already read is noticed only with the next block.
    if (top && top.height >= head.number) await mine(chain, top.height - head.number + 1)
    await pause(30)
  }
}

/** Runs `npm run audit` on all final blocks, through the world's endpoint or another one. */
export function audit(
  { environment }: FaultyWorld,
  rpcUrl = environment.RPC_URL_BASE_SEPOLIA,
): Promise<{ code: number; output: string }> {
  return command({ ...environment, RPC_URL_BASE_SEPOLIA: rpcUrl }, 'audit', '--chain', SLUG)
}

/** Runs a command of lib/indexer/commands.js with these settings; returns its exit code and output. */
export async function command(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['lib/indexer/commands.js', ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

/** Keeps an indexer running while the world's endpoint has these faults. */
export function startIndexerBehind(
  { proxy, environment }: FaultyWorld,
  faults: readonly Fault[] = [],
  settings: NodeJS.ProcessEnv = {},
): KeptIndexer {
  const folder = temporaryFolder()
  const exits: (number | NodeJS.Signals)[] = []
  const log = () => readFileSync(path.join(folder, 'indexer.log'), 'utf8')
  let service: Service
  let stopping = false
  proxy.misbehave(...faults)
  const start = () =>
    (service = startService(
      'indexer',
      ['lib/indexer/main.js', SLUG],
      { ...environment, ...settings },
      folder,
    ))
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
