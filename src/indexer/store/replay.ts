import type { Chain } from '../../chains'
import { EventKind } from '../../model/generated/_eventKind'
import type { AttestationBody } from '../bodies'
import { ContentError, isolate } from '../isolate'
import {
  eventId,
  eventRow,
  project,
  PROJECTED_TABLES,
  recordId,
  requireBodies,
  type ChainEvent,
  type EventRow,
  type ProjectedRows,
  type ProjectedTable,
  type Projection,
} from '../project'
import { insertEvents, insertWithheld, withheldProblem } from './batch'
import {
  limitStatements,
  lockChain,
  type Copy,
  type Database,
  type Query,
  type Transactions,
} from './connection'
import { bodyOf, eventOf, insertSql, isBodiless, type StoredEvent, type Watched } from './log'
import { noteRepaired } from './status'

/**
 * Replays of records and answers from the event log, and repairs of the log, which replay the affected
 * attestations.
 */

/** Result of a replay: rows that differ from the projection of the event log. A repair has corrected them. */
export interface Replayed {
  /** Number of attestations compared. */
  uids: number
  differing: { id: string; what: 'missing' | 'surplus' | 'different' }[]
  /** UIDs with events that a reorg may still replace. They are not compared. */
  notFinal: string[]
}

/** Differences between the event log and the chain, found by the audit. */
export interface LogRepair {
  /** Final events of the chain, whether the event log has them or not, and the bodies that they announce. */
  events: readonly ChainEvent[]
  bodies: ReadonlyMap<string, AttestationBody>
  /** Stored events that the chain's receipts disprove. */
  surplus: readonly StoredEvent[]
  finalHeight: number
}

/** Columns that a replay does not compare: write times, and columns that a trigger computes from geom. */
const NOT_REPLAYED = ['created_at', 'updated_at', 'reach', 'map_x', 'map_y']
/** The only columns that a revocation changes. */
const REVOCATION = ['revoked', 'revocation_time']

/** An attestation to be repaired has events in blocks that are not final. The repair must wait. */
export class NotFinalError extends Error {
  override readonly name = 'NotFinalError'
}

/**
 * Inserts final events that the event log lacks, deletes those that the chain's receipts disprove, and
 * replays the affected attestations. Returns the number of corrected events. Throws a NotFinalError, without
 * writing anything, if one of the attestations has an event in a hot block: a rollback of that block would
 * restore the record's old state.
 */
export function repairLog(database: Database, chain: Chain, repair: LogRepair): Promise<number> {
  const { events, bodies, surplus, finalHeight } = repair
  requireBodies(events, bodies)
  return database.transaction(async (query, copy) => {
    await lockChain(query, chain)
    await limitStatements(query)
    if (surplus.length)
      await query('DELETE FROM attestation_event WHERE id = ANY($1)', [surplus.map(({ id }) => id)])
    const inserted = await insertMissing(query, copy, chain, events, bodies)
    const uids = [...new Set([...events, ...surplus].map(({ uid }) => uid))]
    const { notFinal } = await replayUids(query, chain, uids, finalHeight, true)
    if (notFinal.length)
      throw new NotFinalError(`attestation ${notFinal[0]} has events in blocks that are not final yet`)
    const count = new Set([...inserted, ...surplus.map(({ id }) => id)]).size
    await noteRepaired(query, chain, count)
    return count
  })
}

/** Inserts the events that the event log lacks and returns their ids. */
async function insertMissing(
  query: Query,
  copy: Copy,
  chain: Chain,
  events: readonly ChainEvent[],
  bodies: ReadonlyMap<string, AttestationBody>,
): Promise<string[]> {
  const idOf = (event: ChainEvent) => eventId(chain.slug, event.blockNumber, event.logIndex)
  const there = await query<{ id: string }>('SELECT id FROM attestation_event WHERE id = ANY($1)', [
    events.map(idOf),
  ])
  const known = new Set(there.map(({ id }) => id))
  const missing = events.filter((event) => !known.has(idOf(event)))
  await isolate(
    query,
    missing,
    (part) =>
      insertEvents(
        copy,
        part.map((event) => eventRow(chain.slug, event, bodies.get(event.uid))),
      ),
    (event, reason) => insertWithheld(query, copy, chain, event, undefined, reason),
  )
  return missing.map(idOf)
}

