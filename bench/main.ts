import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { queryOnce } from '../dev/indexed'
import { PlainError, startService } from '../dev/services'
import { blankSettings } from '../dev/settings'
import type { Bench, Table } from './bench'
import { compute } from './compute'
import { exportsOfRecords } from './exports'
import { fairness } from './fairness'
import { geodesy } from './geodesy'
import { ingest } from './ingest'
import { landing } from './landing'
import { log } from './log'
import { pages } from './pages'
import { quorum } from './quorum'
import { records } from './records'
import { scaling } from './scaling'
import { statistics } from './statistics'
import { tiles } from './tiles'
import { webhooks } from './webhooks'

const BENCHES: Readonly<Record<string, (bench: Bench) => Promise<Table[]>>> = {
  ingest,
  compute,
  landing,
  quorum,
  log,
  geodesy,
  records,
  statistics,
  exports: exportsOfRecords,
  tiles,
  scaling,
  fairness,
  webhooks,
  pages,
}
/** Interval of progress lines without a terminal, in milliseconds. */
const PROGRESS_MS = 5_000

const cleanups: (() => Promise<void>)[] = []
let cleaning = Promise.resolve()
let interrupted = false

/**
 * `npm run bench -- ingest compute` runs the named benchmarks, or all without a name. Figures go to standard
 * output, progress to standard error.
 */
async function main(): Promise<void> {
  const asked = process.argv.slice(2)
  const unknown = asked.find((name) => !Object.hasOwn(BENCHES, name))
  if (unknown !== undefined)
    throw new PlainError(`There is no benchmark '${unknown}'; there are: ${Object.keys(BENCHES).join(', ')}`)
  const server = process.env.BENCH_DATABASE_URL || process.env.TEST_DATABASE_URL
  if (!server)
    throw new PlainError(
      'Set BENCH_DATABASE_URL (or TEST_DATABASE_URL) to a Postgres server with PostGIS, such as postgres://user:password@127.0.0.1:5432/postgres',
    )
  process.chdir(path.join(__dirname, '../..'))

  const machine = {
    node: process.version,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'n/a',
    postgres: await serverSetting(server, 'server_version'),
    sharedBuffers: await serverSetting(server, 'shared_buffers'),
  }
  console.log(
    `Node ${machine.node}, ${machine.cores} cores (${machine.cpu}), Postgres ${machine.postgres} with ${machine.sharedBuffers} of shared buffers`,
  )
  for (const name of asked.length ? asked : Object.keys(BENCHES)) {
    const folder = mkdtempSync(path.join(tmpdir(), 'geospatial-bench-'))
    let tables: Table[]
    try {
      tables = await BENCHES[name]!(benchOn(server, folder))
    } catch (error) {
      if (!interrupted) console.error(`${name} failed; the logs are in ${folder}`)
      throw error
    } finally {
      await cleanUp()
    }
    // A server that has just been killed may still create a file.
    rmSync(folder, { recursive: true, maxRetries: 10 })
    for (const table of tables) {
      console.log(`\n${aligned(table)}\n`)
      for (const row of table) console.log(JSON.stringify({ bench: name, ...row, ...machine }))
    }
    if (tables.flat().some((row) => row.errors || row.othersErrors))
      throw new PlainError(`${name}: not every request was answered with 200, so its figures say nothing`)
    if (tables.flat().some((row) => row.overBudget)) throw new PlainError(`${name}: a row exceeds its budget`)
  }
}

function benchOn(server: string, folder: string): Bench {
  let said = performance.now()
  const environment = { ...process.env, ...blankSettings() }
  const createDatabase = async () => {
    const name = `bench_${randomBytes(6).toString('hex')}`
    await queryOnce(server, `CREATE DATABASE ${name}`)
    cleanups.push(async () => void (await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`)))
    const url = new URL(server)
    url.pathname = `/${name}`
    return url.toString()
  }
  return {
    environment,
    folder,
    createDatabase,
    migratedDatabase: async () => {
      const url = await createDatabase()
      const env = { ...environment, DATABASE_URL: url }
      await promisify(execFile)(process.execPath, ['lib/migrate.js'], { env })
      return url
    },
    connect: async (connectionString) => {
      const client = new Client({ connectionString })
      await client.connect()
      cleanups.push(() => client.end())
      return client
    },
    start: async (name, args, environment) => {
      const service = startService(name, [...args], environment, folder)
      cleanups.push(() => service.stop())
      await service.ready
      return service
    },
    atEnd: (cleanup) => void cleanups.push(cleanup),
    report: (line) => console.error(line),
    progress: (what, done, total) => {
      if (process.stderr.isTTY)
        process.stderr.write(`\r\x1b[K  ${done} of ${total} ${what}${done === total ? '\n' : ''}`)
      else if (done === total || performance.now() - said > PROGRESS_MS) {
        said = performance.now()
        console.error(`  ${done} of ${total} ${what}`)
      }
    },
  }
}

async function serverSetting(server: string, name: string): Promise<string> {
  const [row] = await queryOnce<Record<string, string>>(server, `SHOW ${name}`).catch((error: Error) => {
    throw new PlainError(`The Postgres server does not answer: ${error.message || String(error)}`)
  })
  return row![name]!
}

/** Formats rows as a table under their column names, with numbers aligned to the right. */
function aligned(table: Table): string {
  const names = Object.keys(table[0]!)
  const lines = [names, ...table.map((row) => names.map((name) => String(row[name])))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const isText = names.map((name) => typeof table[0]![name] === 'string')
  return lines
    .map((line) =>
      line
        .map((cell, i) => (isText[i] ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Runs all registered clean-ups. A second call waits for the first. */
function cleanUp(): Promise<void> {
  cleaning = cleaning.then(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })
  return cleaning
}

// The processes under test end with this process, but databases do not, so they are dropped here.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    void cleanUp().finally(() => process.exit(130))
  })

main().catch((error: Error) => {
  // After an interruption, benchmarks fail because the clean-up removes what they use; this failure is not
  // reported.
  if (interrupted) return
  console.error(error instanceof PlainError ? error.message : error)
  process.exit(1)
})
