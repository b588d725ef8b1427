import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { settingSuffix, stateSchema, type Chain } from '../src/chains'
import { readSettings, type Settings } from '../src/config'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY, attestPlaces, missingNodeBinary, startLocalChain, type LocalChain } from './chain'
import { PlainError, requireFreePort, startService, type Service } from './services'

/** Everything that runs: what was started here, and what the settings named instead. */
export interface World {
  readonly settings: Settings
  readonly chain: LocalChain | undefined
  /** Running now, by name: database, indexer of each chain, api. */
  readonly services: ReadonlyMap<string, Service>
  /** Resolves with a reason when something that is needed ended for good. */
  readonly broken: Promise<string>
  /** Stops what was started here, and nothing else, in the reverse order. */
  stop(): Promise<void>
}

export interface WorldOptions {
  environment: NodeJS.ProcessEnv
  /** Where the local database and chain are kept between runs. */
  folder: string
  /** False: the local chain starts without the sample places. */
  samples: boolean
  /** False: database and chain live in memory. */
  keep: boolean
  /** Aborted to give up while it is still starting: what was started by then is stopped, and startWorld throws. */
  signal?: AbortSignal
  report: (line: string) => void
  /** Called often while something long is under way. */
  progress: (what: string, done: number, total: number) => void
}

/** An indexer that ended is started again after this long, twice as long each time it ends before it ran steadily. */
const RESTART_MS = 250
const LONGEST_RESTART_MS = 30_000
const STEADY_MS = 10_000

/**
 * Brings up the service: the database, the chain, migrations, one indexer a chain, the API. What the environment names
 * (DATABASE_URL, RPC_URL_*, signer) is used as it is; what it does not name is started locally.
 * Throws a PlainError that says what to do; whatever was started by then is stopped.
 */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { report, folder } = options
  const stops: (() => Promise<void>)[] = []
  const services = new Map<string, Service>()
  const logs = path.join(folder, 'logs')
  let stopping = false
  const stop = async () => {
    stopping = true
    for (const each of stops.splice(0).reverse()) await each()
  }
  let setBroken: (reason: string) => void
  const broken = new Promise<string>((resolve) => (setBroken = resolve))
  const start = async (name: string, args: string[], environment: NodeJS.ProcessEnv, waitForReady: boolean) => {
    if (stopping) throw new PlainError('Stopped while starting.')
    const service = startService(name, args, environment, logs)
    services.set(name, service)
    if (waitForReady) await service.ready
    return service
  }

  const { signal } = options
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new PlainError('Stopped while starting.'))
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp)
  })
  aborted.catch(() => {})
  try {
    return await Promise.race([bringUp(), aborted])
  } catch (error) {
    await stop()
    throw error
  }

  async function bringUp(): Promise<World> {
    mkdirSync(folder, { recursive: true })
    const given = readSettings(options.environment, [])
    const localChain = given.chains.length === 0
    const localDatabase = given.databaseUrl === ''
    if (localChain) {
      const missing = missingNodeBinary()
      if (missing) throw new PlainError(missing)
    } else if (!given.readSignerKey) throw new PlainError('RPC_URL_* names a real chain, so a real signer is needed: set SIGNER_KEY_FILE or SIGNER_PRIVATE_KEY (see .env.example).')
    if (localDatabase) await requireFreePort(given.localDbPort, 'LOCAL_DB_PORT', 'embedded database')
    if (localChain) await requireFreePort(given.localChainPort, 'LOCAL_CHAIN_PORT', 'local chain')
    await requireFreePort(given.port, 'PORT', 'API')

    const environment: NodeJS.ProcessEnv = { ...options.environment }
    const databaseReady = localDatabase ? localDatabaseUp() : Promise.resolve()
    databaseReady.catch(() => {}) // awaited below; the chain starts meanwhile
    async function localDatabaseUp(): Promise<void> {
      report('Starting the embedded database (Postgres with PostGIS) ...')
      environment.DATABASE_URL = `postgres://postgres@127.0.0.1:${given.localDbPort}/postgres`
      const memoryOrFolder = options.keep ? [path.join(folder, 'database')] : []
      const database = await start('database', ['dist/dev/database.js', String(given.localDbPort), ...memoryOrFolder], environment, false)
      stops.unshift(() => database.stop())
      await database.ready
      void database.ended.then((code) => stopping || setBroken(`The embedded database ended (${code}). What it held is on the chain: start again.`))
    }

    let chain: LocalChain | undefined
    if (localChain) {
      report('Starting the local chain (Base Sepolia, real EAS 1.2.0 contracts) ...')
      const stateFile = path.join(folder, 'chain.json')
      const complete = path.join(folder, 'chain-complete')
      // Stopped while the places were attested: half of them is not the sample world.
      if (!existsSync(complete)) rmSync(stateFile, { force: true })
      chain = await startLocalChain({ port: given.localChainPort, ...(options.keep && { stateFile }) })
      stops.unshift(() => chain!.stop())
      void chain.ended.then((reason) => stopping || setBroken(`${reason}. Start again; what was attested since the last start is lost.`))
      environment[`RPC_URL_${settingSuffix(LOCAL_CHAIN)}`] = chain.url
      environment.HEAD_POLL_SECONDS ??= '0.5'
      if (!given.readSignerKey) environment.SIGNER_PRIVATE_KEY = LOCAL_SIGNER_KEY
      if (options.samples && chain.fresh) {
        report('Attesting sample places on it ...')
        await attestPlaces(chain, (done, total) => options.progress('places attested', done, total))
      }
      writeFileSync(complete, '')
    }
    await databaseReady

    const settings = readSettings(environment, ['database', 'chains', 'signer'])
    if (chain) await checkSameChain(settings, chain, localDatabase, report)
    report('Migrating the database ...')
    const migration = await start('migrate', ['lib/migrate.js'], environment, false)
    if ((await migration.ended) !== 0) throw new PlainError(`The database could not be migrated:\n${migration.tail()}`)
    services.delete('migrate')

    for (const { chain: indexed } of settings.chains) {
      report(`Starting the indexer of ${indexed.slug} ...`)
      const name = `indexer-${indexed.slug}`
      let pause = RESTART_MS
      const run = async (): Promise<void> => {
        const started = performance.now()
        const indexer = await start(name, ['lib/main.js', indexed.slug], environment, false)
        void indexer.ended.then((code) => {
          if (stopping) return
          if (code === 2) return setBroken(`The indexer of ${indexed.slug} refuses to run:\n${indexer.tail()}`)
          // It lost its database or its node, or was killed: it goes on where it was.
          pause = performance.now() - started > STEADY_MS ? RESTART_MS : Math.min(2 * pause, LONGEST_RESTART_MS)
          report(`The indexer of ${indexed.slug} ended (${code}; ${path.join(logs, `${name}.log`)}), it is started again ...`)
          setTimeout(() => stopping || void run(), pause)
        })
      }
      await run()
    }
    stops.push(async () => {
      await Promise.all([...services.values()].filter((service) => service.name.startsWith('indexer-')).map((service) => service.stop()))
    })

    report('Starting the API ...')
    const api = await start('api', ['dist/api/main.js'], environment, true)
    stops.push(() => api.stop())
    void api.ended.then((code) => stopping || setBroken(`The API ended (${code}):\n${api.tail()}`))

    if (chain) await waitForHead(settings, chain, options.progress)
    return { settings, chain, services, broken, stop }
  }
}

