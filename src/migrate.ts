import './chains-file'
import { parseArgs } from 'node:util'
import { processSettings, SettingsError } from './config'
import { runMigrations } from './migrations'
import { onStop } from './process'

const USAGE = `node lib/migrate.js
  Applies missing migrations.
node lib/migrate.js --to <migration>
  Undoes the migrations after this one, such as ChainState, newest first.`

/**
 * `npm run migrate`: migrates the database of DATABASE_URL. Run it once per release in the project's root,
 * before any other process starts. With `--to`, undoes later migrations instead.
 */
async function main(): Promise<void> {
  const to = parse()
  await runMigrations(processSettings('database').databaseUrl, to, (line) => console.log(line))
}

function parse(): string | undefined {
  try {
    return parseArgs({ options: { to: { type: 'string' } } }).values.to
  } catch (error) {
    throw new SettingsError(`${(error as Error).message}\n\n${USAGE}`)
  }
}

// A stop rolls back the migration under way.
onStop(() => process.exit(1))

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(error instanceof SettingsError ? 2 : 1)
  },
)
