import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ACTIVE_SLUGS, CHAINS, type Chain } from '../src/chains'
import { readSettings, type Settings } from '../src/config'
import {
  LOCAL_CHAIN,
  attestPlaces,
  localVersion,
  mineOn,
  missingNodeBinary,
  startLocalChain,
  type LocalChain,
} from './chain'
import { checkSameChain, looks, waitForHead, waitForLook, type Progress } from './indexed'
import { addressOf, rpcUrl, setLocalChain, setLocalDefaults } from './local-settings'
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
  progress: Progress
}

/** First pause before a program is restarted. It doubles with each end before the program ran steadily. */
const RESTART_MS = 250
const LONGEST_RESTART_MS = 30_000
const STEADY_MS = 10_000
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
  const start = new Start(options)
  const { signal } = options
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new PlainError(STOPPED))
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp)
  })
  aborted.catch(() => {})
  try {
    return await Promise.race([start.run(), aborted])
  } catch (error) {
    await start.stop()
    throw error
  }
}

const STOPPED = 'Stopped while starting.'

interface Plan {
  readonly given: Settings
  /** rows of the local chains; none if the settings name real ones */
  readonly rows: readonly Chain[]
  readonly hasLocalDatabase: boolean
  /** owner of the proxies of local chains */
  readonly signer: string
}

/** A loaded program that waits for its settings. Loading is the longest part of a start. */
interface Loaded {
  readonly what: string
  readonly service: Service
  readonly load: () => Service
}

class Start {
  private readonly environment: NodeJS.ProcessEnv
  private readonly logs: string
  private readonly step: NonNullable<WorldOptions['step']>
  private readonly stops: (() => Promise<void>)[] = []
  private readonly services = new Map<string, Service>()
  private isStopping = false
  private unlock = async () => {}
  private setBroken!: (reason: string) => void
  private readonly broken = new Promise<string>((resolve) => (this.setBroken = resolve))

  constructor(private readonly options: WorldOptions) {
    this.environment = { ...options.environment }
    this.logs = path.join(options.folder, 'logs')
    this.step =
      options.step ??
      ((what, work) => {
        options.report(`${what} ...`)
        return work
      })
  }

  readonly stop = async (): Promise<void> => {
    this.isStopping = true
    for (const each of this.stops.splice(0).reverse()) await each()
    await this.unlock()
  }

  async run(): Promise<World> {
    const { environment, services, broken, stop } = this
    const { folder, report } = this.options
    mkdirSync(folder, { recursive: true })
    const plan = this.plan()
    const { given, rows, hasLocalDatabase } = plan
    await this.reserve(plan)
    // The local database has one session, so several processes would only wait for each other.
    if (hasLocalDatabase) environment.API_PROCESSES ||= '1'
    const databaseReady = hasLocalDatabase
      ? this.step('Embedded database: Postgres with PostGIS', this.startDatabase(given.localDbPort))
      : Promise.resolve()
    databaseReady.catch(() => {}) // awaited later; the chains start in the meantime
    if (rows.length > 0) {
      environment.CHAINS = rows.map(({ slug }) => slug).join(',')
      setLocalDefaults(environment, given)
    }
    // Programs load concurrently with the database's own start.
    const migration = this.load('migrate', 'lib/chains-file.js,lib/postgres.js', 'lib/migrate.js')
    this.stops.push(() => migration.stop())
    const { api, indexers } = this.loadPrograms(plan)
    const started = await Promise.all(
      rows.map((row, i) =>
        this.step(
          `Local chain of ${row.slug}, with EAS ${localVersion(row)}`,
          this.startChain(row, given.localChainPort + i, plan.signer),
        ),
      ),
    )
    const chains: ReadonlyMap<string, LocalChain> = new Map(started.map((each) => [each.chain.slug, each]))
    const chain = chains.get(LOCAL_CHAIN.slug) ?? started[0]
    const sampled = Promise.all(started.map((each) => this.sample(each, each === chain)))
    sampled.catch(() => {}) // awaited later; the embedded database starts in the meantime
    await databaseReady
    // If the start is stopped, its chains are removed. A user's own database must not contain their data.
    if (!hasLocalDatabase) await sampled

    const settings = readSettings(environment, ['database', 'chains', 'signer'])
    await this.migrate(migration)
    for (const each of started) await checkSameChain(settings, each, hasLocalDatabase, report)
    const before = await looks(settings.databaseUrl)
    for (const each of indexers) {
      each.service.release(environment)
      this.keepRunning(each)
    }
    api.service.release(environment)
    await this.step('API', api.service.ready)
    this.keepRunning(api)
    await sampled
    await this.indexed(settings, started, before)
    return { settings, chains, chain, services, broken, stop }
  }

