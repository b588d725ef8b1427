import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Wallet } from 'ethers'
import { Client } from 'pg'
import { ACTIVE_SLUGS, CHAINS, settingSuffix, type Chain } from '../src/chains'
import { readSettings, type Settings } from '../src/config'
import { primaryUrl } from '../src/postgres'
import {
  LOCAL_CHAIN,
  LOCAL_SIGNER_KEY,
  attestPlaces,
  localVersion,
  mineOn,
  missingNodeBinary,
  startLocalChain,
  type LocalChain,
} from './chain'
import { lockFolder } from './lock'
import { PlainError, requireFreePort, startService, type Service } from './services'

/** All running parts: those started here and those that the settings name. */
export interface World {
  readonly settings: Settings
  /** local chains by slug; empty if the settings name real ones */
  readonly chains: ReadonlyMap<string, LocalChain>
  /** Base Sepolia, otherwise the first local chain */
  readonly chain: LocalChain | undefined
  /** running services by name: database, indexers, api */
  readonly services: ReadonlyMap<string, Service>
  /** resolves with a reason when a required part has ended permanently */
  readonly broken: Promise<string>
  /** stops the parts that were started here, in reverse order */
  stop(): Promise<void>
}

export interface WorldOptions {
  environment: NodeJS.ProcessEnv
  /** folder that stores the local database and chains between runs */
  folder: string
  /** false if the local chains start without the sample places */
  samples: boolean
  /** false if database and chains are in memory */
  keep: boolean
  /** state that a local chain starts with; a fresh one without it */
  loadedFrom?: (chain: Chain) => string | undefined
  /** Unix seconds at which the clocks of local chains start */
  startsAt?: number
  /** aborts the start: the parts started by then are stopped, and startWorld throws */
  signal?: AbortSignal
  report: (line: string) => void
  /** called with each step when it begins; reports its name by default */
  step?: <Result>(what: string, work: Promise<Result>) => Promise<Result>
  /** called often during long steps */
  progress: (what: string, done: number, total: number) => void
}

/** First pause before a program is restarted. It doubles with each end before the program ran steadily. */
const RESTART_MS = 250
const LONGEST_RESTART_MS = 30_000
const STEADY_MS = 10_000
const LOOK_MS = 100
/** Local chains if neither CHAINS nor any RPC_URL_* names one. */
const DEFAULT_LOCAL_CHAINS = ACTIVE_SLUGS.join(',')
/** The first local chain gets all sample places, the others every tenth. */
const NTH_PLACE_ELSEWHERE = 10

