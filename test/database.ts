import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { freePort, startService } from '../dev/services'

/** A Postgres server to make test databases on; without it they are embedded ones, in memory. */
export const TEST_DATABASE_URL = process.env.TEST_DATABASE_URL

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A new, empty database: on the server that TEST_DATABASE_URL names, else an embedded one. */
export async function createDatabase(): Promise<TestDatabase> {
  if (!TEST_DATABASE_URL) {
    const port = await freePort()
    const folder = temporaryFolder()
    const service = startService('database', ['dist/dev/database.js', String(port)], process.env, folder)
    await service.ready
    const drop = async () => {
      await service.stop()
      removeFolder(folder)
    }
    return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, drop }
  }
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(`CREATE DATABASE ${name}`)
  const url = new URL(TEST_DATABASE_URL)
  url.pathname = `/${name}`
  return { url: url.toString(), drop: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) }
}

/** A new database with our migrations applied. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  const { status, stderr } = spawnSync(process.execPath, ['lib/migrate.js'], {
    env: { ...process.env, DATABASE_URL: database.url },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The migrations failed:\n${stderr}`)
  return database
}

/** Rows of one query, on a connection of its own. */
export async function rows<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** A folder for logs. What is not stopped in order leaves it behind, to be read. */
export function temporaryFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'geospatial-test-'))
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

async function onServer(sql: string): Promise<void> {
  await rows(TEST_DATABASE_URL!, sql)
}