/**
 * Projects the next page of watched attestations, in order of UIDs after `after`, from the event log alone,
 * and compares the result with the stored records and answers. `repair` corrects them. Returns the last UID
 * of the page; undefined at the end.
 */
export function replayPage(
  database: Transactions,
  chain: Chain,
  watched: Watched,
  after: string,
  pageSize: number,
  finalHeight: number,
  repair: boolean,
): Promise<Replayed & { last: string | undefined }> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    const uids = await query<{ uid: string }>(
      `(SELECT DISTINCT uid FROM attestation_event
        WHERE chain = $1 AND uid > $2 AND (schema_uid = ANY($4) OR attester = ANY($5)) ORDER BY uid LIMIT $3)
       UNION (SELECT uid FROM location_record
        WHERE chain = $1 AND uid > $2 AND schema_uid = ANY($4) ORDER BY uid LIMIT $3)
       UNION (SELECT uid FROM answer
        WHERE chain = $1 AND uid > $2 AND attester = ANY($5) ORDER BY uid LIMIT $3) ORDER BY uid LIMIT $3`,
      [chain.slug, after, pageSize, watched.schemas, watched.attesters],
    )
    const list = uids.map(({ uid }) => uid)
    return { ...(await replayUids(query, chain, list, finalHeight, repair)), last: list[list.length - 1] }
  })
}

/** Projects these attestations again from the event log, and corrects their records and answers. */
export function replayAgain(
  database: Transactions,
  chain: Chain,
  uids: readonly string[],
  finalHeight: number,
): Promise<Replayed> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    return replayUids(query, chain, uids, finalHeight, true)
  })
}

async function replayUids(
  query: Query,
  chain: Chain,
  uids: readonly string[],
  finalHeight: number,
  repair: boolean,
): Promise<Replayed> {
  const log = await query<EventRow>(
    'SELECT * FROM attestation_event WHERE chain = $1 AND uid = ANY($2) ORDER BY id',
    [chain.slug, uids],
  )
  const notFinal = new Set(log.filter((row) => row.block_number > finalHeight).map((row) => row.uid))
  const byUid = new Map<string, EventRow[]>(uids.filter((uid) => !notFinal.has(uid)).map((uid) => [uid, []]))
  for (const row of log) byUid.get(row.uid)?.push(row)
  // Differences by the first UID of each replayed part.
  const found = new Map<string, Replayed['differing']>()
  await isolate(
    query,
    [...byUid.keys()],
    async (part) => {
      const logs = part.map((uid) => byUid.get(uid)!)
      found.set(part[0]!, await replayPart(query, chain, logs, part, repair))
    },
    async (uid, reason) => {
      found.set(uid, await replayWithheld(query, chain, uid, byUid.get(uid)!, reason, repair))
    },
  )
  return { uids: uids.length, differing: [...found.values()].flat(), notFinal: [...notFinal] }
}

/** Projects the events of these attestations again and compares the rows. `repair` corrects differences. */
async function replayPart(
  query: Query,
  chain: Chain,
  logs: readonly EventRow[][],
  uids: readonly string[],
  repair: boolean,
): Promise<Replayed['differing']> {
  // An attestation whose body could not be stored produces no record until its body is read again.
  const events = logs.filter((log) => !log.some(isBodiless)).flat()
  const projected = projectContent(chain, events)
  const ids = uids.map((uid) => recordId(chain.slug, uid))
  const found: Replayed['differing'] = []
  for (const table of PROJECTED_TABLES)
    found.push(...(await replayTable(query, table, projected.rows[table], ids, repair)))
  if (repair)
    await query(
      `UPDATE attestation_event AS event SET problem = given.problem, withheld = false
       FROM json_populate_recordset(NULL::attestation_event, $1) AS given
       WHERE event.id = given.id AND (event.withheld OR event.problem IS DISTINCT FROM given.problem)`,
      [JSON.stringify(projected.events.map(({ id, problem }) => ({ id, problem })))],
    )
  return found
}

