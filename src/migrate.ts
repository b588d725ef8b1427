import './chains-file'
import { readFile } from 'node:fs/promises'
import { createOrmConfig } from '@subsquid/typeorm-config'
import { DataSource, MigrationExecutor } from 'typeorm'
import { ACTIVE_SLUGS } from './chains'
import { exportDatabaseUrl, processSettings } from './config'
import { primaryUrl } from './postgres'
import { onStop } from './process'

/**
 * Applies db/migrations and then db/comments.sql to the database that DATABASE_URL names, in one transaction:
 * once, before any other process of a release starts. Run in the project's root.
 */
async function main(): Promise<void> {
  exportDatabaseUrl(await primaryUrl(processSettings('database').databaseUrl))
  const database = await new DataSource(createOrmConfig()).initialize()
  try {
    const applied = await database.transaction(async ({ queryRunner }) => {
      const executor = new MigrationExecutor(database, queryRunner)
      executor.transaction = 'all'
      const done = await executor.executePendingMigrations()
      const comments = await readFile('db/comments.sql', 'utf8')
      await queryRunner!.query(comments.replaceAll('{chains}', ACTIVE_SLUGS.join(', ')))
      return done
    })
    console.log(
      applied.length
        ? `Applied ${applied.map((migration) => migration.name).join(', ')}`
        : 'The database is up to date',
    )
  } finally {
    await database.destroy()
  }
}

// A stop rolls back: all of it is one transaction.
onStop(() => process.exit(1))

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
