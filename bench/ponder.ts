import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { LOCAL_CHAIN } from '../dev/chain'
import { PlainError, freePort } from '../dev/services'
import { LOCATION_SCHEMAS } from '../src/location'
import { processMegabytes, type Bench } from './bench'

/** Ponder project in its own folder, with its own packages, pinned by its package-lock.json. */
const PROJECT = 'bench/ponder'
/** Database schema of Ponder's tables. */
const SCHEMA = 'ponder'
const POLL_MS = 50
/** Number of times that the endpoint is listed for Ponder; see ponder.config.ts. */
const RPC_COPIES = 200
const STOP_TIMEOUT_MS = 8_000
const TIMEOUT_MS = 30 * 60_000

export interface PonderFigures {
  version: string
  /** from the start of the process until all records could be read */
  ms: number
  peakMegabytes: number | 'n/a'
}

/**
 * Measures the time that the indexing framework Ponder needs to read the same attestations into an empty
 * database: the same events, one getAttestation each, an event log and records. Throws a PlainError if
 * Ponder's packages cannot be installed.
 */
export async function indexWithPonder(given: {
  rpcUrl: string
  /** URL of an empty database */
  databaseUrl: string
  /** number of records to wait for */
  count: number
  /** folder for its log, ponder.log */
  folder: string
  report: Bench['report']
  progress: Bench['progress']
}): Promise<PonderFigures> {
  const version = installPackages(given.report)
  const client = new Client({ connectionString: given.databaseUrl })
  await client.connect()
  let ponder: ReturnType<typeof startPonder> | undefined
  try {
    const port = await freePort()
    const started = Date.now()
    ponder = startPonder({ ...given, port })
    for (;;) {
      const count = await records(client)
      given.progress('indexed by Ponder', count, given.count)
      if (count >= given.count) break
      if (ponder.ended()) throw new PlainError(`Ponder ended:\n${ponder.tail()}`)
      if (Date.now() - started > TIMEOUT_MS) throw new PlainError(`Ponder took too long:\n${ponder.tail()}`)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return {
      version,
      ms: Date.now() - started,
      peakMegabytes: processMegabytes(ponder.pid, 'VmHWM'),
    }
  } finally {
    await ponder?.stop()
    await client.end()
  }
}

/**
 * Installs Ponder's packages if they are missing or differ from the pinned versions, and returns Ponder's
 * version.
 */
function installPackages(report: Bench['report']): string {
  const wanted = (
    JSON.parse(readFileSync(`${PROJECT}/package.json`, 'utf8')) as { dependencies: { ponder: string } }
  ).dependencies.ponder
  if (installedVersion() === wanted) return wanted
  report(`Installing Ponder ${wanted} into ${PROJECT}/node_modules (not counted) ...`)
  // npm ci would consider the lock file outdated, because it lacks packages for other platforms.
  const npm = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: PROJECT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  const installed = installedVersion()
  if (npm.status !== 0 || installed !== wanted)
    throw new PlainError(
      `Ponder's packages cannot be had: ${
        npm.error?.message ??
        npm.stderr
          .split('\n')
          .filter((line) => line.startsWith('npm error'))
          .slice(0, 3)
          .join(' ')
      }`,
    )
  return installed
}

function installedVersion(): string | undefined {
  try {
    // npm writes this file last; without it, an installation was interrupted.
    readFileSync(`${PROJECT}/node_modules/.package-lock.json`)
    return (
      JSON.parse(readFileSync(`${PROJECT}/node_modules/ponder/package.json`, 'utf8')) as { version: string }
    ).version
  } catch {
    return undefined
  }
}

function startPonder({
  rpcUrl,
  databaseUrl,
  folder,
  port,
}: {
  rpcUrl: string
  databaseUrl: string
  folder: string
  port: number
}) {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, 'ponder.log')
  const log = openSync(file, 'a')
  const environment = {
    ...process.env,
    NODE_ENV: 'production',
    PONDER_TELEMETRY_DISABLED: 'true',
    DATABASE_URL: databaseUrl,
    DATABASE_PRIVATE_URL: '',
    RPC_URL: rpcUrl,
    RPC_COPIES: String(RPC_COPIES),
    CHAIN_ID: String(LOCAL_CHAIN.id),
    EAS_ADDRESS: LOCAL_CHAIN.eas,
    START_BLOCK: String(LOCAL_CHAIN.firstBlock),
    END_BLOCK: '',
    SCHEMA_UIDS: LOCATION_SCHEMAS.map((schema) => schema.uid).join(),
    PORT: String(port),
  }
  const child = spawn(
    process.execPath,
    ['node_modules/ponder/dist/esm/bin/ponder.js', 'start', '--schema', SCHEMA, '--hostname', '127.0.0.1'],
    {
      cwd: PROJECT,
      env: environment,
      stdio: ['ignore', log, log],
      detached: process.platform !== 'win32',
    },
  )
  closeSync(log)
  const { pid } = child
  let over = pid === undefined
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      over = true
      resolve()
    }
    child.once('exit', end)
    child.once('error', end)
  })
  /** Signals the process and its children. */
  const signal = (name: NodeJS.Signals) => {
    try {
      if (pid !== undefined) process.kill(process.platform === 'win32' ? pid : -pid, name)
    } catch {
      // The process has already ended.
    }
  }
  const killWithUs = () => signal('SIGKILL')
  process.once('exit', killWithUs)
  return {
    pid: pid ?? 0,
    ended: () => over,
    tail: () => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-12).join('\n'),
    stop: async () => {
      const insist = setTimeout(() => signal('SIGKILL'), STOP_TIMEOUT_MS)
      if (!over) signal('SIGTERM')
      await ended
      clearTimeout(insist)
      signal('SIGKILL')
      process.off('exit', killWithUs)
    },
  }
}

/** Number of records; 0 if there is no table. */
async function records(client: Client): Promise<number> {
  try {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${SCHEMA}.location_record`,
    )
    return rows[0]!.count
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return 0
    throw error
  }
}
