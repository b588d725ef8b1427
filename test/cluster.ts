import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { freePort } from '../dev/services'
import { migrate, rows, temporaryFolder } from './database'
import {
  emptyFolder,
  initialise,
  isListening,
  missing,
  POSTGRES,
  POSTGRES_FILES,
  postgresServer,
  program,
  REDIS,
  run,
  USER,
  type Program,
} from './servers'

/** A Postgres primary and its replicas, each behind a PgBouncer, from Debian's packages. */

const PROGRAMS = {
  ...POSTGRES_FILES,
  pgbouncer: '/usr/sbin/pgbouncer',
  haproxy: '/usr/sbin/haproxy',
  'redis-server': REDIS,
}
/** Missing Debian packages. A test that needs them is skipped and names them. */
export const MISSING_PACKAGES = missing(PROGRAMS)

/** A text of ops/ with some words replaced. Throws if one of them does not occur. */
export function changed(file: string, words: Readonly<Record<string, string>>): string {
  let text = readFileSync(file, 'utf8')
  for (const [word, other] of Object.entries(words)) {
    if (!text.includes(word)) throw new Error(`${file} has no '${word}' any more`)
    text = text.replaceAll(word, other)
  }
  return text
}

/** A Postgres server with its PgBouncer. */
export interface DatabaseServer {
  readonly postgres: Program
  readonly bouncer: Program
  readonly port: number
  /** folder of its data, with its socket */
  readonly data: string
  readonly bouncerPort: number
  /** URL of Postgres itself */
  readonly url: string
  /** follows another server, from a new copy of its data */
  follow(other: DatabaseServer): Promise<void>
  /** continues as a replica of another server */
  turnTo(other: DatabaseServer): Promise<void>
  promote(): Promise<void>
}

export interface Cluster {
  readonly folder: string
  readonly servers: readonly DatabaseServer[]
  /** URL of the PgBouncers in front of these servers */
  bouncerUrl(database: 'api' | 'geo', servers?: readonly DatabaseServer[]): string
  stop(): Promise<void>
}

/**
 * Starts a migrated primary, and replicas that follow it. The primary shows no commit that no replica has.
 */
export async function startCluster(replicas: number, folder = temporaryFolder()): Promise<Cluster> {
  chmodSync(folder, 0o711)
  const servers: DatabaseServer[] = []
  for (let i = 0; i <= replicas; i++) servers.push(await databaseServer(folder, i))
  const stop = async () => {
    for (const { bouncer, postgres } of servers) await Promise.all([bouncer.kill(), postgres.kill()])
  }
  try {
    const [primary, ...others] = servers
    initialise(dataOf(folder, 0))
    await primary!.postgres.start()
    await rows(primary!.url.replace('/geo', '/postgres'), 'CREATE DATABASE geo')
    await migrate(primary!.url)
    for (const each of others) await each.follow(primary!)
    if (replicas > 0) {
      // From this statement on, a commit waits until a replica has it.
      await rows(primary!.url, `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'`)
      await rows(primary!.url, 'SELECT pg_reload_conf()')
    }
    for (const { bouncer } of servers) await bouncer.start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    ...{ folder, servers, stop },
    bouncerUrl: (database, some = servers) =>
      `postgres://postgres@${some.map(({ bouncerPort }) => `127.0.0.1:${bouncerPort}`).join(',')}/${database}`,
  }
}

function dataOf(folder: string, number: number): string {
  return path.join(folder, `data-${number}`)
}

async function databaseServer(folder: string, number: number): Promise<DatabaseServer> {
  const [port, bouncerPort] = [await freePort(), await freePort()]
  const data = dataOf(folder, number)
  const url = `postgres://postgres@127.0.0.1:${port}/geo`
  const postgres = postgresServer(`postgres-${number}`, folder, data, {
    ...{ port, shared_buffers: '32MB', max_connections: 100, wal_keep_size: '256MB' },
    ...{ hot_standby_feedback: 'on', max_wal_senders: 10 },
  })
  const ini = path.join(folder, `pgbouncer-${number}.ini`)
  writeFileSync(
    ini,
    changed('ops/pgbouncer.ini', {
      'host=127.0.0.1 port=5432': `host=127.0.0.1 port=${port} user=postgres`,
      'listen_addr = 0.0.0.0': 'listen_addr = 127.0.0.1',
      'listen_port = 6432': `listen_port = ${bouncerPort}`,
      'auth_type = scram-sha-256': 'auth_type = any',
      'auth_file = /etc/pgbouncer/userlist.txt': '',
    }),
  )
  // PgBouncer accepts connections even while its server is down.
  const listens = () => isListening(bouncerPort)
  const bouncer = program(`pgbouncer-${number}`, folder, ['/usr/sbin/pgbouncer', ini], listens, USER)
  const conninfo = (other: DatabaseServer) =>
    `host=127.0.0.1 port=${other.port} user=postgres application_name=server_${number}`
  return {
    ...{ postgres, bouncer, port, data, bouncerPort, url },
    follow: async (other) => {
      emptyFolder(data)
      const options = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync']
      run(`${POSTGRES}/pg_basebackup`, '-D', data, '-d', conninfo(other), ...options)
      await postgres.start()
    },
    turnTo: async (other) => {
      await rows(url, `ALTER SYSTEM SET primary_conninfo = '${conninfo(other)}'`)
      await rows(url, 'SELECT pg_reload_conf()')
    },
    promote: async () => {
      await rows(url, 'SELECT pg_promote(true, 600)')
    },
  }
}