  /** Reads the settings. Throws a PlainError if the parts that they ask for cannot run on this machine. */
  private plan(): Plan {
    const { environment } = this
    const names = CHAINS.map(rpcUrl)
    const isLocal = !names.some((name) => environment[name] || environment[`${name}_FILE`])
    // Settings with CHAINS need URLs, which are known only when the chains run: these are placeholders.
    const placeholders = Object.fromEntries(names.map((name) => [name, 'http://127.0.0.1']))
    const given = readSettings(
      isLocal
        ? { ...environment, ...placeholders, CHAINS: environment.CHAINS || DEFAULT_LOCAL_CHAINS }
        : environment,
      ['chains'],
    )
    if (isLocal) {
      const missing = missingNodeBinary()
      if (missing) throw new PlainError(missing)
    } else if (!given.signer)
      throw new PlainError(
        'RPC_URL_* names a real chain, which requires a real signer. Set SIGNER_KEY_FILE or another ' +
          'signer (see .env.example).',
      )
    return {
      given,
      rows: isLocal ? [...new Set(given.chains.map(({ chain }) => chain))] : [],
      hasLocalDatabase: given.databaseUrl === '',
      // Local chains have their own proxies.
      signer: given.attesterAddress ?? addressOf(given.signer),
    }
  }

  /** Locks the folder, and checks that the ports are free. */
  private async reserve({ given, rows, hasLocalDatabase }: Plan): Promise<void> {
    const { keep, folder } = this.options
    const isLocal = rows.length > 0
    // The lock is checked before the ports, because choosing other ports would not help.
    if (keep && (isLocal || hasLocalDatabase))
      this.unlock = await lockFolder(folder, {
        PORT: given.port,
        ...(isLocal && { LOCAL_CHAIN_PORT: given.localChainPort }),
        ...(hasLocalDatabase && { LOCAL_DB_PORT: given.localDbPort }),
      })
    if (hasLocalDatabase) await requireFreePort(given.localDbPort, 'LOCAL_DB_PORT', 'embedded database')
    for (const [i, { slug }] of rows.entries())
      await requireFreePort(given.localChainPort + i, 'LOCAL_CHAIN_PORT', `local chain of ${slug}`)
    await requireFreePort(given.port, 'PORT', 'API')
  }

  private start(name: string, args: string[]): Service {
    if (this.isStopping) throw new PlainError(STOPPED)
    const service = startService(name, args, this.environment, this.logs)
    this.services.set(name, service)
    return service
  }

  private load(name: string, modules: string, program: string, ...args: string[]): Service {
    return this.start(name, ['dist/dev/held.js', modules, program, ...args])
  }

