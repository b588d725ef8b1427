import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { format } from 'node:util'
import { createLogger } from '@subsquid/logger'
import { ZeroHash } from 'ethers'
import { Pool } from 'pg'
import { request, testAccount, type LocalChain } from '../dev/chain'
import { startTestChain } from './chains'
import { freePort, startService, type Service } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { MONOTONIC, type Clock } from '../src/clock'
import { encodeBooleanResult, encodeNumericResult } from '../src/eas'
import type { Query } from '../src/indexer/store'
import { createMigratedDatabase, lastingFolder, rows, temporaryFolder } from './database'
import { startRpcProxy, type Fault, type RpcProxy } from './rpc-proxy'
import { LOCAL_CHAIN, built, forgetBuilt, mine } from './world'

/** A chain, a database and an RPC endpoint with faults on demand, for indexers without an API. */
export interface FaultyWorld {
  readonly chain: LocalChain
  readonly chains: ReadonlyMap<string, LocalChain>
  readonly databaseUrl: string
  /** queries the database on a connection that stays open, for tests that poll */
  readonly query: Query
  readonly proxy: RpcProxy
  /** environment of the indexer */
  readonly environment: NodeJS.ProcessEnv
  /** resolves when the chain's head block, compared by hash, is in the database */
  caughtUp: () => Promise<void>
  stop(): Promise<void>
}

/** Indexer that is restarted whenever it exits, as by a supervisor. */
export interface KeptIndexer {
  /** Exit codes so far; for a killed process, the signal. */
  readonly exits: readonly (number | NodeJS.Signals)[]
  /** Resolves to the log of an indexer that could not start (exit code 2), which is not restarted. */
  readonly refused: Promise<string>
  readonly log: () => string
  stop(): Promise<void>
}

/** Test account that attests the answers of a faulty world. */
export const ANSWERER = 5
/** Content of an answer's attestation: a distance, or a boolean. */
export function answerRequest(result: bigint | boolean, schema = RESULT_SCHEMA) {
  const context = { inputRefs: [ZeroHash], timestamp: 1_767_225_600 }
  return request(
    schema,
    typeof result === 'bigint'
      ? encodeNumericResult(result, 'centimeters', { ...context, operation: 'distance' })
      : encodeBooleanResult(result, { ...context, operation: 'within:50000' }),
  )
}
/** Schema of numeric results. EAS does not check that a payload matches its schema. */
export const RESULT_SCHEMA = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'

/** Milliseconds that an indexer with HASTY waits for an RPC response, for tests with late responses. */
export const TIMEOUT_MS = 500
/** Clock of the indexers in this process, ten times as fast, because tests wait for polls and pauses. */
const FAST: Clock = {
  now: () => 10 * MONOTONIC.now(),
  pause: (milliseconds, signal) => MONOTONIC.pause(milliseconds / 10, signal),
}
const SLUG = LOCAL_CHAIN.slug
export const HASTY: NodeJS.ProcessEnv = { CHAINS_FILE: path.join(lastingFolder(), 'hasty.json') }
writeFileSync(HASTY.CHAINS_FILE!, JSON.stringify([{ slug: SLUG, rpcTimeoutMs: TIMEOUT_MS }]))
/** The pause is short because tests restart often, and constant because no back-off is needed. */
const RESTART_MS = 50

export async function startFaultyWorld(): Promise<FaultyWorld> {
  const [chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  const proxy = await startRpcProxy(chain.url)
  const pool = new Pool({ connectionString: database.url, max: 1 })
  // A test may cut all connections.
  pool.on('error', () => {})
  const query: Query = async (sql, values) => (await pool.query(sql, values)).rows
  await query('INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[SLUG, testAccount(ANSWERER).address.toLowerCase()],
  ])
  // Another file of this worker may have left its schemas and attesters in the modules.
  loaded = undefined
  return {
    chain,
    chains: new Map([[SLUG, chain]]),
    databaseUrl: database.url,
    query,
    proxy,
    environment: {
      ...process.env,
      ...blankSettings(),
      DATABASE_URL: database.url,
      RPC_URL_BASE_SEPOLIA: proxy.url,
      // The continuous audit is off. The tests run the audit command, so that repairs do not depend on
      // timing.
      AUDIT_CALLS_PER_SECOND: '0',
    },
    caughtUp: () => caughtUp(chain, query),
    stop: async () => {
      await proxy.close()
      await chain.stop()
      await pool.end()
      await database.drop()
    },
  }
}

/** The world's chain and endpoint, with another database. */
export function onDatabase(world: FaultyWorld, databaseUrl: string): FaultyWorld {
  const query: Query = (sql, values) => rows(databaseUrl, sql, values)
  return {
    ...world,
    databaseUrl,
    query,
    environment: { ...world.environment, DATABASE_URL: databaseUrl },
    caughtUp: () => caughtUp(world.chain, query),
  }
}

async function caughtUp(chain: LocalChain, query: Query): Promise<void> {
  for (;;) {
    const head = (await chain.provider.getBlock('latest'))!
    const [top] = await query<{ height: number; hash: string }>(
      `SELECT height, hash FROM hot_block WHERE chain = $1
       UNION SELECT final_height, final_hash FROM chain_status WHERE chain = $1 AND final_height IS NOT NULL
       ORDER BY height DESC LIMIT 1`,
      [chain.chain.slug],
    ).catch(() => [])
    if (top?.hash === head.hash) return
    // If the new head has a height that was already read, the indexer notices it only with the next block.
    if (top && top.height >= head.number) await mine(chain, top.height - head.number + 1)
    await pause(20)
  }
}

