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

/** Everything that runs: the parts started here and those that the settings name. */
export interface World {
  readonly settings: Settings
  /** The local chains by slug; empty when the settings name real ones. */
  readonly chains: ReadonlyMap<string, LocalChain>
  /** Base Sepolia, or else the first local chain. */
  readonly chain: LocalChain | undefined
  /** The services that run now, by name: database, indexers, api. */
  readonly services: ReadonlyMap<string, Service>
  /** Resolves with a reason when a part that is needed has ended for good. */
  readonly broken: Promise<string>
  /** Stops the parts that were started here, in reverse order. */
  stop(): Promise<void>
}

export interface WorldOptions {
  environment: NodeJS.ProcessEnv
  /** The folder that keeps the local database and chains between runs. */
  folder: string
  /** False: the local chains start without the sample places. */
  samples: boolean
  /** False: database and chains live in memory. */
  keep: boolean
  /** The state that a local chain begins with; without it, a fresh one. */
  loadedFrom?: (chain: Chain) => string | undefined
  /** Unix seconds at which the clocks of local chains start. */
  startsAt?: number
  /** Aborts the start: what was started by then is stopped, and startWorld throws. */
  signal?: AbortSignal
  report: (line: string) => void
  /** Called with each step as it begins; by default its name is reported. */
  step?: <Result>(what: string, work: Promise<Result>) => Promise<Result>
  /** Called often during long steps. */
  progress: (what: string, done: number, total: number) => void
}

/** The first pause before a program is restarted; it doubles with each end before it ran steadily. */
const RESTART_MS = 250
const LONGEST_RESTART_MS = 30_000
const STEADY_MS = 10_000
const LOOK_MS = 100
/** The local chains when neither CHAINS nor any RPC_URL_* names one. */
const DEFAULT_LOCAL_CHAINS = ACTIVE_SLUGS.join(',')
/** The first local chain gets all sample places, the others every tenth. */
const NTH_PLACE_ELSEWHERE = 10

/**
 * Starts the service: the database, the chains, migrations, the indexers, the API. Parts that the
 * environment names (DATABASE_URL, RPC_URL_*, signer) are used as they are; the others are started locally.
 * Without any RPC_URL_* these are the chains of CHAINS, the first at LOCAL_CHAIN_PORT and each other one port
 * further. Throws a PlainError that says what to do; what was started by then is stopped.
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
    // Settings with CHAINS need URLs, which are known only once the chains run: these are placeholders.
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
    // Local chains have proxies of its own.
    const signer = given.attesterAddress ?? addressOf(given.signer)
    // Checked before the ports, as other ports would not help.
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

    // It has one session, which several processes only wait for.
    if (localDatabase) environment.API_PROCESSES ||= '1'
    const databaseReady = localDatabase
      ? step('Embedded database: Postgres with PostGIS', localDatabaseUp())
      : Promise.resolve()
    databaseReady.catch(() => {}) // awaited below; the chains start meanwhile
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
    // Loading programs takes longest of a start: that goes on beside the database's own start.
    const held = (name: string, modules: string, program: string, ...args: string[]) =>
      start(name, ['dist/dev/held.js', modules, program, ...args], environment)
    const migration = held('migrate', 'lib/chains-file.js,lib/postgres.js', 'lib/migrate.js')
    stops.push(() => migration.stop())
    const heldApi = () => held('api', 'dist/src/chains-file.js,dist/api/copy.js', 'dist/api/main.js')
    const api = heldApi()
    // The embedded database has one session anyway, and four processes take longer to load.
    const slugs = given.chains.map((each) => each.chain.slug)
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
    sampled.catch(() => {}) // awaited below; the embedded database starts meanwhile
    async function sample(each: LocalChain): Promise<void> {
      const { slug } = each.chain
      if (options.samples && each.fresh)
        await step(`Sample places of ${slug}`, attestSamples(each, each === chain, options.progress))
      if (!options.keep) return
      writeFileSync(completeFile(slug), '')
      // Not before: the times of sample places are set block by block.
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
    // A database of the user's must not learn of a chain that is thrown away when this start is stopped.
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
        // It lost its database or its node, or was killed. It continues where it was.
        const next =
          performance.now() - since > STEADY_MS ? RESTART_MS : Math.min(2 * rest, LONGEST_RESTART_MS)
        const how = typeof end === 'number' ? `ended with code ${end}` : `was ended by ${end}`
        const log = `${path.join(logs, service.name)}.log`
        // With code 0 it was asked to end, as `npm run dev` does after a build.
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
    looked.catch(() => {}) // where an indexer refuses, the database is stopped
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

/** Settings of a service on local chains, where the environment has no others. */
export function setLocalDefaults(environment: NodeJS.ProcessEnv, { signer }: Pick<Settings, 'signer'>): void {
  environment.DEPLOYMENT_NAME ||= 'local'
  // The local service has one user, who is not limited.
  environment.RATE_LIMIT_PER_HOUR ||= '0'
  environment.RECORDS_RATE_LIMIT_PER_HOUR ||= '0'
  environment.LOCAL_NODES ||= 'true'
  if (!signer) environment.SIGNER_PRIVATE_KEY = LOCAL_SIGNER_KEY
}

/** The settings that name a local chain. */
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

/** The address of a key in a file; a PlainError for a key elsewhere. */
export function addressOf(signer: Settings['signer']): string {
  if (signer && signer.kind !== 'key')
    throw new PlainError(
      'ATTESTER_ADDRESS: missing; the signer that is set does not tell it before the API runs.',
    )
  return new Wallet(signer?.readKey() ?? LOCAL_SIGNER_KEY).address
}

/** The last block that a chain's indexer has written; -1 before the first one. */
async function indexedHeight(databaseUrl: string, chain: Chain): Promise<number> {
  const rows = await queryOnce<{ height: number | null }>(
    databaseUrl,
    `SELECT greatest(final_height, indexed_height) AS height FROM chain_status WHERE chain = '${chain.slug}'`,
  ).catch(() => [])
  return rows[0]?.height ?? -1
}

/**
 * Resolves once the chain's indexer has looked at its head since `before`: until then the API takes the copy
 * of an earlier run for outdated.
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

/** When the indexer of each chain last looked at its head, by slug. */
export async function looks(databaseUrl: string): Promise<Map<string, string>> {
  const rows = await queryOnce<{ chain: string; at: string }>(
    databaseUrl,
    'SELECT chain, checked_at::text AS at FROM chain_status WHERE checked_at IS NOT NULL',
  )
  return new Map(rows.map(({ chain, at }) => [chain, at]))
}

/** Resolves once the chain's indexer has written the block that is the head at the time of the call. */
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
 * Empties the database when it holds another local chain of this name and is local itself; throws when it is
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
