import { createHash } from 'node:crypto'
import type { Chain } from '../../chains'
import { READING } from '../project'
import type { Database, Query } from './connection'

/**
 * The table chain_writer: the process that may write a chain's rows (lease.ts). A writer's name ends with its
 * version of the projection. Names written by versions before 2 lack it.
 */
const versionOf = (writer: string) => Number(/\/reading-(\d+)$/.exec(writer)?.[1] ?? 0)

/** Name of a writer's session in pg_stat_activity. Postgres truncates names to 63 bytes. */
export function sessionName(chain: Pick<Chain, 'slug'>, writer: string): string {
  const hash = createHash('sha256').update(writer).digest('hex').slice(0, 16)
  return `indexer of ${chain.slug.slice(0, 35)} ${hash}`
}

/**
 * Makes this process the writer of a chain and returns undefined; returns the current writer if there is one.
 *
 * A writer is replaced if its lease has expired or `isGone` reports that its process has ended. The session
 * in which it may still be writing is terminated: a process that is frozen or disconnected keeps its locks.
 * After a writer with another version of the projection, all records count as produced by that version, or by
 * the one before this version if that is lower.
 */
export async function takeWriter(
  database: Database,
  chain: Chain,
  writer: string,
  seconds: number,
  isGone: (writer: string) => boolean,
): Promise<string | undefined> {
  const find = async (query: Query, lock: '' | 'FOR UPDATE') => {
    const [found] = await query<{ writer: string; held: boolean }>(
      `SELECT writer, until > now() AS held FROM chain_writer WHERE chain = $1 ${lock}`,
      [chain.slug],
    )
    return { last: found!.writer, other: found!.held && !isGone(found!.writer) ? found!.writer : undefined }
  }
  await database.query(
    `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, '', '-infinity') ON CONFLICT DO NOTHING`,
    [chain.slug],
  )
  // First reads without a lock, which would prevent the writer from renewing its lease.
  const { last, other } = await find(database.query, '')
  if (other !== undefined) return other
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user AND application_name = $1
       AND pid <> pg_backend_pid()`,
    [sessionName(chain, last)],
  )
  return database.transaction(async (query) => {
    const { last: replaced, other: meanwhile } = await find(query, 'FOR UPDATE')
    if (meanwhile === undefined) {
      await query(
        'UPDATE chain_writer SET writer = $2, until = now() + make_interval(secs => $3) WHERE chain = $1',
        [chain.slug, writer, seconds],
      )
      // A database without a writer contains at most a snapshot, whose records `restore` has projected.
      if (replaced && versionOf(replaced) !== versionOf(writer))
        await query(
          'UPDATE chain_status SET reading = least(reading, $2), replayed = NULL WHERE chain = $1',
          [chain.slug, Math.min(versionOf(replaced), READING - 1)],
        )
    }
    return meanwhile
  })
}

/** Returns true if this process is still the writer, for this many seconds from now. */
export async function renewWriter(
  query: Query,
  chain: Chain,
  writer: string,
  seconds: number,
): Promise<boolean> {
  const renewed = await query(
    `UPDATE chain_writer SET until = now() + make_interval(secs => $3) WHERE chain = $1 AND writer = $2
     RETURNING writer`,
    [chain.slug, writer, seconds],
  )
  return renewed.length > 0
}

/**
 * Returns true if this process is the writer, which it stays until the transaction ends: the lock permits
 * renewals, but no other writer. Until then, the session has the writer's name, by which a successor
 * terminates it, so that it has no idle limit.
 */
export async function holdWriter(query: Query, chain: Chain, writer: string): Promise<boolean> {
  const held = await query(
    `SELECT set_config('application_name', $3, true), set_config('idle_in_transaction_session_timeout', '0', true)
     FROM chain_writer WHERE chain = $1 AND writer = $2 FOR KEY SHARE`,
    [chain.slug, writer, sessionName(chain, writer)],
  )
  return held.length > 0
}

/** Ends this process's lease immediately. */
export async function releaseWriter(query: Query, chain: Chain, writer: string): Promise<void> {
  await query(`UPDATE chain_writer SET until = '-infinity' WHERE chain = $1 AND writer = $2`, [
    chain.slug,
    writer,
  ])
}
