import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { constants, cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isRunning } from './services'

/** Argument of dist/dev/database.js instead of the port: it creates the folder of the next argument. */
export const MAKE = 'make'
/** Message to dist/dev/database.js without a port: opens a database at a port, or closes the one there. */
export interface DatabaseRequest {
  readonly port: number
  /** without it, the database is in memory */
  readonly folder?: string
  readonly closes?: boolean
}
const FOLDER = 'dist/prepared'
const MIGRATIONS = 'db/migrations'

/**
 * Returns the folder of an embedded database with PostGIS and all migrations, for copying: no process may
 * start on it. The first call creates it in a separate process, because that takes seconds, and memory that
 * PGlite does not release. Call it in the project's root, after the build. Throws if it cannot be created.
 */
export async function preparedDatabase(): Promise<string> {
  const prepared = path.resolve(FOLDER, key())
  if (existsSync(prepared)) return prepared
  // The folder gets its name when it is complete: a killed process leaves nothing that is used.
  const made = `${prepared}.${process.pid}`
  const maker = spawn(process.execPath, ['dist/dev/database.js', MAKE, made], { stdio: 'inherit' })
  const stop = () => maker.kill('SIGKILL')
  process.once('exit', stop)
  const [code] = (await once(maker, 'exit')) as [number | null]
  process.off('exit', stop)
  if (code !== 0)
    throw new Error('Could not prepare the embedded database: its log has the cause above this line.')
  try {
    renameSync(made, prepared)
  } catch (error) {
    // Another process created the folder first.
    if (!existsSync(prepared)) throw error
    rmSync(made, { recursive: true })
  }
  removeOthers(prepared)
  return prepared
}

/** Copies the prepared database to a new folder, which exists only when it is complete. */
export async function copyPrepared(folder: string): Promise<void> {
  const copy = `${folder}.new`
  rmSync(copy, { recursive: true, force: true })
  cpSync(await preparedDatabase(), copy, { recursive: true, mode: constants.COPYFILE_FICLONE })
  renameSync(copy, folder)
}

/** Key that changes with each version of Postgres or PostGIS and with each migration. */
function key(): string {
  const hash = createHash('sha256')
  for (const name of ['pglite', 'pglite-postgis']) {
    const main = require.resolve(`@electric-sql/${name}`)
    hash.update(readFileSync(path.join(path.dirname(main), '../package.json')))
  }
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(readFileSync(path.join(MIGRATIONS, name)))
  return hash.digest('hex').slice(0, 16)
}

/** Removes databases of other migrations, and incomplete ones of killed processes. */
function removeOthers(prepared: string): void {
  for (const name of readdirSync(FOLDER)) {
    const maker = /\.(\d+)$/.exec(name)?.[1]
    if (name === path.basename(prepared) || (maker && isRunning(Number(maker)))) continue
    rmSync(path.join(FOLDER, name), { recursive: true, force: true })
  }
}