/** The last block that a chain's indexer has written; -1 before the first. */
export async function indexedHeight(databaseUrl: string, chain: Chain): Promise<number> {
  const schema = stateSchema(chain)
  const rows = await queryOnce<{ height: number }>(
    databaseUrl,
    `SELECT greatest((SELECT max(height) FROM ${schema}.status), (SELECT max(height) FROM ${schema}.hot_block)) AS height`,
  ).catch(() => [])
  return rows[0]?.height ?? -1
}

/** Resolves once the indexer has written the block that is the chain's head now. */
export async function waitForHead(settings: Settings, chain: LocalChain, progress: WorldOptions['progress'] = () => {}): Promise<void> {
  const head = await chain.provider.getBlockNumber()
  const from = LOCAL_CHAIN.firstBlock
  for (;;) {
    const height = await indexedHeight(settings.databaseUrl, LOCAL_CHAIN)
    progress('blocks indexed', Math.max(0, Math.min(height, head) - from), head - from)
    if (height >= head) return
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

/** A database that has read another local chain is emptied when it is our own, and refused when it is not. */
async function checkSameChain(settings: Settings, chain: LocalChain, ours: boolean, report: (line: string) => void): Promise<void> {
  const schema = stateSchema(LOCAL_CHAIN)
  const [status] = await queryOnce<{ height: number; hash: string }>(settings.databaseUrl, `SELECT height, hash FROM ${schema}.status`).catch(() => [])
  if (!status || status.height < 0) return
  const block = await chain.provider.getBlock(status.height)
  if (block?.hash === status.hash) return
  if (!ours)
    throw new PlainError('The database that DATABASE_URL names has indexed another chain than the local one that runs now. Give it an empty database, or set RPC_URL_BASE_SEPOLIA.')
  report('The local chain is not the one that the database knows: indexing it anew ...')
  await queryOnce(settings.databaseUrl, `DROP SCHEMA ${schema} CASCADE; TRUNCATE attestation_event, location_record`)
}

async function queryOnce<Row extends object>(databaseUrl: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