/** SQL for a row's PostGIS column. It is compared as bytes because its JSON is not exact. */
const SHAPES: Readonly<Record<ProjectedTable, (row: string) => string>> = {
  location_record: (row) => `${row}.geom::bytea`,
  answer: () => 'NULL',
}

/** Compares the rows of a table that have these ids with the expected rows. */
async function replayTable(
  query: Query,
  table: ProjectedTable,
  rows: readonly ProjectedRows[ProjectedTable][],
  ids: readonly string[],
  repair: boolean,
): Promise<Replayed['differing']> {
  const shape = SHAPES[table]
  const differing = await query<Replayed['differing'][number] & { isRevocation: boolean }>(
    `SELECT coalesce(given.id, stored.id) AS id,
       CASE WHEN stored.id IS NULL THEN 'missing' WHEN given.id IS NULL THEN 'surplus' ELSE 'different' END AS what,
       coalesce(to_jsonb(given) - $4::text[] = to_jsonb(stored) - $4::text[] AND ${shape('given')} IS NOT DISTINCT FROM ${shape('stored')}, false) AS "isRevocation"
     FROM json_populate_recordset(NULL::${table}, $1) AS given
     FULL JOIN (SELECT * FROM ${table} WHERE id = ANY($2)) AS stored ON stored.id = given.id
     WHERE to_jsonb(given) - $3::text[] IS DISTINCT FROM to_jsonb(stored) - $3::text[]
       OR ${shape('given')} IS DISTINCT FROM ${shape('stored')}
     ORDER BY 1`,
    [JSON.stringify(rows), ids, [...NOT_REPLAYED, 'geom'], [...NOT_REPLAYED, 'geom', ...REVOCATION]],
  )
  const found = differing.map(({ id, what }) => ({ id, what }))
  if (!repair) return found
  const revocations = new Set(differing.filter(({ isRevocation }) => isRevocation).map(({ id }) => id))
  const changed = new Set(found.flatMap(({ id }) => (revocations.has(id) ? [] : [id])))
  if (changed.size) {
    await query(`DELETE FROM ${table} WHERE id = ANY($1)`, [[...changed]])
    await query(insertSql(table), [JSON.stringify(rows.filter(({ id }) => changed.has(id)))])
  }
  // An UPDATE notifies followers of the records of a revocation, not of a new record.
  if (revocations.size)
    await query(
      `UPDATE ${table} AS stored
       SET revoked = given.revoked, revocation_time = given.revocation_time, updated_at = given.updated_at
       FROM json_populate_recordset(NULL::${table}, $1) AS given WHERE stored.id = given.id`,
      [JSON.stringify(rows.filter(({ id }) => revocations.has(id)))],
    )
  return found
}

/** Withholds an attestation that cannot be stored: deletes its rows and stores the reason in its event. */
async function replayWithheld(
  query: Query,
  chain: Chain,
  uid: string,
  log: readonly EventRow[],
  reason: Error,
  repair: boolean,
): Promise<Replayed['differing']> {
  const id = recordId(chain.slug, uid)
  const [stored] = await query<{ id: string }>(
    PROJECTED_TABLES.map((table) => `SELECT id FROM ${table} WHERE id = $1`).join(' UNION '),
    [id],
  )
  if (repair) {
    for (const table of PROJECTED_TABLES) await query(`DELETE FROM ${table} WHERE id = $1`, [id])
    await query(
      `UPDATE attestation_event SET problem = $2, withheld = true WHERE id = ANY($1) AND NOT withheld`,
      [log.filter((row) => row.kind === EventKind.ATTESTED).map((row) => row.id), withheldProblem(reason)],
    )
  }
  return stored || log.some((row) => row.kind === EventKind.ATTESTED && !row.withheld)
    ? [{ id, what: stored ? 'surplus' : 'different' }]
    : []
}

/** Throws a ContentError if the projection fails: only the content can be the cause. */
function projectContent(chain: Chain, rows: readonly EventRow[]): Projection {
  try {
    return project(
      chain.slug,
      rows.map(eventOf),
      new Map(rows.filter((row) => row.data !== null).map((row) => [row.uid, bodyOf(row)])),
      new Date(),
    )
  } catch (error) {
    throw new ContentError((error as Error).message)
  }
}
