import { Client } from 'pg'

/** Postgres servers of a URL: one, or several of which one accepts writes. */

/** Milliseconds that a server has to report its role. */
const PROBE_MS = 5_000

/**
 * One URL for each host of a URL with several, in libpq's form:
 * postgres://user:password@one:5432,two:5432/name.
 */
export function hostUrls(url: string): string[] {
  const [, head, hosts, tail] = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?@]*)(.*)$/.exec(url)!
  return hosts!.split(',').map((host) => head! + host + tail!)
}

/** Host of a URL, without login and password. */
export function hostOf(url: string): string {
  return new URL(url).host
}

/** Timeline on which a server accepts writes. Undefined if it accepts none, or does not respond. */
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

/**
 * URL of the server that accepts writes. If several do, the one that was promoted last. Undefined if none
 * does.
 */
export async function findPrimary(urls: readonly string[]): Promise<string | undefined> {
  const timelines = await Promise.all(urls.map(timelineOf))
  const newest = Math.max(...timelines.map((timeline) => timeline ?? 0))
  return newest > 0 ? urls[timelines.indexOf(newest)] : undefined
}

/**
 * URL of the server that accepts writes, among those of a URL. A single one is not queried. Throws if none
 * does.
 */
export async function primaryUrl(url: string): Promise<string> {
  const urls = hostUrls(url)
  const found = urls.length === 1 ? url : await findPrimary(urls)
  if (found === undefined)
    throw new Error(`None of the database servers takes writes: ${urls.map(hostOf).join(', ')}`)
  return found
}

/** True if an error of pg or TypeORM means that the tables do not exist yet. */
export function isUnmigrated(error: unknown): boolean {
  const { code, driverError } = (error ?? {}) as { code?: string; driverError?: { code?: string } }
  return (code ?? driverError?.code) === '42P01'
}

/** Message of a program for such an error; undefined for other errors. */
export function unmigrated(error: unknown): string | undefined {
  return isUnmigrated(error)
    ? 'The database is not migrated: run npm run migrate (node lib/migrate.js) first'
    : undefined
}
