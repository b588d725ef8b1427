import { createOrmConfig } from '@subsquid/typeorm-config'
import { DataSource } from 'typeorm'
import { exportDatabaseUrl, processSettings } from './config'
import { onStop } from './process'

/** Applies db/migrations to the database that DATABASE_URL names: one step, before any processor. */
async function main(): Promise<void> {
  exportDatabaseUrl(processSettings('database'))
  const database = await new DataSource(createOrmConfig()).initialize()
  try {
    const applied = await database.runMigrations({ transaction: 'all' })
    console.log(
      applied.length
        ? `Applied ${applied.map((migration) => migration.name).join(', ')}`
        : 'The database is up to date',
    )
  } finally {
    await database.destroy()
  }
}

// All of it is one transaction.
onStop(() => process.exit(1))

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
