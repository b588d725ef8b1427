import { randomBytes } from 'node:crypto'
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, cpSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client, Pool } from 'pg'
import { preparedDatabase, type DatabaseRequest } from '../dev/prepared'
import { freePort, isRunning } from '../dev/services'
import { runMigrations } from '../src/migrations'
import { atEnd } from './ends'

/**
 * Postgres server for test databases: that of the environment, or that of the run (run.ts). Without one,
 * databases are embedded.
 */
export const TEST_DATABASE_URL = process.env.TEST_DATABASE_URL
/** Reads the setting on each call, because run.ts sets it in its own process. */
const serverUrl = () => process.env.TEST_DATABASE_URL

const FOLDER_PREFIX = 'geospatial-test-'

export interface TestDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

/** Creates an empty database: on the server of TEST_DATABASE_URL, otherwise an embedded one in memory. */
export async function createDatabase(): Promise<TestDatabase> {
  const server = serverUrl()
  return dropped(await (server ? onServer(server) : embedded(lastingFolder())))
}

/** Creates a migrated database: a copy of the run's template, or of another one. */
export async function createMigratedDatabase(template = process.env.TEST_TEMPLATE): Promise<TestDatabase> {
  if (!template) throw new Error('There is no template: a test that needs a database is a service test.')
  const server = serverUrl()
  if (server) return dropped(await onServer(server, template))
  const folder = lastingFolder()
  const data = path.join(folder, 'data')
  cpSync(template, data, { recursive: true })
  return dropped(await embedded(folder, data))
}

/** A database that is dropped after the file's tests, unless a test drops it before. */
const dropped = ({ url, drop }: TestDatabase): TestDatabase => ({ url, drop: atEnd(drop) })

/** Opens a connection, which is closed after the file's tests. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  atEnd(() => client.end())
  return client
}

/** Creates the run's template database, migrated. Later runs reuse an embedded template. */
export async function createMigratedTemplate(): Promise<Template> {
  if (serverUrl()) return createTemplate(migrate)
  return { template: await preparedDatabase(), drop: async () => {} }
}

export interface Template {
  /** name of the database on the server, or its folder */
  readonly template: string
  readonly drop: () => Promise<void>
}

/**
 * Creates a database that createMigratedDatabase copies. `fill` is called with its URL, and must have closed
 * its connections when it resolves.
 */
export async function createTemplate(fill: (url: string) => Promise<void> | void): Promise<Template> {
  const base = process.env.TEST_TEMPLATE
  const server = serverUrl()
  if (server) {
    const { url, drop } = await onServer(server, base)
    await fill(url)
    return { template: new URL(url).pathname.slice(1), drop }
  }
  const folder = lastingFolder()
  const data = path.join(folder, 'data')
  if (base) cpSync(base, data, { recursive: true })
  const { url, stop, drop } = await embedded(folder, data)
  await fill(url)
  // The database is copied while no process writes to it.
  await stop()
  return { template: data, drop }
}

/** Runs the migrations like `npm run migrate`. With `to`, undoes later ones. */
export function migrate(url: string, to?: string): Promise<void> {
  return runMigrations(url, to, () => {})
}

async function onServer(server: string, template = 'template1'): Promise<TestDatabase> {
  const name = `test_${process.env.TEST_RUN}_${randomBytes(6).toString('hex')}`
  // Writing all pages to the log, as by default, takes more than twice the processor time of a copy.
  await rows(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const settings = { max: 50, idleTimeoutMillis: 300, allowExitOnIdle: true }
  const pool = new Pool({ connectionString: url.toString(), ...settings })
  // A test may cut all connections.
  pool.on('error', () => {})
  pools.set(url.toString(), pool)
  const drop = async () => {
    pools.delete(url.toString())
    const ended = pool.end()
    await rows(server, `DROP DATABASE ${name} WITH (FORCE)`)
    await ended
  }
  return { url: url.toString(), drop }
}

/** Connections of `rows` to databases on the server, by URL: to connect takes 50 times as long as a query. */
const pools = new Map<string, Pool>()

/**
 * Removes databases and folders of earlier runs. An advisory lock protects the databases of this run from
 * other runs, until the returned function is called.
 */
export async function removeLeftovers(): Promise<() => Promise<void>> {
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${FOLDER_PREFIX}(\\d+)-`).exec(name)?.[1]
    if (owner && !isRunning(Number(owner))) removeFolder(path.join(tmpdir(), name))
  }
  const url = serverUrl()
  if (!url) return async () => {}
  const server = new Client({ connectionString: url })
  await server.connect()
  await server.query('SELECT pg_advisory_lock($1)', [process.env.TEST_RUN])
  const { rows: left } = await server.query<{ name: string; run: string }>(
    `SELECT datname AS name, split_part(datname, '_', 2) AS run FROM pg_database WHERE datname ~ '^test_[0-9]{1,10}_'`,
  )
  for (const { name, run } of left) {
    const { rows: locked } = await server.query('SELECT 1 WHERE pg_try_advisory_lock($1)', [run])
    // This run could acquire its own lock again. Another run may have dropped the database in the meantime.
    if (locked.length && run !== process.env.TEST_RUN)
      await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
  return () => server.end()
}

/**
 * An embedded database like that of `npm start`: its data in a folder or in memory. `drop` removes `folder`.
 */
async function embedded(
  folder: string,
  data?: string,
): Promise<TestDatabase & { stop: () => Promise<void> }> {
  const port = await freePort()
  await request({ port, ...(data !== undefined && { folder: data }) })
  const stop = () => request({ port, closes: true })
  const drop = async () => {
    await stop()
    removeFolder(folder)
  }
  // A statement of one second exceeds the API's limit of five seconds if all cores are busy with other
  // databases. The parameter replaces the limits of pg's clients, and sets a limit for clients without one.
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres?query_timeout=600000`, stop, drop }
}

/**
 * Process with all embedded databases of this worker. Starting a database takes half the processor time if
 * another one has already loaded Postgres and PostGIS. The process ends with the worker.
 */
let databases: ChildProcess | undefined

/** Opens or closes a database in the process. */
async function request(message: DatabaseRequest): Promise<void> {
  if (!databases || databases.exitCode !== null || databases.signalCode !== null) {
    const log = openSync(path.join(process.env.TEST_FOLDER!, `databases-${process.pid}.log`), 'a')
    databases = spawn(process.execPath, ['dist/dev/database.js', '--small'], {
      stdio: ['ignore', log, log, 'ipc'],
    }).setMaxListeners(0)
    closeSync(log)
  }
  const host = databases
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: string) => {
      host.off('message', hear).off('exit', end)
      if (error === undefined) resolve()
      else reject(new Error(`The embedded database failed: ${error}`))
    }
    const hear = ({ port, error }: { port: number; error?: string }) => port === message.port && settle(error)
    const end = () => settle('its process has ended')
    host.on('message', hear).on('exit', end)
    host.send(message)
  })
}

/** Returns the rows of one query, on a connection that no other query uses at the same time. */
export async function rows<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const pool = pools.get(url)
  if (pool) return (await pool.query<Row>(sql, values)).rows
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/**
 * A folder that is removed after the file's tests. If one of them failed, it stays for inspection until the
 * next run.
 */
export function temporaryFolder(): string {
  const folder = lastingFolder()
  atEnd(() => (globalThis as { testFileFailed?: boolean }).testFileFailed || removeFolder(folder))
  return folder
}

/** A folder that several test files use. The next run removes it. */
export function lastingFolder(): string {
  return mkdtempSync(path.join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`))
}

export function removeFolder(folder: string): void {
  // A process that has just been killed may still create a file.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