/**
 * Starts the service: the database, the chains, migrations, the indexers, the API. Parts that the environment
 * names (DATABASE_URL, RPC_URL_*, signer) are used; the others are started locally. Without any RPC_URL_*
 * these are the chains of CHAINS, the first at LOCAL_CHAIN_PORT and each other one at the next port. Throws a
 * PlainError that names the remedy, after stopping the parts started by then.
 */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { report, folder } = options
  const step =
    options.step ??
    (<Result>(what: string, work: Promise<Result>) => {
      report(`${what} ...`)
      return work
    })
  const stops: (() => Promise<void>)[] = []
  const services = new Map<string, Service>()
  const logs = path.join(folder, 'logs')
  let stopping = false
  let unlock = async () => {}
  const stop = async () => {
    stopping = true
    for (const each of stops.splice(0).reverse()) await each()
    await unlock()
  }
  let setBroken: (reason: string) => void
  const broken = new Promise<string>((resolve) => (setBroken = resolve))
  const start = (name: string, args: string[], environment: NodeJS.ProcessEnv) => {
    if (stopping) throw new PlainError('Stopped while starting.')
    const service = startService(name, args, environment, logs)
    services.set(name, service)
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
    const environment: NodeJS.ProcessEnv = { ...options.environment }
    const local = !CHAINS.some((chain) => environment[rpcUrl(chain)])
    // Settings with CHAINS need URLs, which are known only when the chains run: these are placeholders.
    const placeholders = Object.fromEntries(CHAINS.map((chain) => [rpcUrl(chain), 'http://127.0.0.1']))
    const given = readSettings(
      local
        ? { ...environment, ...placeholders, CHAINS: environment.CHAINS || DEFAULT_LOCAL_CHAINS }
        : environment,
      ['chains'],
    )
    const localRows = local ? [...new Set(given.chains.map(({ chain }) => chain))] : []
    const localDatabase = given.databaseUrl === ''
    if (local) {
      const missing = missingNodeBinary()
      if (missing) throw new PlainError(missing)
    } else if (!given.signer)
      throw new PlainError(
        'RPC_URL_* names a real chain, so a real signer is needed: set SIGNER_KEY_FILE or another one (see .env.example).',
      )
    // Local chains have their own proxies.
    const signer = given.attesterAddress ?? addressOf(given.signer)
    // Checked before the ports, because other ports would not help.
    if (options.keep && (local || localDatabase))
      unlock = await lockFolder(folder, {
        PORT: given.port,
        ...(local && { LOCAL_CHAIN_PORT: given.localChainPort }),
        ...(localDatabase && { LOCAL_DB_PORT: given.localDbPort }),
      })
    if (localDatabase) await requireFreePort(given.localDbPort, 'LOCAL_DB_PORT', 'embedded database')
    for (const [i, { slug }] of localRows.entries())
      await requireFreePort(given.localChainPort + i, 'LOCAL_CHAIN_PORT', `local chain of ${slug}`)
    await requireFreePort(given.port, 'PORT', 'API')

    // It has one session, which several processes would only wait for.
    if (localDatabase) environment.API_PROCESSES ||= '1'
    const databaseReady = localDatabase
      ? step('Embedded database: Postgres with PostGIS', localDatabaseUp())
      : Promise.resolve()
    databaseReady.catch(() => {}) // awaited later; the chains start in the meantime
    async function localDatabaseUp(): Promise<void> {
      environment.DATABASE_URL = `postgres://postgres@127.0.0.1:${given.localDbPort}/postgres`
      const memoryOrFolder = options.keep ? [path.join(folder, 'database')] : []
      const database = start(
        'database',
        ['dist/dev/database.js', '--small', String(given.localDbPort), ...memoryOrFolder],
        environment,
      )
      stops.unshift(() => database.stop())
      await database.ready
      void database.ended.then(
        (code) =>
          stopping ||
          setBroken(`The embedded database ended (${code}). What it held is on the chain: start again.`),
      )
    }

    if (local) {
      environment.CHAINS = localRows.map(({ slug }) => slug).join(',')
      setLocalDefaults(environment, given)
    }
    // Loading programs takes longest of a start, so it runs concurrently with the database's own start.
    const held = (name: string, modules: string, program: string, ...args: string[]) =>
      start(name, ['dist/dev/held.js', modules, program, ...args], environment)
    const migration = held('migrate', 'lib/chains-file.js,lib/postgres.js', 'lib/migrate.js')
    stops.push(() => migration.stop())
    const heldApi = () => held('api', 'dist/src/chains-file.js,dist/api/copy.js', 'dist/api/main.js')
    const api = heldApi()
    // The embedded database has one session anyway, and four processes take longer to load.
    const slugs = given.chains.map(({ chain }) => chain.slug)
    const groups = localDatabase ? [slugs] : slugs.map((slug) => [slug])
    const heldIndexer = (group: readonly string[]) => {
      const name = group.length === 1 ? `indexer-${group[0]}` : 'indexers'
      return held(name, 'lib/chains-file.js,lib/indexer/run.js', 'lib/indexer/main.js', ...group)
    }
    const indexers = groups.map((group: readonly string[]) => ({ group, indexer: heldIndexer(group) }))
    const current = ({ name }: Service) => services.get(name)!
    stops.push(async () => void (await Promise.all(indexers.map(({ indexer }) => current(indexer).stop()))))
    stops.push(() => current(api).stop())
    const upAndSampled = localRows.map((row, i) => {
      const version = `Local chain of ${row.slug}, with EAS ${localVersion(row)}`
      return step(version, localChainUp(row, given.localChainPort + i))
    })
    const started = await Promise.all(upAndSampled)
    const chains: ReadonlyMap<string, LocalChain> = new Map(started.map((each) => [each.chain.slug, each]))
    const chain = chains.get(LOCAL_CHAIN.slug) ?? started[0]
    const sampled = Promise.all(started.map(sample))
    sampled.catch(() => {}) // awaited later; the embedded database starts in the meantime
    async function sample(each: LocalChain): Promise<void> {
      const { slug } = each.chain
      if (options.samples && each.fresh)
        await step(`Sample places of ${slug}`, attestSamples(each, each === chain, options.progress))
      if (!options.keep) return
      writeFileSync(completeFile(slug), '')
      // Only now, because the times of sample places are set block by block.
      mineOn(each)
    }

    async function localChainUp(row: Chain, port: number): Promise<LocalChain> {
      const stateFile = path.join(folder, `chain-${row.slug}.json`)
      // The start was stopped while places were attested: the chain is incomplete.
      if (!existsSync(completeFile(row.slug))) rmSync(stateFile, { force: true })
      const loadedFrom = options.loadedFrom?.(row)
      const up = await startLocalChain({
        ...{ chain: row, port, signer },
        ...(options.keep && { stateFile }),
        ...(loadedFrom !== undefined && { loadedFrom }),
        ...(options.startsAt !== undefined && { startsAt: options.startsAt }),
      })
      if (stopping) {
        await up.stop()
        throw new PlainError('Stopped while starting.')
      }
      stops.unshift(() => up.stop())
      void up.ended.then(
        (reason) =>
          stopping || setBroken(`${reason}. Start again; what was attested in the last minute may be lost.`),
      )
      setLocalChain(environment, up)
      return up
    }
    function completeFile(slug: string): string {
      return path.join(folder, `chain-${slug}-complete`)
    }
    await databaseReady
    // A user's own database must not get a chain that is removed when this start is stopped.
    if (!localDatabase) await sampled

    const settings = readSettings(environment, ['database', 'chains', 'signer'])
    migration.release(environment)
    if ((await step('Migrations', migration.ended)) !== 0)
      throw new PlainError(`The database could not be migrated:\n${migration.tail()}`)
    services.delete('migrate')
    for (const each of started) await checkSameChain(settings, each, localDatabase, report)

    const before = await looks(settings.databaseUrl)
    for (const { group, indexer } of indexers) {
      indexer.release(environment)
      keepRunning(`indexer of ${group.join(', ')}`, indexer, () => heldIndexer(group))
    }
    api.release(environment)
    await step('API', api.ready)
    keepRunning('API', api, heldApi)
    function keepRunning(what: string, service: Service, hold: () => Service, rest = RESTART_MS): void {
      const since = performance.now()
      void service.ended.then((end) => {
        if (stopping) return
        if (end === 2) return setBroken(`The ${what} refuses to run:\n${service.tail()}`)
        // It lost its database or its node, or was killed. It resumes where it stopped.
        const next =
          performance.now() - since > STEADY_MS ? RESTART_MS : Math.min(2 * rest, LONGEST_RESTART_MS)
        const how = typeof end === 'number' ? `ended with code ${end}` : `was ended by ${end}`
        const log = `${path.join(logs, service.name)}.log`
        // Status 0 means that it was requested to end, as by `npm run dev` after a build.
        if (end === 0) report(`The ${what} is restarted ...`)
        else report(`The ${what} ${how}. It is started again. Its log, ${log}, ends with:\n${service.tail()}`)
        setTimeout(() => {
          if (stopping) return
          const again = hold()
          again.release(environment)
          keepRunning(what, again, hold, next)
        }, next)
      })
    }
    await sampled

    const refused = broken.then((reason) => {
      throw new PlainError(reason)
    })
    const looked = Promise.all(started.map((each) => waitForIndexer(each)))
    looked.catch(() => {}) // if an indexer refuses, the database is stopped
    await step('Indexers', Promise.race([looked, refused]))
    async function waitForIndexer(each: LocalChain): Promise<void> {
      await waitForHead(settings, each, options.progress)
      await waitForLook(settings, each, before, () => stopping)
    }
    return { settings, chains, chain, services, broken, stop }
  }
}