/** Runs `npm run audit` on all final blocks, through the world's endpoint or another endpoint. */
export function audit(
  { environment }: FaultyWorld,
  rpcUrl = environment.RPC_URL_BASE_SEPOLIA,
): Promise<{ code: number; output: string }> {
  return command({ ...environment, RPC_URL_BASE_SEPOLIA: rpcUrl }, 'audit', '--chain', SLUG)
}

/**
 * Runs `npm run replay`, `audit`, `snapshot` or `restore` in this process, with modules of its own, because
 * they remember schemas and attesters. Returns its exit code and output.
 */
export async function command(
  environment: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  forgetBuilt()
  const { readSettings } = built<typeof import('../src/config')>('lib/config.js')
  const { runCommand } = built<typeof import('../src/indexer/run-command')>('lib/indexer/run-command.js')
  let output = ''
  const code = await runCommand(args, (...requirements) => readSettings(environment, requirements), {
    line: (text) => (output += `${text}\n`),
    progress: () => {},
    problem: (error) => (output += `${format(error)}\n`),
  })
  return { code, output }
}

/**
 * Runs an indexer in this process and restarts it whenever it ends, while the world's endpoint has these
 * faults. Tests that kill the indexer use startIndexerProcess, which runs it like `npm run index`. Both end
 * with the same exit codes.
 */
export function startIndexerBehind(
  world: FaultyWorld,
  faults: readonly Fault[] = [],
  settings: NodeJS.ProcessEnv = {},
): KeptIndexer {
  const environment = { ...world.environment, ...settings }
  return keep(world, faults, (folder) => {
    const modules = builtFor(environment.LOCATION_SCHEMAS ?? '')
    const read = modules.config.readSettings(environment, ['database', 'chains'])
    modules.log.unifySubsquidLog(read.logLevel, logIn(folder))
    const log = createLogger('indexer')
    const [connected] = read.chains
    // A process reads CHAINS_FILE when it starts. The modules of this process were loaded before, so the
    // file's values are set here.
    Object.assign(connected!.chain, { rpcTimeoutMs: environment.CHAINS_FILE ? TIMEOUT_MS : undefined })
    const indexer = modules.run.startIndexer(connected!, read, FAST)
    const failed = indexer.ended.then(
      () => 0,
      async (error: Error) => {
        const refuses = error instanceof modules.config.SettingsError
        if (refuses) log.fatal(error.message)
        else log.fatal(error)
        await indexer.stop().catch(() => {})
        return refuses ? 2 : 1
      },
    )
    return { ended: failed, stop: () => indexer.stop() }
  })
}

/** A supervised indexer in its own process. */
export interface KeptProcess extends KeptIndexer {
  /** Kills the process at once. It is restarted. */
  kill(): Promise<void>
  /** Sends SIGSTOP or SIGCONT to the process. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
}

/** Runs an indexer process and restarts it whenever it ends, while the world's endpoint has these faults. */
export function startIndexerProcess(
  world: FaultyWorld,
  faults: readonly Fault[] = [],
  settings: NodeJS.ProcessEnv = {},
): KeptProcess {
  let service: Service
  const kept = keep(world, faults, (folder) => {
    const env = { ...world.environment, ...settings }
    return (service = startService('indexer', ['lib/indexer/main.js', SLUG], env, folder))
  })
  return {
    ...kept,
    kill: () => service.kill(),
    signal: (name) => process.kill(service.pid, name),
  }
}

interface Started {
  readonly ended: Promise<number | NodeJS.Signals>
  stop(): Promise<void>
}
const logIn = (folder: string) => path.join(folder, 'indexer.log')

/** Restarts an indexer whenever it has ended, unless it could not start. */
function keep(
  { proxy }: FaultyWorld,
  faults: readonly Fault[],
  start: (folder: string) => Started,
): KeptIndexer {
  const folder = temporaryFolder()
  const exits: (number | NodeJS.Signals)[] = []
  const log = () => readFileSync(logIn(folder), 'utf8')
  let started: Started
  let stopping = false
  proxy.misbehave(...faults)
  const refused = new Promise<string>((resolve) => {
    const run = async () => {
      const code = await (started = start(folder)).ended
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
    stop: async () => {
      stopping = true
      await started.stop()
    },
  }
}

/** Loads the built modules again for other location schemas, because the modules remember their schemas. */
function builtFor(schemas: string): BuiltModules {
  if (loaded?.schemas !== schemas) {
    forgetBuilt()
    const modules: BuiltModules = {
      schemas,
      log: built('lib/log.js'),
      config: built('lib/config.js'),
      run: built('lib/indexer/run.js'),
    }
    const { locationSchemas } = modules.config.readSettings({ LOCATION_SCHEMAS: schemas }, [])
    built<typeof import('../src/location')>('lib/location/index.js').addLocationSchemas(locationSchemas)
    loaded = modules
  }
  return loaded
}
interface BuiltModules {
  schemas: string
  log: typeof import('../src/log')
  config: typeof import('../src/config')
  run: typeof import('../src/indexer/run')
}
let loaded: BuiltModules | undefined
