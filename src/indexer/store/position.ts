import assert from 'node:assert'
import type {
  FinalTxInfo,
  HashAndHeight,
  HotDatabase,
  HotDatabaseState,
  HotTxInfo,
} from '@subsquid/util-internal-processor-tools'
import type { BlockRef, HeadReport } from '../../chain'
import { LAST_HEIGHT, type Chain } from '../../chains'
import { eventIds, PROJECTED_TABLES, type ProjectedTable } from '../project'
import { lockChain, type Copy, type Query, type Transactions } from './connection'

/**
 * The position of a chain in the database: its head, the last indexed and the last final block
 * (chain_status), and the hot blocks above that, which a reorg may replace (hot_block). The event log shows
 * which rows a hot block inserted. hot_revocation holds the earlier state of the rows that it revoked.
 * ChainDatabase moves the position by the updates of evm-processor.
 */

/** Range of block numbers, both ends included. */
export interface BlockRange {
  from: number
  to: number
}

/** Last block of a batch. */
export interface IndexedBlock extends BlockRef {
  /** Time of the block in Unix milliseconds. */
  readonly timestamp: number
  /** Milliseconds since the start of the last poll that found this block on the chain, or Infinity. */
  readonly agreementAgeMs: number
  /** Numbers of the blocks up to this one whose logs only one endpoint vouches for. */
  readonly unproven: readonly number[]
}

/** Seconds between a poll of the head and the note of it, at most, unless the machine was suspended. */
const NOTED_WITHIN_SECONDS = 5

/**
 * Stores the last block of a batch, which also becomes the head if the last poll reported an older one. Its
 * agreement is not much later than the last noted poll: the local clock of a suspended machine stands still.
 */
export async function noteIndexed(query: Query, chain: Chain, last: IndexedBlock): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, indexed_height, indexed_hash, indexed_timestamp, agreed_at, unproven_at_head)
     VALUES ($1, $2, $3, $4, ${moment('$5')}, $6)
     ON CONFLICT (chain) DO UPDATE
     SET indexed_height = excluded.indexed_height, indexed_hash = excluded.indexed_hash,
       indexed_timestamp = excluded.indexed_timestamp,
       agreed_at = CASE WHEN excluded.agreed_at IS NOT NULL
         THEN least(excluded.agreed_at, chain_status.checked_at + make_interval(secs => ${NOTED_WITHIN_SECONDS})) END,
       unproven_at_head = excluded.unproven_at_head, (head_height, head_timestamp) = (
         SELECT height, time
         FROM (VALUES (chain_status.head_height, chain_status.head_timestamp),
           (excluded.indexed_height, excluded.indexed_timestamp)) AS block (height, time)
         ORDER BY height DESC NULLS LAST LIMIT 1)`,
    [
      ...[chain.slug, last.height, last.hash, new Date(last.timestamp), secondsAgo(last.agreementAgeMs)],
      multirange(last.unproven.map((block) => ({ from: block, to: block }))),
    ],
  )
}

/** Reads the blocks that only one endpoint vouched for when they were written, and that are not proven. */
export async function unprovenBlocks(query: Query, chain: Chain): Promise<number[]> {
  const rows = await query<{ block: number }>(
    `SELECT block::float8 AS block FROM chain_status, unnest(unproven_at_head - proven) AS r, generate_series(lower(r), upper(r) - 1) AS block
     WHERE chain = $1 ORDER BY 1`,
    [chain.slug],
  )
  return rows.map(({ block }) => block)
}

/** Returns the last block in the database, final or not, and the database's clock in milliseconds. */
export async function indexedTip(
  query: Query,
  chain: Chain,
): Promise<{ tip: BlockRef | undefined; now: number }> {
  const [row] = await query<{
    height: number | null
    hash: string | null
    now: number
  }>(
    `SELECT indexed_height AS height, indexed_hash AS hash, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
     FROM (SELECT) AS one LEFT JOIN chain_status ON chain = $1`,
    [chain.slug],
  )
  const { height, hash, now } = row!
  return { tip: height === null || hash === null ? undefined : { height, hash }, now }
}

/**
 * Stores the chain's head as an endpoint reported it. Ages become times of the database's clock before the
 * row is locked, so that a wait for the lock does not make them more recent. A batch written in the meantime
 * may end with a newer block.
 */
export async function noteHead(query: Query, chain: Chain, note: HeadReport): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, head_height, head_timestamp, checked_at, doubt, contradictions, agreed_at)
     VALUES ($1, $2, $3, ${moment('$4')}, $5, $6, ${moment('$8')})
     ON CONFLICT (chain) DO UPDATE
     SET (head_height, head_timestamp) = (
         SELECT height, time
         FROM (VALUES (excluded.head_height, excluded.head_timestamp),
           (chain_status.indexed_height, chain_status.indexed_timestamp)) AS block (height, time)
         WHERE height = excluded.head_height OR chain_status.indexed_hash <> $7
         ORDER BY height DESC LIMIT 1),
       checked_at = excluded.checked_at, doubt = excluded.doubt,
       contradictions = chain_status.contradictions + excluded.contradictions,
       agreed_at = CASE WHEN chain_status.indexed_hash = $7 THEN excluded.agreed_at ELSE chain_status.agreed_at END`,
    [
      chain.slug,
      note.number,
      new Date(note.timestamp * 1000),
      secondsAgo(note.ageMs),
      note.doubt ?? null,
      note.contradictions,
      note.tipHash ?? null,
      secondsAgo(note.agreementAgeMs),
    ],
  )
}

