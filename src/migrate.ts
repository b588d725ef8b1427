import './chains-file'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Client } from 'pg'
import type { DataSource } from 'typeorm'
import { ACTIVE_SLUGS } from './chains'
import { exportDatabaseUrl, processSettings, SettingsError } from './config'
import { primaryUrl } from './postgres'
import { onStop } from './process'

/**
 * Applies db/migrations and then db/comments.sql to the database of DATABASE_URL, in one transaction. Run it
 * once per release in the project's root, before any other process starts.
 */
async function main(): Promise<void> {
  const url = await primaryUrl(processSettings('database').databaseUrl)
  const comments = (await readFile('db/comments.sql', 'utf8')).replaceAll('{chains}', ACTIVE_SLUGS.join(', '))
  const applied = (await isUpToDate(url, comments)) ? [] : await migrate(url, comments)
  console.log(applied.length ? `Applied ${applied.join(', ')}` : 'The database is up to date')
}

/**
 * Returns true if the database has all migrations. In this case it also applies the comments itself, so that
 * TypeORM, which loads slowly, is not needed.
 */
async function isUpToDate(url: string, comments: string): Promise<boolean> {
  const known = require(path.resolve('db/migrations/load.js')) as (new () => { name: string })[] // oxlint-disable-line typescript/no-require-imports -- outside of the sources
  const database = new Client({ connectionString: url })
  await database.connect()
  try {
    const {
      rows: [table],
    } = await database.query<{ name: string | null }>(`SELECT to_regclass('migrations')::text AS name`)
    if (!table?.name) return false
    const { rows } = await database.query<{ name: string }>('SELECT name FROM migrations')
    const applied = new Set(rows.map(({ name }) => name))
    if (!known.every((Migration) => applied.has(new Migration().name))) return false
    await database.query(comments)
    return true
  } finally {
    await database.end()
  }
}

/** Applies missing migrations and the comments. Returns the names of the applied migrations. */
async function migrate(url: string, comments: string): Promise<string[]> {
  const [{ createOrmConfig }, typeorm] = await Promise.all([
    import('@subsquid/typeorm-config'),
    import('typeorm'),
  ])
  exportDatabaseUrl(url)
  const database: DataSource = await new typeorm.DataSource(createOrmConfig()).initialize()
  try {
    return await database.transaction(async ({ queryRunner }) => {
      const executor = new typeorm.MigrationExecutor(database, queryRunner)
      executor.transaction = 'all'
      const done = await executor.executePendingMigrations()
      await queryRunner!.query(comments)
      return done.map(({ name }) => name)
    })
  } finally {
    await database.destroy()
  }
}

// A stop rolls back everything, because all changes are in one transaction.
onStop(() => process.exit(1))

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(error instanceof SettingsError ? 2 : 1)
  },
)