function rpcUrl(chain: Chain): string {
  return `RPC_URL_${settingSuffix(chain)}`
}

/** Sets the settings of a service on local chains, unless the environment has others. */
export function setLocalDefaults(environment: NodeJS.ProcessEnv, { signer }: Pick<Settings, 'signer'>): void {
  environment.DEPLOYMENT_NAME ||= 'local'
  // The local service has one user, who is not limited.
  environment.RATE_LIMIT_PER_HOUR ||= '0'
  environment.RECORDS_RATE_LIMIT_PER_HOUR ||= '0'
  environment.LOCAL_NODES ||= 'true'
  if (!signer) environment.SIGNER_PRIVATE_KEY = LOCAL_SIGNER_KEY
}

/** Sets the settings that name a local chain. */
export function setLocalChain(environment: NodeJS.ProcessEnv, { chain, url, proxy }: LocalChain): void {
  environment[rpcUrl(chain)] ||= url
  environment[`PROXY_${settingSuffix(chain)}`] ||= proxy
}

/** Attests all sample places on a chain, or every tenth if the chain is not the `main` one. */
export function attestSamples(
  chain: LocalChain,
  main: boolean,
  progress: WorldOptions['progress'] = () => {},
): Promise<void> {
  return attestPlaces(chain, main ? 1 : NTH_PLACE_ELSEWHERE, (done, total) =>
    progress(`places attested on ${chain.chain.slug}`, done, total),
  )
}