/** SQL for the time that lies `seconds` (an SQL expression) in the past; null if the number is null. */
function moment(seconds: string): string {
  return `clock_timestamp() - make_interval(secs => ${seconds})`
}

function secondsAgo(milliseconds: number): number | null {
  return milliseconds === Infinity ? null : milliseconds / 1000
}

/** True if the indexer had caught up with the head at its last poll; false while it reads history. */
export async function followsHead(query: Query, chain: Chain): Promise<boolean> {
  const [status] = await query<{ follows: boolean | null }>(
    'SELECT indexed_height >= head_height - $2::int AS follows FROM chain_status WHERE chain = $1',
    [chain.slug, chain.finality],
  )
  return status?.follows ?? false
}

/** The state before the first final block, in the notation of evm-processor. */
const NO_BLOCK: HashAndHeight = { height: -1, hash: '0x' }

/** Returns the last final block, and the hot blocks in ascending order. */
async function chainState(query: Query, chain: Chain): Promise<HotDatabaseState> {
  const [row] = await query<{ final: HashAndHeight | null; top: HashAndHeight[] | null }>(
    `SELECT (SELECT json_build_object('height', final_height, 'hash', final_hash) FROM chain_status
         WHERE chain = $1 AND final_height IS NOT NULL) AS final,
       (SELECT json_agg(json_build_object('height', height, 'hash', hash) ORDER BY height) FROM hot_block
         WHERE chain = $1) AS top`,
    [chain.slug],
  )
  return { ...(row!.final ?? NO_BLOCK), top: row!.top ?? [] }
}

/** Returns the last block that no reorg can replace; undefined before the first one. */
export async function finalBlock(query: Query, chain: Chain): Promise<BlockRef | undefined> {
  const { height, hash } = await chainState(query, chain)
  return height >= 0 ? { height, hash } : undefined
}

export async function noteFinal(query: Query, chain: Chain, block: BlockRef): Promise<void> {
  await query(
    `INSERT INTO chain_status (chain, final_height, final_hash) VALUES ($1, $2, $3)
     ON CONFLICT (chain) DO UPDATE SET final_height = excluded.final_height, final_hash = excluded.final_hash`,
    [chain.slug, block.height, block.hash],
  )
}

async function insertHotBlock(query: Query, chain: Chain, { height, hash }: BlockRef): Promise<void> {
  await query('INSERT INTO hot_block (chain, height, hash) VALUES ($1, $2, $3)', [chain.slug, height, hash])
}

