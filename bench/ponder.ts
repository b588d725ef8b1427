import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { LOCAL_CHAIN } from '../dev/chain'
import { PlainError, freePort, startService } from '../dev/services'
import { LOCATION_SCHEMAS } from '../src/location'
import { processMegabytes, rowsReached, type Bench } from './bench'

/** Ponder project in its own folder, with its own packages, pinned by its package-lock.json. */
const PROJECT = 'bench/ponder'
/** Database schema of Ponder's tables. */
const SCHEMA = 'ponder'
/** Number of times that the endpoint is listed for Ponder; see ponder.config.ts. */
const RPC_COPIES = 200

export interface PonderFigures {
  version: string
  /** from the start of the process until all records could be read */
  ms: number
  peakMegabytes: number | 'n/a'
}

/**
 * Measures the time that the indexing framework Ponder needs to read `count` attestations into an empty
 * database: the same events, one getAttestation each, an event log and records. Throws a PlainError if
 * Ponder's packages cannot be installed.
 */
export async function indexWithPonder(bench: Bench, rpcUrl: string, count: number): Promise<PonderFigures> {
  const version = installPackages(bench.report)
  const databaseUrl = await bench.createDatabase()
  const client = await bench.connect(databaseUrl)
  const program = [`${PROJECT}/node_modules/ponder/dist/esm/bin/ponder.js`, '--root', PROJECT]
  const started = Date.now()
  const ponder = startService(
    'ponder',
    [...program, 'start', '--schema', SCHEMA, '--hostname', '127.0.0.1'],
    {
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
      SCHEMA_UIDS: LOCATION_SCHEMAS.map((schema) => schema.uid).join(),
      PORT: String(await freePort()),
    },
    bench.folder,
  )
  bench.atEnd(() => ponder.stop())
  await rowsReached(bench, client, `${SCHEMA}.location_record`, ponder, count, count)
  const ms = Date.now() - started
  const peakMegabytes = processMegabytes(ponder.pid, 'VmHWM')
  await ponder.stop()
  return { version, ms, peakMegabytes }
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
