import type { BlockRef } from '../../chain'
import type { Chain } from '../../chains'
import { EventKind } from '../../model/generated/_eventKind'
import type { AttestationBody } from '../bodies'
import { eventIds, eventRow, type ChainEvent, type EventRow, type ProjectedTable } from '../project'
import { attempt } from './batch'
import { limitStatements, lockChain, type Database, type Query } from './connection'

/** Rows of the event log, and the statements that read and write them. */

/** The columns of a stored event that the audit compares with the chain. */
export const STORED_COLUMNS = [
  ...(['id', 'kind', 'uid', 'schema_uid', 'attester', 'recipient'] as const),
  ...(['block_number', 'block_hash', 'block_timestamp', 'transaction_hash'] as const),
]
export type StoredEvent = Pick<EventRow, (typeof STORED_COLUMNS)[number]>

/** An attestation that could not be stored, and the reason. */
interface Withheld {
  uid: string
  problem: string
  /** True if its body is in the event log. Otherwise the body must be read from the chain before a replay. */
  hasBody: boolean
}

/** Schemas and attesters whose events the event log contains; lower-case. */
export interface Watched {
  schemas: readonly string[]
  attesters: readonly string[]
}

/** Returns the event from which a row of the event log was made. */
export function eventOf(row: EventRow): ChainEvent {
  return {
    kind: row.kind,
    uid: row.uid,
    schemaUid: row.schema_uid,
    attester: row.attester,
    recipient: row.recipient,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
    blockTimestamp: row.block_timestamp.getTime(),
    transactionHash: row.transaction_hash,
    logIndex: row.log_index,
  }
}

/** Returns the body of an Attested row that has one, whose body columns are then not null. */
export function bodyOf(row: EventRow): AttestationBody {
  return {
    uid: row.uid,
    schema: row.schema_uid,
    recipient: row.recipient,
    attester: row.attester,
    time: BigInt(row.time!),
    expirationTime: BigInt(row.expiration_time!),
    revocable: row.revocable!,
    refUID: row.ref_uid!,
    data: row.data!,
  }
}

/** Parses a row of the event log from the text that row_to_json produces. */
export function rowOf(text: string): EventRow {
  const row = JSON.parse(text) as Omit<EventRow, 'data' | 'block_timestamp'> & {
    data: string | null
    block_timestamp: string
  }
  return {
    ...row,
    // An expiration time up to 2^64-1 would be rounded by JSON.parse. Quotes in other texts are escaped.
    expiration_time: /"expiration_time":(\d+)/.exec(text)?.[1] ?? null,
    data: row.data === null ? null : Buffer.from(row.data.slice(2), 'hex'),
    block_timestamp: new Date(row.block_timestamp),
  }
}

/** SQL that inserts rows, passed as a JSON array ($1) of objects whose keys are the columns. */
export function insertSql(table: 'attestation_event' | ProjectedTable): string {
  return `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`
}

/** Returns the attestations of a chain that could not be stored. */
export function withheldAttestations(query: Query, chain: Chain): Promise<Withheld[]> {
  return query<Withheld>(
    `SELECT uid, problem, data IS NOT NULL AS "hasBody" FROM attestation_event
     WHERE chain = $1 AND withheld ORDER BY id`,
    [chain.slug],
  )
}

/** Returns final events of attestations whose body could not be stored, with the fields of their logs. */
export async function bodilessEvents(query: Query, chain: Chain, finalHeight: number): Promise<ChainEvent[]> {
  const rows = await query<EventRow>(
    `SELECT * FROM attestation_event
     WHERE chain = $1 AND withheld AND data IS NULL AND kind = 'ATTESTED' AND block_number <= $2 ORDER BY id`,
    [chain.slug, finalHeight],
  )
  return rows.map(eventOf)
}

/** True if an Attested event has no body. */
export function isBodiless({ kind, data }: EventRow): boolean {
  return kind === EventKind.ATTESTED && data === null
}

/** Stores a body that was read again, unless Postgres refuses it. A replay then projects it. */
export function storeBody(
  database: Database,
  chain: Chain,
  event: ChainEvent,
  body: AttestationBody,
): Promise<void> {
  return database.transaction(async (query) => {
    await lockChain(query, chain)
    await limitStatements(query)
    const { id, ref_uid, time, expiration_time, revocable, data } = eventRow(chain.slug, event, body)
    await attempt(query, async () => {
      await query(
        `UPDATE attestation_event SET ref_uid = $2, time = $3, expiration_time = $4, revocable = $5, data = $6
         WHERE id = $1`,
        [id, ref_uid, time, expiration_time, revocable, data],
      )
    })
  })
}

/** Returns the stored events of these blocks by id. */
export async function storedEvents(
  query: Query,
  chain: Chain,
  from: number,
  to: number,
  { schemas, attesters }: Watched,
): Promise<Map<string, StoredEvent>> {
  const rows = await query<StoredEvent>(
    `SELECT ${STORED_COLUMNS.join()} FROM attestation_event
     WHERE id BETWEEN $1 AND $2 AND chain = $3 AND (schema_uid = ANY($4) OR attester = ANY($5))`,
    [...eventIds(chain.slug, from, to), chain.slug, schemas, attesters],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Returns the highest block at or below this one of which the event log has an event. */
export async function lastEventBlock(
  query: Query,
  chain: Chain,
  upTo: number,
): Promise<BlockRef | undefined> {
  const [row] = await query<BlockRef>(
    `SELECT block_number AS height, block_hash AS hash FROM attestation_event
     WHERE chain = $1 AND id BETWEEN $2 AND $3 ORDER BY id DESC LIMIT 1`,
    [chain.slug, ...eventIds(chain.slug, 0, upTo)],
  )
  return row
}

/** Returns the number of attestations in the event log. */
export async function countUids(
  query: Query,
  chain: Chain,
  { schemas, attesters }: Watched,
): Promise<number> {
  const [row] = await query<{ uids: number }>(
    `SELECT count(DISTINCT uid)::int AS uids FROM attestation_event
     WHERE chain = $1 AND (schema_uid = ANY($2) OR attester = ANY($3))`,
    [chain.slug, schemas, attesters],
  )
  return row!.uids
}