  private async startDatabase(port: number): Promise<void> {
    const { keep, folder } = this.options
    this.environment.DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/postgres`
    const memoryOrFolder = keep ? [path.join(folder, 'database')] : []
    const args = ['dist/dev/database.js', '--small', String(port), ...memoryOrFolder]
    const database = this.start('database', args)
    this.stops.unshift(() => database.stop())
    await database.ready
    void database.ended.then(
      (code) =>
        this.isStopping ||
        this.setBroken(
          `The embedded database ended (${code}). Start again: its data is read from the chain.`,
        ),
    )
  }

  private loadPrograms({ given, hasLocalDatabase }: Plan): { api: Loaded; indexers: Loaded[] } {
    const program = (what: string, load: () => Service) => ({ what, load, service: load() })
    const api = program('API', () =>
      this.load('api', 'dist/src/chains-file.js,dist/api/copy.js', 'dist/api/main.js'),
    )
    // The embedded database has only one session, and four processes take longer to load.
    const slugs = given.chains.map(({ chain }) => chain.slug)
    const groups = hasLocalDatabase ? [slugs] : slugs.map((slug) => [slug])
    const indexers = groups.map((group) => {
      const name = group.length === 1 ? `indexer-${group[0]}` : 'indexers'
      const modules = 'lib/chains-file.js,lib/indexer/run.js'
      return program(`indexer of ${group.join(', ')}`, () =>
        this.load(name, modules, 'lib/indexer/main.js', ...group),
      )
    })
    const stop = ({ service: { name } }: Loaded) => this.services.get(name)!.stop()
    this.stops.push(async () => void (await Promise.all(indexers.map(stop))))
    this.stops.push(() => stop(api))
    return { api, indexers }
  }

  private async startChain(row: Chain, port: number, signer: string): Promise<LocalChain> {
    const { folder, keep, startsAt } = this.options
    const stateFile = path.join(folder, `chain-${row.slug}.json`)
    // The start was stopped while places were attested: the chain is incomplete.
    if (!existsSync(this.completeFile(row))) rmSync(stateFile, { force: true })
    const loadedFrom = this.options.loadedFrom?.(row)
    const up = await startLocalChain({
      ...{ chain: row, port, signer },
      ...(keep && { stateFile }),
      ...(loadedFrom !== undefined && { loadedFrom }),
      ...(startsAt !== undefined && { startsAt }),
    })
    if (this.isStopping) {
      await up.stop()
      throw new PlainError(STOPPED)
    }
    this.stops.unshift(() => up.stop())
    void up.ended.then(
      (reason) =>
        this.isStopping ||
        this.setBroken(`${reason}. Start again; what was attested in the last minute may be lost.`),
    )
    setLocalChain(this.environment, up)
    return up
  }

  private completeFile({ slug }: Chain): string {
    return path.join(this.options.folder, `chain-${slug}-complete`)
  }

  private async sample(each: LocalChain, isMain: boolean): Promise<void> {
    const { samples, keep, progress } = this.options
    if (samples && each.fresh)
      await this.step(`Sample places of ${each.chain.slug}`, attestSamples(each, isMain, progress))
    if (!keep) return
    writeFileSync(this.completeFile(each.chain), '')
    // Mining starts after the sample places, whose times are set block by block.
    mineOn(each)
  }

  private async migrate(migration: Service): Promise<void> {
    migration.release(this.environment)
    if ((await this.step('Migrations', migration.ended)) !== 0)
      throw new PlainError(`Could not migrate the database:\n${migration.tail()}`)
    this.services.delete('migrate')
  }

  private keepRunning({ what, service, load }: Loaded, rest = RESTART_MS): void {
    const { report } = this.options
    const since = performance.now()
    void service.ended.then((end) => {
      if (this.isStopping) return
      if (end === 2) return this.setBroken(`The ${what} could not start:\n${service.tail()}`)
      // The program has lost its database or its node, or was killed. A new process resumes its work.
      const next = performance.now() - since > STEADY_MS ? RESTART_MS : Math.min(2 * rest, LONGEST_RESTART_MS)
      const how = typeof end === 'number' ? `ended with code ${end}` : `was ended by ${end}`
      const log = `${path.join(this.logs, service.name)}.log`
      // Status 0 means that it was requested to end, as by `npm run dev` after a build.
      if (end === 0) report(`The ${what} is restarted ...`)
      else report(`The ${what} ${how}. It is started again. Its log, ${log}, ends with:\n${service.tail()}`)
      setTimeout(() => {
        if (this.isStopping) return
        const again = load()
        again.release(this.environment)
        this.keepRunning({ what, load, service: again }, next)
      }, next)
    })
  }

  /** Resolves when the indexers have written the heads of the chains, and have read them since `before`. */
  private async indexed(
    settings: Settings,
    chains: readonly LocalChain[],
    before: ReadonlyMap<string, string>,
  ): Promise<void> {
    const refused = this.broken.then((reason) => {
      throw new PlainError(reason)
    })
    const looked = Promise.all(
      chains.map(async (each) => {
        await waitForHead(settings, each, this.options.progress)
        await waitForLook(settings, each, before, () => this.isStopping)
      }),
    )
    looked.catch(() => {}) // awaited later; fails if an indexer refuses to start, because then the database is stopped
    await this.step('Indexers', Promise.race([looked, refused]))
  }
}

/** Attests all sample places on a chain, or every tenth if the chain is not the `main` one. */
export function attestSamples(
  chain: LocalChain,
  main: boolean,
  progress: Progress = () => {},
): Promise<void> {
  return attestPlaces(chain, main ? 1 : NTH_PLACE_ELSEWHERE, (done, total) =>
    progress(`places attested on ${chain.chain.slug}`, done, total),
  )
}
