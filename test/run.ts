import { randomInt } from 'node:crypto'
import { chmodSync } from 'node:fs'
import path from 'node:path'
import { freePort } from '../dev/services'
import { prepareChains } from './chains'
import { createMigratedTemplate, removeFolder, removeLeftovers, temporaryFolder } from './database'
import { initialise, missing, POSTGRES_FILES, postgresServer } from './postgres'

/**
 * Global set-up of a vitest run with service tests: removes what interrupted runs left behind, starts a
 * Postgres where one is installed, and makes what tests copy: a migrated database and the states of local
 * chains. Workers inherit TEST_RUN, TEST_FOLDER, TEST_DATABASE_URL and TEST_TEMPLATE.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  // vitest calls this once per project; only the first call does the work.
  if (process.env.TEST_RUN) return undefined
  process.env.TEST_RUN = String(randomInt(1, 2 ** 31))
  setTimeout(endRun, RUN_LIMIT_MS).unref()
  const folder = (process.env.TEST_FOLDER = temporaryFolder())
  const chains = prepareChains()
  const stopServer = process.env.TEST_DATABASE_URL ? async () => {} : await startServer(folder)
  const unlock = await removeLeftovers()
  const { template, drop } = await createMigratedTemplate()
  process.env.TEST_TEMPLATE = template
  await chains
  return async () => {
    await drop()
    await unlock()
    await stopServer()
    removeFolder(folder)
  }
}

/** A run that takes longer has hung. */
const RUN_LIMIT_MS = 20 * 60_000

function endRun(): void {
  console.error(`The run has not ended after ${RUN_LIMIT_MS / 60_000} minutes and is ended.`)
  process.exit(1)
}

/** Starts a Postgres and names it in TEST_DATABASE_URL; nothing if Debian's packages are missing. */
async function startServer(folder: string): Promise<() => Promise<void>> {
  if (missing(POSTGRES_FILES).length) return async () => {}
  // Postgres does not run as root, and its user must reach its data.
  chmodSync(folder, 0o711)
  const data = path.join(folder, 'postgres')
  initialise(data)
  const port = await freePort()
  const server = postgresServer('postgres', folder, data, {
    ...{ port, max_connections: 300, synchronous_commit: 'off', full_page_writes: 'off' },
    ...{ wal_level: 'minimal', max_wal_senders: 0 },
  })
  await server.start()
  process.env.TEST_DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/postgres`
  return () => server.kill('SIGQUIT')
}
