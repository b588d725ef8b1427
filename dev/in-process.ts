import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import path from 'node:path'
import type { Settings } from '../src/config'

/** Runs the service in this process: its indexers and its API, from the built modules. */

export interface ServiceHere {
  /** rejects if an indexer cannot continue */
  readonly indexing: Promise<unknown>
  /** Closes the API, then stops the indexers. */
  readonly stop: () => Promise<void>
}

/** A running indexer. This type does not refer to src/indexer, so that dist/ does not contain the indexer. */
interface Indexer {
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the indexers of all chains, and the API on its port. Each call loads the built modules again,
 * because they cache schemas, epochs and attesters. Thus two services in one process share only packages.
 * Logs are written to a file.
 * @param clock Unix milliseconds, for the API's timestamps; the system clock without it
 */
export async function startHere(
  settings: Settings,
  logFile: string,
  clock?: () => number,
): Promise<ServiceHere> {
  forgetBuilt()
  built<typeof import('../src/log')>('lib/log.js').unifySubsquidLog(settings.logLevel, logFile)
  const { startIndexer } = built<{ startIndexer: (chain: object, settings: Settings) => Indexer }>(
    'lib/indexer/run.js',
  )
  built<typeof import('../src/location')>('lib/location/index.js').addLocationSchemas(
    settings.locationSchemas,
  )
  const { openApi } = built<typeof import('../api/copy')>('dist/api/copy.js')
  const { openLog } = built<typeof import('../src/log')>('dist/src/log.js')
  const logger = openLog(settings.logLevel, logFile)
  const indexers = settings.chains.map((each) => startIndexer(each, settings))
  const indexing = Promise.all(indexers.map((indexer) => indexer.ended))
  indexing.catch((error: Error) => logger.fatal(error, 'an indexer has ended'))
  const stops = [() => Promise.all(indexers.map((indexer) => indexer.stop()))] as (() => Promise<unknown>)[]
  const stop = () => stopAll(stops)
  try {
    const api = await openApi(settings, logger, clock)
    stops.push(api.close, () => api.app.close())
    await api.app.listen({ host: settings.host, port: settings.port })
    api.start()
  } catch (error) {
    await stop()
    throw error
  }
  return { indexing, stop }
}

/** Calls these functions in reverse order and empties the list, then throws the first of their errors. */
export async function stopAll(stops: (() => Promise<unknown>)[]): Promise<void> {
  const ends: PromiseSettledResult<unknown>[] = []
  for (const each of stops.splice(0).reverse()) ends.push(...(await Promise.allSettled([each()])))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
}

/** Imports a built module with the packages of this process, which is much faster than through vitest. */
export function built<Module>(file: string): Module {
  return load(path.resolve(file)) as Module
}
const load = createRequire(path.resolve('package.json'))
const BUILT = ['lib', 'dist'].map((folder) => path.resolve(folder) + path.sep)
const isBuilt = (file: string) => BUILT.some((folder) => file.startsWith(folder))

/** Unloads the built modules, which cache schemas and attesters, so that the next service loads new ones. */
export function forgetBuilt(): void {
  for (const file of Object.keys(load.cache)) if (isBuilt(file)) delete load.cache[file]
}

/** Compiled built modules: compiling takes half of the time to load them, and each service loads them. */
const compiled = new Map<string, (...given: unknown[]) => void>()
const loadFile = load.extensions['.js']
load.extensions['.js'] = (module, file) => {
  if (!isBuilt(file)) {
    loadFile(module, file)
    return
  }
  const run = compiled.get(file) ?? compile(file)
  compiled.set(file, run)
  run.call(module.exports, module.exports, createRequire(file), module, file, path.dirname(file))
}

/** Returns the function of a file's text, whose parameters are those of a CommonJS module. */
function compile(file: string): (...given: unknown[]) => void {
  const holder = new Module(file) as Module & { _compile: (text: string, file: string) => void }
  holder._compile(`module.exports = ${Module.wrap(readFileSync(file, 'utf8'))}`, file)
  return holder.exports as (...given: unknown[]) => void
}
