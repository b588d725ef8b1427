import type { EventName } from '../../src/events'
import { STORED_LINE, boxesOf, envelope, meets } from './sql'
import type { Bbox, RecordResult, Statement } from './model'

/** SQL of the stream: changes of records in order. */

/** Kind of a logged change. The log has no `corrected`: that is `reorged` among final changes. */
export type ChangeKind = Exclude<EventName, 'corrected'>

/**
 * Events that a subscriber receives. latest: every change of a record. final: only changes that no reorg can
 * undo; `reorged` is then a correction, because no reorg goes that deep.
 */
export const FINALITIES = ['latest', 'final'] as const
export type Finality = (typeof FINALITIES)[number]

/** ID of the last change read, by chain. */
export type ChangeIds = Readonly<Record<string, number>>

/** Changes of a chain after a position, all from one snapshot. */
export interface ChainChanges {
  chain: string
  /** Time when the database received its first record of the chain. */
  since: Date
  /** Changes up to this ID have been deleted. */
  forgotten: number
  /** ID of the last change, kept or deleted, of any finality. */
  last: number
  /** Changes of the requested finality: ID, kind, UID, time of logging. */
  changes: [number, ChangeKind, string, string][]
}

/** Record as an event shows it, with the values that filters need. */
export interface ChangedRecord extends RecordResult {
  /** lower case, like `subject` */
  prover: string
  subject: string
  schema: string
  locationType: string
}

/**
 * Reads the next changes of every chain that has ever had a record: at most `limit` per chain, none beyond
 * `upTo`. IDs become visible in order only within a chain (migration Records), so each chain has its own
 * position. Uses the primary key.
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

/** Columns of a changed record that its event does not change. */
const SAME = 'id, uid, chain, prover, subject, schema_uid AS schema, location_type AS "locationType"'
/** SQL of records with their values: as they are, or without a revocation that a reorg can still undo. */
const CHANGED: Readonly<Record<Finality, string>> = {
  latest: `SELECT ${SAME}, revoked, updated_at, ${STORED_LINE} AS line FROM location_record AS record`,
  final: `SELECT ${SAME}, revoked AND NOT is_hot AS revoked, CASE WHEN is_hot THEN created_at ELSE updated_at END AS updated_at,
      CASE WHEN is_hot THEN location_line(${STORED_LINE}, false, created_at, created_at) ELSE ${STORED_LINE} END AS line
    FROM location_record AS record, LATERAL (
      SELECT revoked AND EXISTS (SELECT FROM attestation_event AS event WHERE event.chain = record.chain AND event.uid = record.uid
        AND event.kind = 'REVOKED' AND event.block_number <@ hot_blocks(record.chain)) AS is_hot) AS revocation`,
}

/** Reads those of the records that still exist. Uses the primary key. */
export function changedRecordsQuery(finality: Finality, ids: readonly string[]): Statement {
  return {
    text: `SELECT uid, chain, prover, subject, schema, "locationType", NULL AS geometry,
        coalesce(line, E'\\r' || (location_fields(id)::jsonb || jsonb_build_object('revoked', revoked, 'updated_at', updated_at))::text) AS text
      FROM (${CHANGED[finality]} WHERE id = ANY($1)) AS changed`,
    values: [ids],
  }
}

/**
 * Reads which of the records lie in which of the boxes, by the same test as lists: pairs of the index of a
 * box and an ID. Uses the primary key.
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
