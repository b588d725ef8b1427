import '../chains-file'
import { setTimeout as pause } from 'node:timers/promises'
import { createLogger } from '@subsquid/logger'
import { chainNamed, settingSuffix } from '../chains'
import { SettingsError, chosenChain, processSettings, type Settings } from '../config'
import { addLocationSchemas } from '../location'
import { unifySubsquidLog } from '../log'
import { unmigrated } from '../postgres'
import { onStop } from '../process'
import { startIndexer, type Indexer } from './run'

const log = createLogger('indexer')
/** Milliseconds for a clean stop. Afterwards the process exits, and a running batch is rolled back. */
const STOP_PATIENCE_MS = 1_500

/**
 * `node lib/indexer/main.js <chain slug> ...`: indexes one chain, or several whose indexers stop together.
 * Without a slug it indexes the only configured chain. Exits with a status other than 0 if it cannot
 * continue, and its supervisor restarts it.
 */
function main(slugs: readonly string[]): void {
  const indexers: Indexer[] = []
  onStop((reason) => {
    log.info({ reason, states: indexers.map(({ state }) => state) }, 'stopping')
    const stopped = Promise.all(indexers.map((indexer) => indexer.stop()))
    void Promise.race([stopped, pause(STOP_PATIENCE_MS)])
      .catch((error: Error) => log.warn({ reason: error.message }, 'could not close all connections'))
      .finally(() => process.exit(0))
  })
  try {
    unifySubsquidLog('info')
    const settings = processSettings('database', 'chains')
    unifySubsquidLog(settings.logLevel)
    addLocationSchemas(settings.locationSchemas)
    const wanted = (slugs.length ? slugs : [undefined]).filter((slug) => !isLeftOut(settings, slug))
    // An argument may repeat a chain by its id.
    for (const chain of new Set(wanted.map((slug) => chosenChain(settings.chains, slug)))) {
      const indexer = startIndexer(chain, settings)
      indexers.push(indexer)
      indexer.ended.catch(fail)
    }
  } catch (error) {
    fail(error as Error)
  }
}

/** True if the settings exclude this chain, whose indexer squid.yaml starts nevertheless and must not end. */
function isLeftOut({ chains }: Settings, slug: string | undefined): boolean {
  const known = slug === undefined ? undefined : chainNamed(slug)
  if (!known || chains.some(({ chain }) => chain === known)) return false
  log.warn(
    `${known.slug} has no RPC_URL_${settingSuffix(known)}, or CHAINS leaves it out, so there is ` +
      'nothing to index. Waiting to be stopped.',
  )
  setInterval(() => {}, 2 ** 30)
  return true
}

function fail(error: Error): void {
  const wrongSettings = error instanceof SettingsError
  const plain = wrongSettings ? error.message : unmigrated(error)
  if (plain !== undefined) log.fatal(plain)
  else log.fatal(error)
  process.exit(wrongSettings ? 2 : 1)
}

main(process.argv.slice(2))
