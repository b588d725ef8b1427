import { Client } from 'pg'

/** Postgres servers as a URL names them: one, or several of which one takes writes. */

/** How long a server has to say what it is, milliseconds. */
const PROBE_MS = 5_000

/** One URL for each host of a URL with several, as libpq has it: postgres://user:password@one:5432,two:5432/name. */
export function hostUrls(url: string): string[] {
  const [, head, hosts, tail] = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?@]*)(.*)$/.exec(url)!
  return hosts!.split(',').map((host) => head! + host + tail!)
}

/** Where a URL leads, without login and password. */
export function hostOf(url: string): string {
  return new URL(url).host
}

/** The timeline on which a server takes writes; undefined where it takes none, or does not answer. */
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
    // Not awaited: a server that hangs would never answer.
    client.end().catch(() => {})
  }
}

/**
 * Which of these servers takes writes: where several say so, the one that was promoted last. Undefined where
 * none does.
 */
export async function findPrimary(urls: readonly string[]): Promise<string | undefined> {
  const timelines = await Promise.all(urls.map(timelineOf))
  const newest = Math.max(...timelines.map((timeline) => timeline ?? 0))
  return newest > 0 ? urls[timelines.indexOf(newest)] : undefined
}

/**
 * The URL of the one server that takes writes, of those that a URL names; a single one is not asked. Throws
 * where none does.
 */
export async function primaryUrl(url: string): Promise<string> {
  const urls = hostUrls(url)
  const found = urls.length === 1 ? url : await findPrimary(urls)
  if (found === undefined)
    throw new Error(`None of the database servers takes writes: ${urls.map(hostOf).join(', ')}`)
  return found
}

/** Whether an error, of pg or TypeORM, is that there are no tables yet. */
export function isUnmigrated(error: unknown): boolean {
  const { code, driverError } = (error ?? {}) as { code?: string; driverError?: { code?: string } }
  return (code ?? driverError?.code) === '42P01'
}

/** What a program says of such an error; undefined for others. */
export function unmigrated(error: unknown): string | undefined {
  return isUnmigrated(error)
    ? 'The database is not migrated: run npm run migrate (node lib/migrate.js) first'
    : undefined
}
