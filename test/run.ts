import { randomInt } from 'node:crypto'
import { chmodSync, existsSync } from 'node:fs'
import path from 'node:path'
import { freePort } from '../dev/services'
import { prepareChains } from './chains'
import { createMigratedTemplate, lastingFolder, removeFolder, removeLeftovers } from './database'
import { initialise, isListening, missing, POSTGRES_FILES, postgresServer, program, REDIS } from './servers'

/**
 * Global set-up of a vitest run with service tests. It removes leftovers of interrupted runs, starts Postgres
 * and Redis if they are installed and the environment names none, and creates the templates that tests copy:
 * a migrated database and the states of local chains. Workers inherit TEST_RUN, TEST_FOLDER,
 * TEST_DATABASE_URL, TEST_REDIS_URL and TEST_TEMPLATE. TEST_DATABASE=embedded starts no Postgres.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  // vitest calls this once per project; only the first call does the work.
  if (process.env.TEST_RUN) return undefined
  process.env.TEST_RUN = String(randomInt(1, 2 ** 31))
  setTimeout(endRun, RUN_LIMIT_MS).unref()
  const folder = (process.env.TEST_FOLDER = lastingFolder())
  const chains = prepareChains()
  chains.catch(() => {}) // other code awaits it later
  const [stopPostgres, stopRedis] = await Promise.all([startPostgres(folder), startRedis(folder)])
  const unlock = await removeLeftovers()
  const { template, drop } = await createMigratedTemplate()
  process.env.TEST_TEMPLATE = template
  await chains
  return async () => {
    await drop()
    await unlock()
    await Promise.all([stopPostgres(), stopRedis()])
    removeFolder(folder)
  }
}

/** Minutes after which a run counts as hanging. Hunts have limits of their own. */
const MINUTES = process.env.npm_lifecycle_event === 'test:all' ? 60 : 20
const RUN_LIMIT_MS = Number(process.env.TEST_MINUTES ?? MINUTES) * 60_000

function endRun(): void {
  console.error(`The run has not ended after ${RUN_LIMIT_MS / 60_000} minutes and is ended.`)
  process.exit(1)
}

/** Starts a Postgres with PostGIS and sets TEST_DATABASE_URL. Returns a function that stops it. */
async function startPostgres(folder: string): Promise<() => Promise<void>> {
  if (process.env.TEST_DATABASE === 'embedded') {
    delete process.env.TEST_DATABASE_URL
    return async () => {}
  }
  if (process.env.TEST_DATABASE_URL || missing(POSTGRES_FILES).length) return async () => {}
  // Postgres does not run as root, and its user must be able to read its data.
  chmodSync(folder, 0o711)
  const data = path.join(folder, 'postgres')
  initialise(data)
  const port = await freePort()
  const server = postgresServer('postgres', folder, data, {
    ...{ port, max_connections: 300, synchronous_commit: 'off', full_page_writes: 'off' },
    ...{ wal_level: 'minimal', max_wal_senders: 0 },
    // A connection that uses PostGIS costs half the processor time if the server has loaded PostGIS.
    ...{ shared_preload_libraries: 'postgis-3', jit: 'off', autovacuum: 'off' },
  })
  await server.start()
  process.env.TEST_DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/postgres`
  return () => server.kill('SIGQUIT')
}

/** Starts a Redis and sets TEST_REDIS_URL. Returns a function that stops it. */
async function startRedis(folder: string): Promise<() => Promise<void>> {
  if (process.env.TEST_REDIS_URL || !existsSync(REDIS)) return async () => {}
  const port = await freePort()
  const command = [REDIS, '--port', String(port), '--bind', '127.0.0.1', '--save', '']
  const server = program('redis', folder, command, () => isListening(port))
  await server.start()
  process.env.TEST_REDIS_URL = `redis://127.0.0.1:${port}`
  return () => server.kill()
}