/** Saves rows that a hot block is about to revoke, so that `rollBack` can restore them. */
export async function saveRevoked(
  query: Query,
  chain: Chain,
  height: number,
  table: ProjectedTable,
  ids: readonly string[],
): Promise<void> {
  await query(
    `INSERT INTO hot_revocation (chain, height, projection, id, revoked, revocation_time, updated_at)
     SELECT $1, $2, $3, id, revoked, revocation_time, updated_at FROM ${table} WHERE id = ANY($4)
     ON CONFLICT DO NOTHING`,
    [chain.slug, height, table, ids],
  )
}

/** Removes the hot blocks above `height`, and undoes everything that they wrote. */
export async function rollBack(query: Query, chain: Chain, height: number): Promise<void> {
  await lockChain(query, chain)
  const above = [chain.slug, ...eventIds(chain.slug, height + 1, LAST_HEIGHT)]
  // Triggers look up the block of a revocation in the event log. Revocations are therefore undone first, and
  // rows of the log are deleted last.
  for (const table of PROJECTED_TABLES)
    await query(
      `UPDATE ${table} AS stored
       SET revoked = before.revoked, revocation_time = before.revocation_time, updated_at = before.updated_at
       FROM (SELECT DISTINCT ON (id) * FROM hot_revocation
         WHERE chain = $1 AND height > $2 AND projection = $3 ORDER BY id, height) AS before
       WHERE stored.id = before.id`,
      [chain.slug, height, table],
    )
  for (const table of PROJECTED_TABLES)
    await query(
      // A block may announce an attestation of an earlier block again, whose row stays.
      `DELETE FROM ${table} WHERE block_number > $4 AND id IN (SELECT chain || '-' || uid FROM attestation_event
         WHERE chain = $1 AND id BETWEEN $2 AND $3 AND kind = 'ATTESTED')`,
      [...above, height],
    )
  await query('DELETE FROM attestation_event WHERE chain = $1 AND id BETWEEN $2 AND $3', above)
  await query('DELETE FROM hot_block WHERE chain = $1 AND height > $2', [chain.slug, height])
}

/**
 * Marks the hot blocks up to `height` as final, and logs their changes to records as final changes, in chain
 * order (migration FinalChanges). Of several equal events of a record, only the first one changed it: an
 * endpoint invented one of them, which the audit removes.
 */
export async function settleHotBlocks(query: Query, chain: Chain, height: number): Promise<void> {
  const [blocks] = await query<{ from: number | null; to: number | null }>(
    'SELECT min(height) AS from, max(height) AS to FROM hot_block WHERE chain = $1 AND height <= $2',
    [chain.slug, height],
  )
  if (blocks?.from == null || blocks.to === null) return
  await lockChain(query, chain)
  // The new revision makes API instances wait for a replica's changes, and starts an epoch after a failover.
  await query(
    `WITH told AS (
       INSERT INTO record_change (chain, kind, uid, finality)
       SELECT event.chain, CASE event.kind WHEN 'ATTESTED' THEN 'new' ELSE 'revoked' END, event.uid, 'final'
       FROM attestation_event AS event JOIN location_record AS record ON record.id = event.chain || '-' || event.uid
       WHERE event.id BETWEEN $2 AND $3 AND event.chain = $1 AND NOT EXISTS (
         SELECT FROM attestation_event AS earlier WHERE earlier.chain = event.chain AND earlier.uid = event.uid
           AND earlier.kind = event.kind AND earlier.id < event.id)
       ORDER BY event.id
       RETURNING chain)
     UPDATE record_state SET revision = revision + 1 WHERE chain = (SELECT DISTINCT chain FROM told)`,
    [chain.slug, ...eventIds(chain.slug, blocks.from, blocks.to)],
  )
  await query('DELETE FROM hot_block WHERE chain = $1 AND height <= $2', [chain.slug, height])
}

/**
 * Resets the last final block to an earlier one, or to none. Returns false, and changes nothing, if the
 * database holds hot blocks: they build on the current one.
 */
export function rewindFinal(
  database: Transactions,
  chain: Chain,
  block: BlockRef | undefined,
): Promise<boolean> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    if ((await chainState(query, chain)).top.length > 0) return false
    const { height, hash } = block ?? NO_BLOCK
    const kept = `int8multirange(int8range(NULL, $2::int8, '[]'))`
    await query(
      `UPDATE chain_status
       SET final_height = ($2::int8)::int, final_hash = $3, indexed_height = ($2::int8)::int, indexed_hash = $3,
         agreed_at = NULL, reread = reread * ${kept}, proven = proven * ${kept}
       WHERE chain = $1`,
      [chain.slug, height, hash],
    )
    return true
  })
}

