import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Client } from 'pg'
import type { Logger } from 'pino'
import { ACTIVE_SLUGS } from './chains'
import { SettingsError } from './config'
import { isUnmigrated, primaryUrl, sessionsAt } from './postgres'
import { retry } from './retry'

/** Key of the advisory lock that one process holds while it applies migrations. */
const LOCK = 7_283_461

/** The project's root, above src and lib, or above dist/src. */
const ROOT = ['..', '../..']
  .map((up) => path.join(__dirname, up))
  .find((root) => existsSync(path.join(root, 'db/migrations')))!

interface Migration {
  name: string
  up(database: Client): Promise<unknown>
  down(database: Client): Promise<unknown>
}

/** Table of the applied migrations, as TypeORM creates it, so that its command line works too. */
const APPLIED = `CREATE TABLE IF NOT EXISTS "migrations" ("id" SERIAL NOT NULL, "timestamp" bigint NOT NULL,
  "name" character varying NOT NULL, CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY ("id"))`

/**
 * Applies missing migrations and then db/comments.sql, or with `to` undoes the migrations after that one.
 * Throws a SettingsError if `to` is not an applied migration.
 */
export async function runMigrations(
  url: string,
  to: string | undefined,
  print: (line: string) => void,
): Promise<void> {
  const database = new Client(sessionsAt(await primaryUrl(url)))
  const comments = (await readFile(path.join(ROOT, 'db/comments.sql'), 'utf8')).replaceAll(
    '{chains}',
    ACTIVE_SLUGS.join(', '),
  )
  await database.connect()
  try {
    if (to !== undefined) return await undoAfter(database, to, print)
    const applied = await migrate(database)
    await database.query(comments)
    print(applied.length ? `Applied ${applied.join(', ')}` : 'The database is up to date')
  } finally {
    await database.end()
  }
}

/** Milliseconds after the first check of a database that lacks migrations; multiplied up to this number. */
const CHECK_MS = 1_000
const MOST_CHECKS = 60
/** Code of a statement that a login may not run. */
const NOT_GRANTED = '42501'

/**
 * Waits until a database has all migrations, and logs what prevents it. Returns false if the login may not
 * read which ones were applied. Throws the signal's reason once it is aborted.
 * @param read returns the rows of a statement, from the primary
 */
export async function awaitMigrations(
  read: (sql: string) => Promise<{ name: string }[]>,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  const known = knownMigrations().map(({ name }) => name)
  let reason = ''
  const report = (message: string) => {
    if (message === reason) return
    reason = message
    log.error({ reason }, 'could not confirm that the database has all migrations')
  }
  const check = async () => {
    const rows = await read('SELECT name FROM migrations').catch((error: Error & { code?: string }) => {
      if (error.code === NOT_GRANTED) return undefined
      if (isUnmigrated(error)) return []
      throw error
    })
    if (!rows) {
      report(
        'The login of the API may not read them. Run GRANT SELECT ON migrations TO it, and restart the API.',
      )
      return false
    }
    const missing = known.filter((name) => !rows.some((row) => row.name === name)).map(shortName)
    if (missing.length === 0) return true
    const named = missing.length < known.length ? missing.join(', ') : 'all migrations'
    throw new Error(`It lacks ${named}. Run npm run migrate.`)
  }
  return retry(check, {
    attempts: Infinity,
    pauseMs: (attempt) => CHECK_MS * Math.min(attempt, MOST_CHECKS),
    onFailure: ({ message }) => report(message),
    signal,
  })
}

/** Returns the migrations of this version, oldest first. */
function knownMigrations(): Migration[] {
  const all = require(path.join(ROOT, 'db/migrations/load.js')) as (new () => Migration)[] // oxlint-disable-line typescript/no-require-imports -- outside of the sources
  return all.map((Known) => new Known())
}

/** Applies missing migrations. Returns their names. */
async function migrate(database: Client): Promise<string[]> {
  const known = knownMigrations()
  const { rows } = await database.query<{ name: string | null }>(
    `SELECT to_regclass('migrations')::text AS name`,
  )
  // A new database gets all tables at once, because a program that finds one of them expects the others. In
  // another one, no migration keeps the locks of an earlier one while it builds an index.
  const isNew = rows[0]!.name === null
  const missing = isNew ? known : await missingOf(database, known)
  const applied: string[] = []
  for (const part of isNew ? [missing] : missing.map((each) => [each])) {
    await database.query('BEGIN')
    applied.push(...(await migratePart(database, part)))
    await database.query('COMMIT')
  }
  return applied
}

async function missingOf(database: Client, known: readonly Migration[]): Promise<Migration[]> {
  const applied = await appliedTo(database)
  return known.filter(({ name }) => !applied.has(name))
}

async function appliedTo(database: Client): Promise<Set<string>> {
  const { rows } = await database.query<{ name: string }>('SELECT name FROM migrations')
  return new Set(rows.map(({ name }) => name))
}

/** Applies these migrations, except those that another process has applied in the meantime. */
async function migratePart(database: Client, part: readonly Migration[]): Promise<string[]> {
  await lock(database)
  const missing = await missingOf(database, part)
  for (const migration of missing) {
    await migration.up(database)
    await database.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
      /\d+$/.exec(migration.name)![0],
      migration.name,
    ])
  }
  return missing.map(({ name }) => name)
}

/** Undoes the migrations after `last`, newest first. */
async function undoAfter(database: Client, last: string, print: (line: string) => void): Promise<void> {
  const known = knownMigrations()
  const applied = await appliedTo(database)
  const kept = known.findIndex(({ name }) => applied.has(name) && shortName(name) === last)
  if (kept < 0) {
    const names = [...applied].map(shortName).join(', ')
    throw new SettingsError(`--to: expected an applied migration, got '${last}'. Applied: ${names}.`)
  }
  const newer = [...applied].filter((name) => !known.some((each) => each.name === name))
  if (newer.length)
    throw new Error(
      `This version cannot undo ${newer.map(shortName).join(', ')}. Use the newer version that applied them.`,
    )
  for (const migration of known.slice(kept + 1).reverse()) {
    await database.query('BEGIN')
    await lock(database)
    const { rowCount } = await database.query('DELETE FROM migrations WHERE name = $1', [migration.name])
    if (rowCount) await migration.down(database)
    await database.query('COMMIT')
    if (rowCount) print(`Undid ${shortName(migration.name)}`)
  }
  print(`The newest migration is ${last}`)
}

/** Returns the name without its timestamp. */
function shortName(name: string): string {
  return name.replace(/\d+$/, '')
}

/** Excludes other runs until the transaction ends, which a role's limit for statements must not end early. */
async function lock(database: Client): Promise<void> {
  await database.query('SET LOCAL statement_timeout = 0')
  await database.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
  await database.query(APPLIED)
  // Earlier versions lock the table.
  await database.query('LOCK TABLE migrations IN SHARE ROW EXCLUSIVE MODE')
}