/** Address of a key in a file. Throws a PlainError for a key elsewhere. */
export function addressOf(signer: Settings['signer']): string {
  if (signer && signer.kind !== 'key')
    throw new PlainError(
      'ATTESTER_ADDRESS: missing; the signer that is set does not tell it before the API runs.',
    )
  return new Wallet(signer?.readKey() ?? LOCAL_SIGNER_KEY).address
}

/** Last block that a chain's indexer has written; -1 before the first one. */
async function indexedHeight(databaseUrl: string, chain: Chain): Promise<number> {
  const rows = await queryOnce<{ height: number | null }>(
    databaseUrl,
    `SELECT greatest(final_height, indexed_height) AS height FROM chain_status WHERE chain = '${chain.slug}'`,
  ).catch(() => [])
  return rows[0]?.height ?? -1
}

/**
 * Resolves when the chain's indexer has read its head since `before`: until then the API treats the index of
 * an earlier run as outdated.
 */
export async function waitForLook(
  { databaseUrl }: Settings,
  { chain }: LocalChain,
  before: ReadonlyMap<string, string>,
  isStopped = () => false,
): Promise<void> {
  while (!isStopped() && (await looks(databaseUrl)).get(chain.slug) === before.get(chain.slug))
    await pause(LOOK_MS)
}

/** Time at which the indexer of each chain last read its head, by slug. */
export async function looks(databaseUrl: string): Promise<Map<string, string>> {
  const rows = await queryOnce<{ chain: string; at: string }>(
    databaseUrl,
    'SELECT chain, checked_at::text AS at FROM chain_status WHERE checked_at IS NOT NULL',
  )
  return new Map(rows.map(({ chain, at }) => [chain, at]))
}

/** Resolves when the chain's indexer has written the block that is the head at the time of the call. */
export async function waitForHead(
  settings: Settings,
  chain: LocalChain,
  progress: WorldOptions['progress'] = () => {},
): Promise<void> {
  const head = await chain.provider.getBlockNumber()
  const { slug, firstBlock: from } = chain.chain
  for (;;) {
    const height = await indexedHeight(settings.databaseUrl, chain.chain)
    progress(`blocks of ${slug} indexed`, Math.max(0, Math.min(height, head) - from), head - from)
    if (height >= head) return
    await pause(LOOK_MS)
  }
}

/**
 * Empties the database if it contains another local chain of this name and is local itself. Throws if it is
 * not local.
 */
async function checkSameChain(
  settings: Settings,
  { chain, provider }: LocalChain,
  ours: boolean,
  report: (line: string) => void,
): Promise<void> {
  const [status] = await queryOnce<{ height: number; hash: string }>(
    settings.databaseUrl,
    `SELECT final_height AS height, final_hash AS hash FROM chain_status
     WHERE chain = '${chain.slug}' AND final_height >= 0`,
  ).catch(() => [])
  if (!status) return
  const block = await provider.getBlock(status.height)
  if (block?.hash === status.hash) return
  if (!ours)
    throw new PlainError(
      `The database that DATABASE_URL names has indexed another ${chain.slug} than the local chain that runs now. Give it an empty database, or set RPC_URL_${settingSuffix(chain)}.`,
    )
  report(`The local chain of ${chain.slug} is not the one that the database knows: indexing it anew ...`)
  const ofChain = ['attestation_event', 'location_record', 'hot_block', 'chain_status'].map(
    (table) => `DELETE FROM ${table} WHERE chain = '${chain.slug}'`,
  )
  await queryOnce(settings.databaseUrl, ofChain.join('; '))
}

async function queryOnce<Row extends object>(databaseUrl: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: await primaryUrl(databaseUrl) })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
