import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { settingSuffix, type Chain } from '../src/chains'
import type { Settings } from '../src/config'
import { primaryUrl } from '../src/postgres'
import type { LocalChain } from './chain'
import { PlainError } from './services'

/** State of the index of local chains, read from its database. */

/** Called often during long steps. */
export type Progress = (what: string, done: number, total: number) => void

const LOOK_MS = 100

/** Reads rows from a database. */
type Read = <Row extends object>(databaseUrl: string, sql: string) => Promise<Row[]>

/** Last block that a chain's indexer has written; -1 before the first one. */
async function indexedHeight(read: Read, databaseUrl: string, chain: Chain): Promise<number> {
  const rows = await read<{ height: number | null }>(
    databaseUrl,
    `SELECT greatest(final_height, indexed_height) AS height FROM chain_status WHERE chain = '${chain.slug}'`,
  ).catch(() => [])
  return rows[0]?.height ?? -1
}

/** Resolves when the indexer has read its head since `before`. Until then the API trusts no earlier index. */
export async function waitForLook(
  { databaseUrl }: Settings,
  { chain }: LocalChain,
  before: ReadonlyMap<string, string>,
  isStopped = () => false,
): Promise<void> {
  while (!isStopped() && (await looks(databaseUrl)).get(chain.slug) === before.get(chain.slug))
    await pause(LOOK_MS)
}

/** Time at which the indexer of each chain last read its head, by slug. */
export async function looks(databaseUrl: string): Promise<Map<string, string>> {
  const rows = await queryOnce<{ chain: string; at: string }>(
    databaseUrl,
    'SELECT chain, checked_at::text AS at FROM chain_status WHERE checked_at IS NOT NULL',
  )
  return new Map(rows.map(({ chain, at }) => [chain, at]))
}

/** Resolves when the chain's indexer has written the block that is the head at the time of the call. */
export async function waitForHead(
  settings: Settings,
  chain: LocalChain,
  progress: Progress = () => {},
  read: Read = queryOnce,
): Promise<void> {
  const head = await chain.provider.getBlockNumber()
  const { slug, firstBlock: from } = chain.chain
  for (;;) {
    const height = await indexedHeight(read, settings.databaseUrl, chain.chain)
    progress(`blocks of ${slug} indexed`, Math.max(0, Math.min(height, head) - from), head - from)
    if (height >= head) return
    await pause(LOOK_MS)
  }
}

/**
 * Empties the database if it contains another local chain of this name. Throws if that database is not local.
 */
export async function checkSameChain(
  settings: Settings,
  { chain, provider }: LocalChain,
  ours: boolean,
  report: (line: string) => void,
): Promise<void> {
  const [status] = await queryOnce<{ height: number; hash: string }>(
    settings.databaseUrl,
    `SELECT final_height AS height, final_hash AS hash FROM chain_status
     WHERE chain = '${chain.slug}' AND final_height >= 0`,
  ).catch(() => [])
  if (!status) return
  const block = await provider.getBlock(status.height)
  if (block?.hash === status.hash) return
  if (!ours)
    throw new PlainError(
      `The database of DATABASE_URL has indexed another ${chain.slug} than the local chain that is ` +
        `running. Set DATABASE_URL to an empty database, or set RPC_URL_${settingSuffix(chain)}.`,
    )
  report(
    `The database has indexed another local chain of ${chain.slug}: indexing this one from its start ...`,
  )
  const ofChain = [
    ...['attestation_event', 'location_record', 'answer'],
    ...['location_schema', 'hot_block', 'chain_status'],
  ].map((table) => `DELETE FROM ${table} WHERE chain = '${chain.slug}'`)
  await queryOnce(settings.databaseUrl, ofChain.join('; '))
}

/** Returns the rows of one query, on a connection of its own. */
export async function queryOnce<Row extends object>(databaseUrl: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: await primaryUrl(databaseUrl) })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