/** Formats ranges as a Postgres int8multirange. */
export function multirange(ranges: readonly BlockRange[]): string {
  return `{${ranges.map(({ from, to }) => `[${from},${to}]`).join()}}`
}

/** The transaction of an update, and the blocks that it writes. */
export interface UpdateTarget {
  query: Query
  copy: Copy
  /** Height of the written block if a reorg may still replace it; undefined for final blocks. */
  hotHeight?: number | undefined
}

/**
 * The database to which evm-processor writes the blocks of a chain and the position of the last final block.
 * Each update is one transaction. Its handlers write through a `Writer`.
 */
export class ChainDatabase<Writer extends { written(): Promise<void> }> implements HotDatabase<Writer> {
  readonly supportsHotBlocks = true

  /** @param holding runs work in a transaction that commits only if this process holds the chain's lease */
  constructor(
    private readonly holding: <T>(work: (query: Query, copy: Copy) => Promise<T>) => Promise<T>,
    private readonly chain: Chain,
    private readonly writerOf: (target: UpdateTarget) => Writer,
  ) {}

  connect(): Promise<HotDatabaseState> {
    return this.holding((query) => chainState(query, this.chain))
  }

  /** Rolls back the hot blocks and writes final blocks instead. */
  transact({ prevHead, nextHead }: FinalTxInfo, write: (writer: Writer) => Promise<void>): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      assertSame(final, prevHead)
      assert(prevHead.height < nextHead.height)
      if (top.length > 0) await rollBack(query, this.chain, final.height)
      await this.write(query, copy, undefined, write)
      await noteFinal(query, this.chain, nextHead)
    })
  }

  /** Replaces the blocks above `baseHead`. One writer writes all final blocks, others each hot one. */
  transactHot2(
    { baseHead, newBlocks, finalizedHead }: HotTxInfo,
    write: (writer: Writer, from: number, to: number) => Promise<void>,
  ): Promise<void> {
    return this.holding(async (query, copy) => {
      const { top, ...final } = await chainState(query, this.chain)
      const before = [final, ...top]
      const base = before.findIndex(({ height }) => height === baseHead.height)
      assertSame(before[base], baseHead)
      const after = [...before.slice(0, base + 1), ...newBlocks]
      after.forEach(({ height }, i) =>
        assert.equal(height, final.height + i, 'blocks must follow each other'),
      )
      assertSame(after[finalizedHead.height - final.height], finalizedHead)

      if (base < top.length) await rollBack(query, this.chain, baseHead.height)
      const firstHot = newBlocks.filter(({ height }) => height <= finalizedHead.height).length
      if (firstHot > 0) await this.write(query, copy, undefined, (writer) => write(writer, 0, firstHot))
      for (let i = firstHot; i < newBlocks.length; i++) {
        await insertHotBlock(query, this.chain, newBlocks[i]!)
        await this.write(query, copy, newBlocks[i]!.height, (writer) => write(writer, i, i + 1))
      }
      await settleHotBlocks(query, this.chain, finalizedHead.height)
      await noteFinal(query, this.chain, finalizedHead)
    })
  }

  transactHot(): Promise<never> {
    return Promise.reject(new Error('the runner calls transactHot2'))
  }

  private async write(
    query: Query,
    copy: Copy,
    hotHeight: number | undefined,
    write: (writer: Writer) => Promise<void>,
  ): Promise<void> {
    const writer = this.writerOf({ query, copy, hotHeight })
    await write(writer)
    await writer.written()
  }
}

/** Throws an AssertionError unless the database holds this block where evm-processor expects it. */
function assertSame(stored: HashAndHeight | undefined, expected: HashAndHeight): void {
  assert(
    stored?.height === expected.height && stored.hash === expected.hash,
    `expected block ${expected.height} (${expected.hash}) in the database, found ${stored ? `${stored.height} (${stored.hash})` : 'none'}`,
  )
}
