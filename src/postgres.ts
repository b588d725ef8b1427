import { Client } from 'pg'

/** Postgres servers of a URL that lists one or more hosts, one of which accepts writes. */

/**
 * Options of each session: pg reads times in the ISO form only, numbers need all their digits, and writers
 * that meet wait for each other instead of failing. A database or a role may have other defaults.
 */
const SESSION = '-c DateStyle=ISO -c extra_float_digits=1 -c default_transaction_isolation=read\\ committed'

/** Maximum milliseconds until a server reports its role. */
const PROBE_MS = 5_000

/** Parts of a URL: up to its hosts, its hosts, and the rest. */
const HOSTS = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?@]*)([^]*)$/

/** Returns one URL per host of a URL in libpq's form: postgres://user:password@one:5432,two:5432/name. */
export function hostUrls(url: string): string[] {
  const [, head, hosts, tail] = HOSTS.exec(url)!
  return hosts!.split(',').map((host) => head! + host + tail!)
}

/**
 * Returns pg's settings for sessions at a URL of one host: with the operator's options, which the URL or
 * PGOPTIONS states, followed by ours. pg itself uses only the first of URL, setting and PGOPTIONS.
 * @param more options of these sessions, in addition to SESSION
 */
export function sessionsAt(url: string, more = ''): { connectionString: string; options: string } {
  const [, address, query] = /^([^?]*)\??(.*)$/.exec(url)!
  const parameters = new URLSearchParams(query)
  const given = parameters.get('options')
  parameters.delete('options')
  return {
    connectionString: given === null ? url : `${address}?${parameters.toString()}`,
    options: `${given ?? process.env.PGOPTIONS ?? ''} ${SESSION} ${more}`.trim(),
  }
}

/**
 * Returns the host and port to which pg connects for a URL: its parameters `host` and `port` override the
 * others. A URL without a host means this machine.
 */
export function hostOf(url: string): string {
  const [, , address, rest] = HOSTS.exec(url)!
  const [, host, port] = /^(.*?)(:\d*)?$/.exec(address!)!
  const parameters = new URLSearchParams(rest!.split('?')[1])
  const givenPort = parameters.get('port')
  return (parameters.get('host') || host || 'localhost') + (givenPort ? `:${givenPort}` : (port ?? ''))
}

/** Throws pg's error if it cannot read the URL of one host, or a certificate that the URL names. */
export function requireReadable(url: string): void {
  void new Client(sessionsAt(url))
}

/** Returns the timeline on which a server accepts writes; undefined if it does not, or does not respond. */
async function timelineOf(url: string): Promise<number | undefined> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
    application_name: 'probe',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ timeline: string | null }>(
      `SELECT CASE WHEN NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'
         THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`,
    )
    const timeline = rows[0]?.timeline
    return timeline == null ? undefined : parseInt(timeline, 16)
  } catch {
    return undefined
  } finally {
    // Not awaited, because a hanging server would never respond.
    client.end().catch(() => {})
  }
}

/** Returns the URL of the server that accepts writes, the last promoted one; undefined if none does. */
export async function findPrimary(urls: readonly string[]): Promise<string | undefined> {
  const timelines = await Promise.all(urls.map(timelineOf))
  const newest = Math.max(...timelines.map((timeline) => timeline ?? 0))
  return newest > 0 ? urls[timelines.indexOf(newest)] : undefined
}

/** Like `findPrimary()`, for the hosts of a URL; a single one is not queried. Throws if none is a primary. */
export async function primaryUrl(url: string): Promise<string> {
  const urls = hostUrls(url)
  const found = urls.length === 1 ? url : await findPrimary(urls)
  if (found === undefined)
    throw new Error(`No database server accepts writes: ${urls.map(hostOf).join(', ')}`)
  return found
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null | undefined)?.code
}

/**
 * True if an error of pg means that the database lacks migrations: a table, column or function is missing.
 * @param isMigrated true if it is known to have all migrations: then a statement that names a missing column
 *   or function is a bug of this program
 */
export function isUnmigrated(error: unknown, isMigrated = false): boolean {
  const code = codeOf(error)
  return code === '42P01' || (!isMigrated && (code === '42703' || code === '42883'))
}

/** Returns the message for a database that lacks migrations; undefined for other errors. */
export function unmigrated(error: unknown): string | undefined {
  return isUnmigrated(error)
    ? 'The database is not migrated: run npm run migrate (node lib/migrate.js) first'
    : undefined
}
