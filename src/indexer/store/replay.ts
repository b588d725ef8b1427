import type { Chain } from '../../chains'
import { isLocationSchema } from '../../location'
import { EventKind } from '../../model/generated/_eventKind'
import type { AttestationBody } from '../bodies'
import {
  eventId,
  eventRow,
  isWatched,
  MEASURED,
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
import { ContentError, insertEvents, insertWithheld, isolate, withheldProblem } from './batch'
import { limitStatements, lockChain, type Copy, type Query, type Transactions } from './connection'
import { bodyOf, eventOf, insertSql, isBodiless, type StoredEvent, type Watched } from './log'
import { noteRepaired } from './status'

/** Replays of records and answers from the event log, and repairs of the log with such replays. */

/** Result of a replay: rows that differ from the projection of the event log. A repair has corrected them. */
export interface Replayed {
  /** Number of attestations compared. */
  uids: number
  differing: { id: string; what: 'missing' | 'surplus' | 'different' }[]
  /** UIDs with events that a reorg may still replace. They are not compared. */
  notFinal: string[]
}

/** Differences between the event log and the chain, found by the audit. */
interface LogRepair {
  /** Final events of the chain, whether the event log has them or not, and the bodies that they announce. */
  events: readonly ChainEvent[]
  bodies: ReadonlyMap<string, AttestationBody>
  /** Stored events that the chain's receipts disprove. */
  surplus: readonly StoredEvent[]
  finalHeight: number
}

/** The only columns that a revocation changes. */
const REVOCATION = ['revoked', 'revocation_time']
/** An attestation to be repaired has events in blocks that are not final. The repair must wait. */
export class NotFinalError extends Error {
  override readonly name = 'NotFinalError'
}

/**
 * Inserts final events that the event log lacks, deletes disproved ones, and replays their attestations.
 * Returns the number of corrected events. Throws a NotFinalError, without writing anything, if one of the
 * attestations has an event in a hot block, whose rollback would restore the old state.
 */
export function repairLog(database: Transactions, chain: Chain, repair: LogRepair): Promise<number> {
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
 * and compares the result with the stored records and answers. Returns the last UID; undefined at the end.
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
  // Differences found, by the first UID of each replayed part.
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
  const recorded = await query<{ uid: string; schema: string }>(
    'SELECT uid, schema_uid AS schema FROM location_record WHERE id = ANY($1)',
    [uids.map((uid) => recordId(chain.slug, uid))],
  )
  const schemas = new Map(recorded.map(({ uid, schema }) => [uid, schema]))
  const watched = uids
    .map((uid, i) => ({ id: recordId(chain.slug, uid), log: logs[i]!, schema: schemas.get(uid) }))
    .filter(({ log, schema }) => isCompared(chain, log, schema))
  // An attestation whose body could not be stored produces no record until its body is read again.
  const events = watched.flatMap(({ log }) => (log.some(isBodiless) ? [] : log))
  const projected = projectContent(chain, events)
  const ids = watched.map(({ id }) => id)
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

/**
 * False for attestations of a schema that was excluded after it was indexed, which keep their records. Those
 * by an attester of answers are not answers.
 * @param recorded schema of the stored record, if there is one
 */
function isCompared({ slug }: Chain, [event]: readonly EventRow[], recorded: string | undefined): boolean {
  if (recorded !== undefined && !isLocationSchema(recorded, slug)) return false
  return !event || isWatched(slug, event.schema_uid, event.attester)
}

const MEASURES = Object.keys(MEASURED)
/**
 * SQL that is true if a row and the expected row are equal in the columns that are compared apart: the
 * PostGIS column, whose operators compare boxes; the line of a record, which contains its write times; and
 * the measures, which no response about a single record shows.
 */
const EQUAL: Readonly<Record<ProjectedTable, { shape: string; line: string; version: string }>> = {
  location_record: {
    shape: 'given.geom::bytea IS NOT DISTINCT FROM stored.geom::bytea',
    line: `(stored.line IS NOT DISTINCT FROM location_line(given.line, given.revoked, stored.created_at, stored.updated_at)
      AND ${MEASURES.map((column) => `stored.${column} IS NOT DISTINCT FROM given.${column}`).join(' AND ')})`,
    version: 'given.line_version IS NOT DISTINCT FROM stored.line_version',
  },
  answer: { shape: 'true', line: 'true', version: 'true' },
}
/** Columns of an expected row that are not compared with the others: write times, and those of EQUAL. */
const APART = ['created_at', 'updated_at', 'geom', 'line', 'line_version', ...MEASURES]

/** `line`: only line or measures differ. `unwritten`: no indexer of this version has written the line. */
interface Difference {
  id: string
  what: Replayed['differing'][number]['what'] | 'revocation' | 'line' | 'unwritten'
}

/** Compares the rows of a table that have these ids with the expected rows. */
async function replayTable(
  query: Query,
  table: ProjectedTable,
  rows: readonly ProjectedRows[ProjectedTable][],
  ids: readonly string[],
  repair: boolean,
): Promise<Replayed['differing']> {
  const { shape, line, version } = EQUAL[table]
  // Not as JSON of whole rows: PostGIS writes no JSON for a collection within a collection.
  const equalBut = (columns: readonly string[]) => {
    const names = Object.keys(rows[0] ?? { id: '' }).filter((name) => !columns.includes(name))
    const valuesOf = (row: string) => names.map((name) => `${row}.${name}`).join()
    return `((${valuesOf('given')}) IS NOT DISTINCT FROM (${valuesOf('stored')}) AND ${shape})`
  }
  const differing = await query<Difference>(
    `SELECT * FROM (
       SELECT coalesce(given.id, stored.id) AS id,
         CASE WHEN stored.id IS NULL THEN 'missing' WHEN given.id IS NULL THEN 'surplus'
           WHEN NOT ${equalBut(APART)} THEN CASE WHEN ${equalBut([...APART, ...REVOCATION])} THEN 'revocation' ELSE 'different' END
           WHEN NOT ${version} THEN 'unwritten' WHEN NOT ${line} THEN 'line' END AS what
       FROM json_populate_recordset(NULL::${table}, $1) AS given
       FULL JOIN (SELECT * FROM ${table} WHERE id = ANY($2)) AS stored ON stored.id = given.id) AS compared
     WHERE what IS NOT NULL ORDER BY 1`,
    [JSON.stringify(rows), ids],
  )
  const idsOf = (...kinds: Difference['what'][]) =>
    new Set(differing.flatMap(({ id, what }) => (kinds.includes(what) ? [id] : [])))
  // A line that is not written yet is not a difference: readers derive it from the record.
  const unwritten = idsOf('unwritten')
  const found = differing.flatMap(({ id, what }): Replayed['differing'] => {
    if (what === 'unwritten') return []
    return [{ id, what: what === 'missing' || what === 'surplus' ? what : 'different' }]
  })
  if (!repair) return found
  const changed = idsOf('missing', 'surplus', 'different')
  if (changed.size) {
    await query(`DELETE FROM ${table} WHERE id = ANY($1)`, [[...changed]])
    await query(insertSql(table), [JSON.stringify(rows.filter(({ id }) => changed.has(id)))])
  }
  // An UPDATE notifies followers of the records of a revocation, but not of a new record.
  const update = (ids: ReadonlySet<string>, columns: string) =>
    query(
      `UPDATE ${table} AS stored SET ${columns}
       FROM json_populate_recordset(NULL::${table}, $1) AS given WHERE stored.id = given.id`,
      [JSON.stringify(rows.filter(({ id }) => ids.has(id)))],
    )
  const revocations = idsOf('revocation')
  if (revocations.size)
    await update(
      revocations,
      'revoked = given.revoked, revocation_time = given.revocation_time, updated_at = given.updated_at',
    )
  const lines = new Set([...unwritten, ...idsOf('line'), ...(table === 'location_record' ? revocations : [])])
  if (lines.size)
    await update(
      lines,
      `line = location_line(given.line, stored.revoked, stored.created_at, stored.updated_at), line_version = given.line_version,
        ${MEASURES.map((column) => `${column} = given.${column}`).join(', ')}`,
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
