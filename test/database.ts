import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Geometry } from 'geojson'
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
  const { status, stderr } = spawnSync(process.execPath, ['lib/migrate.js'], { env: { ...process.env, DATABASE_URL: database.url }, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The migrations failed:\n${stderr}`)
  return database
}

/** Rows of one query, on a connection of its own. */
export async function rows<Row extends object>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** What a test says of a record; the rest is made up. */
export interface GivenRecord {
  /** its UID is this number */
  i: number
  geometry: Geometry | null
}

/** Puts records straight into the projection, all in one statement: `base-sepolia`, one a minute. */
export async function insertRecords(url: string, given: readonly GivenRecord[]): Promise<void> {
  const address = `0x${'a'.repeat(40)}`
  const records = given.map(({ i, geometry }) => {
    const uid = `0x${i.toString(16).padStart(64, '0')}`
    const time = new Date(Date.UTC(2026, 0, 1) + i * 60_000)
    const [longitude, latitude] = geometry?.type === 'Point' ? geometry.coordinates : [null, null]
    return {
      ...{ id: `base-sepolia-${uid}`, uid, chain: 'base-sepolia', prover: address, subject: address, timestamp: time, event_timestamp: time, srs: 'EPSG:4326' },
      ...{ location_type: 'geojson', location: JSON.stringify(geometry), longitude, latitude, recipe_types: [], recipe_payloads: [], media_types: [], media_data: [], memo: '' },
      ...{ revoked: false, created_at: time, updated_at: time, geometry: geometry && JSON.stringify(geometry), schema_uid: '0x', ref_uid: '0x', revocable: true, expiration_time: 0 },
      ...{ block_number: i, block_hash: '0x', transaction_hash: '0x', log_index: 0 },
    }
  })
  await rows(url, 'INSERT INTO location_record SELECT * FROM json_populate_recordset(NULL::location_record, $1)', [JSON.stringify(records)])
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
