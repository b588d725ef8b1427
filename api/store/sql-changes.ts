import { RECORD_FIELD_LIST } from '../../src/location'
import { RECORD_COLUMNS, boxesOf, envelope, meets } from './sql'
import type { Bbox, RecordResult, Statement } from './model'

/** The SQL of the stream: changes of records in order. */

/** reorged: after a reorg the record is gone, or not revoked any more. */
export type ChangeKind = 'new' | 'revoked' | 'reorged'

/**
 * What a reader hears of. latest: everything that happens to records. final: only what no reorg takes back;
 * `reorged` is then a correction, as no reorg comes so deep.
 */
export const FINALITIES = ['latest', 'final'] as const
export type Finality = (typeof FINALITIES)[number]

/** How far each chain's changes were read: the id of the last one, by chain. */
export type ChangeIds = Readonly<Record<string, number>>

/** A chain's changes after a position, all in one snapshot. */
export interface ChainChanges {
  chain: string
  /** When the database got its first record of the chain. */
  since: Date
  /** Changes up to this id were deleted. */
  forgotten: number
  /** Id of the last change, kept or deleted, of any finality. */
  last: number
  /** Those of the finality that is asked for: id, kind, UID, when it was logged. */
  changes: [number, ChangeKind, string, string][]
}

/** A record as an event shows it, and what filters need of it. */
export interface ChangedRecord extends RecordResult {
  /** lower-case, as the next */
  prover: string
  subject: string
  schema: string
  locationType: string
}

/**
 * The next changes of every chain that has ever had a record, `limit` a chain at most, none beyond `upTo`.
 * Ids become visible in order within a chain only (migration Records), so each chain has its own position.
 * Uses the primary key.
 */
export function changesQuery(
  finality: Finality,
  after: ChangeIds,
  upTo: ChangeIds | undefined,
  limit: number,
): Statement {
  return {
    text: `SELECT chain, since, forgotten::float8 AS forgotten,
        coalesce((SELECT max(id) FROM record_change WHERE chain = state.chain), forgotten)::float8 AS last,
        (SELECT coalesce(json_agg(json_build_array(id, kind, uid, changed_at) ORDER BY id), '[]') FROM (
          SELECT id, kind, uid, changed_at FROM record_change WHERE chain = state.chain AND id > coalesce(($1::jsonb ->> state.chain)::bigint, 0)
            AND finality <> $4 AND ($2::jsonb IS NULL OR id <= coalesce(($2::jsonb ->> state.chain)::bigint, 0)) ORDER BY id LIMIT $3) AS next) AS changes
      FROM record_state AS state ORDER BY chain`,
    values: [
      JSON.stringify(after),
      upTo === undefined ? null : JSON.stringify(upTo),
      limit,
      finality === 'final' ? 'latest' : 'final',
    ],
  }
}

const RECORD_NAMES = RECORD_FIELD_LIST.map(([name]) => name)
/** What a record shows of a revocation, without one that a reorg may still take back. */
const FINAL_VALUES: Readonly<Record<string, string>> = {
  revoked: 'revoked AND NOT is_hot AS revoked',
  updated_at: 'CASE WHEN is_hot THEN created_at ELSE updated_at END AS updated_at',
}
const FINAL_RECORD = `(SELECT id, schema_uid, ${RECORD_NAMES.map((name) => FINAL_VALUES[name] ?? name).join(', ')}
  FROM location_record AS record, LATERAL (
    SELECT revoked AND EXISTS (SELECT FROM attestation_event AS event WHERE event.chain = record.chain AND event.uid = record.uid
      AND event.kind = 'REVOKED' AND event.block_number <@ hot_blocks(record.chain)) AS is_hot) AS revocation)`

/** These records, as far as they still exist. Uses the primary key. */
export function changedRecordsQuery(finality: Finality, ids: readonly string[]): Statement {
  return {
    text: `SELECT ${RECORD_COLUMNS}, NULL AS geometry, prover, subject, schema_uid AS schema, location_type AS "locationType"
      FROM ${finality === 'final' ? FINAL_RECORD : 'location_record'} AS record WHERE id = ANY($1)`,
    values: [ids],
  }
}

/**
 * Which of these records lie in which of the boxes, by the same test as the list's: pairs of a box's index
 * and an id. Uses the primary key.
 */
export function boxesQuery(ids: readonly string[], boxes: readonly Bbox[]): Statement {
  const parts = boxes.flatMap((bbox, place) => boxesOf(bbox).map((box) => [place, ...box] as const))
  return {
    text: `SELECT DISTINCT box.place, record.id FROM location_record AS record
      JOIN unnest($2::int[], $3::float8[], $4::float8[], $5::float8[], $6::float8[]) AS box (place, w, s, e, n)
        ON ${meets('record.geom', envelope('w', 's', 'e', 'n'))}
      WHERE record.id = ANY($1)`,
    values: [ids, ...[0, 1, 2, 3, 4].map((column) => parts.map((part) => part[column]))],
  }
}
