import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { removeFolder, rows } from './database'

/** Servers that tests start, from Debian's packages. */

export const REDIS = '/usr/bin/redis-server'
export const POSTGRES = '/usr/lib/postgresql/15/bin'
export const POSTGRES_FILES = {
  'postgresql-15': `${POSTGRES}/initdb`,
  'postgresql-15-postgis-3': '/usr/share/postgresql/15/extension/postgis.control',
}

/** Names of the packages whose file does not exist on this machine. */
export function missing(files: Readonly<Record<string, string>>): string[] {
  return Object.keys(files).filter((name) => !existsSync(files[name]!))
}

/** Postgres and PgBouncer refuse to run as root. In that case, they run as the user of Debian's package. */
const isRoot = process.getuid?.() === 0
const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
export const USER = isRoot && missing(POSTGRES_FILES).length === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}

/** A program that can be killed at any moment, and restarted. */
export interface Program {
  readonly name: string
  start(): Promise<void>
  /** ends it at once, like a crash, or by another signal */
  kill(signal?: NodeJS.Signals): Promise<void>
  log(): string
}

/**
 * Starts a program and waits until it responds.
 * @param answers returns true if it responds
 */
export function program(
  name: string,
  folder: string,
  [command, ...args]: readonly string[],
  answers: () => Promise<boolean>,
  options: { uid?: number; gid?: number } = {},
): Program {
  const file = path.join(folder, `${name}.log`)
  let child: ChildProcess | undefined
  const log = () => readFileSync(file, 'utf8')
  return {
    name,
    log,
    start: async () => {
      const out = openSync(file, 'a')
      const started = (child = spawn(command!, args, {
        stdio: ['ignore', out, out],
        cwd: folder,
        ...options,
      }))
      closeSync(out)
      // The server ends with the run.
      process.once('exit', () => started.kill('SIGKILL'))
      while (!(await answers())) {
        if (started.exitCode !== null || started.signalCode !== null)
          throw new Error(`${name} ended before it answered:\n${log().slice(-2_000)}`)
        await pause(50)
      }
    },
    kill: async (signal = 'SIGKILL') => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}

/** True if a process accepts connections at this port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}

/** Runs a program of Postgres to its end, as the user that Postgres runs as. */
export function run(command: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: '/', ...USER })
  if (status !== 0) throw new Error(`${command} failed:\n${stdout}${stderr}`)
}

/** Creates an empty cluster of databases, which accepts connections from this machine without a password. */
export function initialise(data: string): void {
  emptyFolder(data)
  const options = ['--no-sync', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']
  run(`${POSTGRES}/initdb`, '-D', data, ...options)
  writeFileSync(
    path.join(data, 'pg_hba.conf'),
    'local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n',
  )
}

export function emptyFolder(data: string): void {
  removeFolder(data)
  mkdirSync(data, { mode: 0o700 })
  if (USER.uid !== undefined) chownSync(data, USER.uid, USER.gid)
}

/** A server of this cluster of databases without durable writes. `settings` include its port. */
export function postgresServer(
  name: string,
  folder: string,
  data: string,
  settings: { port: number } & Record<string, string | number>,
): Program {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: data, fsync: 'off', ...settings }
  const given = Object.entries(all).flatMap(([setting, value]) => ['-c', `${setting}=${value}`])
  const answers = () =>
    rows(`postgres://postgres@127.0.0.1:${settings.port}/postgres`, 'SELECT').then(
      () => true,
      () => false,
    )
  return program(name, folder, [`${POSTGRES}/postgres`, '-D', data, ...given], answers, USER)
}
