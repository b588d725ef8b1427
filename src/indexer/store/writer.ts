import { createHash } from 'node:crypto'
import type { Chain } from '../../chains'
import type { Database, Query } from './connection'

/**
 * The table chain_writer: which process may write a chain's rows (lease.ts). The last part of a writer's name
 * is its version of the projection; versions before 2 name none.
 */
const versionOf = (writer: string) => writer.slice(writer.lastIndexOf('/'))

/** The name of a writer's session while it writes, as pg_stat_activity shows it; Postgres takes 63 bytes. */
function sessionName(chain: Chain, writer: string): string {
  return `indexer of ${chain.slug} ${createHash('sha256').update(writer).digest('hex').slice(0, 16)}`
}

/**
 * Makes this process the writer of a chain and answers undefined, unless another one is: then answers that
 * one. After a writer with another version of the projection, all records count as made by an older one.
 * A writer is replaced when its lease has run out, or when `isGone` says that its process has ended. The
 * session in which it may still be writing is ended: a process that was frozen, or whose machine was cut off,
 * keeps the locks of its transaction else.
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
  // Without a lock first: waiting for the row's lock keeps the writer from renewing its lease.
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
      // Before the first writer there is at most a snapshot, whose records are projected by `restore`.
      if (replaced && versionOf(replaced) !== versionOf(writer))
        await query('UPDATE chain_status SET reading = 0 WHERE chain = $1', [chain.slug])
    }
    return meanwhile
  })
}

/** Whether this process is still the writer; if so, its lease then ends in so many seconds. */
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
 * Whether this process is the writer; if so, it remains it until the transaction ends: the lock lets renewals
 * pass, but no other writer. The session bears the writer's name as long.
 */
export async function holdWriter(query: Query, chain: Chain, writer: string): Promise<boolean> {
  const held = await query(
    `SELECT set_config('application_name', $3, true) FROM chain_writer WHERE chain = $1 AND writer = $2
     FOR KEY SHARE`,
    [chain.slug, writer, sessionName(chain, writer)],
  )
  return held.length > 0
}

/** Ends this process's lease now. */
export async function releaseWriter(query: Query, chain: Chain, writer: string): Promise<void> {
  await query(`UPDATE chain_writer SET until = '-infinity' WHERE chain = $1 AND writer = $2`, [
    chain.slug,
    writer,
  ])
}
